//! Waiting for the end of another request's run (rule 5.5): who waits for which key, and how they
//! hear of ends in this process.
//!
//! A waiter joins before it asks the store again, and a run tells after it has settled. So a waiter
//! either finds the key settled or hears of it; no end falls in between. Nothing here asks the
//! store, and what wakes here may still find the key in flight.

mod coming;
mod wait;

use std::sync::Arc;

use leasehold::Address;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use crate::by_address::ByAddress;
pub(crate) use coming::Coming;

/// Those who wait for the end of a run, all of one layer's.
#[derive(Debug)]
pub(crate) struct Waiting {
    entries: ByAddress<Entry>,
    /// How many responses of each key are being kept.
    coming: ByAddress<usize>,
    places: Semaphore,
}

/// Those who wait for one key; there while there is any.
#[derive(Debug)]
struct Entry {
    ended: Arc<Notify>,
    waiters: usize,
}

impl Waiting {
    /// At most `max` waiters at once.
    pub(crate) fn new(max: usize) -> Self {
        let places = Semaphore::new(max.min(Semaphore::MAX_PERMITS));
        Self { entries: ByAddress::default(), coming: ByAddress::default(), places }
    }

    /// One more who waits, if there is a place.
    pub(crate) fn join(&self, address: Address) -> Option<Waiter<'_>> {
        let place = self.places.try_acquire().ok()?;
        let mut entries = self.entries.lock(&address);
        let entry = entries
            .entry(address)
            .or_insert_with(|| Entry { ended: Arc::new(Notify::new()), waiters: 0 });
        entry.waiters += 1;
        Some(Waiter { waiting: self, address, ended: Arc::clone(&entry.ended), _place: place })
    }

    /// Wakes those who wait for a key; to be called once it is settled.
    pub(crate) fn tell(&self, address: &Address) {
        let ended = self.entries.lock(address).get(address).map(|entry| Arc::clone(&entry.ended));
        if let Some(ended) = ended {
            ended.notify_waiters();
        }
    }
}

/// One who waits. It counts no more once it is dropped.
#[derive(Debug)]
pub(crate) struct Waiter<'a> {
    waiting: &'a Waiting,
    address: Address,
    ended: Arc<Notify>,
    _place: SemaphorePermit<'a>,
}

impl Waiter<'_> {
    /// Ready when a run of the key ends after this call, polled meanwhile or not.
    pub(crate) fn ended(&self) -> Notified<'_> {
        self.ended.notified()
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut entries = self.waiting.entries.lock(&self.address);
        let Some(entry) = entries.get_mut(&self.address) else { return };
        entry.waiters = entry.waiters.saturating_sub(1);
        if entry.waiters == 0 {
            entries.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const ONE: Address = Address::from_bytes([1; 32]);
    const TWO: Address = Address::from_bytes([2; 32]);

    #[tokio::test]
    async fn an_end_is_heard_by_all_who_had_joined_and_no_others() {
        let waiting = Waiting::new(9);
        waiting.tell(&ONE);
        let waiters = [ONE, ONE, TWO].map(|address| waiting.join(address).expect("a place"));
        let [first, second, other] = waiters.each_ref().map(Waiter::ended);
        waiting.tell(&ONE);
        // None was polled before the end.
        first.await;
        second.await;
        assert!(other.now_or_never().is_none());
        // What is asked for after the end hears of the next one.
        assert!(waiters[0].ended().now_or_never().is_none());
    }

    #[test]
    fn waiters_are_bounded_and_leave_nothing_behind() {
        let waiting = Waiting::new(2);
        let (first, second) = (waiting.join(ONE), waiting.join(ONE));
        assert!(first.is_some() && second.is_some() && waiting.join(TWO).is_none());
        drop(first);
        assert!(!waiting.entries.is_empty());
        drop(second);
        assert!(waiting.entries.is_empty());
        assert!(waiting.join(TWO).is_some());
        assert!(Waiting::new(0).join(ONE).is_none());
        assert!(Waiting::new(usize::MAX).join(ONE).is_some());
    }
}
