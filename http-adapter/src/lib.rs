//! HTTP writes that succeed at most once: a tower layer for the `Idempotency-Key` header.
//!
//! A client sends a key with a write. The first request with that key runs under a lease; when it
//! succeeds the key is kept, and its duplicates are refused; when it fails the key is free again.
//! The whole contract, rule by rule, is `docs/http.md` in the repository.
//!
//! ```
//! use std::convert::Infallible;
//! use std::sync::Arc;
//!
//! use http::{Request, Response};
//! use leasehold::{MemoryConfig, MemoryStore};
//! use leasehold_http::{IdempotentLayer, Policy, RequestBody, Routes};
//! use tower::{Layer, ServiceExt, service_fn};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Arc::new(MemoryStore::new(MemoryConfig::default())?);
//! let layer = IdempotentLayer::new(store, Routes::new(Policy::default()));
//! let orders = layer.layer(service_fn(|_: Request<RequestBody<String>>| async {
//!     Ok::<_, Infallible>(Response::new(String::from("ordered")))
//! }));
//!
//! let order = || Request::post("/orders").header("idempotency-key", "k-1").body(String::new());
//! assert_eq!(orders.clone().oneshot(order()?).await?.status(), 200);
//! assert_eq!(orders.clone().oneshot(order()?).await?.status(), 409);
//! # Ok(())
//! # }
//! ```
//!
//! A handler need not know of any of this. It may:
//!
//! - look at its lease, [`HeldLease`], in the request's extensions: a token that rises with every
//!   run of a key, and whether the lease was lost meanwhile, as a flag and as a future;
//! - put a [`Verdict`](leasehold::Verdict) into its response's extensions, where the status does
//!   not say whether the write has happened; or [`OutcomeUnknown`], if it does not know either;
//! - put [`NotReplayable`] there, if nobody but its own client may ever see the response.
//!
//! When its client goes away it runs on to its end, and its verdict counts, unless the policy's
//! [`on_disconnect`](Policy::on_disconnect) is [`OnDisconnect::Cancel`]: then it is dropped, and
//! its key is free.
//!
//! What scopes a key, what an end means, and what a refusal looks like can be told in code: by a
//! [`KeyResolver`], an [`ErrorClassifier`], a [`ProblemRenderer`], and, for single requests, an
//! [`Override`] in their extensions.
//!
//! | feature | on by default | what it adds |
//! |---|---|---|
//! | `gateway` | yes | the binary `leasehold`, a reverse proxy; nothing to this library |

#![forbid(unsafe_code)]

mod admission;
mod asking;
mod body;
mod buffer;
mod by_address;
mod capture;
mod classifier;
mod client;
mod fingerprint;
mod future;
mod grpc;
mod held;
mod intake;
mod key;
mod key_refusal;
mod layer;
mod ledger;
mod metrics;
mod open_runs;
mod overriding;
mod owner;
mod pacemaker;
mod pauses;
mod pending;
mod policy;
mod principal;
mod problem;
mod record;
mod refusal;
mod replay;
mod request_body;
mod resolver;
mod route;
mod run;
mod running;
mod scope;
mod seldom;
mod service;
mod settle;
mod store_calls;
mod timed;
mod verdict;
mod waiting;

pub use body::ResponseBody;
pub use classifier::{ErrorClassifier, HandlerEnd};
pub use future::ResponseFuture;
pub use grpc::GrpcCode;
pub use held::{HeldLease, Unleased};
pub use key_refusal::KeyRefusal;
pub use layer::IdempotentLayer;
pub use metrics::Metrics;
pub use overriding::Override;
pub use pending::PendingCommits;
pub use policy::{
    Duplicate, ErrorFormat, FingerprintMode, KeySyntax, OnDisconnect, Policy, UnknownOutcome,
    Verdicts, VerdictsError,
};
pub use problem::{Asker, Language, Problem, ProblemKind, ProblemRenderer, RenderedProblem};
pub use replay::NotReplayable;
pub use request_body::RequestBody;
pub use resolver::{KeyResolver, RequestHead, Resolution};
pub use route::{Pattern, PatternError, Routes};
pub use running::Running;
pub use service::Idempotent;
pub use verdict::OutcomeUnknown;
