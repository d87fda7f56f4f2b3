//! Why a request has no key that it can be protected by: the detail of the problem `invalid-key`.
//!
//! It must hold no part of a key, nor of a principal.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use http::HeaderName;

use crate::key::InvalidKey;
use crate::problem::{Language, chinese_reason, no_principal};

/// Why a request is refused for its key: 400 with code 40010.
///
/// A [`KeyResolver`](crate::KeyResolver) gives one with a text of its own. The text reaches the
/// client: it must not repeat a key.
///
/// ```
/// use leasehold_http::KeyRefusal;
///
/// let refusal = KeyRefusal::new("The member `id` is missing.").chinese("缺少成员 `id`。");
/// assert_eq!(refusal.to_string(), "The member `id` is missing.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRefusal(Why);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    /// The header that carries the key is missing, or what it carries is no key.
    Key { header: HeaderName, reason: InvalidKey },
    /// A header that tells whose key it is is missing.
    Principal { header: HeaderName },
    /// What a resolver says.
    Own { english: Cow<'static, str>, chinese: Option<Cow<'static, str>> },
}

impl KeyRefusal {
    /// A refusal with a text of one or more sentences, in English.
    #[must_use]
    pub fn new(english: impl Into<Cow<'static, str>>) -> Self {
        Self(Why::Own { english: english.into(), chinese: None })
    }

    /// The same with a text for those who ask for Chinese. Without one they get the English text.
    #[must_use]
    pub fn chinese(self, text: impl Into<Cow<'static, str>>) -> Self {
        match self.0 {
            Why::Own { english, .. } => Self(Why::Own { english, chinese: Some(text.into()) }),
            // Those of the layer's own have their texts.
            why => Self(why),
        }
    }

    pub(crate) const fn of_key(header: HeaderName, reason: InvalidKey) -> Self {
        Self(Why::Key { header, reason })
    }

    pub(crate) const fn of_principal(header: HeaderName) -> Self {
        Self(Why::Principal { header })
    }

    /// What the client is told.
    pub(crate) fn text(&self, language: Language) -> Cow<'_, str> {
        match (&self.0, language) {
            (Why::Key { header, reason }, Language::English) => {
                Cow::Owned(format!("{header}: {reason}."))
            }
            (Why::Key { header, reason }, Language::Chinese) => {
                Cow::Owned(format!("{header}：{}。", chinese_reason(*reason)))
            }
            (Why::Principal { header }, Language::English) => {
                Cow::Owned(format!("{header}: {}.", no_principal(language)))
            }
            (Why::Principal { header }, Language::Chinese) => {
                Cow::Owned(format!("{header}：{}。", no_principal(language)))
            }
            (Why::Own { chinese: Some(text), .. }, Language::Chinese) => Cow::Borrowed(text),
            (Why::Own { english, .. }, _) => Cow::Borrowed(english),
        }
    }
}

/// The English text.
impl fmt::Display for KeyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(Language::English))
    }
}

impl Error for KeyRefusal {}

#[cfg(test)]
mod tests {
    use leasehold::KeyError;

    use super::*;

    #[test]
    fn every_reason_is_told_in_both_languages() {
        let header = HeaderName::from_static("x-key");
        let reasons = [
            InvalidKey::Missing,
            InvalidKey::Repeated,
            InvalidKey::Unquoted,
            InvalidKey::Malformed,
            InvalidKey::Key(KeyError::Empty),
            InvalidKey::Key(KeyError::TooLong { length: 129, max: 128 }),
            InvalidKey::Key(KeyError::InvalidByte { position: 3 }),
        ];
        let of_keys = reasons.map(|reason| KeyRefusal::of_key(header.clone(), reason));
        let both = [Language::English, Language::Chinese];
        let mut texts = Vec::new();
        for refusal in of_keys.into_iter().chain([KeyRefusal::of_principal(header)]) {
            let [english, chinese] = both.map(|language| refusal.text(language));
            assert!(english.starts_with("x-key: ") && chinese.starts_with("x-key："), "{english}");
            assert!(english.is_ascii() && english.ends_with('.') && chinese.ends_with('。'));
            assert!(chinese.chars().count() > "x-key：。".chars().count(), "{chinese}");
            texts.extend([english.into_owned(), chinese.into_owned()]);
        }
        for (text, number) in [("129", 2), ("128", 2), ("position 3", 1), ("位置 3", 1)] {
            let found = texts.iter().filter(|told| told.contains(text)).count();
            assert_eq!(found, number, "{text}");
        }
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), 16);
    }

    #[test]
    fn a_text_of_ones_own_is_told_as_it_is_and_in_english_where_there_is_no_other() {
        let refusal = KeyRefusal::new("No.");
        assert_eq!(refusal.text(Language::Chinese), "No.");
        let refusal = refusal.chinese("不。");
        assert_eq!(refusal.text(Language::Chinese), "不。");
        assert_eq!(refusal.text(Language::English), "No.");
        let own = KeyRefusal::of_principal(HeaderName::from_static("a"));
        assert_eq!(own.clone().chinese("x"), own);
    }
}
