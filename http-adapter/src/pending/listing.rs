//! Which successes are pending, within a bound, and what their duplicates get.
//!
//! It knows nothing of stores, and of leases only that one may be lent to a success.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leasehold::{Address, Admission, Fingerprint, Outcome, Terms};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::repeat::Lent;
use crate::by_address::ByAddress;
use crate::open_runs::differ;

/// What has succeeded.
#[derive(Clone, Debug)]
pub(super) struct Success {
    /// Which run it was: the bits of an attempt.
    pub(super) id: u128,
    pub(super) fingerprint: Option<Fingerprint>,
    /// What a replay needs, if it is to be kept.
    pub(super) outcome: Option<Outcome>,
    /// Until when the key is to be kept.
    pub(super) until: Instant,
}

impl Success {
    /// What a duplicate gets.
    fn admission(&self, terms: &Terms) -> Admission {
        if differ(self.fingerprint, terms.fingerprint) {
            return Admission::Mismatch;
        }
        let remaining = self.until.saturating_duration_since(Instant::now());
        Admission::Completed { outcome: self.outcome.clone(), remaining }
    }
}

/// The pending successes. A clone looks at the same ones.
#[derive(Clone, Debug)]
pub(super) struct Listing {
    shared: Arc<Shared>,
}

struct Entry {
    success: Success,
    /// Becomes true when the key is forgotten.
    forgotten: watch::Sender<bool>,
    /// A lease that was granted to a duplicate, for whoever repeats the commit.
    lent: Option<Lent>,
    /// Told when one is lent.
    told: Arc<Notify>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("success", &self.success).finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Shared {
    successes: ByAddress<Entry>,
    /// Locked before a part of `successes`, never after it.
    tally: Mutex<Tally>,
    /// Most successes and outcomes, counted together.
    max: usize,
    /// Told when there is none any more.
    empty: Notify,
}

#[derive(Debug, Default)]
struct Tally {
    successes: usize,
    /// Those that have an outcome, the oldest first.
    outcomes: VecDeque<(Address, u128)>,
}

impl Tally {
    fn places(&self) -> usize {
        self.successes.saturating_add(self.outcomes.len())
    }
}

impl Listing {
    pub(super) fn new(max: usize) -> Self {
        let shared = Shared {
            successes: ByAddress::default(),
            tally: Mutex::default(),
            max,
            empty: Notify::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Lists a success, if there is room. A success takes a place and its outcome another one:
    /// outcomes are dropped first, the oldest first, and then the newcomer is refused. Those that
    /// are listed stay: their duplicates have been told so.
    pub(super) fn enlist(&self, address: Address, mut success: Success) -> Option<Listed> {
        let mut tally = self.tally();
        while tally.places() >= self.shared.max {
            let (oldest, id) = tally.outcomes.pop_front()?;
            let mut successes = self.shared.successes.lock(&oldest);
            if let Some(entry) = successes.get_mut(&oldest).filter(|entry| entry.success.id == id) {
                entry.success.outcome = None;
            }
        }
        tally.successes += 1;
        let id = success.id;
        if tally.places() >= self.shared.max {
            success.outcome = None;
        } else if success.outcome.is_some() {
            tally.outcomes.push_back((address, id));
        }
        let forgotten = watch::Sender::new(false);
        let is_forgotten = forgotten.subscribe();
        let told = Arc::new(Notify::new());
        let entry = Entry { success, forgotten, lent: None, told: Arc::clone(&told) };
        // A lease that was lent to an earlier success of the key ends by itself.
        let _earlier = self.shared.successes.lock(&address).insert(address, entry);
        drop(tally);
        Some(Listed { listing: self.clone(), address, id, forgotten: is_forgotten, told })
    }

    /// Takes a key's success off the list, and tells whoever repeats it. False if there is none.
    pub(super) fn forget(&self, address: &Address) -> bool {
        let Some(entry) = self.shared.successes.lock(address).remove(address) else { return false };
        entry.forgotten.send_replace(true);
        true
    }

    /// What a duplicate of a pending success gets.
    pub(super) fn completed(&self, address: &Address, terms: &Terms) -> Option<Admission> {
        let successes = self.shared.successes.lock(address);
        Some(successes.get(address)?.success.admission(terms))
    }

    /// Lends a lease of the key to its success, and says what the duplicate gets that was granted
    /// it. The lease comes back if there is no such success any more.
    pub(super) fn lend(
        &self,
        address: &Address,
        terms: &Terms,
        lent: Lent,
    ) -> Result<Admission, Lent> {
        let mut successes = self.shared.successes.lock(address);
        let Some(entry) = successes.get_mut(address) else { return Err(lent) };
        entry.lent = Some(lent);
        entry.told.notify_one();
        Ok(entry.success.admission(terms))
    }

    pub(super) fn count(&self) -> usize {
        self.tally().successes
    }

    /// Waits until there is none.
    pub(super) async fn empty(&self) {
        loop {
            // Made before the look: from then on it hears of an end in between.
            let told = self.shared.empty.notified();
            if self.count() == 0 {
                return;
            }
            told.await;
        }
    }

    /// Nothing panics with this lock held; were it poisoned, the tally would still be whole.
    fn tally(&self) -> MutexGuard<'_, Tally> {
        self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A success that is listed until this is dropped.
#[derive(Debug)]
pub(super) struct Listed {
    listing: Listing,
    pub(super) address: Address,
    id: u128,
    forgotten: watch::Receiver<bool>,
    told: Arc<Notify>,
}

impl Listed {
    /// Ends when a lease has been lent to it.
    pub(super) async fn lent(&self) {
        self.told.notified().await;
    }

    /// The lease that has been lent to it, once.
    pub(super) fn take_lent(&self) -> Option<Lent> {
        let mut successes = self.listing.shared.successes.lock(&self.address);
        let entry = successes.get_mut(&self.address).filter(|entry| entry.success.id == self.id)?;
        entry.lent.take()
    }

    /// Its outcome, unless there was none or it was dropped.
    pub(super) fn outcome(&self) -> Option<Outcome> {
        let successes = self.listing.shared.successes.lock(&self.address);
        let entry = successes.get(&self.address).filter(|entry| entry.success.id == self.id)?;
        entry.success.outcome.clone()
    }

    /// Whether its key was forgotten since.
    pub(super) fn is_forgotten(&self) -> bool {
        *self.forgotten.borrow()
    }

    /// Ends when its key is forgotten.
    pub(super) async fn forgotten(&self) {
        if self.forgotten.clone().wait_for(|forgotten| *forgotten).await.is_err() {
            // A later success has taken its place.
            std::future::pending().await
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut tally = self.listing.tally();
        tally.successes = tally.successes.saturating_sub(1);
        tally.outcomes.retain(|(_, id)| *id != self.id);
        let mut successes = self.listing.shared.successes.lock(&self.address);
        // A later success of the same key has taken its place.
        if successes.get(&self.address).is_some_and(|entry| entry.success.id == self.id) {
            successes.remove(&self.address);
        }
        if tally.successes == 0 {
            self.listing.shared.empty.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use futures_util::FutureExt;
    use leasehold::Ttl;

    use super::*;

    const TTL: Duration = Duration::from_secs(60);

    fn address(byte: u8) -> Address {
        Address::from_bytes([byte; 32])
    }

    fn success(id: u8, outcome: &'static str) -> Success {
        let outcome = Some(Outcome::new(Bytes::from_static(outcome.as_bytes())));
        let outcome = outcome.filter(|outcome| !outcome.as_bytes().is_empty());
        Success { id: id.into(), fingerprint: None, outcome, until: Instant::now() + TTL }
    }

    fn terms() -> Terms {
        Terms::new(Ttl::new(TTL).expect("a valid ttl"))
    }

    /// The outcome that a duplicate gets: none if there is none, `None` if it is not listed.
    fn replayed(listing: &Listing, byte: u8) -> Option<String> {
        match listing.completed(&address(byte), &terms())? {
            Admission::Completed { outcome, .. } => {
                let bytes = outcome.map(Outcome::into_bytes).unwrap_or_default();
                Some(String::from_utf8(bytes.to_vec()).expect("text"))
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn outcomes_are_dropped_first_and_then_newcomers_refused() {
        let listing = Listing::new(4);
        let first = listing.enlist(address(1), success(1, "one")).expect("room");
        let second = listing.enlist(address(2), success(2, "two")).expect("room");
        assert_eq!(first.outcome().map(|outcome| outcome.as_bytes().len()), Some(3));
        // Four places are taken: the oldest outcome goes, and the newcomer comes without his.
        let third = listing.enlist(address(3), success(3, "three")).expect("room");
        let all = || [1, 2, 3, 4, 5].map(|byte| replayed(&listing, byte));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(all(), [some(""), some("two"), some(""), None, None]);
        assert_eq!(first.outcome(), None);
        let fourth = listing.enlist(address(4), success(4, "four")).expect("room");
        assert_eq!(all(), [some(""), some(""), some(""), some(""), None]);
        assert!(listing.enlist(address(5), success(5, "five")).is_none());
        drop(first);
        assert_eq!((listing.count(), replayed(&listing, 1)), (3, None));
        assert!(listing.enlist(address(5), success(5, "")).is_some());
        drop((second, third, fourth));
        assert!(listing.shared.successes.is_empty() && listing.tally().outcomes.is_empty());
        assert!(Listing::new(0).enlist(address(1), success(1, "")).is_none());
    }

    #[tokio::test]
    async fn a_listed_outcome_gives_its_place_back() {
        let listing = Listing::new(2);
        drop(listing.enlist(address(1), success(1, "one")));
        assert_eq!(listing.tally().places(), 0);
        let again = listing.enlist(address(1), success(2, "again"));
        assert_eq!(replayed(&listing, 1).as_deref(), Some("again"));
        drop(again);
    }

    #[tokio::test]
    async fn a_later_success_of_a_key_outlives_an_earlier_one() {
        let listing = Listing::new(9);
        let first = listing.enlist(address(1), success(1, "one"));
        let second = listing.enlist(address(1), success(2, "two"));
        drop(first);
        assert_eq!(replayed(&listing, 1).as_deref(), Some("two"));
        let mut empty = std::pin::pin!(listing.empty());
        assert!((&mut empty).now_or_never().is_none());
        drop(second);
        empty.await;
    }

    #[tokio::test]
    async fn what_is_forgotten_is_listed_no_more_and_leaves_its_place() {
        let listing = Listing::new(2);
        assert!(!listing.forget(&address(1)));
        let first = listing.enlist(address(1), success(1, "one")).expect("room");
        assert!(first.forgotten().now_or_never().is_none());
        assert!(listing.forget(&address(1)) && !listing.forget(&address(1)));
        assert_eq!((replayed(&listing, 1), first.outcome()), (None, None));
        first.forgotten().await;
        // Until it is dropped it is one that is pending.
        assert_eq!(listing.count(), 1);
        drop(first);
        assert_eq!(listing.tally().places(), 0);
        let older = listing.enlist(address(1), success(2, "")).expect("room");
        let newer = listing.enlist(address(1), success(3, "")).expect("room");
        assert!(listing.forget(&address(1)));
        assert_eq!((older.is_forgotten(), newer.is_forgotten()), (false, true));
    }

    #[tokio::test]
    async fn another_fingerprint_is_a_mismatch() {
        let listing = Listing::new(9);
        let print = |byte| Fingerprint::from_bytes([byte; 32]);
        let success = Success { fingerprint: Some(print(1)), ..success(1, "") };
        let _listed = listing.enlist(address(1), success);
        let met = |byte| listing.completed(&address(1), &terms().fingerprint(print(byte)));
        assert!(matches!(met(1), Some(Admission::Completed { .. })));
        assert!(matches!(met(2), Some(Admission::Mismatch)));
    }
}
