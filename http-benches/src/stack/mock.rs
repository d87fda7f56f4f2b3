//! The floor: the least that a layer for idempotency keys can do. It checks the header, hashes the
//! parts of the key, and asks a concurrent map. It boxes nothing, reads no clock and counts
//! nothing; its keys stay for ever, and a handler that is dropped leaves its key running.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use ahash::RandomState;
use axum::body::Body;
use dashmap::{DashMap, Entry};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use pin_project_lite::pin_project;
use sha2::{Digest, Sha256};
use tower_service::Service;

type Name = [u8; 32];
type Keys = DashMap<Name, State, RandomState>;

/// The header that carries the key.
static KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What is known of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Kept,
}

/// The floor around the handler, with room for so many keys.
pub fn mock(
    room: usize,
) -> impl Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone {
    let keys = Arc::new(Keys::with_capacity_and_hasher(room, RandomState::new()));
    Mock { inner: super::bare(), keys }
}

#[derive(Clone)]
struct Mock<S> {
    inner: S,
    keys: Arc<Keys>,
}

/// The key's name, if there is one key and it is valid.
fn name(method: &Method, path: &str, headers: &HeaderMap) -> Option<Name> {
    let mut lines = headers.get_all(&KEY).iter();
    let key = lines.next()?.as_bytes();
    let valid = (1..=128).contains(&key.len()) && key.iter().all(u8::is_ascii_graphic);
    if !valid || lines.next().is_some() {
        return None;
    }
    let mut hash = Sha256::new();
    for part in [b"default", method.as_str().as_bytes(), path.as_bytes(), key] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    Some(hash.finalize().into())
}

fn refusal(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from("{\"title\":\"refused\"}"));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

impl<S> Service<Request<Body>> for Mock<S>
where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = MockFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let writes = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE];
        if !writes.contains(request.method()) {
            return MockFuture::Runs { future: self.inner.call(request), key: None };
        }
        let Some(name) = name(request.method(), request.uri().path(), request.headers()) else {
            return MockFuture::refused(StatusCode::BAD_REQUEST);
        };
        match self.keys.entry(name) {
            Entry::Occupied(_) => return MockFuture::refused(StatusCode::CONFLICT),
            Entry::Vacant(place) => drop(place.insert(State::Running)),
        }
        let key = Some((name, Arc::clone(&self.keys)));
        MockFuture::Runs { future: self.inner.call(request), key }
    }
}

pin_project! {
    #[project = MockProjection]
    enum MockFuture<F> {
        Runs { #[pin] future: F, key: Option<(Name, Arc<Keys>)> },
        Refused { response: Option<Response<Body>> },
    }
}

impl<F> MockFuture<F> {
    fn refused(status: StatusCode) -> Self {
        Self::Refused { response: Some(refusal(status)) }
    }
}

impl<F> Future for MockFuture<F>
where
    F: Future<Output = Result<Response<Body>, Infallible>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            MockProjection::Refused { response } => {
                response.take().map_or(Poll::Pending, |response| Poll::Ready(Ok(response)))
            }
            MockProjection::Runs { future, key } => {
                let answer = ready!(future.poll(cx));
                if let (Some((name, keys)), Ok(response)) = (key.take(), &answer)
                    && let Entry::Occupied(mut entry) = keys.entry(name)
                {
                    if response.status().is_success() {
                        entry.insert(State::Kept);
                    } else {
                        entry.remove();
                    }
                }
                Poll::Ready(answer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::{Told, runtime, timed};

    #[test]
    fn a_key_runs_once_and_its_duplicate_is_refused() {
        let runtime = runtime().expect("a runtime");
        let mut mock = mock(10);
        assert!(timed(&runtime, &mut mock, &[1, 2], Told::Ran).is_ok());
        assert!(timed(&runtime, &mut mock, &[2, 1], Told::Refused).is_ok());
    }

    #[test]
    fn a_bad_key_has_no_name_and_parts_do_not_run_together() {
        let named = |path: &str, key: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("idempotency-key", HeaderValue::from_str(key).expect("a value"));
            name(&Method::POST, path, &headers)
        };
        assert!(named("/a", "").is_none() && named("/a", "a b").is_none());
        assert!(named("/a", &"k".repeat(129)).is_none());
        assert_ne!(named("/a", "bc"), named("/ab", "c"));
        assert_eq!(named("/a", "bc"), named("/a", "bc"));
    }
}
