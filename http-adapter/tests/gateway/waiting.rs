//! Rule 5.5: duplicates that wait, over real connections.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::client::{Answer, Call, Raw};
use super::process::Gateway;
use super::upstream::{Script, Upstream, gate};
use super::{new_key, soon};

/// Longer than any case takes, so that only events end a wait.
const WAIT: &str = "wait = \"1h\"";

/// Waits until the store was asked so often.
async fn acquires(gateway: &Gateway, count: f64) {
    let series = "leasehold_store_seconds_count{verb=\"acquire\"}";
    soon("a call of the store", async {
        while gateway.metric(series).await.expect("exported") < count {}
    })
    .await;
}

/// A gateway with a run at the gate, and its key.
async fn busy(settings: &str) -> (Upstream, Gateway, Arc<Semaphore>, Call, JoinHandle<Answer>) {
    let upstream = Upstream::start().await;
    let gateway = Gateway::start(upstream.address, settings).await;
    let open = gate();
    upstream.script("case", Script::status(500).gate(&open));
    let call = Call::post("/orders", &new_key()).case("case");
    let first = tokio::spawn(call.clone().send(gateway.address));
    upstream.wait_for_runs("case", 1).await;
    (upstream, gateway, open, call, first)
}

#[tokio::test]
async fn waiters_run_one_by_one_as_the_ones_before_them_fail() {
    let (upstream, gateway, open, call, first) = busy(WAIT).await;
    let second = tokio::spawn(call.clone().send_h2(gateway.address));
    acquires(&gateway, 3.0).await;
    let third = tokio::spawn(call.clone().send(gateway.address));
    acquires(&gateway, 5.0).await;
    assert_eq!(upstream.runs("case"), 1);
    open.add_permits(1);
    assert_eq!(first.await.expect("ran").status, 500);
    upstream.wait_for_runs("case", 2).await;
    open.add_permits(1);
    upstream.script("case", Script::status(201));
    upstream.wait_for_runs("case", 3).await;
    let (second, third) = (second.await.expect("ran"), third.await.expect("ran"));
    let mut statuses = [second.status.as_u16(), third.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 500]);
    assert_eq!(call.send(gateway.address).await.kind(), "duplicate");
    assert_eq!(upstream.runs("case"), 3);
}

#[tokio::test]
async fn a_waiter_that_closes_its_connection_never_runs() {
    let (upstream, gateway, open, call, first) = busy(WAIT).await;
    let key = call.key();
    // By itself, and before another request.
    for (behind, asked) in [("", 3.0), ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 5.0)] {
        let mut gone = Raw::open(gateway.address).await;
        gone.send(&format!(
            "POST /orders HTTP/1.1\r\nHost: shop.test\r\nIdempotency-Key: {key}\r\n\
             X-Case: case\r\nContent-Length: 0\r\n\r\n{behind}"
        ))
        .await;
        acquires(&gateway, asked).await;
        gone.close().await;
    }
    open.add_permits(1);
    assert_eq!(first.await.expect("ran").status, 500);
    upstream.script("case", Script::status(201));
    assert_eq!(call.send(gateway.address).await.status, 201);
    assert_eq!(upstream.runs("case"), 2);
}

#[tokio::test]
async fn waiters_are_bounded_and_hold_up_no_shutdown() {
    let (_upstream, mut gateway, open, call, first) =
        busy(&format!("{WAIT}\nmax-waiters = 1")).await;
    let waiter = tokio::spawn(call.clone().send(gateway.address));
    acquires(&gateway, 3.0).await;
    assert_eq!(call.clone().send(gateway.address).await.kind(), "in-flight");
    assert_eq!(gateway.metric("leasehold_running").await, Some(1.0));
    gateway.terminate().await;
    // The first one still runs.
    assert_eq!(waiter.await.expect("answered").kind(), "in-flight");
    open.add_permits(1);
    assert_eq!(first.await.expect("ran").status, 500);
    assert_eq!(gateway.ended().await, Some(0));
}

#[tokio::test]
async fn a_waiter_is_refused_when_its_time_is_over() {
    let (_upstream, gateway, open, call, first) = busy("wait = \"200ms\"").await;
    let answer = call.send(gateway.address).await;
    assert_eq!((answer.kind().as_str(), answer.header("retry-after")), ("in-flight", Some("1")));
    open.add_permits(1);
    assert_eq!(first.await.expect("ran").status, 500);
}

#[tokio::test]
async fn who_waits_for_a_success_gets_its_response() {
    let upstream = Upstream::start().await;
    let settings = format!("{WAIT}\nduplicate = \"replay\"");
    let gateway = Gateway::start(upstream.address, &settings).await;
    let open = gate();
    upstream.script("case", Script::status(201).body("ordered").gate(&open));
    let call = Call::post("/orders", &new_key()).case("case");
    let first = tokio::spawn(call.clone().send(gateway.address));
    upstream.wait_for_runs("case", 1).await;
    let waiters = [(); 8].map(|()| tokio::spawn(call.clone().send(gateway.address)));
    acquires(&gateway, 17.0).await;
    open.add_permits(1);
    assert_eq!(first.await.expect("ran").status, 201);
    for waiter in waiters {
        let waiter = waiter.await.expect("answered");
        assert_eq!(waiter.status, 201);
        assert_eq!(waiter.header("idempotent-replayed"), Some("true"));
    }
    assert_eq!(upstream.runs("case"), 1);
}
