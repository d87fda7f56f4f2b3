//! The Redis store keeps every law of the contract: on one server, on a cluster, behind a near
//! cache. The clock is the server's, so time has to pass.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use leasehold::{Attempt, LeaseStore, MemoryConfig, MemoryStore};
use leasehold_conformance::Subject;
use leasehold_redis::{NEAR_CACHE_TTL, NearCache, RedisConfig, RedisStore};
use leasehold_redis_server::{Cluster, Server};
use tokio::time::Instant;

/// Far above the pauses of a busy machine, since a law must get its word in within it.
const LATE_GRACE: Duration = Duration::from_secs(4);

/// One server for all laws, each of which picks addresses of its own.
fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| Server::start(&["--maxmemory-policy", "noeviction"]))
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(Cluster::start)
}

/// Where the records are.
struct Place {
    url: String,
    key_prefix: String,
}

/// A store that can be made again, as a process does that starts later.
trait Made: LeaseStore + Sized {
    fn make(place: &Place) -> impl Future<Output = Self> + Send;
}

impl Made for RedisStore {
    async fn make(place: &Place) -> Self {
        let config = RedisConfig::new(place.url.as_str())
            .key_prefix(place.key_prefix.as_str())
            .late_grace(LATE_GRACE)
            // Many laws at once on a busy machine.
            .store_timeout(Duration::from_secs(30));
        Self::connect(config).await.expect("the server answers")
    }
}

impl Made for NearCache<RedisStore, MemoryStore> {
    async fn make(place: &Place) -> Self {
        let front = MemoryConfig::default().max_entries(64).late_grace(Duration::ZERO);
        let front = MemoryStore::new(front).expect("a valid configuration");
        Self::new(RedisStore::make(place).await, front, NEAR_CACHE_TTL)
    }
}

struct Shared<S> {
    place: Place,
    store: Arc<S>,
    start: Instant,
}

impl<S: Made> Shared<S> {
    async fn new(url: String) -> Self {
        let key_prefix = format!("{:032x}:", Attempt::random().to_bits());
        let place = Place { url, key_prefix };
        let store = Arc::new(S::make(&place).await);
        Self { place, store, start: Instant::now() }
    }
}

impl<S: Made> Subject for Shared<S> {
    type Store = S;

    const RECOGNISES_ATTEMPTS: bool = true;

    fn store(&self) -> &Arc<S> {
        &self.store
    }

    fn late_grace(&self) -> Duration {
        LATE_GRACE
    }

    /// Keys end at whole milliseconds of the server's clock, and two clocks' seconds differ a
    /// little.
    fn resolution(&self) -> Duration {
        Duration::from_millis(25)
    }

    /// Some laws have to ask once more before it is over.
    fn short_ttl(&self) -> Duration {
        Duration::from_millis(800)
    }

    fn max_entries(&self) -> Option<usize> {
        None
    }

    fn place_lag(&self, _: Duration) -> Duration {
        self.resolution()
    }

    fn max_outcome_bytes(&self) -> Option<usize> {
        None
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    async fn advance(&self, by: Duration) {
        tokio::time::sleep(by).await;
    }

    /// One cannot be told: a token and an address say nothing of the server.
    async fn stranger(&self) -> Option<Arc<S>> {
        None
    }

    async fn restarted(&self) -> Arc<S> {
        Arc::new(S::make(&self.place).await)
    }
}

mod one_server {
    use super::{RedisStore, Shared, server};

    leasehold_conformance::laws_side_by_side!(Shared::<RedisStore>::new(server().url()).await);
}

mod three_masters {
    use super::{RedisStore, Shared, cluster};

    leasehold_conformance::laws_side_by_side!(Shared::<RedisStore>::new(cluster().url()).await);
}

mod near_cache {
    use super::{MemoryStore, NearCache, RedisStore, Shared, server};

    leasehold_conformance::laws_side_by_side!(
        Shared::<NearCache<RedisStore, MemoryStore>>::new(server().url()).await
    );
}
