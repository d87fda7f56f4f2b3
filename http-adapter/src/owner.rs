//! To whom a response belongs, where no principal says so (rule 5.1).
//!
//! What names a client is a secret: only a digest is kept, and it depends on the key too, which no
//! store knows, so that nobody can find a password by trying some against what a store keeps.

use std::fmt;

use http::header::{AUTHORIZATION, COOKIE, HOST};
use http::{HeaderMap, HeaderName, HeaderValue};
use leasehold::Digester;

use crate::principal;
use crate::resolver::RequestHead;

/// A digest of what a request says about its client: host, `Authorization` and `Cookie`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner([u8; 32]);

impl Owner {
    /// Whose request it is that has this key.
    pub(crate) fn of_request(digester: &Digester, key: &[u8], head: RequestHead<'_>) -> Self {
        let (uri, headers) = (head.uri(), head.headers());
        let host = principal::host(uri).or_else(|| headers.get(HOST).map(HeaderValue::as_bytes));
        let host = host.unwrap_or_default();
        let authorization = joined(headers, &AUTHORIZATION, b"\0");
        // Each protocol splits cookies into lines as it likes (RFC 9113, 8.2.3).
        let cookie = joined(headers, &COOKIE, b"; ");
        let parts = [&b"owner"[..], key, &host.to_ascii_lowercase(), &authorization, &cookie];
        Self(*digester.fingerprint(&parts).as_bytes())
    }

    pub(crate) const fn from_bytes(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner(..)")
    }
}

/// All lines of a header; nothing at all only if there is none.
fn joined(headers: &HeaderMap, name: &HeaderName, separator: &[u8]) -> Vec<u8> {
    let lines: Vec<_> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
    if lines.is_empty() { Vec::new() } else { [b"\0", lines.join(separator).as_slice()].concat() }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    fn owner_with(key: &str, uri: &str, headers: &[(&str, &str)]) -> Owner {
        let mut request = Request::post(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).expect("a request");
        Owner::of_request(&Digester::plain(), key.as_bytes(), RequestHead::of(&request))
    }

    fn owner(uri: &str, headers: &[(&str, &str)]) -> Owner {
        owner_with("k", uri, headers)
    }

    #[test]
    fn host_authorization_and_cookie_tell_owners_apart() {
        let all = [
            owner("/", &[]),
            owner("/", &[("host", "a")]),
            owner("/", &[("host", "b")]),
            owner("/", &[("authorization", "a")]),
            owner("/", &[("authorization", "")]),
            owner("/", &[("authorization", "a"), ("authorization", "b")]),
            owner("/", &[("cookie", "a")]),
            owner("/", &[("cookie", "a=1")]),
            owner("/", &[("authorization", "a"), ("cookie", "a")]),
            owner_with("l", "/", &[]),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(!all[index + 1..].contains(one), "{index}");
        }
    }

    #[test]
    fn both_protocols_name_the_same_owner() {
        let old = owner("/", &[("host", "Shop.test"), ("cookie", "a=1; b=2")]);
        let new = owner("http://shop.test/", &[("cookie", "a=1"), ("cookie", "b=2")]);
        let with_user = owner("http://user@shop.test/", &[("cookie", "a=1; b=2")]);
        assert_eq!((old, old), (new, with_user));
    }

    #[test]
    fn other_headers_do_not_count() {
        assert_eq!(owner("/", &[("user-agent", "a")]), owner("/", &[("user-agent", "b")]));
    }

    #[test]
    fn an_owner_is_never_printed() {
        assert_eq!(format!("{:?}", owner("/", &[("cookie", "a")])), "Owner(..)");
    }
}
