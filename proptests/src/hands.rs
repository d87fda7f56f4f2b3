//! Whoever calls the store: makes the calls through the trait, and keeps every lease ever granted.
//!
//! Leases are never let go, so that stale ones can be used again. Nothing is judged here.

use std::time::Instant;

use futures_util::FutureExt as _;
use leasehold::{
    AcquireError, Address, Admission, AttachError, Attempt, CommitError, Digester, Fingerprint,
    Lease, LeaseStore, Outcome, RecordState, ReleaseError, RenewError, Terms, Ttl,
};

use crate::verb::{Answer, Grant, Payload, Verb};

/// The address that goes by this number.
#[must_use]
pub fn address(number: usize) -> Address {
    Digester::plain().address(&[&number.to_le_bytes()])
}

/// The fingerprint that goes by this byte.
fn fingerprint(byte: u8) -> Fingerprint {
    Digester::plain().fingerprint(&[&[byte]])
}

#[derive(Debug)]
struct Held {
    address: usize,
    attempt: Attempt,
    lease: Lease,
}

/// All leases that one caller has been granted, the newest at place 0.
#[derive(Debug, Default)]
pub struct Hands(Vec<Held>);

impl Hands {
    /// Makes the call and says which one it was; nothing if there is no lease at that place.
    pub fn call<S: LeaseStore>(
        &mut self,
        store: &S,
        verb: &Verb<usize>,
    ) -> Option<(Verb<Grant>, Answer)> {
        let named = self.name(verb)?;
        let answer = match (verb, verb.lease().and_then(|place| self.held(*place))) {
            (Verb::Acquire { address, ttl, fingerprint }, _) => {
                self.acquire(store, *address, *ttl, *fingerprint)
            }
            (Verb::Peek { address: number }, _) => peek(store, *number),
            (Verb::Forget { address: number }, _) => {
                ready(store.forget(address(*number)), |was_live| Answer::Forgotten { was_live })
            }
            (Verb::Sweep { budget }, _) => ready(store.sweep(*budget), Answer::Swept),
            (Verb::Close, _) => {
                store.close();
                Answer::Done
            }
            (verb, Some(held)) => settle(store, held, verb),
            (_, None) => return None,
        };
        Some((named, answer))
    }

    /// Takes a lease out, the newest first.
    pub fn pop(&mut self) -> Option<(usize, Lease)> {
        self.0.pop().map(|held| (held.address, held.lease))
    }

    /// Splits the leases among so many callers, in turn.
    #[must_use]
    pub fn deal(self, callers: usize) -> Vec<Self> {
        let mut dealt: Vec<Self> = (0..callers).map(|_| Self::default()).collect();
        for (position, held) in self.0.into_iter().enumerate() {
            if let Some(hands) = dealt.get_mut(position % callers.max(1)) {
                hands.0.push(held);
            }
        }
        dealt
    }

    fn held(&mut self, place: usize) -> Option<&mut Held> {
        self.0.iter_mut().rev().nth(place)
    }

    fn name(&mut self, verb: &Verb<usize>) -> Option<Verb<Grant>> {
        let grant = |hands: &mut Self, place: usize| {
            let held = hands.held(place)?;
            Some(Grant { address: held.address, token: held.lease.token().get() })
        };
        Some(match verb.clone() {
            Verb::Acquire { address, ttl, fingerprint } => {
                Verb::Acquire { address, ttl, fingerprint }
            }
            Verb::Commit { lease, outcome, ttl } => {
                Verb::Commit { lease: grant(self, lease)?, outcome, ttl }
            }
            Verb::Attach { lease, outcome } => Verb::Attach { lease: grant(self, lease)?, outcome },
            Verb::Release { lease } => Verb::Release { lease: grant(self, lease)? },
            Verb::Renew { lease, ttl } => Verb::Renew { lease: grant(self, lease)?, ttl },
            Verb::Abandon { lease, own } => Verb::Abandon { lease: grant(self, lease)?, own },
            Verb::Peek { address } => Verb::Peek { address },
            Verb::Forget { address } => Verb::Forget { address },
            Verb::Sweep { budget } => Verb::Sweep { budget },
            Verb::Close => Verb::Close,
        })
    }

    fn acquire<S: LeaseStore>(
        &mut self,
        store: &S,
        number: usize,
        ttl: Ttl,
        byte: Option<u8>,
    ) -> Answer {
        let mut terms = Terms::new(ttl);
        if let Some(byte) = byte {
            terms = terms.fingerprint(fingerprint(byte));
        }
        match store.acquire(address(number), terms).now_or_never() {
            None => unready(),
            Some(Ok(Admission::Granted(lease))) => {
                let answer =
                    Answer::Granted { token: lease.token().get(), deadline: lease.deadline() };
                self.0.push(Held { address: number, attempt: terms.attempt, lease });
                answer
            }
            Some(Ok(Admission::InFlight { remaining })) => Answer::InFlight { remaining },
            Some(Ok(Admission::Completed { outcome, remaining })) => Answer::Completed {
                outcome: outcome.map(|outcome| outcome.as_bytes().to_vec()),
                remaining,
            },
            Some(Ok(Admission::Mismatch)) => Answer::Mismatch,
            Some(Err(AcquireError::Full)) => Answer::Full { rivals: 0 },
            Some(Err(AcquireError::Closed)) => Answer::Closed,
            Some(Err(AcquireError::ClockExhausted)) => Answer::ClockExhausted,
            Some(Err(error)) => unexpected(&error),
        }
    }
}

/// The verbs that need a lease.
fn settle<S: LeaseStore>(store: &S, held: &mut Held, verb: &Verb<usize>) -> Answer {
    let lease = &mut held.lease;
    match verb {
        Verb::Commit { outcome, ttl, .. } => {
            let outcome = outcome.clone().map(wrap);
            match store.commit(lease, outcome, *ttl).now_or_never() {
                None => unready(),
                Some(Ok(())) => Answer::Done,
                Some(Err(CommitError::Superseded)) => Answer::Superseded { deadline_kept: true },
                Some(Err(CommitError::Foreign)) => Answer::Foreign,
                Some(Err(error)) => unexpected(&error),
            }
        }
        Verb::Attach { outcome, .. } => {
            match store.attach(lease, wrap(outcome.clone())).now_or_never() {
                None => unready(),
                Some(Ok(())) => Answer::Done,
                Some(Err(AttachError::TooLate)) => Answer::TooLate,
                Some(Err(AttachError::NoRoom)) => Answer::NoRoom,
                Some(Err(AttachError::Foreign)) => Answer::Foreign,
                Some(Err(error)) => unexpected(&error),
            }
        }
        Verb::Release { .. } => match store.release(lease).now_or_never() {
            None => unready(),
            Some(Ok(())) => Answer::Done,
            Some(Err(ReleaseError::Superseded)) => Answer::Superseded { deadline_kept: true },
            Some(Err(ReleaseError::Foreign)) => Answer::Foreign,
            Some(Err(error)) => unexpected(&error),
        },
        Verb::Renew { ttl, .. } => renew(store, lease, *ttl),
        Verb::Abandon { own, .. } => {
            let attempt = if *own { held.attempt } else { Attempt::random() };
            match store.abandon(address(held.address), attempt).now_or_never() {
                None => unready(),
                Some(Ok(())) => Answer::Done,
                Some(Err(error)) => unexpected(&error),
            }
        }
        Verb::Acquire { .. }
        | Verb::Peek { .. }
        | Verb::Forget { .. }
        | Verb::Sweep { .. }
        | Verb::Close => Answer::Unexpected("a verb without a lease".to_owned()),
    }
}

fn renew<S: LeaseStore>(store: &S, lease: &mut Lease, ttl: Ttl) -> Answer {
    let before: Instant = lease.deadline();
    match store.renew(lease, ttl).now_or_never() {
        None => unready(),
        Some(Ok(deadline)) => Answer::Renewed { deadline, lease_says: lease.deadline() },
        Some(Err(RenewError::Superseded)) => {
            Answer::Superseded { deadline_kept: lease.deadline() == before }
        }
        Some(Err(RenewError::Foreign)) => Answer::Foreign,
        Some(Err(error)) => unexpected(&error),
    }
}

fn peek<S: LeaseStore>(store: &S, number: usize) -> Answer {
    ready(store.peek(address(number)), |state| match state {
        RecordState::Free => Answer::Free,
        RecordState::InFlight { remaining } => Answer::InFlight { remaining },
        RecordState::Completed { remaining, replayable } => Answer::Kept { remaining, replayable },
    })
}

fn wrap(payload: Payload) -> Outcome {
    Outcome::new(payload.into())
}

/// Polls once: a store in memory has answered by then.
fn ready<T, E: std::fmt::Debug>(
    future: impl Future<Output = Result<T, E>>,
    answer: impl FnOnce(T) -> Answer,
) -> Answer {
    match future.now_or_never() {
        None => unready(),
        Some(Ok(value)) => answer(value),
        Some(Err(error)) => unexpected(&error),
    }
}

fn unready() -> Answer {
    Answer::Unexpected("not ready at the first poll".to_owned())
}

fn unexpected(error: &dyn std::fmt::Debug) -> Answer {
    Answer::Unexpected(format!("{error:?}"))
}
