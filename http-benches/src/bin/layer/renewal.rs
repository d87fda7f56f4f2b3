//! What one renewal costs while many handlers run: time on a core, by the kernel's own account, by
//! the renewals that were counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Request;
use leasehold::Ttl;
use leasehold_http::{Duplicate, Metrics};
use leasehold_http_benches::pass::send;
use leasehold_http_benches::request::request;
use leasehold_http_benches::stack::{handler, policy, room, with_metrics};
use leasehold_http_benches::stopwatch::thread_time;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};

/// Handlers that run at once.
const RUNNING: u64 = 8_000;

/// A lease's time, short so that there are many renewals: one at each third.
const LEASE_TTL: Duration = Duration::from_millis(300);

/// How long is measured, after one time of a lease.
const MEASURED: Duration = Duration::from_millis(900);

/// Our layer around handlers that wait.
pub(crate) fn ours(runtime: &Runtime) -> Result<f64, String> {
    let ttl = Ttl::new(LEASE_TTL).map_err(|error| error.to_string())?;
    let policy = policy(Duplicate::Reject).lease_ttl(ttl);
    let (metrics, mut registry) = (Metrics::new(), Registry::default());
    metrics.register(&mut registry);
    let end = Arc::new(Semaphore::new(0));
    let ended = Arc::clone(&end);
    let handler = move |request: Request<_>| {
        let ended = Arc::clone(&ended);
        async move {
            // It never has a permit, and is closed at the end.
            drop(ended.acquire().await);
            handler::order(request).await
        }
    };
    let stack = with_metrics(room(10_000), policy, metrics, handler)?;
    runtime.block_on(async {
        let mut running = JoinSet::new();
        for number in 0..RUNNING {
            let mut stack = stack.clone();
            running.spawn(async move { send(&mut stack, request(number)).await });
        }
        let found = by_count(|| renewals(&registry)).await;
        end.close();
        while running.join_next().await.is_some() {}
        found
    })
}

/// Tasks that wake up as often and do nothing then: what a timer for each handler costs by itself.
pub(crate) fn tasks(runtime: &Runtime) -> Result<f64, String> {
    let woken = Arc::new(AtomicU64::new(0));
    runtime.block_on(async {
        let mut running = JoinSet::new();
        for _ in 0..RUNNING {
            let woken = Arc::clone(&woken);
            running.spawn(async move {
                let mut timer = interval(LEASE_TTL / 3);
                loop {
                    timer.tick().await;
                    // Only counted: nothing is read by it.
                    woken.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        by_count(|| Ok(woken.load(Ordering::Relaxed) as f64)).await
    })
}

/// Nanoseconds of this thread on a core, by what was counted meanwhile.
async fn by_count(count: impl Fn() -> Result<f64, String>) -> Result<f64, String> {
    sleep(LEASE_TTL).await;
    let before = (thread_time()?, count()?);
    sleep(MEASURED).await;
    let after = (thread_time()?, count()?);
    let counted = after.1 - before.1;
    if counted < 1.0 {
        return Err("nothing was renewed".to_owned());
    }
    Ok((after.0 - before.0).as_nanos() as f64 / counted)
}

/// Renewals so far, as the metrics have them.
fn renewals(registry: &Registry) -> Result<f64, String> {
    let mut page = String::new();
    encode(&mut page, registry).map_err(|error| error.to_string())?;
    let value = page.lines().find_map(|line| line.strip_prefix("leasehold_renewals_total "));
    value.and_then(|value| value.parse().ok()).ok_or_else(|| "renewals are not counted".to_owned())
}
