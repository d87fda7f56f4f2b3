//! The service: which requests pass, which are refused, and which run under a lease.
//!
//! What it decides here it decides without the store; it must never wait.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use leasehold::LeaseStore;
use tower_service::Service;

use crate::body::ResponseBody;
use crate::client::Client;
use crate::future::ResponseFuture;
use crate::key;
use crate::layer::{Prepared, Shared};
use crate::ledger::Access;
use crate::overriding::Override;
use crate::policy::OnDisconnect;
use crate::principal;
use crate::problem::Problem;
use crate::request_body::RequestBody;
use crate::resolver::{RequestHead, Resolution};
use crate::run::Run;
use crate::scope::Scope;

/// A service whose writes succeed at most once. Made by
/// [`IdempotentLayer`](crate::IdempotentLayer).
///
/// Its error is the inner service's: the layer's own refusals are responses.
pub struct Idempotent<Svc, S> {
    inner: Svc,
    shared: Arc<Shared<S>>,
}

impl<Svc, S> Idempotent<Svc, S> {
    pub(crate) fn new(inner: Svc, shared: Arc<Shared<S>>) -> Self {
        Self { inner, shared }
    }
}

/// What becomes of a request, as far as that can be said without the store.
enum Fate {
    Bypass,
    Refuse(Problem),
    Lease(Scope),
}

impl<S> Shared<S> {
    fn fate<B>(&self, request: &Request<B>, prepared: &Prepared) -> Fate {
        let (policy, head) = (&prepared.policy, RequestHead::of(request));
        if !policy.protects(head.method()) {
            return Fate::Bypass;
        }
        let resolution = match self.resolver() {
            Some(resolver) => resolver.resolve(head),
            None => Ok(Resolution::by_policy()),
        };
        let scope =
            resolution.and_then(|resolution| Scope::of(head, &resolution, policy, self.digester()));
        match scope {
            Ok(Some(scope)) => Fate::Lease(scope),
            Ok(None) => Fate::Bypass,
            Err(refusal) => Fate::Refuse(Problem::invalid_key(refusal)),
        }
    }
}

/// What the inner service gets is [`RequestBody`], the client's body or the same out of memory.
/// Bodies, of requests and of responses, must be able to hold [`Bytes`], as those of hyper and axum
/// do.
impl<Svc, S, B, R> Service<Request<B>> for Idempotent<Svc, S>
where
    Svc: Service<Request<RequestBody<B>>, Response = Response<R>> + Clone + Send + 'static,
    Svc::Future: Send + 'static,
    Svc::Error: Send + 'static,
    S: LeaseStore + Clone,
    B: Body + Send + 'static,
    B::Data: From<Bytes>,
    R: Body + Send + 'static,
    R::Data: From<Bytes>,
    R::Error: Send,
{
    type Response = Response<ResponseBody<R>>;
    type Error = Svc::Error;
    type Future = ResponseFuture<Svc::Future, R, Svc::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Svc::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let instead = request.extensions_mut().remove::<Override>().map(Override::into_policy);
        let unprotected = matches!(instead, Some(None));
        let own = instead.flatten().map(|policy| self.shared.prepare(policy));
        let of_path = || self.shared.prepared(request.uri().path());
        let prepared = own.as_ref().unwrap_or_else(of_path);
        key::conceal(request.headers_mut(), &prepared.policy.header_name);
        principal::conceal(request.headers_mut(), &prepared.policy.principal_headers);
        let fate = if unprotected { Fate::Bypass } else { self.shared.fate(&request, prepared) };
        let Scope { address, owner } = match fate {
            Fate::Bypass => {
                prepared.handles.bypassed.inc();
                return ResponseFuture::bypassed(
                    self.inner.call(request.map(RequestBody::passing)),
                );
            }
            Fate::Refuse(problem) => {
                prepared.handles.invalid_key.inc();
                return ResponseFuture::refused(problem.respond(&prepared.asker(&request)));
            }
            Fate::Lease(scope) => scope,
        };
        let asker = prepared.asker(&request);
        let Some(place) = self.shared.running.enter() else {
            tracing::debug!(%address, "refused: too many requests are running");
            return ResponseFuture::refused(Problem::overloaded().respond(&asker));
        };
        // Only this instance has been made ready; its clone has not.
        let next = self.inner.clone();
        let inner = std::mem::replace(&mut self.inner, next);
        let (shared, prepared) = (Arc::clone(&self.shared), Arc::clone(prepared));
        let ledger = Access::new(&shared.ledger, address);
        // Only who may wait, or is to end early, looks at his client: all others run to their end.
        let policy = &prepared.policy;
        let looks = !policy.wait.is_zero() || policy.on_disconnect == OnDisconnect::Cancel;
        let client = looks.then(Client::default);
        let run =
            Run { shared, prepared, address, owner, asker, place, ledger, client: client.clone() };
        let request = request.map(RequestBody::passing);
        ResponseFuture::leased(Box::pin(run.serve(inner, request)), client)
    }
}

impl<Svc: Clone, S> Clone for Idempotent<Svc, S> {
    fn clone(&self) -> Self {
        Self { inner: self.inner.clone(), shared: Arc::clone(&self.shared) }
    }
}

impl<Svc: fmt::Debug, S> fmt::Debug for Idempotent<Svc, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idempotent").field("inner", &self.inner).finish_non_exhaustive()
    }
}
