//! The keys of `[idempotency.verdict]`: a status, or a range of statuses.

/// Statuses that a key of `[idempotency.verdict]` may name.
const STATUSES: std::ops::RangeInclusive<u16> = 100..=999;

/// Checks that `key` is `"404"` or `"500-599"`, within 100 to 999 and not upside down.
pub(super) fn check_statuses(key: &str) -> Result<(), &'static str> {
    let (first, last) = key.split_once('-').unwrap_or((key, key));
    match (status(first), status(last)) {
        (Some(first), Some(last)) if first <= last => Ok(()),
        (Some(_), Some(_)) => Err("the range ends before it begins"),
        _ => Err("must be a status from 100 to 999, or a range such as 500-599"),
    }
}

fn status(text: &str) -> Option<u16> {
    let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|status| digits && STATUSES.contains(status))
}

#[cfg(test)]
mod tests {
    use super::check_statuses;

    #[test]
    fn statuses_and_ranges_are_from_100_to_999() {
        for key in ["100", "404", "999", "500-599", "100-999", "200-200"] {
            assert_eq!(check_statuses(key), Ok(()), "{key}");
        }
        for key in ["", "99", "099", "1000", "2000", "+200", "5xx", "500-", "-500", "599-500"] {
            assert!(check_statuses(key).is_err(), "{key}");
        }
        assert!(check_statuses("500-599-600").is_err());
        assert!(check_statuses("500 - 599").is_err());
    }
}
