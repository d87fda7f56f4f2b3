//! One pending success: tried again until the store has it, or cannot have it any more.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use leasehold::{AcquireError, Admission, Attempt, CommitError, LeaseStore, Terms};
use tokio::time::{Instant, sleep_until};

use super::listing::Listed;
use crate::held::HeldLease;
use crate::layer::Prepared;
use crate::pauses::Pauses;
use crate::run::Grant;
use crate::store_calls::Verb;
use crate::timed::{Slow, timed_since};

/// The first pause. Most failures are a connection that was lost and is there again. Arbitrary.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause: several attempts within a lease. Arbitrary beyond that.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Shortest time limit of a call: nobody waits for these, and a store that is merely slow must be
/// heard in the end. Arbitrary.
const SHORTEST_LIMIT: Duration = Duration::from_secs(5);

/// A success to record.
pub(super) struct Job {
    pub(super) listed: Listed,
    pub(super) prepared: Arc<Prepared>,
    pub(super) terms: Terms,
    /// When it is given up.
    pub(super) until: Instant,
    pub(super) task: Task,
    /// Whether the run is counted among those whose commit failed.
    pub(super) counted: bool,
}

/// What is left to do.
pub(super) enum Task {
    /// A commit under the lease of the run.
    Commit(Grant),
    /// A lease first: the run had none. With the lease that was granted for that, if one was.
    Record(Option<Lent>),
    /// Another was granted the key. If that was a duplicate in this process, whose answer is still
    /// on its way, its lease is lent until then.
    TakenOver(Instant),
}

/// A lease that was granted to record a success, or to a duplicate of it.
pub(super) struct Lent {
    pub(super) grant: Grant,
    /// Until when a commit under it may land.
    pub(super) until: Instant,
}

/// How one attempt went.
enum Attempted {
    Done,
    Again,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("address", &self.listed.address).finish_non_exhaustive()
    }
}

impl Job {
    /// Tries until it is done, or given up. Its duplicates are answered as completed meanwhile.
    pub(super) async fn repeat<S: LeaseStore>(mut self, store: &S, late_grace: Duration) {
        let mut pauses = Pauses::new(FIRST_PAUSE, LONGEST_PAUSE, self.terms.attempt);
        // Ends at `until` at the latest, which only a lease that was lent moves on.
        loop {
            let now = Instant::now();
            let (until, why) = match self.task {
                Task::TakenOver(until) => (until, "its key was taken over"),
                Task::Commit(_) | Task::Record(_) => (self.until, "its time is over"),
            };
            if now >= until {
                self.give_up(why);
                return;
            }
            tokio::select! {
                biased;
                () = self.listed.forgotten() => {}
                () = self.listed.lent() => {}
                () = sleep_until((now + pauses.next()).min(until)) => {}
            }
            if let Some(lent) = self.listed.take_lent() {
                self.until = self.until.max(lent.until);
                self.task = Task::Record(Some(lent));
            }
            let is_forgotten = self.listed.is_forgotten();
            if !is_forgotten
                && matches!(self.task, Task::Record(_))
                && matches!(self.acquire(store, late_grace).await, Attempted::Done)
            {
                return;
            }
            // Looked at between a grant and its commit: a lease from before the store has forgotten
            // the key is superseded by that, and under one from after it nothing may be committed.
            if is_forgotten || self.listed.is_forgotten() {
                self.free(store).await;
                return;
            }
            if matches!(self.commit(store).await, Attempted::Done) {
                return;
            }
        }
    }

    /// Asks for a lease to commit under, unless there is one that may still do. Done if there is no
    /// need for one, or no hope.
    async fn acquire<S: LeaseStore>(&mut self, store: &S, late_grace: Duration) -> Attempted {
        let since = Instant::now();
        match &self.task {
            Task::Record(Some(lent)) if since < lent.until => return Attempted::Again,
            Task::Record(Some(_)) => self.lose_lease(),
            Task::Record(None) | Task::Commit(_) | Task::TakenOver(_) => {}
        }
        let call = store.acquire(self.listed.address, self.terms);
        match patiently(Verb::Acquire, &self.prepared, call).await {
            Ok(Ok(Admission::Granted(lease))) => {
                let held = HeldLease::new(&lease, self.listed.address, Arc::clone(&self.prepared));
                let lease_ttl = self.terms.lease_ttl.get();
                let end = since.checked_add(lease_ttl.saturating_add(late_grace));
                let until = end.map_or(self.until, |end| end.min(self.until));
                let grant = Grant { lease, held, since };
                self.task = Task::Record(Some(Lent { grant, until }));
            }
            Ok(Ok(Admission::Completed { .. })) => {
                tracing::debug!(address = %self.listed.address, "it was recorded by another run");
                return Attempted::Done;
            }
            Ok(Ok(Admission::Mismatch)) => {
                self.give_up("its key stands for another request");
                return Attempted::Done;
            }
            Ok(Err(AcquireError::Closed | AcquireError::ClockExhausted)) => {
                self.give_up("the store takes no new keys");
                return Attempted::Done;
            }
            // Another run will end, a full store have room, and a silent one speak. A lease that
            // was granted unheard is granted to the same attempt again, or ends.
            Ok(Ok(Admission::InFlight { .. }) | Err(_)) | Err(Slow) => {}
        }
        Attempted::Again
    }

    /// Gives up, and gives a lease back that was only granted to record what is forgotten.
    async fn free<S: LeaseStore>(&mut self, store: &S) {
        tracing::info!(address = %self.listed.address, "a pending commit was forgotten");
        if let Task::Record(Some(lent)) = &mut self.task {
            let call = store.release(&mut lent.grant.lease);
            // Where that fails it ends by itself.
            let _freed = patiently(Verb::Release, &self.prepared, call).await;
        }
    }

    /// Commits, if there is a lease.
    async fn commit<S: LeaseStore>(&mut self, store: &S) -> Attempted {
        let (address, outcome) = (self.listed.address, self.listed.outcome());
        let ttl = self.prepared.policy.ttl;
        let grant = match &mut self.task {
            Task::Commit(grant) | Task::Record(Some(Lent { grant, .. })) => grant,
            Task::Record(None) | Task::TakenOver(_) => return Attempted::Again,
        };
        let call = store.commit(&mut grant.lease, outcome, ttl);
        match patiently(Verb::Commit, &self.prepared, call).await {
            Ok(Ok(())) => tracing::info!(%address, "a pending commit has landed"),
            Ok(Err(error @ CommitError::Unavailable(_))) => return again(address, &error),
            Ok(Err(error)) => {
                if matches!(error, CommitError::Superseded) {
                    grant.held.lose();
                    if matches!(self.task, Task::Record(_)) {
                        // Who has taken over may have recorded it, or fail.
                        self.lose_lease();
                    } else {
                        // Whoever is answered in this process was asked for before now, and no
                        // longer than this: while it is listed nobody asks.
                        let limit = self.prepared.policy.store_timeout;
                        self.task = Task::TakenOver(Instant::now() + limit);
                    }
                    return again(address, &error);
                }
                self.count();
                tracing::warn!(%address, error = &error as &dyn Error, "a pending commit is lost");
            }
            Err(slow @ Slow) => return again(address, &slow),
        }
        Attempted::Done
    }

    /// From now on another lease is needed, in an attempt of its own.
    fn lose_lease(&mut self) {
        self.task = Task::Record(None);
        self.terms.attempt = Attempt::random();
    }

    /// Counts the failure of this run's commit, once.
    fn count(&mut self) {
        if !std::mem::replace(&mut self.counted, true) {
            self.prepared.handles.commit_errors.inc();
        }
    }

    fn give_up(&mut self, why: &str) {
        self.count();
        let address = self.listed.address;
        tracing::warn!(%address, why, "a pending commit is given up, the write may run again");
    }
}

/// Waits for a call longer than a request would, and records how long that was.
fn patiently<T, E: Error + 'static>(
    verb: Verb,
    prepared: &Prepared,
    call: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<Result<T, E>, Slow>> {
    let limit = prepared.policy.store_timeout.max(SHORTEST_LIMIT);
    timed_since(Instant::now(), limit, verb, prepared, call)
}

fn again(address: leasehold::Address, error: &(dyn Error + 'static)) -> Attempted {
    tracing::debug!(%address, error, "a pending commit failed again");
    Attempted::Again
}
