//! The header of the key, as any client may send it: the adapter's own parser, included as it is.
//!
//! It never panics, takes only what is a key, and what it takes can be quoted and read again.

#![no_main]

#[rustfmt::skip]
#[path = "../../http-adapter/src/key.rs"]
#[allow(dead_code, reason = "the adapter uses the rest")]
mod key;

#[rustfmt::skip]
#[path = "../../http-adapter/src/policy/choices.rs"]
#[allow(dead_code, reason = "the adapter uses the rest")]
mod choices;

/// What the parser reads of a policy.
mod policy {
    pub(crate) use crate::choices::KeySyntax;

    pub(crate) struct Policy {
        pub(crate) header_name: http::HeaderName,
        pub(crate) key_syntax: KeySyntax,
        pub(crate) max_key_length: usize,
    }
}

use arbitrary::Arbitrary;
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;

use policy::{KeySyntax, Policy};

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    syntax: u8,
    max: u8,
    lines: Vec<&'a [u8]>,
}

fn read(
    key_syntax: KeySyntax,
    max_key_length: usize,
    lines: &[&[u8]],
) -> Result<Vec<u8>, key::InvalidKey> {
    let header_name = HeaderName::from_static("idempotency-key");
    let policy = Policy { header_name, key_syntax, max_key_length };
    let mut headers = HeaderMap::new();
    for value in lines.iter().filter_map(|line| HeaderValue::from_bytes(line).ok()) {
        headers.append(policy.header_name.clone(), value);
    }
    let read = key::read(&headers, &policy).map(|key| {
        // Its length alone: a key is a secret.
        assert_eq!(format!("{key:?}"), format!("RequestKey({} bytes)", key.as_bytes().len()));
        key.as_bytes().to_vec()
    });
    key::conceal(&mut headers, &policy.header_name);
    assert!(headers.values().all(HeaderValue::is_sensitive));
    read
}

/// The key as a string of RFC 8941.
fn quoted(key: &[u8]) -> Vec<u8> {
    let mut value = vec![b'"'];
    for byte in key {
        if matches!(byte, b'"' | b'\\') {
            value.push(b'\\');
        }
        value.push(*byte);
    }
    value.push(b'"');
    value
}

fuzz_target!(|input: Input<'_>| {
    let syntax = match input.syntax % 3 {
        0 => KeySyntax::Bare,
        1 => KeySyntax::Lenient,
        _ => KeySyntax::Structured,
    };
    let max = usize::from(input.max);
    let Ok(key) = read(syntax, max, &input.lines) else { return };
    assert!(!key.is_empty() && key.len() <= max && key.iter().all(u8::is_ascii_graphic));
    for syntax in [KeySyntax::Lenient, KeySyntax::Structured] {
        assert_eq!(read(syntax, max, &[&quoted(&key)]), Ok(key.clone()));
    }
    assert_eq!(read(KeySyntax::Bare, max, &[&key]), Ok(key.clone()));
});
