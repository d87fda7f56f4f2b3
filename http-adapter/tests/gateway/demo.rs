//! The demonstration answers its printed lines as printed.

use http::Method;

use super::client::Call;
use super::process::{Gateway, run};

/// The request that a printed `curl` line makes.
fn request(line: &str, address: std::net::SocketAddr) -> Call {
    let url = format!("curl -i http://{address}");
    let rest = line.strip_prefix(&url).unwrap_or_else(|| panic!("{line:?} is not for {url:?}"));
    let (path, rest) = rest.split_once(" -H 'Idempotency-Key: ").expect("a key");
    let (key, rest) = rest.split_once("' -d '").expect("a body");
    Call::post(path, key).body(rest.strip_suffix('\'').expect("a quoted body").to_owned())
}

#[tokio::test]
async fn the_printed_lines_are_answered_as_printed() {
    let mut gateway = Gateway::start_plain(&["--listen", "127.0.0.1:0"]).await;
    for status in [201, 409, 422] {
        let line = loop {
            let line = gateway.line().await;
            if line.starts_with("curl ") {
                break line;
            }
        };
        let answer = request(&line, gateway.address).send(gateway.address).await;
        let printed = gateway.line().await;
        let expected = printed.strip_prefix("#=> ").expect("an answer").split(" (").next();
        let reason = answer.status.canonical_reason().expect("a reason");
        let start = format!("{} {reason} ", answer.status.as_u16());
        let body = expected.and_then(|text| text.strip_prefix(&start)).expect("the same status");
        assert!(String::from_utf8_lossy(&answer.body).contains(body), "{printed}: {answer:?}");
        assert_eq!(answer.status, status);
    }
}

#[tokio::test]
async fn a_failed_order_may_be_corrected_under_its_key_and_orders_can_be_read() {
    let gateway = Gateway::start_plain(&["demo", "--listen", "127.0.0.1:0"]).await;
    let order = |body: &'static str| Call::post("/orders", "k").body(body);
    for bad in ["", "{", "{\"item\":\"tea\"}", "{\"item\":\"tea\",\"quantity\":-1}"] {
        assert_eq!(order(bad).send(gateway.address).await.status, 422, "{bad}");
    }
    let made = order("{\"item\":\"tea\",\"quantity\":1}").send(gateway.address).await;
    assert_eq!((made.status.as_u16(), made.header("location")), (201, Some("/orders/1")));
    let get = |path: &str| Call::new(Method::GET, path).send(gateway.address);
    assert_eq!(get("/orders/1").await.body, made.body);
    let list: serde_json::Value = serde_json::from_slice(&get("/orders").await.body).expect("JSON");
    assert_eq!(list.as_array().map(Vec::len), Some(1));
    for absent in ["/orders/0", "/orders/2", "/orders/x", "/"] {
        assert_eq!(get(absent).await.status, 404, "{absent}");
    }
}

#[tokio::test]
async fn a_taken_port_is_one_clear_line() {
    let gateway = Gateway::start_plain(&["demo", "--listen", "127.0.0.1:0"]).await;
    let output = run(&["demo", "--listen", &gateway.address.to_string()], &[]).await;
    let lines = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(lines.starts_with("leasehold: listen: cannot listen on 127.0.0.1:"), "{lines}");
    assert_eq!(lines.lines().count(), 1, "{lines}");
}
