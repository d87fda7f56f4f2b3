//! Upgrades of unprotected requests: once both sides have switched, bytes pass in both directions.
//!
//! Only for requests that are not protected: a tunnel has no end that could be a verdict. Never for
//! another version of HTTP: writes inside such a tunnel would go around the gateway.

use http::header::{CONNECTION, UPGRADE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, Version};
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use leasehold_http::{HeldLease, Unleased};

use super::headers::{remove_hop_by_hop, tokens};
use crate::server::Peer;

/// A client's wish to switch protocols.
#[derive(Debug)]
pub(super) struct Upgrade {
    protocol: HeaderValue,
    client: OnUpgrade,
}

impl Upgrade {
    /// Takes the wish out of a request, if there is one that may be granted: those of protected
    /// requests may not, with a lease or without.
    pub(super) fn take(parts: &mut Parts) -> Option<Self> {
        let extensions = &parts.extensions;
        if extensions.get::<HeldLease>().is_some() || extensions.get::<Unleased>().is_some() {
            return None;
        }
        let asked =
            tokens(&parts.headers, &CONNECTION).any(|token| token.eq_ignore_ascii_case(b"upgrade"));
        let mut protocols = parts.headers.get_all(UPGRADE).into_iter();
        let protocol = protocols.next().cloned()?;
        if !asked
            || !may_pass(&parts.headers)
            || protocols.next().is_some()
            || parts.version != Version::HTTP_11
        {
            return None;
        }
        Some(Self { protocol, client: parts.extensions.remove::<OnUpgrade>()? })
    }

    /// Asks the upstream for the same.
    pub(super) fn ask(&self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, self.protocol.clone());
    }

    /// Ties both connections together, now that the upstream has agreed.
    pub(super) fn switch(
        self,
        mut response: Response<Incoming>,
        peer: Option<Peer>,
    ) -> Response<Incoming> {
        let upstream = hyper::upgrade::on(&mut response);
        let protocol = response.headers().get(UPGRADE).cloned().unwrap_or(self.protocol);
        let headers = response.headers_mut();
        remove_hop_by_hop(headers);
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
        let tunnel = async move {
            if let Err(error) = join(self.client, upstream).await {
                tracing::debug!(%error, "a tunnel broke off");
            }
        };
        match peer {
            // It counts among the connections until here.
            Some(mut peer) => tokio::spawn(async move {
                tokio::select! {
                    () = tunnel => {}
                    () = peer.cut() => {}
                }
            }),
            None => tokio::spawn(tunnel),
        };
        response
    }
}

async fn join(client: OnUpgrade, upstream: OnUpgrade) -> std::io::Result<()> {
    let (client, upstream) = tokio::try_join!(client, upstream).map_err(std::io::Error::other)?;
    let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
    tokio::io::copy_bidirectional(&mut client, &mut upstream).await.map(|_| ())
}

/// Whether nothing that `Upgrade` names may be HTTP itself.
pub(super) fn may_pass(headers: &HeaderMap) -> bool {
    tokens(headers, &UPGRADE).all(is_foreign)
}

/// Whether a protocol is certainly not HTTP itself, of whatever version and draft (`h2c`, `h2-16`,
/// `HTTP/2.0`), nor `TLS/1.0` to speak it in. What is no protocol's name as RFC 9110 has them (in
/// quotes, say) is one to services that are less strict.
fn is_foreign(protocol: &[u8]) -> bool {
    let is_token = |part: &[u8]| {
        let valid = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        !part.is_empty() && part.iter().all(valid)
    };
    let mut parts = protocol.split(|byte| *byte == b'/');
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let is_one = is_token(&name) && parts.next().is_none_or(is_token) && parts.next().is_none();
    is_one && ![b"h2".as_slice(), b"h3", b"http", b"tls"].iter().any(|http| name.starts_with(http))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn nothing_that_may_be_http_is_foreign() {
        for protocol in ["websocket", "chat", "WebSocket", "foo/2", "irc/6.9"] {
            assert!(is_foreign(protocol.as_bytes()), "{protocol}");
        }
        for protocol in [
            "h2c", "H2C", "h2", "h2c-14", "h2-16", "HTTP/2.0", "http", "tls/1.0", "\"h2c\"",
            "'h2c\"", "(h2c)", "h2c;q=1", " h2c", "", "/", "a/", "a/b/c", "a b", "\\h2c",
        ] {
            assert!(!is_foreign(protocol.as_bytes()), "{protocol}");
        }
    }

    #[test]
    fn a_protected_request_without_a_lease_gets_no_tunnel() {
        let parts = |unleased: bool| {
            let request = Request::post("/").header(CONNECTION, "upgrade");
            let mut request = request.header(UPGRADE, "websocket").body(()).expect("a request");
            let client = hyper::upgrade::on(&mut request);
            request.extensions_mut().insert(client);
            if unleased {
                request.extensions_mut().insert(Unleased);
            }
            request.into_parts().0
        };
        assert!(Upgrade::take(&mut parts(false)).is_some());
        assert!(Upgrade::take(&mut parts(true)).is_none());
    }
}
