//! Rule 6.15: gateways that share a table of a database, and what they do without it.

mod faults;
mod migration;

use std::collections::HashMap;

use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Duration, Instant};

use super::client::{Answer, Call};
use super::database::Table;
use super::process::{Gateway, run};
use super::shared::{ask, is};
use super::upstream::{Script, Upstream, gate};
use super::{new_key, soon};

/// Short, so that a case can wait for its end; long enough for a process to be started within it on
/// a busy machine.
const LEASE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn two_gateways_on_one_table_run_each_key_once() {
    for table in Table::each() {
        let upstream = Upstream::start().await;
        let settings = table.settings("");
        // Both make the table at once.
        let (one, other) = tokio::join!(
            Gateway::start(upstream.address, &settings),
            Gateway::start(upstream.address, &settings),
        );
        let gateways = [one, other];
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
        assert_eq!((granted, refused), (50, 150), "{table:?}");
        let mut runs = HashMap::new();
        for (parts, _) in upstream.requests("shared") {
            *runs.entry(parts.headers["idempotency-key"].clone()).or_insert(0) += 1;
        }
        assert_eq!(runs.len(), 50, "{table:?}");
        assert!(runs.values().all(|count| *count == 1), "{table:?}: {runs:?}");
        for gateway in &gateways {
            let log = gateway.log();
            assert!(!log.contains("memory:"), "{log}");
            assert_eq!(gateway.metric("leasehold_entries").await, None);
        }
    }
}

/// Not before: a lease is over when the time has passed since before it was asked for.
#[tokio::test]
async fn the_key_of_a_killed_gateway_is_taken_over_when_its_lease_ends_and_not_before() {
    for table in Table::each() {
        let upstream = Upstream::start().await;
        let lease = format!("lease-ttl = \"{}s\"", LEASE.as_secs());
        let mut killed = Gateway::start(upstream.address, &table.settings(&lease)).await;
        let other = Gateway::start(upstream.address, &table.settings(&lease)).await;
        let patient = table.settings(&format!("{lease}\nwait = \"15s\""));
        let patient = Gateway::start(upstream.address, &patient).await;

        let gate = gate();
        upstream.script("killed", Script::status(201).gate(&gate));
        let call = Call::post("/orders", &new_key()).case("killed");
        let (key, begun) = (call.key(), Instant::now());
        let first = tokio::spawn(call.clone().send(killed.address));
        upstream.wait_for_runs("killed", 1).await;
        killed.kill().await;
        assert!(first.await.is_err(), "a killed gateway has answered");

        assert!(is(&call.clone().send(other.address).await, 409, "in-flight"), "{table:?}");
        let peek = ["--config", other.config(), "--store", &table.url];
        let (text, code) = ask("peek", &peek, &key).await;
        assert!(text.starts_with("in flight, ") && code == Some(0), "{table:?}: {text}");
        assert_eq!(upstream.runs("killed"), 1, "{table:?}");

        gate.add_permits(2);
        assert_eq!(call.clone().send(patient.address).await.status, 201, "{table:?}");
        assert!(begun.elapsed() >= LEASE, "{table:?}: {:?}", begun.elapsed());
        assert_eq!(upstream.runs("killed"), 2, "{table:?}");
        assert!(is(&call.send(other.address).await, 409, "duplicate"), "{table:?}");
    }
}

/// Sends a write with each key at once.
fn send_all(gateway: &Gateway, keys: &[String]) -> Vec<JoinHandle<Answer>> {
    let call = |key: &String| Call::post("/orders", key).case("kept").send(gateway.address);
    keys.iter().map(|key| tokio::spawn(call(key))).collect()
}

/// The gateway is killed amid a storm; whoever has seen a success is told the same after it.
#[tokio::test]
async fn what_was_committed_is_replayed_after_a_kill_and_a_restart() {
    for table in Table::each() {
        let upstream = Upstream::start().await;
        // A lease that ends before its commit, on a busy machine, promises nothing.
        let settings = "duplicate = \"replay\"\nlease-ttl = \"5s\"\nwait = \"15s\"";
        let settings = table.settings(settings);
        let mut gateway = Gateway::start(upstream.address, &settings).await;
        let script = Script::status(202).header("x-order", "17").body(vec![b'x'; 30_000]);
        upstream.script("kept", script);
        let keys: Vec<_> = (0..100).map(|_| new_key()).collect();
        let (before, amid) = keys.split_at(20);
        let mut first = Vec::new();
        for call in send_all(&gateway, before) {
            first.push(Some(call.await.expect("an answer")));
        }
        let calls = send_all(&gateway, amid);
        upstream.wait_for_runs("kept", 40).await;
        gateway.kill().await;
        for call in calls {
            first.push(call.await.ok());
        }
        let log = gateway.log();

        let gateway = Gateway::start(upstream.address, &settings).await;
        let mut runs = HashMap::new();
        let again = send_all(&gateway, &keys);
        let mut answers = Vec::new();
        for call in again {
            answers.push(call.await.expect("an answer"));
        }
        for (parts, _) in upstream.requests("kept") {
            *runs.entry(parts.headers["idempotency-key"].as_bytes().to_vec()).or_insert(0) += 1;
        }
        for ((key, first), answer) in keys.iter().zip(&first).zip(&answers) {
            // Killed between a commit and the end of its body: kept, and without an outcome.
            let is_bare = first.is_none() && is(answer, 409, "not-replayable");
            if !is_bare {
                let whole = (answer.status.as_u16(), answer.body.len());
                assert_eq!(whole, (202, 30_000), "{table:?}: {answer:?}");
                assert_eq!(answer.header("x-order"), Some("17"), "{table:?}");
            }
            let count = runs[key.as_bytes()];
            if let Some(first) = first {
                assert_eq!(first.status, 202, "{table:?}: {log}");
                let replayed = answer.header("idempotent-replayed");
                assert_eq!((count, replayed), (1, Some("true")), "{table:?}: {log}");
            } else {
                let most = if is_bare { 1 } else { 2 };
                assert!(count <= most, "{table:?}: {count} runs");
            }
        }
    }
}

#[tokio::test]
async fn records_are_asked_of_the_gateway_or_of_the_database_itself() {
    for table in Table::each() {
        let upstream = Upstream::start().await;
        let settings = table.settings("digest-secret = \"hunter2\"");
        let gateway = Gateway::start(upstream.address, &settings).await;
        let admin = gateway.admin.expect("an admin address").to_string();
        let of_gateway = ["--config", gateway.config(), "--admin", &admin];
        let of_store = ["--config", gateway.config(), "--store", &table.url];
        let call = Call::post("/orders", &new_key()).case("asked");
        let key = call.key();

        assert_eq!(ask("peek", &of_store, &key).await, ("free\n".to_owned(), Some(3)), "{table:?}");
        for (verb_asks, other_asks) in [(of_gateway, of_store), (of_store, of_gateway)] {
            assert_eq!(call.clone().send(gateway.address).await.status, 201, "{table:?}");
            let (text, code) = ask("peek", &verb_asks, &key).await;
            assert!(text.starts_with("completed, ") && code == Some(0), "{table:?}: {text}");
            let removed = ("removed\n".to_owned(), Some(0));
            assert_eq!(ask("forget", &verb_asks, &key).await, removed, "{table:?}");
            let nothing = ("nothing to remove\n".to_owned(), Some(3));
            assert_eq!(ask("forget", &other_asks, &key).await, nothing, "{table:?}");
        }
    }
}

/// The holder is killed; nobody asks for its key again until it is counted.
#[tokio::test]
async fn a_lease_that_was_left_behind_is_counted_until_it_is_taken_over() {
    for table in Table::each() {
        let upstream = Upstream::start().await;
        let settings = |lease: &str| {
            let rest = "late-grace = \"0s\"\ncleanup-interval = \"50ms\"";
            table.settings(&format!("lease-ttl = \"{lease}\"\n{rest}"))
        };
        let mut killed = Gateway::start(upstream.address, &settings("200ms")).await;
        let gate = gate();
        upstream.script("left", Script::status(201).gate(&gate));
        let call = Call::post("/orders", &new_key()).case("left");
        let first = tokio::spawn(call.clone().send(killed.address));
        upstream.wait_for_runs("left", 1).await;
        killed.kill().await;
        assert!(first.await.is_err(), "a killed gateway has answered");

        // Its own lease must not be left behind, however slow the machine is.
        let other = Gateway::start(upstream.address, &settings("30s")).await;
        let stuck = async |count: f64| {
            let what = format!("{count} stuck leases in {table:?}");
            soon(&what, async { while other.metric("leasehold_stuck").await != Some(count) {} })
                .await;
        };
        stuck(1.0).await;
        let log = other.log();
        assert!(log.contains("left behind") && !log.contains(&call.key()), "{log}");
        gate.add_permits(2);
        assert_eq!(call.send(other.address).await.status, 201, "{table:?}");
        stuck(0.0).await;
    }
}

#[tokio::test]
async fn a_databases_password_is_neither_logged_nor_printed() {
    for table in Table::each_on_a_server() {
        let (scheme, rest) = table.url.split_once("://").expect("a URL");
        let (_, place) = rest.split_once('@').expect("a user");
        let user = format!("user_of_{}", table.name);
        table.server().ask(&match scheme {
            "postgres" => format!("CREATE ROLE {user} LOGIN SUPERUSER PASSWORD 'hunter2'"),
            _ => format!(
                "CREATE USER {user}@'%' IDENTIFIED BY 'hunter2'; GRANT ALL ON *.* TO {user}@'%'"
            ),
        });
        let url = |password: &str| format!("{scheme}://{user}:{password}@{place}");
        let environment = [("LEASEHOLD_LOG", "trace")];
        let settings = table.settings("").replace(&table.url, &url("hunter2"));
        let upstream = Upstream::start().await;
        let gateway = Gateway::start_with(upstream.address, "", &settings, &environment).await;
        let call = Call::post("/orders", &new_key());
        assert_eq!(call.send(gateway.address).await.status, 201, "{table:?}");
        let log = gateway.log();
        assert!(!log.contains("hunter2"), "{log}");

        for arguments in [&["check"][..], &["migrate"], &["migrate", "--print"]] {
            let arguments = [arguments, &["--config", gateway.config()]].concat();
            let output = run(&arguments, &environment).await;
            let told = [output.stdout, output.stderr].concat();
            let told = String::from_utf8_lossy(&told);
            assert_eq!(output.status.code(), Some(0), "{table:?}: {told}");
            assert!(!told.contains("hunter2"), "{told}");
        }

        let wrong = url("hunter3");
        for arguments in [&["serve", "--listen", "127.0.0.1:0"][..], &["migrate"]] {
            let arguments = [arguments, &["--store", &wrong]].concat();
            let refused = run(&arguments, &environment).await;
            let errors = String::from_utf8_lossy(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{table:?}: {errors}");
            let last = errors.lines().last().unwrap_or_default();
            assert!(last.starts_with("leasehold: idempotency.store: "), "{errors}");
            assert!(!errors.contains("hunter"), "{errors}");
        }
    }
}
