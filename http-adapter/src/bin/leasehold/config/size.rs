//! Sizes as they are written in a configuration: `64KiB`, `1MiB`, or a plain number of bytes.

use std::fmt;

use bytesize::ByteSize;
use serde::de::{Deserialize, Deserializer, Error as _, Unexpected};
use serde::ser::{Serialize, Serializer};

/// A number of bytes. Printed exactly, in the largest binary unit that divides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(pub(crate) u64);

impl Size {
    /// That many KiB.
    pub(crate) const fn kib(count: u64) -> Self {
        Self(count << 10)
    }

    /// That many MiB.
    pub(crate) const fn mib(count: u64) -> Self {
        Self(count << 20)
    }

    /// The bytes as a length in memory; more than there can be is all there can be.
    pub(crate) fn get(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let fits = units.iter().find(|(shift, _)| self.0 > 0 && self.0.is_multiple_of(1 << shift));
        match fits {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}B", self.0),
        }
    }
}

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Written {
    Bytes(i64),
    Text(String),
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const EXPECTED: &str = "a size such as 64KiB";
        let written = Written::deserialize(deserializer)
            .map_err(|_| D::Error::custom(format!("expected {EXPECTED}")))?;
        match written {
            Written::Bytes(bytes) => u64::try_from(bytes)
                .map(Self)
                .map_err(|_| D::Error::invalid_value(Unexpected::Signed(bytes), &EXPECTED)),
            Written::Text(text) => parse(&text)
                .map(Self)
                .ok_or_else(|| D::Error::invalid_value(Unexpected::Str(&text), &EXPECTED)),
        }
    }
}

/// Reads a number of bytes with its unit. The parser makes the largest number of what is larger
/// still, so that this one counts as too large.
fn parse(text: &str) -> Option<u64> {
    let bytes = text.parse::<ByteSize>().ok()?.as_u64();
    (bytes < u64::MAX).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Result<Size, toml::de::Error> {
        #[derive(serde::Deserialize)]
        struct Holder {
            size: Size,
        }
        toml::from_str::<Holder>(&format!("size = {value}")).map(|holder| holder.size)
    }

    #[test]
    fn what_is_printed_reads_back() {
        for bytes in [0, 1, 1000, 1023, 1024, 1025, 65536, 1 << 20, 3 << 30, (1 << 40) + 1] {
            let size = Size(bytes);
            assert_eq!(read(&format!("\"{size}\"")).ok(), Some(size), "{bytes}");
            assert_eq!(read(&bytes.to_string()).ok(), Some(size), "{bytes}");
        }
        assert_eq!(Size::kib(64).to_string(), "64KiB");
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for value in ["\"\"", "\"big\"", "-1", "\"-1KiB\"", "1.5", "true", "[]", "\"1XiB\""] {
            assert!(read(value).is_err(), "{value}");
        }
    }

    #[test]
    fn what_no_number_of_64_bits_can_hold_is_refused() {
        for value in ["\"16EiB\"", "\"99999999999999999999\"", "\"99999999999.5EiB\""] {
            assert!(read(value).is_err(), "{value}");
        }
        assert_eq!(read("\"15EiB\"").ok(), Some(Size(15 << 60)));
    }
}
