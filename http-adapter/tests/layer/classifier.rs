//! Rules 4.2a and 4.2b: what statuses mean by configuration, and what a classifier says.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use leasehold::{RecordState, Verdict};
use leasehold_http::{HandlerEnd, OutcomeUnknown, Policy, Verdicts};
use tower::ServiceExt;

use crate::support::{App, Failure, answer, order, problem};

fn policy() -> Policy {
    let verdicts = Verdicts::default()
        .with(500..=599, Verdict::Hold)
        .and_then(|verdicts| verdicts.with(503..=503, Verdict::Release))
        .and_then(|verdicts| verdicts.with(409..=409, Verdict::Commit));
    Policy::default().verdicts(verdicts.expect("no conflict"))
}

/// What becomes of a second request.
async fn then(app: &App, key: &str) -> String {
    let answer = app.send(order(key), 200).await;
    if answer.status() == 200 { "runs".to_owned() } else { problem(answer).await.2 }
}

#[tokio::test]
async fn statuses_mean_what_the_policy_says() {
    let app = App::new(policy());
    for (status, expected) in [
        (409, "duplicate"),
        (500, "in-flight"),
        (502, "in-flight"),
        (599, "in-flight"),
        (503, "runs"),
        (404, "runs"),
        (201, "duplicate"),
    ] {
        let key = format!("k-{status}");
        assert_eq!(app.order(&key, status).await, status);
        assert_eq!(then(&app, &key).await, expected, "{status}");
    }
    app.clock.advance(Duration::from_secs(31));
    assert_eq!(then(&app, "k-500").await, "runs");
}

/// Failures may be repeated, unless they say that they may not; of panics nobody knows.
fn retryable(end: &HandlerEnd<'_>) -> Option<Verdict> {
    match end {
        HandlerEnd::Failed(error) => {
            let Failure(what) = error.downcast_ref()?;
            (*what == "final").then_some(Verdict::Commit)
        }
        HandlerEnd::Panicked(_) => Some(Verdict::Hold),
        HandlerEnd::Answered { status, headers, extensions, .. } => {
            let declined = headers.contains_key("x-declined") || extensions.get::<()>().is_some();
            (declined && status.is_client_error()).then_some(Verdict::Commit)
        }
        _ => None,
    }
}

#[tokio::test]
async fn a_classifier_tells_failures_that_may_be_repeated_from_those_that_may_not() {
    let mut app = App::new(policy());
    app.layer = app.layer.clone().error_classifier(retryable);
    for (what, expected) in [("final", "duplicate"), ("passing", "runs")] {
        let service = app.service(move |_| async move { Err(Failure(what)) });
        assert_eq!(service.oneshot(order(what)).await.expect_err("an error"), Failure(what));
        assert_eq!(then(&app, what).await, expected);
    }
    let panics = app.service(|_| async { std::panic::resume_unwind(Box::new("broken")) });
    assert!(AssertUnwindSafe(panics.oneshot(order("panic"))).catch_unwind().await.is_err());
    assert_eq!(then(&app, "panic").await, "in-flight");
}

#[tokio::test]
async fn a_classifier_sees_responses_and_goes_before_their_status_alone() {
    let mut app = App::new(policy());
    app.layer = app.layer.clone().error_classifier(retryable);
    for (key, verdict, unknown, expected) in [
        ("declined", None, false, "duplicate"),
        ("said", Some(Verdict::Release), false, "runs"),
        ("unknown", None, true, "in-flight"),
    ] {
        for by_header in [true, false] {
            let key = format!("{key}-{by_header}");
            let service = app.service(move |_| async move {
                let mut response = answer(402);
                if by_header {
                    response.headers_mut().insert("x-declined", "1".parse().expect("a value"));
                } else {
                    response.extensions_mut().insert(());
                }
                if let Some(verdict) = verdict {
                    response.extensions_mut().insert(verdict);
                }
                if unknown {
                    response.extensions_mut().insert(OutcomeUnknown);
                }
                Ok(response)
            });
            assert_eq!(service.oneshot(order(&key)).await.expect("no error").status(), 402);
            assert_eq!(then(&app, &key).await, expected, "{key}");
        }
    }
}

#[tokio::test]
async fn a_classifier_that_panics_has_no_say_and_the_lease_is_settled() {
    let mut app = App::new(Policy::default());
    app.layer = app.layer.clone().error_classifier(|_: &HandlerEnd<'_>| -> Option<Verdict> {
        std::panic::resume_unwind(Box::new("in the classifier"))
    });
    assert_eq!(app.order("kept", 201).await, 201);
    assert_eq!(app.order("free", 500).await, 500);
    assert!(matches!(app.state("kept").await, RecordState::Completed { .. }));
    assert_eq!(app.state("free").await, RecordState::Free);
}
