//! The request body on its way to the upstream, and how far it has come.
//!
//! It passes frames on as they arrive. A body that was broken off must never look like one that
//! has ended: the upstream would take a part for the whole.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use http_body::{Body, Frame, SizeHint};
use thiserror::Error;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::coop::consume_budget;
use tokio::time::{Sleep, sleep, timeout};

/// Longest time that what is left of an upload is read, to see whether its client has broken it
/// off: a client that has is done with its sending. Arbitrary beyond that.
const LOOK_TIME_MAX: Duration = Duration::from_secs(1);

/// Most bytes that are read for that. Arbitrary: what is on its way in the buffers of two systems.
const LOOK_BYTES_MAX: u64 = 16 << 20;

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

impl State {
    const fn is_over(self) -> bool {
        matches!(self, Self::Ended | Self::Broken)
    }
}

/// A body that can be uploaded.
pub(crate) trait Source: Body<Data = Bytes> + Send + Unpin + 'static {}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Source for B {}

/// A body that reports its progress, and breaks off when its time is up. Where it is dropped
/// before its end, and somebody still wants to know, it tells whether its client has broken it off:
/// the end of what a client sends is only met behind all of it.
#[derive(Debug)]
pub(crate) struct Upload<B: Source> {
    /// None once this was dropped.
    body: Option<B>,
    version: Version,
    limit: Duration,
    /// Only for a body that does not come whole at once.
    timer: Option<Pin<Box<Sleep>>>,
    state: watch::Sender<State>,
}

impl<B: Source> Upload<B> {
    /// Wraps the body of a request of `version`, which may take `limit`.
    pub(super) fn new(body: B, version: Version, limit: Duration) -> (Self, Progress) {
        let state = if body.is_end_stream() { State::Ended } else { State::Upstream };
        let state = watch::Sender::new(state);
        let progress = Progress { state: state.subscribe() };
        (Self { body: Some(body), version, limit, timer: None, state }, progress)
    }
}

impl<B: Source> Drop for Upload<B> {
    fn drop(&mut self) {
        // One that was never asked for may be held back, and must not be asked for now.
        let is_wanted = self.timer.is_some() && self.state.receiver_count() > 0;
        if !is_wanted || self.state.borrow().is_over() {
            return;
        }
        let Some(body) = self.body.take() else { return };
        let (version, state) = (self.version, self.state.clone());
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                if let Ok(Some(end)) = timeout(LOOK_TIME_MAX, end(body, version)).await {
                    state.send_replace(end);
                }
            });
        }
    }
}

/// How a body ends, for which nobody has any more use; none if it is too long to say.
async fn end<B: Source>(mut body: B, version: Version) -> Option<State> {
    let mut left = LOOK_BYTES_MAX;
    // Ends: with the bytes, or with its caller's patience.
    loop {
        let next = poll_fn(|cx| {
            let size = |frame: Frame<Bytes>| frame.data_ref().map_or(0, |data| data.len() as u64);
            Pin::new(&mut body).poll_frame(cx).map(|next| next.map(|frame| frame.map(size).ok()))
        });
        match next.await {
            Some(Some(size)) => left = left.checked_sub(size)?,
            Some(None) => return Some(State::Broken),
            None if is_reset(&body, version) => return Some(State::Broken),
            None => return Some(State::Ended),
        }
        consume_budget().await;
    }
}

/// Whether a body that has no more frames was reset: on HTTP/2 that can look like its end. On
/// HTTP/1.1 the body itself knows.
fn is_reset<B: Body>(body: &B, version: Version) -> bool {
    version == Version::HTTP_2 && !body.is_end_stream()
}

impl<B> Body for Upload<B>
where
    B: Source,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let version = self.version;
        let this = &mut *self;
        let Some(body) = &mut this.body else { return Poll::Ready(None) };
        let polled = Pin::new(&mut *body).poll_frame(cx);
        let ended = body.is_end_stream();
        let (state, polled) = match polled {
            Poll::Pending => (State::Client, Poll::Pending),
            Poll::Ready(Some(Ok(frame))) => {
                let state = if ended { State::Ended } else { State::Upstream };
                (state, Poll::Ready(Some(Ok(frame))))
            }
            Poll::Ready(Some(Err(error))) => (State::Broken, Poll::Ready(Some(Err(error.into())))),
            Poll::Ready(None) if is_reset(body, version) => {
                (State::Broken, Poll::Ready(Some(Err("the stream was reset".into()))))
            }
            Poll::Ready(None) => (State::Ended, Poll::Ready(None)),
        };
        if matches!(state, State::Client | State::Upstream) {
            let limit = this.limit;
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
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
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
        // An error means that the upload was dropped, so that nothing more can come.
        let _gone = self.state.wait_for(|state| state.is_over()).await;
    }

    /// Whether it turns out that the client broke off, once the upload was given up.
    pub(super) async fn turns_out_broken(&mut self) -> bool {
        // Whoever holds the upload drops it soon; over time nothing is known.
        let _over = timeout(2 * LOOK_TIME_MAX, self.finished()).await;
        self.is_broken()
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

    fn upload(script: Script, version: Version) -> (Upload<Script>, Progress) {
        Upload::new(script, version, LIMIT)
    }

    async fn next(upload: &mut Upload<Script>) -> Option<Result<(), ()>> {
        poll_fn(|cx| Pin::new(&mut *upload).poll_frame(cx))
            .await
            .map(|frame| frame.map(|_| ()).map_err(|_| ()))
    }

    #[tokio::test]
    async fn a_whole_upload_finishes_with_its_last_frame() {
        let script = Script([data(), Poll::Pending, data()].into(), true);
        let (mut upload, mut progress) = upload(script, Version::HTTP_11);
        assert_eq!(next(&mut upload).await, Some(Ok(())));
        assert!(!progress.waits_for_client());
        assert_eq!(next(&mut upload).await, Some(Ok(())));
        progress.finished().await;
        assert!(!progress.is_broken());
    }

    #[tokio::test]
    async fn a_reset_stream_is_not_an_end() {
        let script = Script([data()].into(), false);
        let (mut upload, progress) = upload(script, Version::HTTP_2);
        assert_eq!(next(&mut upload).await, Some(Ok(())));
        assert_eq!(next(&mut upload).await, Some(Err(())));
        assert!(progress.is_broken());
    }

    #[tokio::test]
    async fn an_error_of_the_body_is_the_clients() {
        let broken = Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        let (mut upload, mut progress) = upload(Script([broken].into(), false), Version::HTTP_11);
        assert_eq!(next(&mut upload).await, Some(Err(())));
        assert!(progress.is_broken());
        progress.finished().await;
    }

    #[tokio::test]
    async fn an_upload_that_is_dropped_finishes() {
        let (upload, mut progress) = upload(Script([data()].into(), true), Version::HTTP_11);
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
    #[tokio::test(start_paused = true)]
    async fn an_upload_that_is_given_up_tells_whether_its_client_broke_it_off() {
        let broken = || Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        for (steps, whole, version, is_broken) in [
            (vec![data(), data(), broken()], false, Version::HTTP_11, true),
            (vec![data(), Poll::Pending, broken()], false, Version::HTTP_11, true),
            (vec![data(), data(), data()], true, Version::HTTP_11, false),
            (vec![data(), data()], false, Version::HTTP_2, true),
            (vec![data(), data(), data()], true, Version::HTTP_2, false),
        ] {
            let case = format!("{steps:?} {version:?}");
            let (mut given_up, mut progress) = upload(Script(steps.into(), whole), version);
            assert_eq!(next(&mut given_up).await, Some(Ok(())));
            drop(given_up);
            assert_eq!(progress.turns_out_broken().await, is_broken, "{case}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_on_or_nothing_holds_nothing_up() {
        let mut stalled = Script([data()].into(), false);
        stalled.0.extend(std::iter::repeat_with(|| Poll::Pending).take(1 << 20));
        let (mut given_up, mut progress) = upload(stalled, Version::HTTP_11);
        assert_eq!(next(&mut given_up).await, Some(Ok(())));
        drop(given_up);
        let begun = tokio::time::Instant::now();
        let large = Bytes::from(vec![0; 1 << 20]);
        let many = std::iter::repeat_with(|| Poll::Ready(Some(Ok(Frame::data(large.clone())))));
        assert!(!progress.turns_out_broken().await);
        let (mut given_up, mut progress) =
            upload(Script(many.take(99).collect(), false), Version::HTTP_2);
        assert_eq!(next(&mut given_up).await, Some(Ok(())));
        drop(given_up);
        assert!(!progress.turns_out_broken().await);
        assert!(begun.elapsed() <= 2 * LOOK_TIME_MAX);
    }

    #[tokio::test]
    async fn an_upload_that_was_never_asked_for_is_not_asked_for_when_it_is_given_up() {
        let broken = Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        let (given_up, mut progress) = upload(Script([broken].into(), false), Version::HTTP_11);
        drop(given_up);
        assert!(!progress.turns_out_broken().await);
    }
}
