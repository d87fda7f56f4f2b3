//! What of a response is kept for its replays (rule 5.1), and how its commit and its body meet.
//!
//! The commit must never wait for a body that is not there yet, and nothing that is kept may be a
//! part of a body.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, DATE, SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body::Body;
use leasehold::{Lease, LeaseStore, Outcome, Terms};

use crate::body::ResponseBody;
use crate::capture::{Copied, Keeper, Streaming};
use crate::policy::{OnDisconnect, Policy};
use crate::record::Record;
use crate::run::{Right, Run};
use crate::store_calls::Verb;
use crate::timed::timed;
use crate::waiting::Coming;

/// A marker for a response's extensions: it is not to be kept for replays. Its duplicates are
/// refused and never run.
///
/// For what only its first reader may see, and for what may not be all of the response: a proxy
/// cannot tell whether a body that ends with its connection has come to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NotReplayable;

/// Headers that are never replayed, beside those that begin with `proxy-` and those that
/// `Connection` names: they concern one connection, one moment or one client.
const NEVER: [HeaderName; 10] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("http2-settings"),
    DATE,
    SET_COOKIE,
    CONTENT_LENGTH,
];

/// Whether a response has no body whatever its headers say (RFC 9110, 6.4.1).
pub(crate) fn has_no_body(is_head: bool, status: StatusCode) -> bool {
    is_head
        || status == StatusCode::NO_CONTENT
        || status == StatusCode::NOT_MODIFIED
        || status.is_informational()
}

impl<S: LeaseStore + Clone> Run<S> {
    /// Commits the lease, with the response where all of it is there at once. Else the response is
    /// kept while it passes, and is there for replays before its last byte leaves.
    pub(crate) async fn commit_and_keep<R>(
        &self,
        right: Right,
        terms: Terms,
        response: Response<R>,
    ) -> Response<ResponseBody<R>>
    where
        R: Body + Send + 'static,
        R::Data: From<Bytes>,
        R::Error: Send,
    {
        let (parts, body) = response.into_parts();
        let policy = &self.prepared.policy;
        let no_body = has_no_body(self.asker.is_head(), parts.status);
        let refused = parts.status.is_informational()
            || forbids_storing(&parts.headers)
            || parts.extensions.get::<NotReplayable>().is_some()
            || (!no_body && body.size_hint().lower() > policy.max_replay_body as u64);
        if refused {
            self.commit(right, terms, None).await;
            return Response::from_parts(parts, ResponseBody::inner(body));
        }
        let mut record = Record {
            status: parts.status,
            headers: replayed_headers(&parts.headers, policy),
            body: Bytes::new(),
            owner: self.owner,
        };
        let length = content_length(&parts.headers);
        if no_body {
            keep_length(&mut record, length.or(body.size_hint().exact()));
            self.commit(right, terms, record.encode().map(Outcome::new)).await;
            return Response::from_parts(parts, ResponseBody::inner(body));
        }
        let copied = Copied::new(self.shared.budget.buffer(), policy.max_replay_body, length);
        let mut body = Box::pin(Streaming::new(body, copied));
        // A panic of the body's must find the lease settled (rule 4.5).
        let reading = AssertUnwindSafe(poll_fn(|cx| body.as_mut().poll_ready(cx)));
        if let Err(panic) = reading.catch_unwind().await {
            self.commit(right, terms, None).await;
            resume_unwind(panic);
        }
        if let Some(whole) = body.as_mut().take_whole() {
            record.body = whole;
            self.commit(right, terms, record.encode().map(Outcome::new)).await;
            return Response::from_parts(parts, ResponseBody::captured(body));
        }
        // Before the commit: who then finds the key without a response knows that one is coming.
        let coming = self.ledger.waiting.coming(self.address);
        match self.commit(right, terms, None).await {
            Some(lease) => body.as_mut().keep(self.keeper(lease, record, coming)),
            None => body.as_mut().give_up(),
        }
        Response::from_parts(parts, ResponseBody::captured(body))
    }

    /// What a body needs to be kept once its lease is committed.
    fn keeper(&self, lease: Lease, record: Record, coming: Coming) -> Keeper {
        let (store, prepared) = (self.shared.store().clone(), Arc::clone(&self.prepared));
        let address = self.address;
        Keeper {
            record,
            attach: Some(Box::new(move |outcome| {
                Box::pin(async move {
                    let call = store.attach(&lease, outcome);
                    let answer = timed(Verb::Attach, &prepared, call).await;
                    if !matches!(answer, Ok(Ok(()))) {
                        tracing::debug!(%address, ?answer, "a response was not kept for replays");
                    }
                })
            })),
            running: self.place.running(),
            finishes: self.prepared.policy.on_disconnect == OnDisconnect::Finish,
            _coming: coming,
        }
    }
}

/// Whether `Cache-Control` has `no-store`. Taking a quoted string for it errs on the safe side.
fn forbids_storing(headers: &HeaderMap) -> bool {
    tokens(headers, &CACHE_CONTROL).any(|token| token.eq_ignore_ascii_case(b"no-store"))
}

/// The comma-separated tokens of all of a header's lines.
fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a [u8]> {
    let values = headers.get_all(name).into_iter();
    values.flat_map(|value| value.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

fn replayed_headers(headers: &HeaderMap, policy: &Policy) -> HeaderMap {
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION)
        .filter_map(|token| HeaderName::from_bytes(token).ok())
        .collect();
    let mut replayed = HeaderMap::new();
    for (name, value) in headers {
        let doomed = NEVER.contains(name)
            || name.as_str().starts_with("proxy-")
            || named.contains(name)
            || policy.replay_drop_headers.contains(name);
        // Fewer than the response has, which itself fits into a map.
        if !doomed {
            replayed.append(name.clone(), value.clone());
        }
    }
    replayed
}

/// The length that a response states; none if it states none or is not clear about it.
fn content_length(headers: &HeaderMap) -> Option<u64> {
    let mut lines = headers.get_all(CONTENT_LENGTH).iter();
    let (Some(line), None) = (lines.next(), lines.next()) else {
        return None;
    };
    line.to_str().ok()?.parse().ok()
}

/// Answers to HEAD, and 304, may state the length of a body that they do not have (RFC 9110, 8.6).
/// A length of zero is as good as none.
fn keep_length(record: &mut Record, length: Option<u64>) {
    if record.status != StatusCode::NO_CONTENT
        && let Some(length) = length.filter(|length| *length > 0)
    {
        record.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn what_belongs_to_one_connection_moment_or_client_is_not_kept() {
        let given = headers(&[
            ("connection", "close, X-Hop"),
            ("connection", "x-other,bad name"),
            ("x-hop", "1"),
            ("x-other", "1"),
            ("keep-alive", "1"),
            ("te", "1"),
            ("trailer", "x-sum"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("proxy-authenticate", "1"),
            ("proxy-status", "1"),
            ("date", "1"),
            ("set-cookie", "a"),
            ("set-cookie", "b"),
            ("content-length", "1"),
            ("x-dropped", "1"),
            ("vary", "a"),
            ("location", "/7"),
            ("vary", "b"),
            ("content-encoding", "gzip"),
        ]);
        let dropped = HeaderName::from_static("x-dropped");
        let kept = replayed_headers(&given, &Policy::default().replay_drop_headers([dropped]));
        let expected = headers(&[
            ("vary", "a"),
            ("vary", "b"),
            ("location", "/7"),
            ("content-encoding", "gzip"),
        ]);
        assert_eq!(kept, expected);
    }

    #[test]
    fn no_store_is_found_on_any_line_in_any_case() {
        for (lines, forbids) in [
            (&["no-store"][..], true),
            (&["private, No-Store , max-age=0"], true),
            (&["private", "no-store"], true),
            (&["private=\"x, no-store, y\""], true),
            (&["no-cache"], false),
            (&["no-storey"], false),
            (&[], false),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| ("cache-control", *line)).collect();
            assert_eq!(forbids_storing(&headers(&lines)), forbids, "{lines:?}");
        }
    }

    #[test]
    fn an_unclear_length_is_none() {
        for (lines, length) in [
            (&["7"][..], Some(7)),
            (&["7", "7"], None),
            (&["7, 7"], None),
            (&["-1"], None),
            (&[], None),
        ] {
            let lines: Vec<_> = lines.iter().map(|line| ("content-length", *line)).collect();
            assert_eq!(content_length(&headers(&lines)), length, "{lines:?}");
        }
    }
}
