//! Sends requests through a stack on one thread, and checks what each was told.

use std::convert::Infallible;
use std::hint::black_box;
use std::pin::pin;
use std::time::Duration;

use axum::body::Body;
use http::{HeaderName, Request, Response, StatusCode};
use http_body_util::BodyExt;
use tokio::runtime::{Builder, Runtime};
use tokio::task::unconstrained;
use tower::ServiceExt;
use tower_service::Service;

use crate::request::requests;
use crate::stopwatch::Stopwatch;

/// Requests that are made at a time: so few that they stay in a core's cache.
const BATCH: usize = 64;

/// What a request was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The handler ran.
    Ran,
    /// It is a duplicate, and was refused.
    Refused,
    /// It is a duplicate, and got the first answer again.
    Replayed,
    /// Anything else.
    Other(StatusCode),
}

/// Headers that mark a replay: ours and axum-idempotent's.
static REPLAYED: [HeaderName; 2] = [
    HeaderName::from_static("idempotent-replayed"),
    HeaderName::from_static("idempotency-replayed"),
];

impl Told {
    fn of<R>(response: &Response<R>) -> Self {
        let replayed = REPLAYED.iter().any(|name| response.headers().contains_key(name));
        match response.status() {
            StatusCode::CREATED if replayed => Self::Replayed,
            StatusCode::CREATED => Self::Ran,
            StatusCode::CONFLICT => Self::Refused,
            status => Self::Other(status),
        }
    }
}

/// A stack of layers around the handler.
pub trait Stack:
    Service<Request<Body>, Response = Response<Self::Answer>, Error = Infallible>
{
    /// The body of its answers.
    type Answer: http_body::Body;
}

impl<S, R> Stack for S
where
    S: Service<Request<Body>, Response = Response<R>, Error = Infallible>,
    R: http_body::Body,
{
    type Answer = R;
}

/// A runtime on this thread alone.
///
/// # Errors
///
/// A sentence, if the system refuses it.
pub fn runtime() -> Result<Runtime, String> {
    let runtime = Builder::new_current_thread().enable_time().build();
    runtime.map_err(|error| format!("cannot start a runtime: {error}"))
}

/// Sends one request and reads its answer to the end.
pub async fn send<S: Stack>(stack: &mut S, request: Request<Body>) -> Told {
    let ready = match stack.ready().await {
        Ok(ready) => ready,
        Err(never) => match never {},
    };
    let response = match ready.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let told = Told::of(&response);
    let mut body = pin!(response.into_body());
    while let Some(frame) = body.frame().await {
        black_box(frame.is_ok());
    }
    told
}

/// Sends the requests of these numbers one after the other, and gives the nanoseconds of one.
///
/// # Errors
///
/// A sentence, if one of them was told anything else than all should be.
pub fn timed<S: Stack>(
    runtime: &Runtime,
    stack: &mut S,
    numbers: &[u64],
    expected: Told,
) -> Result<f64, String> {
    let mut took = Duration::ZERO;
    for batch in numbers.chunks(BATCH) {
        let requests = requests(batch.iter().copied());
        let (time, wrong) = runtime.block_on(unconstrained(async {
            let mut wrong = None;
            let stopwatch = Stopwatch::start();
            for request in requests {
                let told = send(stack, request).await;
                wrong = wrong.or((told != expected).then_some(told));
            }
            (stopwatch.elapsed(), wrong)
        }));
        if let Some(told) = wrong {
            return Err(format!("a request was told {told:?} instead of {expected:?}"));
        }
        took += time;
    }
    Ok(took.as_nanos() as f64 / numbers.len().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::{self, handler};

    #[test]
    fn a_request_that_is_told_something_else_ends_the_pass() {
        let runtime = runtime().expect("a runtime");
        let mut bare = stack::bare();
        assert!(timed(&runtime, &mut bare, &[1, 2], Told::Ran).is_ok());
        assert!(timed(&runtime, &mut bare, &[1], Told::Refused).is_err());
    }

    #[tokio::test]
    async fn the_handler_runs_and_says_so() {
        let response = handler::order(crate::request::request(1)).await.expect("an answer");
        assert_eq!(Told::of(&response), Told::Ran);
    }
}
