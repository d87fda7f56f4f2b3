//! A user's own view of what a handler's end means (rule 4.2b).

use std::any::Any;

use http::{Extensions, HeaderMap, StatusCode};
use leasehold::Verdict;

/// How a handler ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum HandlerEnd<'a> {
    /// It has answered. The body has not been read.
    #[non_exhaustive]
    Answered {
        /// The response's status.
        status: StatusCode,
        /// The response's headers.
        headers: &'a HeaderMap,
        /// The response's extensions: a service may leave there what it knows.
        extensions: &'a Extensions,
    },
    /// The inner service has failed. A boxed error is to be downcast to its box first.
    Failed(&'a (dyn Any + Send)),
    /// It has panicked, with this message or value.
    Panicked(&'a (dyn Any + Send)),
}

/// Says what the ends of handlers mean for their keys, where status codes do not tell.
///
/// A failure that may be repeated has to release the key, one that must not be repeated commits it
/// or holds it. This is asked after the handler itself: a [`Verdict`] or an
/// [`OutcomeUnknown`](crate::OutcomeUnknown) in the response's extensions goes before it. It goes
/// before the policy's [`verdicts`](crate::Policy::verdicts) and the rule that success commits and
/// anything else releases; where it says nothing, these hold.
///
/// It is called once for each handler that has ended by itself, before the response's head is
/// sent, and must not block. If it panics, it has said nothing.
///
/// Closures are classifiers:
///
/// ```
/// use std::io;
/// use leasehold::Verdict;
/// use leasehold_http::{ErrorClassifier, HandlerEnd};
///
/// /// What was refused has not been done; after any other failure nobody knows.
/// fn classify(end: &HandlerEnd<'_>) -> Option<Verdict> {
///     let HandlerEnd::Failed(error) = end else { return None };
///     match error.downcast_ref::<io::Error>()?.kind() {
///         io::ErrorKind::ConnectionRefused => Some(Verdict::Release),
///         _ => Some(Verdict::Hold),
///     }
/// }
/// # fn takes(_: impl ErrorClassifier) {}
/// # takes(classify);
/// ```
pub trait ErrorClassifier: Send + Sync + 'static {
    /// What this end means; `None` leaves it to the status code.
    fn classify(&self, end: &HandlerEnd<'_>) -> Option<Verdict>;
}

impl<F> ErrorClassifier for F
where
    F: Fn(&HandlerEnd<'_>) -> Option<Verdict> + Send + Sync + 'static,
{
    fn classify(&self, end: &HandlerEnd<'_>) -> Option<Verdict> {
        self(end)
    }
}
