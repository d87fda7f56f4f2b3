//! Another policy for one request, put into it by an outer layer.
//!
//! No client can put one there: extensions never come from the wire.

use std::sync::Arc;

use crate::policy::Policy;

/// Replaces, for one request, what the routes say of its path. Goes into the request's extensions,
/// from where the first [`Idempotent`](crate::Idempotent) service that the request meets takes it.
///
/// Requests are counted under the policy's namespace if a route, the default policy or
/// [`IdempotentLayer::namespaces`](crate::IdempotentLayer::namespaces) declares it, and under
/// `other` if not: what requests bring along makes no new counters.
///
/// ```
/// use http::Request;
/// use leasehold_http::{Override, Policy};
///
/// let strict = Policy::default().fail_open(false);
/// let mut request = Request::post("/orders").body(())?;
/// request.extensions_mut().insert(Override::policy(strict));
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Override {
    /// None: the request passes.
    policy: Option<Arc<Policy>>,
}

impl Override {
    /// This policy holds. To adjust the one that would, start from
    /// [`Routes::policy`](crate::Routes::policy).
    #[must_use]
    pub fn policy(policy: impl Into<Arc<Policy>>) -> Self {
        Self { policy: Some(policy.into()) }
    }

    /// The request passes unprotected. It is counted as bypassed, in the namespace of its path.
    #[must_use]
    pub const fn unprotected() -> Self {
        Self { policy: None }
    }

    /// The policy; none if the request passes.
    pub(crate) fn into_policy(self) -> Option<Arc<Policy>> {
        self.policy
    }
}
