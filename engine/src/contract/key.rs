//! Names that clients and operators choose: namespaces and idempotency keys.
//!
//! This module checks them; it must never print a key. What a store keeps is an
//! [`Address`](super::Address), never one of these.

use std::fmt;

use thiserror::Error;

/// Longest namespace, in bytes. Arbitrary: it becomes a metric label, so it should stay readable.
pub const MAX_NAMESPACE_LENGTH: usize = 128;

/// A configured scope of operations: keys in different namespaces never meet.
///
/// Non-empty visible ASCII (`!` to `~`), at most [`MAX_NAMESPACE_LENGTH`] bytes. Not secret: it is
/// a metric label. A tenant is not a namespace but a principal, that is, a part of the address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(Box<str>);

impl Namespace {
    /// Checks and wraps a namespace.
    ///
    /// # Errors
    ///
    /// [`NamespaceError`] says which rule is broken; the caller should refuse the configuration.
    pub fn new(name: &str) -> Result<Self, NamespaceError> {
        if name.is_empty() {
            return Err(NamespaceError::Empty);
        }
        if name.len() > MAX_NAMESPACE_LENGTH {
            return Err(NamespaceError::TooLong { length: name.len(), max: MAX_NAMESPACE_LENGTH });
        }
        match name.bytes().position(|byte| !byte.is_ascii_graphic()) {
            Some(position) => Err(NamespaceError::InvalidByte { position }),
            None => Ok(Self(name.into())),
        }
    }

    /// The name as it was given.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Namespace {
    /// `default`, as in Coco.
    fn default() -> Self {
        Self("default".into())
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a namespace was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NamespaceError {
    /// It has no characters.
    #[error("namespace is empty")]
    Empty,
    /// It is longer than it may be.
    #[error("namespace has {length} bytes, at most {max} are allowed")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The longest that is allowed, in bytes.
        max: usize,
    },
    /// It has a byte that is not visible ASCII.
    #[error("namespace has a byte at position {position} that is not visible ASCII")]
    InvalidByte {
        /// Position of the first such byte, counted from zero.
        position: usize,
    },
}

/// A client's idempotency key: 1 to 128 bytes of visible ASCII (`!` to `~`).
///
/// Borrowed, since a store never keeps it. It is a secret: `Debug` prints its length alone, and
/// there is no `Display`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key<'a>(&'a str);

impl<'a> Key<'a> {
    /// Longest key unless configured otherwise, in bytes. Source: Coco's `max-key-length`.
    pub const DEFAULT_MAX_LENGTH: usize = 128;

    /// Checks a key against the default limit, [`Key::DEFAULT_MAX_LENGTH`].
    ///
    /// # Errors
    ///
    /// [`KeyError`]; an HTTP caller should answer 400.
    pub fn new(bytes: &'a [u8]) -> Result<Self, KeyError> {
        Self::with_max_length(bytes, Self::DEFAULT_MAX_LENGTH)
    }

    /// Checks a key against a limit of the caller's, in bytes.
    ///
    /// # Errors
    ///
    /// [`KeyError`]; an HTTP caller should answer 400.
    pub fn with_max_length(bytes: &'a [u8], max: usize) -> Result<Self, KeyError> {
        if bytes.is_empty() {
            return Err(KeyError::Empty);
        }
        if bytes.len() > max {
            return Err(KeyError::TooLong { length: bytes.len(), max });
        }
        if let Some(position) = bytes.iter().position(|byte| !byte.is_ascii_graphic()) {
            return Err(KeyError::InvalidByte { position });
        }
        // ASCII is UTF-8, so this cannot fail; the error keeps the function free of panics.
        std::str::from_utf8(bytes).map(Self).map_err(|_| KeyError::InvalidByte { position: 0 })
    }

    /// The key's bytes, for hashing. Do not log them.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({} bytes)", self.0.len())
    }
}

/// Why a key was refused. Never contains any part of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// It has no characters.
    #[error("key is empty")]
    Empty,
    /// It is longer than it may be.
    #[error("key has {length} bytes, at most {max} are allowed")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The longest that is allowed, in bytes.
        max: usize,
    },
    /// It has a byte that is not visible ASCII.
    #[error("key has a byte at position {position} that is not visible ASCII")]
    InvalidByte {
        /// Position of the first such byte, counted from zero.
        position: usize,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_takes_both_ends_of_visible_ascii_and_of_its_length() {
        assert!(Key::new(b"!").is_ok());
        assert!(Key::new(b"~").is_ok());
        assert!(Key::new(&[b'k'; 128]).is_ok());
        assert_eq!(Key::new(&[b'k'; 129]), Err(KeyError::TooLong { length: 129, max: 128 }));
        assert_eq!(Key::new(b""), Err(KeyError::Empty));
    }

    #[test]
    fn key_refuses_every_byte_that_is_not_visible_ascii() {
        for byte in (0..=b' ').chain(0x7f..=0xff) {
            assert_eq!(Key::new(&[b'a', byte]), Err(KeyError::InvalidByte { position: 1 }));
        }
    }

    #[test]
    fn key_never_prints_itself() {
        let key = Key::new(b"secret").expect("a valid key");
        assert_eq!(format!("{key:?}"), "Key(6 bytes)");
    }

    #[test]
    fn namespace_is_checked_like_a_key() {
        assert_eq!(Namespace::new(""), Err(NamespaceError::Empty));
        assert_eq!(Namespace::new("a b"), Err(NamespaceError::InvalidByte { position: 1 }));
        let long = "n".repeat(129);
        assert_eq!(Namespace::new(&long), Err(NamespaceError::TooLong { length: 129, max: 128 }));
        assert_eq!(Namespace::default().as_str(), "default");
    }
}
