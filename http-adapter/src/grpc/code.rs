//! The code with which a gRPC call ends.

use http::HeaderMap;
use leasehold::Verdict;

use super::GRPC_STATUS;

/// The code of a gRPC response, in the extensions of one that was held until it was known.
///
/// OK, which is zero, commits; every other one releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GrpcCode(u16);

impl GrpcCode {
    pub(crate) const INVALID_ARGUMENT: Self = Self(3);
    pub(crate) const ALREADY_EXISTS: Self = Self(6);
    pub(crate) const ABORTED: Self = Self(10);
    pub(crate) const INTERNAL: Self = Self(13);
    pub(crate) const UNAVAILABLE: Self = Self(14);

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The code that headers or trailers have, if they have exactly one that is a number.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(GRPC_STATUS).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let digits = value.to_str().ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
        digits.parse().ok().map(Self)
    }

    pub(crate) const fn verdict(self) -> Verdict {
        if self.0 == 0 { Verdict::Commit } else { Verdict::Release }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn one_number_is_a_code_and_anything_else_is_none() {
        let of = |values: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(GRPC_STATUS, HeaderValue::from_static(value));
            }
            GrpcCode::of(&headers).map(GrpcCode::get)
        };
        assert_eq!((of(&["0"]), of(&["16"]), of(&["007"])), (Some(0), Some(16), Some(7)));
        for values in [&[][..], &[""], &["x"], &["+0"], &["-1"], &["0", "0"], &["70000"]] {
            assert_eq!(of(values), None, "{values:?}");
        }
    }

    #[test]
    fn ok_commits_and_every_other_code_releases() {
        assert_eq!(GrpcCode(0).verdict(), Verdict::Commit);
        for code in 1..=17 {
            assert_eq!(GrpcCode(code).verdict(), Verdict::Release, "{code}");
        }
    }
}
