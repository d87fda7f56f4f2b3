//! Operators' questions about single records, and their removal.
//!
//! Only a program on this machine may ask, and no web page that a browser on it shows: neither one
//! of another site, nor one whose name was made to point here.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HOST, ORIGIN};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use leasehold::{Address, LeaseStore};
use leasehold_http::PendingCommits;

use super::text;
use crate::records::{ADDRESS, Found, Verb, from_hex};

/// What browsers say of where a request is from. No client of ours sends it.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Answers one request for a verb; `local` says whether the address is a loopback one.
pub(super) async fn answer<S: LeaseStore, B>(
    store: &S,
    pending: &PendingCommits,
    verb: Verb,
    request: &Request<B>,
    local: bool,
) -> Response<Full<Bytes>> {
    let address = match permitted(request.method(), request.headers(), local) {
        Ok(address) => address,
        Err(Refusal(status, reason)) => {
            let mut response = text(status, reason);
            if status == StatusCode::METHOD_NOT_ALLOWED {
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
            }
            return response;
        }
    };
    // Before the store is asked, so that what is pending cannot bring the key back.
    let was_pending = verb == Verb::Forget && pending.forget(&address);
    match verb.carry_out(store, address).await {
        Ok(found) => {
            let found = if was_pending { Found::Removed } else { found };
            tell(address, found);
            json(&found)
        }
        Err(error) => {
            tracing::warn!(%address, %error, "an operator's request failed");
            text(StatusCode::SERVICE_UNAVAILABLE, "the store did not answer\n")
        }
    }
}

/// A status, and why.
#[derive(Debug)]
struct Refusal(StatusCode, &'static str);

/// The address that is asked for, by somebody who may.
fn permitted(method: &Method, headers: &HeaderMap, local: bool) -> Result<Address, Refusal> {
    if method != Method::POST {
        return Err(Refusal(StatusCode::METHOD_NOT_ALLOWED, ""));
    }
    if !local {
        let reason = "records are shown on a loopback admin address alone\n";
        return Err(Refusal(StatusCode::FORBIDDEN, reason));
    }
    let by_a_page = headers.contains_key(ORIGIN) || headers.contains_key(FETCH_SITE);
    if by_a_page || !is_local_host(headers) {
        return Err(Refusal(StatusCode::FORBIDDEN, "records are not shown to web pages\n"));
    }
    let mut lines = headers.get_all(ADDRESS).iter();
    let address = lines.next().and_then(|line| from_hex(line.as_bytes()));
    address
        .filter(|_| lines.next().is_none())
        .ok_or(Refusal(StatusCode::BAD_REQUEST, "leasehold-address is no address\n"))
}

/// Whether the client knows this machine by a name that no other can have: a page whose site's name
/// was made to point here gives that site's name.
fn is_local_host(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(HOST).iter();
    let host = lines.next().and_then(|line| line.to_str().ok()).unwrap_or_default();
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    lines.next().is_none()
        && (name.eq_ignore_ascii_case("localhost") || literal.parse().is_ok_and(is_loopback))
}

/// Leaves a word in the log of what may make a request run twice.
fn tell(address: Address, found: Found) {
    if found == Found::Removed {
        tracing::warn!(%address, "an operator has removed a record, its request may run again");
    }
}

fn json(found: &Found) -> Response<Full<Bytes>> {
    let Ok(body) = serde_json::to_vec(found) else {
        return text(StatusCode::INTERNAL_SERVER_ERROR, "what was found could not be written\n");
    };
    let mut response = Response::new(Full::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: Method, lines: &[(&str, &str)], local: bool) -> u16 {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name: HeaderName = name.parse().expect("a name");
            headers.append(name, value.parse().expect("a value"));
        }
        let permitted = permitted(&method, &headers, local);
        permitted.map_or_else(|Refusal(status, _)| status.as_u16(), |_| 200)
    }

    #[test]
    fn only_a_program_on_this_machine_may_ask() {
        let zeros = "0".repeat(64);
        let address = ("leasehold-address", zeros.as_str());
        let host = ("host", "127.0.0.1:9090");
        assert_eq!(status(Method::POST, &[host, address], true), 200);
        assert_eq!(status(Method::POST, &[host, address], false), 403);
        assert_eq!(status(Method::GET, &[host, address], true), 405);
        assert_eq!(status(Method::OPTIONS, &[host, address], true), 405);
        assert_eq!(status(Method::POST, &[host], true), 400);
        assert_eq!(status(Method::POST, &[host, address, address], true), 400);
        assert_eq!(status(Method::POST, &[host, ("leasehold-address", "k-1")], true), 400);
        for page in [("origin", "null"), ("origin", "http://127.0.0.1:9090")] {
            assert_eq!(status(Method::POST, &[host, address, page], true), 403);
        }
        let fetched = ("sec-fetch-site", "same-origin");
        assert_eq!(status(Method::POST, &[host, address, fetched], true), 403);
        for (name, expected) in [
            ("localhost:9090", 200),
            ("LOCALHOST", 200),
            ("[::1]:9090", 200),
            ("[::1]", 200),
            ("127.8.9.1", 200),
            ("[::ffff:127.0.0.1]:1", 200),
            ("evil.test:9090", 403),
            ("localhost.evil.test", 403),
            ("127.0.0.1.evil.test:9090", 403),
            ("10.0.0.1:9090", 403),
            ("", 403),
        ] {
            assert_eq!(status(Method::POST, &[("host", name), address], true), expected, "{name}");
        }
        assert_eq!(status(Method::POST, &[address], true), 403);
        assert_eq!(status(Method::POST, &[host, host, address], true), 403);
    }
}
