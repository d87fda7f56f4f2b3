//! Contenders that take turns, and what each makes in a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leasehold::{Address, Admission, Attempt, Digester, LeaseStore as _, Outcome, Terms, Ttl};
use leasehold_sql::{SqlConfig, SqlStore, migrate};
use tokio::task::JoinSet;

use crate::bare::{Bare, OUTCOME, TABLE};

const CALLERS: [usize; 2] = [1, 16];

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    rounds: usize,
    turn: Duration,
}

impl Plan {
    /// Enough for a median.
    pub(crate) const MEASURE: Self = Self { rounds: 31, turn: Duration::from_millis(200) };
    /// Enough to see that it runs.
    pub(crate) const TRY: Self = Self { rounds: 1, turn: Duration::from_millis(20) };
}

fn hour() -> Ttl {
    Ttl::new(Duration::from_secs(3600)).expect("a valid duration")
}

pub(crate) fn fresh_address() -> Address {
    Digester::plain().address(&[&Attempt::random().to_bits().to_le_bytes()])
}

async fn pair(store: &SqlStore) {
    match store.acquire(fresh_address(), Terms::new(hour())).await {
        Ok(Admission::Granted(mut lease)) => {
            let outcome = Outcome::new(bytes::Bytes::from_static(OUTCOME));
            store.commit(&mut lease, Some(outcome), hour()).await.expect("committed");
        }
        answer => panic!("{answer:?}"),
    }
}

/// What all callers do in a second, each of whom does it again and again for a turn.
async fn measure<C, F>(
    turn: Duration,
    callers: Vec<C>,
    once: impl Fn(C) -> F + Copy + Send + 'static,
) -> f64
where
    C: Send + 'static,
    F: Future<Output = C> + Send + 'static,
{
    let begun = now();
    let mut running = JoinSet::new();
    for mut caller in callers {
        running.spawn(async move {
            let mut count = 0;
            while count == 0 || begun.elapsed() < turn {
                caller = once(caller).await;
                count += 1;
            }
            count
        });
    }
    let count: u32 = running.join_all().await.into_iter().sum();
    f64::from(count) / begun.elapsed().as_secs_f64()
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn now() -> Instant {
    Instant::now()
}

/// Of none it is no number.
fn median(rates: &[f64]) -> f64 {
    let mut rates = rates.to_vec();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(f64::NAN)
}

pub(crate) async fn race<B: Bare>(name: &str, url: &str, plan: Plan) {
    let most = CALLERS.into_iter().max().unwrap_or(1);
    let config = SqlConfig::new(url)
        .auto_migrate(true)
        .connections(u32::try_from(most).expect("a few"))
        .store_timeout(Duration::from_secs(60));
    let store = Arc::new(SqlStore::connect(config.clone()).await.expect("it connects"));
    migrate(&config.table(TABLE)).await.expect("the other table is made");
    let pool = B::pool(url, most).await;
    println!("{name}: pairs a second (and the store's by each, in the same round)");
    println!("callers      store              bare              pool     duplicates");
    for callers in CALLERS {
        let mut rates = [const { Vec::new() }; 4];
        for _ in 0..plan.rounds {
            let stores = || vec![Arc::clone(&store); callers];
            rates[0].push(measure(plan.turn, stores(), ours).await);
            let bare = B::connect(url, callers).await;
            rates[1].push(measure(plan.turn, bare, theirs).await);
            if let Some(pool) = &pool {
                rates[2].push(measure(plan.turn, vec![pool.clone(); callers], B::pooled).await);
            }
            let known = fresh_address();
            finish(&store, known).await;
            let known = stores().into_iter().map(|store| (store, known)).collect();
            rates[3].push(measure(plan.turn, known, duplicate).await);
        }
        let [to_bare, to_pool] = [1, 2].map(|other| {
            // Of each round by itself, since others' work slows down some rounds and not others.
            let pairs = rates[0].iter().zip(&rates[other]);
            pairs.map(|(ours, other)| ours / other).collect::<Vec<_>>()
        });
        let [ours, bare, pool, duplicates, to_bare, to_pool] =
            [&rates[0], &rates[1], &rates[2], &rates[3], &to_bare, &to_pool]
                .map(|rates| median(rates));
        println!(
            "{callers:>7} {ours:>10.0} {bare:>10.0} ({to_bare:.2}) \
             {pool:>10.0} ({to_pool:.2}) {duplicates:>10.0}"
        );
    }
}

async fn ours(store: Arc<SqlStore>) -> Arc<SqlStore> {
    pair(&store).await;
    store
}

async fn theirs<B: Bare>(mut bare: B) -> B {
    bare.pair().await;
    bare
}

async fn finish(store: &SqlStore, address: Address) {
    match store.acquire(address, Terms::new(hour())).await {
        Ok(Admission::Granted(mut lease)) => {
            store.commit(&mut lease, None, hour()).await.expect("committed");
        }
        answer => panic!("{answer:?}"),
    }
}

async fn duplicate((store, known): (Arc<SqlStore>, Address)) -> (Arc<SqlStore>, Address) {
    let answer = store.acquire(known, Terms::new(hour())).await;
    assert!(matches!(answer, Ok(Admission::Completed { .. })), "{answer:?}");
    (store, known)
}
