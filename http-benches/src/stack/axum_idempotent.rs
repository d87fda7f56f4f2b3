//! axum-idempotent as its README has it: the header's value as the key, a session layer over a moka
//! store, cookies around it. Without axum's router, which would only add to it.
//!
//! It keeps keys by session, and walks through all of a session's whenever it adds one; the
//! requests are spread over sessions of few keys each. It lets concurrent copies run and is
//! unprotected where there is no session, as its README says.

use std::convert::Infallible;
use std::sync::Arc;

use ::axum_idempotent::{IdempotentLayer, IdempotentOptions};
use axum::body::Body;
use http::{Request, Response};
use ruts::store::moka::MokaStore;
use ruts::{CookieOptions, SessionLayer};
use tower_cookies::CookieManagerLayer;
use tower_layer::Layer;
use tower_service::Service;

/// Seconds for which answers are kept: what our default is.
const KEPT_SECONDS: i64 = 24 * 60 * 60;

/// The layer around the handler, with room for so many sessions.
pub fn axum_idempotent(
    room: usize,
) -> impl Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone {
    let store = Arc::new(MokaStore::builder().max_capacity(room as u64).build());
    let options = IdempotentOptions::default()
        .use_idempotency_key_header(Some("Idempotency-Key"), true)
        .expire_after(KEPT_SECONDS);
    let cookie = CookieOptions::build().name("session");
    let idempotent = IdempotentLayer::<MokaStore>::new(options).layer(super::bare());
    let session = SessionLayer::new(store).with_cookie_options(cookie).layer(idempotent);
    CookieManagerLayer::new().layer(session)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::{Told, runtime, timed};

    #[test]
    fn a_key_runs_once_and_its_duplicate_is_replayed() {
        let runtime = runtime().expect("a runtime");
        let mut theirs = axum_idempotent(100);
        assert!(timed(&runtime, &mut theirs, &[1, 2, 11], Told::Ran).is_ok());
        assert!(timed(&runtime, &mut theirs, &[11, 2, 1], Told::Replayed).is_ok());
    }
}
