//! The contract, one call at a time: what a store may answer, and what its answer implies.
//!
//! Written from the contract's words alone. A record here is what the contract says must be so, not
//! what some store keeps: there are no slots, buckets or sweeps, and one that is over stays until
//! another grant takes its key. This module must never ask a store anything.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::span::{CLOCK_RANGE, Origin, Span};
use crate::verb::{Answer, Grant, Payload, Verb};

/// What the store was built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most entries.
    pub bound: usize,
    /// How long a lease outlives its deadline for its holder alone.
    pub late_grace: Duration,
    /// Most bytes of all outcomes.
    pub outcome_bytes: usize,
}

/// The rule that an answer broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breach(pub &'static str);

fn require(holds: bool, law: &'static str) -> Result<(), Breach> {
    if holds { Ok(()) } else { Err(Breach(law)) }
}

const NO_SUCH_ANSWER: Breach = Breach("the verb has no such answer");

/// When a record's deadline passes, and when its place is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The deadline: from here on an acquire is granted.
    pub end: Span,
    /// The end of the late grace; for a committed key the deadline itself.
    pub hold: Span,
}

impl Sight {
    fn lease(now: Duration, ttl: Duration, grace: Duration) -> Self {
        Self { end: Span::after(now, ttl), hold: Span::after(now, ttl.saturating_add(grace)) }
    }

    fn kept(now: Duration, ttl: Duration) -> Self {
        Self::lease(now, ttl, Duration::ZERO)
    }

    fn saw_live(&mut self, now: Duration, law: &'static str) -> Result<(), Breach> {
        let (live, held) = (self.end.saw_running(now), self.hold.saw_running(now));
        require(live && held, law)
    }
}

/// What is known of an outcome: a bounded store may have had no room for it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Trace {
    Nothing,
    Surely(Payload),
    Perhaps(Payload),
}

impl Trace {
    fn saw(&mut self, seen: Option<&Payload>) -> Result<(), Breach> {
        match (&*self, seen) {
            (Self::Nothing | Self::Perhaps(_), None) => *self = Self::Nothing,
            (Self::Surely(left) | Self::Perhaps(left), Some(seen)) if left == seen => {
                *self = Self::Surely(left.clone());
            }
            _ => return Err(Breach("a completed key replays what its commit left")),
        }
        Ok(())
    }

    fn saw_replayable(&mut self, replayable: bool) -> Result<(), Breach> {
        let seen = match &*self {
            Self::Surely(left) | Self::Perhaps(left) if replayable => Some(left.clone()),
            _ if replayable => return Err(Breach("nothing was left to replay")),
            _ => None,
        };
        self.saw(seen.as_ref())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Record {
    token: u64,
    fingerprint: Option<u8>,
    /// Nothing while the lease runs, a trace of the outcome once it is committed.
    committed: Option<Trace>,
    sight: Sight,
}

/// All that the contract says of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    limits: Limits,
    closed: bool,
    records: BTreeMap<usize, Record>,
    /// The last token of each address; outlives every record.
    tokens: BTreeMap<usize, u64>,
    /// Bytes of all outcomes ever offered: as long as they fit, every one of them must.
    offered_bytes: usize,
    origin: Origin,
}

impl Model {
    /// A new store's.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            closed: false,
            records: BTreeMap::new(),
            tokens: BTreeMap::new(),
            offered_bytes: 0,
            origin: Origin::default(),
        }
    }

    /// What the store was built with.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// When the record of an address ends, if there is one.
    #[must_use]
    pub fn sight(&self, address: usize) -> Option<Sight> {
        self.records.get(&address).map(|record| record.sight)
    }

    /// The least and the most entries that must hold a place.
    #[must_use]
    pub fn held(&self, now: Duration) -> (usize, usize) {
        let sights = || self.records.values().map(|record| record.sight.hold);
        let surely = sights().filter(|hold| hold.runs(now)).count();
        (surely, sights().filter(|hold| !hold.is_over(now)).count())
    }

    /// Judges an answer and follows it.
    ///
    /// # Errors
    ///
    /// The rule that the answer broke; the model is then of no further use.
    pub fn step(
        &mut self,
        now: Duration,
        verb: &Verb<Grant>,
        answer: &Answer,
    ) -> Result<(), Breach> {
        match verb {
            Verb::Acquire { address, ttl, fingerprint } => {
                self.acquire(now, *address, ttl.get(), *fingerprint, answer)
            }
            Verb::Commit { lease, outcome, ttl } => {
                self.commit(now, *lease, outcome.as_ref(), ttl.get(), answer)
            }
            Verb::Attach { lease, outcome } => self.attach(now, *lease, outcome, answer),
            Verb::Release { lease } => self.release(now, *lease, answer),
            Verb::Renew { lease, ttl } => self.renew(now, *lease, ttl.get(), answer),
            Verb::Abandon { lease, own } => self.abandon(now, *lease, *own, answer),
            Verb::Peek { address } => self.look(now, *address, answer),
            Verb::Forget { address } => self.forget(now, *address, answer),
            Verb::Sweep { budget } => match answer {
                Answer::Swept(count) => require(count <= budget, "a sweep keeps to its budget"),
                _ => Err(NO_SUCH_ANSWER),
            },
            Verb::Close => {
                self.closed = true;
                require(*answer == Answer::Done, "a store can be closed")
            }
        }
    }

    fn acquire(
        &mut self,
        now: Duration,
        address: usize,
        ttl: Duration,
        fingerprint: Option<u8>,
        answer: &Answer,
    ) -> Result<(), Breach> {
        match answer {
            Answer::Closed => require(self.closed, "a store refuses as closed once it is closed"),
            Answer::ClockExhausted => {
                let end = Sight::lease(now, ttl, self.limits.late_grace).hold.latest;
                require(end >= CLOCK_RANGE, "the clock counts 17 years")
            }
            _ if self.closed => Err(Breach("a closed store refuses every acquire")),
            Answer::Full { rivals } => self.full(now, address, *rivals),
            Answer::Granted { token, deadline } => {
                self.grant(now, address, *token)?;
                let sight = Sight::lease(now, ttl, self.limits.late_grace);
                let record = Record { token: *token, fingerprint, committed: None, sight };
                self.records.insert(address, record);
                let law = "a lease's deadline is its ttl from the call, a little later at most";
                require(self.origin.agrees(*deadline, sight.end), law)
            }
            Answer::Mismatch => {
                let record = self.records.get_mut(&address).ok_or(Breach("nothing to match"))?;
                require(record.differs(fingerprint), "equal or absent fingerprints match")?;
                record.sight.saw_live(now, "an expired record has no fingerprint")
            }
            Answer::InFlight { .. } | Answer::Completed { .. } => {
                let differs =
                    self.records.get(&address).is_some_and(|record| record.differs(fingerprint));
                require(!differs, "another fingerprint is a mismatch")?;
                self.look(now, address, answer)
            }
            _ => Err(NO_SUCH_ANSWER),
        }
    }

    fn full(&mut self, now: Duration, address: usize, rivals: usize) -> Result<(), Breach> {
        if let Some(record) = self.records.get_mut(&address) {
            let law = "a key that is present is never refused as full";
            require(record.sight.hold.saw_over(now), law)?;
        }
        let others = self
            .records
            .iter()
            .filter(|(other, record)| **other != address && !record.sight.hold.is_over(now));
        let law = "full is refused only at the bound, when nothing is due";
        require(others.count() + rivals >= self.limits.bound, law)
    }

    fn grant(&mut self, now: Duration, address: usize, token: u64) -> Result<(), Breach> {
        if let Some(record) = self.records.get_mut(&address) {
            require(record.sight.end.saw_over(now), "a live key is granted to nobody else")?;
        }
        let others = self
            .records
            .iter()
            .filter(|(other, record)| **other != address && record.sight.hold.runs(now));
        let law = "nothing live is evicted, and the bound is never exceeded";
        require(others.count() < self.limits.bound, law)?;
        require((1..1 << 63).contains(&token), "tokens are from 1 to 2^63 - 1")?;
        let last = self.tokens.insert(address, token);
        require(last.is_none_or(|last| last < token), "tokens rise per address")
    }

    /// A peek, or an acquire that met a record.
    fn look(&mut self, now: Duration, address: usize, answer: &Answer) -> Result<(), Breach> {
        let Some(record) = self.records.get_mut(&address) else {
            return require(*answer == Answer::Free, "a free key shows no record");
        };
        let sight = &mut record.sight;
        let remaining = match answer {
            Answer::Free => {
                return require(sight.end.saw_over(now), "a live key is not free");
            }
            Answer::InFlight { remaining }
            | Answer::Completed { remaining, .. }
            | Answer::Kept { remaining, .. } => *remaining,
            _ => return Err(NO_SUCH_ANSWER),
        };
        require(sight.end.leaves(now, remaining), "the remaining time is that of the deadline")?;
        sight.saw_live(now, "an expired key is free")?;
        match (&mut record.committed, answer) {
            (None, Answer::InFlight { .. }) => Ok(()),
            (Some(trace), Answer::Completed { outcome, .. }) => trace.saw(outcome.as_ref()),
            (Some(trace), Answer::Kept { replayable, .. }) => trace.saw_replayable(*replayable),
            _ => Err(Breach("in flight until the commit, completed from then on")),
        }
    }

    fn commit(
        &mut self,
        now: Duration,
        lease: Grant,
        outcome: Option<&Payload>,
        ttl: Duration,
        answer: &Answer,
    ) -> Result<(), Breach> {
        let trace = self.trace(outcome);
        match (self.own(lease), answer) {
            (Some(record), Answer::Done) if record.committed.is_none() => {
                let law = "no commit once the late grace has ended";
                require(record.sight.hold.saw_running(now), law)?;
                record.committed = Some(trace);
                record.sight = Sight::kept(now, ttl);
                Ok(())
            }
            // A repeated commit moves nothing. Once the key has ended, nothing is promised.
            (Some(_), Answer::Done) => Ok(()),
            (None, Answer::Done) => Err(Breach("only the current token commits")),
            (_, Answer::Superseded { .. }) => {
                self.lost(now, lease, "a commit by the current token is done")
            }
            _ => Err(NO_SUCH_ANSWER),
        }
    }

    fn attach(
        &mut self,
        now: Duration,
        lease: Grant,
        outcome: &Payload,
        answer: &Answer,
    ) -> Result<(), Breach> {
        let room = self.trace(Some(outcome));
        let bounded = !matches!(room, Trace::Surely(_));
        let Some(record) = self.own(lease).filter(|record| record.committed.is_some()) else {
            let law = "only to an entry that the lease has committed";
            return require(
                *answer == Answer::TooLate || *answer == Answer::NoRoom && bounded,
                law,
            );
        };
        match answer {
            Answer::NoRoom => require(bounded, "there is room for an outcome until the bound"),
            Answer::TooLate => {
                if record.committed != Some(Trace::Nothing) {
                    // Either it had an outcome, or it has ended.
                    return Ok(());
                }
                require(record.sight.end.saw_over(now), "an outcome can be attached once")
            }
            Answer::Done => {
                require(room != Trace::Nothing, "no outcome above the bound on bytes")?;
                let taken = matches!(record.committed, Some(Trace::Surely(_)));
                require(!taken, "an outcome is attached once only")?;
                record.committed = Some(Trace::Surely(outcome.clone()));
                record.sight.saw_live(now, "nothing is attached to an expired entry")
            }
            _ => Err(NO_SUCH_ANSWER),
        }
    }

    fn release(&mut self, now: Duration, lease: Grant, answer: &Answer) -> Result<(), Breach> {
        let record = self.records.get(&lease.address);
        let own = record.is_some_and(|record| record.token == lease.token);
        let runs = record.is_some_and(|record| record.sight.end.runs(now));
        let committed = record.is_some_and(|record| record.committed.is_some());
        match answer {
            Answer::Done if own && !committed => {
                self.records.remove(&lease.address);
                Ok(())
            }
            Answer::Done => require(!runs, "a committed or a later key is not released"),
            Answer::Superseded { .. } => {
                let law = "releasing one's own lease, or what is gone, is done";
                require(record.is_some() && (committed || !own), law)
            }
            _ => Err(NO_SUCH_ANSWER),
        }
    }

    fn renew(
        &mut self,
        now: Duration,
        lease: Grant,
        ttl: Duration,
        answer: &Answer,
    ) -> Result<(), Breach> {
        let late_grace = self.limits.late_grace;
        match (self.own(lease), answer) {
            (Some(record), Answer::Renewed { deadline, lease_says }) => {
                require(record.committed.is_none(), "a committed lease is not renewed")?;
                let law = "no renewal once the late grace has ended";
                require(record.sight.hold.saw_running(now), law)?;
                record.sight = Sight::lease(now, ttl, late_grace);
                let end = record.sight.end;
                require(deadline == lease_says, "a renewal updates the lease")?;
                let law = "a renewal's deadline is its ttl from the call, a little later at most";
                require(self.origin.agrees(*deadline, end), law)
            }
            (None, Answer::Renewed { .. }) => Err(Breach("a renewal brings no lease back")),
            (record, Answer::Superseded { deadline_kept }) => {
                require(*deadline_kept, "a failed renewal leaves the deadline alone")?;
                if record.is_some_and(|record| record.committed.is_some()) {
                    return Ok(());
                }
                self.lost(now, lease, "a renewal by the current token is done")
            }
            _ => Err(NO_SUCH_ANSWER),
        }
    }

    fn abandon(
        &mut self,
        now: Duration,
        lease: Grant,
        own: bool,
        answer: &Answer,
    ) -> Result<(), Breach> {
        let record = self.own(lease).filter(|record| own && record.committed.is_none());
        if let Some(record) = record {
            // A store that loses no replies may ignore it.
            record.sight.end.may_end(now);
            record.sight.hold.may_end(now);
        }
        require(*answer == Answer::Done, "a store in memory can always abandon")
    }

    fn forget(&mut self, now: Duration, address: usize, answer: &Answer) -> Result<(), Breach> {
        let Answer::Forgotten { was_live } = *answer else {
            return Err(NO_SUCH_ANSWER);
        };
        match self.records.remove(&address) {
            None => require(!was_live, "there was nothing to forget"),
            Some(mut record) if was_live => {
                record.sight.saw_live(now, "an expired record is not live")
            }
            Some(mut record) => require(record.sight.end.saw_over(now), "a live record is live"),
        }
    }

    /// Follows the news that a lease is not the current one any more.
    fn lost(&mut self, now: Duration, lease: Grant, law: &'static str) -> Result<(), Breach> {
        let Some(record) = self.own(lease) else {
            return Ok(());
        };
        require(record.sight.hold.saw_over(now) && record.sight.end.saw_over(now), law)
    }

    fn own(&mut self, lease: Grant) -> Option<&mut Record> {
        self.records.get_mut(&lease.address).filter(|record| record.token == lease.token)
    }

    /// What will be left of an outcome that is offered now.
    fn trace(&mut self, outcome: Option<&Payload>) -> Trace {
        let Some(outcome) = outcome else {
            return Trace::Nothing;
        };
        self.offered_bytes = self.offered_bytes.saturating_add(outcome.len());
        if outcome.len() > self.limits.outcome_bytes {
            Trace::Nothing
        } else if self.limits.outcome_bytes > 0 && self.offered_bytes <= self.limits.outcome_bytes {
            Trace::Surely(outcome.clone())
        } else {
            Trace::Perhaps(outcome.clone())
        }
    }
}

impl Record {
    /// Whether both fingerprints are there and are not the same.
    fn differs(&self, other: Option<u8>) -> bool {
        matches!((self.fingerprint, other), (Some(own), Some(other)) if own != other)
    }
}
