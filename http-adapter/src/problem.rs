//! The error bodies: problem details of RFC 9457, one constructor per kind.
//!
//! A problem must never hold any part of a key.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, Response, StatusCode};
use serde::Serialize;

use crate::body::ResponseBody;

/// An answer that the layer or the gateway gives in place of the handler's.
///
/// Its body is `application/problem+json` with `type`, `title`, `status`, `detail`, and `code`,
/// a number that clients may rely on like on `type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    kind: Kind,
    detail: Cow<'static, str>,
    /// Whether client libraries are told not to try again.
    final_answer: bool,
}

/// What stays the same in all problems of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    uri: &'static str,
    title: &'static str,
    status: StatusCode,
    code: u32,
    /// Seconds after which the client may try again; small and fixed (section 3).
    retry_after: Option<&'static str>,
}

/// The body as it is written.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "type")]
    uri: &'a str,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: u32,
}

/// Response headers that tell client libraries not to repeat a request, although its status
/// alone would make them.
const RETRY_HINTS: [&str; 2] = ["stripe-should-retry", "x-should-retry"];

impl Problem {
    const fn new(
        uri: &'static str,
        title: &'static str,
        status: StatusCode,
        code: u32,
        detail: &'static str,
    ) -> Self {
        let kind = Kind { uri, title, status, code, retry_after: None };
        Self { kind, detail: Cow::Borrowed(detail), final_answer: false }
    }

    const fn retry_after(mut self, seconds: &'static str) -> Self {
        self.kind.retry_after = Some(seconds);
        self
    }

    fn detail(mut self, detail: String) -> Self {
        self.detail = Cow::Owned(detail);
        self
    }

    /// The key is missing, repeated, or not a key: 400, 40010. The detail must not quote it.
    #[must_use]
    pub fn invalid_key(detail: String) -> Self {
        Self::new(
            "urn:leasehold:problem:invalid-key",
            "The idempotency key is missing or invalid",
            StatusCode::BAD_REQUEST,
            40010,
            "",
        )
        .detail(detail)
    }

    /// The first request with this key is still running: 409, 40910, try again soon.
    #[must_use]
    pub const fn in_flight() -> Self {
        Self::new(
            "urn:leasehold:problem:in-flight",
            "A request with this idempotency key is in progress",
            StatusCode::CONFLICT,
            40910,
            "The first request with this key has not ended yet. Try again later with the same key.",
        )
        .retry_after("1")
    }

    /// The request has succeeded before: 409, 40910. With `retry_hints`, headers tell client
    /// libraries not to try again.
    #[must_use]
    pub const fn duplicate(retry_hints: bool) -> Self {
        let mut problem = Self::new(
            "urn:leasehold:problem:duplicate",
            "A request with this idempotency key has already succeeded",
            StatusCode::CONFLICT,
            40910,
            "This request was carried out before and was not carried out again.",
        );
        problem.final_answer = retry_hints;
        problem
    }

    /// The key stands for another request: 422, 42210.
    #[must_use]
    pub const fn mismatch() -> Self {
        Self::new(
            "urn:leasehold:problem:mismatch",
            "This idempotency key was used for a different request",
            StatusCode::UNPROCESSABLE_ENTITY,
            42210,
            "The first request with this key was another one. A new request needs a new key.",
        )
    }

    /// The store is at its bound: 503, 50310, try again later.
    #[must_use]
    pub const fn full() -> Self {
        Self::new(
            "urn:leasehold:problem:full",
            "No more idempotency keys can be kept for now",
            StatusCode::SERVICE_UNAVAILABLE,
            50310,
            "The store of idempotency keys is full, so the request was not carried out.",
        )
        .retry_after("1")
    }

    /// The store did not answer, or not in time: 503, 50310.
    #[must_use]
    pub const fn store_unavailable() -> Self {
        Self::new(
            "urn:leasehold:problem:store-unavailable",
            "The store of idempotency keys is unavailable",
            StatusCode::SERVICE_UNAVAILABLE,
            50310,
            "The key could not be checked, so the request was not carried out.",
        )
    }

    /// As many handlers are running as may run: 503, 50310, try again soon.
    #[must_use]
    pub const fn overloaded() -> Self {
        Self::new(
            "urn:leasehold:problem:overloaded",
            "Too many requests are running",
            StatusCode::SERVICE_UNAVAILABLE,
            50310,
            "As many requests are running as may run at once, so this one was not carried out.",
        )
        .retry_after("1")
    }

    /// The gateway has failed: 500, 50010.
    #[must_use]
    pub const fn internal() -> Self {
        Self::new(
            "urn:leasehold:problem:internal",
            "The gateway has failed",
            StatusCode::INTERNAL_SERVER_ERROR,
            50010,
            "An internal error ended the request.",
        )
    }

    /// The upstream was not reached, or broke off: 502, 50210.
    #[must_use]
    pub const fn bad_gateway() -> Self {
        Self::new(
            "urn:leasehold:problem:bad-gateway",
            "The upstream service did not answer",
            StatusCode::BAD_GATEWAY,
            50210,
            "The upstream service could not be reached, or broke off before its answer.",
        )
    }

    /// The upstream did not answer in time: 504, 50410.
    #[must_use]
    pub const fn gateway_timeout() -> Self {
        Self::new(
            "urn:leasehold:problem:gateway-timeout",
            "The upstream service did not answer in time",
            StatusCode::GATEWAY_TIMEOUT,
            50410,
            "The request may still be carried out.",
        )
    }

    /// The status that the problem is sent with.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.kind.status
    }

    /// The number that names the problem in its body.
    #[must_use]
    pub const fn code(&self) -> u32 {
        self.kind.code
    }

    /// The response, body included.
    #[must_use]
    pub fn into_response<B>(self) -> Response<ResponseBody<B>> {
        let body = self.body();
        self.with_body(body)
    }

    /// The response to a request of this method: one to HEAD has no body.
    #[must_use]
    pub fn respond<B>(self, method: &Method) -> Response<ResponseBody<B>> {
        let body = if method == Method::HEAD { Bytes::new() } else { self.body() };
        self.with_body(body)
    }

    fn body(&self) -> Bytes {
        let document = Document {
            uri: self.kind.uri,
            title: self.kind.title,
            status: self.kind.status.as_u16(),
            detail: &self.detail,
            code: self.kind.code,
        };
        // Strings and numbers always serialise; an empty body would be the harmless worst case.
        serde_json::to_vec(&document).map(Bytes::from).unwrap_or_default()
    }

    fn with_body<B>(self, body: Bytes) -> Response<ResponseBody<B>> {
        let mut response = Response::new(ResponseBody::own(body));
        *response.status_mut() = self.kind.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.kind.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(seconds));
        }
        if self.final_answer {
            for name in RETRY_HINTS {
                headers.insert(name, HeaderValue::from_static("false"));
            }
        }
        response
    }
}

#[cfg(test)]
mod tests;
