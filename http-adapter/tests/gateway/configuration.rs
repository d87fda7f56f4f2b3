//! Configurations, good and bad, as the binary takes them.

use super::process::{run, run_with, run_within};

#[tokio::test]
async fn a_bad_configuration_exits_2_with_one_line_that_names_the_key() {
    for (text, key) in [
        ("[idempotency]\nttl = \"0s\"", "ttl"),
        ("[idempotency]\nttl = \"soon\"", "ttl"),
        ("[idempotency]\nmax-entries = 0", "max-entries"),
        ("[idempotency]\nno-such-key = 1", "no-such-key"),
        ("[idempotency]\nheader-name = \"bad name\"", "header-name"),
        ("[idempotency]\nduplicate = \"maybe\"", "duplicate"),
        ("[idempotency]\nrequired = \"yes\"", "required"),
        ("[idempotency]\nstore = \"postgre://host\"", "idempotency.store: "),
        ("[idempotency]\nstore = \"redis://:hunter2@\"", "idempotency.store: "),
        ("[idempotency.verdict]\n200 = \"perhaps\"", "200"),
        ("[idempotency.verdict]\n2000 = \"commit\"", "2000"),
        ("no-such-top = 1", "no-such-top"),
        ("listen = 7", "listen"),
        ("listen = ", "line 1"),
        ("[[route]]\npath = \"/a\"\nttl = \"0s\"", "ttl"),
        ("[[route]]\npath = \"/a\"\nno-such-route-key = 1", "no-such-route-key"),
    ] {
        for subcommand in ["serve", "check"] {
            let output = run_with(subcommand, text).await;
            let (out, err) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.status.code(), Some(2), "{subcommand} {text:?}: {err}");
            assert!(err.starts_with("leasehold: ") && err.contains(key), "{text:?}: {err}");
            assert_eq!((err.lines().count(), out.len()), (1, 0), "{text:?}: {err}");
        }
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_exits_2() {
    for path in ["/no/such/file.toml", env!("CARGO_TARGET_TMPDIR")] {
        let output = run(&["check", "--config", path], &[]).await;
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.starts_with(&format!("leasehold: {path}: ")), "{err}");
    }
}

#[tokio::test]
async fn check_prints_what_holds_and_what_it_allows() {
    let output = run_with("check", "[idempotency]\nnamespace = \"ns-7f3a\"").await;
    let out = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    for part in ["namespace = \"ns-7f3a\"", "\"Idempotency-Key\"", "1.16 successful writes"] {
        assert!(out.contains(part), "{part:?} is not in {out}");
    }
    let again = run_with("check", &out).await;
    assert_eq!(String::from_utf8_lossy(&again.stdout), out);
}

/// Every supported key with another value than its default, and routes that differ; but for the
/// name of a file, which has to be there.
const UNUSUAL: &str = r#"
    listen = "[::1]:18080"
    upstream = "http://shop.test:3001"
    admin = "127.0.0.1:19090"
    upstream-timeout = "1m 30s"
    shutdown-grace = "0s"
    header-read-timeout = "1500ms"
    body-read-timeout = "2h"
    max-running = 7
    max-connections = 9
    max-buffered-bytes = "1000"
    [idempotency]
    store = "rediss://cache.test"
    max-entries = 1001
    cleanup-interval = "0s"
    max-outcome-bytes = 12345
    late-grace = "7s"
    key-prefix = "shop:"
    near-cache = false
    near-cache-ttl = "1s"
    min-replicas = 1
    replica-connections = 3
    allow-eviction = true
    table = "shop.orders"
    auto-migrate = true
    cleanup-batch = 7
    connections = 1024
    stuck-retention = "1s"
    digest-secret = "hunter2"
    max-waiters = 3
    max-pending-commits = 4
    enabled = false
    header-name = "X-Request-Key"
    required = false
    key-syntax = "structured"
    max-key-length = 4096
    allowed-methods = ["PURGE", "POST"]
    namespace = "shop"
    ttl = "1h 1ns"
    lease-ttl = "3s"
    renew = false
    max-fingerprint-body = "1.5KiB"
    max-replay-body = "1MB"
    replayed-header = "X-Replayed"
    replay-drop-headers = ["Set-Cookie"]
    retry-hints = false
    error-format = "envelope"
    principal-headers = ["Host", "X-Tenant"]
    on-unknown-outcome = "release"
    hold-ttl = "11s"
    store-timeout = "20ms"
    [[route]]
    path = "/a/{id}/*"
    namespace = ""
    enabled = true
    ttl = "-1s"
    [[route]]
    path = "/\"quoted\\"
    key-syntax = "bare"
    lease-ttl = "1s"
    hold-ttl = "2s"
"#;

#[tokio::test]
async fn what_check_prints_is_a_configuration_that_prints_the_same() {
    let first = run_with("check", UNUSUAL).await;
    let (out, err) = (&first.stdout, String::from_utf8_lossy(&first.stderr));
    assert_eq!(first.status.code(), Some(0), "{err}");
    let text = String::from_utf8_lossy(out);
    for part in ["\"[::1]:18080\"", "\"structured\"", "\"1536B\"", "[\"PURGE\", \"POST\"]"] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
    // An empty namespace is the one that its keys are kept in.
    assert!(text.contains("namespace = \"default\""), "{text}");
    let again = run_with("check", &text).await;
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
    assert_eq!(String::from_utf8_lossy(&again.stdout), text);
}

#[tokio::test]
async fn variables_and_flags_override_and_unknown_variables_are_errors() {
    let environment = [("LEASEHOLD_IDEMPOTENCY_TTL", "90s"), ("LEASEHOLD_PORT", "tcp://x")];
    let output = run(&["check", "--listen", "[::1]:1"], &environment).await;
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("ttl = \"1m 30s\"") && out.contains("listen = \"[::1]:1\""), "{out}");
    for (name, value) in [
        ("LEASEHOLD_IDEMPOTENCY_NOPE", "1"),
        ("LEASEHOLD_IDEMPOTENCY_TTL", "0s"),
        ("LEASEHOLD_LOG", "a=b=c"),
    ] {
        let output = run(&["check"], &[(name, value)]).await;
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {err}");
        assert!(err.contains(name) && err.lines().count() == 1, "{err}");
    }
}

#[tokio::test]
async fn a_bound_that_memory_does_not_allow_exits_2_and_names_the_key() {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("too-many-entries.toml");
    let text = "upstream = \"http://127.0.0.1:9\"\nlisten = \"127.0.0.1:0\"\n\
                [idempotency]\nmax-entries = 2147483646\n";
    std::fs::write(&path, text).expect("written");
    let output = run_within(8 << 20, &["serve", "--config", &path.to_string_lossy()]).await;
    std::fs::remove_file(&path).expect("removed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("idempotency.max-entries: "), "{errors}");
}
