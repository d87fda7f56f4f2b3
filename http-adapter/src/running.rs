//! How many protected requests run, how many may, and how a server waits for them or cuts them.

use std::sync::Arc;

use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{Notify, Semaphore, watch};

/// The protected requests that are running behind one layer, those whose client has gone included.
/// A clone looks at the same ones.
///
/// A server that shuts down stops accepting, waits for [`Running::idle`] as long as its grace
/// allows, and then calls [`Running::cut`] and waits once more, for the leases to be settled.
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
    cut: watch::Sender<bool>,
    gauge: Gauge,
}

impl Running {
    /// At most `max` at once. More than any machine runs is as good as no bound.
    pub(crate) fn new(max: usize, gauge: Gauge) -> Self {
        let max = max.min(Semaphore::MAX_PERMITS);
        let shared = Shared {
            places: Semaphore::new(max),
            max,
            idle: Notify::new(),
            cut: watch::Sender::new(false),
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

    /// Drops every handler that is running, now and from now on. Each lease is settled as an
    /// unknown outcome, and the client, if it is still there, gets a 504. New requests are refused.
    pub fn cut(&self) {
        self.shared.cut.send_replace(true);
    }

    /// A place for one more request, if there is one.
    pub(crate) fn enter(&self) -> Option<Place> {
        if *self.shared.cut.borrow() {
            return None;
        }
        self.shared.places.try_acquire().ok()?.forget();
        self.shared.gauge.inc();
        Some(Place { shared: Arc::clone(&self.shared) })
    }
}

/// One running request's place; given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    shared: Arc<Shared>,
}

impl Place {
    /// All the running requests that it is one of.
    pub(crate) fn running(&self) -> Running {
        Running { shared: Arc::clone(&self.shared) }
    }

    /// Waits until running handlers are cut.
    pub(crate) async fn cut(&self) {
        let mut cut = self.shared.cut.subscribe();
        // The sender lives as long as this place does, so this cannot end for another reason.
        drop(cut.wait_for(|cut| *cut).await);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.gauge.dec();
        self.shared.places.add_permits(1);
        // Whoever gives back the last place sees all of them, and tells.
        if self.shared.places.available_permits() == self.shared.max {
            self.shared.idle.notify_waiters();
        }
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
