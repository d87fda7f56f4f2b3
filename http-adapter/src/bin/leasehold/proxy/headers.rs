//! What changes in a message's headers between the two sides; everything else stays as it is.

use http::header::{
    CONNECTION, CONTENT_LENGTH, COOKIE, EXPECT, Entry, HOST, TE, TRANSFER_ENCODING, UPGRADE,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use leasehold::{Token, Verdict};

use crate::server::Peer;

pub(super) const LEASE_TOKEN: HeaderName = HeaderName::from_static("idempotency-lease-token");
pub(super) const VERDICT: HeaderName = HeaderName::from_static("idempotency-verdict");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Headers that concern one connection only (RFC 9110, 7.6.1), beside those that begin with
/// `proxy-` and those that `Connection` names.
const HOP_BY_HOP: [HeaderName; 6] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    TE,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("http2-settings"),
];

/// Prepares a request's headers for the upstream. Gives the names that `Connection` had.
pub(super) fn to_upstream(
    parts: &mut Parts,
    upstream: &Uri,
    peer: Option<&Peer>,
    token: Option<Token>,
) -> Vec<HeaderName> {
    let host = host(parts, upstream);
    let headers = &mut parts.headers;
    let named = remove_hop_by_hop(headers);
    // The gateway has answered it itself, with the first byte of the body that it asked for.
    headers.remove(EXPECT);
    join_cookies(headers);
    headers.remove(LEASE_TOKEN);
    if let Some(token) = token {
        headers.insert(LEASE_TOKEN, HeaderValue::from(token.get()));
    }
    if let Some(peer) = peer {
        append_forwarded_for(headers, &peer.address.ip().to_canonical().to_string());
    }
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static("http"));
    match host {
        Some(host) => {
            headers.insert(FORWARDED_HOST, host.clone());
            headers.insert(HOST, host);
        }
        None => {
            headers.remove(FORWARDED_HOST);
        }
    }
    named
}

/// The host that the client asked for: the target's authority where there is one (RFC 9112,
/// 3.2.2), else the header. HTTP/1.0 may have neither; the upstream then gets its own.
fn host(parts: &Parts, upstream: &Uri) -> Option<HeaderValue> {
    let of = |uri: &Uri| {
        let authority = uri.authority()?.as_str();
        // A user and a password are no part of a host.
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        HeaderValue::from_str(host).ok()
    };
    of(&parts.uri).or_else(|| parts.headers.get(HOST).cloned()).or_else(|| of(upstream))
}

/// HTTP/2 lets clients send one cookie a line, HTTP/1.1 wants one line (RFC 9113, 8.2.3).
fn join_cookies(headers: &mut HeaderMap) {
    let lines: Vec<_> = headers.get_all(COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if lines.len() > 1
        && let Ok(mut joined) = HeaderValue::from_bytes(&lines.join(b"; ".as_slice()))
    {
        joined.set_sensitive(true);
        headers.insert(COOKIE, joined);
    }
}

fn append_forwarded_for(headers: &mut HeaderMap, address: &str) {
    let mut chain = Vec::new();
    for value in headers.get_all(FORWARDED_FOR) {
        chain.extend_from_slice(value.as_bytes());
        chain.extend_from_slice(b", ");
    }
    chain.extend_from_slice(address.as_bytes());
    match HeaderValue::from_bytes(&chain) {
        Ok(value) => headers.insert(FORWARDED_FOR, value),
        // Values that were headers already stay valid when they are joined.
        Err(_) => headers.remove(FORWARDED_FOR),
    };
}

/// Says that a body of unknown length follows. Without it hyper takes requests of the methods that
/// seldom have a body for ones that have none.
pub(super) fn frame_by_chunks(headers: &mut HeaderMap) {
    headers.remove(CONTENT_LENGTH);
    headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
}

/// Takes what the upstream says of its verdict out of a response's headers. Several values are one
/// if they agree. If they do not, nobody knows which of them is meant, and the key is held: neither
/// of them is to be guessed, nor is the status.
pub(super) fn take_verdict(headers: &mut HeaderMap) -> Option<Verdict> {
    let said: Vec<Option<Verdict>> =
        tokens(headers, &VERDICT).filter(|value| !value.is_empty()).map(read_verdict).collect();
    // What is empty is taken away too.
    if let Entry::Occupied(entry) = headers.entry(VERDICT) {
        entry.remove_entry_mult();
    }
    let (first, rest) = said.split_first()?;
    if rest.iter().any(|other| other != first) {
        tracing::warn!("the upstream's idempotency-verdicts contradict each other; it is held");
        return Some(Verdict::Hold);
    }
    if first.is_none() {
        tracing::warn!("the upstream's idempotency-verdict is none; its status decides");
    }
    *first
}

fn read_verdict(value: &[u8]) -> Option<Verdict> {
    let is = |name: &str| value.eq_ignore_ascii_case(name.as_bytes());
    [("commit", Verdict::Commit), ("release", Verdict::Release), ("hold", Verdict::Hold)]
        .into_iter()
        .find_map(|(name, verdict)| is(name).then_some(verdict))
}

/// Whether a field concerns one connection only.
pub(super) fn is_hop_by_hop(name: &HeaderName) -> bool {
    name.as_str().starts_with("proxy-") || HOP_BY_HOP.contains(name)
}

/// Removes what concerns the one connection that the message came by, and gives the names that
/// `Connection` had.
pub(super) fn remove_hop_by_hop(headers: &mut HeaderMap) -> Vec<HeaderName> {
    // It yields to the other (RFC 9112, 6.3), and would contradict the body that was read.
    if headers.contains_key(TRANSFER_ENCODING) {
        headers.remove(CONTENT_LENGTH);
    }
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION)
        .filter_map(|token| HeaderName::from_bytes(token).ok())
        .collect();
    let doomed: Vec<HeaderName> =
        headers.keys().filter(|name| is_hop_by_hop(name)).cloned().collect();
    for name in doomed.iter().chain(&named) {
        headers.remove(name);
    }
    named
}

/// The comma-separated tokens of all of a header's lines.
pub(super) fn tokens<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a [u8]> {
    let values = headers.get_all(name).into_iter();
    values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, HeaderValue::from_static(value));
        }
        map
    }

    fn names(headers: &HeaderMap) -> Vec<&str> {
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn hop_by_hop_headers_and_those_that_connection_names_are_removed() {
        let mut map = headers(&[
            ("connection", "close, X-One"),
            ("connection", "x-two,,bad name"),
            ("x-one", "1"),
            ("x-two", "1"),
            ("x-three", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("content-length", "3"),
            ("upgrade", "websocket"),
            ("proxy-authorization", "secret"),
            ("proxy-connection", "close"),
            ("trailer", "x-sum"),
        ]);
        let named = remove_hop_by_hop(&mut map);
        assert_eq!(named, ["close", "x-one", "x-two"]);
        assert_eq!(names(&map), ["trailer", "x-three"]);
    }

    #[test]
    fn the_verdict_is_read_and_never_passed_on() {
        for (lines, expected) in [
            (&["commit"][..], Some(Verdict::Commit)),
            (&["Release "], Some(Verdict::Release)),
            (&["hold"], Some(Verdict::Hold)),
            (&["perhaps"], None),
            (&[""], None),
            (&["commit,Commit"], Some(Verdict::Commit)),
            (&["release", ", release,"], Some(Verdict::Release)),
            (&["commit", "release"], Some(Verdict::Hold)),
            (&["release, commit"], Some(Verdict::Hold)),
            (&["commit, perhaps"], Some(Verdict::Hold)),
            (&["perhaps", "maybe"], None),
            (&[" , "], None),
            (&[], None),
        ] {
            let mut map = HeaderMap::new();
            for line in lines {
                map.append(VERDICT, HeaderValue::from_static(line));
            }
            assert_eq!(take_verdict(&mut map), expected, "{lines:?}");
            assert!(map.is_empty());
        }
    }

    fn sent(uri: &'static str, pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let (mut parts, ()) = http::Request::new(()).into_parts();
        parts.uri = Uri::from_static(uri);
        parts.headers = headers(pairs);
        let peer = Peer::for_tests(([127, 0, 0, 1], 4000).into());
        let upstream = Uri::from_static("http://up:3000");
        to_upstream(&mut parts, &upstream, Some(&peer), Some(Token::new(7)));
        parts.headers
    }

    #[test]
    fn forwarding_headers_are_appended_and_set() {
        let map = sent(
            "/",
            &[
                ("host", "shop.test"),
                ("x-forwarded-for", "10.0.0.1"),
                ("x-forwarded-for", "10.0.0.2, 10.0.0.3"),
                ("x-forwarded-host", "evil.test"),
                ("x-forwarded-proto", "https"),
                ("expect", "100-continue"),
            ],
        );
        assert_eq!(map["x-forwarded-for"], "10.0.0.1, 10.0.0.2, 10.0.0.3, 127.0.0.1");
        assert_eq!(map["x-forwarded-host"], "shop.test");
        assert_eq!(map["x-forwarded-proto"], "http");
        assert_eq!(map["host"], "shop.test");
        assert!(!map.contains_key("expect"));
    }

    #[test]
    fn the_token_is_ours_and_never_the_clients() {
        let map = sent("/", &[("idempotency-lease-token", "1"), ("idempotency-lease-token", "2")]);
        let tokens: Vec<_> = map.get_all("idempotency-lease-token").iter().collect();
        assert_eq!(tokens, ["7"]);
    }

    #[test]
    fn connection_cannot_take_away_what_the_gateway_adds() {
        let map = sent(
            "/",
            &[("host", "a.test"), ("connection", "host, x-forwarded-for, idempotency-lease-token")],
        );
        assert_eq!(map["host"], "a.test");
        assert_eq!(map["x-forwarded-for"], "127.0.0.1");
        assert_eq!(map["idempotency-lease-token"], "7");
    }

    #[test]
    fn cookies_are_joined_into_one_line() {
        let map = sent("/", &[("cookie", "a=1"), ("cookie", "b=2"), ("cookie", "c=3")]);
        assert_eq!(map.get_all("cookie").iter().collect::<Vec<_>>(), ["a=1; b=2; c=3"]);
    }

    #[test]
    fn the_targets_authority_wins_over_the_host_header() {
        assert_eq!(sent("http://target.test/", &[("host", "header.test")])["host"], "target.test");
        assert_eq!(sent("http://u:p@target.test:81/", &[])["host"], "target.test:81");
        assert_eq!(sent("/", &[])["host"], "up:3000");
    }
}
