//! Which address is asked for, and what is refused without a question.

use leasehold::Digester;

use super::*;

/// The gateway, if one is asked, and the address.
type Asked = (Option<SocketAddr>, Address);

/// What these flags come to, with a configuration in the environment.
fn asked(flags: &RecordFlags, input: &str, environment: &[(&str, &str)]) -> Result<Asked, String> {
    let environment =
        environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let question = of(flags, environment, input.as_bytes()).map_err(|error| error.to_string())?;
    let admin = match question.keeper {
        Keeper::Gateway(admin) => Some(admin),
        Keeper::Store(_) => None,
    };
    Ok((admin, question.address))
}

/// What is asked of a gateway with these flags.
fn ask(
    method: &str,
    path: &str,
    principal: &[&str],
    input: &str,
    environment: &[(&str, &str)],
) -> Result<Asked, String> {
    let flags = RecordFlags {
        config: None,
        admin: Some("127.0.0.1:9090".to_owned()),
        store: None,
        method: method.to_owned(),
        path: path.to_owned(),
        principal: principal.iter().map(|&value| value.to_owned()).collect(),
    };
    asked(&flags, input, environment)
}

fn address(namespace: &str, key: &str) -> Address {
    Digester::plain().address(&[namespace.as_bytes(), b"POST", b"/orders", key.as_bytes()])
}

#[test]
fn the_address_is_that_of_the_request_with_the_key() {
    let plain = (Some(([127, 0, 0, 1], 9090).into()), address("default", "k-1"));
    for input in ["k-1", "k-1\n", "k-1\r\n", " k-1\t\n", "\"k-1\"\n"] {
        assert_eq!(ask("POST", "/orders", &[], input, &[]), Ok(plain), "{input:?}");
    }
    assert_eq!(ask("POST", "/orders?q=1", &[], "k-1", &[]), Ok(plain));
    let shop = [("LEASEHOLD_IDEMPOTENCY_NAMESPACE", "shop")];
    let found = ask("POST", "/orders", &[], "k-1", &shop).map(|(_, address)| address);
    assert_eq!(found, Ok(address("shop", "k-1")));
    let bare = [("LEASEHOLD_IDEMPOTENCY_KEY_SYNTAX", "bare")];
    let found = ask("POST", "/orders", &[], "\"k-1\"", &bare).map(|(_, address)| address);
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
            store: None,
            method: "POST".to_owned(),
            path: "/".to_owned(),
            principal: Vec::new(),
        };
        let refusal = of(&flags, [], &b"k"[..]).expect_err("no question").to_string();
        assert!(refusal.starts_with(start), "{refusal}");
    }
}

#[test]
fn a_shared_store_is_asked_itself_when_it_is_named_or_no_gateway_is() {
    let flags = |admin: Option<&str>, store: Option<&str>| RecordFlags {
        config: None,
        admin: admin.map(str::to_owned),
        store: store.map(str::to_owned),
        method: "POST".to_owned(),
        path: "/orders".to_owned(),
        principal: Vec::new(),
    };
    let (admin, redis) = (Some("127.0.0.1:9090"), Some("redis://127.0.0.1:1"));
    let variable = [("LEASEHOLD_IDEMPOTENCY_STORE", "redis://127.0.0.1:1")];
    let sqlite = [("LEASEHOLD_IDEMPOTENCY_STORE", "sqlite:keys.db")];
    let gateway = Some(([127, 0, 0, 1], 9090).into());
    for (flags, environment, expected) in [
        (flags(admin, redis), &[][..], None),
        (flags(None, redis), &[], None),
        (flags(None, None), &variable, None),
        (flags(admin, None), &variable, gateway),
        (flags(admin, Some("postgres://127.0.0.1:1/d")), &variable, None),
        (flags(None, None), &sqlite, None),
        (flags(admin, None), &sqlite, gateway),
        (flags(admin, Some("memory:")), &variable, gateway),
    ] {
        let asked = asked(&flags, "k-1", environment);
        assert_eq!(asked, Ok((expected, address("default", "k-1"))), "{flags:?}");
    }
    let refusal = asked(&flags(None, Some("memory:")), "k-1", &variable);
    assert!(refusal.is_err_and(|refusal| refusal.starts_with("admin: is not set")));
}

#[test]
fn the_secret_of_the_settings_makes_the_address() {
    let secret = [("LEASEHOLD_IDEMPOTENCY_DIGEST_SECRET", "hunter2")];
    let found = ask("POST", "/orders", &[], "k-1", &secret).map(|(_, address)| address);
    let parts: [&[u8]; 4] = [b"default", b"POST", b"/orders", b"k-1"];
    assert_eq!(found, Ok(Digester::with_secret(b"hunter2").address(&parts)));
}
