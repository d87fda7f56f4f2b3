//! Holds a request's body back until all of it is there (rule 5.3).
//!
//! Bounded in size, memory and time. A body that was broken off must never be taken for a whole
//! one, and its key must stay free.

use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::Request;
use http_body::Body;
use leasehold::Fingerprint;
use tokio::task::coop::consume_budget;
use tokio::time::timeout;

use crate::buffer::{Budget, NoRoom};
use crate::fingerprint;
use crate::layer::Prepared;
use crate::problem::Problem;
use crate::refusal::Refusal;
use crate::request_body::{Held, RequestBody};
use crate::run::Run;

/// What a held body may take.
#[derive(Clone, Copy, Debug)]
struct Limits<'a> {
    /// Most bytes of this body.
    bytes_max: usize,
    /// Most bytes of all bodies.
    budget: &'a Budget,
    /// For the whole of it to arrive.
    time_max: Duration,
}

/// Why a body could not be held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NotHeld {
    /// It has more bytes than it may.
    TooLarge,
    /// All bodies together have as many as they may.
    NoRoom,
    /// It did not come to its end.
    Broken,
    /// It did not come to its end in time.
    TooSlow,
}

impl From<NoRoom> for NotHeld {
    fn from(NoRoom: NoRoom) -> Self {
        Self::NoRoom
    }
}

impl<S> Run<S> {
    /// Reads the body to its end, for the fingerprint. Until it is there nothing has happened.
    pub(crate) async fn hold_back<B>(
        &self,
        request: Request<RequestBody<B>>,
    ) -> Result<(Request<RequestBody<B>>, Option<Fingerprint>), Refusal>
    where
        B: Body,
        B::Data: From<Bytes>,
    {
        let Prepared { policy, handles, .. } = &*self.prepared;
        let limits = Limits {
            bytes_max: policy.max_fingerprint_body,
            budget: &self.shared.budget,
            time_max: self.shared.body_read_timeout(),
        };
        let (head, body) = request.into_parts();
        let held = tokio::select! {
            biased;
            held = hold(body, limits) => held,
            // Nothing has happened yet, so there is nothing to be told to anybody.
            () = self.client_left() => return Err(Problem::internal().into()),
            () = self.place.cut() => return Err(Problem::overloaded().into()),
        };
        let held = held.map_err(|reason| {
            tracing::debug!(address = %self.address, ?reason, "a body was not held back");
            match reason {
                NotHeld::TooLarge => {
                    handles.too_large.inc();
                    Problem::body_too_large().into()
                }
                NotHeld::NoRoom => Problem::overloaded().into(),
                NotHeld::Broken => Refusal::Broken(Problem::bad_request()),
                NotHeld::TooSlow => Refusal::Broken(Problem::request_timeout()),
            }
        })?;
        let fingerprint =
            fingerprint::of_request(policy.fingerprint, self.shared.digester(), &head, &held.data);
        Ok((Request::from_parts(head, RequestBody::held(held)), fingerprint))
    }
}

/// Reads a body to its end. One that is known to be too large is not asked for.
async fn hold<B: Body>(body: B, limits: Limits<'_>) -> Result<Held, NotHeld> {
    if body.size_hint().lower() > limits.bytes_max as u64 {
        return Err(NotHeld::TooLarge);
    }
    // Looks at its timer too when the body has used up the task's turn without waiting once.
    timeout(limits.time_max, read(body, limits)).await.unwrap_or(Err(NotHeld::TooSlow))
}

async fn read<B: Body>(body: B, limits: Limits<'_>) -> Result<Held, NotHeld> {
    let mut body = pin!(body);
    let mut buffer = limits.budget.buffer();
    let mut trailers = None;
    // Ends: at the latest when the caller's time is over.
    while !body.is_end_stream() {
        // Frames that are always there, empty ones above all, must not keep the clock out.
        consume_budget().await;
        let frame = match poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            None => break,
            Some(Ok(frame)) => frame,
            Some(Err(_)) => return Err(NotHeld::Broken),
        };
        match frame.into_data() {
            Ok(data) => {
                let size = data.remaining();
                if size > limits.bytes_max.saturating_sub(buffer.len()) {
                    return Err(NotHeld::TooLarge);
                }
                buffer.push(data)?;
            }
            // A frame is either data or trailers.
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    Ok(Held { data: buffer.into_bytes(), trailers })
}
