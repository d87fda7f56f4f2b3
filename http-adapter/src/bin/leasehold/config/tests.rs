//! The configuration as a whole: layers, defaults, refusals.

use http::StatusCode;
use leasehold::Verdict;

use super::duration::Span;
use super::*;

mod stores;

fn load(text: &str, environment: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let mut layers = Layers::read_text(text, "test.toml")?;
    layers.add_environment(
        environment.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))),
    )?;
    Config::from_layers(&layers)
}

fn refusal(text: &str, environment: &[(&str, &str)]) -> String {
    load(text, environment).map(|_| text.to_owned()).expect_err(text).to_string()
}

#[test]
fn no_settings_at_all_give_the_defaults() {
    let config = load("", &[]).expect("defaults are valid");
    assert_eq!(config.server, ServerKeys::default());
    assert_eq!(config.store, StoreKeys::default());
    assert_eq!(config.policy, PolicyKeys::default());
    assert_eq!(config.late_grace(), Duration::from_secs(30));
}

#[test]
fn the_effective_configuration_reads_back_as_itself() {
    let text = r#"
        admin = "127.0.0.1:0"
        max-buffered-bytes = 1000
        [idempotency]
        lease-ttl = "5s"
        max-outcome-bytes = "1MiB"
        verdict.500-599 = "hold"
        [[route]]
        path = "/a"
        namespace = "a"
        ttl = "-1s"
        verdict = {}
        [[route]]
        path = "/b/{id}"
        enabled = false
        lease-ttl = "7s"
    "#;
    let config = load(text, &[]).expect("valid");
    let again = load(&config.report(), &[]).expect("what is printed can be read");
    assert_eq!(again.effective(), config.effective());
    let printed = config.report();
    assert!(printed.contains("late-grace = \"5s\""), "{printed}");
    assert!(printed.contains("hold-ttl = \"7s\""), "{printed}");
}

#[test]
fn sweeps_may_be_off_or_ten_milliseconds_apart() {
    for interval in ["0s", "10ms", "1h"] {
        let text = format!("[idempotency]\ncleanup-interval = \"{interval}\"");
        assert!(load(&text, &[]).is_ok(), "{interval}");
    }
}

#[test]
fn every_key_is_printed_and_has_a_variable() {
    let printed = Config::from_layers(&Layers::default()).expect("valid").effective();
    let Some(Value::Table(idempotency)) = printed.get(IDEMPOTENCY) else { panic!("no table") };
    let store = Table::try_from(StoreKeys {
        late_grace: Some(Span::seconds(1)),
        replica_connections: 1,
        root_certificate: Some("ca.pem".into()),
        digest_secret: Some(Secret::default()),
        auto_migrate: Some(false),
        ..<_>::default()
    });
    let store = store.expect("a table");
    assert_eq!(store.len(), keys::STORE_KEYS.len());
    for key in keys::STORE_KEYS {
        // These are there where they are set, and a secret is not shown then either.
        let absent = ["auto-migrate", "root-certificate", "digest-secret"];
        let absent = absent.contains(&key);
        assert!(idempotency.contains_key(key) != absent, "{key}");
        assert!(store.contains_key(key), "{key}");
    }
    for (key, value) in idempotency {
        let name = format!("LEASEHOLD_IDEMPOTENCY_{}", key.to_uppercase().replace('-', "_"));
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => {
                let items = items.iter().filter_map(Value::as_str).collect::<Vec<_>>();
                items.join(",")
            }
            other => other.to_string(),
        };
        let config = load("", &[(&name, &text)]);
        assert_eq!(config.map(|config| config.effective()), Ok(printed.clone()), "{name}");
    }
}

#[test]
fn the_environment_wins_over_the_file_and_flags_over_both() {
    let mut layers =
        Layers::read_text("[idempotency]\nttl = \"1h\"\nrequired = true", "t").unwrap();
    let variables = [("LEASEHOLD_IDEMPOTENCY_TTL", "2h"), ("LEASEHOLD_LISTEN", "127.0.0.1:1")];
    let variables = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    layers.add_environment(variables).expect("known variables");
    layers.add_flag("listen", "--listen", Some("127.0.0.1:2")).expect("a key");
    let config = Config::from_layers(&layers).expect("valid");
    assert_eq!(config.policy.ttl, Span::seconds(7200));
    assert_eq!(config.server.listen, ([127, 0, 0, 1], 2).into());
}

#[test]
fn variables_hold_lists_numbers_and_switches() {
    let variables = [
        ("LEASEHOLD_IDEMPOTENCY_ALLOWED_METHODS", "POST, PUT"),
        ("LEASEHOLD_IDEMPOTENCY_MAX_ENTRIES", "7"),
        ("LEASEHOLD_IDEMPOTENCY_REQUIRED", "false"),
        ("LEASEHOLD_MAX_BUFFERED_BYTES", "64KiB"),
        ("LEASEHOLD_ADMIN", "[::1]:9090"),
    ];
    let config = load("", &variables).expect("valid");
    assert_eq!(config.policy.allowed_methods, ["POST", "PUT"]);
    assert_eq!((config.store.max_entries, config.policy.required), (7, false));
    assert_eq!(config.server.max_buffered_bytes.0, 65536);
    assert_eq!(config.server.admin.map(|admin| admin.port()), Some(9090));
}

#[test]
fn only_foreign_variables_are_ignored() {
    let foreign = [
        ("LEASEHOLD_BIN", "x"),
        ("LEASEHOLD_LOG", "debug"),
        ("LEASEHOLD_SERVICE_HOST", "10.0.0.1"),
        ("LEASEHOLD_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("HOME", "/"),
    ];
    assert!(load("", &foreign).is_ok());
    for name in ["LEASEHOLD_NO_SUCH", "LEASEHOLD_IDEMPOTENCY", "LEASEHOLD_ROUTE", "LEASEHOLD_"] {
        assert_eq!(refusal("", &[(name, "1")]), format!("{name}: unknown variable"));
    }
}

#[test]
fn refusals_name_the_variable_or_flag_of_the_value() {
    let text = refusal("", &[("LEASEHOLD_IDEMPOTENCY_TTL", "0s")]);
    let expected = "idempotency.ttl: must be greater than zero (from LEASEHOLD_IDEMPOTENCY_TTL)";
    assert_eq!(text, expected);
    let text = refusal("", &[("LEASEHOLD_IDEMPOTENCY_REQUIRED", "yes")]);
    assert_eq!(text, "LEASEHOLD_IDEMPOTENCY_REQUIRED: must be true or false");
}

/// Lines of a configuration and how their refusal begins.
const REFUSED: &str = r#"
    listen = 7 => listen:
    listen = "nowhere" => listen:
    admin = true => admin:
    no-such-top = 1 => no-such-top:
    idempotency = 3 => idempotency:
    route = 3 => route:
    route = [3] => route[0]:
    route = [{}] => route[0].path:
    route = [{ path = "a" }] => route[0].path:
    route = [{ path = 1 }] => route[0].path:
    upstream = "https://a" => upstream:
    upstream = "http://a/b" => upstream:
    upstream = "http://u:p@a" => upstream: must have no user or password
    upstream = "http://a:0" => upstream:
    upstream = "http://a:99999" => upstream:
    upstream = "a:80" => upstream:
    upstream = "/a" => upstream:
    upstream = "" => upstream:
    upstream-timeout = "0s" => upstream-timeout:
    max-running = 0 => max-running:
    max-connections = -1 => max-connections:
    max-connections = 9223372036854775807 => max-connections:
    max-buffered-bytes = "lots" => max-buffered-bytes:
    listen = => test.toml: line 1:
"#;

/// The same within `[idempotency]`.
const REFUSED_IN_IDEMPOTENCY: &str = r#"
    ttl = "0s" => ttl: must be greater than zero
    ttl = "soon" => ttl:
    ttl = "-1s" => ttl: must not be negative
    ttl = 30 => ttl:
    ttl = "3651d" => ttl: must be at most ten years
    max-entries = 0 => max-entries:
    max-entries = 2147483647 => max-entries:
    no-such-key = 1 => no-such-key:
    header-name = "bad name" => header-name:
    header-name = "Content-Length" => header-name:
    header-name = "X-Forwarded-For" => header-name:
    header-name = "x-forwarded-anything" => header-name:
    header-name = "Connection" => header-name:
    header-name = "Keep-Alive" => header-name:
    header-name = "TE" => header-name:
    header-name = "Trailer" => header-name:
    header-name = "Transfer-Encoding" => header-name:
    header-name = "Upgrade" => header-name:
    header-name = "Proxy-Authorization" => header-name:
    header-name = "Proxy-Connection" => header-name:
    header-name = "Host" => header-name:
    header-name = "Idempotency-Lease-Token" => header-name:
    header-name = "Idempotency-Verdict" => header-name:
    cleanup-interval = "1ns" => cleanup-interval: must be at least 10ms
    cleanup-interval = "9ms" => cleanup-interval: must be at least 10ms
    max-outcome-bytes = "16EiB" => max-outcome-bytes:
    max-replay-body = "99999999999999999999" => max-replay-body:
    duplicate = "maybe" => duplicate:
    required = "yes" => required:
    max-key-length = 0 => max-key-length:
    allowed-methods = [] => allowed-methods:
    allowed-methods = ["post"] => allowed-methods:
    allowed-methods = ["A B"] => allowed-methods:
    allowed-methods = ["CONNECT"] => allowed-methods:
    allowed-methods = [1] => allowed-methods[0]:
    namespace = "a b" => namespace:
    store = "memory:x" => store:
    store = "etcd://a" => store:
    store = "redis://" => store:
    store = "redis://a:b" => store:
    store = "redis-sentinel://a" => store:
    near-cache = "yes" => near-cache:
    near-cache-ttl = "0s" => near-cache-ttl: must be greater than zero
    min-replicas = -1 => min-replicas:
    replica-connections = -1 => replica-connections:
    root-certificate = 7 => root-certificate:
    digest-secret = "" => digest-secret: must not be empty
    digest-secret = 12345 => digest-secret: must be a string
    store = 7 => store:
    error-format = "html" => error-format:
    principal-headers = "host" => principal-headers:
    principal-headers = ["bad name"] => principal-headers:
    principal-headers = ["Idempotency-Key"] => principal-headers:
    principal-headers = ["Transfer-Encoding"] => principal-headers:
    replayed-header = "Content-Length" => replayed-header:
    replayed-header = "set-cookie" => replayed-header:
    lease-ttl = "9ms" => lease-ttl: must be at least 10ms
    principal-headers = ["Host", "X-A", "host"] => principal-headers:
    verdict.200 = "perhaps" => verdict.200:
    verdict.2000 = "commit" => verdict.2000:
    verdict.599-500 = "hold" => verdict.599-500:
    verdict = { 500-599 = "hold", 510-520 = "commit" } => verdict.510-520:
    verdict = 7 => verdict:
"#;

/// The same within a `[[route]]`.
const REFUSED_IN_ROUTES: &str = r#"
    ttl = "0s" => ttl: must be greater than zero
    ttl = "-0s" => ttl: must not be negative
    ttl = "-soon" => ttl: must not be negative
    lease-ttl = "-1s" => lease-ttl: must not be negative
    no-such-route-key = 1 => no-such-route-key:
    max-entries = 1 => max-entries:
"#;

#[test]
fn bad_values_are_refused_in_one_line_that_names_the_key() {
    for (before, name, table) in [
        ("", "", REFUSED),
        ("[idempotency]\n", "idempotency.", REFUSED_IN_IDEMPOTENCY),
        ("[[route]]\npath = \"/a\"\n", "route[0].", REFUSED_IN_ROUTES),
    ] {
        for row in table.lines().filter(|row| !row.is_empty()) {
            let (line, start) = row.trim().split_once(" => ").expect("two columns");
            let refusal = refusal(&format!("{before}{line}"), &[]);
            assert!(refusal.starts_with(&format!("{name}{start}")), "{row}: {refusal}");
            assert_eq!(refusal.lines().count(), 1, "{refusal:?}");
        }
    }
}

#[test]
fn a_body_that_is_to_be_compared_must_have_room() {
    let with = |fingerprint: &str, tables: &str| {
        let table = format!("[idempotency]\nfingerprint = \"{fingerprint}\"\n{tables}");
        format!("max-buffered-bytes = \"1KiB\"\n{table}")
    };
    let large = "max-fingerprint-body = \"1025B\"";
    let reason = "max-fingerprint-body: must be at most max-buffered-bytes";
    assert_eq!(refusal(&with("raw", large), &[]), format!("idempotency.{reason}"));
    // Nothing is compared, or nothing that is too large.
    for text in [with("off", large), with("json", "max-fingerprint-body = \"1KiB\"")] {
        assert!(load(&text, &[]).is_ok(), "{text}");
    }
    let route = with("off", &format!("[[route]]\npath = \"/a\"\nfingerprint = \"raw\"\n{large}"));
    assert_eq!(refusal(&route, &[]), format!("route[0].{reason}"));
}

#[test]
fn the_line_of_a_syntax_error_is_named() {
    assert!(refusal("\n\n[a\n", &[]).starts_with("test.toml: line 3: "));
}

#[test]
fn what_the_parser_refuses_is_named_with_its_line() {
    for (text, start) in [
        ("max-running = 99999999999999999999", "line 1: max-running: "),
        ("\n[idempotency]\nttl = \"1s\"\nttl = \"2s\"\n", "line 4: ttl: duplicate key"),
        ("[idempotency]\n[idempotency]\n", "line 2: idempotency: duplicate key"),
        ("listen = \n", "line 1: listen: "),
        ("\"quoted\" = 99999999999999999999\n", "line 1: invalid type"),
    ] {
        let refusal = refusal(text, &[]);
        assert!(refusal.starts_with(&format!("test.toml: {start}")), "{text:?}: {refusal}");
    }
    for text in ["store = \"redis://user:secret@host\n", "store = \"\"\"\nsecret", "secret"] {
        let refusal = refusal(text, &[]);
        assert!(!refusal.contains("secret"), "{refusal}");
    }
}

#[test]
fn passwords_and_secrets_are_not_printed() {
    let text = r#"
        [idempotency]
        store = "redis://user:hunter2@host/1"
        digest-secret = "hunter2"
    "#;
    let config = load(text, &[]).expect("valid");
    let (printed, debug) = (config.report(), format!("{config:?}"));
    assert!(printed.contains("store = \"redis://user:***@host/1\""), "{printed}");
    assert!(printed.contains("digest-secret = \"***\""), "{printed}");
    assert!(!printed.contains("successful writes"), "{printed}");
    assert!(!printed.contains("hunter2") && !debug.contains("hunter2"), "{debug}");
    for text in [
        "store = \"redis://:hunter2@host:hunter2\"",
        "store = \"redis://:hunter2@\"",
        "store = \"redis-sentinel://:hunter2@host\"",
        "store = \"memory://:hunter2@host\"",
        "store = \"postgre://u:hunter2@host\"",
        "digest-secret = [\"hunter2\"]",
    ] {
        let refusal = refusal(&format!("[idempotency]\n{text}"), &[]);
        assert!(!refusal.contains("hunter2"), "{refusal}");
        assert!(refusal.starts_with(&format!("idempotency.{}: ", text.split(' ').next().unwrap())));
    }
}

#[test]
fn policies_that_replay_to_whoever_has_the_key_are_named() {
    let text = r#"
        [idempotency]
        duplicate = "replay"
        [[route]]
        path = "/raw"
        fingerprint = "raw"
        [[route]]
        path = "/rejecting"
        duplicate = "reject"
        [[route]]
        path = "/open"
        enabled = false
        [[route]]
        path = "/replaying"
    "#;
    let named = |text| load(text, &[]).expect("valid").replays_without_owner();
    assert_eq!(named(text), ["idempotency", "route[3]"]);
    assert!(named("").is_empty());
}

#[test]
fn routes_inherit_and_override() {
    let text = r#"
        [idempotency]
        namespace = "every"
        ttl = "1h"
        lease-ttl = "9s"
        verdict.409 = "commit"
        [[route]]
        path = "/a"
        namespace = ""
        ttl = "-1s"
        [[route]]
        path = "/b"
        ttl = "2h"
        lease-ttl = "3s"
        verdict.500-599 = "hold"
    "#;
    let config = load(text, &[]).expect("valid");
    let policy = |index: usize| &config.routes[index].policy;
    assert_eq!(policy(0).ttl, Span::seconds(3600));
    assert_eq!((policy(1).ttl, policy(1).lease_ttl), (Span::seconds(7200), Span::seconds(3)));
    assert_eq!((policy(0).namespace.as_str(), policy(1).namespace.as_str()), ("", "every"));
    let routes = config.routes().expect("checked");
    assert_eq!(routes.policy("/a").namespace.as_str(), "default");
    assert_eq!(routes.policy("/b").hold_ttl.get(), Duration::from_secs(3));
    assert_eq!(routes.policy("/c").hold_ttl.get(), Duration::from_secs(9));
    // A route's table of verdicts takes the place of the global one.
    let verdict = |path: &str, status: StatusCode| routes.policy(path).verdicts.of(status);

    assert_eq!(verdict("/a", StatusCode::CONFLICT), Verdict::Commit);
    assert_eq!(verdict("/b", StatusCode::CONFLICT), Verdict::Release);
    assert_eq!(verdict("/b", StatusCode::BAD_GATEWAY), Verdict::Hold);
}
