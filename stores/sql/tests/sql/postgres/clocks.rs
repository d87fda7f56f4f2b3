//! Clients whose clocks are ten minutes apart: the server's alone decides.
//!
//! No source file of the store reads a wall clock (`cargo xtask tidy` looks). What it reads of its
//! process is the runtime's monotonic clock, which these tests set ahead.

use std::time::Duration;

use leasehold::{Admission, LeaseStore as _, Terms};

use crate::keys::{config, connect, fresh_address, granted, long_terms, ttl};
use crate::postgres::shared;

const APART: Duration = Duration::from_secs(10 * 60);
const SHORT: Duration = Duration::from_millis(500);

/// Runs a client in a runtime of its own whose clock is so far ahead.
fn client<T: Send>(ahead: Duration, act: impl AsyncFnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let run = scope.spawn(move || {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                tokio::time::pause();
                tokio::time::advance(ahead).await;
                tokio::time::resume();
                act().await
            })
        });
        run.join().expect("the client does not panic")
    })
}

/// Microseconds since 1970 by the server's clock.
fn server_time() -> u64 {
    let answer = shared().ask("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint");
    answer.parse().expect("a number")
}

#[test]
fn lease_of_one_client_ends_for_the_other_when_the_server_says_so() {
    let config = config(shared().url());
    for (first, second) in [(Duration::ZERO, APART), (APART, Duration::ZERO)] {
        let address = fresh_address();
        let begun = server_time();
        let old = client(first, async || {
            let store = connect(config.clone()).await;
            granted(store.acquire(address, Terms::new(ttl(SHORT))).await).token()
        });
        let later = client(second, async || {
            let store = connect(config.clone()).await;
            loop {
                match store.acquire(address, long_terms()).await {
                    Ok(Admission::Granted(lease)) => break lease.token(),
                    Ok(Admission::InFlight { remaining }) => {
                        assert!(remaining <= SHORT, "{remaining:?}");
                        tokio::time::sleep(remaining).await;
                    }
                    answer => panic!("{answer:?}"),
                }
            }
        });
        let ended = server_time();
        assert!(Duration::from_micros(ended - begun) >= SHORT, "it was taken over too early");
        assert!(later > old);
        // Tokens are the server's microseconds.
        assert!(begun <= old.get() && later.get() <= ended);
    }
}
