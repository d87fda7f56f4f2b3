//! Keys, namespaces and digests over all the bytes that a client or an operator could send.

use leasehold::{Digester, Key, KeyError, Namespace, NamespaceError};
use proptest::prelude::*;
use proptests::cases;

type Parts = Vec<Vec<u8>>;

/// The rule itself, said once and without the crate's words.
fn is_name(bytes: &[u8]) -> bool {
    (1..=128).contains(&bytes.len()) && bytes.iter().all(|byte| (b'!'..=b'~').contains(byte))
}

/// Lengths around both limits; mostly visible, so that one bad byte is what decides.
fn names() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![2 => 0_usize..4, 2 => 120_usize..140, 1 => 0_usize..400];
    let visible = (length, any::<u8>(), any::<prop::sample::Index>(), any::<bool>()).prop_flat_map(
        |(length, bad, at, spoil)| {
            prop::collection::vec(b'!'..=b'~', length).prop_map(move |mut bytes| {
                if spoil && !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = bad;
                }
                bytes
            })
        },
    );
    prop_oneof![4 => visible, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

fn parts() -> impl Strategy<Value = Parts> {
    let byte = prop_oneof![3 => 0_u8..3, 1 => any::<u8>()];
    prop::collection::vec(prop::collection::vec(byte, 0..6), 0..5)
}

fn digesters() -> impl Strategy<Value = Digester> {
    prop::option::of(prop::collection::vec(any::<u8>(), 0..80)).prop_map(|secret| {
        secret.map_or_else(Digester::plain, |secret| Digester::with_secret(&secret))
    })
}

fn slices(parts: &Parts) -> Vec<&[u8]> {
    parts.iter().map(Vec::as_slice).collect()
}

/// Another list of parts that says nearly the same: one byte across a border, one border more or
/// less, two parts exchanged, or bytes that look like a length.
fn near(parts: &Parts, at: prop::sample::Index, how: u8) -> Parts {
    let mut other = parts.clone();
    if other.is_empty() {
        return vec![vec![]];
    }
    let at = at.index(other.len());
    match how {
        0 => match other.get_mut(at).and_then(Vec::pop) {
            Some(byte) if at + 1 < parts.len() => other[at + 1].insert(0, byte),
            Some(byte) => other.push(vec![byte]),
            None => drop(other.remove(at)),
        },
        1 => other.insert(at, vec![]),
        2 => {
            let part = other.remove(at);
            match other.get_mut(at) {
                Some(next) => next.splice(0..0, part).for_each(drop),
                None => other.push([part, vec![0]].concat()),
            }
        }
        3 => other.reverse(),
        _ => {
            let length = (other[at].len() as u64).to_le_bytes();
            other[at].splice(0..0, length);
        }
    }
    other
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(4_000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_key_is_1_to_128_visible_ascii_bytes_and_nothing_else(bytes in names()) {
        match Key::new(&bytes) {
            Ok(key) => {
                prop_assert!(is_name(&bytes));
                prop_assert_eq!(key.as_bytes(), &bytes[..]);
                prop_assert_eq!(format!("{key:?}"), format!("Key({} bytes)", bytes.len()));
            }
            Err(KeyError::Empty) => prop_assert!(bytes.is_empty()),
            Err(KeyError::TooLong { length, max }) => {
                prop_assert!(bytes.len() > 128 && length == bytes.len() && max == 128);
            }
            Err(KeyError::InvalidByte { position }) => {
                let first = bytes.iter().position(|byte| !byte.is_ascii_graphic());
                prop_assert_eq!(Some(position), first);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn a_keys_limit_is_what_the_caller_says(bytes in names(), max in 0_usize..300) {
        let within = bytes.len() <= max && !bytes.is_empty();
        let visible = bytes.iter().all(u8::is_ascii_graphic);
        prop_assert_eq!(Key::with_max_length(&bytes, max).is_ok(), within && visible);
    }

    #[test]
    fn a_namespace_is_checked_like_a_key(bytes in names()) {
        let text = String::from_utf8_lossy(&bytes);
        match Namespace::new(&text) {
            Ok(namespace) => {
                prop_assert!(is_name(text.as_bytes()));
                prop_assert_eq!(namespace.as_str(), &*text);
                prop_assert_eq!(namespace.to_string(), &*text);
            }
            Err(NamespaceError::Empty) => prop_assert!(text.is_empty()),
            Err(NamespaceError::TooLong { length, max }) => {
                prop_assert!(text.len() > 128 && length == text.len() && max == 128);
            }
            Err(NamespaceError::InvalidByte { position }) => {
                let first = text.bytes().position(|byte| !byte.is_ascii_graphic());
                prop_assert_eq!(Some(position), first);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn different_lists_of_parts_have_different_digests(
        digester in digesters(), one in parts(), two in parts(),
    ) {
        let (first, second) = (slices(&one), slices(&two));
        let same = one == two;
        prop_assert_eq!(digester.address(&first) == digester.address(&second), same);
        prop_assert_eq!(digester.fingerprint(&first) == digester.fingerprint(&second), same);
        let (address, fingerprint) = (digester.address(&first), digester.fingerprint(&first));
        prop_assert_ne!(address.as_bytes(), fingerprint.as_bytes());
    }

    #[test]
    fn a_byte_or_a_border_moved_changes_the_digest(
        digester in digesters(), one in parts(), at in any::<prop::sample::Index>(), how in 0_u8..5,
    ) {
        let other = near(&one, at, how);
        let same = one == other;
        prop_assert_eq!(digester.address(&slices(&one)) == digester.address(&slices(&other)), same);
    }

    #[test]
    fn a_digest_depends_on_the_secret_and_on_nothing_else(
        secret in prop::collection::vec(any::<u8>(), 1..64), one in parts(),
    ) {
        let parts = slices(&one);
        let keyed = Digester::with_secret(&secret);
        prop_assert_eq!(keyed.address(&parts), Digester::with_secret(&secret).address(&parts));
        prop_assert_ne!(keyed.address(&parts), Digester::plain().address(&parts));
        let mut other = secret.clone();
        other[0] ^= 1;
        prop_assert_ne!(keyed.address(&parts), Digester::with_secret(&other).address(&parts));
    }
}
