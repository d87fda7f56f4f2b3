//! What every request meets first: a look at whether it is plain HTTP, and a net for panics.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use http::header::{HOST, TRANSFER_ENCODING};
use http::{Method, Request, Response, StatusCode, Version};
use leasehold_http::{Problem, ResponseBody};
use tower::ServiceExt;
use tower_service::Service;

/// Stands in front of a service that answers every request.
#[derive(Clone, Debug)]
pub(crate) struct Front<S> {
    inner: S,
}

impl<S> Front<S> {
    /// Stands in front of `inner`.
    pub(crate) const fn new(inner: S) -> Self {
        Self { inner }
    }

    /// Answers one request, whatever happens.
    pub(crate) async fn answer<B, R>(
        self,
        request: Request<B>,
    ) -> Response<ResponseBody<ResponseBody<R>>>
    where
        S: Service<Request<B>, Response = Response<ResponseBody<ResponseBody<R>>>>,
        S: Service<Request<B>, Error = Infallible>,
    {
        if let Some(status) = objection(&request) {
            return super::refusal::<R>(status).map(ResponseBody::inner);
        }
        let method = request.method().clone();
        // Nothing of the service is used again after a panic.
        match AssertUnwindSafe(self.inner.oneshot(request)).catch_unwind().await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(_) => {
                tracing::error!("a handler panicked");
                Problem::internal().respond(&method)
            }
        }
    }
}

/// What is wrong with a request's frame, if anything is. That Content-Length yields to
/// Transfer-Encoding and that the connection then ends (RFC 9112, 6.1) is the parser's work.
fn objection<B>(request: &Request<B>) -> Option<StatusCode> {
    if request.method() == Method::CONNECT {
        return Some(StatusCode::NOT_IMPLEMENTED);
    }
    // A target that is an authority alone (`a:80`) has no path, and the upstream would get one:
    // the address of its key would not be that of the resource. It belongs to CONNECT.
    if request.uri().path().is_empty() {
        return Some(StatusCode::BAD_REQUEST);
    }
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    if !codings.all(|coding| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked")) {
        return Some(StatusCode::NOT_IMPLEMENTED);
    }
    let hosts = request.headers().get_all(HOST).iter().count();
    let needed = usize::from(request.version() == Version::HTTP_11);
    (hosts < needed || hosts > 1).then_some(StatusCode::BAD_REQUEST)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_a_500() {
        let service = tower::service_fn(|_: Request<()>| async {
            if true {
                panic!("on purpose");
            }
            Ok::<Response<ResponseBody<ResponseBody<()>>>, Infallible>(Response::new(
                ResponseBody::own(Bytes::new()),
            ))
        });
        let request = Request::post("/").header("host", "a").body(()).expect("a request");
        assert_eq!(Front::new(service).answer(request).await.status(), 500);
    }

    #[test]
    fn requests_that_two_servers_may_read_differently_are_refused() {
        let request = |version, headers: &[(&str, &str)]| {
            let mut builder = Request::post("/").version(version);
            for (name, value) in headers {
                builder = builder.header(*name, *value);
            }
            objection(&builder.body(()).expect("a request")).map(|status| status.as_u16())
        };
        let old = Version::HTTP_10;
        let new = Version::HTTP_11;
        let host = ("host", "a");
        assert_eq!(request(new, &[host]), None);
        assert_eq!(request(new, &[]), Some(400));
        assert_eq!(request(new, &[host, host]), Some(400));
        assert_eq!(request(old, &[]), None);
        assert_eq!(request(Version::HTTP_2, &[]), None);
        assert_eq!(request(new, &[host, ("transfer-encoding", "Chunked")]), None);
        assert_eq!(request(new, &[host, ("transfer-encoding", "gzip, chunked")]), Some(501));
    }

    #[test]
    fn targets_without_a_path_are_refused() {
        for (target, status) in [
            ("/", None),
            ("*", None),
            ("/?a", None),
            ("http://a", None),
            ("http://a?b", None),
            ("http://a/", None),
            ("a", Some(StatusCode::BAD_REQUEST)),
            ("a:80", Some(StatusCode::BAD_REQUEST)),
        ] {
            let request = Request::post(target).header("host", "a").body(()).expect("a request");
            assert_eq!(objection(&request), status, "{target}");
        }
    }
}
