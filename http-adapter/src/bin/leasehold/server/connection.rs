//! The life of one connection: its requests, and when it is let go or dropped.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::{Pin, pin};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response};
use http_body::Body;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use leasehold_http::ResponseBody;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_io_timeout::TimeoutWriter;
use tower_service::Service;

use super::exchanges::Exchanges;
use super::socket::watched;
use super::{Arrival, Front, Limits, Lingering, Peer};

/// How long a connection without an exchange may take to end once it was asked to. It owes nobody
/// an answer: this is for the other side to hear that it ends.
const LINGER: Duration = Duration::from_secs(1);

/// How often a connection of HTTP/2 with open streams is looked at again.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Serves one connection to its end. Its first request has the time of a head to come, and on
/// HTTP/2 each next one; HTTP/1.1 has a timer of its own for that.
pub(super) async fn serve<S, R>(
    builder: &Builder<TokioExecutor>,
    stream: TcpStream,
    arrival: Arrival,
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
    let exchanges = Exchanges::default();
    let counted = exchanges.clone();
    let (leave, left) = watch::channel(false);
    let peer = Peer::new(arrival);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = Lingering::request(request, &counted);
        let open = counted.begin(request.version());
        request.extensions_mut().insert(peer.clone());
        let mut answer = Box::pin(front.clone().answer(request));
        // The first poll is here: hyper may read a request and its client's end in one go, and
        // drops this future then without a poll. What has begun goes on (rule 4.6).
        let first = (&mut answer).now_or_never();
        let left = left.clone();
        async move {
            let response = match first {
                Some(response) => response,
                None => unless_left(answer, left).await,
            };
            Ok::<_, Infallible>(response.map(|body| open.until_the_end_of(body)))
        }
    });
    // Else a client that reads no further keeps its connection and the upstream's for ever.
    let (socket, input) = watched(stream);
    let mut stream = TimeoutWriter::new(socket);
    stream.set_timeout(Some(limits.write));
    let mut connection =
        pin!(builder.serve_connection_with_upgrades(TokioIo::new(Box::pin(stream)), service));
    let idle_max = limits.header_read;
    let mut watch = Watch { exchanges, idle_max, begun: Instant::now(), stopped: None };
    let mut look = pin!(tokio::time::sleep(idle_max));
    let mut looking = true;
    let mut ended = pin!(input.ended());
    loop {
        tokio::select! {
            biased;
            result = connection.as_mut() => {
                if let Err(error) = result {
                    tracing::debug!(%error, "a connection broke off");
                }
                return;
            }
            // Behind the connection, which takes what has come before that.
            () = ended.as_mut(), if !*leave.borrow() => {
                leave.send_replace(true);
            }
            () = watch.exchanges.uploads_ended(), if *leave.borrow() => {
                tracing::debug!("a client has left");
                return;
            }
            _ = stop.wait_for(|stop| *stop), if watch.stopped.is_none() => {
                let now = Instant::now();
                watch.stopped = Some(now);
                connection.as_mut().graceful_shutdown();
                look.as_mut().reset(now + LINGER);
                looking = true;
            }
            () = look.as_mut(), if looking => match watch.next(Instant::now()) {
                Next::LookAgain(at) => look.as_mut().reset(at),
                Next::LetGo(at) => {
                    connection.as_mut().graceful_shutdown();
                    look.as_mut().reset(at);
                }
                Next::Leave => looking = false,
                Next::Drop => {
                    tracing::debug!("a connection without a request was dropped");
                    return;
                }
            }
        }
    }
}

/// Waits for an answer for as long as its client is there; then drops it, and waits for the end of
/// the connection, which goes on for what is left of an upload.
async fn unless_left<F: Future>(
    mut answer: Pin<Box<F>>,
    mut left: watch::Receiver<bool>,
) -> F::Output {
    tokio::select! {
        biased;
        answer = answer.as_mut() => return answer,
        // An error: the connection has ended.
        _left = left.wait_for(|left| *left) => {}
    }
    drop(answer);
    pending().await
}

/// Decides about a connection that may be idle.
#[derive(Debug)]
struct Watch {
    exchanges: Exchanges,
    idle_max: Duration,
    begun: Instant,
    /// When the gateway was told to stop.
    stopped: Option<Instant>,
}

/// What is to be done with a connection.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Nothing, until then.
    LookAgain(Instant),
    /// Ask it to end, and look again then.
    LetGo(Instant),
    /// Nothing any more: it ends by itself.
    Leave,
    /// End it now.
    Drop,
}

impl Watch {
    fn next(&self, now: Instant) -> Next {
        if let Some(stopped) = self.stopped {
            // It was asked to end, and does with the last response. What was open may still be on
            // its way out, so it has the whole grace.
            return if self.exchanges.any_since(stopped) { Next::Leave } else { Next::Drop };
        }
        let since = if !self.exchanges.any() {
            self.begun
        } else if !self.exchanges.are_streams() {
            return Next::Leave;
        } else if let Some(ended) = self.exchanges.idle_since() {
            ended
        } else {
            return Next::LookAgain(now + LOOK_INTERVAL);
        };
        let over = since + self.idle_max;
        if now < over {
            Next::LookAgain(over)
        } else if now < over + LINGER {
            Next::LetGo(over + LINGER)
        } else {
            Next::Drop
        }
    }
}

#[cfg(test)]
mod tests {
    use http::Version;

    use super::*;

    const IDLE_MAX: Duration = Duration::from_secs(10);

    fn watch() -> Watch {
        let exchanges = Exchanges::default();
        Watch { exchanges, idle_max: IDLE_MAX, begun: Instant::now(), stopped: None }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_is_let_go_and_then_dropped() {
        let watch = watch();
        let over = watch.begun + IDLE_MAX;
        assert_eq!(watch.next(watch.begun), Next::LookAgain(over));
        assert_eq!(watch.next(over), Next::LetGo(over + LINGER));
        assert_eq!(watch.next(over + LINGER), Next::Drop);
    }

    #[tokio::test(start_paused = true)]
    async fn the_idle_time_of_http2_counts_from_the_last_streams_end() {
        let watch = watch();
        let open = watch.exchanges.begin(Version::HTTP_2);
        tokio::time::advance(IDLE_MAX * 3).await;
        let now = Instant::now();
        assert_eq!(watch.next(now), Next::LookAgain(now + LOOK_INTERVAL));
        drop(open);
        assert_eq!(watch.next(now), Next::LookAgain(now + IDLE_MAX));
        assert_eq!(watch.next(now + IDLE_MAX), Next::LetGo(now + IDLE_MAX + LINGER));
        assert_eq!(watch.next(now + IDLE_MAX + LINGER), Next::Drop);
    }

    #[tokio::test(start_paused = true)]
    async fn http1_is_left_to_its_own_timer_once_it_has_a_request() {
        let watch = watch();
        drop(watch.exchanges.begin(Version::HTTP_11));
        assert_eq!(watch.next(watch.begun + IDLE_MAX * 3), Next::Leave);
    }

    #[tokio::test(start_paused = true)]
    async fn once_stopping_only_what_was_open_keeps_its_connection() {
        let mut watch = watch();
        drop(watch.exchanges.begin(Version::HTTP_11));
        tokio::time::advance(LINGER).await;
        let stopped = Instant::now();
        watch.stopped = Some(stopped);
        assert_eq!(watch.next(stopped + LINGER), Next::Drop);
        let open = watch.exchanges.begin(Version::HTTP_11);
        assert_eq!(watch.next(stopped + LINGER), Next::Leave);
        drop(open);
        assert_eq!(watch.next(stopped + LINGER), Next::Leave);
    }
}
