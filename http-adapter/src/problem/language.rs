//! The languages of problems, and which of them a client asks for by `Accept-Language`.
//!
//! Read for every protected request, so nothing here may allocate.

use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;

/// A language that problems are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Language {
    /// English: what everybody gets who asks for nothing that there is.
    #[default]
    English,
    /// Chinese in simplified characters.
    Chinese,
}

impl Language {
    /// All of them.
    pub const ALL: &[Self] = &[Self::English, Self::Chinese];

    /// The tag of BCP 47, as in `Content-Language`.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh-Hans",
        }
    }

    /// The language that a request's headers ask for (RFC 9110, 12.5.4).
    ///
    /// The one of higher quality, and of two equal ones the one that is named first; quality zero
    /// is a refusal. A range counts by its first subtag: `en-GB` asks for English, and `zh-CN`,
    /// `zh-Hans` and `zh` for Chinese, but so do `zh-TW` and `zh-Hant`, whose readers are nearer to
    /// simplified characters than to English; they are only outweighed by the former. `*` stands
    /// for what no other range names, and prefers English. A range that is malformed counts for
    /// nothing. Several lines are one list.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let mut wishes = Wishes::default();
        let lines = headers.get_all(ACCEPT_LANGUAGE).iter();
        let ranges = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
        for (position, range) in ranges.enumerate() {
            if let Some((tag, quality)) = read_range(range) {
                wishes.add(tag, Wish { quality, position });
            }
        }
        wishes.language()
    }
}

/// How much a language is wanted.
#[derive(Clone, Copy, Debug)]
struct Wish {
    /// In thousandths.
    quality: u16,
    /// Where in the list it stands.
    position: usize,
}

/// What was asked for, by how exactly it was named.
#[derive(Debug, Default)]
struct Wishes {
    english: Option<Wish>,
    /// Chinese, or its simplified characters.
    chinese: Option<Wish>,
    /// Chinese in other characters, or of places that use them.
    other_chinese: Option<Wish>,
    any: Option<Wish>,
}

impl Wishes {
    fn add(&mut self, tag: &[u8], wish: Wish) {
        let mut subtags = tag.split(|byte| *byte == b'-');
        let first = subtags.next().unwrap_or_default();
        let slot = if first == b"*" {
            &mut self.any
        } else if first.eq_ignore_ascii_case(b"en") {
            &mut self.english
        } else if !first.eq_ignore_ascii_case(b"zh") {
            return;
        } else if is_simplified(subtags) {
            &mut self.chinese
        } else {
            &mut self.other_chinese
        };
        if slot.is_none_or(|before| before.quality < wish.quality) {
            *slot = Some(wish);
        }
    }

    fn language(&self) -> Language {
        let english = self.english.or(self.any);
        // A refusal of other characters says nothing of the simplified ones.
        let other = self.other_chinese.filter(|wish| wish.quality > 0);
        let chinese = self.chinese.or(other).or(self.any);
        let wins = match (chinese, english) {
            (Some(chinese), Some(english)) if chinese.quality == english.quality => {
                chinese.position < english.position
            }
            (Some(chinese), Some(english)) => chinese.quality > english.quality,
            (chinese, None) => chinese.is_some(),
            (None, Some(_)) => false,
        };
        let wanted = chinese.is_some_and(|wish| wish.quality > 0);
        if wins && wanted { Language::Chinese } else { Language::English }
    }
}

/// Whether what follows `zh` means simplified characters, or leaves it open.
fn is_simplified<'a>(subtags: impl Iterator<Item = &'a [u8]>) -> bool {
    // Where they are the usual ones. A script goes before a region, and says it by itself.
    const SIMPLIFIED: [&[u8]; 4] = [b"Hans", b"CN", b"SG", b"MY"];
    const OTHER: [&[u8]; 4] = [b"Hant", b"TW", b"HK", b"MO"];
    let is_in = |names: [&[u8]; 4], subtag: &[u8]| {
        names.iter().any(|name| name.eq_ignore_ascii_case(subtag))
    };
    let mut told = subtags.filter_map(|subtag| {
        is_in(SIMPLIFIED, subtag).then_some(true).or(is_in(OTHER, subtag).then_some(false))
    });
    told.next().unwrap_or(true)
}

/// One member of the list: its range, and its quality in thousandths. None if it is malformed.
fn read_range(member: &[u8]) -> Option<(&[u8], u16)> {
    let mut parts = member.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
    let tag = parts.next().filter(|tag| is_range(tag))?;
    let quality = parts.next().map_or(Some(1000), read_quality)?;
    parts.next().is_none().then_some((tag, quality))
}

/// Whether it is a range of RFC 4647, section 2.1.
fn is_range(tag: &[u8]) -> bool {
    let is_subtag = |subtag: &[u8]| {
        matches!(subtag.len(), 1..=8) && subtag.iter().all(u8::is_ascii_alphanumeric)
    };
    tag == b"*" || tag.split(|byte| *byte == b'-').all(is_subtag)
}

/// `q=0.5` and the like, with at most three digits after the point (RFC 9110, 12.4.2).
fn read_quality(parameter: &[u8]) -> Option<u16> {
    let [b'q' | b'Q', b'=', whole @ (b'0' | b'1'), rest @ ..] = parameter else {
        return None;
    };
    let digits = match rest {
        [] => &[][..],
        [b'.', digits @ ..] if digits.len() <= 3 => digits,
        _ => return None,
    };
    let mut quality = u16::from(*whole - b'0');
    for place in 0..3 {
        let digit = digits.get(place).copied().unwrap_or(b'0');
        if !digit.is_ascii_digit() {
            return None;
        }
        quality = quality * 10 + u16::from(digit - b'0');
    }
    (quality <= 1000).then_some(quality)
}

#[cfg(test)]
mod tests;
