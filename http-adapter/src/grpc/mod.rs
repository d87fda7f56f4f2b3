//! gRPC (rule 5.6): a call's outcome is its code, which comes in a trailer, behind the message.
//!
//! What is known of it here is its framing over HTTP/2; messages are counted and never read.

mod code;
mod held;
mod hold;
mod messages;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName};

pub use code::GrpcCode;
pub(crate) use held::HeldBody;
pub(crate) use hold::{Passed, hold, is_to_be_held};

/// The header, or trailer, that has the code.
pub(crate) const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");

/// The content type of all gRPC messages, up to a format that may follow.
pub(crate) const GRPC: &str = "application/grpc";

/// Whether these headers are those of a gRPC call or of its response. gRPC-Web is another protocol,
/// whose trailers are within the body.
pub(crate) fn is_grpc(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(CONTENT_TYPE) else { return false };
    let Some((kind, rest)) = value.as_bytes().split_at_checked(GRPC.len()) else { return false };
    kind.eq_ignore_ascii_case(GRPC.as_bytes()) && matches!(rest.first(), None | Some(b'+' | b';'))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_content_type_says_what_is_grpc() {
        let is = |value| {
            is_grpc(&HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(value))]))
        };
        for value in ["application/grpc", "Application/GRPC+proto", "application/grpc;charset=x"] {
            assert!(is(value), "{value}");
        }
        for value in ["application/grpc-web", "application/grp", "application/json", "", "x"] {
            assert!(!is(value), "{value}");
        }
        assert!(!is_grpc(&HeaderMap::new()));
    }
}
