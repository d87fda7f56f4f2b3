//! Which address is asked for, and what is refused without a question.

use super::*;

/// The question of these flags, with a configuration in the environment.
fn ask(
    method: &str,
    path: &str,
    principal: &[&str],
    input: &str,
    environment: &[(&str, &str)],
) -> Result<Question, String> {
    let flags = RecordFlags {
        config: None,
        admin: Some("127.0.0.1:9090".to_owned()),
        method: method.to_owned(),
        path: path.to_owned(),
        principal: principal.iter().map(|&value| value.to_owned()).collect(),
    };
    let environment =
        environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    of(&flags, environment, input.as_bytes()).map_err(|error| error.to_string())
}

fn address(namespace: &str, key: &str) -> Address {
    Digester::plain().address(&[namespace.as_bytes(), b"POST", b"/orders", key.as_bytes()])
}

#[test]
fn the_address_is_that_of_the_request_with_the_key() {
    let plain =
        Question { admin: ([127, 0, 0, 1], 9090).into(), address: address("default", "k-1") };
    for input in ["k-1", "k-1\n", "k-1\r\n", " k-1\t\n", "\"k-1\"\n"] {
        assert_eq!(ask("POST", "/orders", &[], input, &[]), Ok(plain), "{input:?}");
    }
    assert_eq!(ask("POST", "/orders?q=1", &[], "k-1", &[]), Ok(plain));
    let shop = [("LEASEHOLD_IDEMPOTENCY_NAMESPACE", "shop")];
    let found = ask("POST", "/orders", &[], "k-1", &shop).map(|question| question.address);
    assert_eq!(found, Ok(address("shop", "k-1")));
    let bare = [("LEASEHOLD_IDEMPOTENCY_KEY_SYNTAX", "bare")];
    let found = ask("POST", "/orders", &[], "\"k-1\"", &bare).map(|question| question.address);
    assert_eq!(found, Ok(address("default", "\"k-1\"")));
}

#[test]
fn principals_come_by_flags_or_by_standard_input() {
    let environment = [("LEASEHOLD_IDEMPOTENCY_PRINCIPAL_HEADERS", "Host, X-Tenant")];
    let ask = |principal: &[&str], input: &str| ask("POST", "/", principal, input, &environment);
    let by_flags = ask(&["a.test", "acme"], "k\n").expect("a question");
    assert_eq!(ask(&[], "k\na.test\nacme\n"), Ok(by_flags));
    assert_ne!(ask(&["acme", "a.test"], "k\n"), Ok(by_flags));
    let refusal = "principal-headers: the path's policy has 2, got 1";
    assert_eq!(ask(&["a.test"], "k\n"), Err(refusal.to_owned()));
    assert_eq!(ask(&[], "k\na.test\n"), Err(refusal.to_owned()));
}

#[test]
fn what_cannot_be_asked_is_told_without_the_key() {
    for (method, path, input, reason) in [
        ("POST", "/", "", "standard input: "),
        ("POST", "/", "secret key", "standard input: "),
        ("POST", "/", "secret\u{1}", "standard input: "),
        ("POST", "/", "\"secret", "standard input: "),
        ("POST", "/", "secret\nmore", "principal-headers: "),
        ("GET", "/", "secret", "--method, --path: "),
        ("P T", "/", "secret", "--method: "),
        ("POST", "orders", "secret", "--path: "),
        ("POST", "http://a/", "secret", "--path: "),
        ("POST", "/ a", "secret", "--path: "),
    ] {
        let refusal = ask(method, path, &[], input, &[]).expect_err(input);
        assert!(refusal.starts_with(reason) && !refusal.contains("secret"), "{refusal}");
    }
    let long = "k".repeat((64 << 10) + 1);
    assert_eq!(ask("POST", "/", &[], &long, &[]), Err("standard input: is too long".to_owned()));
}

#[test]
fn records_are_asked_for_on_this_machine_alone() {
    for (admin, start) in [
        (None, "admin: is not set"),
        (Some("10.0.0.1:9090"), "admin: must be a loopback address"),
        (Some("0.0.0.0:9090"), "admin: must be a loopback address"),
        (Some("127.0.0.1:0"), "admin: has port 0"),
        (Some("nowhere"), "admin: "),
    ] {
        let flags = RecordFlags {
            config: None,
            admin: admin.map(str::to_owned),
            method: "POST".to_owned(),
            path: "/".to_owned(),
            principal: Vec::new(),
        };
        let refusal = of(&flags, [], &b"k"[..]).expect_err("no question").to_string();
        assert!(refusal.starts_with(start), "{refusal}");
    }
}
