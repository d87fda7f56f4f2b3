//! The upkeep of a store in a database, as a task: what is over is deleted, what was left behind is
//! marked and counted. No answer depends on it.

use std::sync::Arc;
use std::time::Duration;

use leasehold_http::Metrics;
use tokio::task::JoinHandle;

use crate::store::AnyStore;

/// The running task; it ends with this value.
#[derive(Debug)]
pub(crate) struct Upkeep(JoinHandle<()>);

impl Upkeep {
    /// Starts it, if there is a database to look after and an interval to do it in.
    pub(crate) fn start(store: &AnyStore, interval: Duration, metrics: &Metrics) -> Option<Self> {
        let AnyStore::Sql(store) = store else {
            return None;
        };
        if interval.is_zero() {
            return None;
        }
        let (store, metrics) = (Arc::clone(store), metrics.clone());
        Some(Self(tokio::spawn(async move {
            let report = |done: &Result<leasehold_sql::Upkeep, _>| {
                if let Ok(done) = done {
                    metrics.observe_stuck(done.stuck);
                }
            };
            match store.upkeep(interval, report).await {}
        })))
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.0.abort();
    }
}
