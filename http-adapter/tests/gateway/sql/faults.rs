//! A database that is killed, or frozen, at each step of a lease.

use leasehold_sql_server::{MariaDb, Postgres, Server};

use super::super::client::Call;
use super::super::process::Gateway;
use super::super::shared::{is, on, ready, status};
use super::super::upstream::{Script, Upstream, gate};
use super::super::{new_key, soon};

/// What a database does, and how it comes back.
type Fault = (fn(&Server), fn(&Server));

const FAULTS: [Fault; 2] = [(Server::kill, Server::start_again), (Server::pause, Server::resume)];

#[tokio::test]
async fn without_its_postgresql_a_gateway_refuses_within_its_time_and_recovers() {
    a_lease_survives_faults(&Postgres::start(&["-c", "fsync=off"])).await;
}

#[tokio::test]
async fn without_its_mariadb_a_gateway_refuses_within_its_time_and_recovers() {
    a_lease_survives_faults(&MariaDb::start(&[])).await;
}

async fn a_lease_survives_faults(server: &Server) {
    let upstream = Upstream::start().await;
    // The first call of a server that was started just now may take longer than the limit of the
    // others.
    let migrating = on(&server.url(), "auto-migrate = true\nstore-timeout = \"10s\"");
    drop(Gateway::start(upstream.address, &migrating).await);
    let settings = on(&server.url(), "store-timeout = \"2s\"");
    let gateway = Gateway::start(upstream.address, &settings).await;
    // What a frozen server has been asked for is granted when it goes on, to nobody: it ends soon.
    let brief = Gateway::start(upstream.address, &format!("{settings}\nlease-ttl = \"1s\"")).await;
    for (at, (stop, go_on)) in FAULTS.into_iter().enumerate() {
        before_the_acquire(&upstream, &brief, || stop(server), || go_on(server)).await;
        let case = format!("running-{at}");
        before_the_commit(&upstream, &gateway, &case, || stop(server), || go_on(server)).await;
        after_the_commit(&gateway, || stop(server), || go_on(server)).await;
    }
    a_gateway_dies_amid_its_acquire(&upstream, server).await;
    a_gateway_dies_amid_its_commit(&upstream, server).await;
}

async fn before_the_acquire(
    upstream: &Upstream,
    gateway: &Gateway,
    stop: impl Fn(),
    go_on: impl Fn(),
) {
    assert_eq!(status(gateway, "/readyz").await, 200);
    stop();
    let call = Call::post("/orders", &new_key()).case("refused");
    let runs = upstream.runs("refused");
    for _ in 0..3 {
        let answer = call.clone().send(gateway.address).await;
        assert!(is(&answer, 503, "store-unavailable"), "{answer:?}");
    }
    assert_eq!(upstream.runs("refused"), runs);
    assert_eq!(status(gateway, "/readyz").await, 503);
    assert_eq!(status(gateway, "/healthz").await, 200);
    go_on();
    ready(gateway).await;
    soon("a grant", async { while call.clone().send(gateway.address).await.status != 201 {} })
        .await;
    assert_eq!(upstream.runs("refused"), runs + 1);
    assert!(is(&call.send(gateway.address).await, 409, "duplicate"));
}

async fn before_the_commit(
    upstream: &Upstream,
    gateway: &Gateway,
    case: &str,
    stop: impl Fn(),
    go_on: impl Fn(),
) {
    let gate = gate();
    upstream.script(case, Script::status(201).gate(&gate));
    let call = Call::post("/orders", &new_key()).case(case);
    let first = tokio::spawn(call.clone().send(gateway.address));
    upstream.wait_for_runs(case, 1).await;
    stop();
    gate.add_permits(1);
    assert_eq!(first.await.expect("an answer").status, 201);
    go_on();
    // The commit is repeated until it lands.
    soon("the commit", async {
        while !is(&call.clone().send(gateway.address).await, 409, "duplicate") {}
    })
    .await;
    assert_eq!(upstream.runs(case), 1);
}

async fn after_the_commit(gateway: &Gateway, stop: impl Fn(), go_on: impl Fn()) {
    let call = Call::post("/orders", &new_key());
    assert_eq!(call.clone().send(gateway.address).await.status, 201);
    stop();
    assert!(is(&call.clone().send(gateway.address).await, 503, "store-unavailable"));
    go_on();
    ready(gateway).await;
    assert!(is(&call.send(gateway.address).await, 409, "duplicate"));
}

/// One that dies, and one that waits for what becomes of the other's lease.
async fn pair(upstream: &Upstream, server: &Server) -> (Gateway, Gateway) {
    let settings = on(&server.url(), "store-timeout = \"10s\"\nlease-ttl = \"1s\"");
    let dying = Gateway::start(upstream.address, &settings).await;
    let patient = format!("{settings}\nwait = \"15s\"");
    (dying, Gateway::start(upstream.address, &patient).await)
}

/// Ends once a series of the gateway has become 1.
async fn counts_one(gateway: &Gateway, series: &str) {
    soon(series, async { while gateway.metric(series).await != Some(1.0) {} }).await;
}

/// Whether the lease was granted nobody knows: if so, it ends.
async fn a_gateway_dies_amid_its_acquire(upstream: &Upstream, server: &Server) {
    let (mut dying, patient) = pair(upstream, server).await;
    let call = Call::post("/orders", &new_key()).case("acquiring");
    server.pause();
    let first = tokio::spawn(call.clone().send(dying.address));
    counts_one(&dying, "leasehold_running").await;
    dying.kill().await;
    server.resume();
    assert!(first.await.is_err(), "a killed gateway has answered");
    assert_eq!(call.clone().send(patient.address).await.status, 201);
    assert_eq!(upstream.runs("acquiring"), 1);
    assert!(is(&call.send(patient.address).await, 409, "duplicate"));
}

/// Whether the commit has landed nobody knows: either it has, or the key is taken over.
async fn a_gateway_dies_amid_its_commit(upstream: &Upstream, server: &Server) {
    let (mut dying, patient) = pair(upstream, server).await;
    let gate = gate();
    upstream.script("committing", Script::status(201).gate(&gate));
    let call = Call::post("/orders", &new_key()).case("committing");
    let first = tokio::spawn(call.clone().send(dying.address));
    upstream.wait_for_runs("committing", 1).await;
    server.pause();
    gate.add_permits(2);
    let commits = "leasehold_verdicts_total{namespace=\"default\",verdict=\"commit\"}";
    counts_one(&dying, commits).await;
    dying.kill().await;
    server.resume();
    assert!(first.await.is_err(), "a killed gateway has answered");
    let answer = call.clone().send(patient.address).await;
    let taken_over = answer.status == 201;
    assert!(taken_over || is(&answer, 409, "duplicate"), "{answer:?}");
    assert_eq!(upstream.runs("committing"), if taken_over { 2 } else { 1 });
    assert!(is(&call.send(patient.address).await, 409, "duplicate"));
}
