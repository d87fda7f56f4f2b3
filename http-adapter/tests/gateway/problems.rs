//! Section 3: the gateway's own answers are problems, in the form of their route and the language
//! of their client. And rule 2.5b: whose key it is.

use http::Method;
use tokio::net::TcpListener;

use super::client::{Answer, Call, Raw};
use super::new_key;
use super::process::Gateway;
use super::upstream::{Script, Upstream, gate};

/// An address that nobody listens on.
async fn nobody() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    listener.local_addr().expect("an address")
}

/// A request of raw bytes, and the whole answer to it.
async fn raw(gateway: &Gateway, head: &str) -> String {
    let mut raw = Raw::open(gateway.address).await;
    raw.send(head).await;
    raw.rest().await
}

fn json(answer: &Answer) -> serde_json::Value {
    serde_json::from_slice(&answer.body).expect("JSON")
}

#[tokio::test]
async fn failures_behind_the_layer_speak_as_their_route_says() {
    let settings = "upstream-timeout = \"100ms\"";
    let routes = "error-format = \"envelope\"\n[[route]]\npath = \"/plain/*\"\n\
                  error-format = \"problem\"";
    let upstream = Upstream::start().await;
    let (slow, closed) = (upstream.address, nobody().await);
    upstream.script("slow", Script::status(201).gate(&gate()));
    for (target, code) in [(closed, 50210), (slow, 50410)] {
        let gateway = Gateway::start_with(target, settings, routes, &[]).await;
        let call = |path: &str| Call::post(path, &new_key()).case("slow");
        let answer = call("/").header("accept-language", "zh").send(gateway.address).await;
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("content-language"), Some("zh-Hans"));
        let body = json(&answer);
        assert_eq!(body["code"], code);
        assert_eq!(body["message"].as_str().map(str::is_ascii), Some(false), "{body}");
        let answer = call("/plain/a").send(gateway.address).await;
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert_eq!((json(&answer)["code"].as_u64(), answer.body.is_ascii()), (Some(code), true));
        // What is not protected fails in the same form.
        let answer = Call::new(Method::GET, "/").case("slow").send(gateway.address).await;
        assert_eq!(json(&answer)["code"], code);
    }
}

#[tokio::test]
async fn what_is_refused_before_the_layer_is_a_problem_too() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    for (line, headers, status, kind) in [
        ("POST a:80", "Host: a\r\n", 400, "bad-request"),
        ("POST /", "", 400, "bad-request"),
        ("POST /", "Host: a\r\nHost: a\r\n", 400, "bad-request"),
        ("CONNECT a:80", "Host: a:80\r\n", 501, "not-implemented"),
        ("POST /", "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n", 501, "not-implemented"),
    ] {
        let head = format!("{line} HTTP/1.1\r\n{headers}Accept-Language: zh-CN\r\n\r\n");
        let answer = raw(&gateway, &head).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line}: {answer}");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a whole head");
        for part in ["connection: close", "application/problem+json", "zh-Hans"] {
            assert!(head.contains(part), "{part}: {answer}");
        }
        assert!(body.contains(&format!("problem:{kind}\"")) && !body.is_ascii(), "{answer}");
    }
    let answer = raw(&gateway, "HEAD a:80 HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn an_upload_that_takes_too_long_is_told_in_form_and_language() {
    let upstream = Upstream::start().await;
    let top = "body-read-timeout = \"100ms\"";
    let settings = "error-format = \"envelope\"";
    let gateway = Gateway::start_with(upstream.address, top, settings, &[]).await;
    let head = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nAccept-Language: zh\r\nContent-Length: 9\r\n\
         Idempotency-Key: {}\r\n\r\nhalf",
        new_key()
    );
    let answer = raw(&gateway, &head).await;
    assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("\"code\":40810"), "{answer}");
    assert!(!answer.is_ascii(), "{answer}");
}

#[tokio::test]
async fn the_layers_refusals_speak_chinese_and_english() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let call = Call::post("/", "a b").header("accept-language", "fr, zh-CN;q=0.3");
    let (chinese, english) = (call.clone(), Call::post("/", "a b"));
    for (call, ascii) in [(chinese, false), (english, true)] {
        let answer = call.send(gateway.address).await;
        assert_eq!((answer.status.as_u16(), answer.kind().as_str()), (400, "invalid-key"));
        let body = json(&answer);
        for member in ["title", "detail"] {
            assert_eq!(body[member].as_str().map(str::is_ascii), Some(ascii), "{body}");
        }
    }
}

#[tokio::test]
async fn each_principal_has_keys_of_its_own_and_one_that_is_missing_is_400() {
    let upstream = Upstream::start().await;
    let settings = "principal-headers = [\"X-Tenant\"]";
    let gateway = Gateway::start(upstream.address, settings).await;
    let key = new_key();
    let call = Call::post("/orders", &key).case("principals");
    for tenant in ["acme", "other"] {
        let call = call.clone().header("x-tenant", tenant);
        assert_eq!(call.clone().send(gateway.address).await.status, 201);
        assert_eq!(call.send(gateway.address).await.status, 409);
    }
    let answer = call.send(gateway.address).await;
    assert_eq!((answer.status.as_u16(), answer.kind().as_str()), (400, "invalid-key"));
    assert!(
        json(&answer)["detail"].as_str().is_some_and(|detail| detail.starts_with("x-tenant: "))
    );
    let runs = upstream.requests("principals");
    let tenants: Vec<_> = runs.iter().map(|(parts, _)| &parts.headers["x-tenant"]).collect();
    assert_eq!(tenants, ["acme", "other"]);
}

#[tokio::test]
async fn a_host_is_one_principal_whatever_the_protocol() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "principal-headers = [\"host\"]").await;
    let key = new_key();
    let call = Call::post("/orders", &key).case("hosts");
    assert_eq!(call.clone().send(gateway.address).await.status, 201);
    assert_eq!(call.send_h2(gateway.address).await.status, 409);
    let other = format!(
        "POST /orders HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\nContent-Length: 0\r\n\
         X-Case: hosts\r\nIdempotency-Key: {key}\r\n\r\n"
    );
    assert!(raw(&gateway, &other).await.starts_with("HTTP/1.1 201 "));
    assert_eq!(upstream.runs("hosts"), 2);
}

#[tokio::test]
async fn no_principal_is_in_the_log() {
    let upstream = Upstream::start().await;
    let settings = "principal-headers = [\"Authorization\"]";
    let environment = [("LEASEHOLD_LOG", "trace")];
    let gateway = Gateway::start_with(upstream.address, "", settings, &environment).await;
    let call = Call::post("/orders", &new_key()).header("authorization", "Bearer secret-0815");
    assert_eq!(call.clone().send(gateway.address).await.status, 201);
    assert_eq!(call.send(gateway.address).await.status, 409);
    let log = gateway.log();
    assert!(log.contains("granted") && !log.contains("secret-0815"), "{log}");
}
