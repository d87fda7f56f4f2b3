//! Rules 1.1, 1.2, 2.2: what is not protected passes untouched, and the store is not asked.

use http::Method;
use leasehold::LeaseStore;
use leasehold_http::{HeldLease, Pattern, Policy, Routes};
use tower::ServiceExt;

use crate::support::{App, Seen, answer, keyless, order, problem, request, text};

#[tokio::test]
async fn exempt_methods_pass_without_a_store_call() {
    let app = App::new(Policy::default());
    for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
        assert_eq!(app.send(keyless(method.clone(), "/orders"), 201).await.status(), 201);
        for key in ["k", "k", "not a key", ""] {
            let answer = app.send(request(method.clone(), "/orders", key), 201).await;
            assert_eq!(answer.status(), 201);
        }
    }
    assert_eq!((app.outcomes("bypassed"), app.calls("acquire")), (15, 0));
}

#[tokio::test]
async fn what_passes_passes_while_the_store_is_down() {
    let app = App::new(Policy::default());
    app.memory.close();
    assert_eq!(app.send(request(Method::GET, "/orders", "k"), 200).await.status(), 200);
    assert_eq!(app.order("k", 200).await, 503);
}

#[tokio::test]
async fn a_request_that_passes_and_its_response_are_untouched() {
    let app = App::new(Policy::default());
    let seen = Seen::default();
    let service = app.service({
        let seen = seen.clone();
        move |request| {
            seen.push((
                request.uri().to_string(),
                request.headers().clone(),
                request.extensions().get::<HeldLease>().is_some(),
                request.extensions().get::<u8>().copied(),
            ));
            let mut response = answer(418);
            response.extensions_mut().insert(2_u8);
            async { Ok(response) }
        }
    });
    let mut request = request(Method::GET, "/orders?a=1&b=%20x", "k");
    request.headers_mut().append("x-mine", "yes".parse().expect("a valid value"));
    request.extensions_mut().insert(1_u8);
    let headers = request.headers().clone();
    let answer = service.oneshot(request).await.expect("the handler does not fail");
    assert_eq!((answer.status().as_u16(), answer.extensions().get()), (418, Some(&2_u8)));
    assert_eq!(text(answer).await, "handled");
    assert_eq!(seen.take(), [("/orders?a=1&b=%20x".to_owned(), headers, false, Some(1))]);
}

#[tokio::test]
async fn a_disabled_route_passes_and_its_neighbours_do_not() {
    let free = Pattern::parse("/free/*").expect("a valid pattern");
    let routes = Routes::new(Policy::default()).route(free, Policy::default().enabled(false));
    let app = App::with_routes(routes);
    assert_eq!(app.send(keyless(Method::POST, "/free/x"), 201).await.status(), 201);
    assert_eq!((app.outcomes("bypassed"), app.calls("acquire")), (1, 0));
    for path in ["/free", "/free/", "/free/../orders", "/free/%2e%2E/orders"] {
        let answer = app.send(keyless(Method::POST, path), 201).await;
        assert_eq!(problem(answer).await.0, 400, "{path}");
    }
}

#[tokio::test]
async fn without_a_required_key_only_keyless_requests_pass() {
    let app = App::new(Policy::default().required(false));
    for _ in 0..2 {
        assert_eq!(app.send(keyless(Method::POST, "/orders"), 201).await.status(), 201);
    }
    assert_eq!((app.outcomes("bypassed"), app.calls("acquire")), (2, 0));
    for bad in ["", "two words"] {
        assert_eq!(app.order(bad, 201).await, 400);
    }
    assert_eq!(app.order("k", 201).await, 201);
    assert_eq!(app.order("k", 201).await, 409);
}

#[tokio::test]
async fn only_the_configured_methods_and_header_count() {
    let policy = Policy::default()
        .allowed_methods([Method::POST])
        .header_name("x-once".parse().expect("a valid name"));
    let app = App::new(policy);
    assert_eq!(app.send(keyless(Method::PUT, "/orders"), 201).await.status(), 201);
    assert_eq!(app.order("k", 201).await, 400);
    let once = || {
        let mut request = keyless(Method::POST, "/orders");
        request.headers_mut().insert("x-once", "k".parse().expect("a valid value"));
        request
    };
    assert_eq!(app.send(once(), 201).await.status(), 201);
    assert_eq!(app.send(once(), 201).await.status(), 409);
}

#[tokio::test]
async fn the_key_is_marked_sensitive_on_every_way_through() {
    let app = App::new(Policy::default());
    let seen = Seen::default();
    let service = app.service({
        let seen = seen.clone();
        move |request| {
            seen.push(request.headers()["idempotency-key"].is_sensitive());
            async { Ok(answer(200)) }
        }
    });
    for request in [order("k"), request(Method::GET, "/orders", "k")] {
        service.clone().oneshot(request).await.expect("the handler does not fail");
    }
    assert_eq!(seen.take(), [true, true]);
}
