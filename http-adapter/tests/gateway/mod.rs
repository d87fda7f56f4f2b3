//! Support for the cases, and the cases, by theme.

mod client;
mod database;
mod process;
mod shared;
mod upstream;

mod basics;
mod configuration;
mod demo;
mod disconnect;
mod fingerprint;
mod idle;
mod lifecycle;
mod problems;
mod protocol;
mod proxying;
mod records;
mod redis;
mod replay;
mod sql;
mod storm;
mod unknown;
mod verdicts;
mod waiting;

use std::future::Future;
use std::sync::Mutex;
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

/// A number that no other case has.
fn next_number() -> usize {
    static COUNT: Mutex<usize> = Mutex::new(0);
    let mut count = COUNT.lock().expect("unpoisoned");
    *count += 1;
    *count
}

/// A key that no other case uses.
fn new_key() -> String {
    format!("key-{}", next_number())
}
