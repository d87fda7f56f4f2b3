//! The example: an order service that is killed at every step, and never books twice.

use std::process::Stdio;
use std::time::Duration;

use sqlx::PgPool;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};

#[path = "../../../examples/orders.rs"]
mod service;

/// The service, when a test of this module has started this program again as one.
#[test]
fn process() {
    if std::env::var_os("ORDERS_URL").is_some() {
        service::main().expect("the service runs");
    }
}

/// A lease of the service's: how long a client is kept waiting for one that was killed.
const LEASE_MS: &str = "300";

struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    address: String,
}

impl Process {
    /// Starts a service on a database, which stops at a step, and waits until it listens.
    async fn start(url: &str, stop_at: &str) -> Self {
        let own = std::env::current_exe().expect("this program is a file");
        let mut child = Command::new(own)
            .args(["--exact", "transaction::orders::process", "--nocapture"])
            .env("ORDERS_URL", url)
            .env("ORDERS_LEASE_MS", LEASE_MS)
            .env("ORDERS_STOP_AT", stop_at)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("this program starts again");
        let output = child.stdout.take().expect("its output is piped");
        let mut process =
            Self { child, lines: BufReader::new(output).lines(), address: String::new() };
        process.address = process.line("listening on ").await;
        process
    }

    /// Waits for a line that begins so, and gives the rest of it.
    async fn line(&mut self, words: &str) -> String {
        // Ends: with that line, or with the process.
        loop {
            let line = self.lines.next_line().await.expect("its output is text");
            let line = line.expect("the service runs");
            // The first test's name stands before what it prints.
            if let Some((_, rest)) = line.split_once(words) {
                return rest.to_owned();
            }
        }
    }

    /// Kills it without a word.
    async fn kill(mut self) {
        self.child.kill().await.expect("it is killed");
    }
}

/// Sends an order once. Gives the status and the whole answer, or none if the service goes away.
async fn send(address: &str, key: &str) -> Option<(u16, String)> {
    let body = format!("{{\"item\":\"{key}\",\"quantity\":2}}");
    let request = format!(
        "POST /orders HTTP/1.1\r\nHost: orders\r\nConnection: close\r\nIdempotency-Key: {key}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    let status = answer.get(9..12)?.parse().ok()?;
    Some((status, answer))
}

/// Sends an order until it is booked, as a client does. Gives the answer.
async fn book(address: &str, key: &str) -> String {
    // Ends: with the lease of whoever was killed, after which the order is booked.
    loop {
        match send(address, key).await {
            Some((201, answer)) => return answer,
            Some((409 | 503, _)) => tokio::time::sleep(Duration::from_millis(20)).await,
            other => panic!("{other:?}"),
        }
    }
}

async fn orders(pool: &PgPool, key: &str) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM orders WHERE item = $1")
        .bind(key)
        .fetch_one(pool)
        .await
        .expect("a number")
}

/// A database of the test's own on the shared server.
async fn database(name: &str) -> (String, PgPool) {
    let server = super::postgres::server();
    server.ask(&format!("CREATE DATABASE {name}"));
    let url = server.url().replace("/postgres", &format!("/{name}"));
    let url = url.replace(&format!("//{name}@"), "//postgres@");
    let pool = PgPool::connect(&url).await.expect("the database takes connections");
    (url, pool)
}

#[tokio::test]
async fn an_order_is_booked_once_wherever_the_service_is_killed() {
    let (url, pool) = database("orders_steps").await;
    for step in ["acquired", "guarded", "inserted", "recorded", "committed"] {
        let mut process = Process::start(&url, step).await;
        let client = {
            let (address, key) = (process.address.clone(), step.to_owned());
            tokio::spawn(async move { send(&address, &key).await })
        };
        assert_eq!(process.line("stopped at ").await, step);
        process.kill().await;
        assert_eq!(client.await.expect("the client ends"), None, "{step}");
        let booked = i64::from(step == "committed");
        let process = Process::start(&url, "").await;
        let first = book(&process.address, step).await;
        assert_eq!(first.contains("idempotency-replayed"), booked == 1, "{step}: {first}");
        let again = book(&process.address, step).await;
        assert!(again.contains("idempotency-replayed"), "{step}: {again}");
        let order = |answer: &str| answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        assert_eq!(order(&first), order(&again), "{step}");
        assert_eq!(orders(&pool, step).await, 1, "{step}");
        process.kill().await;
    }
}

/// Rounds of a service that is killed whenever.
const ROUNDS: u64 = 20;

/// Seed of the moments at which it is killed.
const SEED: u64 = 0x6f72_6465_7273;

#[tokio::test]
async fn an_order_is_booked_once_whenever_the_service_is_killed() {
    let (url, pool) = database("orders_moments").await;
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut process = Process::start(&url, "").await;
    for round in 0..ROUNDS {
        let key = format!("k-{round}");
        let patience = Duration::from_micros(random.u64(0..8_000));
        // From before the first byte to after the answer.
        let _ = tokio::time::timeout(patience, send(&process.address, &key)).await;
        process.kill().await;
        process = Process::start(&url, "").await;
        book(&process.address, &key).await;
        assert_eq!(orders(&pool, &key).await, 1, "{key}");
    }
    process.kill().await;
}
