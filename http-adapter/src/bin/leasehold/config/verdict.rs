//! `[idempotency.verdict]` and `[route.verdict]`: statuses, or ranges of them, and their verdicts.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use leasehold_http::Verdicts;

use super::choices::VerdictName;

/// Reads the table; a refusal names the key within it.
pub(super) fn verdicts(table: &BTreeMap<String, VerdictName>) -> Result<Verdicts, (&str, String)> {
    table.iter().try_fold(Verdicts::default(), |verdicts, (key, verdict)| {
        let statuses = statuses(key).map_err(|reason| (key.as_str(), reason.to_owned()))?;
        verdicts
            .with(statuses, (*verdict).into())
            .map_err(|error| (key.as_str(), error.to_string()))
    })
}

/// Reads `"404"` or `"500-599"`. Which statuses there are is not checked here.
fn statuses(key: &str) -> Result<RangeInclusive<u16>, &'static str> {
    let (first, last) = key.split_once('-').unwrap_or((key, key));
    match (status(first), status(last)) {
        (Some(first), Some(last)) => Ok(first..=last),
        _ => Err("must be a status from 100 to 999, or a range such as 500-599"),
    }
}

fn status(text: &str) -> Option<u16> {
    let digits = text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use leasehold::Verdict;

    use super::*;

    fn read(keys: &[(&str, VerdictName)]) -> Result<Verdicts, String> {
        let table = keys.iter().map(|(key, verdict)| ((*key).to_owned(), *verdict)).collect();
        verdicts(&table).map_err(|(key, reason)| format!("{key}: {reason}"))
    }

    #[test]
    fn statuses_and_ranges_are_from_100_to_999() {
        for key in ["100", "404", "999", "500-599", "100-999", "200-200"] {
            assert!(read(&[(key, VerdictName::Hold)]).is_ok(), "{key}");
        }
        for key in [
            "",
            "99",
            "099",
            "1000",
            "2000",
            "+200",
            "5xx",
            "500-",
            "-500",
            "599-500",
            "500-599-600",
            "500 - 599",
        ] {
            let refused = read(&[(key, VerdictName::Hold)]).expect_err(key);
            assert!(refused.starts_with(&format!("{key}: ")), "{refused}");
        }
    }

    #[test]
    fn a_status_goes_before_its_range_and_ranges_must_agree() {
        let hold = ("500-599", VerdictName::Hold);
        let verdicts = read(&[hold, ("503", VerdictName::Commit)]).expect("no conflict");
        assert_eq!(verdicts.of(StatusCode::SERVICE_UNAVAILABLE), Verdict::Commit);
        assert_eq!(verdicts.of(StatusCode::BAD_GATEWAY), Verdict::Hold);
        let refused = read(&[hold, ("510-700", VerdictName::Release)]);
        assert_eq!(refused, Err("510-700: status 510 has another verdict already".to_owned()));
        assert!(read(&[hold, ("510-700", VerdictName::Hold)]).is_ok());
    }
}
