//! How it starts, what it logs, and how it ends.

use http::Method;
use tokio::net::TcpStream;

use super::client::{Call, Raw};
use super::process::Gateway;
use super::upstream::{Script, Upstream, gate};
use super::{new_key, soon};

/// Waits until nobody listens at the gateway's address any more.
async fn closed(gateway: &Gateway) {
    soon("the end of the listener", async {
        while TcpStream::connect(gateway.address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

async fn ready(gateway: &Gateway) -> u16 {
    let admin = gateway.admin.expect("an admin address");
    Call::new(Method::GET, "/readyz").send(admin).await.status.as_u16()
}

#[tokio::test]
async fn sigterm_closes_the_listener_and_lets_running_handlers_finish() {
    let upstream = Upstream::start().await;
    // Nothing but the signal is to end a connection here.
    let top = "header-read-timeout = \"1h\"\nshutdown-grace = \"1h\"";
    let mut gateway = Gateway::start_with(upstream.address, top, "", &[]).await;
    let open = gate();
    upstream.script("slow", Script::status(201).gate(&open));
    let silent = Raw::open(gateway.address).await;
    let mut idle = Raw::open(gateway.address).await;
    idle.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    idle.until("\r\n\r\n").await;
    let call = Call::post("/orders", &new_key()).case("slow");
    let running = tokio::spawn(call.send(gateway.address));
    upstream.wait_for_runs("slow", 1).await;
    assert_eq!(ready(&gateway).await, 200);
    gateway.terminate().await;
    closed(&gateway).await;
    assert_eq!(ready(&gateway).await, 503);
    assert_eq!((silent.rest().await, idle.rest().await), (String::new(), String::new()));
    open.add_permits(1);
    assert_eq!(running.await.expect("ran").status, 201);
    assert_eq!(gateway.ended().await, Some(0));
}

#[tokio::test]
async fn sigterm_waits_for_handlers_whose_client_has_gone() {
    let upstream = Upstream::start().await;
    let mut gateway = Gateway::start(upstream.address, "").await;
    let open = gate();
    upstream.script("gone", Script::status(201).gate(&open));
    let call = Call::post("/orders", &new_key()).case("gone");
    let running = tokio::spawn(call.send(gateway.address));
    upstream.wait_for_runs("gone", 1).await;
    running.abort();
    gateway.terminate().await;
    closed(&gateway).await;
    assert_eq!(gateway.metric("leasehold_running").await, Some(1.0));
    open.add_permits(1);
    assert_eq!(gateway.ended().await, Some(0));
    assert!(!gateway.log().contains("cutting"), "{}", gateway.log());
}

#[tokio::test]
async fn sigterm_lets_streams_of_http2_finish() {
    let upstream = Upstream::start().await;
    let mut gateway = Gateway::start(upstream.address, "").await;
    let open = gate();
    upstream.script("slow", Script::status(201).gate(&open));
    let call = Call::post("/orders", &new_key()).case("slow");
    let running = tokio::spawn(call.send_h2(gateway.address));
    upstream.wait_for_runs("slow", 1).await;
    gateway.terminate().await;
    closed(&gateway).await;
    open.add_permits(1);
    assert_eq!(running.await.expect("ran").status, 201);
    assert_eq!(gateway.ended().await, Some(0));
}

#[tokio::test]
async fn tunnels_live_until_the_grace_ends_or_they_do() {
    const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: chat\r\n\r\n";
    for cut in [false, true] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let top = "shutdown-grace = \"1h\"";
        let mut gateway = Gateway::start_with(address, top, "", &[]).await;
        let mut client = Raw::open(gateway.address).await;
        client.send(&format!("GET /chat HTTP/1.1\r\nHost: a\r\n{UPGRADE}")).await;
        let mut upstream = Raw::accept(&listener).await;
        upstream.until("\r\n\r\n").await;
        upstream.send(&format!("HTTP/1.1 101 Switching Protocols\r\n{UPGRADE}")).await;
        client.until("\r\n\r\n").await;
        let mut idle = Raw::open(gateway.address).await;
        idle.send("GET / HTTP/1.1\r\n").await;
        gateway.terminate().await;
        closed(&gateway).await;
        // By now everything else has ended.
        idle.rest().await;
        client.send("ping").await;
        upstream.until("ping").await;
        upstream.send("pong").await;
        client.until("pong").await;
        if cut {
            gateway.terminate().await;
        } else {
            drop(upstream);
        }
        assert_eq!(client.rest().await, "");
        assert_eq!(gateway.ended().await, Some(0));
        assert!(!gateway.log().contains("not every connection ended"));
    }
}

#[tokio::test]
async fn the_grace_ends_and_what_is_left_is_cut() {
    let upstream = Upstream::start().await;
    let top = "shutdown-grace = \"300ms\"";
    let mut gateway = Gateway::start_with(upstream.address, top, "", &[]).await;
    upstream.script("stuck", Script::status(201).gate(&gate()));
    let call = Call::post("/orders", &new_key()).case("stuck");
    let running = tokio::spawn(call.send(gateway.address));
    upstream.wait_for_runs("stuck", 1).await;
    gateway.terminate().await;
    assert_eq!(running.await.expect("answered").status, 504);
    assert_eq!(gateway.ended().await, Some(0));
}

#[tokio::test]
async fn a_second_signal_ends_the_grace() {
    let upstream = Upstream::start().await;
    let mut gateway = Gateway::start(upstream.address, "").await;
    upstream.script("stuck", Script::status(201).gate(&gate()));
    let call = Call::post("/orders", &new_key()).case("stuck");
    let running = tokio::spawn(call.send(gateway.address));
    upstream.wait_for_runs("stuck", 1).await;
    gateway.terminate().await;
    closed(&gateway).await;
    gateway.terminate().await;
    assert_eq!(gateway.ended().await, Some(0));
    assert_eq!(running.await.expect("answered").status, 504);
}

#[tokio::test]
async fn connections_that_say_nothing_are_closed() {
    let upstream = Upstream::start().await;
    let top = "header-read-timeout = \"200ms\"";
    let gateway = Gateway::start_with(upstream.address, top, "", &[]).await;
    // Nothing; half of HTTP/2's first words; half a head; an idle connection after a response.
    for words in ["", "PRI * HT", "POST / HTTP/1.1\r\nHost: a\r\n"] {
        let mut raw = Raw::open(gateway.address).await;
        raw.send(words).await;
        assert!(!raw.rest().await.contains(" 200 "), "{words:?}");
    }
    let mut raw = Raw::open(gateway.address).await;
    raw.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(raw.rest().await.starts_with("HTTP/1.1 201 "));
}

#[tokio::test]
async fn a_low_soft_limit_on_open_files_does_not_bound_connections() {
    let upstream = Upstream::start().await;
    let to = format!("http://{}", upstream.address);
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--upstream", &to];
    let gateway = Gateway::start_limited(&arguments, 48).await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        let mut raw = Raw::open(gateway.address).await;
        raw.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        raw.until(" 201 ").await;
        idle.push(raw);
    }
    assert_eq!(Call::post("/orders", "k").send(gateway.address).await.status, 201);
}

#[tokio::test]
async fn the_raw_key_is_nowhere_in_the_log() {
    let upstream = Upstream::start().await;
    let environment = [("RUST_LOG", "trace")];
    let mut gateway = Gateway::start_with(upstream.address, "", "", &environment).await;
    let secret = format!("secret-{}", new_key());
    upstream.script("fails", Script::status(500));
    let quoted = format!("\"{secret}\"");
    let (open, blank, long) = (&quoted[1..], format!("{secret} x"), secret.repeat(20));
    for key in [&secret, &secret, &quoted, open, &quoted[..quoted.len() - 1], &blank, &long] {
        let answer = Call::post("/orders", key).send(gateway.address).await;
        assert!(!format!("{answer:?}").contains(&secret));
    }
    let failing = format!("{secret}-f");
    assert_eq!(Call::post("/", &failing).case("fails").send(gateway.address).await.status, 500);
    assert_eq!(Call::post("/", &failing).send_h2(gateway.address).await.status, 201);
    assert!(!gateway.metrics().await.contains(&secret));
    gateway.terminate().await;
    assert_eq!(gateway.ended().await, Some(0));
    let log = gateway.log();
    assert!(log.contains("DEBUG"), "the level was not taken: {log}");
    // Lines of the libraries are not let through at all, whatever they would hold.
    for line in log.lines() {
        let target = line.split_whitespace().nth(2).unwrap_or_default();
        assert!(target.starts_with("leasehold"), "{line}");
    }
    assert!(!log.contains(&secret), "{log}");
}

#[tokio::test]
async fn it_warns_once_that_memory_is_neither_shared_nor_kept() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    assert_eq!(gateway.log().matches("memory:").count(), 1, "{}", gateway.log());
}

#[tokio::test]
async fn the_admin_address_knows_three_paths() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let admin = gateway.admin.expect("an admin address");
    let status = |method: Method, path: &str| {
        let call = Call::new(method, path);
        async move { call.send(admin).await.status.as_u16() }
    };
    assert_eq!(status(Method::GET, "/healthz").await, 200);
    assert_eq!(status(Method::GET, "/").await, 404);
    assert_eq!(status(Method::POST, "/metrics").await, 405);
}

#[tokio::test]
async fn metrics_are_plain_text_unless_openmetrics_is_asked_for() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let admin = gateway.admin.expect("an admin address");
    let call = Call::new(Method::GET, "/metrics");
    let plain = call.clone().send(admin).await;
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    assert_eq!(plain.header("content-type"), Some(kind));
    assert!(!plain.body.windows(5).any(|part| part == b"# EOF"));
    assert!(plain.body.ends_with(b"\n") && plain.body.starts_with(b"# HELP "));
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let open = call.header("accept", accept).send(admin).await;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open.header("content-type"), Some(kind));
    assert!(open.body.ends_with(b"# EOF\n"));
}
