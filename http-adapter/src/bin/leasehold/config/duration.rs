//! Durations as they are written in a configuration: `30s`, `1h 30m`, `250ms`.

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};

/// A length of time, zero included. Written and printed in humantime's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span(pub(crate) Duration);

impl Span {
    /// That many seconds.
    pub(crate) const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// Reads `text`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.trim_start().starts_with('-') {
            return Err("must not be negative".to_owned());
        }
        humantime::parse_duration(text)
            .map(Self)
            .map_err(|error| format!("not a duration such as 30s or 5m: {error}"))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_reads_back() {
        for text in ["0s", "1ns", "250ms", "30s", "90s", "24h", "1h 30m", "48h", "3650d"] {
            let span = Span::parse(text).expect(text);
            assert_eq!(Span::parse(&span.to_string()), Ok(span), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused() {
        for text in ["", "soon", "30", "-1s", " -1s", "1x", "99999999999999999999s"] {
            assert!(Span::parse(text).is_err(), "{text}");
        }
    }
}
