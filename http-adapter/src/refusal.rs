//! Every answer that the layer gives in place of the handler's, replays included.
//!
//! None of them says that the request may have run: it has not, or has before.

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Response};

use crate::body::ResponseBody;
use crate::policy::Policy;
use crate::problem::{Asker, Problem};
use crate::record::Record;
use crate::replay::has_no_body;

/// Why the handler does not run, and what its client gets instead.
#[derive(Debug)]
pub(crate) enum Refusal {
    Problem(Problem),
    /// The first run's response.
    Replay(Box<Record>),
    /// The request itself did not come to its end, so that its connection is of no more use.
    Broken(Problem),
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl Refusal {
    /// The response to whoever sent the request.
    pub(crate) fn respond<B>(self, asker: &Asker, policy: &Policy) -> Response<ResponseBody<B>> {
        match self {
            Self::Problem(problem) => problem.respond(asker),
            Self::Replay(record) => replay(*record, asker, policy),
            Self::Broken(problem) => {
                let mut response = problem.respond(asker);
                let close = HeaderValue::from_static("close");
                response.headers_mut().insert(CONNECTION, close);
                response
            }
        }
    }
}

fn replay<B>(record: Record, asker: &Asker, policy: &Policy) -> Response<ResponseBody<B>> {
    let body = if has_no_body(asker.is_head(), record.status) { Bytes::new() } else { record.body };
    let mut response = Response::new(ResponseBody::own(body));
    *response.status_mut() = record.status;
    *response.headers_mut() = record.headers;
    let mark = HeaderValue::from_static("true");
    response.headers_mut().insert(policy.replayed_header.clone(), mark);
    response
}
