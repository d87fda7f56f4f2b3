//! The one way in which a job fails: with a sentence for whoever started it.

use std::fmt;

/// Why a job failed, in one sentence that says what to do where that is known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    why: String,
    details: Vec<String>,
}

impl Failure {
    /// A failure with its sentence.
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), details: Vec::new() }
    }

    /// The same failure, with lines that the end of all jobs shows again.
    pub(crate) fn with_details(self, details: Vec<String>) -> Self {
        Self { details, ..self }
    }

    /// Lines to show again; often none.
    pub(crate) fn details(&self) -> &[String] {
        &self.details
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}
