//! From a problem to a response: the two built-in formats, and renderers from outside.
//!
//! What the contract promises of every answer, its status and what it says of trying again, is
//! put on last: no format and no renderer can leave it out.

use std::sync::OnceLock;

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, TRAILER,
    TRANSFER_ENCODING, VARY,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use serde::Serialize;

use super::{Asker, Language, Problem, ProblemKind, texts};
use crate::body::ResponseBody;
use crate::policy::ErrorFormat;

/// Response headers that tell client libraries not to repeat a request, although its status
/// alone would make them.
pub(super) const RETRY_HINTS: [&str; 2] = ["stripe-should-retry", "x-should-retry"];

/// Headers of a response that are not a renderer's: they frame the message.
const FRAMING: [HeaderName; 4] = [CONNECTION, CONTENT_LENGTH, TRAILER, TRANSFER_ENCODING];

/// Writes problems in a format of one's own, in place of
/// [`error_format`](crate::Policy::error_format). Given to
/// [`IdempotentLayer::problem_renderer`](crate::IdempotentLayer::problem_renderer).
///
/// The status stays the problem's, and so do `Retry-After` and the hints for client libraries,
/// which are added to what is rendered. Headers that frame the message are left out; an answer to
/// HEAD has the headers and no body. `Vary` and `Content-Language` are the renderer's to set.
///
/// ```
/// use http::HeaderValue;
/// use leasehold_http::{Language, Problem, ProblemRenderer, RenderedProblem};
///
/// struct Lines;
///
/// impl ProblemRenderer for Lines {
///     fn render(&self, problem: &Problem, language: Language) -> RenderedProblem {
///         let line = format!("{} {}\n", problem.code(), problem.detail(language));
///         RenderedProblem::new(HeaderValue::from_static("text/plain; charset=utf-8"), line)
///     }
/// }
/// ```
pub trait ProblemRenderer: Send + Sync + 'static {
    /// Headers and body for a problem, in the language asked for as far as there are texts in it.
    ///
    /// It runs where the request is handled: it must neither wait nor panic.
    fn render(&self, problem: &Problem, language: Language) -> RenderedProblem;
}

/// What a renderer makes of a problem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RenderedProblem {
    /// The headers that say what the body is.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl RenderedProblem {
    /// A body of this type.
    #[must_use]
    pub fn new(content_type: HeaderValue, body: impl Into<Bytes>) -> Self {
        let mut headers = HeaderMap::with_capacity(HEADERS);
        headers.insert(CONTENT_TYPE, content_type);
        Self { headers, body: body.into() }
    }

    /// The same with one more header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.append(name, value);
        self
    }
}

/// Headers that a problem's map has room for from the start: its own, and what a server adds.
const HEADERS: usize = 12;

/// The bodies of problems that say the same each time, once each was asked for: by kind, format and
/// language.
static WRITTEN: [OnceLock<Bytes>; ProblemKind::ALL.len() * FORMATS * Language::ALL.len()] =
    [const { OnceLock::new() }; _];

/// The number of formats.
const FORMATS: usize = 2;

/// Problem details of RFC 9457.
#[derive(Serialize)]
struct Details<'a> {
    #[serde(rename = "type")]
    uri: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: u32,
}

/// The envelope: a number and a text.
#[derive(Serialize)]
struct Envelope<'a> {
    code: u32,
    message: &'a str,
}

impl Problem {
    /// The response to who asked: in their language and format, without a body if that was by HEAD.
    #[must_use]
    pub fn respond<B>(self, asker: &Asker) -> Response<ResponseBody<B>> {
        if asker.is_grpc() {
            return self.respond_in_grpc(asker.language());
        }
        let rendered = match asker.own_renderer() {
            Some(renderer) => renderer.render(&self, asker.language()),
            None => self.render(asker.format(), asker.language()),
        };
        let body = if asker.is_head() { Bytes::new() } else { rendered.body };
        let mut response = Response::new(ResponseBody::own(body));
        *response.status_mut() = self.status();
        *response.headers_mut() = rendered.headers;
        self.insist(response.headers_mut());
        response
    }

    /// What must hold of every answer.
    fn insist(&self, headers: &mut HeaderMap) {
        for name in FRAMING {
            headers.remove(name);
        }
        if let Some(seconds) = self.kind().retry_after() {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(seconds));
        }
        if self.final_answer {
            for name in RETRY_HINTS {
                headers.insert(name, HeaderValue::from_static("false"));
            }
        }
    }

    fn render(&self, format: ErrorFormat, language: Language) -> RenderedProblem {
        let content_type = match format {
            ErrorFormat::Problem => "application/problem+json",
            ErrorFormat::Envelope => "application/json",
        };
        RenderedProblem::new(HeaderValue::from_static(content_type), self.body(format, language))
            .header(CONTENT_LANGUAGE, HeaderValue::from_static(language.tag()))
            .header(VARY, HeaderValue::from_static("accept-language"))
    }

    /// The body: written anew only where it tells of the request.
    fn body(&self, format: ErrorFormat, language: Language) -> Bytes {
        let column = match format {
            ErrorFormat::Problem => 0,
            ErrorFormat::Envelope => FORMATS - 1,
        };
        let row = (self.kind() as usize * FORMATS + column) * Language::ALL.len();
        match WRITTEN.get(row + language as usize) {
            Some(written) if self.refusal.is_none() => {
                written.get_or_init(|| self.write(format, language)).clone()
            }
            _ => self.write(format, language),
        }
    }

    fn write(&self, format: ErrorFormat, language: Language) -> Bytes {
        let detail = self.detail(language);
        match format {
            ErrorFormat::Problem => json(&Details {
                uri: self.kind().uri(),
                title: self.title(language),
                status: self.status().as_u16(),
                detail: &detail,
                code: self.code(),
            }),
            ErrorFormat::Envelope => {
                let stop = texts::full_stop(language);
                let message = format!("{}{stop}{detail}", self.title(language));
                json(&Envelope { code: self.code(), message: &message })
            }
        }
    }
}

/// Strings and numbers always serialise; an empty body would be the harmless worst case.
fn json(document: &impl Serialize) -> Bytes {
    serde_json::to_vec(document).map(Bytes::from).unwrap_or_default()
}
