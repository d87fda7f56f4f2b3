//! What every request meets first: a look at whether it is plain HTTP, and a net for panics.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use http::header::{HOST, TRANSFER_ENCODING};
use http::{Method, Request, Response, Version};
use leasehold_http::{Problem, ResponseBody};
use tower::ServiceExt;
use tower_service::Service;

use crate::askers::Askers;

/// Stands in front of a service that answers every request.
#[derive(Clone, Debug)]
pub(crate) struct Front<S> {
    inner: S,
    askers: Askers,
}

impl<S> Front<S> {
    /// Stands in front of `inner`, and answers in its place as the routes say.
    pub(crate) const fn new(inner: S, askers: Askers) -> Self {
        Self { inner, askers }
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
        let asker = self.askers.of(&request);
        if let Some(problem) = objection(&request) {
            return super::refusal::<R>(problem, &asker).map(ResponseBody::inner);
        }
        // Nothing of the service is used again after a panic.
        match AssertUnwindSafe(self.inner.oneshot(request)).catch_unwind().await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(_) => {
                tracing::error!("a handler panicked");
                Problem::internal().respond(&asker)
            }
        }
    }
}

/// What is wrong with a request's frame, if anything is. That Content-Length yields to
/// Transfer-Encoding and that the connection then ends (RFC 9112, 6.1) is the parser's work.
fn objection<B>(request: &Request<B>) -> Option<Problem> {
    if request.method() == Method::CONNECT {
        return Some(Problem::not_implemented());
    }
    // A target that is an authority alone (`a:80`) has no path, and the upstream would get one:
    // the address of its key would not be that of the resource. It belongs to CONNECT.
    if request.uri().path().is_empty() {
        return Some(Problem::bad_request());
    }
    let mut codings = request.headers().get_all(TRANSFER_ENCODING).iter();
    if !codings.all(|coding| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"chunked")) {
        return Some(Problem::not_implemented());
    }
    let hosts = request.headers().get_all(HOST).iter().count();
    let needed = usize::from(request.version() == Version::HTTP_11);
    (hosts < needed || hosts > 1).then(Problem::bad_request)
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
        assert_eq!(Front::new(service, Askers::for_tests()).answer(request).await.status(), 500);
    }

    #[test]
    fn requests_that_two_servers_may_read_differently_are_refused() {
        let request = |version, headers: &[(&str, &str)]| {
            let mut builder = Request::post("/").version(version);
            for (name, value) in headers {
                builder = builder.header(*name, *value);
            }
            objection(&builder.body(()).expect("a request"))
                .map(|problem| problem.status().as_u16())
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
            ("a", Some(400)),
            ("a:80", Some(400)),
        ] {
            let request = Request::post(target).header("host", "a").body(()).expect("a request");
            let found = objection(&request).map(|problem| problem.status().as_u16());
            assert_eq!(found, status, "{target}");
        }
    }
}
