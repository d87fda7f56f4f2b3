//! Rule 5.5 beside 5.2: who waits for a response that is to be replayed waits until all of it was
//! kept. Tokio's clock is paused.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use http::{Request, Response};
use leasehold::LeaseStore;
use leasehold_http::{Policy, RequestBody, ResponseBody};
use tokio::task::JoinHandle;
use tower::{Layer, ServiceExt, service_fn};

use crate::bodies::{Pipe, Piped, next, pipe, text};
use crate::faulty::{Fault, Faulty};
use crate::replay::replaying;
use crate::support::{Answer, App, Body, Failure, Gate, order, problem};

const SECOND: Duration = Duration::from_secs(1);

type Streamed = Response<ResponseBody<Piped>>;

fn policy() -> Policy {
    replaying().wait(60 * SECOND)
}

/// Sends an order to a handler that waits at the gate and then answers with this body.
fn first<S: LeaseStore + Clone>(app: &App<S>, gate: &Gate, body: Piped) -> JoinHandle<Streamed> {
    let (body, gate) = (Arc::new(Mutex::new(Some(body))), gate.clone());
    let service = app.layer.layer(service_fn(move |_: Request<RequestBody<Body>>| {
        let (body, gate) = (Arc::clone(&body), gate.clone());
        async move {
            gate.pass().await;
            let body = body.lock().expect("not poisoned").take().expect("runs once");
            Ok::<_, Failure>(Response::new(body))
        }
    }));
    tokio::spawn(async { service.oneshot(order("k")).await.expect("no error") })
}

/// Sends the same order again, and lets it come as far as it can without time passing.
async fn again<S: LeaseStore + Clone>(app: &App<S>) -> JoinHandle<Answer> {
    let service = app.service(|_| async { Ok(crate::support::answer(500)) });
    let again = tokio::spawn(async { service.oneshot(order("k")).await.expect("no error") });
    idle().await;
    again
}

/// The last part of the type of a refusal.
async fn kind(answer: JoinHandle<Answer>) -> String {
    problem(answer.await.expect("no panic")).await.2
}

async fn idle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// The response that is still coming, its pipe, and two who wait: one since before it began.
async fn coming<S: LeaseStore + Clone>(app: &App<S>) -> (Streamed, Pipe, [JoinHandle<Answer>; 2]) {
    let (gate, (pipe, body)) = (Gate::default(), pipe());
    let first = first(app, &gate, body);
    gate.begun().await;
    let early = again(app).await;
    gate.open(1);
    let first = first.await.expect("no panic");
    let late = again(app).await;
    assert!(!early.is_finished() && !late.is_finished());
    (first, pipe, [early, late])
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_response_that_is_still_coming_gets_all_of_it() {
    for shared in [false, true] {
        let app = if shared { Faulty::app(policy()) } else { Faulty::local(policy()) };
        let (first, pipe, waiters) = coming(&app).await;
        pipe.send("one");
        tokio::time::sleep(5 * SECOND).await;
        pipe.send("two");
        assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        drop(pipe);
        assert_eq!(text(first).await, "onetwo");
        for waiter in waiters {
            let replay = waiter.await.expect("no panic");
            assert_eq!(replay.headers()["idempotent-replayed"], "true");
            assert_eq!(crate::support::text(replay).await, "onetwo");
        }
        assert_eq!((app.outcomes("granted"), app.outcomes("replayed")), (1, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_response_that_cannot_be_kept_is_told_at_once() {
    type Spoil = fn(&App<Faulty>, &Pipe);
    let spoils: [Spoil; 4] = [
        |_, pipe| pipe.step(Err(Failure("broke off"))),
        |_, pipe| pipe.send("much too long"),
        |app, pipe| {
            app.store.fail("attach", Fault::LostBefore);
            pipe.send("text");
            pipe.send("!!!!");
        },
        |app, _| app.layer.running().cut(),
    ];
    for spoil in spoils {
        let app = Faulty::app(policy().max_replay_body(8));
        let begun = tokio::time::Instant::now();
        let (first, pipe, waiters) = coming(&app).await;
        spoil(&app, &pipe);
        let mut body = first.into_body();
        let _next = next(&mut body).now_or_never();
        drop((body, pipe));
        for waiter in waiters {
            assert_eq!(kind(waiter).await, "not-replayable");
        }
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn who_has_waited_long_enough_for_a_response_is_a_duplicate() {
    let app = App::new(policy());
    let (_first, _pipe, waiters) = coming(&app).await;
    for waiter in waiters {
        assert_eq!(kind(waiter).await, "not-replayable");
    }
    assert_eq!((app.outcomes("in_flight"), app.outcomes("duplicate")), (0, 2));
}
