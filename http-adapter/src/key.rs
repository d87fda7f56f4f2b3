//! From the request's header to the key's bytes (rules 2.1 to 2.4).
//!
//! The key is a secret: no error here holds any byte of it, and nothing here is printed but an
//! error.

use std::borrow::Cow;
use std::fmt;

use http::{HeaderMap, HeaderName};
use leasehold::{Key, KeyError};
use thiserror::Error;

use crate::policy::{KeySyntax, Policy};

/// A key that has been checked. `Debug` prints its length alone.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct RequestKey<'a>(Cow<'a, [u8]>);

impl RequestKey<'_> {
    /// The key's bytes, for hashing. Do not log them.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for RequestKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestKey({} bytes)", self.0.len())
    }
}

/// Why a request has no usable key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum InvalidKey {
    /// There is no such header.
    #[error("header is missing")]
    Missing,
    /// There is more than one line of it, equal or not.
    #[error("header is given more than once")]
    Repeated,
    /// It must be a string of RFC 8941, and does not begin with a quote.
    #[error("key is not a quoted string")]
    Unquoted,
    /// It begins with a quote and is not a string of RFC 8941, or has parameters.
    #[error("key is not a well-formed quoted string")]
    Malformed,
    /// It breaks a rule of every key.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Reads the key that a policy asks for.
///
/// Nothing is trimmed here: a parser of HTTP has removed what surrounds a value, and any other
/// white space is no part of a key.
pub(crate) fn read<'a>(
    headers: &'a HeaderMap,
    policy: &Policy,
) -> Result<RequestKey<'a>, InvalidKey> {
    let mut lines = headers.get_all(&policy.header_name).iter();
    let value = lines.next().ok_or(InvalidKey::Missing)?;
    if lines.next().is_some() {
        return Err(InvalidKey::Repeated);
    }
    let value = value.as_bytes();
    let quoted = value.first() == Some(&b'"');
    let bytes = match policy.key_syntax {
        KeySyntax::Bare => Cow::Borrowed(value),
        KeySyntax::Lenient if !quoted => Cow::Borrowed(value),
        KeySyntax::Structured if !quoted => return Err(InvalidKey::Unquoted),
        KeySyntax::Lenient | KeySyntax::Structured => {
            unquote(value).ok_or(InvalidKey::Malformed)?
        }
    };
    Key::with_max_length(&bytes, policy.max_key_length)?;
    Ok(RequestKey(bytes))
}

/// The same for a key that came by another way: the rules of every key hold, and no syntax.
pub(crate) fn check<'a>(bytes: &'a [u8], policy: &Policy) -> Result<RequestKey<'a>, InvalidKey> {
    Key::with_max_length(bytes, policy.max_key_length)?;
    Ok(RequestKey(Cow::Borrowed(bytes)))
}

/// The content of a string of RFC 8941, section 3.3.3; none unless the value is exactly one.
/// Bytes that such a string may not hold are left to the key's own check, which refuses more.
fn unquote(value: &[u8]) -> Option<Cow<'_, [u8]>> {
    let inner = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if !inner.contains(&b'\\') && !inner.contains(&b'"') {
        return Some(Cow::Borrowed(inner));
    }
    let mut content = Vec::with_capacity(inner.len());
    let mut bytes = inner.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' => return None,
            b'\\' => match bytes.next() {
                Some(&escaped @ (b'"' | b'\\')) => content.push(escaped),
                _ => return None,
            },
            _ => content.push(byte),
        }
    }
    Some(Cow::Owned(content))
}

/// Marks every value of the key's header as sensitive, so that whoever prints the request's
/// headers later does not print the key (rule 2.6).
pub(crate) fn conceal(headers: &mut HeaderMap, header_name: &HeaderName) {
    if !headers.contains_key(header_name) {
        return;
    }
    for (name, value) in headers.iter_mut() {
        if name == header_name {
            value.set_sensitive(true);
        }
    }
}

#[cfg(test)]
mod tests;
