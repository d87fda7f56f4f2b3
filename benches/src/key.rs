//! Keys as services see them: a namespace, and a UUID in text.

/// Bytes of the namespace.
const NAMESPACE_LENGTH: usize = 4;

/// Bytes of a UUID in text.
const TEXT_LENGTH: usize = 36;

/// Namespace and UUID in one piece.
///
/// A map wants one piece to look up, and is given it for nothing; the memory store hashes both
/// parts by themselves, as its callers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key([u8; NAMESPACE_LENGTH + TEXT_LENGTH]);

impl Key {
    /// A key of 128 random bits.
    #[must_use]
    pub fn from_bits(bits: u128) -> Self {
        let mut key = [b'-'; NAMESPACE_LENGTH + TEXT_LENGTH];
        key[..NAMESPACE_LENGTH].copy_from_slice(b"pay:");
        let places = (NAMESPACE_LENGTH..key.len()).filter(|at| ![12, 17, 22, 27].contains(at));
        for (nibble, at) in places.enumerate() {
            key[at] = b"0123456789abcdef"[(bits >> (4 * nibble)) as usize & 15];
        }
        Self(key)
    }

    /// All of it, for a map.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Its two parts, for the memory store.
    #[must_use]
    pub fn parts(&self) -> [&[u8]; 2] {
        let (namespace, text) = self.0.split_at(NAMESPACE_LENGTH);
        [namespace, text]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_namespace_and_a_uuid_in_text() {
        let key = Key::from_bits(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
        let [namespace, text] = key.parts();
        assert_eq!(namespace, b"pay:");
        assert_eq!(text, b"fedcba98-7654-3210-fedc-ba9876543210");
        assert_eq!(key.as_bytes(), [namespace, text].concat());
    }
}
