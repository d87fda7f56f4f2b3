//! Sections 3 and 4.7: a store that fails. Tokio's clock is paused, so that time limits cost none.

use std::time::Duration;

use leasehold::{LeaseStore as _, RecordState, StoreErrorKind, Verdict};
use leasehold_http::Policy;
use tower::ServiceExt as _;

use crate::faulty::{Fault, Faulty};
use crate::support::{App, answer, order, problem};

#[tokio::test(start_paused = true)]
async fn an_acquire_without_an_answer_is_503_and_abandoned_once() {
    for fault in [Fault::LostBefore, Fault::LostAfter, Fault::Hang, Fault::HangAfter] {
        let app = Faulty::app(Policy::default());
        app.store.fail("acquire", fault.clone());
        let answer = app.send(order("k"), 201).await;
        let (status, code, kind) = problem(answer).await;
        assert_eq!((status, code, &*kind), (503, 50310, "store-unavailable"), "{fault:?}");
        // Beside the answer, as soon as the runtime comes to it.
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!(app.store.calls.take(), ["acquire", "abandon"], "{fault:?}");
        assert_eq!((app.outcomes("store_unavailable"), app.outcomes("granted")), (1, 0));
        assert_eq!(app.sample("leasehold_running"), Some(0));
    }
}

#[tokio::test(start_paused = true)]
async fn an_acquire_is_waited_for_exactly_as_long_as_the_policy_says() {
    let app = Faulty::app(Policy::default().store_timeout(Duration::from_secs(7)));
    app.store.fail("acquire", Fault::Hang);
    let begun = tokio::time::Instant::now();
    assert_eq!(app.order("k", 201).await, 503);
    let took = begun.elapsed();
    // Paused time moves in steps of 1 ms.
    assert!((Duration::from_secs(7)..Duration::from_millis(7010)).contains(&took), "{took:?}");
    assert_eq!(app.order("k", 201).await, 201);
}

#[tokio::test(start_paused = true)]
async fn an_abandon_that_hangs_holds_nothing_up() {
    let app = Faulty::app(Policy::default());
    app.store.fail("acquire", Fault::LostBefore);
    app.store.fail("abandon", Fault::Hang);
    assert_eq!(app.order("k", 201).await, 503);
    app.layer.running().idle().await;
    assert_eq!(app.order("k", 201).await, 201);
}

#[tokio::test(start_paused = true)]
async fn a_commit_that_fails_is_counted_never_released_and_hides_no_success() {
    for fault in [Fault::LostBefore, Fault::LostAfter, Fault::Hang, Fault::HangAfter] {
        let app = Faulty::app(Policy::default());
        app.store.fail("commit", fault.clone());
        assert_eq!(app.order("k", 201).await, 201, "{fault:?}");
        assert_eq!(app.store.calls.take(), ["acquire", "commit"], "{fault:?}");
        assert_eq!(app.sample("leasehold_commit_errors_total"), Some(1));
        assert_eq!(app.sample("leasehold_lease_lost_total"), Some(0));
        assert_eq!(app.verdicts("commit"), 1);
        // While the lease lasts, or the commit has landed, a retry does not run.
        assert_ne!(app.state("k").await, RecordState::Free, "{fault:?}");
        assert_eq!(app.order("k", 201).await, 409, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_that_fails_is_counted_and_the_lease_runs_out() {
    for fault in [Fault::LostBefore, Fault::Hang] {
        let app = Faulty::app(Policy::default());
        app.store.fail("release", fault.clone());
        assert_eq!(app.order("k", 500).await, 500, "{fault:?}");
        assert_eq!(app.sample("leasehold_release_errors_total"), Some(1));
        assert_eq!(app.order("k", 201).await, 409, "{fault:?}");
        app.clock.advance(Duration::from_secs(31));
        assert_eq!(app.order("k", 201).await, 201, "{fault:?}");
    }
}

const KINDS: [(&str, StoreErrorKind); 4] = [
    ("unreachable", StoreErrorKind::Unreachable),
    ("no_answer", StoreErrorKind::NoAnswer),
    ("refused", StoreErrorKind::Refused),
    ("corrupt", StoreErrorKind::Corrupt),
];

/// Sends a request whose handler ends with a verdict: it is carried out by a verb of its own.
async fn run(app: &App<Faulty>, key: &str, verdict: Verdict) {
    let service = app.service(move |_| async move {
        let mut response = answer(201);
        response.extensions_mut().insert(verdict);
        Ok(response)
    });
    service.oneshot(order(key)).await.expect("the handler does not fail");
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_store_are_counted_by_verb_and_kind() {
    for (name, kind) in KINDS {
        let app = Faulty::app(Policy::default());
        let fail = |verb| app.store.fail(verb, Fault::Fails(kind));
        fail("acquire");
        fail("abandon");
        run(&app, "acquire", Verdict::Commit).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        for (verb, verdict) in
            [("commit", Verdict::Commit), ("release", Verdict::Release), ("renew", Verdict::Hold)]
        {
            fail(verb);
            run(&app, verb, verdict).await;
        }
        for verb in ["acquire", "abandon", "commit", "release", "renew"] {
            for (other, _) in KINDS {
                let expected = u64::from(other == name);
                assert_eq!(app.store_errors(verb, other), expected, "{verb} {other} {name}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_for_the_store_counts_no_answer() {
    let app = Faulty::app(Policy::default());
    app.store.fail("acquire", Fault::Hang);
    assert_eq!(app.order("k", 201).await, 503);
    assert_eq!(app.store_errors("acquire", "no_answer"), 1);
    // What a store says by right is no failure of its own.
    assert_eq!((app.order("k", 201).await, app.order("k", 201).await), (201, 409));
    app.memory.close();
    assert_eq!(app.order("other", 201).await, 503);
    let failures = KINDS.map(|(name, _)| app.store_errors("acquire", name));
    assert_eq!(failures, [0, 1, 0, 0]);
}
