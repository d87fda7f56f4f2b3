//! The request body on its way to the upstream, and how far it has come.
//!
//! It passes frames on as they arrive. A body that was broken off must never look like one that
//! has ended: the upstream would take a part for the whole.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};

/// Any error of a body.
pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An upload's time is up. Whose fault it is, [`Progress::waits_for_client`] still says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the upload took too long")]
pub(super) struct TooSlow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The upstream's connection has not asked for more.
    Upstream,
    /// The next frame is the client's to send.
    Client,
    /// Everything was handed over.
    Ended,
    /// The client will not send the rest.
    Broken,
}

pin_project! {
    /// A body that reports its progress, and breaks off when its time is up.
    #[derive(Debug)]
    pub(crate) struct Upload<B> {
        #[pin]
        body: B,
        // Whether the body itself knows if it ended as a message should. On HTTP/2 a reset
        // stream can look like a body's end.
        knows_its_end: bool,
        limit: Duration,
        // Only for a body that does not come whole at once.
        timer: Option<Pin<Box<Sleep>>>,
        state: watch::Sender<State>,
    }
}

impl<B: Body> Upload<B> {
    /// Wraps the body of a request of `version`, which may take `limit`.
    pub(super) fn new(body: B, version: Version, limit: Duration) -> (Self, Progress) {
        let state = if body.is_end_stream() { State::Ended } else { State::Upstream };
        let state = watch::Sender::new(state);
        let progress = Progress { state: state.subscribe() };
        let knows_its_end = version == Version::HTTP_2;
        (Self { body, knows_its_end, limit, timer: None, state }, progress)
    }
}

impl<B> Body for Upload<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let mut this = self.project();
        let polled = this.body.as_mut().poll_frame(cx);
        let ended = this.body.is_end_stream();
        let (state, polled) = match polled {
            Poll::Pending => (State::Client, Poll::Pending),
            Poll::Ready(Some(Ok(frame))) => {
                let state = if ended { State::Ended } else { State::Upstream };
                (state, Poll::Ready(Some(Ok(frame))))
            }
            Poll::Ready(Some(Err(error))) => (State::Broken, Poll::Ready(Some(Err(error.into())))),
            Poll::Ready(None) if *this.knows_its_end && !ended => {
                (State::Broken, Poll::Ready(Some(Err("the stream was reset".into()))))
            }
            Poll::Ready(None) => (State::Ended, Poll::Ready(None)),
        };
        if matches!(state, State::Client | State::Upstream) {
            let limit = *this.limit;
            let timer = this.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
            if timer.as_mut().poll(cx).is_ready() {
                // The state stays: it says whom the upload has waited for.
                return Poll::Ready(Some(Err(TooSlow.into())));
            }
        }
        this.state.send_if_modified(|current| std::mem::replace(current, state) != state);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How far an upload has come.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    state: watch::Receiver<State>,
}

impl Progress {
    /// Waits until nothing more will be handed over: all of it was, or the body is gone.
    pub(super) async fn finished(&mut self) {
        let over = |state: &State| matches!(state, State::Ended | State::Broken);
        // An error means that the upload was dropped, so that nothing more can come.
        let _gone = self.state.wait_for(over).await;
    }

    /// Whether the client broke off.
    pub(super) fn is_broken(&self) -> bool {
        *self.state.borrow() == State::Broken
    }

    /// Whether the next move is the client's.
    pub(super) fn waits_for_client(&self) -> bool {
        *self.state.borrow() == State::Client
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::future::poll_fn;
    use std::io;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(1);

    type Step = Poll<Option<Result<Frame<Bytes>, io::Error>>>;

    /// Does what its steps say, then ends; `whole` is what it says of its end.
    struct Script(VecDeque<Step>, bool);

    impl Body for Script {
        type Data = Bytes;
        type Error = io::Error;

        fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Step {
            let step = self.0.pop_front().unwrap_or(Poll::Ready(None));
            if step.is_pending() {
                cx.waker().wake_by_ref();
            }
            step
        }

        fn is_end_stream(&self) -> bool {
            self.0.is_empty() && self.1
        }
    }

    fn data() -> Step {
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
    }

    async fn next(upload: &mut Upload<Script>) -> Option<Result<(), ()>> {
        poll_fn(|cx| Pin::new(&mut *upload).poll_frame(cx))
            .await
            .map(|frame| frame.map(|_| ()).map_err(|_| ()))
    }

    #[tokio::test]
    async fn a_whole_upload_finishes_with_its_last_frame() {
        let script = Script([data(), Poll::Pending, data()].into(), true);
        let (mut upload, mut progress) = Upload::new(script, Version::HTTP_11, LIMIT);
        assert_eq!(next(&mut upload).await, Some(Ok(())));
        assert!(!progress.waits_for_client());
        assert_eq!(next(&mut upload).await, Some(Ok(())));
        progress.finished().await;
        assert!(!progress.is_broken());
    }

    #[tokio::test]
    async fn a_reset_stream_is_not_an_end() {
        let script = Script([data()].into(), false);
        let (mut upload, progress) = Upload::new(script, Version::HTTP_2, LIMIT);
        assert_eq!(next(&mut upload).await, Some(Ok(())));
        assert_eq!(next(&mut upload).await, Some(Err(())));
        assert!(progress.is_broken());
    }

    #[tokio::test]
    async fn an_error_of_the_body_is_the_clients() {
        let broken = Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        let (mut upload, mut progress) =
            Upload::new(Script([broken].into(), false), Version::HTTP_11, LIMIT);
        assert_eq!(next(&mut upload).await, Some(Err(())));
        assert!(progress.is_broken());
        progress.finished().await;
    }

    #[tokio::test]
    async fn an_upload_that_is_dropped_finishes() {
        let (upload, mut progress) =
            Upload::new(Script([data()].into(), true), Version::HTTP_11, LIMIT);
        drop(upload);
        progress.finished().await;
        assert!(!progress.is_broken());
    }

    #[tokio::test(start_paused = true)]
    async fn an_upload_ends_with_its_time_and_tells_who_was_waited_for() {
        let script = Script([Poll::Pending, Poll::Pending].into(), true);
        let (mut upload, progress) = Upload::new(script, Version::HTTP_11, LIMIT);
        let first = poll_fn(|cx| Poll::Ready(Pin::new(&mut upload).poll_frame(cx))).await;
        assert!(first.is_pending());
        tokio::time::advance(LIMIT).await;
        assert_eq!(next(&mut upload).await, Some(Err(())));
        assert!(progress.waits_for_client() && !progress.is_broken());

        let script = Script([data(), data(), data()].into(), true);
        let (mut upload, progress) = Upload::new(script, Version::HTTP_11, LIMIT);
        assert_eq!(next(&mut upload).await, Some(Ok(())));
        tokio::time::advance(LIMIT).await;
        assert_eq!(next(&mut upload).await, Some(Err(())));
        assert!(!progress.waits_for_client());
    }
}
