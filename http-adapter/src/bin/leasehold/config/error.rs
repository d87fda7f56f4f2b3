//! Why a configuration was refused: the key, and one line of reason.
//!
//! A reason never repeats the value of a key that may hold a password.

use std::fmt::Display;

use thiserror::Error;

/// A refused configuration. Its text is one line and names the key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key}: {reason}")]
pub(crate) struct ConfigError {
    key: String,
    reason: String,
}

impl ConfigError {
    /// A refusal of `key`. Line breaks in the reason become blanks.
    pub(crate) fn new(key: impl Into<String>, reason: impl Display) -> Self {
        let reason = reason.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        Self { key: key.into(), reason }
    }

    /// The same refusal, said of `origin`'s value: an environment variable or a flag.
    pub(crate) fn with_origin(mut self, origin: &str) -> Self {
        self.reason = format!("{} (from {origin})", self.reason);
        self
    }

    /// The refused key, as a dotted path.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}
