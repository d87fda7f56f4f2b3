//! The canonical text of a JSON body: what it says, whatever the order of members and white space.
//!
//! The order of members is that of RFC 8785, 3.2.3. Unlike there, numbers are exact: see `number`.

use std::fmt;
use std::ops::Range;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::number::{self, Numbers};

/// The canonical text; none for what is not exactly one JSON value in UTF-8, has a member twice
/// (its readers may differ on which one counts), nests deeper than 127 levels, or has a number
/// that no double comes near.
pub(super) fn canonical(body: &[u8]) -> Option<Vec<u8>> {
    let mut numbers = Numbers::new(body);
    let mut out = Vec::new();
    let mut json = serde_json::Deserializer::from_slice(body);
    Value { out: &mut out, numbers: &mut numbers }.deserialize(&mut json).ok()?;
    json.end().ok()?;
    Some(out)
}

/// Writes the next value of the body to the end of `out`.
struct Value<'a, 'n> {
    out: &'a mut Vec<u8>,
    /// The numbers of the body that have not been met yet: the parser tells that there is one, and
    /// this how it was written.
    numbers: &'a mut Numbers<'n>,
}

impl<'n> Value<'_, 'n> {
    fn inner(&mut self) -> Value<'_, 'n> {
        Value { out: self.out, numbers: self.numbers }
    }

    fn number<E: Error>(self) -> Result<(), E> {
        let number = self.numbers.next().ok_or_else(|| E::custom("no number"))?;
        number::write(number, self.out);
        Ok(())
    }

    fn string<E: Error>(&mut self, string: &str) -> Result<(), E> {
        serde_json::to_writer(&mut *self.out, string).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<(), E> {
        self.number()
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<(), E> {
        self.number()
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<(), E> {
        self.number()
    }

    fn visit_str<E: Error>(mut self, string: &str) -> Result<(), E> {
        self.string(string)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.out.push(b'[');
        while items.next_element_seed(self.inner())?.is_some() {
            self.out.push(b',');
        }
        self.out.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        self.out.push(b'{');
        let begin = self.out.len();
        let mut members = Vec::new();
        while let Some(name) = items.next_key::<String>()? {
            let start = self.out.len();
            self.string(&name)?;
            self.out.push(b':');
            items.next_value_seed(self.inner())?;
            self.out.push(b',');
            members.push(Member { name, text: start..self.out.len() });
        }
        sort(&mut members, self.out, begin).map_err(A::Error::custom)?;
        self.out.push(b'}');
        Ok(())
    }
}

/// One member of an object, and where its text is.
struct Member {
    name: String,
    text: Range<usize>,
}

/// Puts the members into their order, in `out` from `begin` on.
fn sort(members: &mut [Member], out: &mut Vec<u8>, begin: usize) -> Result<(), &'static str> {
    let before =
        |one: &Member, other: &Member| one.name.encode_utf16().lt(other.name.encode_utf16());
    if !members.is_sorted_by(before) {
        members.sort_by(|one, other| one.name.encode_utf16().cmp(other.name.encode_utf16()));
        if members.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err("a member is there twice");
        }
        let unsorted = out.split_off(begin);
        for Member { text, .. } in members {
            out.extend_from_slice(&unsorted[text.start - begin..text.end - begin]);
        }
    }
    Ok(())
}
