//! Rules 2.5b to 2.5d: whose key it is, and where keys come from that code resolves.

use axum::Router;
use axum::extract::MatchedPath;
use axum::routing::post;
use http::{HeaderName, Method, Request, Version};
use leasehold_http::{KeyRefusal, KeyResolver, Policy, RequestHead, Resolution};
use tower::{Layer, ServiceExt, service_fn};

use crate::support::{App, Body, Failure, Sent, answer, keyless, order, request, text};

fn scoped(names: &[&'static str]) -> App {
    let names = names.iter().map(|name| HeaderName::from_static(name));
    App::new(Policy::default().principal_headers(names))
}

/// An order with a key and these header lines.
fn of(lines: &[(&str, &str)]) -> Request<Body> {
    let mut request = order("k");
    for (name, value) in lines {
        let name: HeaderName = name.parse().expect("a header's name");
        request.headers_mut().append(name, value.parse().expect("a header's value"));
    }
    request
}

async fn status(app: &App, request: Request<Body>) -> u16 {
    app.send(request, 201).await.status().as_u16()
}

#[tokio::test]
async fn each_principal_has_keys_of_its_own() {
    let app = scoped(&["x-tenant", "authorization"]);
    let alice = [("x-tenant", "acme"), ("authorization", "Bearer alice")];
    let bob = [("x-tenant", "acme"), ("authorization", "Bearer bob")];
    let other = [("x-tenant", "other"), ("authorization", "Bearer alice")];
    let nobody = [("x-tenant", ""), ("authorization", "")];
    for lines in [&alice, &bob, &other, &nobody] {
        assert_eq!(status(&app, of(lines)).await, 201, "{lines:?}");
        assert_eq!(status(&app, of(lines)).await, 409, "{lines:?}");
    }
    let more = [("x-tenant", "acme"), ("x-tenant", "acme"), ("authorization", "Bearer alice")];
    assert_eq!(status(&app, of(&more)).await, 201, "every line counts");
    assert_eq!(status(&app, of(&more)).await, 409);
}

#[tokio::test]
async fn a_principal_header_that_is_missing_is_400_and_named() {
    let app = scoped(&["x-tenant", "authorization"]);
    for (lines, name) in [(&[("x-tenant", "secret-1")][..], "authorization"), (&[], "x-tenant")] {
        let answer = app.send(of(lines), 201).await;
        assert_eq!(answer.status(), 400);
        let body = text(answer).await;
        assert!(body.contains("40010") && body.contains("invalid-key"), "{body}");
        assert!(body.contains(&format!("{name}: ")) && !body.contains("secret"), "{body}");
    }
    assert_eq!((app.outcomes("invalid_key"), app.calls("acquire")), (2, 0));
    let optional = App::new(
        Policy::default().required(false).principal_headers([HeaderName::from_static("x-tenant")]),
    );
    assert_eq!(status(&optional, keyless(Method::POST, "/orders")).await, 201, "no key, no owner");
    assert_eq!(status(&optional, order("k")).await, 400);
}

#[tokio::test]
async fn the_host_is_the_same_principal_over_http1_and_http2() {
    let app = scoped(&["host"]);
    let over_http2 = |authority: &str| {
        let uri = format!("http://{authority}/orders");
        let mut request = request(Method::POST, &uri, "k");
        *request.version_mut() = Version::HTTP_2;
        request
    };
    assert_eq!(status(&app, of(&[("host", "a.test")])).await, 201);
    assert_eq!(status(&app, over_http2("a.test")).await, 409);
    assert_eq!(status(&app, over_http2("b.test")).await, 201);
    assert_eq!(status(&app, of(&[("host", "b.test")])).await, 409);
    assert_eq!(status(&app, order("k")).await, 400, "HTTP/1.0 without a host");
}

#[tokio::test]
async fn principals_are_marked_sensitive_and_hosts_are_not() {
    let app = scoped(&["host", "authorization"]);
    let service = app.service(|request| async move {
        let shown = format!("{:?}", request.headers());
        assert!(!shown.contains("hunter2") && shown.contains("a.test"), "{shown}");
        Ok(answer(201))
    });
    let request = of(&[("host", "a.test"), ("authorization", "hunter2")]);
    assert_eq!(service.oneshot(request).await.expect("no failure").status(), 201);
}

/// Who an outer layer has found the client to be.
#[derive(Clone)]
struct User(&'static str);

/// The route that a router has matched.
#[derive(Clone)]
struct Matched(&'static str);

/// Takes the key from the query, the user and the route from extensions.
struct FromAll;

impl KeyResolver for FromAll {
    fn resolve<'a>(&'a self, head: RequestHead<'a>) -> Result<Resolution<'a>, KeyRefusal> {
        if head.method() == Method::PATCH {
            return Err(KeyRefusal::new("Patches need a version.").chinese("补丁需要版本。"));
        }
        let mut resolution = Resolution::by_policy();
        if let Some(query) = head.uri().query() {
            resolution = match query.strip_prefix("key=") {
                Some(key) => resolution.key(key.as_bytes()),
                None => resolution.no_key(),
            };
        }
        if let Some(User(name)) = head.extensions().get() {
            resolution = resolution.principal([name.as_bytes()]);
        }
        if let Some(Matched(route)) = head.extensions().get() {
            resolution = resolution.operation(*route);
        }
        Ok(resolution)
    }
}

/// What a service behind a layer with that resolver answers.
async fn resolved(app: &App, request: Request<Body>) -> (u16, String) {
    let inner = service_fn(|_: Request<Sent>| async { Ok::<_, Failure>(answer(201)) });
    let service = app.layer.clone().key_resolver(FromAll).layer(inner);
    let answer = service.oneshot(request).await.expect("no failure");
    (answer.status().as_u16(), text(answer).await)
}

#[tokio::test]
async fn a_resolver_gives_keys_that_keep_the_rules_of_keys() {
    let app = App::new(Policy::default());
    let keyed = |query: &str| keyless(Method::POST, &format!("/orders?{query}"));
    assert_eq!(resolved(&app, keyed("key=one")).await.0, 201);
    assert_eq!(resolved(&app, keyed("key=one")).await.0, 409);
    assert_eq!(resolved(&app, order("one")).await.0, 409, "by whichever way it comes");
    assert_eq!(resolved(&app, keyed("key=two")).await.0, 201);
    let long = format!("key={}", "k".repeat(129));
    for query in ["key=", "none", &long] {
        let (status, body) = resolved(&app, keyed(query)).await;
        assert_eq!(status, 400, "{query}");
        assert!(body.contains("40010") && !body.contains("kkk"), "{body}");
    }
    let optional = App::new(Policy::default().required(false));
    assert_eq!(resolved(&optional, keyed("none")).await.0, 201);
    assert_eq!(resolved(&optional, keyed("key=")).await.0, 400);
    assert_eq!(optional.outcomes("bypassed"), 1);
}

#[tokio::test]
async fn a_resolver_tells_whose_key_it_is_in_place_of_headers() {
    let tenant = HeaderName::from_static("x-tenant");
    let app = App::new(Policy::default().principal_headers([tenant]));
    let of_user = |name: &'static str| {
        let mut request = order("k");
        request.extensions_mut().insert(User(name));
        request
    };
    assert_eq!(resolved(&app, of_user("alice")).await.0, 201);
    assert_eq!(resolved(&app, of_user("alice")).await.0, 409);
    assert_eq!(resolved(&app, of_user("bob")).await.0, 201);
    // By a header nobody becomes a user of the resolver's.
    assert_eq!(resolved(&app, of(&[("x-tenant", "alice")])).await.0, 201);
    assert_eq!(resolved(&app, order("k")).await.0, 400, "without a user the policy holds");
}

#[tokio::test]
async fn a_matched_route_may_stand_for_its_paths() {
    let app = App::new(Policy::default());
    let matched = |path: &str, route: Option<&'static str>| {
        let mut request = request(Method::POST, path, "k");
        if let Some(route) = route {
            request.extensions_mut().insert(Matched(route));
        }
        request
    };
    assert_eq!(resolved(&app, matched("/orders/1", Some("/orders/{id}"))).await.0, 201);
    assert_eq!(resolved(&app, matched("/orders/2", Some("/orders/{id}"))).await.0, 409);
    assert_eq!(resolved(&app, matched("/orders/1", None)).await.0, 201);
    assert_eq!(resolved(&app, matched("/orders/1", Some("/orders/1"))).await.0, 201);
}

/// Takes axum's name of the matched route.
struct ByMatchedPath;

impl KeyResolver for ByMatchedPath {
    fn resolve<'a>(&'a self, head: RequestHead<'a>) -> Result<Resolution<'a>, KeyRefusal> {
        let resolution = Resolution::by_policy();
        Ok(match head.extensions().get::<MatchedPath>() {
            Some(path) => resolution.operation(path.as_str()),
            None => resolution,
        })
    }
}

#[tokio::test]
async fn a_routers_matched_path_may_be_the_operation() {
    let app = App::new(Policy::default());
    let router = Router::new()
        .route("/orders/{id}", post(|| async { "done" }))
        .route("/carts/{id}", post(|| async { "done" }))
        .layer(app.layer.clone().key_resolver(ByMatchedPath));
    let status = async |path: &str| {
        let request = Request::post(path).header("idempotency-key", "k");
        let request = request.body(axum::body::Body::empty()).expect("a valid request");
        router.clone().oneshot(request).await.expect("routers do not fail").status().as_u16()
    };
    assert_eq!(status("/orders/1").await, 200);
    assert_eq!(status("/orders/2").await, 409);
    assert_eq!(status("/carts/1").await, 200);
}

#[tokio::test]
async fn a_resolvers_refusal_is_an_invalid_key_in_both_languages() {
    let app = App::new(Policy::default());
    for (language, detail) in [("en", "Patches need a version."), ("zh", "补丁需要版本。")] {
        let mut patch = request(Method::PATCH, "/orders", "k");
        patch.headers_mut().insert("accept-language", language.parse().expect("a value"));
        let (status, body) = resolved(&app, patch).await;
        let body: serde_json::Value = serde_json::from_str(&body).expect("json");
        assert_eq!((status, &body["code"], &body["detail"]), (400, &40010.into(), &detail.into()));
    }
    assert_eq!(app.calls("acquire"), 0);
}
