//! Bodies whose frames come when a test sends them.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use leasehold_http::ResponseBody;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::support::Failure;

/// What a piped body gives.
pub(crate) type Step = Result<Frame<Bytes>, Failure>;

/// A body that gives what its pipe sends, and ends when the pipe is dropped.
#[derive(Debug)]
pub(crate) struct Piped {
    frames: UnboundedReceiver<Step>,
    /// What it says of its size; none says nothing.
    length: Option<u64>,
}

/// Sends a body's frames.
#[derive(Clone, Debug)]
pub(crate) struct Pipe(UnboundedSender<Step>);

pub(crate) fn pipe() -> (Pipe, Piped) {
    let (sender, frames) = unbounded_channel();
    (Pipe(sender), Piped { frames, length: None })
}

/// A body that is there at once.
pub(crate) fn ready(steps: impl IntoIterator<Item = Step>) -> Piped {
    let (pipe, body) = pipe();
    steps.into_iter().for_each(|step| pipe.step(step));
    body
}

impl Piped {
    /// The same body, which says how long it is and so when it has ended.
    pub(crate) fn of_length(mut self, length: u64) -> Self {
        self.length = Some(length);
        self
    }
}

impl Pipe {
    pub(crate) fn step(&self, step: Step) {
        self.0.send(step).expect("the body is there");
    }

    pub(crate) fn send(&self, text: &'static str) {
        self.step(data(text));
    }

    /// Whether the body has been dropped.
    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

pub(crate) fn data(text: &'static str) -> Step {
    Ok(Frame::data(Bytes::from_static(text.as_bytes())))
}

pub(crate) fn trailers(name: &'static str) -> Step {
    let field = (HeaderName::from_static(name), HeaderValue::from_static("1"));
    Ok(Frame::trailers(HeaderMap::from_iter([field])))
}

impl Body for Piped {
    type Data = Bytes;
    type Error = Failure;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Step>> {
        let polled = self.frames.poll_recv(cx);
        if let (Poll::Ready(Some(Ok(frame))), Some(length)) = (&polled, &mut self.length) {
            *length -= frame.data_ref().map_or(0, |data| data.len() as u64);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.length == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// The data of the next frame; none at the end.
pub(crate) async fn next(
    body: &mut (impl Body<Data = Bytes, Error = Failure> + Unpin),
) -> Option<Result<String, Failure>> {
    let frame = body.frame().await?;
    Some(frame.map(|frame| {
        let data = frame.into_data().expect("data");
        String::from_utf8(data.to_vec()).expect("text")
    }))
}

/// The whole text.
pub(crate) async fn text(answer: Response<ResponseBody<Piped>>) -> String {
    let body = answer.into_body().collect().await.expect("a whole body").to_bytes();
    String::from_utf8(body.to_vec()).expect("text")
}
