//! Whether a request's client is still there (rule 4.6, `cancel`).
//!
//! Nobody is woken: whoever drops a response polls what is left of its request afterwards.

use std::future::poll_fn;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

/// A client whose going away is to be noticed. A clone watches the same one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    gone: Arc<OnceLock<()>>,
}

impl Client {
    /// Notes that it has gone.
    pub(crate) fn leave(&self) {
        // It can go but once.
        let _again = self.gone.set(());
    }

    /// Ends at the next poll after it has gone.
    pub(crate) async fn left(&self) {
        poll_fn(|_| if self.gone.get().is_some() { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}
