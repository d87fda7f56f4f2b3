//! Problems: every type, its code and its text.

use http::StatusCode;

use super::*;

fn all() -> Vec<(Problem, &'static str, StatusCode, u32)> {
    vec![
        (
            Problem::invalid_key("x: header is missing.".to_owned()),
            "invalid-key",
            StatusCode::BAD_REQUEST,
            40010,
        ),
        (Problem::in_flight(), "in-flight", StatusCode::CONFLICT, 40910),
        (Problem::duplicate(true), "duplicate", StatusCode::CONFLICT, 40910),
        (Problem::mismatch(), "mismatch", StatusCode::UNPROCESSABLE_ENTITY, 42210),
        (Problem::full(), "full", StatusCode::SERVICE_UNAVAILABLE, 50310),
        (Problem::store_unavailable(), "store-unavailable", StatusCode::SERVICE_UNAVAILABLE, 50310),
        (Problem::overloaded(), "overloaded", StatusCode::SERVICE_UNAVAILABLE, 50310),
        (Problem::internal(), "internal", StatusCode::INTERNAL_SERVER_ERROR, 50010),
        (Problem::bad_gateway(), "bad-gateway", StatusCode::BAD_GATEWAY, 50210),
        (Problem::gateway_timeout(), "gateway-timeout", StatusCode::GATEWAY_TIMEOUT, 50410),
    ]
}

#[test]
fn every_problem_has_its_type_status_code_title_and_detail() {
    for (problem, kind, status, code) in all() {
        assert_eq!((problem.status(), problem.code()), (status, code), "{kind}");
        let body: serde_json::Value = serde_json::from_slice(&problem.body()).expect("json");
        assert_eq!(body["type"], format!("urn:leasehold:problem:{kind}"));
        assert_eq!(body["status"], status.as_u16());
        assert_eq!(body["code"], code);
        let filled = |member: &str| body[member].as_str().is_some_and(|text| !text.is_empty());
        assert!(filled("title") && filled("detail"), "{body}");
        assert_eq!(body.as_object().map(serde_json::Map::len), Some(5));
        let response = problem.into_response::<()>();
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    }
}

#[test]
fn only_answers_that_change_soon_say_when_to_try_again() {
    for (problem, kind, ..) in all() {
        let response = problem.into_response::<()>();
        let expected = matches!(kind, "in-flight" | "full" | "overloaded").then_some("1");
        let given = response.headers().get(RETRY_AFTER).map(|value| value.as_bytes());
        assert_eq!(given, expected.map(str::as_bytes), "{kind}");
    }
}

#[test]
fn only_a_duplicate_tells_clients_not_to_try_again() {
    for (problem, kind, ..) in all() {
        let response = problem.into_response::<()>();
        for name in RETRY_HINTS {
            let given = response.headers().get(name).is_some_and(|value| value == "false");
            assert_eq!(given, kind == "duplicate", "{kind} {name}");
        }
    }
    let quiet = Problem::duplicate(false).into_response::<()>();
    assert!(RETRY_HINTS.iter().all(|name| !quiet.headers().contains_key(*name)));
}

#[test]
fn an_answer_to_head_has_no_body() {
    use http_body::Body as _;

    type Inner = http_body_util::Empty<Bytes>;
    let head = Problem::duplicate(true).respond::<Inner>(&Method::HEAD);
    assert!(head.body().is_end_stream());
    assert_eq!(head.status(), StatusCode::CONFLICT);
    let post = Problem::duplicate(true).respond::<Inner>(&Method::POST);
    assert!(!post.body().is_end_stream());
}
