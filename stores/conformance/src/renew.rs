//! Laws of renew: a lease's end moves, and nothing that is over comes back.

use leasehold::{Admission, Lease, LeaseStore as _, RecordState, RenewError};

use crate::Subject;
use crate::case::{Case, Gone, LONG, assert_is, granted, ttl};

/// Asserts that a renewal is superseded and changes neither the record nor the lease.
async fn superseded<S: Subject>(case: &Case<'_, S>, lease: &mut Lease) {
    let (before, deadline) = (case.look().await, lease.deadline());
    let answer = case.store.renew(lease, ttl(LONG * 2)).await;
    assert_is!(answer, Err(RenewError::Superseded));
    case.assert_unmoved(&before).await;
    assert_eq!(lease.deadline(), deadline);
}

/// A renewal sets the end to its TTL from now, later or earlier than it was; it answers the new
/// deadline, which is the lease's from then on, and keeps the token.
pub async fn renew_moves_the_deadline_both_ways<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    let token = lease.token();
    for lease_ttl in [LONG * 3, LONG, LONG / 2, LONG * 2] {
        let (since, old) = (subject.elapsed(), lease.deadline());
        let longer = match case.peek().await {
            RecordState::InFlight { remaining } => lease_ttl > remaining,
            other => panic!("expected in flight, got {other:?}"),
        };
        let answer = case.store.renew(&mut lease, ttl(lease_ttl)).await;
        let deadline = answer.expect("a running lease is renewed");
        assert_eq!(deadline, lease.deadline());
        assert_eq!(deadline > old, longer, "renewed by {lease_ttl:?}");
        assert_eq!(lease.token(), token);
        match case.peek().await {
            RecordState::InFlight { remaining } => {
                case.assert_remaining(remaining, lease_ttl, since);
            }
            other => panic!("expected in flight, got {other:?}"),
        }
        subject.advance(subject.short_ttl()).await;
    }
    case.commit(&mut lease, None).await;
}

/// A lease that was renewed outlives the deadline that it had before.
pub async fn renewed_lease_outlives_its_old_deadline<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = granted(case.acquire(subject.short_ttl()).await);
    assert_is!(case.store.renew(&mut lease, ttl(LONG)).await, Ok(_));
    case.pass(subject.short_ttl() + subject.late_grace()).await;
    case.sweep_if(true).await;
    assert_is!(case.acquire(LONG).await, Ok(Admission::InFlight { .. }));
    case.commit(&mut lease, None).await;
}

/// A lease that was shortened ends at its new deadline, and its grace counts from there.
pub async fn shortened_lease_ends_early_as_asked<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    assert_is!(case.store.renew(&mut lease, ttl(subject.short_ttl())).await, Ok(_));
    case.pass(subject.short_ttl()).await;
    assert_is!(case.peek().await, RecordState::Free);
    case.pass(subject.late_grace()).await;
    superseded(&case, &mut lease).await;
    let _later = granted(case.acquire(LONG).await);
}

/// Within the grace a renewal succeeds unless the lease was taken over: the lease runs again.
pub async fn renew_within_the_grace_is_done<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    if case.lacks_grace().await {
        return;
    }
    let mut lease = case.late().await;
    assert_is!(case.peek().await, RecordState::Free);
    let since = subject.elapsed();
    assert_is!(case.store.renew(&mut lease, ttl(LONG)).await, Ok(_));
    match case.acquire(LONG).await {
        Ok(Admission::InFlight { remaining }) => case.assert_remaining(remaining, LONG, since),
        other => panic!("expected in flight, got {other:?}"),
    }
    case.commit(&mut lease, None).await;
}

/// A renewal never brings back what is gone, whether a sweep has run or not.
pub async fn renew_of_what_is_gone_is_superseded<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for state in Gone::ALL {
        for swept in [false, true] {
            let mut lease = case.gone(state).await;
            case.sweep_if(swept).await;
            superseded(&case, &mut lease).await;
            assert_is!(case.peek().await, RecordState::Free);
        }
    }
}

/// A kept key is not renewed: its TTL is the commit's.
pub async fn renew_of_a_kept_key_is_superseded<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.kept().await;
    superseded(&case, &mut lease).await;
}

/// A renewal after a takeover is superseded and touches neither a running nor a kept later grant.
pub async fn renew_after_a_takeover_is_superseded<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for state in Gone::all_or_late() {
        let (mut old, mut later) = case.taken_over(state).await;
        superseded(&case, &mut old).await;
        case.commit(&mut later, None).await;
        superseded(&case, &mut old).await;
        assert_is!(case.store.forget(case.address).await, Ok(true));
    }
}
