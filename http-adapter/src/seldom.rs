//! Events that come in storms and are logged now and then.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Lets one event through in each interval, and counts the others.
#[derive(Debug)]
pub(crate) struct Seldom {
    interval: Duration,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last: Option<Instant>,
    held_back: u64,
}

impl Seldom {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, state: Mutex::default() }
    }

    /// For one event: if it is to be told, how many were not since the last one that was.
    pub(crate) fn tell(&self) -> Option<u64> {
        let now = Instant::now();
        // Nothing panics with the lock held.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.last.is_some_and(|last| now.duration_since(last) < self.interval) {
            state.held_back = state.held_back.saturating_add(1);
            return None;
        }
        state.last = Some(now);
        Some(std::mem::take(&mut state.held_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_event_in_each_interval_is_told_with_the_number_of_the_others() {
        let seldom = Seldom::new(Duration::from_secs(1));
        assert_eq!([(); 3].map(|()| seldom.tell()), [Some(0), None, None]);
        tokio::time::advance(Duration::from_millis(999)).await;
        assert_eq!(seldom.tell(), None);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!([(); 2].map(|()| seldom.tell()), [Some(3), None]);
    }
}
