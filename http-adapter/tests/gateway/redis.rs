//! Rule 6.14: gateways that share a store on a Redis server, and what they do without it.

use std::collections::HashMap;

use leasehold_redis_server::{Server, encrypted};
use tokio::task::JoinSet;

use super::client::Call;
use super::process::{Gateway, Starting, run, run_with};
use super::shared::{ask, is, on, ready, status};
use super::upstream::{Script, Upstream, gate};
use super::{new_key, soon};

#[tokio::test]
async fn two_gateways_on_one_server_run_each_key_once() {
    let (upstream, redis) = (Upstream::start().await, Server::start(&[]));
    let settings = on(&redis.url(), "");
    let gateways = [
        Gateway::start(upstream.address, &settings).await,
        Gateway::start(upstream.address, &settings).await,
    ];
    let keys: Vec<_> = (0..50).map(|_| new_key()).collect();
    let mut calls = JoinSet::new();
    for round in 0..4 {
        for (at, key) in keys.iter().enumerate() {
            let gateway = &gateways[(round + at) % 2];
            calls.spawn(Call::post("/orders", key).case("shared").send(gateway.address));
        }
    }
    let answers = calls.join_all().await;
    let granted = answers.iter().filter(|answer| answer.status == 201).count();
    let refused = answers.iter().filter(|answer| answer.status == 409).count();
    assert_eq!((granted, refused), (50, 150));
    let mut runs = HashMap::new();
    for (parts, _) in upstream.requests("shared") {
        *runs.entry(parts.headers["idempotency-key"].clone()).or_insert(0) += 1;
    }
    assert_eq!(runs.len(), 50);
    assert!(runs.values().all(|count| *count == 1), "{runs:?}");
    for gateway in &gateways {
        let log = gateway.log();
        assert!(!log.contains("memory:"), "{log}");
        // How full a server is, it does not tell.
        assert_eq!(gateway.metric("leasehold_entries").await, None);
    }
}

#[tokio::test]
async fn the_key_of_a_killed_gateway_is_in_flight_until_its_lease_ends() {
    let (upstream, redis) = (Upstream::start().await, Server::start(&[]));
    let url = redis.url();
    let start = async |more: &str| Gateway::start(upstream.address, &on(&url, more)).await;
    let mut killed = start("lease-ttl = \"2s\"").await;
    let other = start("lease-ttl = \"2s\"").await;
    let patient = start("lease-ttl = \"2s\"\nwait = \"15s\"").await;

    let gate = gate();
    upstream.script("killed", Script::status(201).gate(&gate));
    let call = Call::post("/orders", &new_key()).case("killed");
    let (key, first) = (call.key(), tokio::spawn(call.clone().send(killed.address)));
    upstream.wait_for_runs("killed", 1).await;
    killed.kill().await;
    assert!(first.await.is_err(), "a killed gateway has answered");

    assert!(is(&call.clone().send(other.address).await, 409, "in-flight"));
    let peek = ["--config", other.config(), "--store", &url];
    let (text, code) = ask("peek", &peek, &key).await;
    assert!(text.starts_with("in flight, ") && code == Some(0), "{text}");
    assert_eq!(upstream.runs("killed"), 1);

    gate.add_permits(2);
    assert_eq!(call.clone().send(patient.address).await.status, 201);
    assert_eq!(upstream.runs("killed"), 2);
    assert!(is(&call.send(other.address).await, 409, "duplicate"));
}

#[tokio::test]
async fn without_its_server_a_gateway_refuses_or_fails_open_and_recovers() {
    let (upstream, redis) = (Upstream::start().await, Server::start(&[]));
    let settings = on(&redis.url(), "store-timeout = \"200ms\"");
    let strict = Gateway::start(upstream.address, &settings).await;
    let open = Gateway::start(upstream.address, &format!("{settings}\nfail-open = true")).await;
    let post = async |gateway: &Gateway| {
        Call::post("/orders", &new_key()).case("down").send(gateway.address).await
    };
    assert_eq!(status(&strict, "/readyz").await, 200);

    for (stop, go_on) in [
        (Server::kill as fn(&Server), Server::start_again as fn(&Server)),
        (Server::freeze, Server::thaw),
    ] {
        let runs = upstream.runs("down");
        stop(&redis);
        assert!(is(&post(&strict).await, 503, "store-unavailable"));
        assert_eq!(upstream.runs("down"), runs);
        assert_eq!(status(&strict, "/readyz").await, 503);
        assert_eq!(status(&strict, "/healthz").await, 200);
        assert_eq!(post(&open).await.status, 201);
        assert_eq!(upstream.runs("down"), runs + 1);

        go_on(&redis);
        ready(&strict).await;
        ready(&open).await;
        assert_eq!(post(&strict).await.status, 201);
        assert_eq!(post(&open).await.status, 201);
    }
    let series = "leasehold_requests_total{namespace=\"default\",outcome=\"fail_open\"}";
    assert_eq!(open.metric(series).await, Some(2.0));
}

#[tokio::test]
async fn what_is_forgotten_while_the_server_is_away_is_not_recorded_later() {
    let (upstream, redis) = (Upstream::start().await, Server::start(&[]));
    let settings = on(&redis.url(), "store-timeout = \"200ms\"\nfail-open = true");
    let gateway = Gateway::start(upstream.address, &settings).await;
    let admin = gateway.admin.expect("an admin address").to_string();
    let of_gateway = ["--config", gateway.config(), "--admin", &admin];
    redis.kill();
    let call = Call::post("/orders", &new_key()).case("away");
    assert_eq!(call.clone().send(gateway.address).await.status, 201);
    assert!(is(&call.clone().send(gateway.address).await, 409, "duplicate"));
    // The server has to be told again, the gateway has not.
    assert_eq!(ask("forget", &of_gateway, &call.key()).await.1, Some(1));
    upstream.script("away", Script::status(500));
    assert_eq!(call.clone().send(gateway.address).await.status, 500);
    redis.start_again();
    ready(&gateway).await;
    assert_eq!(ask("peek", &of_gateway, &call.key()).await, ("free\n".to_owned(), Some(3)));
    assert_eq!(call.send(gateway.address).await.status, 500);
    assert_eq!(upstream.runs("away"), 3);
}

#[tokio::test]
async fn records_are_asked_of_the_gateway_or_of_the_store_itself() {
    let (upstream, redis) = (Upstream::start().await, Server::start(&[]));
    let url = redis.url();
    let more = "digest-secret = \"hunter2\"\nkey-prefix = \"shop:\"";
    let gateway = Gateway::start(upstream.address, &on(&url, more)).await;
    let admin = gateway.admin.expect("an admin address").to_string();
    let of_gateway = ["--config", gateway.config(), "--admin", &admin];
    let of_store = ["--config", gateway.config(), "--store", &url];
    let call = Call::post("/orders", &new_key()).case("asked");
    let key = call.key();

    assert_eq!(ask("peek", &of_store, &key).await, ("free\n".to_owned(), Some(3)));
    assert_eq!(call.clone().send(gateway.address).await.status, 201);
    for whom in [of_gateway, of_store] {
        let (text, code) = ask("peek", &whom, &key).await;
        assert!(text.starts_with("completed, ") && code == Some(0), "{text}");
    }
    // Neither without the prefix nor without the secret is it found.
    assert_eq!(redis.ask(&["DBSIZE"]), "1");
    assert!(redis.ask(&["KEYS", "*"]).contains("shop:"));
    assert_eq!(ask("peek", &["--store", &url], &key).await, ("free\n".to_owned(), Some(3)));

    // Asked for it, the gateway forgets what its near cache has learned too.
    assert!(is(&call.clone().send(gateway.address).await, 409, "duplicate"));
    assert_eq!(ask("forget", &of_gateway, &key).await, ("removed\n".to_owned(), Some(0)));
    assert_eq!(call.clone().send(gateway.address).await.status, 201);
    assert_eq!(ask("forget", &of_store, &key).await, ("removed\n".to_owned(), Some(0)));
    let nothing = ("nothing to remove\n".to_owned(), Some(3));
    assert_eq!(ask("forget", &of_store, &key).await, nothing);

    redis.kill();
    let (text, code) = ask("peek", &of_store, &key).await;
    assert!(text.contains("idempotency.store: ") && code == Some(1), "{text}");
}

#[tokio::test]
async fn another_gateways_completed_keys_are_refused_from_memory() {
    let (upstream, redis) = (Upstream::start().await, Server::start(&[]));
    let settings = on(&redis.url(), "near-cache-ttl = \"1h\"");
    let first = Gateway::start(upstream.address, &settings).await;
    let second = Gateway::start(upstream.address, &settings).await;
    let plain = on(&redis.url(), "near-cache = false");
    let plain = Gateway::start(upstream.address, &plain).await;
    let call = Call::post("/orders", &new_key());
    assert_eq!(call.clone().send(first.address).await.status, 201);
    for gateway in [&second, &plain] {
        assert!(is(&call.clone().send(gateway.address).await, 409, "duplicate"));
    }
    redis.kill();
    assert!(is(&call.clone().send(second.address).await, 409, "duplicate"));
    assert!(is(&call.send(plain.address).await, 503, "store-unavailable"));
}

#[tokio::test]
async fn a_password_is_neither_logged_nor_printed() {
    let (upstream, redis) = (Upstream::start().await, Server::start(&["--requirepass", "hunter2"]));
    let url = format!("redis://:hunter2@127.0.0.1:{}", redis.port());
    let environment = [("LEASEHOLD_LOG", "trace")];
    let gateway = Gateway::start_with(upstream.address, "", &on(&url, ""), &environment).await;
    let call = Call::post("/orders", &new_key());
    assert_eq!(call.clone().send(gateway.address).await.status, 201);
    redis.kill();
    assert_eq!(Call::post("/orders", &new_key()).send(gateway.address).await.status, 503);
    redis.start_again();
    ready(&gateway).await;
    let log = gateway.log();
    assert!(log.contains("redis") && !log.contains("hunter2"), "{log}");

    let check = run(&["check", "--config", gateway.config()], &[]).await;
    let printed = String::from_utf8_lossy(&check.stdout);
    assert!(printed.contains("redis://:***@") && !printed.contains("hunter2"), "{printed}");

    let wrong = format!("redis://:hunter3@127.0.0.1:{}", redis.port());
    let refused = run(&["serve", "--listen", "127.0.0.1:0", "--store", &wrong], &environment).await;
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{errors}");
    let last = errors.lines().last().unwrap_or_default();
    assert!(last.starts_with("leasehold: idempotency.store: "), "{errors}");
    assert!(!errors.contains("hunter"), "{errors}");
}

#[tokio::test]
async fn a_server_that_may_evict_is_refused_unless_that_is_allowed() {
    let upstream = Upstream::start().await;
    let redis = Server::start(&["--maxmemory-policy", "volatile-lru"]);
    let settings = on(&redis.url(), "");
    let text = format!("listen = \"127.0.0.1:0\"\n[idempotency]\n{settings}");
    let refused = run_with("serve", &text).await;
    let errors = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{errors}");
    let last = errors.lines().last().unwrap_or_default();
    assert!(last.starts_with("leasehold: idempotency.store: "), "{errors}");
    assert!(last.contains("volatile-lru") && last.contains("allow-eviction"), "{errors}");

    let allowed = format!("{settings}\nallow-eviction = true");
    let gateway = Gateway::start(upstream.address, &allowed).await;
    assert!(gateway.log().contains("may evict leases"), "{}", gateway.log());
    assert_eq!(Call::post("/orders", &new_key()).send(gateway.address).await.status, 201);
}

#[tokio::test]
async fn a_server_is_trusted_by_the_certificate_that_the_settings_name() {
    let upstream = Upstream::start().await;
    let (redis, url, certificate) = encrypted(&[]);
    let path = redis.folder().join("authority.pem").display().to_string();
    std::fs::write(&path, certificate).expect("written");
    let settings = on(&url, &format!("root-certificate = \"{path}\"\nreplica-connections = 1"));
    let gateway = Gateway::start(upstream.address, &settings).await;
    let call = Call::post("/orders", &new_key());
    let key = call.key();
    assert_eq!(call.send(gateway.address).await.status, 201);
    let of_store = ["--config", gateway.config(), "--store", &url];
    let (text, code) = ask("peek", &of_store, &key).await;
    assert!(text.starts_with("completed, ") && code == Some(0), "{text}");

    let (_other, _, another) = encrypted(&[]);
    std::fs::write(&path, another).expect("written");
    let (text, code) = ask("peek", &of_store, &key).await;
    assert!(text.contains("idempotency.store: ") && code == Some(1), "{text}");
}

#[tokio::test]
async fn a_certificate_that_is_not_there_or_none_is_refused_by_its_key() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [empty, text] = [("empty", ""), ("text", "hunter2")].map(|(name, content)| {
        let path = folder.join(format!("authority-{}.pem", new_key()));
        std::fs::write(&path, content).expect(name);
        path.display().to_string()
    });
    let folder = folder.display().to_string();
    for (url, path) in [
        ("rediss://127.0.0.1:9", "/no/such/file.pem"),
        ("rediss://127.0.0.1:9", &folder),
        ("rediss://127.0.0.1:9", "/dev/zero"),
        ("rediss://127.0.0.1:9", &empty),
        ("rediss-cluster://127.0.0.1:9", &text),
        ("redis://127.0.0.1:9", &text),
    ] {
        let settings = format!("[idempotency]\nstore = \"{url}\"\nroot-certificate = \"{path}\"");
        for subcommand in ["serve", "check"] {
            let output = run_with(subcommand, &settings).await;
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{settings}: {errors}");
            let start = "leasehold: idempotency.root-certificate: ";
            assert!(errors.starts_with(start) && errors.lines().count() == 1, "{errors}");
            assert!(!errors.contains("hunter2"), "{errors}");
        }
    }
    for path in [empty, text] {
        std::fs::remove_file(path).expect("removed");
    }
}

/// Exit code 1 would mean that it has waited to the end of its patience.
#[tokio::test]
async fn a_signal_ends_a_start_that_waits_for_its_server() {
    // It takes connections and never says a word.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("redis://{}", silent.local_addr().expect("an address"));
    let environment = [("LEASEHOLD_IDEMPOTENCY_STORE_TIMEOUT", "100ms")];
    for signal in ["TERM", "INT"] {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--store", &url];
        let mut starting = Starting::spawn(&arguments, &environment);
        starting.logs("the store is not there yet").await;
        starting.signal(signal).await;
        starting.logs("stopped").await;
        assert_eq!(starting.ended().await, (Some(0), Vec::new()), "{signal}");
    }
}

#[tokio::test]
async fn a_grant_that_too_few_replicas_have_is_refused() {
    let (upstream, redis) = (Upstream::start().await, Server::start(&[]));
    let settings = on(&redis.url(), "min-replicas = 1\nstore-timeout = \"200ms\"");
    let gateway = Gateway::start(upstream.address, &settings).await;
    let answer = Call::post("/orders", &new_key()).case("lonely").send(gateway.address).await;
    assert!(is(&answer, 503, "store-unavailable"));
    assert_eq!(upstream.runs("lonely"), 0);
}

/// How many calls of a verb have failed in one way.
async fn failures(gateway: &Gateway, verb: &str, kind: &str) -> f64 {
    let series = format!("leasehold_store_errors_total{{verb=\"{verb}\",kind=\"{kind}\"}}");
    gateway.metric(&series).await.expect("exported")
}

#[tokio::test]
async fn what_a_server_fails_at_is_counted_by_verb_and_kind() {
    let (upstream, redis) = (Upstream::start().await, Server::start(&[]));
    let settings = on(&redis.url(), "store-timeout = \"500ms\"\nnear-cache = false");
    let gateway = Gateway::start(upstream.address, &settings).await;
    let acquire = async |kind| failures(&gateway, "acquire", kind).await;
    let refused = async |call: Call| {
        assert!(is(&call.send(gateway.address).await, 503, "store-unavailable"));
    };
    let fresh = || Call::post("/orders", &new_key());

    // It dies while a handler runs.
    let gate = gate();
    upstream.script("dies", Script::status(201).gate(&gate));
    let running = tokio::spawn(fresh().case("dies").send(gateway.address));
    upstream.wait_for_runs("dies", 1).await;
    redis.kill();
    gate.add_permits(1);
    assert_eq!(running.await.expect("ran").status, 201);
    let commits = [("commit", "no_answer"), ("commit", "unreachable")];
    let commits = commits.map(|(verb, kind)| failures(&gateway, verb, kind));
    let [unanswered, unreached] = commits;
    assert!(unanswered.await + unreached.await >= 1.0, "{}", gateway.metrics().await);
    refused(fresh()).await;
    assert_eq!(acquire("unreachable").await, 1.0);
    soon("an abandon", async { while failures(&gateway, "abandon", "unreachable").await < 1.0 {} })
        .await;

    redis.start_again();
    ready(&gateway).await;
    redis.freeze();
    refused(fresh()).await;
    assert_eq!(acquire("no_answer").await, 1.0);
    redis.thaw();
    ready(&gateway).await;

    // A record that no version has written.
    assert_eq!(redis.ask(&["FLUSHALL"]), "+OK");
    let call = fresh();
    assert_eq!(call.clone().send(gateway.address).await.status, 201);
    let record = redis.ask(&["KEYS", "leasehold:*"]);
    assert_eq!(redis.ask(&["SET", &record, "not ours"]), "+OK");
    refused(call).await;
    assert_eq!(acquire("corrupt").await, 1.0);

    assert_eq!(redis.ask(&["ACL", "SETUSER", "default", "-evalsha"]), "+OK");
    refused(fresh()).await;
    let kinds = ["unreachable", "no_answer", "refused", "corrupt"];
    for kind in kinds {
        assert_eq!(acquire(kind).await, 1.0, "{kind}");
    }
}
