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
        let http = tokens(&parts.headers, &UPGRADE).any(is_http);
        if !asked || http || protocols.next().is_some() || parts.version != Version::HTTP_11 {
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

/// Whether a protocol is HTTP itself: `h2c`, `HTTP/2.0`, `TLS/1.0` to speak it in.
fn is_http(protocol: &[u8]) -> bool {
    let name = protocol.split(|byte| *byte == b'/').next().unwrap_or_default();
    [b"h2c".as_slice(), b"h2", b"http", b"tls"].iter().any(|http| name.eq_ignore_ascii_case(http))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

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
