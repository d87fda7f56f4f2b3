//! The loop that accepts connections.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use leasehold_http::ResponseBody;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower_service::Service;

use super::connection::serve;
use super::{Arrival, Front, Lingering};

/// Largest head of a request, in bytes: far above what proxies and browsers send (8 to 16 KiB),
/// far below what would hurt with every connection at it.
const HEAD_BYTES_MAX: u32 = 64 << 10;

/// Most bytes of a stream's response that wait for a client of HTTP/2; as much as of HTTP/1.1.
const SEND_BYTES_MAX: usize = HEAD_BYTES_MAX as usize;

/// Most bytes of one stream's upload, and of all of a connection's, that come before anybody takes
/// them: the former is what a client can send in a round trip.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 512 << 10;

/// Most headers of a request; as many as hyper takes by default.
const HEADERS_MAX: usize = 100;

/// How often an idle HTTP/2 connection is asked whether it still lives.
const PING_INTERVAL: Duration = Duration::from_secs(30);

/// Pause after a failed accept (out of file descriptors, say), so that it is not tried in a spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Most connections, tunnels included; further ones wait to be accepted.
    pub(crate) connections: usize,
    /// For each request's head to come, idle time included.
    pub(crate) header_read: Duration,
    /// For a client to take any byte of what is being written to it.
    pub(crate) write: Duration,
}

/// The connections that are open, tunnels included.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    tasks: JoinSet<()>,
    /// Heard for as long as anything of a connection is there.
    cut: watch::Sender<bool>,
}

impl Connections {
    /// Accepts and serves until `stop` becomes true, then closes the listener. The connections
    /// that are still busy stay in `self`; each ends with the response it is at.
    pub(crate) async fn accept<S, R>(
        &mut self,
        listener: TcpListener,
        front: Front<S>,
        limits: Limits,
        mut stop: watch::Receiver<bool>,
    ) where
        S: Service<Request<Lingering>, Response = Response<ResponseBody<ResponseBody<R>>>>,
        S: Service<Request<Lingering>, Error = Infallible>,
        S: Clone + Send + 'static,
        <S as Service<Request<Lingering>>>::Future: Send,
        R: Body<Data = Bytes> + Send + 'static,
        R::Error: std::error::Error + Send + Sync,
    {
        let places = Arc::new(Semaphore::new(limits.connections));
        let builder = Arc::new(builder(limits));
        loop {
            let accepted = tokio::select! {
                biased;
                _ = stop.wait_for(|stop| *stop) => return,
                accepted = accept_one(&listener, &places) => accepted,
                Some(_) = self.tasks.join_next() => continue,
            };
            let (stream, address, place) = match accepted {
                Ok(accepted) => accepted,
                // The client has gone again before its turn.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => {
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            // Also here: as long as connections keep coming, nobody waits for an end.
            while self.tasks.try_join_next().is_some() {}
            let arrival = Arrival { address, place, cut: self.cut.subscribe() };
            let (builder, front, stop) = (Arc::clone(&builder), front.clone(), stop.clone());
            self.tasks.spawn(async move {
                serve(&builder, stream, arrival, front, limits, stop).await;
            });
        }
    }

    /// Waits until every connection has ended, and every tunnel that one has become.
    pub(crate) async fn ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
        self.cut.closed().await;
    }

    /// Ends the tunnels. What else is open ends with its handlers.
    pub(crate) fn cut(&self) {
        self.cut.send_replace(true);
    }
}

fn builder(limits: Limits) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_read)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEAD_BYTES_MAX as usize)
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PING_INTERVAL)
        .max_send_buf_size(SEND_BYTES_MAX)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(HEAD_BYTES_MAX);
    builder
}

/// Takes a place first, so that connections beyond the bound stay in the listener's queue.
async fn accept_one(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(places).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, address) = listener.accept().await?;
    // Without it small answers wait for acknowledgements; nothing breaks.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection stays without TCP_NODELAY");
    }
    Ok((stream, address, place))
}
