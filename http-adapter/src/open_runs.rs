//! Runs under policies that fail open (rule 3.8): those without a lease exclude each other, and
//! leased ones of the same key, within this process at least.
//!
//! Nobody else's runs are here: what other processes do without the store, nobody knows.

use std::sync::Arc;

use leasehold::{Address, Admission, Fingerprint, Terms};

use crate::by_address::ByAddress;

/// The runs of one layer under policies that fail open. A clone looks at the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenRuns {
    runs: Arc<ByAddress<Entry>>,
}

/// Whether a run has a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Leased,
    Unprotected,
}

#[derive(Debug)]
struct Entry {
    /// The bits of the run's attempt.
    id: u128,
    side: Side,
    terms: Terms,
}

impl Entry {
    /// What another request for the same key gets.
    fn admission(&self, terms: &Terms) -> Admission {
        if differ(self.terms.fingerprint, terms.fingerprint) {
            Admission::Mismatch
        } else {
            Admission::InFlight { remaining: self.terms.lease_ttl.get() }
        }
    }
}

/// Whether two requests are certainly not the same one.
pub(crate) fn differ(one: Option<Fingerprint>, other: Option<Fingerprint>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if one != other)
}

impl OpenRuns {
    /// What a request gets because its key runs without a lease.
    pub(crate) fn running(&self, address: &Address, terms: &Terms) -> Option<Admission> {
        let runs = self.runs.lock(address);
        let entry = runs.get(address).filter(|entry| entry.side == Side::Unprotected)?;
        Some(entry.admission(terms))
    }

    /// Enters a run, or says what its request gets instead. A lease that was granted while another
    /// leased run is here has taken over from that one, and replaces its entry.
    pub(crate) fn enter(
        &self,
        address: Address,
        terms: &Terms,
        side: Side,
    ) -> Result<OpenRun, Admission> {
        let id = terms.attempt.to_bits();
        let mut runs = self.runs.lock(&address);
        match runs.get(&address) {
            Some(entry) if [entry.side, side].contains(&Side::Unprotected) => {
                return Err(entry.admission(terms));
            }
            _ => runs.insert(address, Entry { id, side, terms: *terms }),
        };
        drop(runs);
        Ok(OpenRun { runs: Arc::clone(&self.runs), address, id })
    }
}

/// A run's entry, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenRun {
    runs: Arc<ByAddress<Entry>>,
    address: Address,
    id: u128,
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        let mut runs = self.runs.lock(&self.address);
        if runs.get(&self.address).is_some_and(|entry| entry.id == self.id) {
            runs.remove(&self.address);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use leasehold::Ttl;

    use super::*;

    const ADDRESS: Address = Address::from_bytes([1; 32]);

    fn terms() -> Terms {
        Terms::new(Ttl::new(Duration::from_secs(3)).expect("a valid ttl"))
    }

    #[test]
    fn a_run_without_a_lease_excludes_all_others() {
        let runs = OpenRuns::default();
        assert!(runs.running(&ADDRESS, &terms()).is_none());
        let run = runs.enter(ADDRESS, &terms(), Side::Unprotected).expect("free");
        for side in [Side::Leased, Side::Unprotected] {
            let met = runs.enter(ADDRESS, &terms(), side).expect_err("taken");
            assert!(matches!(met, Admission::InFlight { .. }), "{met:?}");
        }
        assert!(matches!(runs.running(&ADDRESS, &terms()), Some(Admission::InFlight { .. })));
        drop(run);
        assert!(runs.enter(ADDRESS, &terms(), Side::Leased).is_ok());
        assert!(runs.runs.is_empty());
    }

    #[test]
    fn a_leased_run_excludes_those_without_and_yields_to_a_takeover() {
        let runs = OpenRuns::default();
        let first = runs.enter(ADDRESS, &terms(), Side::Leased).expect("free");
        assert!(runs.enter(ADDRESS, &terms(), Side::Unprotected).is_err());
        // Of a leased run the store knows.
        assert!(runs.running(&ADDRESS, &terms()).is_none());
        let second = runs.enter(ADDRESS, &terms(), Side::Leased).expect("taken over");
        drop(first);
        assert!(runs.enter(ADDRESS, &terms(), Side::Unprotected).is_err());
        drop(second);
        assert!(runs.runs.is_empty());
    }

    #[test]
    fn another_fingerprint_is_a_mismatch() {
        let runs = OpenRuns::default();
        let print = |byte| terms().fingerprint(Fingerprint::from_bytes([byte; 32]));
        let _run = runs.enter(ADDRESS, &print(1), Side::Unprotected).expect("free");
        assert!(matches!(runs.running(&ADDRESS, &print(2)), Some(Admission::Mismatch)));
        let same = runs.running(&ADDRESS, &print(1));
        assert!(matches!(same, Some(Admission::InFlight { .. })), "{same:?}");
    }
}
