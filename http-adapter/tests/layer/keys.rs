//! Rules 2.1 to 2.5: which keys are refused, and which requests share one.

use http::{HeaderValue, Method};
use leasehold_http::{KeySyntax, Pattern, Policy, Routes};

use crate::support::{App, keyless, problem, request};

const INVALID: (u16, u64, &str) = (400, 40010, "invalid-key");

/// What a POST with these header lines is answered, by a handler that would answer 201.
async fn refusal(app: &App, lines: &[&[u8]]) -> (u16, u64, String) {
    let mut request = keyless(Method::POST, "/orders");
    for line in lines {
        let value = HeaderValue::from_bytes(line).expect("a legal header value");
        request.headers_mut().append("idempotency-key", value);
    }
    problem(app.send(request, 201).await).await
}

#[tokio::test]
async fn every_bad_key_is_400_and_the_store_is_not_asked() {
    let app = App::new(Policy::default());
    let long = [b'k'; 129];
    let bad: [&[&[u8]]; 12] = [
        &[],
        &[b""],
        &[b"   "],
        &[b"has space"],
        &[b"tab\there"],
        &[&long],
        &[b"caf\xe9"],
        &[b"\xff"],
        &[b"one", b"two"],
        &[b"one", b"one"],
        &[b"\"open"],
        &[b"\"k\";p=1"],
    ];
    for lines in bad {
        let (status, code, kind) = refusal(&app, lines).await;
        assert_eq!((status, code, &*kind), INVALID, "{lines:?}");
    }
    let counted = (app.outcomes("invalid_key"), app.outcomes("granted"), app.calls("acquire"));
    assert_eq!(counted, (12, 0, 0));
}

#[tokio::test]
async fn a_key_of_exactly_the_longest_length_runs() {
    let app = App::new(Policy::default().max_key_length(4));
    assert_eq!(app.order("1234", 201).await, 201);
    assert_eq!(app.order("\"5678\"", 201).await, 201);
    assert_eq!(app.order("12345", 201).await, 400);
}

#[tokio::test]
async fn quoted_and_bare_are_one_key_unless_the_syntax_is_bare() {
    let lenient = App::new(Policy::default());
    assert_eq!(lenient.order("abc", 201).await, 201);
    assert_eq!(lenient.order("\"abc\"", 201).await, 409);
    let bare = App::new(Policy::default().key_syntax(KeySyntax::Bare));
    assert_eq!(bare.order("abc", 201).await, 201);
    assert_eq!(bare.order("\"abc\"", 201).await, 201);
    let structured = App::new(Policy::default().key_syntax(KeySyntax::Structured));
    assert_eq!(structured.order("abc", 201).await, 400);
    assert_eq!(structured.order("\"abc\"", 201).await, 201);
}

#[tokio::test]
async fn the_same_key_on_another_path_or_method_runs() {
    let app = App::new(Policy::default());
    let status = async |method, path| app.send(request(method, path, "k"), 201).await.status();
    assert_eq!(status(Method::POST, "/a").await, 201);
    assert_eq!(status(Method::POST, "/b").await, 201);
    assert_eq!(status(Method::PUT, "/a").await, 201);
    assert_eq!(status(Method::PATCH, "/a").await, 201);
    assert_eq!(status(Method::DELETE, "/a").await, 201);
    assert_eq!(status(Method::POST, "/%61").await, 201);
    assert_eq!(status(Method::POST, "/a/").await, 201);
    assert_eq!(status(Method::POST, "/a?query=other").await, 409);
}

#[tokio::test]
async fn namespaces_separate_keys_and_join_paths_of_none() {
    let named = |name| Policy::default().namespace(leasehold::Namespace::new(name).expect("valid"));
    let routes = Routes::new(Policy::default())
        .route(Pattern::parse("/v1/{id}").expect("a valid pattern"), named("one"));
    let app = App::with_routes(routes);
    assert_eq!(app.send(request(Method::POST, "/v1/a", "k"), 201).await.status(), 201);
    assert_eq!(app.send(request(Method::POST, "/v2/a", "k"), 201).await.status(), 201);
    let granted = "leasehold_requests_total{namespace=\"one\",outcome=\"granted\"}";
    assert_eq!((app.sample(granted), app.outcomes("granted")), (Some(1), 1));
}
