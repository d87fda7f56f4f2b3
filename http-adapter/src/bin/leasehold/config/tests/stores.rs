//! What the settings of each store come to.

use super::*;

#[test]
fn a_redis_store_gets_what_its_keys_say() {
    let text = r#"
        [idempotency]
        store = "rediss-cluster://:hunter2@one:1,two:2"
        key-prefix = "shop:"
        min-replicas = 2
        replica-connections = 3
        root-certificate = "/no/such/file"
        allow-eviction = true
        lease-ttl = "7s"
        near-cache-ttl = "2s"
        [[route]]
        path = "/slow"
        store-timeout = "3s"
    "#;
    let config = load(text, &[]).expect("valid");
    let redis = config.redis().expect("a Redis store");
    assert_eq!(redis.url, "rediss-cluster://:hunter2@one:1,two:2");
    assert_eq!((redis.key_prefix.as_str(), redis.min_replicas), ("shop:", 2));
    assert_eq!((redis.replica_connections, redis.root_certificate.as_ref()), (3, None));
    let refusal = config.redis_to_open().expect_err("there is no such file").to_string();
    assert!(refusal.starts_with("idempotency.root-certificate: cannot read /no/such/file: "));
    assert!(redis.allow_eviction);
    assert_eq!(redis.late_grace, Duration::from_secs(7));
    // The layer ends the calls of other routes sooner.
    assert_eq!(redis.store_timeout, Duration::from_secs(3));
    let near = config.near_cache().expect("checked").map(|ttl| ttl.get());
    assert_eq!(near, Some(Duration::from_secs(2)));

    let off = load("[idempotency]\nnear-cache = false", &[]).expect("valid");
    assert_eq!(off.near_cache(), Ok(None));
    assert!(off.redis().is_none());
}

#[test]
fn connections_to_replicas_are_those_of_the_store_by_default_and_bounded() {
    let url = [("LEASEHOLD_IDEMPOTENCY_STORE", "redis://host")];
    let config = load("", &url).expect("valid");
    assert_eq!(config.redis().expect("a Redis store").replica_connections, 8);
    assert!(config.report().contains("replica-connections = 8"), "{}", config.report());
    for (number, is_valid) in [("0", false), ("1", true), ("1024", true), ("1025", false)] {
        let number = ("LEASEHOLD_IDEMPOTENCY_REPLICA_CONNECTIONS", number);
        match load("", &[url[0], number]) {
            Ok(config) => assert!(is_valid, "{config:?}"),
            Err(error) => {
                assert!(!is_valid, "{error}");
                assert_eq!(error.key(), "idempotency.replica-connections");
            }
        }
    }
}

#[test]
fn one_setting_changes_the_store_and_what_the_other_store_reads_may_stay() {
    let text = r#"
        [idempotency]
        max-entries = 7
        cleanup-interval = "0s"
        near-cache = false
        min-replicas = 1
        replica-connections = 3
        root-certificate = "ca.pem"
        table = "shop.orders"
        auto-migrate = true
    "#;
    for store in ["memory:", "redis://host", "unix:///run/redis.sock", "postgres://host/d"] {
        assert!(load(text, &[("LEASEHOLD_IDEMPOTENCY_STORE", store)]).is_ok(), "{store}");
    }
}

#[test]
fn an_sql_store_gets_what_its_keys_say() {
    let text = r#"
        [idempotency]
        store = "postgres://user:hunter2@host/d"
        table = "shop.orders"
        cleanup-batch = 7
        connections = 3
        stuck-retention = "1h"
        namespace = "shop"
        lease-ttl = "7s"
        [[route]]
        path = "/slow"
        store-timeout = "3s"
        namespace = "slow"
    "#;
    let config = load(text, &[]).expect("valid");
    let sql = config.sql().expect("an SQL store");
    assert_eq!(sql.url, "postgres://user:hunter2@host/d");
    assert_eq!((sql.table.as_str(), sql.namespace.as_str()), ("shop.orders", "shop"));
    assert_eq!((sql.cleanup_batch, sql.connections), (7, 3));
    assert_eq!(sql.stuck_retention, Duration::from_secs(3600));
    assert_eq!(sql.late_grace, Duration::from_secs(7));
    assert_eq!(sql.store_timeout, Duration::from_secs(3));
    assert!(config.redis().is_none());
    let printed = config.report();
    assert!(!printed.contains("hunter2") && !printed.contains("successful writes"), "{printed}");
    assert!(load("", &[]).expect("valid").sql().is_none());
}

#[test]
fn only_sqlite_makes_its_table_unless_it_is_told() {
    for (store, by_default) in [
        ("postgres://host/d", false),
        ("postgresql://host/d", false),
        ("mysql://host/d", false),
        ("mariadb://host/d", false),
        ("sqlite:keys.db", true),
    ] {
        let variable = ("LEASEHOLD_IDEMPOTENCY_STORE", store);
        let config = load("", &[variable]).expect(store);
        let migrates = |config: &Config| config.sql().expect("an SQL store").auto_migrate;
        assert_eq!(migrates(&config), Some(by_default), "{store}");
        assert!(config.report().contains(&format!("auto-migrate = {by_default}")), "{store}");
        for told in [false, true] {
            let text = format!("[idempotency]\nauto-migrate = {told}");
            let config = load(&text, &[variable]).expect("valid");
            assert_eq!(migrates(&config), Some(told), "{store}");
        }
    }
}

#[test]
fn an_sql_stores_keys_are_refused_by_their_names() {
    let variable = [("LEASEHOLD_IDEMPOTENCY_STORE", "postgres://u:hunter2@host/d")];
    for (line, start) in [
        ("table = \"a b\"", "table: a table is called by"),
        ("table = \"\"", "table: "),
        ("table = 7", "table: "),
        ("store = \"postgres://u:hunter2@h:hunter2/d\"", "store: "),
        ("store = \"mysql://u:hunter2@h\"", "store: "),
        ("store = \"sqlite:\"", "store: "),
        ("auto-migrate = \"yes\"", "auto-migrate: "),
        ("cleanup-batch = 0", "cleanup-batch: "),
        ("cleanup-batch = -1", "cleanup-batch: "),
        ("connections = 0", "connections: "),
        ("connections = 5000000000", "connections: "),
        ("stuck-retention = \"3651d\"", "stuck-retention: "),
        ("late-grace = \"3651d\"", "late-grace: "),
    ] {
        let variables = if line.starts_with("store") { &[][..] } else { &variable };
        let refusal = refusal(&format!("[idempotency]\n{line}"), variables);
        assert!(refusal.starts_with(&format!("idempotency.{start}")), "{line}: {refusal}");
        assert!(!refusal.contains("hunter2") && refusal.lines().count() == 1, "{refusal}");
    }
    let schema = [("LEASEHOLD_IDEMPOTENCY_STORE", "sqlite:keys.db")];
    let refusal = refusal("[idempotency]\ntable = \"a.b\"", &schema);
    assert!(refusal.starts_with("idempotency.table: "), "{refusal}");
}
