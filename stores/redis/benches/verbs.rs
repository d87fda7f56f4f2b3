//! What do acquire and commit of a fresh key cost beside two raw calls of scripts, on the same
//! client and the same server?
//!
//! Contenders take turns, round by round, and the median of each counts. *same* sends the very
//! scripts and arguments of the store by the client library alone: what is missing to 1 is this
//! crate's own cost. *least* sends scripts that do one `SET` with as many bytes of arguments: what
//! is missing to 1 is the price of the contract too. `near` is a duplicate that the near cache
//! answers. Run by `cargo xtask bench-redis`, or `cargo bench -p leasehold-redis --bench verbs`;
//! without `--bench` each runs once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leasehold::{
    Address, Admission, Attempt, Digester, LeaseStore as _, MemoryConfig, MemoryStore, Outcome,
    Terms, Ttl,
};
use leasehold_redis::{NEAR_CACHE_TTL, NearCache, RedisConfig, RedisStore};
use leasehold_redis_server::Server;
use redis::aio::MultiplexedConnection;
use tokio::task::JoinSet;

const CALLERS: [usize; 3] = [1, 16, 256];
const ROUNDS: usize = 7;

/// For a look: too few for figures that are handed on.
const QUICK_ROUNDS: usize = 3;

const HOUR_MICROS: u64 = 3_600_000_000;

/// A small response, such as a gateway keeps.
const OUTCOME: &[u8] = &[b'x'; 200];

const ACQUIRE: &str =
    concat!(include_str!("../src/scripts/record.lua"), include_str!("../src/scripts/acquire.lua"));
const COMMIT: &str =
    concat!(include_str!("../src/scripts/record.lua"), include_str!("../src/scripts/commit.lua"));
const LEAST_ACQUIRE: &str =
    "return redis.call('SET', KEYS[1], ARGV[1] .. ARGV[2], 'NX', 'PX', 3600000)";
const LEAST_COMMIT: &str = "return redis.call('SET', KEYS[1], ARGV[4], 'PX', 3600000)";

fn hour() -> Ttl {
    Ttl::new(Duration::from_secs(3600)).expect("a valid duration")
}

fn fresh_address() -> Address {
    Digester::plain().address(&[&Attempt::random().to_bits().to_le_bytes()])
}

#[derive(Clone)]
struct Raw {
    connection: MultiplexedConnection,
    acquire: Arc<redis::Script>,
    commit: Arc<redis::Script>,
}

impl Raw {
    async fn new(server: &Server, acquire: &str, commit: &str) -> Self {
        let client = redis::Client::open(server.url()).expect("a valid url");
        let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
        let mut connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .expect("the server answers");
        let [acquire, commit] = [acquire, commit].map(|text| Arc::new(redis::Script::new(text)));
        for script in [&acquire, &commit] {
            script.load_async(&mut connection).await.expect("the script is loaded");
        }
        Self { connection, acquire, commit }
    }

    async fn call(&mut self, hash: &str, key: &[u8], arguments: &[&[u8]]) -> redis::Value {
        let mut command = redis::cmd("EVALSHA");
        command.arg(hash).arg(1).arg(key);
        for argument in arguments {
            command.arg(argument);
        }
        let answer = self.connection.send_packed_command(&command).await;
        answer.and_then(redis::Value::extract_error).expect("the script runs")
    }

    async fn pair(&mut self) {
        let mut key = b"leasehold:".to_vec();
        for byte in fresh_address().as_bytes() {
            key.extend_from_slice(format!("{byte:02x}").as_bytes());
        }
        let ttl = HOUR_MICROS.to_string();
        let attempt = Attempt::random().to_bits().to_be_bytes();
        let arguments = [&attempt[..], &[], ttl.as_bytes(), b"30000000"];
        let hash = Arc::clone(&self.acquire);
        let answer = self.call(hash.get_hash(), &key, &arguments).await;
        let token = match &answer {
            redis::Value::Array(fields) => match fields.get(1) {
                Some(redis::Value::Int(token)) => token.to_string(),
                _ => panic!("{answer:?}"),
            },
            // The least script has no token; one of the same length.
            _ => "1764551043123456".to_owned(),
        };
        let arguments = [token.as_bytes(), ttl.as_bytes(), b"3", OUTCOME];
        let hash = Arc::clone(&self.commit);
        self.call(hash.get_hash(), &key, &arguments).await;
    }
}

async fn pair(store: &RedisStore) {
    match store.acquire(fresh_address(), Terms::new(hour())).await {
        Ok(Admission::Granted(mut lease)) => {
            let outcome = Outcome::new(bytes::Bytes::from_static(OUTCOME));
            store.commit(&mut lease, Some(outcome), hour()).await.expect("committed");
        }
        answer => panic!("{answer:?}"),
    }
}

/// Pairs a second, of so many callers who make so many pairs in all.
async fn measure<F>(callers: usize, pairs: usize, mut caller: impl FnMut(usize) -> F) -> f64
where
    F: Future<Output = ()> + Send + 'static,
{
    let each = pairs.div_ceil(callers);
    let begun = now();
    let mut running = JoinSet::new();
    for _ in 0..callers {
        running.spawn(caller(each));
    }
    while let Some(ended) = running.join_next().await {
        ended.expect("no caller panics");
    }
    (each * callers) as f64 / begun.elapsed().as_secs_f64()
}

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn now() -> Instant {
    Instant::now()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

async fn compare(server: &Server, rounds: usize, scale: usize) {
    let store = RedisStore::connect(RedisConfig::new(server.url())).await.expect("it connects");
    let store = Arc::new(store);
    let same = Raw::new(server, ACQUIRE, COMMIT).await;
    let least = Raw::new(server, LEAST_ACQUIRE, LEAST_COMMIT).await;
    println!("callers   store pairs/s   same (ratio)      least (ratio)");
    for callers in CALLERS {
        let pairs = scale * if callers == 1 { 1 } else { 8 };
        let mut rates = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..rounds {
            let ours = measure(callers, pairs, |each| {
                let store = Arc::clone(&store);
                async move {
                    for _ in 0..each {
                        pair(&store).await;
                    }
                }
            });
            rates[0].push(ours.await);
            for (raw, rates) in [&same, &least].into_iter().zip(&mut rates[1..]) {
                let theirs = measure(callers, pairs, |each| {
                    let mut raw = raw.clone();
                    async move {
                        for _ in 0..each {
                            raw.pair().await;
                        }
                    }
                });
                rates.push(theirs.await);
            }
            server.ask(&["FLUSHALL"]);
        }
        let [ours, same, least] = rates.map(median);
        println!(
            "{callers:>7} {ours:>15.0} {same:>9.0} ({:.2}) {least:>11.0} ({:.2})",
            ours / same,
            ours / least
        );
    }
}

async fn near(server: &Server, calls: usize) {
    let store = RedisStore::connect(RedisConfig::new(server.url())).await.expect("it connects");
    let front = MemoryConfig::default().max_entries(1_000).late_grace(Duration::ZERO);
    let front = MemoryStore::new(front).expect("a valid configuration");
    let store = NearCache::new(store, front, hour());
    let address = fresh_address();
    match store.acquire(address, Terms::new(hour())).await {
        Ok(Admission::Granted(mut lease)) => {
            store.commit(&mut lease, None, hour()).await.expect("committed");
        }
        answer => panic!("{answer:?}"),
    }
    let begun = now();
    for _ in 0..calls {
        let answer = store.acquire(address, Terms::new(hour())).await;
        assert!(matches!(answer, Ok(Admission::Completed { .. })), "{answer:?}");
    }
    let nanos = begun.elapsed().as_nanos() / calls as u128;
    println!("near: {nanos} ns a duplicate, of an entry that lives {:?}", NEAR_CACHE_TTL.get());
}

fn main() {
    let is_asked_for = |name: &str| std::env::args().any(|argument| argument == name);
    let rounds = if is_asked_for("--quick") { QUICK_ROUNDS } else { ROUNDS };
    let measures = is_asked_for("--bench");
    let (rounds, scale, calls) = if measures { (rounds, 4_000, 1_000_000) } else { (1, 32, 100) };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let server = Server::start(&["--maxmemory-policy", "noeviction"]);
        let info = server.ask(&["INFO", "server"]);
        let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
        println!("redis {}, medians of {rounds}", version.unwrap_or("of no version"));
        compare(&server, rounds, scale).await;
        near(&server, calls).await;
    });
}
