//! The kinds of problems, as one table: name, status, code, and when to come again.
//!
//! Every name and number here is part of the contract (section 3).

use http::StatusCode;

/// Makes the enum of kinds, and the table of what each one stands for.
macro_rules! kinds {
    ($(
        $(#[$doc:meta])*
        $kind:ident: $name:literal, $status:ident, $code:literal $(, $seconds:literal)?;
    )+) => {
        /// A kind of problem: what stays the same in all problems of one type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ProblemKind {
            $($(#[$doc])* $kind),+
        }

        impl ProblemKind {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// The URI that names the kind: the member `type`.
            #[must_use]
            pub const fn uri(self) -> &'static str {
                match self {
                    $(Self::$kind => concat!("urn:leasehold:problem:", $name)),+
                }
            }

            /// The last part of the URI.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name),+
                }
            }

            /// The status that such problems are sent with.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self {
                    $(Self::$kind => StatusCode::$status),+
                }
            }

            /// The number that names the kind in an envelope, or together with others.
            #[must_use]
            pub const fn code(self) -> u32 {
                match self {
                    $(Self::$kind => $code),+
                }
            }

            /// Seconds after which the client may try again; small and fixed.
            #[must_use]
            pub const fn retry_after(self) -> Option<&'static str> {
                match self {
                    $(Self::$kind => kinds!(@seconds $($seconds)?)),+
                }
            }
        }
    };
    (@seconds) => { None };
    (@seconds $seconds:literal) => { Some($seconds) };
}

kinds! {
    /// The key is missing, repeated, or not a key; or it is not known whose it is.
    InvalidKey: "invalid-key", BAD_REQUEST, 40010;
    /// The first request with the key is still running.
    InFlight: "in-flight", CONFLICT, 40910, "1";
    /// The request has succeeded before.
    Duplicate: "duplicate", CONFLICT, 40910;
    /// The request has succeeded before, and its response cannot be given again.
    NotReplayable: "not-replayable", CONFLICT, 40910;
    /// The key stands for another request.
    Mismatch: "mismatch", UNPROCESSABLE_ENTITY, 42210;
    /// The body is larger than may be held back for a fingerprint.
    BodyTooLarge: "body-too-large", PAYLOAD_TOO_LARGE, 41310;
    /// The store is at its bound.
    Full: "full", SERVICE_UNAVAILABLE, 50310, "1";
    /// The store did not answer, or not in time.
    StoreUnavailable: "store-unavailable", SERVICE_UNAVAILABLE, 50310;
    /// As many handlers are running as may run.
    Overloaded: "overloaded", SERVICE_UNAVAILABLE, 50310, "1";
    /// The request is not one that can be passed on.
    BadRequest: "bad-request", BAD_REQUEST, 40000;
    /// The request's body took too long.
    RequestTimeout: "request-timeout", REQUEST_TIMEOUT, 40810;
    /// The request asks for what the gateway does not do.
    NotImplemented: "not-implemented", NOT_IMPLEMENTED, 50110;
    /// The gateway has failed.
    Internal: "internal", INTERNAL_SERVER_ERROR, 50010;
    /// The upstream was not reached, or broke off.
    BadGateway: "bad-gateway", BAD_GATEWAY, 50210;
    /// The upstream did not answer in time.
    GatewayTimeout: "gateway-timeout", GATEWAY_TIMEOUT, 50410;
}
