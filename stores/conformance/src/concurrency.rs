//! Laws of concurrency: many tasks at once, and still one winner, one bound, one end.
//!
//! These hold for every interleaving and so prove none: each repeats its race some rounds.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use leasehold::{
    AcquireError, Admission, CommitError, LeaseStore, RecordState, ReleaseError, RenewError, Terms,
    Token,
};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::Subject;
use crate::bound::{bound, entries, fill};
use crate::case::{Case, LONG, assert_is, fresh_address, granted, ttl};

/// Tasks of one race.
const TASKS: usize = 64;

/// Rounds of a race in which no time has to pass.
const ROUNDS: usize = 100;

/// Rounds of a race in which time has to pass: fewer, since a real clock has to be waited for.
const TIMED_ROUNDS: usize = 4;

/// Starts `tasks` copies of `act`, each waiting at the gate for all of them and for `others`.
fn start<T, F>(
    tasks: usize,
    others: usize,
    mut act: impl FnMut(usize) -> F,
) -> (Arc<Barrier>, JoinSet<T>)
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let gate = Arc::new(Barrier::new(tasks + others));
    let mut running = JoinSet::new();
    for n in 0..tasks {
        let (gate, run) = (Arc::clone(&gate), act(n));
        running.spawn(async move {
            gate.wait().await;
            run.await
        });
    }
    (gate, running)
}

/// The answers of all tasks, in the order of their end. Once one panics the others are stopped, so
/// that none waits for what will not come.
async fn finish<T: 'static>(mut running: JoinSet<T>) -> Vec<T> {
    let mut answers = Vec::with_capacity(running.len());
    while let Some(answer) = running.join_next().await {
        answers.push(answer.expect("no task of the race panics"));
    }
    answers
}

/// Runs copies of `act` at once.
async fn race<T, F>(tasks: usize, act: impl FnMut(usize) -> F) -> Vec<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    let (_, running) = start(tasks, 0, act);
    finish(running).await
}

/// Races acquires of the case's address, and gives the leases that were granted; all others must
/// have been told that the key is in flight.
async fn race_acquires<S: Subject>(case: &Case<'_, S>) -> Vec<leasehold::Lease> {
    let answers = race(TASKS, |_| {
        let (store, address) = (Arc::clone(case.store), case.address);
        async move { store.acquire(address, Terms::new(ttl(LONG))).await }
    });
    let mut leases = Vec::new();
    for answer in answers.await {
        match answer {
            Ok(Admission::Granted(lease)) => leases.push(lease),
            other => assert_is!(other, Ok(Admission::InFlight { .. })),
        }
    }
    leases
}

/// Of many concurrent acquires of a free key exactly one is granted.
pub async fn one_of_many_acquires_is_granted<S: Subject>(subject: &S) {
    for _ in 0..ROUNDS {
        let case = Case::new(subject);
        let mut leases = race_acquires(&case).await;
        assert_eq!(leases.len(), 1);
        assert_is!(case.store.release(&mut leases[0]).await, Ok(()));
    }
}

/// A lease past its deadline is taken over by exactly one of many, within the grace as after it.
pub async fn expired_lease_is_taken_over_by_one<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for round in 0..TIMED_ROUNDS {
        let mut old = if round % 2 == 0 { case.late().await } else { case.lapsed().await };
        let mut leases = race_acquires(&case).await;
        assert_eq!(leases.len(), 1);
        assert!(leases[0].token() > old.token());
        assert_is!(case.store.release(&mut old).await, Err(ReleaseError::Superseded));
        assert_is!(case.store.release(&mut leases[0]).await, Ok(()));
    }
}

/// A kept key whose TTL is over is granted to exactly one of many.
pub async fn ended_key_is_granted_to_one<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for _ in 0..TIMED_ROUNDS {
        let _ended = case.ended().await;
        let mut leases = race_acquires(&case).await;
        assert_eq!(leases.len(), 1);
        assert_is!(case.store.release(&mut leases[0]).await, Ok(()));
    }
}

/// Who holds the key, and what was granted so far.
#[derive(Default)]
struct Holders {
    now: usize,
    grants: usize,
    refusals: usize,
    last: Option<Token>,
}

/// Many acquire and release one key again and again: at any time at most one holds it, and each
/// grant's token is above the one before.
pub async fn key_has_one_holder_at_any_time<S: Subject>(subject: &S) {
    const GRANTS: usize = 500;
    // Far more than it takes even where a holder is often paused; then nothing frees the key.
    const REFUSALS: usize = 4_000_000;
    let case = Case::new(subject);
    let holders = Arc::new(Mutex::new(Holders::default()));
    race(TASKS, |_| {
        let (store, address) = (Arc::clone(case.store), case.address);
        let holders = Arc::clone(&holders);
        async move {
            let seen = || holders.lock().unwrap_or_else(PoisonError::into_inner);
            while seen().grants < GRANTS {
                match store.acquire(address, Terms::new(ttl(LONG))).await {
                    Ok(Admission::Granted(mut lease)) => {
                        enter(&mut seen(), lease.token());
                        tokio::task::yield_now().await;
                        seen().now -= 1;
                        assert_is!(store.release(&mut lease).await, Ok(()));
                    }
                    other => {
                        assert_is!(other, Ok(Admission::InFlight { .. }));
                        seen().refusals += 1;
                        assert!(seen().refusals < REFUSALS, "a released key stays in flight");
                    }
                }
                tokio::task::yield_now().await;
            }
        }
    })
    .await;
    assert_is!(case.peek().await, RecordState::Free);
}

/// Records a grant, and that nobody else holds the key.
fn enter(holders: &mut Holders, token: Token) {
    assert_eq!(holders.now, 0, "two holders at once");
    assert!(Some(token) > holders.last, "token {token} after {:?}", holders.last);
    holders.now += 1;
    holders.grants += 1;
    holders.last = Some(token);
}

/// What one task of a mixed race was told.
enum Answer {
    Acquired(Result<Admission, AcquireError>),
    Committed(Result<(), CommitError>),
}

/// A late commit and a takeover exclude each other: either the commit is done and nobody is
/// granted, or exactly one is granted and the commit is superseded.
pub async fn late_commit_and_takeover_exclude_each_other<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for _ in 0..TIMED_ROUNDS {
        let mut late = Some(case.late().await);
        let answers = race(8, |_| {
            let (store, address, late) = (Arc::clone(case.store), case.address, late.take());
            async move {
                match late {
                    Some(mut lease) => {
                        Answer::Committed(store.commit(&mut lease, None, ttl(LONG)).await)
                    }
                    None => Answer::Acquired(store.acquire(address, Terms::new(ttl(LONG))).await),
                }
            }
        });
        let (mut granted, mut committed) = (0, 0);
        for answer in answers.await {
            match answer {
                Answer::Committed(Ok(())) => committed += 1,
                Answer::Committed(other) => assert_is!(other, Err(CommitError::Superseded)),
                Answer::Acquired(Ok(Admission::Granted(_))) => granted += 1,
                Answer::Acquired(other) => {
                    assert_is!(other, Ok(Admission::InFlight { .. } | Admission::Completed { .. }))
                }
            }
        }
        assert_eq!(granted + committed, 1, "{granted} grants and {committed} commits");
        assert_is!(case.store.forget(case.address).await, Ok(true));
    }
}

/// A commit and a forget of a running lease: the record is removed once, whoever comes first, and
/// the key is free.
pub async fn commit_and_forget_leave_the_key_free<S: Subject>(subject: &S) {
    for _ in 0..ROUNDS {
        let case = Case::new(subject);
        let mut running = Some(case.running().await);
        let removed = race(3, |_| {
            let (store, address, lease) = (Arc::clone(case.store), case.address, running.take());
            async move {
                match lease {
                    Some(mut lease) => match store.commit(&mut lease, None, ttl(LONG)).await {
                        Ok(()) | Err(CommitError::Superseded) => false,
                        other => panic!("unexpected {other:?}"),
                    },
                    None => store.forget(address).await.expect("the store answers"),
                }
            }
        });
        assert_eq!(removed.await.into_iter().filter(|removed| *removed).count(), 1);
        assert_is!(case.peek().await, RecordState::Free);
    }
}

/// What a renewal was told is never undone by a sweep or by the end that it has moved: while time
/// passes the old end and sweeps run, the lease goes on.
pub async fn renewal_that_is_done_is_never_swept<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for _ in 0..TIMED_ROUNDS {
        let mut lease = Some(granted(case.acquire(subject.short_ttl()).await));
        let (gate, running) = start(3, 1, |_| {
            let (store, lease) = (Arc::clone(case.store), lease.take());
            async move {
                if let Some(mut lease) = lease {
                    return Some((store.renew(&mut lease, ttl(LONG)).await, lease));
                }
                for _ in 0..20 {
                    assert_is!(store.sweep(usize::MAX).await, Ok(_));
                    tokio::task::yield_now().await;
                }
                None
            }
        });
        gate.wait().await;
        case.pass(subject.short_ttl() + subject.late_grace()).await;
        for (answer, mut lease) in finish(running).await.into_iter().flatten() {
            match answer {
                Ok(_) => {
                    assert_is!(case.acquire(LONG).await, Ok(Admission::InFlight { .. }));
                    case.commit(&mut lease, None).await;
                    assert_is!(case.store.forget(case.address).await, Ok(true));
                }
                Err(RenewError::Superseded) => assert_is!(case.peek().await, RecordState::Free),
                other => panic!("unexpected {other:?}"),
            }
        }
    }
}

/// Many acquires of different keys fill the store to its bound exactly, never above it.
pub async fn bound_holds_under_contention<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    for _ in 0..ROUNDS {
        let answers = race(max + TASKS, |_| {
            let store = Arc::clone(subject.store());
            async move {
                let answer = store.acquire(fresh_address(), Terms::new(ttl(LONG))).await;
                (answer, store.usage().map(|usage| usage.entries))
            }
        });
        let mut leases = Vec::new();
        for (answer, used) in answers.await {
            assert!(used <= Some(max), "{used:?} entries of {max}");
            match answer {
                Ok(Admission::Granted(lease)) => leases.push(lease),
                other => assert_is!(other, Err(AcquireError::Full)),
            }
        }
        assert_eq!((leases.len(), entries(subject)), (max, max));
        for lease in &mut leases {
            assert_is!(subject.store().release(lease).await, Ok(()));
        }
        assert_eq!(entries(subject), 0);
    }
}

/// Many acquires of one new key at the last free place: one is granted, and no other is told that
/// the store is full.
pub async fn one_key_at_the_last_place_is_never_full<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    fill(subject, max, 1).await;
    for _ in 0..ROUNDS {
        let case = Case::new(subject);
        let mut leases = race_acquires(&case).await;
        assert_eq!(leases.len(), 1);
        assert_eq!(entries(subject), max);
        assert_is!(case.store.release(&mut leases[0]).await, Ok(()));
    }
}

/// While other keys come and go at the bound, a key that is present all along is always in flight.
pub async fn present_key_is_never_full_under_contention<S: Subject>(subject: &S) {
    let Some(max) = bound(subject) else { return };
    let case = Case::new(subject);
    let mut held = case.running().await;
    race(8, |n| {
        let (store, address) = (Arc::clone(case.store), case.address);
        async move {
            for _ in 0..100 {
                let target = if n % 2 == 0 { address } else { fresh_address() };
                match store.acquire(target, Terms::new(ttl(LONG))).await {
                    Ok(Admission::Granted(mut lease)) => {
                        assert_ne!(target, address);
                        tokio::task::yield_now().await;
                        assert_is!(store.release(&mut lease).await, Ok(()));
                    }
                    Err(AcquireError::Full) => assert_ne!(target, address),
                    other => assert_is!(other, Ok(Admission::InFlight { .. })),
                }
                assert!(store.usage().is_some_and(|usage| usage.entries <= max));
            }
        }
    })
    .await;
    case.commit(&mut held, None).await;
    assert_eq!(entries(subject), 1);
}
