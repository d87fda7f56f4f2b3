//! Duplicates of completed keys, answered from memory.
//!
//! A front store remembers what this process has seen completed. It must never say more than the
//! back store has said: an entry answers only who asks with the very same fingerprint, lives for a
//! bounded time from when the back store was *asked*, and everything else goes to the back store.
//!
//! The front's own leases keep it in step. An acquire takes the key in the front before it asks
//! the back, and commits it there once the back has said *completed*. A forget that comes between
//! removes the front's lease, so that commit finds itself superseded and nothing is remembered.

use std::fmt;
use std::time::Duration;

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use leasehold::{
    AcquireError, Address, Admission, AttachError, Attempt, CommitError, Digester, Fingerprint,
    Lease, LeaseStore, Outcome, RecordState, ReleaseError, RenewError, StoreError, Terms, Ttl,
    Usage,
};
use tokio::time::Instant;

/// How long an entry of a near cache lives unless it is chosen otherwise: five seconds.
pub const NEAR_CACHE_TTL: Ttl = match Ttl::new(Duration::from_secs(5)) {
    Ok(ttl) => ttl,
    Err(_) => panic!("five seconds are a valid ttl"),
};

/// A store whose completed keys are remembered for a while by another, which is meant to be in
/// memory and bounded.
///
/// What another instance does to a key is not heard of at once. For up to the near cache's TTL
/// this one may still answer that a key is completed which another has forgotten, or that it is
/// completed without the outcome which was attached meanwhile. A [`forget`](LeaseStore::forget) by
/// this one is heard at once. A full front is a miss, never an error.
pub struct NearCache<B, F> {
    back: B,
    front: F,
    ttl: Ttl,
    /// What the times in the front's entries are counted from.
    origin: Instant,
    /// What stands in the front for a request without a fingerprint.
    unprinted: Fingerprint,
}

impl<B: LeaseStore, F: LeaseStore> NearCache<B, F> {
    /// Puts `front` before `back`. Nobody else may use the front, and it needs no late grace.
    /// [`NEAR_CACHE_TTL`] is a good choice of `ttl`; a longer one is answered longer after another
    /// instance has forgotten the key.
    #[must_use]
    pub fn new(back: B, front: F, ttl: Ttl) -> Self {
        let unprinted = Digester::plain().fingerprint(&[b"near cache", b"no fingerprint"]);
        Self { back, front, ttl, origin: Instant::now(), unprinted }
    }

    /// The terms on which the front is asked: it answers only who has the very same fingerprint,
    /// or likewise none. The back alone knows what other requests are told.
    fn front_terms(&self, terms: &Terms) -> Terms {
        Terms::new(self.ttl).fingerprint(terms.fingerprint.unwrap_or(self.unprinted))
    }

    /// Settles the front's lease by what the back has said.
    async fn learn(
        &self,
        mut lease: Lease,
        sent: Instant,
        answer: &Result<Admission, AcquireError>,
    ) {
        if let Ok(Admission::Completed { outcome, remaining }) = answer {
            let fresh = self.ttl.get().min(*remaining);
            let entry = Entry {
                fresh_until: self.nanos(sent + fresh),
                // As of the answer, as the back has told it.
                kept_until: self.nanos(Instant::now()).saturating_add(nanos(*remaining)),
                outcome: outcome.clone(),
            };
            if let Ok(ttl) = Ttl::new(fresh.saturating_sub(sent.elapsed())) {
                // Superseded means that the key was forgotten meanwhile, or that the answer took
                // longer than an entry lives: it is not remembered then, and nothing is lost.
                let _ = self.front.commit(&mut lease, Some(entry.pack()), ttl).await;
                return;
            }
        }
        // If it fails, the lease ends by itself.
        let _ = self.front.release(&mut lease).await;
    }

    /// Nanoseconds since the cache was made.
    fn nanos(&self, at: Instant) -> u64 {
        nanos(at.saturating_duration_since(self.origin))
    }
}

impl<B: fmt::Debug, F> fmt::Debug for NearCache<B, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("NearCache");
        debug.field("back", &self.back).field("ttl", &self.ttl).finish_non_exhaustive()
    }
}

impl<B: LeaseStore, F: LeaseStore> LeaseStore for NearCache<B, F> {
    async fn acquire(&self, address: Address, terms: Terms) -> Result<Admission, AcquireError> {
        let sent = Instant::now();
        let lease = match self.front.acquire(address, self.front_terms(&terms)).await {
            Ok(Admission::Completed { outcome: Some(packed), .. }) => {
                match Entry::unpack(packed).and_then(|entry| entry.admission(self.nanos(sent))) {
                    Some(admission) => return Ok(admission),
                    None => None,
                }
            }
            Ok(Admission::Granted(lease)) => Some(lease),
            // Somebody else is asking the back, for this request or another; or it is full.
            _ => None,
        };
        let answer = self.back.acquire(address, terms).await;
        if let Some(lease) = lease {
            self.learn(lease, sent, &answer).await;
        }
        answer
    }

    async fn commit(
        &self,
        lease: &mut Lease,
        outcome: Option<Outcome>,
        ttl: Ttl,
    ) -> Result<(), CommitError> {
        self.back.commit(lease, outcome, ttl).await
    }

    async fn attach(&self, lease: &Lease, outcome: Outcome) -> Result<(), AttachError> {
        self.back.attach(lease, outcome).await
    }

    async fn release(&self, lease: &mut Lease) -> Result<(), ReleaseError> {
        self.back.release(lease).await
    }

    async fn abandon(&self, address: Address, attempt: Attempt) -> Result<(), StoreError> {
        self.back.abandon(address, attempt).await
    }

    async fn renew(
        &self,
        lease: &mut Lease,
        lease_ttl: Ttl,
    ) -> Result<std::time::Instant, RenewError> {
        self.back.renew(lease, lease_ttl).await
    }

    async fn peek(&self, address: Address) -> Result<RecordState, StoreError> {
        self.back.peek(address).await
    }

    /// The back first: what is asked of it from then on is answered without the record, and what
    /// was asked before loses its lease in the front.
    async fn forget(&self, address: Address) -> Result<bool, StoreError> {
        let answer = self.back.forget(address).await;
        // Also where the back has not answered: then it may have forgotten.
        self.front.forget(address).await?;
        answer
    }

    async fn sweep(&self, budget: usize) -> Result<usize, StoreError> {
        let swept = self.back.sweep(budget).await?;
        let front = self.front.sweep(budget.saturating_sub(swept)).await?;
        Ok(swept.saturating_add(front))
    }

    fn close(&self) {
        self.back.close();
        self.front.close();
    }

    fn usage(&self) -> Option<Usage> {
        self.back.usage()
    }

    fn is_shared(&self) -> bool {
        self.back.is_shared()
    }
}

/// What the front keeps of a completed key. Times are nanoseconds since the cache was made.
struct Entry {
    /// Until when it may answer.
    fresh_until: u64,
    /// Until when the back keeps the key.
    kept_until: u64,
    outcome: Option<Outcome>,
}

impl Entry {
    /// Bytes of the two times, and of whether there is an outcome.
    const HEAD: usize = 17;

    /// As an outcome of the front: it takes the back's one along.
    fn pack(&self) -> Outcome {
        let outcome = self.outcome.as_ref().map(Outcome::as_bytes);
        let mut packed = BytesMut::with_capacity(Self::HEAD + outcome.map_or(0, Bytes::len));
        packed.put_u64(self.fresh_until);
        packed.put_u64(self.kept_until);
        packed.put_u8(u8::from(outcome.is_some()));
        packed.extend_from_slice(outcome.map_or(&[], |bytes| &bytes[..]));
        Outcome::new(packed.freeze())
    }

    /// From an outcome of the front. The back's one is shared with it, not copied.
    fn unpack(packed: Outcome) -> Option<Self> {
        let mut bytes = packed.into_bytes();
        if bytes.len() < Self::HEAD {
            return None;
        }
        let (fresh_until, kept_until) = (bytes.get_u64(), bytes.get_u64());
        let outcome = (bytes.get_u8() == 1).then(|| Outcome::new(bytes));
        Some(Self { fresh_until, kept_until, outcome })
    }

    /// What it answers, while it may.
    fn admission(self, now: u64) -> Option<Admission> {
        let remaining = Duration::from_nanos(self.kept_until.saturating_sub(now));
        (now < self.fresh_until)
            .then_some(Admission::Completed { outcome: self.outcome, remaining })
    }
}

/// At most 584 years.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
