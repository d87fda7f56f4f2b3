//! What the layer or the gateway answers in place of a handler: which kinds there are, and which
//! one it is this time.
//!
//! A problem must never hold any part of a key.

mod asker;
mod kinds;
mod language;
mod render;
mod texts;

use std::borrow::Cow;

use http::StatusCode;

use crate::key_refusal::KeyRefusal;

pub use asker::Asker;
pub use kinds::ProblemKind;
pub use language::Language;
pub use render::{ProblemRenderer, RenderedProblem};
pub(crate) use texts::{chinese_reason, no_principal};

mod grpc;

/// An answer that the layer or the gateway gives in place of the handler's.
///
/// Its body is `application/problem+json` with `type`, `title`, `status`, `detail`, and `code`, a
/// number that clients may rely on like on `type`; or what the policy's
/// [`error_format`](crate::Policy::error_format) or a [`ProblemRenderer`] makes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    kind: ProblemKind,
    /// Why the key is invalid, where that is the problem.
    refusal: Option<KeyRefusal>,
    /// Whether client libraries are told not to try again.
    final_answer: bool,
}

impl Problem {
    const fn new(kind: ProblemKind) -> Self {
        Self { kind, refusal: None, final_answer: false }
    }

    /// One whose status alone would make client libraries try again in vain.
    const fn last(kind: ProblemKind, retry_hints: bool) -> Self {
        Self { kind, refusal: None, final_answer: retry_hints }
    }

    /// The key is missing, repeated, or not a key: 400, 40010.
    #[must_use]
    pub const fn invalid_key(refusal: KeyRefusal) -> Self {
        Self { kind: ProblemKind::InvalidKey, refusal: Some(refusal), final_answer: false }
    }

    /// The first request with this key is still running: 409, 40910, try again soon.
    #[must_use]
    pub const fn in_flight() -> Self {
        Self::new(ProblemKind::InFlight)
    }

    /// The request has succeeded before: 409, 40910. With `retry_hints`, headers tell client
    /// libraries not to try again.
    #[must_use]
    pub const fn duplicate(retry_hints: bool) -> Self {
        Self::last(ProblemKind::Duplicate, retry_hints)
    }

    /// The request has succeeded before, and its response cannot be given again: 409, 40910. Hints
    /// as for a duplicate.
    #[must_use]
    pub const fn not_replayable(retry_hints: bool) -> Self {
        Self::last(ProblemKind::NotReplayable, retry_hints)
    }

    /// The key stands for another request: 422, 42210.
    #[must_use]
    pub const fn mismatch() -> Self {
        Self::new(ProblemKind::Mismatch)
    }

    /// The body is larger than may be held back for a fingerprint: 413, 41310.
    #[must_use]
    pub const fn body_too_large() -> Self {
        Self::new(ProblemKind::BodyTooLarge)
    }

    /// The store is at its bound: 503, 50310, try again later.
    #[must_use]
    pub const fn full() -> Self {
        Self::new(ProblemKind::Full)
    }

    /// The store did not answer, or not in time: 503, 50310.
    #[must_use]
    pub const fn store_unavailable() -> Self {
        Self::new(ProblemKind::StoreUnavailable)
    }

    /// As many handlers are running as may run: 503, 50310, try again soon.
    #[must_use]
    pub const fn overloaded() -> Self {
        Self::new(ProblemKind::Overloaded)
    }

    /// The request is not one that can be passed on: 400, 40000.
    #[must_use]
    pub const fn bad_request() -> Self {
        Self::new(ProblemKind::BadRequest)
    }

    /// The request's body took too long: 408, 40810.
    #[must_use]
    pub const fn request_timeout() -> Self {
        Self::new(ProblemKind::RequestTimeout)
    }

    /// The request asks for what the gateway does not do: 501, 50110.
    #[must_use]
    pub const fn not_implemented() -> Self {
        Self::new(ProblemKind::NotImplemented)
    }

    /// The gateway has failed: 500, 50010.
    #[must_use]
    pub const fn internal() -> Self {
        Self::new(ProblemKind::Internal)
    }

    /// The upstream was not reached, or broke off: 502, 50210.
    #[must_use]
    pub const fn bad_gateway() -> Self {
        Self::new(ProblemKind::BadGateway)
    }

    /// The upstream did not answer in time: 504, 50410.
    #[must_use]
    pub const fn gateway_timeout() -> Self {
        Self::new(ProblemKind::GatewayTimeout)
    }

    /// Which one it is.
    #[must_use]
    pub const fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// The status that the problem is sent with.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.kind.status()
    }

    /// The number that names the problem in its body.
    #[must_use]
    pub const fn code(&self) -> u32 {
        self.kind.code()
    }

    /// What kind of problem it is, in a few words, the same for all of one kind.
    #[must_use]
    pub const fn title(&self, language: Language) -> &'static str {
        texts::of(self.kind, language).title
    }

    /// What has happened this time, in whole sentences.
    #[must_use]
    pub fn detail(&self, language: Language) -> Cow<'_, str> {
        match &self.refusal {
            Some(refusal) => refusal.text(language),
            None => Cow::Borrowed(texts::of(self.kind, language).detail),
        }
    }
}

#[cfg(test)]
mod tests;
