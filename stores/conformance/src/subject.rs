//! What the laws need to know about the store that they are run against.
//!
//! A subject states facts about its store; the laws decide what follows. A law that a store cannot
//! have is replaced by an assertion that the store indeed lacks what the law is about.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use leasehold::LeaseStore;

/// A store under test, with its clock.
///
/// Every law gets a subject of its own and picks addresses at random, so a store that is shared
/// with others will do, as long as closing the subject's handle closes no other handle. A bounded
/// store must be new: laws about the bound fill it, so its bound should be small (tens).
///
/// A clock that is real rather than manual only has to wait long enough. Its durations should be
/// short, yet [`short_ttl`](Subject::short_ttl) and [`late_grace`](Subject::late_grace) far above
/// both the resolution and the pauses of a busy machine.
pub trait Subject: Send + Sync {
    /// The store.
    type Store: LeaseStore;

    /// Whether an acquire that repeats an attempt is granted the same lease again, and an abandon
    /// releases it. A store that cannot lose a reply need not.
    const RECOGNISES_ATTEMPTS: bool;

    /// The store under test.
    fn store(&self) -> &Arc<Self::Store>;

    /// How long a lease outlives its deadline for its holder alone. Zero for no grace.
    fn late_grace(&self) -> Duration;

    /// How much later than its TTL an end may show on read, and how far a remaining time may be
    /// off. Never early.
    fn resolution(&self) -> Duration;

    /// A TTL that the laws about time let pass: at least four times the resolution.
    fn short_ttl(&self) -> Duration;

    /// Most entries of the store; `None` if it has no bound.
    fn max_entries(&self) -> Option<usize>;

    /// How long after its end an entry of this TTL may still hold its place against other keys and
    /// sweeps, the resolution included.
    fn place_lag(&self, ttl: Duration) -> Duration;

    /// Most bytes of all outcomes; `None` if they have no bound. Zero for a store that keeps none,
    /// else at least 1,024.
    fn max_outcome_bytes(&self) -> Option<usize>;

    /// How much time has passed by the subject's clock, since any fixed moment.
    fn elapsed(&self) -> Duration;

    /// Lets at least `by` pass: moves a manual clock by exactly that, waits on a real one.
    fn advance(&self, by: Duration) -> impl Future<Output = ()> + Send;

    /// A store of the same kind that shares nothing with the one under test, if leases of one are
    /// told apart from those of the other; `None` if the kind cannot tell.
    fn stranger(&self) -> impl Future<Output = Option<Arc<Self::Store>>> + Send;

    /// The store as a process finds it that starts later: the same records where they are shared,
    /// none where they died with the process.
    fn restarted(&self) -> impl Future<Output = Arc<Self::Store>> + Send;
}
