//! Support for the cases, and the cases, by theme.

mod client;
mod process;
mod upstream;

mod basics;
mod configuration;
mod demo;
mod lifecycle;
mod protocol;
mod unknown;

use std::future::Future;
use std::time::Duration;

/// Longest that anything may take before a case fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits for something that must come soon.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come within {PATIENCE:?}"),
    }
}

/// A key that no other case uses.
fn new_key() -> String {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("key-{}", COUNT.fetch_add(1, Ordering::Relaxed))
}
