//! Whom the gateway's own problems are for, and in which form: as the request's route says.
//!
//! The layer knows that of what it protects. This is for the gateway around it: what it refuses
//! before the layer, and what fails behind it.

use std::sync::Arc;

use http::Request;
use leasehold_http::{Asker, Routes};

/// Makes the asker of any request. A clone knows the same routes.
#[derive(Clone, Debug)]
pub(crate) struct Askers {
    routes: Arc<Routes>,
}

impl Askers {
    /// For requests that take these routes.
    pub(crate) fn new(routes: Routes) -> Self {
        Self { routes: Arc::new(routes) }
    }

    /// Who sent a request, to be asked before the request moves on.
    pub(crate) fn of<B>(&self, request: &Request<B>) -> Asker {
        let format = self.routes.policy(request.uri().path()).error_format;
        Asker::new(request.method(), request.headers(), format)
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Self::new(Routes::new(leasehold_http::Policy::default()))
    }
}
