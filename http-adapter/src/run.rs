//! One protected request, from its acquire to its verdict, as one future.
//!
//! The future is polled in place while the client waits, and goes on elsewhere when it has gone:
//! nothing here may depend on who polls it.

use std::any::Any;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use http_body::Body;
use leasehold::{AcquireError, Address, Lease, LeaseStore, Terms, Verdict};
use tokio::time::Instant;
use tower_service::Service;

use crate::admission::{Answer, admit};
use crate::body::ResponseBody;
use crate::client::Client;
use crate::grpc::{self, Passed};
use crate::held::{HeldLease, Unleased};
use crate::layer::{Prepared, Shared};
use crate::ledger::Access;
use crate::open_runs::OpenRun;
use crate::owner::Owner;
use crate::policy::{Duplicate, FingerprintMode, OnDisconnect};
use crate::problem::{Asker, Problem};
use crate::refusal::Refusal;
use crate::request_body::RequestBody;
use crate::running::Place;
use crate::store_calls::Verb;
use crate::timed::timed;
use crate::verdict::{self, Judge};

/// What one protected request needs besides its handler.
pub(crate) struct Run<S> {
    pub(crate) shared: Arc<Shared<S>>,
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) address: Address,
    /// Whose request it is, where replays depend on that.
    pub(crate) owner: Option<Owner>,
    /// Whom problems are for.
    pub(crate) asker: Asker,
    /// Given back when the request has ended, be its client there or not.
    pub(crate) place: Place,
    /// Dropped after the place: whoever is woken by it may need that one.
    pub(crate) ledger: Access<S>,
    /// Its client, if anything of the request ends when it goes away.
    pub(crate) client: Option<Client>,
}

/// By what right a handler runs.
pub(crate) struct Right {
    /// None if the store did not answer and the policy fails open (rule 3.8), or if the lease is
    /// out of reach. A success is then recorded under another one.
    pub(crate) grant: Option<Grant>,
    /// The entry of the run, if the policy fails open.
    pub(crate) open: Option<OpenRun>,
}

/// A lease that was granted, with what its handler sees of it.
pub(crate) struct Grant {
    pub(crate) lease: Lease,
    pub(crate) held: HeldLease,
    /// A moment before the store granted the lease.
    pub(crate) since: Instant,
}

/// How a handler ended.
enum End<R, E> {
    Answered(Result<Response<R>, E>),
    Panicked(Box<dyn Any + Send>),
    /// The server has cut it.
    Cut,
    /// Its client has gone, and so it was dropped.
    Gone,
}

impl<S> Run<S> {
    /// Ends when the client has gone, if its handler is to end then.
    pub(crate) async fn client_left(&self) {
        if self.prepared.policy.on_disconnect == OnDisconnect::Cancel {
            self.waiter_left().await;
        } else {
            pending().await
        }
    }

    /// Ends when the client has gone. For what must not begin then: before that nothing of the
    /// request has run. Whatever waits, except for the store's answer, is to wait for this or the
    /// other beside it.
    pub(crate) async fn waiter_left(&self) {
        match &self.client {
            Some(client) => client.left().await,
            None => pending().await,
        }
    }
}

impl<S: LeaseStore + Clone> Run<S> {
    /// Serves a request. The verdict is settled before this ends, and so before the response's
    /// head is sent (rule 4.4).
    pub(crate) async fn serve<Svc, B, R>(
        mut self,
        inner: Svc,
        mut request: Request<RequestBody<B>>,
    ) -> Result<Response<ResponseBody<R>>, Svc::Error>
    where
        Svc: Service<Request<RequestBody<B>>, Response = Response<R>>,
        Svc::Error: Send + 'static,
        B: Body,
        B::Data: From<Bytes>,
        R: Body + Send + 'static,
        R::Data: From<Bytes>,
        R::Error: Send,
    {
        let mut terms = Terms::new(self.prepared.policy.lease_ttl);
        if self.prepared.policy.fingerprint != FingerprintMode::Off {
            // Boxed, like what follows the handler, so that other requests have no room for it.
            (request, terms.fingerprint) = match Box::pin(self.hold_back(request)).await {
                Ok(held) => held,
                Err(refusal) => return Ok(refusal.respond(&self.asker, &self.prepared.policy)),
            };
        }
        let right = match self.acquire(terms).await {
            Ok(right) => right,
            Err(refusal) => return Ok(refusal.respond(&self.asker, &self.prepared.policy)),
        };
        self.ledger.begin();
        let Right { grant, open } = right;
        match &grant {
            Some(grant) => {
                request.extensions_mut().insert(grant.held.clone());
            }
            None => {
                // Another layer's lease would be one of another key.
                request.extensions_mut().remove::<HeldLease>();
                request.extensions_mut().insert(Unleased);
            }
        }
        let kept = grant.map(|grant| self.shared.pacemaker.keep(grant));
        let end = self.handle(inner, request).await;
        let verdict = self.verdict(&end);
        self.prepared.handles.count_verdict(verdict);
        tracing::debug!(address = %self.address, ?verdict, "the handler has ended");
        let grant = match kept {
            Some(kept) => kept.take_back(verdict != Verdict::Hold).await,
            None => None,
        };
        let right = Right { grant, open };
        let end = match self.to_be_kept(end, verdict) {
            Ok(response) => {
                return Ok(Box::pin(self.commit_and_keep(right, terms, response)).await);
            }
            Err(end) => end,
        };
        self.settle(right, terms, verdict).await;
        match end {
            End::Answered(answer) => answer.map(|response| response.map(ResponseBody::from)),
            End::Panicked(panic) => resume_unwind(panic),
            End::Cut => Ok(Problem::gateway_timeout().respond(&self.asker)),
            // Nobody reads it.
            End::Gone => Ok(Problem::internal().respond(&self.asker)),
        }
    }

    /// The response, if it is to be kept for replays; else the end as it was. One of gRPC has its
    /// code in a trailer, and those are not kept.
    fn to_be_kept<R, E>(
        &self,
        end: End<Passed<R>, E>,
        verdict: Verdict,
    ) -> Result<Response<R>, End<Passed<R>, E>> {
        let End::Answered(Ok(response)) = end else { return Err(end) };
        let policy = &self.prepared.policy;
        let keeps = policy.duplicate == Duplicate::Replay
            && verdict == Verdict::Commit
            && !(policy.grpc && grpc::is_grpc(response.headers()));
        match response.into_parts() {
            (parts, Passed::Whole(body)) if keeps => Ok(Response::from_parts(parts, body)),
            (parts, passed) => Err(End::Answered(Ok(Response::from_parts(parts, passed)))),
        }
    }

    /// Asks for a lease, and hears the answer even if the client goes away meanwhile: an acquire
    /// that is broken off may still be granted, and then nobody would release it.
    async fn acquire(&mut self, terms: Terms) -> Result<Right, Refusal> {
        let mut asked = self.ask(terms).await;
        if !self.prepared.policy.wait.is_zero() && self.may_change(&asked) {
            // Boxed, so that those who need not wait do not carry it.
            asked = Box::pin(self.wait(terms, asked)).await?;
        }
        if asked.is_unprotected() {
            self.fail_open(&asked.answer);
            return Ok(Right { grant: None, open: asked.open });
        }
        let lease = admit(asked.answer, &self.prepared, self.owner)?;
        let held = HeldLease::new(&lease, self.address, Arc::clone(&self.prepared));
        tracing::debug!(address = %self.address, token = %lease.token(), "granted");
        let grant = Grant { lease, held, since: asked.since };
        Ok(Right { grant: Some(grant), open: asked.open })
    }

    fn fail_open(&self, answer: &Answer) {
        self.prepared.handles.fail_open.inc();
        tracing::debug!(address = %self.address, "runs unprotected");
        if let Some(others) = self.ledger.warnings.tell() {
            let error: &(dyn std::error::Error + 'static) = match answer {
                Ok(Ok(_)) => return,
                Ok(Err(error)) => error,
                Err(slow) => slow,
            };
            tracing::warn!(error, others, "the store did not answer, requests run unprotected");
        }
    }

    /// A store that is full says so on every request, so that is no warning.
    pub(crate) fn log(&self, answer: &Answer) {
        let error: &(dyn std::error::Error + 'static) = match answer {
            Ok(Ok(_)) => return,
            Ok(Err(AcquireError::Full)) => {
                tracing::debug!(address = %self.address, "refused: the store is full");
                return;
            }
            Ok(Err(error)) => error,
            Err(slow) => slow,
        };
        tracing::warn!(address = %self.address, error, "acquire failed");
    }

    /// Tells the store, beside the refusal, to free what it may have granted unheard.
    pub(crate) fn abandon(&self, terms: Terms) {
        let (store, address) = (self.shared.store().clone(), self.address);
        let (prepared, ledger) = (Arc::clone(&self.prepared), self.ledger.shared());
        // Without a runtime a lease that was granted ends by itself.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let call = store.abandon(address, terms.attempt);
                let answer = timed(Verb::Abandon, &prepared, call).await;
                if !matches!(answer, Ok(Ok(()))) {
                    tracing::debug!(%address, "abandon failed, a lease may run out by itself");
                }
                // Whoever has met that lease may run now.
                ledger.waiting.tell(&address);
            });
        }
    }

    /// Runs the handler to its end, and drops it.
    async fn handle<Svc, B, R>(
        &self,
        mut inner: Svc,
        request: Request<RequestBody<B>>,
    ) -> End<Passed<R>, Svc::Error>
    where
        Svc: Service<Request<RequestBody<B>>, Response = Response<R>>,
        R: Body,
        R::Data: From<Bytes>,
    {
        let (policy, budget) = (&self.prepared.policy, &self.shared.budget);
        let handler = async move {
            let response = inner.call(request).await?;
            if grpc::is_to_be_held(&response, policy) {
                // Boxed, so that others do not carry it. The beginning of such a body is a part of
                // the handler: its lease is kept, and a panic of it counts.
                return Ok(Box::pin(grpc::hold(response, policy, budget)).await);
            }
            Ok(response.map(Passed::Whole))
        };
        // After a panic nothing of the handler is looked at again.
        let handler = AssertUnwindSafe(handler).catch_unwind();
        let mut handler = pin!(Some(handler));
        let end = tokio::select! {
            biased;
            // First: a handler is not polled again once its client has gone.
            () = self.client_left() => End::Gone,
            end = ended(handler.as_mut()) => match end {
                Ok(answer) => End::Answered(answer),
                Err(panic) => End::Panicked(panic),
            },
            () = self.place.cut() => End::Cut,
        };
        // It may panic here too, and its lease is not settled yet.
        if catch_unwind(AssertUnwindSafe(|| handler.set(None))).is_err() {
            tracing::error!(address = %self.address, "a handler panicked when it was dropped");
        }
        end
    }

    fn verdict<R, E: Send + 'static>(&self, end: &End<R, E>) -> Verdict {
        let policy = &self.prepared.policy;
        let judge = Judge { policy, classifier: self.shared.classifier() };
        match end {
            End::Answered(Ok(response)) => judge.of_response(response),
            End::Answered(Err(error)) => judge.of_error(error),
            End::Panicked(panic) => judge.of_panic(&**panic),
            End::Cut => verdict::of_unknown(policy),
            End::Gone => Verdict::Release,
        }
    }
}

/// Waits for the end of a handler that is there.
async fn ended<F: Future>(mut handler: Pin<&mut Option<F>>) -> F::Output {
    poll_fn(|cx| match handler.as_mut().as_pin_mut() {
        Some(handler) => handler.poll(cx),
        None => Poll::Pending,
    })
    .await
}
