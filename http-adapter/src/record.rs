//! What is kept of a response for its replays, and the bytes that a store keeps of it.
//!
//! Pure functions of their input: no byte that a store gives back may make decoding panic, or be
//! replayed although it was not understood.
//!
//! # Format 1
//! One byte `1`; status, 2 bytes; one byte `0`, or `1` and the owner's 32 bytes; the number of
//! header lines, 2 bytes; for each the length of its name, 2 bytes, the length of its value, 4
//! bytes, name and value; the length of the body, 8 bytes, and the body. Numbers are big-endian,
//! and nothing follows.

use std::fmt;

use bytes::{Buf, BufMut, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::owner::Owner;

/// The format that is written, and the only one that is read.
const FORMAT: u8 = 1;

/// A response as it is replayed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) status: StatusCode,
    /// End-to-end headers, lines of one name in their order.
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// To whom alone it may be given; none where the address says that already.
    pub(crate) owner: Option<Owner>,
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({}, {} bytes)", self.status, self.body.len())
    }
}

impl Record {
    /// The bytes to keep: a copy. None for what the format cannot hold.
    pub(crate) fn encode(&self) -> Option<Bytes> {
        let size_of = |(name, value): (&HeaderName, &HeaderValue)| {
            6 + name.as_str().len() + value.as_bytes().len()
        };
        let headers: usize = self.headers.iter().map(size_of).sum();
        let mut bytes = Vec::with_capacity(46 + headers + self.body.len());
        bytes.put_u8(FORMAT);
        bytes.put_u16(self.status.as_u16());
        match &self.owner {
            None => bytes.put_u8(0),
            Some(owner) => {
                bytes.put_u8(1);
                bytes.put_slice(owner.as_bytes());
            }
        }
        bytes.put_u16(u16::try_from(self.headers.len()).ok()?);
        for (name, value) in &self.headers {
            bytes.put_u16(u16::try_from(name.as_str().len()).ok()?);
            bytes.put_u32(u32::try_from(value.as_bytes().len()).ok()?);
            bytes.put_slice(name.as_str().as_bytes());
            bytes.put_slice(value.as_bytes());
        }
        bytes.put_u64(self.body.len() as u64);
        bytes.put_slice(&self.body);
        Some(Bytes::from(bytes))
    }

    /// Reads what [`encode`](Self::encode) wrote; none for anything else. The body is shared with
    /// the bytes.
    pub(crate) fn decode(mut bytes: Bytes) -> Option<Self> {
        if bytes.try_get_u8().ok()? != FORMAT {
            return None;
        }
        let status = StatusCode::from_u16(bytes.try_get_u16().ok()?).ok()?;
        let owner = match bytes.try_get_u8().ok()? {
            0 => None,
            1 => Some(Owner::from_bytes(take(&mut bytes, 32)?.as_ref().try_into().ok()?)),
            _ => return None,
        };
        let lines = bytes.try_get_u16().ok()?;
        let mut headers = HeaderMap::new();
        for _ in 0..lines {
            let name_length = bytes.try_get_u16().ok()?;
            let value_length = bytes.try_get_u32().ok()?;
            let name = take(&mut bytes, u64::from(name_length))?;
            let value = take(&mut bytes, u64::from(value_length))?;
            // Shared, a short value would keep the whole record alive in some other place.
            let value = HeaderValue::from_bytes(&value).ok()?;
            headers.try_append(HeaderName::from_bytes(&name).ok()?, value).ok()?;
        }
        let length = bytes.try_get_u64().ok()?;
        let body = take(&mut bytes, length)?;
        bytes.is_empty().then_some(Self { status, headers, body, owner })
    }
}

/// The next bytes, if there are so many.
fn take(bytes: &mut Bytes, count: u64) -> Option<Bytes> {
    let count = usize::try_from(count).ok()?;
    (count <= bytes.len()).then(|| bytes.split_to(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(owner: bool) -> Record {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("content-type", &b"text/plain"[..]),
            ("vary", b"a"),
            ("x-latin", b"caf\xe9"),
            ("vary", b"b"),
            ("x-empty", b""),
        ] {
            headers.append(name, HeaderValue::from_bytes(value).expect("a value"));
        }
        let body = Bytes::from_static(b"\x1f\x8b body \0");
        let owner = owner.then(|| Owner::from_bytes([7; 32]));
        Record { status: StatusCode::CREATED, headers, body, owner }
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        for record in [record(false), record(true)] {
            let bytes = record.encode().expect("encoded");
            assert_eq!(Record::decode(bytes).as_ref(), Some(&record));
        }
        let mut empty = record(false);
        empty.body = Bytes::new();
        empty.headers.clear();
        assert_eq!(Record::decode(empty.encode().expect("encoded")), Some(empty));
    }

    #[test]
    fn repeated_headers_keep_their_order_and_values_their_bytes() {
        let decoded = Record::decode(record(true).encode().expect("encoded")).expect("decoded");
        assert_eq!(decoded.headers.get_all("vary").iter().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(decoded.headers["x-latin"].as_bytes(), b"caf\xe9");
    }

    #[test]
    fn a_part_of_a_record_or_more_than_one_is_refused() {
        let bytes = record(true).encode().expect("encoded");
        for length in 0..bytes.len() {
            assert_eq!(Record::decode(bytes.slice(..length)), None, "{length}");
        }
        let mut longer = bytes.to_vec();
        longer.push(0);
        assert_eq!(Record::decode(longer.into()), None);
    }

    #[test]
    fn no_change_of_a_byte_makes_decoding_panic() {
        let bytes = record(true).encode().expect("encoded");
        for place in 0..bytes.len() {
            for value in 0..=u8::MAX {
                let mut changed = bytes.to_vec();
                changed[place] = value;
                // What can still be read must at least be what is written again.
                if let Some(record) = Record::decode(changed.into()) {
                    let again = Record::decode(record.encode().expect("encoded"));
                    assert_eq!(again, Some(record));
                }
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let bytes = record(false).encode().expect("encoded").to_vec();
        let changed = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = bytes.clone();
            change(&mut bytes);
            Record::decode(bytes.into())
        };
        assert!(changed(&|_| {}).is_some());
        assert_eq!(changed(&|bytes| bytes[0] = 2), None, "another format");
        assert_eq!(changed(&|bytes| bytes[1..3].fill(0)), None, "no status");
        assert_eq!(changed(&|bytes| bytes[3] = 2), None, "an owner of another kind");
        let line_break = |bytes: &mut Vec<u8>| {
            let place = bytes.iter().position(|byte| *byte == b'/').expect("a content type");
            bytes[place] = b'\n';
        };
        assert_eq!(changed(&line_break), None, "a header that is none");
    }
}
