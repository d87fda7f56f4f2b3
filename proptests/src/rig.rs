//! Store and model side by side, one call after the other, under a manual clock.
//!
//! The clock moves only by [`Rig::advance`]. Every answer is judged as it comes.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{Clock, ConfigError, LeaseStore as _, ManualClock, MemoryConfig, MemoryStore};

use crate::hands::Hands;
use crate::model::{Limits, Model};
use crate::verb::{Answer, Grant, Verb};

/// Calls within which sweeping has to reclaim everything that is due, whatever their budgets.
const SWEEPS_TO_CLEAN: usize = 256;

/// A store, its clock, its only caller, and the model of it.
#[derive(Debug)]
pub struct Rig {
    /// The store under test.
    pub store: Arc<MemoryStore>,
    /// Its clock.
    pub clock: ManualClock,
    /// Time since the construction of the store.
    pub now: Duration,
    /// The caller.
    pub hands: Hands,
    /// The model.
    pub model: Model,
}

impl Rig {
    /// Builds a store with these limits.
    ///
    /// # Errors
    ///
    /// The store's refusal of its configuration.
    pub fn new(limits: Limits) -> Result<Self, ConfigError> {
        let (clock, manual) = Clock::manual();
        let config = MemoryConfig::default()
            .max_entries(limits.bound)
            .late_grace(limits.late_grace)
            .max_outcome_bytes(limits.outcome_bytes);
        Ok(Self {
            store: Arc::new(MemoryStore::with_clock(config, clock)?),
            clock: manual,
            now: Duration::ZERO,
            hands: Hands::default(),
            model: Model::new(limits),
        })
    }

    /// Lets time pass.
    pub fn advance(&mut self, by: Duration) {
        self.clock.advance(by);
        self.now += by;
    }

    /// Makes a call and judges its answer; nothing if it names a lease that is not there.
    ///
    /// # Errors
    ///
    /// What was asked and answered, and the rule that was broken.
    pub fn act(&mut self, verb: &Verb<usize>) -> Result<Option<Answer>, String> {
        let before = self.entries()?;
        let Some((verb, answer)) = self.hands.call(&*self.store, verb) else {
            return Ok(None);
        };
        self.model
            .step(self.now, &verb, &answer)
            .map_err(|breach| self.report(&verb, &answer, breach.0))?;
        let after = self.entries()?;
        if let Answer::Swept(count) = answer
            && before.checked_sub(after) != Some(count)
        {
            return Err(self.report(&verb, &answer, "a sweep gives the number it reclaimed"));
        }
        let (surely, _) = self.model.held(self.now);
        if after < surely {
            return Err(self.report(&verb, &answer, "usage counts every entry that holds a place"));
        }
        self.store.validate().map_err(|why| self.report(&verb, &answer, &why))?;
        Ok(Some(answer))
    }

    /// Sweeps by small steps until nothing is due, and then demands an exact count.
    ///
    /// # Errors
    ///
    /// As [`Rig::act`], or entries that no sweep reclaims.
    pub fn sweep_out(&mut self, budget: usize) -> Result<(), String> {
        let (_, most) = self.model.held(self.now);
        for _ in 0..SWEEPS_TO_CLEAN {
            self.act(&Verb::Sweep { budget })?;
            if self.entries()? <= most {
                return Ok(());
            }
        }
        Err(format!(
            "{} entries are left at {:?} although at most {most} hold a place\n{:#?}",
            self.entries()?,
            self.now,
            self.model
        ))
    }

    /// The number of entries, checked against the bound.
    fn entries(&self) -> Result<usize, String> {
        let usage = self.store.usage().ok_or("a bounded store counts its entries")?;
        let bound = self.model.limits().bound;
        if usage.max_entries != bound || usage.entries > bound {
            return Err(format!("{usage:?} with a bound of {bound}"));
        }
        Ok(usage.entries)
    }

    fn report(&self, verb: &Verb<Grant>, answer: &Answer, law: &str) -> String {
        format!(
            "broken: {law}\nat {:?} the store answered {answer:?}\nto {verb:?}\n{:#?}",
            self.now, self.model
        )
    }
}
