//! The requests, the same for every stack and in every run, each with a key of its own number.
//!
//! They are made outside of the timed parts, few at a time, so that they are in a cache as those
//! that a connection has just read.

use axum::body::Body;
use http::Request;

/// Keys of one session: a user of a service makes some writes a day. Only stacks that keep keys by
/// session look at it.
const KEYS_PER_SESSION: u64 = 10;

/// Arbitrary, and fixed: every run asks for the same keys.
const SEED: u64 = 5;

/// The key of a number: 36 characters, as a UUID is written.
#[must_use]
pub fn key(number: u64) -> String {
    let bits = fastrand::Rng::with_seed(SEED ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).u128(..);
    let digits = format!("{bits:032x}");
    let parts = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    let parts = parts.map(|(from, to)| digits.get(from..to).unwrap_or_default());
    parts.join("-")
}

/// A request with the key of a number.
///
/// # Panics
///
/// Never: every part is fixed but digits.
#[must_use]
pub fn request(number: u64) -> Request<Body> {
    // A session's name has the form that `ruts` gives it: 22 characters of base64.
    let session = format!("session={:021}A", number / KEYS_PER_SESSION);
    Request::post("/orders")
        .header("host", "shop.example")
        .header("user-agent", "bench/1")
        .header("accept", "*/*")
        .header("content-type", "application/json")
        .header("cookie", session)
        .header("idempotency-key", key(number))
        .body(Body::empty())
        .expect("a valid request")
}

/// The requests of these numbers.
pub fn requests(numbers: impl IntoIterator<Item = u64>) -> Vec<Request<Body>> {
    numbers.into_iter().map(request).collect()
}

/// So many numbers below a bound, uniformly random, the same in every run.
#[must_use]
pub fn drawn(count: usize, below: u64) -> Vec<u64> {
    let mut random = fastrand::Rng::with_seed(SEED);
    (0..count).map(|_| random.u64(..below)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn keys_differ_repeat_from_run_to_run_and_look_like_uuids() {
        let keys: HashSet<_> = (0..10_000).map(key).collect();
        assert_eq!(keys.len(), 10_000);
        assert_eq!(key(7), key(7));
        assert!(keys.iter().all(|key| key.len() == 36 && key.matches('-').count() == 4));
    }

    #[test]
    fn draws_are_below_their_bound() {
        let numbers = drawn(1_000, 10);
        assert!(numbers.iter().all(|number| *number < 10));
        assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 10);
    }
}
