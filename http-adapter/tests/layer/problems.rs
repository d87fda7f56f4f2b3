//! Section 3: the form and language of refusals, wherever in a request's course they arise.

use http::{HeaderValue, Method, Request};
use leasehold_http::{
    ErrorFormat, Language, Policy, Problem, ProblemRenderer, RenderedProblem, Routes,
};
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{App, Body, Failure, Gate, Sent, answer, keyless, order, text};

fn chinese(mut request: Request<Body>) -> Request<Body> {
    let wish = HeaderValue::from_static("zh-CN,zh;q=0.9,en;q=0.5");
    request.headers_mut().insert("accept-language", wish);
    request
}

#[tokio::test]
async fn every_refusal_is_in_the_language_and_format_asked_for() {
    let policy = Policy::default().error_format(ErrorFormat::Envelope);
    let app = App::with_routes(Routes::new(policy));
    let gate = Gate::default();
    let running = tokio::spawn(app.gated(&gate).oneshot(order("running")));
    gate.begun().await;
    app.order("done", 201).await;
    let bad = || keyless(Method::POST, "/orders");
    for (request, code) in
        [(bad as fn() -> _, 40010), (|| order("running"), 40910), (|| order("done"), 40910)]
    {
        for (request, ascii) in [(request(), true), (chinese(request()), false)] {
            let answer = app.send(request, 201).await;
            assert_eq!(answer.headers()["content-type"], "application/json");
            assert_eq!(answer.headers()["vary"], "accept-language");
            let body: serde_json::Value = serde_json::from_str(&text(answer).await).expect("json");
            assert_eq!(body["code"], code);
            assert_eq!(body["message"].as_str().map(str::is_ascii), Some(ascii), "{body}");
        }
    }
    gate.open(1);
    assert_eq!(running.await.expect("no panic").expect("no failure").status(), 201);
}

#[tokio::test]
async fn a_handler_that_is_cut_is_told_in_the_language_asked_for() {
    let app = App::new(Policy::default());
    let gate = Gate::default();
    let cut = tokio::spawn(app.gated(&gate).oneshot(chinese(order("k"))));
    gate.begun().await;
    app.layer.running().cut();
    let answer = cut.await.expect("no panic").expect("no failure");
    assert_eq!(answer.status(), 504);
    assert_eq!(answer.headers()["content-language"], "zh-Hans");
    assert!(!text(answer).await.is_ascii());
}

/// Writes the code, the language and the detail on one line.
struct Line;

impl ProblemRenderer for Line {
    fn render(&self, problem: &Problem, language: Language) -> RenderedProblem {
        let line = format!("{} {} {}", problem.code(), language.tag(), problem.detail(language));
        RenderedProblem::new(HeaderValue::from_static("text/plain"), line)
    }
}

#[tokio::test]
async fn a_renderer_of_ones_own_writes_every_refusal() {
    let app = App::new(Policy::default());
    let inner = service_fn(|_: Request<Sent>| async { Ok::<_, Failure>(answer(201)) });
    let service = app.layer.clone().problem_renderer(Line).layer(inner);
    let send = async |request| service.clone().oneshot(request).await.expect("no failure");
    let answer = send(keyless(Method::POST, "/orders")).await;
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["content-type"]),
        (400, &HeaderValue::from_static("text/plain"))
    );
    assert_eq!(text(answer).await, "40010 en idempotency-key: header is missing.");
    assert_eq!(send(order("k")).await.status(), 201);
    let answer = send(chinese(order("k"))).await;
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["x-should-retry"]),
        (409, &HeaderValue::from_static("false"))
    );
    assert!(text(answer).await.starts_with("40910 zh-Hans "));
}
