//! From a request to the digest of what it asks for (rule 5.3).
//!
//! What changes from one attempt to the next (tracing headers, counters of retries) must never be
//! part of it.

use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, HeaderValue};
use leasehold::{Digester, Fingerprint};

use crate::policy::FingerprintMode;

mod json;
mod number;

/// The digest of method, path, query, content type and body; none where nothing is compared.
///
/// With [`FingerprintMode::Json`] a body that is JSON counts by what it says. One that is not,
/// because its content type says something else or because it cannot be read, counts byte by byte.
pub(crate) fn of_request(
    mode: FingerprintMode,
    digester: &Digester,
    head: &Parts,
    body: &[u8],
) -> Option<Fingerprint> {
    let canonical = match mode {
        FingerprintMode::Off => return None,
        FingerprintMode::Raw => None,
        FingerprintMode::Json if may_be_json(&head.headers) => json::canonical(body),
        FingerprintMode::Json => None,
    };
    // The first part keeps the two forms apart: no body's bytes are another's canonical text.
    let (form, body) = match &canonical {
        Some(canonical) => (&b"json"[..], canonical.as_slice()),
        None => (&b"raw"[..], body),
    };
    let query = head.uri.query();
    // No query is not an empty one.
    let has_query = [u8::from(query.is_some())];
    let mut parts = vec![
        form,
        head.method.as_str().as_bytes(),
        head.uri.path().as_bytes(),
        &has_query,
        query.unwrap_or_default().as_bytes(),
    ];
    parts.extend(head.headers.get_all(CONTENT_TYPE).iter().map(HeaderValue::as_bytes));
    // The last part: however many content types there are, no list of parts is another's.
    parts.push(body);
    Some(digester.fingerprint(&parts))
}

/// Whether the content type says JSON (RFC 6839, 3.1, for the suffix), or nothing.
fn may_be_json(headers: &HeaderMap) -> bool {
    let mut lines = headers.get_all(CONTENT_TYPE).iter();
    let line = match (lines.next(), lines.next()) {
        (None, _) => return true,
        (Some(line), None) => line,
        (Some(_), Some(_)) => return false,
    };
    let essence = line.as_bytes().split(|byte| *byte == b';').next().unwrap_or_default();
    let essence = essence.trim_ascii().to_ascii_lowercase();
    essence == b"application/json" || essence.ends_with(b"+json")
}

#[cfg(test)]
mod tests;
