//! How many protected requests run, how many may, and how a server waits for them or cuts them.

use std::sync::Arc;

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{Notify, Semaphore, watch};

/// The protected requests that are running behind one layer, those whose client has gone included.
/// A clone looks at the same ones.
///
/// Duplicates that wait for another's end are not among them: they hold no place.
///
/// A server that shuts down stops accepting, calls [`Running::drain`], waits for [`Running::idle`]
/// as long as its grace allows, and then calls [`Running::cut`] and waits once more, for the leases
/// to be settled.
#[derive(Clone, Debug)]
pub struct Running {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    places: Semaphore,
    max: usize,
    /// Told whenever the last running request ends.
    idle: Notify,
    stage: watch::Sender<Stage>,
    gauge: Gauge,
}

/// How far a shutdown has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Open,
    /// Nobody waits for another's end any more.
    Draining,
    /// No handler runs any more.
    Cut,
}

impl Running {
    /// At most `max` at once. More than any machine runs is as good as no bound.
    pub(crate) fn new(max: usize, gauge: Gauge) -> Self {
        let max = max.min(Semaphore::MAX_PERMITS);
        let shared = Shared {
            places: Semaphore::new(max),
            max,
            idle: Notify::new(),
            stage: watch::Sender::new(Stage::Open),
            gauge,
        };
        Self { shared: Arc::new(shared) }
    }

    /// How many requests are running.
    #[must_use]
    pub fn count(&self) -> usize {
        self.shared.max.saturating_sub(self.shared.places.available_permits())
    }

    /// Waits until no request is running. Another may start right after, unless the server has
    /// stopped accepting.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future changes nothing.
    pub async fn idle(&self) {
        loop {
            // Made before the look: from then on it hears of an end in between.
            let notified = self.shared.idle.notified();
            if self.count() == 0 {
                return;
            }
            notified.await;
        }
    }

    /// Ends all waiting, now and from now on: duplicates of running requests are told at once that
    /// they are in flight. For the beginning of a shutdown, which would else wait for the waiters'
    /// connections.
    pub fn drain(&self) {
        self.advance(Stage::Draining);
    }

    /// Drops every handler that is running, now and from now on. Each lease is settled as an
    /// unknown outcome, and the client, if it is still there, gets a 504. New requests are refused.
    pub fn cut(&self) {
        self.advance(Stage::Cut);
    }

    fn advance(&self, to: Stage) {
        self.shared.stage.send_modify(|stage| *stage = (*stage).max(to));
    }

    /// A place for what may be left out: only while more than half of them are free, so that it
    /// never takes the last ones from requests.
    pub(crate) fn enter_spare(&self) -> Option<Place> {
        if self.count() < self.shared.max / 2 { self.enter() } else { None }
    }

    /// A place for one more request, if there is one.
    pub(crate) fn enter(&self) -> Option<Place> {
        let mut place = Place { shared: Arc::clone(&self.shared), taken: false };
        place.enter_again().then_some(place)
    }
}

/// One running request's place; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    shared: Arc<Shared>,
    taken: bool,
}

impl Place {
    /// All the running requests that it is one of.
    pub(crate) fn running(&self) -> Running {
        Running { shared: Arc::clone(&self.shared) }
    }

    /// Waits until running handlers are cut.
    pub(crate) async fn cut(&self) {
        self.reached(Stage::Cut).await;
    }

    /// Waits until nobody is to wait for another's end any more.
    pub(crate) async fn draining(&self) {
        self.reached(Stage::Draining).await;
    }

    async fn reached(&self, least: Stage) {
        let mut stage = self.shared.stage.subscribe();
        // The sender lives as long as this place does, so this cannot end for another reason.
        drop(stage.wait_for(|stage| *stage >= least).await);
    }

    /// Gives the place back before the request's end. What runs then is not counted.
    pub(crate) fn leave(&mut self) {
        if !std::mem::replace(&mut self.taken, false) {
            return;
        }
        self.shared.gauge.dec();
        self.shared.places.add_permits(1);
        // Whoever gives back the last place sees all of them, and tells.
        if self.shared.places.available_permits() == self.shared.max {
            self.shared.idle.notify_waiters();
        }
    }

    /// Takes a place, if there is one and handlers may run.
    pub(crate) fn enter_again(&mut self) -> bool {
        if self.taken {
            return true;
        }
        if *self.shared.stage.borrow() == Stage::Cut {
            return false;
        }
        let Ok(permit) = self.shared.places.try_acquire() else {
            return false;
        };
        permit.forget();
        self.shared.gauge.inc();
        self.taken = true;
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn places_are_bounded_and_given_back() {
        let gauge = Gauge::default();
        let running = Running::new(2, gauge.clone());
        let first = running.enter().expect("a place");
        let second = running.enter().expect("a place");
        assert!(running.enter().is_none());
        assert_eq!((running.count(), gauge.get()), (2, 2));
        drop((first, second));
        assert_eq!((running.count(), gauge.get()), (0, 0));
        assert!(running.enter().is_some());
        assert!(Running::new(0, Gauge::default()).enter().is_none());
        assert!(Running::new(usize::MAX, Gauge::default()).enter().is_some());
    }

    #[test]
    fn what_may_be_left_out_takes_half_of_the_places_at_most() {
        let running = Running::new(4, Gauge::default());
        let spare = [running.enter_spare(), running.enter_spare()];
        assert!(spare.iter().all(Option::is_some) && running.enter_spare().is_none());
        let places = [running.enter(), running.enter()];
        assert!(places.iter().all(Option::is_some) && running.enter().is_none());
    }

    #[tokio::test]
    async fn idle_waits_for_the_last_place() {
        let running = Running::new(8, Gauge::default());
        running.idle().await;
        let (first, second) = (running.enter(), running.enter());
        let mut idle = std::pin::pin!(running.idle());
        assert!((&mut idle).now_or_never().is_none());
        drop(first);
        assert!((&mut idle).now_or_never().is_none());
        drop(second);
        idle.await;
    }

    #[tokio::test]
    async fn a_place_that_was_left_is_free_and_may_be_taken_again() {
        let gauge = Gauge::default();
        let running = Running::new(1, gauge.clone());
        let mut first = running.enter().expect("a place");
        first.leave();
        first.leave();
        running.idle().await;
        let second = running.enter().expect("a place");
        assert!(!first.enter_again());
        assert_eq!((running.count(), gauge.get()), (1, 1));
        drop(second);
        assert!(first.enter_again() && first.enter_again());
        assert_eq!((running.count(), gauge.get()), (1, 1));
        first.leave();
        running.cut();
        assert!(!first.enter_again());
        drop(first);
        assert_eq!((running.count(), gauge.get()), (0, 0));
    }

    #[tokio::test]
    async fn draining_ends_waiting_alone() {
        let running = Running::new(8, Gauge::default());
        let place = running.enter().expect("a place");
        assert!(place.draining().now_or_never().is_none());
        running.drain();
        place.draining().await;
        assert!(place.cut().now_or_never().is_none());
        assert!(running.enter().is_some());
        running.cut();
        running.drain();
        place.cut().await;
        place.draining().await;
    }

    #[tokio::test]
    async fn cut_reaches_those_that_run_and_refuses_those_to_come() {
        let running = Running::new(8, Gauge::default());
        let place = running.enter().expect("a place");
        let mut cut = std::pin::pin!(place.cut());
        assert!((&mut cut).now_or_never().is_none());
        running.cut();
        cut.await;
        assert!(running.enter().is_none());
    }
}
