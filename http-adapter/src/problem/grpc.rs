//! Problems as gRPC responses of trailers alone: a code and a message, in the header.
//!
//! Both come from the problem itself, and so hold no part of a key.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, HeaderValue, Response, StatusCode};

use super::{Language, Problem};
use crate::body::ResponseBody;
use crate::grpc::{GRPC, GRPC_STATUS, GrpcCode};

const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");

/// After how many milliseconds a client whose policy it is to try again should do so.
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

impl Problem {
    /// What the call gets.
    pub(super) fn respond_in_grpc<B>(self, language: Language) -> Response<ResponseBody<B>> {
        let mut response = Response::new(ResponseBody::own(Bytes::new()));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(GRPC));
        headers.insert(GRPC_STATUS, HeaderValue::from(self.grpc_code().get()));
        if let Ok(message) = HeaderValue::from_str(&percent_encoded(&self.detail(language))) {
            headers.insert(GRPC_MESSAGE, message);
        }
        if let Some(seconds) = self.kind().retry_after().and_then(|text| text.parse::<u64>().ok()) {
            headers.insert(PUSHBACK, HeaderValue::from(seconds.saturating_mul(1000)));
        }
        response
    }

    /// A duplicate exists already; one of a running call is aborted, and may be tried again.
    fn grpc_code(&self) -> GrpcCode {
        match self.status() {
            StatusCode::CONFLICT if self.kind().retry_after().is_some() => GrpcCode::ABORTED,
            StatusCode::CONFLICT => GrpcCode::ALREADY_EXISTS,
            status if status.is_client_error() => GrpcCode::INVALID_ARGUMENT,
            StatusCode::INTERNAL_SERVER_ERROR => GrpcCode::INTERNAL,
            _ => GrpcCode::UNAVAILABLE,
        }
    }
}

/// Bytes that a message may not have as they are, in hexadecimal.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => encoded.push(char::from(byte)),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn problems_have_codes_of_grpc_and_only_some_a_pushback() {
        for (problem, code, pushback) in [
            (Problem::in_flight(), "10", Some("1000")),
            (Problem::duplicate(true), "6", None),
            (Problem::mismatch(), "3", None),
            (Problem::body_too_large(), "3", None),
            (Problem::full(), "14", Some("1000")),
            (Problem::store_unavailable(), "14", None),
            (Problem::overloaded(), "14", Some("1000")),
            (Problem::gateway_timeout(), "14", None),
            (Problem::internal(), "13", None),
        ] {
            let response = problem.clone().respond_in_grpc::<()>(Language::English);
            assert_eq!(response.status(), StatusCode::OK);
            let header = |name: &HeaderName| {
                response.headers().get(name).map(|value| value.to_str().expect("text"))
            };
            assert_eq!(header(&CONTENT_TYPE), Some("application/grpc"));
            assert_eq!((header(&GRPC_STATUS), header(&PUSHBACK)), (Some(code), pushback));
            assert_eq!(header(&GRPC_MESSAGE), Some(&*problem.detail(Language::English)));
        }
    }

    #[test]
    fn messages_are_percent_encoded() {
        assert_eq!(percent_encoded("a b~"), "a b~");
        assert_eq!(percent_encoded("100%\n\u{e9}\u{7f}"), "100%25%0A%C3%A9%7F");
    }
}
