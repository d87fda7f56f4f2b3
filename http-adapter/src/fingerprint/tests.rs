//! What counts and what does not, in both modes.

use http::Request;

use super::*;

fn head(uri: &str, content_types: &[&str]) -> Parts {
    let mut request = Request::post(uri);
    for content_type in content_types {
        request = request.header(CONTENT_TYPE, *content_type);
    }
    request.body(()).expect("a request").into_parts().0
}

fn print(mode: FingerprintMode, head: &Parts, body: &[u8]) -> Fingerprint {
    of_request(mode, &Digester::plain(), head, body).expect("a fingerprint")
}

fn json(body: impl AsRef<[u8]>) -> Fingerprint {
    print(FingerprintMode::Json, &head("/", &["application/json"]), body.as_ref())
}

fn raw(body: impl AsRef<[u8]>) -> Fingerprint {
    print(FingerprintMode::Raw, &head("/", &["application/json"]), body.as_ref())
}

fn assert_all_differ(prints: &[Fingerprint]) {
    for (index, one) in prints.iter().enumerate() {
        for (distance, other) in prints[index + 1..].iter().enumerate() {
            assert_ne!(one, other, "{index} and {}", index + 1 + distance);
        }
    }
}

#[test]
fn every_part_of_a_request_counts_and_keeps_its_place() {
    let mode = FingerprintMode::Raw;
    let mut put = head("/a", &[]);
    put.method = http::Method::PUT;
    assert_all_differ(&[
        print(mode, &put, b""),
        print(mode, &head("/a", &[]), b""),
        print(mode, &head("/a?", &[]), b""),
        print(mode, &head("/a?b", &[]), b""),
        print(mode, &head("/a", &[]), b"b"),
        print(mode, &head("/a", &["b"]), b""),
        print(mode, &head("/a", &[""]), b"b"),
        print(mode, &head("/a", &["b", "c"]), b""),
        print(mode, &head("/a", &["c", "b"]), b""),
        print(mode, &head("/ab", &[]), b""),
    ]);
}

#[test]
fn headers_of_one_attempt_do_not_count() {
    let mut again = head("/", &["text/plain"]);
    for name in ["x-stainless-retry-count", "amz-sdk-request", "traceparent", "date", "cookie"] {
        again.headers.insert(name, HeaderValue::from_static("2"));
    }
    let mode = FingerprintMode::Raw;
    assert_eq!(print(mode, &again, b"x"), print(mode, &head("/", &["text/plain"]), b"x"));
}

#[test]
fn off_is_no_fingerprint_and_a_secret_makes_others() {
    let (plain, secret) = (Digester::plain(), Digester::with_secret(b"s"));
    let head = head("/", &[]);
    assert_eq!(of_request(FingerprintMode::Off, &plain, &head, b"x"), None);
    let of = |digester| of_request(FingerprintMode::Raw, digester, &head, b"x");
    assert_ne!(of(&plain), of(&secret));
}

#[test]
fn json_counts_by_what_it_says() {
    let same = [
        r#"{"a":1,"b":{"c":[1,2],"d":"x"}}"#,
        " {\"b\" : {\"d\":\"x\",\r\n\t\"c\":[1, 2]}, \"a\": 1 }\n",
        r#"{"\u0061":1.0,"b":{"d":"\u0078","c":[10e-1,2.00]}}"#,
    ];
    for text in same {
        assert_eq!(json(text), json(same[0]), "{text}");
    }
    let different = [
        r#"{"a":1,"b":{"c":[1,2],"d":"x"}}"#,
        r#"{"a":"1","b":{"c":[1,2],"d":"x"}}"#,
        r#"{"a":1,"b":{"c":[2,1],"d":"x"}}"#,
        r#"{"a":1,"b":{"c":[1,2],"d":"y"}}"#,
        r#"{"a":1,"b":{"c":[1,2]}}"#,
        r#"{"a":1,"b":{"c":[1,2],"d":null}}"#,
        r#"{"a":1,"b":{"c":[1,[2]],"d":"x"}}"#,
        r#"{"a":true,"b":{"c":[1,2],"d":"x"}}"#,
        r#"{"A":1,"b":{"c":[1,2],"d":"x"}}"#,
    ];
    assert_all_differ(&different.map(json));
}

#[test]
fn members_sort_by_their_utf16_units() {
    // U+1F600 is D83D DE00 there, before U+FB33, though behind it by code point.
    let canonical = json::canonical("{\"\u{fb33}\":1,\"\u{1f600}\":2,\"\":3,\"1\":4}".as_bytes());
    let expected = "{\"\":3e0,\"1\":4e0,\"\u{1f600}\":2e0,\"\u{fb33}\":1e0,}";
    assert_eq!(String::from_utf8(canonical.expect("JSON")).expect("text"), expected);
}

#[test]
fn no_two_numbers_become_one() {
    assert_all_differ(
        &["9007199254740992", "9007199254740993", "18446744073709551616", "18446744073709551617"]
            .map(|number| json(format!("[{number}]"))),
    );
    assert_all_differ(&["[1e400]", "[1e401]", "[-1e400]", "[1e-400]", "[1e-401]"].map(json));
    assert_eq!(json("[1.0]"), json("[1]"));
    assert_ne!(json("[1]"), json("[\"1\"]"));
}

#[test]
fn what_is_no_plain_json_counts_byte_by_byte() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let odd: [&[u8]; 14] = [
        b"",
        b"{broken",
        b"{} {}",
        b"nul",
        b"[1,]",
        b"[01]",
        b"[NaN]",
        b"\xef\xbb\xbf{}",
        b"[\"\xff\"]",
        b"[\"\\ud800\"]",
        br#"{"a":1,"a":2}"#,
        br#"{"b":1,"a":0,"b":2}"#,
        b"[1e400]",
        &deep(200).into_bytes(),
    ];
    for body in odd {
        assert_eq!(json::canonical(body), None, "{}", String::from_utf8_lossy(body));
        assert_eq!(json(body), raw(body));
    }
    assert!(json::canonical(deep(100).as_bytes()).is_some());
    // A level more of a million is no deeper for the stack.
    assert_eq!(json::canonical(&b"[".repeat(1 << 20)), None);
    assert_eq!(json::canonical(&b"{\"a\":".repeat(1 << 18)), None);
}

#[test]
fn only_what_may_be_json_by_its_type_is_read_as_json() {
    let (one, other) = (&b"{\"a\":1,\"b\":2}"[..], &b"{\"b\":2,\"a\":1}"[..]);
    for (types, same) in [
        (&["application/json"][..], true),
        (&["Application/JSON ; charset=utf-8"], true),
        (&["application/problem+json"], true),
        (&["application/merge-patch+json;v=1"], true),
        (&["text/plain"], false),
        (&["application/jsonp"], false),
        (&["application/x-ndjson"], false),
        (&[], true),
        (&["application/json", "application/json"], false),
    ] {
        let head = head("/", types);
        let print = |body| print(FingerprintMode::Json, &head, body);
        assert_eq!(print(one) == print(other), same, "{types:?}");
    }
}

#[test]
fn a_canonical_text_is_never_taken_for_a_raw_one() {
    let canonical = json::canonical(b"{\"a\":1}").expect("JSON");
    assert_ne!(json(b"{\"a\":1}"), raw(&canonical));
    assert_ne!(json(b"{\"a\":1}"), json(&canonical));
    assert_ne!(json(b"{\"a\":1}"), raw(b"{\"a\":1}"));
}
