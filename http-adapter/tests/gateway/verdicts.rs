//! Rule 4.2a: what statuses mean by configuration.

use tokio::net::TcpListener;

use super::client::{Call, Raw};
use super::new_key;
use super::process::Gateway;
use super::upstream::{Script, Upstream};

const SETTINGS: &str = r#"
    [idempotency.verdict]
    "409" = "commit"
    "500-599" = "hold"
    "503" = "release"

    [[route]]
    path = "/own"
    [route.verdict]
    "404" = "commit"
"#;

#[tokio::test]
async fn statuses_mean_what_the_configuration_says() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, SETTINGS).await;
    for (path, status, again) in [
        ("/orders", 409, (409, "duplicate")),
        ("/orders", 500, (409, "in-flight")),
        ("/orders", 599, (409, "in-flight")),
        ("/orders", 503, (503, "")),
        ("/orders", 404, (404, "")),
        ("/orders", 201, (409, "duplicate")),
        ("/own", 404, (409, "duplicate")),
        ("/own", 500, (500, "")),
    ] {
        let case = format!("{path}{status}");
        upstream.script(&case, Script::status(status).body("own"));
        let call = Call::post(path, &new_key()).case(&case);
        let first = call.clone().send(gateway.address).await;
        assert_eq!((first.status.as_u16(), &first.body[..]), (status, &b"own"[..]), "{case}");
        let second = call.send(gateway.address).await;
        assert_eq!((second.status.as_u16(), second.kind().as_str()), again, "{case}");
    }
}

#[tokio::test]
async fn a_status_of_the_gateways_own_is_no_status_of_the_upstreams() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let settings = "[idempotency.verdict]\n\"500-599\" = \"release\"";
    let gateway = Gateway::start(address, settings).await;
    let call = Call::post("/orders", &new_key());
    let first = tokio::spawn(call.clone().send(gateway.address));
    let mut upstream = Raw::accept(&listener).await;
    upstream.until("\r\n\r\n{}").await;
    drop(upstream);
    assert_eq!(first.await.expect("ran").kind(), "bad-gateway");
    assert_eq!(call.send(gateway.address).await.kind(), "in-flight");
}
