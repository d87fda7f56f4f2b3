//! The values that are a choice among a few names, and what each means to the layer.
//!
//! Their names are those of the configuration; nothing here has a default.

use serde::{Deserialize, Serialize};

/// Declares names of the configuration for the values of one of the layer's enums.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident for $target:ty { $($value:ident),+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub(crate) enum $name {
            $($value),+
        }

        impl From<$name> for $target {
            fn from(name: $name) -> Self {
                match name {
                    $($name::$value => Self::$value),+
                }
            }
        }
    };
}

choice! {
    /// How a key's header value is read.
    KeySyntax for leasehold_http::KeySyntax { Lenient, Bare, Structured }
}

choice! {
    /// What a duplicate of a success gets.
    Duplicate for leasehold_http::Duplicate { Reject, Replay }
}

choice! {
    /// What of a request is compared beside its key.
    FingerprintMode for leasehold_http::FingerprintMode { Off, Raw, Json }
}

choice! {
    /// The form of error bodies.
    ErrorFormat for leasehold_http::ErrorFormat { Problem, Envelope }
}

choice! {
    /// What a client's going away means for its handler.
    OnDisconnect for leasehold_http::OnDisconnect { Finish, Cancel }
}

choice! {
    /// What happens to a key when nobody knows whether its request was done.
    OnUnknownOutcome for leasehold_http::UnknownOutcome { Hold, Release }
}

choice! {
    /// What a status means for its key.
    VerdictName for leasehold::Verdict { Commit, Release, Hold }
}
