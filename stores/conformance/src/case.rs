//! One address of the store under test, and the states that it can be brought to.
//!
//! Setting a state up may panic: a store that cannot reach it has broken an earlier law.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use leasehold::{
    AcquireError, Address, Admission, Attempt, Digester, Fingerprint, Lease, LeaseStore, Outcome,
    RecordState, Terms, Ttl,
};

use crate::Subject;

/// A TTL that no law lets pass. Arbitrary, far above what a run takes.
pub(crate) const LONG: Duration = Duration::from_secs(60 * 60);

/// Asserts that an answer fits a pattern, and prints both if it does not.
macro_rules! assert_is {
    ($answer:expr, $pattern:pat) => {{
        let answer = $answer;
        match &answer {
            $pattern => {}
            _ => panic!("expected {}, got {answer:?}", stringify!($pattern)),
        }
    }};
}
pub(crate) use assert_is;

/// A checked TTL.
#[track_caller]
pub(crate) fn ttl(duration: Duration) -> Ttl {
    Ttl::new(duration).expect("the subject's durations are valid")
}

/// An address that nobody has used.
pub(crate) fn fresh_address() -> Address {
    let name = Attempt::random().to_bits().to_le_bytes();
    Digester::plain().address(&[b"conformance", &name])
}

/// The fingerprint of a request of this name.
pub(crate) fn fingerprint(name: &str) -> Fingerprint {
    Digester::plain().fingerprint(&[name.as_bytes()])
}

/// An outcome of this text.
pub(crate) fn outcome(text: &'static str) -> Outcome {
    Outcome::new(Bytes::from_static(text.as_bytes()))
}

/// The lease of an answer that must be a grant.
#[track_caller]
pub(crate) fn granted(answer: Result<Admission, AcquireError>) -> Lease {
    match answer {
        Ok(Admission::Granted(lease)) => lease,
        other => panic!("expected a grant, got {other:?}"),
    }
}

/// One address of the store under test.
pub(crate) struct Case<'a, S: Subject> {
    pub(crate) subject: &'a S,
    pub(crate) store: &'a Arc<S::Store>,
    pub(crate) address: Address,
}

impl<'a, S: Subject> Case<'a, S> {
    /// A case at a fresh address.
    pub(crate) fn new(subject: &'a S) -> Self {
        Self { subject, store: subject.store(), address: fresh_address() }
    }

    /// Acquires without a fingerprint, in a fresh attempt.
    pub(crate) async fn acquire(&self, lease_ttl: Duration) -> Result<Admission, AcquireError> {
        self.store.acquire(self.address, Terms::new(ttl(lease_ttl))).await
    }

    /// Acquires for a request of this name, in a fresh attempt.
    pub(crate) async fn acquire_for(
        &self,
        request: &str,
        lease_ttl: Duration,
    ) -> Result<Admission, AcquireError> {
        let terms = Terms::new(ttl(lease_ttl)).fingerprint(fingerprint(request));
        self.store.acquire(self.address, terms).await
    }

    /// Commits for a long time, which must succeed.
    pub(crate) async fn commit(&self, lease: &mut Lease, outcome: Option<Outcome>) {
        assert_is!(self.store.commit(lease, outcome, ttl(LONG)).await, Ok(()));
    }

    /// Releases, which must succeed.
    pub(crate) async fn release(&self, mut lease: Lease) {
        assert_is!(self.store.release(&mut lease).await, Ok(()));
    }

    /// What an operator sees.
    pub(crate) async fn peek(&self) -> RecordState {
        self.store.peek(self.address).await.expect("the store answers")
    }

    /// Sweeps all that is due, or nothing: laws hold either way.
    pub(crate) async fn sweep_if(&self, swept: bool) {
        if swept {
            self.store.sweep(usize::MAX).await.expect("the store answers");
        }
    }

    /// Lets a TTL pass, until its end shows.
    pub(crate) async fn pass(&self, ttl: Duration) {
        self.subject.advance(ttl + self.subject.resolution()).await;
    }

    /// The short TTL of the subject.
    pub(crate) fn short(&self) -> Duration {
        self.subject.short_ttl()
    }

    /// State *in flight*: a lease that runs.
    pub(crate) async fn running(&self) -> Lease {
        granted(self.acquire(LONG).await)
    }

    /// State *late*: a lease past its deadline, within the grace.
    pub(crate) async fn late(&self) -> Lease {
        let lease = granted(self.acquire(self.short()).await);
        self.pass(self.short()).await;
        lease
    }

    /// State *lapsed*: a lease past its grace, not swept by this case.
    pub(crate) async fn lapsed(&self) -> Lease {
        let lease = granted(self.acquire(self.short()).await);
        self.pass(self.short() + self.subject.late_grace()).await;
        lease
    }

    /// State *kept*: committed, without an outcome.
    pub(crate) async fn kept(&self) -> Lease {
        let mut lease = self.running().await;
        self.commit(&mut lease, None).await;
        lease
    }

    /// State *ended*: committed, and past the TTL of the commit.
    pub(crate) async fn ended(&self) -> Lease {
        let mut lease = self.running().await;
        assert_is!(self.store.commit(&mut lease, None, ttl(self.short())).await, Ok(()));
        self.pass(self.short()).await;
        lease
    }

    /// State *released*.
    pub(crate) async fn released(&self) -> Lease {
        let mut lease = self.running().await;
        assert_is!(self.store.release(&mut lease).await, Ok(()));
        lease
    }

    /// State *forgotten*.
    pub(crate) async fn forgotten(&self) -> Lease {
        let lease = self.running().await;
        assert_is!(self.store.forget(self.address).await, Ok(true));
        lease
    }

    /// State *taken over*: the old lease, and the later one that runs. The later grant came while
    /// the old lease was late (`None`), or after it was gone.
    pub(crate) async fn taken_over(&self, state: Option<Gone>) -> (Lease, Lease) {
        let old = match state {
            None => self.late().await,
            Some(state) => self.gone(state).await,
        };
        (old, self.running().await)
    }

    /// A lease whose record is gone while the address is free. Laws that go through all the ways
    /// stay at one address, so that what is not yet reclaimed never needs a second place.
    pub(crate) async fn gone(&self, state: Gone) -> Lease {
        match state {
            Gone::Lapsed => self.lapsed().await,
            Gone::Ended => self.ended().await,
            Gone::Released => self.released().await,
            Gone::Forgotten => self.forgotten().await,
            Gone::LaterReleased => {
                let old = self.late().await;
                let later = self.running().await;
                self.release(later).await;
                old
            }
        }
    }

    /// Whether leases have no grace; then asserts that one past its deadline is indeed lost.
    pub(crate) async fn lacks_grace(&self) -> bool {
        let lacking = self.subject.late_grace().is_zero();
        if lacking {
            let mut lease = self.late().await;
            let answer = self.store.commit(&mut lease, None, ttl(LONG)).await;
            assert_is!(answer, Err(leasehold::CommitError::Superseded));
        }
        lacking
    }

    /// Whether an outcome of a few bytes finds room.
    pub(crate) fn keeps_outcomes(&self) -> bool {
        self.subject.max_outcome_bytes() != Some(0)
    }
}

/// The ways in which a lease's record can be gone while its address is free.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gone {
    Lapsed,
    Ended,
    Released,
    Forgotten,
    LaterReleased,
}

impl Gone {
    /// Each of them.
    pub(crate) const ALL: [Self; 5] =
        [Self::Lapsed, Self::Ended, Self::Released, Self::Forgotten, Self::LaterReleased];

    /// For [`Case::taken_over`]: each of them, and late.
    pub(crate) fn all_or_late() -> impl Iterator<Item = Option<Self>> {
        std::iter::once(None).chain(Self::ALL.map(Some))
    }
}
