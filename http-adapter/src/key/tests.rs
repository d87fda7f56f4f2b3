//! Keys: both ends of every limit, and every malformed form.

use http::HeaderValue;

use super::*;

/// What a request with these header lines yields under a syntax.
fn read_lines(syntax: KeySyntax, lines: &[&[u8]]) -> Result<Vec<u8>, InvalidKey> {
    let mut headers = HeaderMap::new();
    for line in lines {
        let value = HeaderValue::from_bytes(line).expect("a legal header value");
        headers.append("idempotency-key", value);
    }
    read(&headers, &Policy::default().key_syntax(syntax)).map(|key| key.as_bytes().to_vec())
}

fn lenient(value: &[u8]) -> Result<Vec<u8>, InvalidKey> {
    read_lines(KeySyntax::Lenient, &[value])
}

#[test]
fn a_bare_key_is_taken_as_it_is() {
    let longest = [b'k'; 128];
    for key in [&b"abc"[..], b"a,b", b"a\"b\"", b"abc\"", b"!", b"~", b"a\\b", b"'q'", &longest] {
        assert_eq!(lenient(key), Ok(key.to_vec()));
    }
}

#[test]
fn a_header_that_is_missing_or_repeated_is_refused() {
    for syntax in [KeySyntax::Lenient, KeySyntax::Bare, KeySyntax::Structured] {
        assert_eq!(read_lines(syntax, &[]), Err(InvalidKey::Missing));
        assert_eq!(read_lines(syntax, &[b"a", b"a"]), Err(InvalidKey::Repeated));
        assert_eq!(read_lines(syntax, &[b"a", b"b"]), Err(InvalidKey::Repeated));
        assert_eq!(read_lines(syntax, &[b"", b"a"]), Err(InvalidKey::Repeated));
    }
}

#[test]
fn bytes_that_are_not_visible_ascii_are_refused_white_space_included() {
    for (value, position) in
        [(&b" a"[..], 0), (b"a ", 1), (b"a b", 1), (b"\ta", 0), (b"caf\xe9", 3), (b"   ", 0)]
    {
        assert_eq!(lenient(value), Err(InvalidKey::Key(KeyError::InvalidByte { position })));
    }
}

#[test]
fn the_length_is_checked_at_both_ends() {
    let too_long = InvalidKey::Key(KeyError::TooLong { length: 129, max: 128 });
    assert_eq!(lenient(b""), Err(InvalidKey::Key(KeyError::Empty)));
    assert_eq!(lenient(&[b'k'; 129]), Err(too_long));
    let quoted = |length: usize| [&b"\""[..], &vec![b'k'; length], b"\""].concat();
    assert_eq!(lenient(&quoted(0)), Err(InvalidKey::Key(KeyError::Empty)));
    assert_eq!(lenient(&quoted(128)), Ok(vec![b'k'; 128]));
    assert_eq!(lenient(&quoted(129)), Err(too_long));
}

#[test]
fn a_quoted_key_is_the_bare_one() {
    assert_eq!(lenient(b"\"abc\""), Ok(b"abc".to_vec()));
    assert_eq!(lenient(br#""a\"b\\c""#), Ok(br#"a"b\c"#.to_vec()));
    assert_eq!(read_lines(KeySyntax::Structured, &[b"\"abc\""]), Ok(b"abc".to_vec()));
}

#[test]
fn a_malformed_quoted_key_is_refused() {
    for value in [
        &br#"""#[..],
        br#""abc"#,
        br#""abc" "#,
        br#""abc";p=1"#,
        br#""abc";p="1""#,
        br#""a"b""#,
        br#""abc\""#,
        br#""a\bc""#,
        br#""abc", "d""#,
        br#""abc"d"#,
    ] {
        assert_eq!(lenient(value), Err(InvalidKey::Malformed), "{value:?}");
        let structured = read_lines(KeySyntax::Structured, &[value]);
        assert_eq!(structured, Err(InvalidKey::Malformed), "{value:?}");
    }
}

#[test]
fn the_rules_of_a_key_hold_after_unquoting() {
    let invalid = |position| Err(InvalidKey::Key(KeyError::InvalidByte { position }));
    assert_eq!(lenient(b"\"a b\""), invalid(1));
    assert_eq!(lenient(b"\"a\xff\""), invalid(1));
}

#[test]
fn bare_syntax_keeps_quotes_and_structured_syntax_demands_them() {
    assert_eq!(read_lines(KeySyntax::Bare, &[b"\"abc\""]), Ok(b"\"abc\"".to_vec()));
    assert_eq!(read_lines(KeySyntax::Bare, &[b"\"abc"]), Ok(b"\"abc".to_vec()));
    assert_eq!(read_lines(KeySyntax::Structured, &[b"abc"]), Err(InvalidKey::Unquoted));
    assert_eq!(read_lines(KeySyntax::Structured, &[b""]), Err(InvalidKey::Unquoted));
}

#[test]
fn every_line_is_concealed() {
    let mut headers = HeaderMap::new();
    headers.append("idempotency-key", HeaderValue::from_static("secret-1"));
    headers.append("idempotency-key", HeaderValue::from_static("secret-2"));
    headers.append("other", HeaderValue::from_static("open"));
    conceal(&mut headers, &Policy::default().header_name);
    let text = format!("{headers:?}");
    assert!(!text.contains("secret") && text.contains("open"), "{text}");
}

#[test]
fn a_key_and_its_errors_never_print_it() {
    let mut headers = HeaderMap::new();
    headers.insert("idempotency-key", HeaderValue::from_static("secret"));
    let key = read(&headers, &Policy::default()).expect("a valid key");
    assert_eq!(format!("{key:?}"), "RequestKey(6 bytes)");
    let error = lenient(b"\"secret").expect_err("an open quote");
    assert!(!format!("{error} {error:?}").contains("secret"));
}
