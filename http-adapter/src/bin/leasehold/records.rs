//! What operators may do with records, and how that is asked for and answered over the admin
//! address: what both ends of it must agree on. A key never travels, its address does; and not in a
//! URL, which ends up in logs.

use std::fmt;
use std::time::Duration;

use http::HeaderName;
use leasehold::{Address, LeaseStore, RecordState, StoreError};
use serde::{Deserialize, Serialize};

/// The header that carries the address, in hexadecimal. No browser sends it to another site
/// without asking that site first, and this one never agrees.
pub(crate) const ADDRESS: HeaderName = HeaderName::from_static("leasehold-address");

/// What may be done with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Peek,
    Forget,
}

impl Verb {
    const ALL: [Self; 2] = [Self::Peek, Self::Forget];

    /// The path that it is asked for at, by POST.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Peek => "/peek",
            Self::Forget => "/forget",
        }
    }

    /// The verb of a path, if it is one's.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.path() == path)
    }

    /// Does it.
    pub(crate) async fn carry_out<S: LeaseStore>(
        self,
        store: &S,
        address: Address,
    ) -> Result<Found, StoreError> {
        match self {
            Self::Peek => Ok(store.peek(address).await?.into()),
            Self::Forget if store.forget(address).await? => Ok(Found::Removed),
            Self::Forget => Ok(Found::NothingRemoved),
        }
    }
}

/// What is found at an address, or came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "state", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub(crate) enum Found {
    /// No record that counts.
    Free,
    /// A lease runs.
    InFlight {
        /// How long it still lasts, in milliseconds, unless it is renewed.
        remaining_ms: u64,
    },
    /// The request has succeeded.
    Completed {
        /// How long the key is still kept, in milliseconds.
        remaining_ms: u64,
        /// Whether its response is kept with it.
        replayable: bool,
    },
    /// There was a record, and now there is none.
    Removed,
    /// There was none to remove.
    NothingRemoved,
}

impl Found {
    /// Whether there was a record.
    pub(crate) const fn is_something(self) -> bool {
        !matches!(self, Self::Free | Self::NothingRemoved)
    }
}

impl From<RecordState> for Found {
    fn from(state: RecordState) -> Self {
        match state {
            RecordState::Free => Self::Free,
            RecordState::InFlight { remaining } => Self::InFlight { remaining_ms: ms(remaining) },
            RecordState::Completed { remaining, replayable } => {
                Self::Completed { remaining_ms: ms(remaining), replayable }
            }
        }
    }
}

fn ms(remaining: Duration) -> u64 {
    u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX)
}

/// As `leasehold peek` and `leasehold forget` print it.
impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = |ms: u64| humantime::format_duration(Duration::from_millis(ms));
        match *self {
            Self::Free => f.write_str("free"),
            Self::InFlight { remaining_ms } => write!(f, "in flight, {} left", left(remaining_ms)),
            Self::Completed { remaining_ms, replayable } => {
                let not = if replayable { "" } else { "not " };
                write!(f, "completed, {} left, {not}replayable", left(remaining_ms))
            }
            Self::Removed => f.write_str("removed"),
            Self::NothingRemoved => f.write_str("nothing to remove"),
        }
    }
}

/// An address as the header has it.
pub(crate) fn to_hex(address: &Address) -> String {
    address.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads one again: 64 digits, nothing else.
pub(crate) fn from_hex(text: &[u8]) -> Option<Address> {
    let (pairs, rest) = text.as_chunks::<2>();
    let pairs: &[[u8; 2]; 32] = pairs.try_into().ok().filter(|_| rest.is_empty())?;
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(Address::from_bytes(bytes))
}

const fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_written_and_nothing_else_is_one() {
        let address = Address::from_bytes(std::array::from_fn(|at| (at * 8) as u8));
        let text = to_hex(&address);
        assert!(text.starts_with("00081018") && text.ends_with("f0f8"), "{text}");
        assert_eq!(from_hex(text.as_bytes()), Some(address));
        for bad in ["", "00", &text[1..], &text[2..], &text.replace('f', "F")] {
            assert_eq!(from_hex(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(from_hex(format!("{text}00").as_bytes()), None);
        assert_eq!(from_hex(format!(" {text}").as_bytes()), None);
        assert_eq!(from_hex(text.replace("00", "0g").as_bytes()), None);
    }

    #[test]
    fn what_is_found_is_printed_with_what_is_left() {
        let remaining_ms = 90_500;
        for (found, text, something) in [
            (Found::Free, "free", false),
            (Found::InFlight { remaining_ms: 1 }, "in flight, 1ms left", true),
            (
                Found::Completed { remaining_ms, replayable: true },
                "completed, 1m 30s 500ms left, replayable",
                true,
            ),
            (
                Found::Completed { remaining_ms: 0, replayable: false },
                "completed, 0s left, not replayable",
                true,
            ),
            (Found::Removed, "removed", true),
            (Found::NothingRemoved, "nothing to remove", false),
        ] {
            assert_eq!((found.to_string().as_str(), found.is_something()), (text, something));
            let json = serde_json::to_string(&found).expect("plain data");
            assert_eq!(serde_json::from_str::<Found>(&json).expect("the same"), found, "{json}");
        }
    }
}
