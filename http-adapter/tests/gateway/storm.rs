//! Many clients, and an upstream that fails in every way it can: each write is done at most once.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::client::Call;
use super::process::Gateway;
use super::{next_number, soon};

const CLIENTS: usize = 12;
const KEYS: usize = 20;
const TRIES: usize = 4;

/// Which writes the upstream has done, and how often.
type Done = Arc<Mutex<HashMap<String, usize>>>;

/// How the upstream meets one request, in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mood {
    Answer,
    AnswerAndHangUp,
    HangUpAfterTheWrite,
    HangUpBeforeTheWrite,
    Fail,
}

impl Mood {
    fn next() -> Self {
        match next_number() % 11 {
            0 => Self::HangUpAfterTheWrite,
            1 => Self::HangUpBeforeTheWrite,
            2 | 3 => Self::Fail,
            4..=7 => Self::AnswerAndHangUp,
            _ => Self::Answer,
        }
    }
}

/// Reads a request with a body of `{}` and gives its path; none at the end of the connection.
async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n{}") {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let text = String::from_utf8(bytes).expect("text");
    text.split(' ').nth(1).map(str::to_owned)
}

/// Serves one connection. Hanging up gives no warning (`Connection: close`), so that the gateway
/// now and then sends a request into a connection that is going away.
async fn serve(mut stream: TcpStream, done: Done) -> Option<()> {
    loop {
        let path = read(&mut stream).await?;
        let mood = Mood::next();
        if !matches!(mood, Mood::Fail | Mood::HangUpBeforeTheWrite) {
            *done.lock().expect("unpoisoned").entry(path).or_default() += 1;
        }
        if matches!(mood, Mood::HangUpAfterTheWrite | Mood::HangUpBeforeTheWrite) {
            return None;
        }
        let status = if mood == Mood::Fail { 503 } else { 201 };
        let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.ok()?;
        if mood == Mood::AnswerAndHangUp {
            return None;
        }
    }
}

/// Tries each of its writes until it hears that it was done, or a few times. Gives how often a
/// write was said to be done just now.
async fn client(number: usize, gateway: SocketAddr) -> HashMap<String, usize> {
    let mut successes = HashMap::new();
    for key in 0..KEYS {
        // Each write has two clients.
        let path = format!("/{}/{key}", number / 2);
        for _ in 0..TRIES {
            let answer = Call::post(&path, "k").send(gateway).await;
            match (answer.status.as_u16(), answer.kind().as_str()) {
                (201, _) => {
                    *successes.entry(path.clone()).or_default() += 1;
                    break;
                }
                (409, "duplicate") => break,
                (409, "in-flight") | (502, "bad-gateway") | (503, "") => {}
                other => panic!("{path}: {other:?}"),
            }
        }
    }
    successes
}

#[tokio::test]
async fn whatever_the_upstream_does_each_write_is_done_at_most_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let done = Done::default();
    let writes = Arc::clone(&done);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&writes)));
        }
    });
    let gateway = Gateway::start(address, "hold-ttl = \"1h\"").await;
    let mut clients: JoinSet<_> =
        (0..CLIENTS).map(|number| client(number, gateway.address)).collect();
    let mut heard: HashMap<String, usize> = HashMap::new();
    while let Some(successes) = soon("a client's end", clients.join_next()).await {
        for (path, count) in successes.expect("ran") {
            *heard.entry(path).or_default() += count;
        }
    }
    let done = done.lock().expect("unpoisoned");
    assert!(done.len() > KEYS, "only {} writes were done", done.len());
    assert_eq!(done.values().max(), Some(&1), "{done:?}");
    for (path, count) in heard {
        assert_eq!((count, done.get(&path)), (1, Some(&1)), "{path}");
    }
}
