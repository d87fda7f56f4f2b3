//! The body of a response that was read ahead: what was read, and then the rest.
//!
//! It must never change a byte or the order of what the inner service has sent.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

/// A body of which the beginning was read ahead.
#[derive(Debug)]
pub(crate) struct HeldBody<B> {
    pub(super) read: VecDeque<Read>,
    pub(super) rest: Pin<Box<B>>,
}

/// What was read.
pub(super) enum Read {
    Data(Bytes),
    Trailers(HeaderMap),
    /// There is no rest.
    End,
}

impl fmt::Debug for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Data(bytes) => write!(f, "Data({} bytes)", bytes.len()),
            Self::Trailers(_) => f.write_str("Trailers(..)"),
            Self::End => f.write_str("End"),
        }
    }
}

impl<B> Body for HeldBody<B>
where
    B: Body,
    B::Data: From<Bytes>,
{
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        if self.is_end_stream() {
            return Poll::Ready(None);
        }
        match self.read.pop_front() {
            Some(Read::Data(bytes)) => Poll::Ready(Some(Ok(Frame::data(bytes.into())))),
            Some(Read::Trailers(trailers)) => Poll::Ready(Some(Ok(Frame::trailers(trailers)))),
            Some(Read::End) | None => self.rest.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self.read.front() {
            Some(Read::End) => true,
            Some(_) => false,
            None => self.rest.is_end_stream(),
        }
    }

    /// What was read at least. Never exact: a sender that is told a length may leave out the
    /// trailers that follow.
    fn size_hint(&self) -> SizeHint {
        let data = self.read.iter().map(|read| match read {
            Read::Data(bytes) => bytes.len() as u64,
            Read::Trailers(_) | Read::End => 0,
        });
        let mut hint = SizeHint::new();
        hint.set_lower(data.sum());
        hint
    }
}
