//! Problems: every kind, its code, and its texts in every format and language.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_LANGUAGE, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, VARY};
use http::{HeaderMap, HeaderValue, Method, Response};
use http_body::Body as _;
use http_body_util::BodyExt;

use super::*;
use crate::ErrorFormat;
use crate::body::ResponseBody;
use crate::key::InvalidKey;
use crate::problem::render::RETRY_HINTS;

type Inner = http_body_util::Empty<Bytes>;
type Answer = Response<ResponseBody<Inner>>;

fn all() -> Vec<(Problem, &'static str, u16, u32)> {
    let name = http::HeaderName::from_static("x-key");
    let refusal = KeyRefusal::of_key(name, InvalidKey::Missing);
    vec![
        (Problem::invalid_key(refusal), "invalid-key", 400, 40010),
        (Problem::in_flight(), "in-flight", 409, 40910),
        (Problem::duplicate(true), "duplicate", 409, 40910),
        (Problem::not_replayable(true), "not-replayable", 409, 40910),
        (Problem::mismatch(), "mismatch", 422, 42210),
        (Problem::body_too_large(), "body-too-large", 413, 41310),
        (Problem::full(), "full", 503, 50310),
        (Problem::store_unavailable(), "store-unavailable", 503, 50310),
        (Problem::overloaded(), "overloaded", 503, 50310),
        (Problem::bad_request(), "bad-request", 400, 40000),
        (Problem::request_timeout(), "request-timeout", 408, 40810),
        (Problem::not_implemented(), "not-implemented", 501, 50110),
        (Problem::internal(), "internal", 500, 50010),
        (Problem::bad_gateway(), "bad-gateway", 502, 50210),
        (Problem::gateway_timeout(), "gateway-timeout", 504, 50410),
    ]
}

fn asker(method: &Method, language: &str, format: ErrorFormat) -> Asker {
    let language = HeaderValue::from_str(language).expect("a legal value");
    let headers = HeaderMap::from_iter([(http::header::ACCEPT_LANGUAGE, language)]);
    Asker::new(method, &headers, format)
}

fn respond(problem: Problem, asker: &Asker) -> Answer {
    problem.respond(asker)
}

async fn body(answer: Answer) -> Bytes {
    answer.into_body().collect().await.expect("no failure").to_bytes()
}

async fn json(answer: Answer) -> serde_json::Value {
    serde_json::from_slice(&body(answer).await).expect("json")
}

#[tokio::test]
async fn every_problem_has_its_type_status_code_title_and_detail() {
    let mut kinds = HashSet::new();
    for (problem, kind, status, code) in all() {
        kinds.insert(problem.kind());
        assert_eq!((problem.status().as_u16(), problem.code()), (status, code), "{kind}");
        assert_eq!(problem.kind().name(), kind);
        let answer = respond(problem, &Asker::default());
        assert_eq!(answer.status(), status);
        assert_eq!(answer.headers()[CONTENT_TYPE], "application/problem+json");
        let body = json(answer).await;
        assert_eq!(body["type"], format!("urn:leasehold:problem:{kind}"));
        assert_eq!(body["status"], status);
        assert_eq!(body["code"], code);
        let filled = |member: &str| body[member].as_str().is_some_and(|text| !text.is_empty());
        assert!(filled("title") && filled("detail"), "{body}");
        assert_eq!(body.as_object().map(serde_json::Map::len), Some(5));
    }
    assert_eq!(kinds, ProblemKind::ALL.iter().copied().collect());
}

#[test]
fn every_kind_has_its_texts_in_both_languages() {
    let mut texts = HashSet::new();
    for kind in ProblemKind::ALL {
        let english = texts::of(*kind, Language::English);
        let chinese = texts::of(*kind, Language::Chinese);
        for text in [english.title, english.detail] {
            assert!(text.is_ascii() && !text.is_empty(), "{text}");
            assert!(texts.insert(text), "{text}");
        }
        for text in [chinese.title, chinese.detail] {
            assert!(!text.is_empty() && !text.contains(['.', ',']), "{text}");
            assert!(text.chars().filter(char::is_ascii).count() * 4 < text.len(), "{text}");
            assert!(texts.insert(text), "{text}");
        }
        // A title is followed by a full stop in an envelope, a detail has its own.
        assert!(!english.title.ends_with('.') && english.detail.ends_with('.'), "{kind:?}");
        assert!(!chinese.title.ends_with('。') && chinese.detail.ends_with('。'), "{kind:?}");
    }
}

#[test]
fn every_language_has_a_tag_of_its_own() {
    let tags: HashSet<_> = Language::ALL.iter().map(|language| language.tag()).collect();
    assert_eq!(tags, HashSet::from(["en", "zh-Hans"]));
}

#[tokio::test]
async fn title_and_detail_are_in_the_language_asked_for() {
    for (problem, kind, ..) in all() {
        for (wish, tag, ascii) in [("zh-CN,en;q=0.5", "zh-Hans", false), ("fr", "en", true)] {
            let asker = asker(&Method::POST, wish, ErrorFormat::Problem);
            let answer = respond(problem.clone(), &asker);
            assert_eq!(answer.headers()[CONTENT_LANGUAGE], tag);
            assert_eq!(answer.headers()[VARY], "accept-language");
            let body = json(answer).await;
            for member in ["title", "detail"] {
                let text = body[member].as_str().expect("text");
                assert_eq!(text.is_ascii(), ascii, "{kind} {text}");
            }
        }
    }
}

#[tokio::test]
async fn an_envelope_has_a_code_and_a_message_alone() {
    for (problem, kind, status, code) in all() {
        for (wish, tag, ascii) in [("zh", "zh-Hans", false), ("", "en", true)] {
            let asker = asker(&Method::POST, wish, ErrorFormat::Envelope);
            let answer = respond(problem.clone(), &asker);
            assert_eq!(answer.status(), status, "{kind}");
            assert_eq!(answer.headers()[CONTENT_TYPE], "application/json");
            assert_eq!(answer.headers()[CONTENT_LANGUAGE], tag);
            let body = json(answer).await;
            assert_eq!(body["code"], code);
            assert_eq!(body["message"].as_str().map(str::is_ascii), Some(ascii), "{body}");
            assert_eq!(body.as_object().map(serde_json::Map::len), Some(2));
        }
    }
    let asker = asker(&Method::POST, "", ErrorFormat::Envelope);
    let body = json(respond(Problem::gateway_timeout(), &asker)).await;
    let message = "The upstream service did not answer in time. The request may still be carried \
                   out.";
    assert_eq!(body["message"], message);
}

#[test]
fn only_answers_that_change_soon_say_when_to_try_again() {
    for format in [ErrorFormat::Problem, ErrorFormat::Envelope] {
        for (problem, kind, ..) in all() {
            let response = respond(problem, &asker(&Method::POST, "", format));
            let expected = matches!(kind, "in-flight" | "full" | "overloaded").then_some("1");
            let given = response.headers().get(RETRY_AFTER).map(|value| value.as_bytes());
            assert_eq!(given, expected.map(str::as_bytes), "{kind}");
        }
    }
}

#[test]
fn only_what_has_succeeded_tells_clients_not_to_try_again() {
    for format in [ErrorFormat::Problem, ErrorFormat::Envelope] {
        for (problem, kind, ..) in all() {
            let response = respond(problem, &asker(&Method::POST, "", format));
            for name in RETRY_HINTS {
                let given = response.headers().get(name).is_some_and(|value| value == "false");
                assert_eq!(given, matches!(kind, "duplicate" | "not-replayable"), "{kind} {name}");
            }
        }
    }
    for problem in [Problem::duplicate(false), Problem::not_replayable(false)] {
        let quiet = respond(problem, &Asker::default());
        assert!(RETRY_HINTS.iter().all(|name| !quiet.headers().contains_key(*name)));
    }
}

#[test]
fn an_answer_to_head_has_no_body() {
    for format in [ErrorFormat::Problem, ErrorFormat::Envelope] {
        let head = respond(Problem::duplicate(true), &asker(&Method::HEAD, "zh", format));
        assert!(head.body().is_end_stream());
        assert_eq!(head.status(), StatusCode::CONFLICT);
        assert_eq!(head.headers()[CONTENT_LANGUAGE], "zh-Hans");
        let post = respond(Problem::duplicate(true), &asker(&Method::POST, "zh", format));
        assert!(!post.body().is_end_stream());
    }
}

/// Writes the kind and the language, and headers that are not its to set.
struct Meddler;

impl ProblemRenderer for Meddler {
    fn render(&self, problem: &Problem, language: Language) -> RenderedProblem {
        let body = format!("{} {}", problem.kind().name(), language.tag());
        RenderedProblem::new(HeaderValue::from_static("text/x-own"), body)
            .header(RETRY_AFTER, HeaderValue::from_static("3600"))
            .header(CONTENT_LENGTH, HeaderValue::from_static("1"))
            .header(
                http::HeaderName::from_static("x-should-retry"),
                HeaderValue::from_static("true"),
            )
            .header(http::HeaderName::from_static("x-own"), HeaderValue::from_static("1"))
    }
}

#[tokio::test]
async fn a_renderer_writes_headers_and_body_and_changes_nothing_of_what_is_promised() {
    let renderer: Arc<dyn ProblemRenderer> = Arc::new(Meddler);
    let asker = |method: &Method| {
        asker(method, "zh", ErrorFormat::Envelope).renderer(Some(Arc::clone(&renderer)))
    };
    let answer = respond(Problem::in_flight(), &asker(&Method::POST));
    assert_eq!(answer.status(), StatusCode::CONFLICT);
    assert_eq!(answer.headers().get_all(RETRY_AFTER).iter().collect::<Vec<_>>(), ["1"]);
    assert_eq!(answer.headers()[CONTENT_TYPE], "text/x-own");
    assert_eq!(answer.headers()["x-own"], "1");
    assert!(!answer.headers().contains_key(CONTENT_LENGTH));
    assert_eq!(body(answer).await, "in-flight zh-Hans");
    let answer = respond(Problem::duplicate(true), &asker(&Method::HEAD));
    assert_eq!(answer.headers().get_all("x-should-retry").iter().collect::<Vec<_>>(), ["false"]);
    assert_eq!(answer.headers()["stripe-should-retry"], "false");
    assert!(answer.body().is_end_stream());
}
