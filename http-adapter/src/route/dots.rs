//! Paths that some service may read as having dot segments.
//!
//! Wider than RFC 3986 on purpose: services differ in how often they decode, in what they take for
//! a slash or a dot, and in what they drop. What cannot be told must count as one of these paths.

use std::borrow::Cow;

/// How often a path is decoded. Arbitrary: what is encoded more often is taken for the worst.
const DECODINGS_MAX: usize = 3;

/// Whether some service may read a segment of the path as `.` or `..`.
pub(super) fn may_have_dot_segments(path: &str) -> bool {
    if path.is_ascii() && !path.contains(['.', '%']) {
        return false;
    }
    let mut path = Cow::Borrowed(path);
    for _ in 0..DECODINGS_MAX {
        if have_dots(&path) {
            return true;
        }
        match decoded(&path) {
            Ok(None) => return false,
            Ok(Some(text)) => path = Cow::Owned(text),
            Err(Ambiguous) => return true,
        }
    }
    true
}

/// Bytes that services read in their own ways: percent signs that encode nothing, and what is no
/// UTF-8, as characters that are longer than they need to be are none.
struct Ambiguous;

/// The path decoded once; none if nothing in it is encoded.
fn decoded(path: &str) -> Result<Option<String>, Ambiguous> {
    if !path.contains('%') {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = behind;
            continue;
        }
        let (digits, behind) = behind.split_at_checked(2).ok_or(Ambiguous)?;
        let digit = |byte: u8| char::from(byte).to_digit(16).ok_or(Ambiguous);
        let byte = digit(digits[0])? << 4 | digit(digits[1])?;
        bytes.push(u8::try_from(byte).map_err(|_| Ambiguous)?);
        rest = behind;
    }
    String::from_utf8(bytes).map(Some).map_err(|_| Ambiguous)
}

/// Whether a segment is `.` or `..`: as it is, without what some services take off (white space and
/// control characters), or up to where some end it (those, and parameters, a query, a fragment).
fn have_dots(path: &str) -> bool {
    path.split(is_slash).any(|segment| {
        let drops = |char: char| char.is_whitespace() || char.is_control();
        let ends = |char: char| matches!(char, ';' | '?' | '#');
        let name = segment.split(ends).next().unwrap_or_default();
        are_dots(name.chars().filter(|char| !drops(*char)))
            || are_dots(name.chars().take_while(|char| !drops(*char)))
    })
}

fn are_dots(mut name: impl Iterator<Item = char>) -> bool {
    // A character that stands for two dots is one of them with the other behind it.
    match (name.next(), name.next(), name.next()) {
        (Some('\u{2025}'), None, _) => true,
        (Some(one), None, _) => is_dot(one),
        (Some(one), Some(other), None) => is_dot(one) && is_dot(other),
        _ => false,
    }
}

/// A dot, or what compatibility makes one.
const fn is_dot(char: char) -> bool {
    matches!(char, '.' | '\u{2024}' | '\u{fe52}' | '\u{ff0e}')
}

/// A slash, a backslash, or what compatibility or a best fit makes one.
const fn is_slash(char: char) -> bool {
    matches!(
        char,
        '/' | '\\'
            | '\u{2044}'
            | '\u{2215}'
            | '\u{2216}'
            | '\u{29f5}'
            | '\u{29f8}'
            | '\u{29f9}'
            | '\u{fe68}'
            | '\u{ff0f}'
            | '\u{ff3c}'
    )
}
