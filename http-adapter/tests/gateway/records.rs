//! Rule 6.13: operators look at single records, and remove them, without the key going anywhere.

use http::Method;
use tokio::net::TcpListener;

use super::client::{Call, Raw};
use super::new_key;
use super::process::{Gateway, run_fed};
use super::upstream::{Script, Upstream, gate};

/// What a subcommand prints and exits with.
async fn ask(gateway: &Gateway, verb: &str, input: &str, more: &[&str]) -> (String, Option<i32>) {
    let admin = gateway.admin.expect("an admin address").to_string();
    let mut arguments = vec![verb, "--config", gateway.config(), "--admin", &admin];
    arguments.extend(more);
    let output = run_fed(&arguments, input).await;
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).expect("text"), output.status.code())
}

#[tokio::test]
async fn a_record_is_shown_from_its_lease_to_its_end() {
    let upstream = Upstream::start().await;
    let settings = "[[route]]\npath = \"/shop/*\"\nnamespace = \"shop\"\nttl = \"1h\"";
    let gateway = Gateway::start(upstream.address, settings).await;
    let key = new_key();
    let flags = ["--method", "POST", "--path", "/shop/orders"];
    let peek = async || ask(&gateway, "peek", &format!("{key}\n"), &flags).await;
    assert_eq!(peek().await, ("free\n".to_owned(), Some(3)));

    let gate = gate();
    upstream.script("shown", Script::status(201).gate(&gate));
    let call = Call::post("/shop/orders?a=1", &key).case("shown");
    let running = tokio::spawn(call.clone().send(gateway.address));
    upstream.wait_for_runs("shown", 1).await;
    let (text, code) = peek().await;
    assert!(text.starts_with("in flight, ") && text.ends_with(" left\n"), "{text}");
    assert_eq!(code, Some(0));

    gate.add_permits(2);
    assert_eq!(running.await.expect("no panic").status, 201);
    let (text, code) = peek().await;
    assert!(text.starts_with("completed, ") && text.ends_with(" left, not replayable\n"), "{text}");
    assert_eq!(code, Some(0));
    // On another path the same key is another record.
    let other = ask(&gateway, "peek", &key, &["--method", "POST", "--path", "/orders"]).await;
    assert_eq!(other, ("free\n".to_owned(), Some(3)));

    let forget = async || ask(&gateway, "forget", &key, &flags).await;
    assert_eq!(forget().await, ("removed\n".to_owned(), Some(0)));
    assert_eq!(forget().await, ("nothing to remove\n".to_owned(), Some(3)));
    assert_eq!(peek().await, ("free\n".to_owned(), Some(3)));
    assert_eq!(call.send(gateway.address).await.status, 201);
    assert_eq!(upstream.runs("shown"), 2);
    let log = gateway.log();
    assert!(log.contains("an operator has removed a record") && !log.contains(&key), "{log}");
}

#[tokio::test]
async fn principals_are_named_in_the_order_of_their_headers() {
    let upstream = Upstream::start().await;
    let settings = "principal-headers = [\"host\", \"X-Tenant\"]";
    let gateway = Gateway::start(upstream.address, settings).await;
    let key = new_key();
    let call = Call::post("/orders", &key).header("x-tenant", "-acme");
    assert_eq!(call.send_h2(gateway.address).await.status, 201);
    let flags = ["--method", "POST", "--path", "/orders"];
    let named = ["--principal", "shop.test", "--principal", "-acme"];
    let code = async |more: &[&str], input: &str| {
        ask(&gateway, "peek", input, &[&flags, more].concat()).await.1
    };
    assert_eq!(code(&named, &key).await, Some(0));
    assert_eq!(code(&[], &format!("{key}\nshop.test\n-acme\n")).await, Some(0));
    assert_eq!(code(&[], &format!("{key}\nshop.test\nother\n")).await, Some(3));
    assert_eq!(code(&named[..2], &key).await, Some(2));
}

#[tokio::test]
async fn what_cannot_be_asked_exits_2_and_an_absent_gateway_1() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let flags = ["--method", "POST", "--path", "/"];
    for (input, more, reason) in [
        ("secret key", &flags[..], "standard input: "),
        ("", &flags, "standard input: "),
        ("secret", &["--method", "GET", "--path", "/"], "not protected"),
        ("secret", &flags[..2], "--path"),
    ] {
        let (text, code) = ask(&gateway, "peek", input, more).await;
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains(reason) && !text.contains("secret"), "{text}");
    }
    let remote = ["peek", "--admin", "10.0.0.1:1", "--method", "POST", "--path", "/"];
    assert_eq!(run_fed(&remote, "k").await.status.code(), Some(2));
    let closed = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = closed.local_addr().expect("an address").to_string();
    drop(closed);
    let absent = ["forget", "--admin", &address, "--method", "POST", "--path", "/"];
    let output = run_fed(&absent, "k").await;
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.starts_with(&format!("leasehold: admin: {address} ")), "{text}");
    assert_eq!(text.lines().count(), 1);
}

/// The first line of what the admin address answers to a POST of these header lines.
async fn status(gateway: &Gateway, path: &str, headers: &str) -> String {
    let mut raw = Raw::open(gateway.admin.expect("an admin address")).await;
    raw.send(&format!("POST {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n")).await;
    let answer = raw.rest().await;
    assert!(!answer.to_lowercase().contains("access-control-"), "{answer}");
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn no_web_page_may_ask_for_records() {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, "").await;
    let admin = gateway.admin.expect("an admin address");
    let good = format!("Host: {admin}\r\nLeasehold-Address: {}\r\n", "0".repeat(64));
    assert_eq!(status(&gateway, "/peek", &good).await, "200");
    for (headers, expected) in [
        (format!("{good}Origin: http://{admin}\r\n"), "403"),
        (format!("{good}Sec-Fetch-Site: cross-site\r\n"), "403"),
        (good.replace("127.0.0.1", "evil.test"), "403"),
        (format!("Host: {admin}\r\n"), "400"),
        (format!("Host: {admin}\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n"), "400"),
    ] {
        for path in ["/peek", "/forget"] {
            assert_eq!(status(&gateway, path, &headers).await, expected, "{headers}");
        }
    }
    for method in [Method::GET, Method::OPTIONS, Method::HEAD] {
        let answer = Call::new(method, "/forget").send(admin).await;
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, Some("POST")));
    }
}

#[tokio::test]
async fn an_admin_address_for_others_shows_no_records() {
    let upstream = Upstream::start().await;
    let environment = [("LEASEHOLD_ADMIN", "0.0.0.0:0")];
    let gateway = Gateway::start_with(upstream.address, "", "", &environment).await;
    let port = gateway.admin.expect("an admin address").port();
    let mut raw = Raw::open(([127, 0, 0, 1], port).into()).await;
    let head = format!(
        "POST /peek HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
         Leasehold-Address: {}\r\n\r\n",
        "0".repeat(64)
    );
    raw.send(&head).await;
    let answer = raw.rest().await;
    assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("loopback"), "{answer}");
    // Asked for on this machine, it says so too.
    let local = format!("127.0.0.1:{port}");
    let peek = ["peek", "--admin", &local, "--method", "POST", "--path", "/"];
    let output = run_fed(&peek, "k").await;
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("refused with status 403"));
}
