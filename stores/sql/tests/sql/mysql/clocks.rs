//! Clients whose clocks are ten minutes apart, and servers whose time of day is not UTC or jumps
//! for daylight saving: the server's time alone decides, and its zone nothing.
//!
//! No source file of the store reads a wall clock (`cargo xtask tidy` looks). What it reads of its
//! process is the runtime's monotonic clock, which these tests set ahead.

use std::time::Duration;

use leasehold::{Admission, LeaseStore as _, RecordState, Terms};
use leasehold_sql_server::MariaDb;

use crate::keys::{config, connect, fresh_address, granted, long_terms, ttl};
use crate::mysql::shared;

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
    let answer = shared().ask("SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS UNSIGNED)");
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

/// A zone whose clocks are set ahead by an hour a few seconds from now.
fn zone_that_jumps() -> String {
    let ask = "SELECT DAYOFYEAR(UTC_DATE()) - 1, TIME_TO_SEC(UTC_TIME()) + 4";
    let answer = shared().ask(ask);
    let (day, second) = answer.split_once('\t').expect("two columns");
    let second: u32 = second.parse().expect("a number");
    // Standard time is UTC. Daylight saving ends a day later, by a clock that is two days away.
    let (hours, minutes, seconds) = (second / 3600, second / 60 % 60, second % 60);
    format!("AAA0BBB-1,{day}/{hours}:{minutes}:{seconds},{day}/100")
}

#[tokio::test(flavor = "multi_thread")]
async fn daylight_saving_moves_no_deadline() {
    let server = MariaDb::start_in_zone(&[], &zone_that_jumps());
    let config = config(server.url()).late_grace(Duration::ZERO);
    let store = connect(config).await;
    let (running, kept) = (fresh_address(), fresh_address());
    let short = Duration::from_secs(20 * 60);
    let mut lease = granted(store.acquire(running, Terms::new(ttl(short))).await);
    let mut done = granted(store.acquire(kept, long_terms()).await);
    store.commit(&mut done, None, ttl(short)).await.expect("committed");
    // Ends: with the jump, which lies a few seconds ahead or is over.
    while server.ask("SELECT TIMEDIFF(SYSDATE(), UTC_TIMESTAMP())") != "01:00:00" {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    for address in [running, kept] {
        match store.peek(address).await.expect("an answer") {
            RecordState::InFlight { remaining } | RecordState::Completed { remaining, .. } => {
                assert!(remaining > short / 2, "{remaining:?}");
            }
            RecordState::Free => panic!("an hour was lost"),
        }
    }
    store.commit(&mut lease, None, ttl(short)).await.expect("it is held");
    let later = granted(store.acquire(fresh_address(), long_terms()).await);
    let apart = later.token().get().abs_diff(server_time());
    assert!(apart < short.as_micros() as u64, "tokens are microseconds of UTC");
}
