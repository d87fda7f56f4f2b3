//! Holds a gRPC response back until it is known what it means.
//!
//! A unary response is held until its trailers. Nothing in a response says whether it is one, so a
//! response counts as streaming once its first message is there and what follows is not: it must
//! never be held up for a second message.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Poll;

use bytes::{Buf, Bytes};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::{Body, Frame};
use leasehold::Verdict;

use super::held::Read;
use super::messages::Messages;
use super::{GRPC, GRPC_STATUS, GrpcCode, HeldBody, is_grpc};
use crate::buffer::Budget;
use crate::policy::Policy;
use crate::verdict::OutcomeUnknown;

/// Most frames that are held. Arbitrary: a unary response has a few.
const FRAMES_MAX: usize = 1024;

/// The body of a handler's response.
#[derive(Debug)]
pub(crate) enum Passed<B> {
    /// As it is.
    Whole(B),
    /// Read ahead.
    Held(Box<HeldBody<B>>),
    /// It broke off before it was known what it means; nothing of it is passed on.
    Broken,
}

/// How far reading ahead came.
enum Met {
    Code(GrpcCode),
    /// A streaming response, or one for which there is no room.
    Message,
    /// An end without a code.
    End,
    Failure,
}

/// Whether a response has to be held to know its verdict. What is no gRPC, and what has a verdict
/// already, passes.
pub(crate) fn is_to_be_held<B>(response: &Response<B>, policy: &Policy) -> bool {
    let said = response.extensions().get::<Verdict>().is_some()
        || response.extensions().get::<OutcomeUnknown>().is_some();
    policy.grpc && !said && response.status().is_success() && is_grpc(response.headers())
}

/// Reads a response ahead as far as it takes to know its verdict, and notes that in its extensions.
/// What is held counts against the budget.
pub(crate) async fn hold<B>(
    response: Response<B>,
    policy: &Policy,
    budget: &Budget,
) -> Response<Passed<B>>
where
    B: Body,
    B::Data: From<Bytes>,
{
    let (mut parts, body) = response.into_parts();
    let in_head = GrpcCode::of(&parts.headers);
    if let Some(code) = in_head
        && body.is_end_stream()
    {
        parts.extensions.insert(code);
        return Response::from_parts(parts, Passed::Whole(body));
    }
    let mut held = HeldBody { read: VecDeque::new(), rest: Box::pin(body) };
    match (read_ahead(&mut held, policy.max_replay_body, budget).await, in_head) {
        (Met::Code(code), _) | (Met::End, Some(code)) => {
            parts.extensions.insert(code);
        }
        (Met::Message, _) => {
            parts.extensions.insert(Verdict::Commit);
        }
        (Met::End, None) => {
            parts.extensions.insert(OutcomeUnknown);
        }
        (Met::Failure, _) => {
            parts.headers = broken();
            parts.status = StatusCode::OK;
            parts.extensions.insert(OutcomeUnknown);
            return Response::from_parts(parts, Passed::Broken);
        }
    }
    Response::from_parts(parts, Passed::Held(Box::new(held)))
}

async fn read_ahead<B>(held: &mut HeldBody<B>, bytes_max: usize, budget: &Budget) -> Met
where
    B: Body,
    B::Data: From<Bytes>,
{
    let (mut messages, mut bytes_held) = (Messages::default(), 0_usize);
    // Ends: each round but the last holds a frame, and only so many are held.
    loop {
        let may_wait = !messages.is_one();
        let frame = poll_fn(|cx| match held.rest.as_mut().poll_frame(cx) {
            Poll::Pending if may_wait => Poll::Pending,
            Poll::Pending => Poll::Ready(None),
            Poll::Ready(frame) => Poll::Ready(Some(frame)),
        });
        let frame = match frame.await {
            None => return Met::Message,
            Some(None) => {
                held.read.push_back(Read::End);
                return Met::End;
            }
            Some(Some(Err(_))) => return Met::Failure,
            Some(Some(Ok(frame))) => frame,
        };
        match frame.into_data().map_err(Frame::into_trailers) {
            Ok(mut data) => {
                let bytes = data.copy_to_bytes(data.remaining());
                messages.take(&bytes);
                bytes_held = bytes_held.saturating_add(bytes.len());
                let mut buffer = budget.buffer();
                if buffer.push(bytes.as_ref()).is_err() {
                    // It is not held any longer, and so passes as it is.
                    held.read.push_back(Read::Data(bytes));
                    return Met::Message;
                }
                held.read.push_back(Read::Data(buffer.into_bytes()));
            }
            Err(Ok(trailers)) => {
                let code = GrpcCode::of(&trailers);
                held.read.extend([Read::Trailers(trailers), Read::End]);
                return code.map_or(Met::End, Met::Code);
            }
            // A kind of frame that does not exist yet.
            Err(Err(_)) => return Met::Failure,
        }
        let much = bytes_held > bytes_max || held.read.len() > FRAMES_MAX;
        if messages.are_many() || much {
            return Met::Message;
        }
    }
}

/// The head, and all, of the response in place of one that broke off.
fn broken() -> HeaderMap {
    HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static(GRPC)),
        (GRPC_STATUS, HeaderValue::from(GrpcCode::INTERNAL.get())),
    ])
}
