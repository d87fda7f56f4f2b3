//! Routes: patterns on raw paths, and what never matches.

use super::*;

fn matches(pattern: &str, path: &str) -> bool {
    Pattern::parse(pattern).expect("a valid pattern").matches(path)
}

#[test]
fn a_plain_pattern_matches_its_path_alone() {
    assert!(matches("/", "/"));
    assert!(matches("/a/b", "/a/b"));
    assert!(matches("/a/", "/a/"));
    for path in ["/a", "/a/b/", "/a//b", "/a/b/c", "/A/b", "/a/%62", "a/b", "*", ""] {
        assert!(!matches("/a/b", path), "{path}");
    }
}

#[test]
fn braces_match_one_segment_that_is_not_empty() {
    assert!(matches("/orders/{id}", "/orders/7"));
    assert!(matches("/orders/{id}/lines", "/orders/a%2Fb/lines"));
    for path in ["/orders/", "/orders", "/orders/7/", "/orders/7/8", "/order/7"] {
        assert!(!matches("/orders/{id}", path), "{path}");
    }
}

#[test]
fn a_star_matches_what_lies_below_and_not_the_prefix_itself() {
    for path in ["/api/a", "/api/a/", "/api/a/b", "/api//a"] {
        assert!(matches("/api/*", path), "{path}");
    }
    for path in ["/api", "/api/", "/api//", "/apis/a", "/"] {
        assert!(!matches("/api/*", path), "{path}");
    }
    assert!(matches("/*", "/a"));
    assert!(!matches("/*", "/"));
    assert!(matches("/{tenant}/api/*", "/t/api/x"));
    assert!(!matches("/{tenant}/api/*", "//api/x"));
}

#[test]
fn malformed_patterns_are_refused_with_the_reason() {
    for (text, error) in [
        ("", PatternError::NotAbsolute),
        ("a", PatternError::NotAbsolute),
        ("*", PatternError::NotAbsolute),
        ("/a b", PatternError::InvalidByte { position: 2 }),
        ("/a?b=c", PatternError::InvalidByte { position: 2 }),
        ("/a#b", PatternError::InvalidByte { position: 2 }),
        ("/caf\u{e9}", PatternError::InvalidByte { position: 4 }),
        ("/{}", PatternError::Brace),
        ("/{id", PatternError::Brace),
        ("/id}", PatternError::Brace),
        ("/a{id}", PatternError::Brace),
        ("/{{id}}", PatternError::Brace),
        ("/*/a", PatternError::Star),
        ("/*/", PatternError::Star),
        ("/a*", PatternError::Star),
        ("/**", PatternError::Star),
    ] {
        assert_eq!(Pattern::parse(text), Err(error), "{text}");
    }
}

fn routes() -> Routes {
    let named = |name| Policy::default().namespace(leasehold::Namespace::new(name).expect("valid"));
    let pattern = |text| Pattern::parse(text).expect("a valid pattern");
    Routes::new(named("rest"))
        .route(pattern("/free/*"), named("free").enabled(false))
        .route(pattern("/a/{id}"), named("first"))
        .route(pattern("/a/*"), named("second"))
}

#[test]
fn the_first_match_wins_and_the_default_takes_the_rest() {
    let routes = routes();
    for (path, name) in [
        ("/free/x", "free"),
        ("/a/1", "first"),
        ("/a/1/2", "second"),
        ("/a", "rest"),
        ("*", "rest"),
        ("", "rest"),
    ] {
        assert_eq!(routes.policy(path).namespace.as_str(), name, "{path}");
    }
}

#[test]
fn dot_segments_never_become_exempt_in_any_encoding() {
    let routes = routes();
    for path in [
        "/free/../a/1",
        "/free/./a",
        "/free/..",
        "/free/%2e%2e/a/1",
        "/free/%2E./a",
        "/free/.%2e/a",
        "/free/%2e",
        "/free/x%2f..%2Fa",
        "/free/x\\..\\a",
        "/free/x%5C..%5ca",
        "/free/..;v=1/a",
        "/free/..%3Bv/a",
        "/free/%2e%2e%2fx",
        "/free/..%00/x",
        "/free/..%00x/a",
        "/free/%00../a",
        "/free/.%00./a",
        "/free/..%09/a",
        "/free/..%20/a",
        "/free/..%0d%0ax/a",
        "/free/..%7f/a",
        "/free/..%3f/a",
        "/free/..%23/a",
        "/free/%252e%252e/a",
        "/free/%25252e%25252e/a",
        "/free/%2525252525252e/a",
        "/free/x%252f..%252fa",
        "/free/%c0%ae%c0%ae/a",
        "/free/x%c0%af../a",
        "/free/%u002e%u002e/a",
        "/free/%2",
        "/free/x%",
        "/free/100%25",
        "/free/%ef%bc%8e%ef%bc%8e/a",
        "/free/%e2%80%a5/a",
        "/free/x%ef%bc%8f..%ef%bc%8fa",
        "/free/..%c2%85/a",
        "/free/..%c2%a0/a",
    ] {
        assert!(routes.policy(path).enabled, "{path}");
    }
    for path in [
        "/free/...",
        "/free/.a",
        "/free/a.",
        "/free/a..b",
        "/free/%2e%2e%2e",
        "/free/;..",
        "/free/a%20b.html",
        "/free/%e4%b8%ad%e6%96%87",
        "/free/a%2fb",
    ] {
        assert!(!routes.policy(path).enabled, "{path}");
    }
}

#[test]
fn dot_segments_match_routes_that_protect() {
    assert_eq!(routes().policy("/a/..").namespace.as_str(), "first");
}

#[test]
fn dot_segments_take_no_route_that_protects_less_than_the_default() {
    type Change = fn(Policy) -> Policy;
    let short = leasehold::Ttl::new(std::time::Duration::from_secs(1)).expect("valid");
    let long = leasehold::Ttl::new(std::time::Duration::from_secs(100_000)).expect("valid");
    let found = |policy: Policy, path| {
        let pattern = Pattern::parse("/r/*").expect("a valid pattern");
        Routes::new(Policy::default()).route(pattern, policy).find(path)
    };
    let weaker: [Change; 7] = [
        |policy| policy.enabled(false),
        |policy| policy.required(false),
        |policy| policy.allowed_methods(vec![http::Method::PUT]),
        |policy| policy.allowed_methods(Vec::new()),
        |policy| policy.header_name(http::HeaderName::from_static("x-key")),
        |policy| policy.renew(false),
        |policy| policy.on_unknown_outcome(crate::policy::UnknownOutcome::Release),
    ];
    let mut weaker = weaker.map(|change| change(Policy::default())).to_vec();
    weaker.push(Policy::default().ttl(short));
    weaker.push(Policy::default().hold_ttl(short));
    weaker.push(Policy::default().lease_ttl(short));
    weaker.push(Policy::default().on_disconnect(crate::policy::OnDisconnect::Cancel));
    let frees = crate::Verdicts::default().with(200..=299, leasehold::Verdict::Release);
    weaker.push(Policy::default().verdicts(frees.expect("no conflict")));
    for policy in weaker {
        assert_eq!(found(policy.clone(), "/r/x"), Some(0), "{policy:?}");
        for path in ["/r/../orders", "/r/%2e%2e/orders"] {
            assert_eq!(found(policy.clone(), path), None, "{policy:?}");
        }
    }
    let mut methods = Policy::default().allowed_methods;
    methods.push(http::Method::GET);
    let stricter = Policy::default().ttl(long).allowed_methods(methods).retry_hints(false);
    assert_eq!(found(stricter, "/r/../orders"), Some(0));
}

#[test]
fn dot_segments_take_protecting_routes_where_the_default_protects_nothing() {
    let pattern = |text| Pattern::parse(text).expect("a valid pattern");
    let routes = Routes::new(Policy::default().enabled(false))
        .route(pattern("/a/free/*"), Policy::default().enabled(false))
        .route(pattern("/a/*"), Policy::default().required(false));
    assert_eq!(routes.find("/a/free/x"), Some(0));
    assert_eq!(routes.find("/a/free/../x"), Some(1));
}
