//! The promise as a whole: whatever handlers and clients do, each write succeeds at most once, and
//! no key is left behind.

use std::collections::BTreeMap;
use std::panic::resume_unwind;

use leasehold::RecordState;
use leasehold_http::Policy;
use tokio::task::{JoinSet, yield_now};
use tower::ServiceExt;

use crate::support::{App, Failure, Seen, answer, order};

const KEYS: u64 = 40;
const REQUESTS: u64 = 4_000;

/// Numbers that look random and are the same in every run (SplitMix64).
fn scatter(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

async fn yields(times: u64) {
    for _ in 0..times {
        yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_each_write_succeeds_at_most_once() {
    let app = App::new(Policy::default());
    let successes = Seen::default();
    let service = app.service({
        let successes = successes.clone();
        move |request| {
            let successes = successes.clone();
            async move {
                let plan = *request.extensions().get::<u64>().expect("a plan");
                yields(plan % 7).await;
                // One of eight succeeds, so that most keys see every kind of failure first.
                match (plan >> 8) % 8 {
                    0 => {
                        successes.push(request.headers()["idempotency-key"].clone());
                        Ok(answer(201))
                    }
                    1 | 2 => Err(Failure("broken")),
                    // Unwinds without the message that a panic prints.
                    3 | 4 => resume_unwind(Box::new("broken")),
                    _ => Ok(answer(500)),
                }
            }
        }
    });
    let mut clients = JoinSet::new();
    for number in 0..REQUESTS {
        let plan = scatter(number);
        let mut request = order(&format!("k-{}", plan % KEYS));
        request.extensions_mut().insert(plan >> 8);
        let service = service.clone();
        clients.spawn(async move {
            let patience = (plan >> 40) % 12;
            tokio::select! {
                _ = service.oneshot(request) => {}
                // The client goes away.
                () = yields(patience) => {}
            }
        });
        if number % 16 == 0 {
            yield_now().await;
        }
    }
    while clients.join_next().await.is_some() {}
    app.layer.running().idle().await;

    let mut counts = BTreeMap::new();
    for key in successes.take() {
        *counts.entry(key.to_str().expect("ascii").to_owned()).or_insert(0) += 1;
    }
    assert!(!counts.is_empty(), "nothing succeeded");
    let ends = app.verdicts("commit") + app.verdicts("release");
    assert_eq!(app.outcomes("granted"), ends);
    assert_eq!(app.sample("leasehold_running"), Some(0));
    for key in (0..KEYS).map(|number| format!("k-{number}")) {
        let (state, status) = (app.state(&key).await, app.order(&key, 201).await);
        match counts.get(&key) {
            None => assert_eq!((state, status), (RecordState::Free, 201), "{key}"),
            Some(1) => assert_eq!(status, 409, "{key}: {state:?}"),
            Some(times) => panic!("{key} succeeded {times} times"),
        }
    }
}
