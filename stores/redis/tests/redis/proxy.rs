//! A proxy that breaks connections where it is told to.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Request,
    Reply,
}

/// What is done to the next bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Lets so many more pass that way, then cuts the connection. Once.
    Cut(Way, usize),
    /// Lets nothing pass either way on connections that are open now, and leaves them open.
    Swallow(u64),
}

/// A proxy on the loopback address before one server.
pub(crate) struct Proxy {
    port: u16,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    fault: Option<Fault>,
    opened: u64,
}

impl Proxy {
    pub(crate) async fn start(server: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let state = Arc::new(Mutex::new(State::default()));
        tokio::spawn(serve(listener, server, Arc::clone(&state)));
        Self { port, state }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Cuts the connection over which bytes go that way next, after so many of them.
    pub(crate) fn cut_after(&self, way: Way, bytes: usize) {
        self.state().fault = Some(Fault::Cut(way, bytes));
    }

    /// Whether the cut has not happened yet; takes it back.
    pub(crate) fn is_whole(&self) -> bool {
        self.state().fault.take().is_some()
    }

    /// Lets nothing pass any more on the connections that are open.
    pub(crate) fn swallow(&self) {
        let mut state = self.state();
        state.fault = Some(Fault::Swallow(state.opened));
    }

    /// How many connections were opened.
    pub(crate) fn opened(&self) -> u64 {
        self.state().opened
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock(state: &Mutex<State>) -> std::sync::MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, server: u16, state: Arc<Mutex<State>>) {
    while let Ok((client, _)) = listener.accept().await {
        let number = {
            let mut state = lock(&state);
            state.opened += 1;
            state.opened
        };
        // A server that is down refuses; so does this.
        let Ok(server) = TcpStream::connect(("127.0.0.1", server)).await else { continue };
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let (end, _) = watch::channel(false);
        let end = Arc::new(end);
        let requests = Pump { way: Way::Request, number, state: Arc::clone(&state) };
        let replies = Pump { way: Way::Reply, number, state: Arc::clone(&state) };
        tokio::spawn(requests.run(from_client, to_server, Arc::clone(&end)));
        tokio::spawn(replies.run(from_server, to_client, end));
    }
}

/// One way of one connection.
struct Pump {
    way: Way,
    number: u64,
    state: Arc<Mutex<State>>,
}

impl Pump {
    /// Passes bytes on until either side ends, or the other way of this connection does.
    async fn run(
        self,
        mut from: OwnedReadHalf,
        mut to: OwnedWriteHalf,
        end: Arc<watch::Sender<bool>>,
    ) {
        let mut ended = end.subscribe();
        let mut bytes = vec![0; 4096];
        loop {
            let count = tokio::select! {
                _ = ended.wait_for(|over| *over) => break,
                read = from.read(&mut bytes) => read.unwrap_or(0),
            };
            if count == 0 {
                break;
            }
            let (pass, cut) = self.judge(count);
            if to.write_all(&bytes[..pass]).await.is_err() || cut {
                break;
            }
        }
        end.send_replace(true);
    }

    /// How many of so many bytes pass, and whether the connection is then cut.
    fn judge(&self, count: usize) -> (usize, bool) {
        let mut state = lock(&self.state);
        match state.fault {
            Some(Fault::Cut(way, left)) if way == self.way && left < count => {
                state.fault = None;
                (left, true)
            }
            Some(Fault::Cut(way, left)) if way == self.way => {
                state.fault = Some(Fault::Cut(way, left - count));
                (count, false)
            }
            Some(Fault::Swallow(last)) if self.number <= last => (0, false),
            _ => (count, false),
        }
    }
}
