//! Counters of section 7 of the contract: every name and label here is part of it.
//!
//! No label may come from a request: only the namespaces that policies declare have counters.

use std::time::Duration;

use leasehold::{Namespace, StoreErrorKind, Usage, Verdict};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::store_calls::{CallHandles, StoreCalls, Verb};

/// The adapter's counters. A clone shares them.
///
/// Give one to [`IdempotentLayer::metrics`](crate::IdempotentLayer::metrics) and register it with
/// the registry that is exported.
#[derive(Clone, Debug)]
pub struct Metrics {
    requests: Family<RequestLabels, Counter>,
    verdicts: Family<VerdictLabels, Counter>,
    store: StoreCalls,
    lease_lost: Counter,
    commit_errors: Counter,
    release_errors: Counter,
    renewals: Counter,
    running: Gauge,
    entries: Family<NoLabels, Gauge>,
    max_entries: Family<NoLabels, Gauge>,
    stuck: Family<NoLabels, Gauge>,
}

/// No labels. A family of it has no sample until one is set, unlike a bare gauge.
type NoLabels = [(&'static str, &'static str); 0];

fn set(family: &Family<NoLabels, Gauge>, number: impl TryInto<i64>) {
    family.get_or_create(&[]).set(number.try_into().unwrap_or(i64::MAX));
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    namespace: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerdictLabels {
    namespace: String,
    verdict: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Counters that are all zero.
    #[must_use]
    pub fn new() -> Self {
        Self {
            requests: Family::default(),
            verdicts: Family::default(),
            store: StoreCalls::new(),
            lease_lost: Counter::default(),
            commit_errors: Counter::default(),
            release_errors: Counter::default(),
            renewals: Counter::default(),
            running: Gauge::default(),
            entries: Family::default(),
            max_entries: Family::default(),
            stuck: Family::default(),
        }
    }

    /// Adds every counter to a registry, under its name in the contract. The text format appends
    /// `_total` to the names of counters.
    pub fn register(&self, registry: &mut Registry) {
        let Self { requests, verdicts, .. } = self;
        registry.register(
            "leasehold_requests",
            "Requests by what became of them",
            requests.clone(),
        );
        registry.register("leasehold_verdicts", "Ends of handlers by verdict", verdicts.clone());
        self.store.register(registry);
        for (name, help, counter) in [
            ("leasehold_lease_lost", "Leases lost while their handler ran", &self.lease_lost),
            ("leasehold_commit_errors", "Commits that failed", &self.commit_errors),
            ("leasehold_release_errors", "Releases that failed", &self.release_errors),
            ("leasehold_renewals", "Renewals of running handlers' leases", &self.renewals),
        ] {
            registry.register(name, help, counter.clone());
        }
        let running = "Protected requests that are running, those whose client has gone included";
        registry.register("leasehold_running", running, self.running.clone());
        registry.register("leasehold_entries", "Places that keys hold", self.entries.clone());
        registry.register(
            "leasehold_max_entries",
            "Places that keys may hold",
            self.max_entries.clone(),
        );
        let stuck = "Leases of a database that their holders have left behind";
        registry.register("leasehold_stuck", stuck, self.stuck.clone());
    }

    /// Sets the gauges of the store's usage; to be called before each export with what
    /// [`LeaseStore::usage`](leasehold::LeaseStore::usage) gives. Until then they have no samples.
    pub fn observe_usage(&self, usage: Usage) {
        set(&self.entries, usage.entries);
        set(&self.max_entries, usage.max_entries);
    }

    /// Sets the gauge of leases that their holders have left behind in a database; to be called
    /// with what each pass of its upkeep has found. Until then it has no sample.
    pub fn observe_stuck(&self, leases: u64) {
        set(&self.stuck, leases);
    }

    /// The gauge of running requests.
    pub(crate) fn running(&self) -> Gauge {
        self.running.clone()
    }

    /// What a service counts for one policy, as handles: counting then looks up no label. They are
    /// exported from now on, at zero.
    pub(crate) fn handles(&self, namespace: &Namespace) -> Handles {
        self.handles_of(namespace.as_str())
    }

    /// The same for a name.
    pub(crate) fn handles_of(&self, namespace: &str) -> Handles {
        let request = |outcome| {
            let namespace = namespace.to_owned();
            self.requests.get_or_create_owned(&RequestLabels { namespace, outcome })
        };
        let verdict = |verdict| {
            let namespace = namespace.to_owned();
            self.verdicts.get_or_create_owned(&VerdictLabels { namespace, verdict })
        };
        Handles {
            granted: request("granted"),
            in_flight: request("in_flight"),
            duplicate: request("duplicate"),
            replayed: request("replayed"),
            mismatch: request("mismatch"),
            invalid_key: request("invalid_key"),
            too_large: request("too_large"),
            full: request("full"),
            store_unavailable: request("store_unavailable"),
            fail_open: request("fail_open"),
            bypassed: request("bypassed"),
            commit: verdict("commit"),
            release: verdict("release"),
            hold: verdict("hold"),
            store: self.store.handles(),
            lease_lost: self.lease_lost.clone(),
            commit_errors: self.commit_errors.clone(),
            release_errors: self.release_errors.clone(),
            renewals: self.renewals.clone(),
        }
    }
}

/// What a service counts for one policy.
#[derive(Clone, Debug)]
pub(crate) struct Handles {
    pub(crate) granted: Counter,
    pub(crate) in_flight: Counter,
    pub(crate) duplicate: Counter,
    pub(crate) replayed: Counter,
    pub(crate) mismatch: Counter,
    pub(crate) invalid_key: Counter,
    pub(crate) too_large: Counter,
    pub(crate) full: Counter,
    pub(crate) store_unavailable: Counter,
    pub(crate) fail_open: Counter,
    pub(crate) bypassed: Counter,
    commit: Counter,
    release: Counter,
    hold: Counter,
    store: CallHandles,
    pub(crate) lease_lost: Counter,
    pub(crate) commit_errors: Counter,
    pub(crate) release_errors: Counter,
    pub(crate) renewals: Counter,
}

impl Handles {
    /// Counts one verdict.
    pub(crate) fn count_verdict(&self, verdict: Verdict) {
        match verdict {
            Verdict::Commit => self.commit.inc(),
            Verdict::Release => self.release.inc(),
            Verdict::Hold => self.hold.inc(),
        };
    }

    /// Records how long one call of the store's took, and how it failed, if it did.
    pub(crate) fn observe(&self, verb: Verb, took: Duration, failure: Option<StoreErrorKind>) {
        self.store.observe(verb, took, failure);
    }
}
