//! What one connection is busy with: its exchanges, from a request's head to its response's end,
//! and the uploads among them.
//!
//! It only counts. What an idle connection means is the accept loop's business.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use http::Version;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use tokio::sync::watch;
use tokio::time::Instant;

/// The exchanges of one connection. A clone counts the same ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchanges {
    state: Arc<Mutex<State>>,
    uploads: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    http2: bool,
    /// When the last one ended; none while none has ended.
    ended: Option<Instant>,
}

/// An upload that is being read until this is dropped.
#[derive(Debug)]
pub(super) struct OpenUpload {
    uploads: watch::Sender<usize>,
}

impl Drop for OpenUpload {
    fn drop(&mut self) {
        self.uploads.send_modify(|open| *open = open.saturating_sub(1));
    }
}

/// An exchange that is open until this is dropped.
#[derive(Debug)]
pub(super) struct Open {
    exchanges: Exchanges,
}

impl Exchanges {
    /// One more.
    pub(super) fn begin(&self, version: Version) -> Open {
        let mut state = self.state();
        state.open += 1;
        state.http2 |= version == Version::HTTP_2;
        Open { exchanges: self.clone() }
    }

    /// The body of a request, to be read from this connection.
    pub(super) fn begin_upload(&self) -> OpenUpload {
        self.uploads.send_modify(|open| *open += 1);
        OpenUpload { uploads: self.uploads.clone() }
    }

    /// Ends when nothing of a request's body is to be read any more.
    pub(super) async fn uploads_ended(&self) {
        let mut uploads = self.uploads.subscribe();
        // It cannot fail: a sender is here.
        let _open = uploads.wait_for(|open| *open == 0).await;
    }

    /// Whether there has been one, open or ended.
    pub(super) fn any(&self) -> bool {
        let state = self.state();
        state.open > 0 || state.ended.is_some()
    }

    /// Whether they are streams of HTTP/2. Without any nobody knows.
    pub(super) fn are_streams(&self) -> bool {
        self.state().http2
    }

    /// Whether one was open at `moment` or later.
    pub(super) fn any_since(&self, moment: Instant) -> bool {
        let state = self.state();
        state.open > 0 || state.ended.is_some_and(|ended| ended >= moment)
    }

    /// When the last of them ended; none while one is open or there has been none.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        state.ended.filter(|_| state.open == 0)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics with the lock held, and counts are whole after every line.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Keeps the exchange open until a response's body has gone out or was given up.
    pub(super) fn until_the_end_of<B>(self, body: B) -> Tracked<B> {
        Tracked { body, _open: self }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = self.exchanges.state();
        state.open = state.open.saturating_sub(1);
        state.ended = Some(Instant::now());
    }
}

pin_project! {
    /// A response's body, unchanged, whose exchange ends when it is dropped.
    #[derive(Debug)]
    pub(super) struct Tracked<B> {
        #[pin]
        body: B,
        _open: Open,
    }
}

impl<B: Body> Body for Tracked<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_exchange_is_open_until_its_body_is_dropped() {
        let exchanges = Exchanges::default();
        assert!(!exchanges.any());
        let begun = Instant::now();
        let first = exchanges.begin(Version::HTTP_2);
        let second = exchanges.begin(Version::HTTP_2).until_the_end_of(());
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        drop(first);
        assert!(exchanges.any() && exchanges.are_streams());
        assert_eq!(exchanges.idle_since(), None);
        drop(second);
        assert_eq!(exchanges.idle_since(), Some(Instant::now()));
        assert!(exchanges.any_since(begun));
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        assert!(!exchanges.any_since(Instant::now()));
    }
}
