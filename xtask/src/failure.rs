//! The one way in which a job fails: with a sentence for whoever started it.

use std::fmt;

/// Why a job failed, in one sentence that says what to do where that is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure(String);

impl Failure {
    /// A failure with its sentence.
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
