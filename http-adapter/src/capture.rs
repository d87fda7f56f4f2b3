//! A response's body on its way to the client, copied for its replays (rules 4.9 and 5.2).
//!
//! It must never hold up the client for a frame that is not there yet, nor keep a body of which
//! anything is missing.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use leasehold::Outcome;
use pin_project_lite::pin_project;
use tokio::runtime::Handle;
use tokio::task::coop::consume_budget;
use tokio::time::timeout;

use crate::buffer::Buffer;
use crate::record::Record;
use crate::running::{Place, Running};
use crate::waiting::Coming;

/// Most frames that are read ahead of the commit. Arbitrary: it bounds what a body of very small
/// frames can hold up, and a body of usual ones reaches its bound of bytes first.
const READY_FRAMES_MAX: usize = 1024;

/// Longest time that a body is read for after its client has gone. Arbitrary: as long as a lease.
const DRAIN_TIME_MAX: Duration = Duration::from_secs(30);

/// A call of the store's that attaches an outcome; bounded in time, and its failure is harmless.
pub(crate) type Attaching = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes that call.
pub(crate) type Attach = Box<dyn FnOnce(Outcome) -> Attaching + Send>;

/// What a body needs to be kept once its lease is committed.
pub(crate) struct Keeper {
    /// All but the body.
    pub(crate) record: Record,
    /// To be called once; none afterwards.
    pub(crate) attach: Option<Attach>,
    /// For a place among them, should the client go away.
    pub(crate) running: Running,
    /// Whether the rest is read then.
    pub(crate) finishes: bool,
    /// Told that it has ended, well or not, when this is dropped.
    pub(crate) _coming: Coming,
}

/// The bytes that have passed.
pub(crate) struct Copied {
    buffer: Buffer,
    bytes_max: usize,
    /// The length that the response states.
    length: Option<u64>,
}

impl Copied {
    pub(crate) const fn new(buffer: Buffer, bytes_max: usize, length: Option<u64>) -> Self {
        Self { buffer, bytes_max, length }
    }

    /// False if the bytes do not fit.
    fn push(&mut self, bytes: &Bytes) -> bool {
        let fits = bytes.len() <= self.bytes_max.saturating_sub(self.buffer.len());
        fits && self.buffer.push(bytes.as_ref()).is_ok()
    }

    /// Whether the bytes are all that there will be, given whether the body has ended well. A body
    /// that states its length is whole as soon as it has it, for its reader stops there.
    fn is_whole(&self, ended: bool) -> bool {
        self.length.map_or(ended, |length| length == self.buffer.len() as u64)
    }
}

/// What a body says of itself before it is read.
pub(crate) struct Hint {
    pub(crate) size: SizeHint,
    ended: bool,
}

impl Hint {
    pub(crate) fn of(body: &impl Body) -> Self {
        Self { size: body.size_hint(), ended: body.is_end_stream() }
    }
}

/// What a body gives.
type FrameOf<B> = Result<Frame<<B as Body>::Data>, <B as Body>::Error>;

/// A captured body, whatever it is; `B` says what it gives.
pub(crate) trait Capture<B>: Send {
    /// As of [`Body`].
    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<FrameOf<B>>>
    where
        B: Body;

    /// As of [`Body`].
    fn is_end_stream(&self) -> bool;

    /// As of [`Body`].
    fn size_hint(&self) -> SizeHint;

    /// Nobody reads it any more: goes on alone, if there is something to be kept.
    fn client_gone(self: Pin<Box<Self>>);
}

pin_project! {
    /// A body that is read a frame ahead where that needs no waiting: so its end is known before
    /// its last frame leaves.
    pub(crate) struct Streaming<R: Body> {
        #[pin]
        rest: R,
        // Read, and not given yet.
        ahead: VecDeque<Frame<Bytes>>,
        failed: Option<R::Error>,
        ended: bool,
        // What the body said of its size before it was read, and how much of that was given since.
        hint: SizeHint,
        given: u64,
        // None once it was given up or is complete.
        copied: Option<Copied>,
        // None until the lease is committed, and once there is nothing to be kept any more.
        keeper: Option<Keeper>,
        attaching: Option<Attaching>,
    }
}

impl<R: Body> Streaming<R> {
    pub(crate) fn new(rest: R, hint: Hint, copied: Copied) -> Self {
        Self {
            ended: hint.ended,
            hint: hint.size,
            rest,
            ahead: VecDeque::new(),
            failed: None,
            given: 0,
            copied: Some(copied),
            keeper: None,
            attaching: None,
        }
    }

    /// Reads what is there, without waiting for more. Ready at once.
    pub(crate) fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        while !self.ended
            && self.ahead.len() < READY_FRAMES_MAX
            && self.copied.as_ref().is_some_and(|copied| !copied.is_whole(false))
            && self.as_mut().read(cx).is_ready()
        {}
        Poll::Ready(())
    }

    /// The bytes, if all of them have been read. They are not kept here then.
    pub(crate) fn take_whole(self: Pin<&mut Self>) -> Option<Bytes> {
        let this = self.project();
        let whole = this.copied.take_if(|copied| copied.is_whole(*this.ended))?;
        Some(whole.buffer.into_bytes())
    }

    /// Attaches the bytes to the committed lease as soon as all of them are there.
    pub(crate) fn keep(self: Pin<&mut Self>, keeper: Keeper) {
        *self.project().keeper = Some(keeper);
    }

    /// Lets the body pass and keeps nothing.
    pub(crate) fn give_up(self: Pin<&mut Self>) {
        *self.project().copied = None;
    }

    /// Reads the next frame, or the end.
    fn read(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        match ready!(this.rest.as_mut().poll_frame(cx)) {
            None => *this.ended = true,
            Some(Err(error)) => {
                *this.failed = Some(error);
                *this.ended = true;
                *this.copied = None;
            }
            Some(Ok(frame)) => {
                match frame.into_data() {
                    Ok(mut data) => {
                        let bytes = data.copy_to_bytes(data.remaining());
                        this.copied.take_if(|copied| !copied.push(&bytes));
                        this.ahead.push_back(Frame::data(bytes));
                    }
                    // A frame is either data or trailers; these are not replayed.
                    Err(frame) => {
                        this.ahead.extend(frame.into_trailers().ok().map(Frame::trailers))
                    }
                }
                *this.ended = this.rest.is_end_stream();
            }
        }
        Poll::Ready(())
    }

    /// Ready unless the bytes are just being attached.
    fn poll_attached(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        if let Some(whole) = this.copied.take_if(|copied| copied.is_whole(*this.ended))
            && let Some(keeper) = this.keeper
            && let Some(attach) = keeper.attach.take()
        {
            keeper.record.body = whole.buffer.into_bytes();
            *this.attaching = keeper.record.encode().map(|bytes| attach(Outcome::new(bytes)));
            keeper.record.body = Bytes::new();
        }
        if *this.ended {
            // Whatever is still here is a part of a body.
            *this.copied = None;
        }
        if let Some(attaching) = this.attaching {
            ready!(attaching.as_mut().poll(cx));
            *this.attaching = None;
        }
        Poll::Ready(())
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, R::Error>>> {
        let ahead_max = if self.copied.is_some() { 2 } else { 1 };
        while !self.ended && self.ahead.len() < ahead_max && self.as_mut().read(cx).is_ready() {}
        ready!(self.as_mut().poll_attached(cx));
        let is_keeping = self.is_keeping();
        let this = self.project();
        if !is_keeping {
            *this.keeper = None;
        }
        match this.ahead.pop_front() {
            Some(frame) => {
                *this.given += frame.data_ref().map_or(0, |data| data.len() as u64);
                Poll::Ready(Some(Ok(frame)))
            }
            None if *this.ended => Poll::Ready(this.failed.take().map(Err)),
            None => Poll::Pending,
        }
    }

    fn is_keeping(&self) -> bool {
        self.copied.is_some() || self.attaching.is_some()
    }
}

impl<R> Streaming<R>
where
    R: Body + Send + 'static,
    R::Error: Send,
{
    /// Reads the rest, for its replays alone.
    async fn drain(mut self: Pin<Box<Self>>, place: Place) {
        let read = async {
            // Ends: what is kept has a bound of bytes, and the caller one of time.
            while self.is_keeping() && poll_fn(|cx| self.as_mut().poll_next(cx)).await.is_some() {
                consume_budget().await;
            }
        };
        tokio::select! {
            biased;
            () = place.cut() => {}
            // Over time it is dropped, and never kept.
            _over = timeout(DRAIN_TIME_MAX, read) => {}
        }
    }
}

impl<R> Capture<R> for Streaming<R>
where
    R: Body + Send + 'static,
    R::Data: From<Bytes>,
    R::Error: Send,
{
    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<FrameOf<R>>> {
        let next = ready!(self.poll_next(cx));
        Poll::Ready(next.map(|frame| frame.map(|frame| frame.map_data(R::Data::from))))
    }

    fn is_end_stream(&self) -> bool {
        self.ended && self.ahead.is_empty() && self.failed.is_none() && !self.is_keeping()
    }

    fn size_hint(&self) -> SizeHint {
        let left = |total: u64| total.saturating_sub(self.given);
        let mut hint = SizeHint::new();
        if let Some(upper) = self.hint.upper() {
            hint.set_upper(left(upper));
        }
        hint.set_lower(left(self.hint.lower()));
        hint
    }

    fn client_gone(self: Pin<Box<Self>>) {
        let place = match &self.keeper {
            Some(keeper) if keeper.finishes && self.is_keeping() => keeper.running.enter_spare(),
            _ => None,
        };
        if let Some(place) = place
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(self.drain(place));
        }
    }
}
