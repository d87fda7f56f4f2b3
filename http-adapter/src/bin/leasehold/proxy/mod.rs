//! The innermost service: passes an admitted request to the upstream and says what came of it.
//!
//! Bodies stream both ways. It must never send one request twice: what may have reached the
//! upstream ends as an unknown outcome, and only what certainly has not is released (rule 4.3).

mod failure;
mod headers;
mod trailers;
mod tunnel;
mod upload;

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::TRANSFER_ENCODING;
use http::{HeaderName, Request, Response, Uri, Version};
use http_body::Body;
use hyper::body::Incoming;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy::connect::{CaptureConnection, HttpConnector, capture_connection};
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use leasehold_http::{HeldLease, NotReplayable, ResponseBody};
use tokio::time::timeout;
use tower_service::Service;

use crate::askers::Askers;
use crate::server::Peer;
use failure::Failure;
use trailers::Trimmed;
use tunnel::Upgrade;
use upload::{BoxError, Progress, Source, TooSlow, Upload};

/// How long an unused upstream connection is kept. Below the five seconds after which common
/// servers (Node's, for one) close theirs, so that a request rarely meets a closing one.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Most headers of a response; hyper's own limit of 100 is met by services that set many cookies.
const RESPONSE_HEADERS_MAX: usize = 256;

/// Largest head of a response, in bytes, and most that is read ahead of a client that takes
/// nothing: as much as a request's head may have.
const RESPONSE_BUFFER_MAX: usize = 64 << 10;

/// What the proxy answers: the upstream's body, or a problem of its own.
pub(crate) type Answer = Response<ResponseBody<Trimmed<Incoming>>>;

/// How long the parts of an exchange may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// For connecting, from the last request byte to the response head, and for the upstream to
    /// take any byte of what is being written to it.
    pub(crate) upstream: Duration,
    /// For the request body to arrive and be taken, whether the response has begun or not.
    pub(crate) body_read: Duration,
}

/// A reverse proxy to one upstream over HTTP/1.1. A clone shares its connections.
#[derive(Debug)]
pub(crate) struct Proxy<B: Source> {
    shared: Arc<Shared<B>>,
}

#[derive(Debug)]
struct Shared<B: Source> {
    client: Client<TimeoutConnector<HttpConnector>, Upload<Trimmed<B>>>,
    upstream: Uri,
    limits: Limits,
    /// The headers that carry keys, or tell whose they are.
    keys: Arc<[HeaderName]>,
    askers: Askers,
}

impl<B: Source> Clone for Proxy<B> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<B> Proxy<B>
where
    B: Source,
    B::Error: Into<BoxError>,
{
    /// A proxy to `upstream`, which is `http://host[:port]`; `keys` are the headers that carry
    /// idempotency keys or tell whose they are. Its failures are answered as the routes of `askers`
    /// say.
    pub(crate) fn new(
        upstream: Uri,
        limits: Limits,
        keys: Arc<[HeaderName]>,
        askers: Askers,
    ) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(limits.upstream));
        let mut connector = TimeoutConnector::new(connector);
        // Else an upstream that reads no further keeps its connection and the client's for ever
        // once the client was answered, for nothing else watches the upload then.
        connector.set_write_timeout(Some(limits.upstream));
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(POOL_IDLE)
            .pool_timer(TokioTimer::new())
            .set_host(false)
            // Repeats only requests that the dead connection had not begun to write.
            .retry_canceled_requests(true)
            .http1_max_headers(RESPONSE_HEADERS_MAX)
            .http1_max_buf_size(RESPONSE_BUFFER_MAX)
            .build(connector);
        Self { shared: Arc::new(Shared { client, upstream, limits, keys, askers }) }
    }
}

impl<B> Service<Request<B>> for Proxy<B>
where
    B: Source,
    B::Error: Into<BoxError>,
{
    type Response = Answer;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Answer, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        let asker = shared.askers.of(&request);
        Box::pin(async move {
            let answer = shared.forward(request).await;
            Ok(answer.unwrap_or_else(|failure| failure.answer(&asker)))
        })
    }
}

impl<B> Shared<B>
where
    B: Source,
    B::Error: Into<BoxError>,
{
    async fn forward(&self, request: Request<B>) -> Result<Answer, Failure> {
        let (mut parts, body) = request.into_parts();
        let token = parts.extensions.get::<HeldLease>().map(HeldLease::token);
        let peer = parts.extensions.remove::<Peer>();
        let upgrade = Upgrade::take(&mut parts);
        let named = headers::to_upstream(&mut parts, &self.upstream, peer.as_ref(), token);
        // Only a tunnel keeps its place among the connections when its client's has ended.
        let tunnel = upgrade.map(|upgrade| (upgrade, peer));
        if let Some((upgrade, _)) = &tunnel {
            upgrade.ask(&mut parts.headers);
        }
        let body = Trimmed::new(body, Arc::clone(&self.keys), named);
        let (body, progress) = Upload::new(body, parts.version, self.limits.body_read);
        if !body.is_end_stream() && body.size_hint().exact().is_none() {
            headers::frame_by_chunks(&mut parts.headers);
        }
        let mut outgoing = Request::new(body);
        *outgoing.method_mut() = parts.method;
        *outgoing.uri_mut() = self.target(&parts.uri)?;
        *outgoing.version_mut() = Version::HTTP_11;
        *outgoing.headers_mut() = parts.headers;
        let response = self.exchange(outgoing, progress).await?;
        self.finish(response, tunnel)
    }

    /// The upstream's address with the request's own path and query, byte by byte.
    ///
    /// The path is the one that the key's address was made of. A target that has none (an
    /// authority alone) is refused rather than taken for another.
    fn target(&self, uri: &Uri) -> Result<Uri, Failure> {
        let path = uri.path_and_query().ok_or(Failure::BadRequest)?;
        if path.path() != uri.path() {
            return Err(Failure::BadRequest);
        }
        let mut target = self.upstream.clone().into_parts();
        target.path_and_query = Some(path.clone());
        Uri::from_parts(target).map_err(|_| Failure::BadRequest)
    }

    /// Sends the request and waits for the head of its response, within the limits.
    async fn exchange(
        &self,
        mut request: Request<Upload<Trimmed<B>>>,
        mut progress: Progress,
    ) -> Result<Response<Incoming>, Failure> {
        let connection = capture_connection(&mut request);
        // Dropped before the failure is looked at: the upload ends with it.
        let answered = {
            let mut response = pin!(self.client.request(request));
            let mut late = pin!(self.too_late(connection, progress.clone()));
            poll_fn(|cx| {
                if let Poll::Ready(result) = response.as_mut().poll(cx) {
                    return Poll::Ready(Ok(result));
                }
                late.as_mut().poll(cx).map(Err)
            })
            .await
        };
        let failure = match answered {
            Ok(Ok(response)) => return Ok(response),
            Ok(Err(error)) => of_error(&error, &progress),
            Err(failure) => failure,
        };
        if failure.is_unknown() && progress.turns_out_broken().await {
            tracing::debug!(?failure, "its client had broken off the upload");
            return Err(Failure::UploadBroken);
        }
        Err(failure)
    }

    /// Ends when the exchange has taken too long, with whose fault it is.
    async fn too_late(&self, mut connection: CaptureConnection, mut progress: Progress) -> Failure {
        let connected = connection.wait_for_connection_metadata();
        if timeout(self.limits.upstream, connected).await.is_err() {
            return Failure::NotReached;
        }
        if timeout(self.limits.body_read, progress.finished()).await.is_err() {
            return if progress.waits_for_client() {
                Failure::UploadTooSlow
            } else {
                Failure::TimedOut
            };
        }
        tokio::time::sleep(self.limits.upstream).await;
        Failure::TimedOut
    }

    /// Prepares the upstream's response for the client.
    fn finish(
        &self,
        mut response: Response<Incoming>,
        tunnel: Option<(Upgrade, Option<Peer>)>,
    ) -> Result<Answer, Failure> {
        // Before `Connection` may take it away: it is for the gateway, whatever else is said of it.
        let verdict = headers::take_verdict(response.headers_mut());
        let pass =
            |body, named| ResponseBody::inner(Trimmed::new(body, Arc::clone(&self.keys), named));
        if response.status() == http::StatusCode::SWITCHING_PROTOCOLS {
            let Some((upgrade, peer)) = tunnel.filter(|_| tunnel::may_pass(response.headers()))
            else {
                tracing::warn!("the upstream switched to a protocol that it was not asked for");
                return Err(Failure::BrokeOff);
            };
            return Ok(upgrade.switch(response, peer).map(|body| pass(body, Vec::new())));
        }
        // A body that ends with its connection looks the same when the upstream has died.
        let ends_with_its_connection = response.body().size_hint().exact().is_none()
            && !response.headers().contains_key(TRANSFER_ENCODING);
        if ends_with_its_connection {
            response.extensions_mut().insert(NotReplayable);
        }
        let named = headers::remove_hop_by_hop(response.headers_mut());
        if let Some(verdict) = verdict {
            response.extensions_mut().insert(verdict);
        }
        *response.version_mut() = Version::HTTP_11;
        Ok(response.map(|body| pass(body, named)))
    }
}

/// What an error of the client's means for the request.
fn of_error(error: &ClientError, progress: &Progress) -> Failure {
    let chain = failure::Chain(error);
    if progress.is_broken() {
        tracing::debug!(error = %chain, "a client broke off its upload");
        return Failure::UploadBroken;
    }
    let unsent = chain
        .find::<hyper::Error>()
        // Only requests that were never begun are canceled, see `hyper::Error::is_canceled`.
        .is_some_and(hyper::Error::is_canceled);
    if error.is_connect() || unsent {
        tracing::warn!(error = %chain, "the upstream was not reached");
        return Failure::NotReached;
    }
    if chain.find::<hyper::Error>().is_some_and(hyper::Error::is_parse_too_large) {
        tracing::warn!("the head of the upstream's response is too large");
        return Failure::HeadTooLarge;
    }
    let of_upload = chain.find::<TooSlow>().is_some();
    if of_upload && progress.waits_for_client() {
        return Failure::UploadTooSlow;
    }
    let stalled = chain.find::<io::Error>().is_some_and(|at| at.kind() == ErrorKind::TimedOut);
    if of_upload || stalled {
        tracing::warn!(error = %chain, "the upstream did not take the request in time");
        return Failure::TimedOut;
    }
    tracing::warn!(error = %chain, "the upstream broke off");
    Failure::BrokeOff
}
