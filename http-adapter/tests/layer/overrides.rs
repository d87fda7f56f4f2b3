//! Rule 1.4: another policy for one request, put into it by an outer layer.

use std::sync::Arc;

use http::{HeaderName, Method, Request};
use leasehold::Namespace;
use leasehold_http::{ErrorFormat, Override, Policy};
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{App, Body, Failure, Sent, answer, keyless, order, request, text};

fn namespace(name: &str) -> Namespace {
    Namespace::new(name).expect("a valid name")
}

fn with(mut request: Request<Body>, overriding: Override) -> Request<Body> {
    request.extensions_mut().insert(overriding);
    request
}

fn granted(app: &App, namespace: &str) -> Option<u64> {
    app.sample(&format!(
        "leasehold_requests_total{{namespace=\"{namespace}\",outcome=\"granted\"}}"
    ))
}

#[tokio::test]
async fn a_request_may_bring_a_policy_of_its_own() {
    let app = App::new(Policy::default());
    let policy = Policy::default()
        .header_name(HeaderName::from_static("x-key"))
        .allowed_methods([Method::GET])
        .error_format(ErrorFormat::Envelope);
    let policy = Arc::new(policy);
    let get = |key: Option<&str>| {
        let mut request = keyless(Method::GET, "/orders");
        if let Some(key) = key {
            request.headers_mut().insert("x-key", key.parse().expect("a value"));
        }
        with(request, Override::policy(Arc::clone(&policy)))
    };
    assert_eq!(app.send(get(Some("k")), 201).await.status(), 201);
    assert_eq!(app.send(get(Some("k")), 201).await.status(), 409);
    let refused = app.send(get(None), 201).await;
    assert_eq!(refused.headers()["content-type"], "application/json");
    assert!(text(refused).await.contains("x-key"));
    // The policy of others is what it was.
    assert_eq!(app.send(keyless(Method::GET, "/orders"), 201).await.status(), 201);
    assert_eq!(app.outcomes("bypassed"), 1);
}

#[tokio::test]
async fn a_request_may_be_let_pass_unprotected() {
    let app = App::new(Policy::default());
    for _ in 0..2 {
        assert_eq!(app.send(with(order("k"), Override::unprotected()), 201).await.status(), 201);
    }
    let counted = (app.outcomes("bypassed"), app.outcomes("granted"), app.calls("acquire"));
    assert_eq!(counted, (2, 0, 0));
    assert_eq!(app.order("k", 201).await, 201);
}

#[tokio::test]
async fn namespaces_that_requests_bring_along_make_no_new_counters() {
    let mut app = App::new(Policy::default());
    app.layer = app.layer.namespaces([namespace("declared")]);
    assert_eq!((granted(&app, "declared"), granted(&app, "other")), (Some(0), None));
    for name in ["declared", "undeclared-1", "undeclared-2", "default"] {
        let policy = Policy::default().namespace(namespace(name));
        let request = with(order("k"), Override::policy(policy));
        assert_eq!(app.send(request, 201).await.status(), 201, "each has keys of its own");
    }
    assert_eq!((granted(&app, "declared"), granted(&app, "other")), (Some(1), Some(2)));
    assert_eq!(app.outcomes("granted"), 1);
    assert!(!app.export().contains("undeclared"));
}

#[tokio::test]
async fn the_first_layer_takes_the_override() {
    let app = App::new(Policy::default());
    let inner = service_fn(|request: Request<Sent>| async move {
        assert!(request.extensions().get::<Override>().is_none());
        Ok::<_, Failure>(answer(201))
    });
    let service = app.layer.layer(inner);
    for overriding in [Override::unprotected(), Override::policy(Policy::default())] {
        let request = with(request(Method::POST, "/orders", "k"), overriding);
        assert_eq!(service.clone().oneshot(request).await.expect("no failure").status(), 201);
    }
}
