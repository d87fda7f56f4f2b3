//! Laws of fingerprints: one key stands for one request while its record lives.

use leasehold::{Admission, LeaseStore as _, RecordState};

use crate::Subject;
use crate::case::{Case, Gone, LONG, assert_is, granted, outcome, ttl};

/// Another fingerprint is a mismatch while the lease runs, and the same one is in flight; a
/// mismatch moves nothing.
pub async fn other_fingerprint_mismatches_in_flight<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = granted(case.acquire_for("one", LONG).await);
    let before = case.look().await;
    assert_is!(case.acquire_for("other", LONG * 2).await, Ok(Admission::Mismatch));
    assert_is!(case.acquire_for("one", LONG * 2).await, Ok(Admission::InFlight { .. }));
    case.assert_unmoved(&before).await;
    case.commit(&mut lease, None).await;
}

/// Another fingerprint is a mismatch while the key is kept, and the same one is completed: the
/// fingerprint survives commit, repeated commit and attach.
pub async fn other_fingerprint_mismatches_when_kept<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = granted(case.acquire_for("one", LONG).await);
    case.commit(&mut lease, None).await;
    for round in 0..3 {
        let before = case.look().await;
        assert_is!(case.acquire_for("other", LONG * 2).await, Ok(Admission::Mismatch));
        assert_is!(case.acquire_for("one", LONG * 2).await, Ok(Admission::Completed { .. }));
        case.assert_unmoved(&before).await;
        match round {
            0 => case.commit(&mut lease, None).await,
            _ if case.keeps_outcomes() && round == 1 => {
                assert_is!(case.store.attach(&lease, outcome("body")).await, Ok(()));
            }
            _ => {}
        }
    }
}

/// No fingerprint on either side matches everything, and a refused acquire leaves none behind.
pub async fn no_fingerprint_matches_everything<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = granted(case.acquire_for("one", LONG).await);
    assert_is!(case.acquire(LONG).await, Ok(Admission::InFlight { .. }));
    assert_is!(case.acquire_for("other", LONG).await, Ok(Admission::Mismatch));
    case.commit(&mut lease, None).await;
    assert_is!(case.acquire(LONG).await, Ok(Admission::Completed { .. }));
    assert_is!(case.store.forget(case.address).await, Ok(true));

    let mut lease = granted(case.acquire(LONG).await);
    for request in ["one", "other"] {
        assert_is!(case.acquire_for(request, LONG).await, Ok(Admission::InFlight { .. }));
    }
    case.commit(&mut lease, None).await;
    for request in ["one", "other"] {
        assert_is!(case.acquire_for(request, LONG).await, Ok(Admission::Completed { .. }));
    }
}

/// The fingerprint survives a renewal, also one that revives a lease within its grace.
pub async fn fingerprint_survives_a_renewal<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = granted(case.acquire_for("one", subject.short_ttl()).await);
    assert_is!(case.store.renew(&mut lease, ttl(LONG)).await, Ok(_));
    in_flight_for_one(&case).await;
    if !subject.late_grace().is_zero() {
        assert_is!(case.store.renew(&mut lease, ttl(subject.short_ttl())).await, Ok(_));
        case.pass(subject.short_ttl()).await;
        assert_is!(case.store.renew(&mut lease, ttl(LONG)).await, Ok(_));
        in_flight_for_one(&case).await;
    }
}

async fn in_flight_for_one<S: Subject>(case: &Case<'_, S>) {
    assert_is!(case.acquire_for("other", LONG).await, Ok(Admission::Mismatch));
    assert_is!(case.acquire_for("one", LONG).await, Ok(Admission::InFlight { .. }));
}

/// A fingerprint survives a commit within the grace.
pub async fn fingerprint_survives_a_late_commit<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    if case.lacks_grace().await {
        return;
    }
    let mut lease = granted(case.acquire_for("one", subject.short_ttl()).await);
    case.pass(subject.short_ttl()).await;
    case.commit(&mut lease, None).await;
    assert_is!(case.acquire_for("other", LONG).await, Ok(Admission::Mismatch));
    assert_is!(case.acquire_for("one", LONG).await, Ok(Admission::Completed { .. }));
}

/// An expired record never mismatches: another request takes a late lease over, and its
/// fingerprint, or the lack of one, replaces the old.
pub async fn takeover_replaces_the_fingerprint<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let _one = granted(case.acquire_for("one", subject.short_ttl()).await);
    case.pass(subject.short_ttl()).await;
    let _other = granted(case.acquire_for("other", subject.short_ttl()).await);
    assert_is!(case.acquire_for("one", LONG).await, Ok(Admission::Mismatch));
    assert_is!(case.acquire_for("other", LONG).await, Ok(Admission::InFlight { .. }));
    case.pass(subject.short_ttl()).await;
    let _third = case.running().await;
    for request in ["one", "other"] {
        assert_is!(case.acquire_for(request, LONG).await, Ok(Admission::InFlight { .. }));
    }
}

/// What is gone leaves no fingerprint behind: released, forgotten, past its grace, past the TTL of
/// its commit; swept or not.
pub async fn fingerprint_goes_with_its_record<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    for state in [Gone::Released, Gone::Forgotten, Gone::Lapsed, Gone::Ended] {
        for swept in [false, true] {
            let short = subject.short_ttl();
            let mut lease = granted(case.acquire_for("one", short).await);
            match state {
                Gone::Released => assert_is!(case.store.release(&mut lease).await, Ok(())),
                Gone::Forgotten => assert_is!(case.store.forget(case.address).await, Ok(true)),
                Gone::Ended => {
                    assert_is!(case.store.commit(&mut lease, None, ttl(short)).await, Ok(()));
                    case.pass(short).await;
                }
                _ => case.pass(short + subject.late_grace()).await,
            }
            case.sweep_if(swept).await;
            assert_is!(case.peek().await, RecordState::Free);
            let later = granted(case.acquire_for("other", LONG).await);
            assert_is!(case.acquire_for("one", LONG).await, Ok(Admission::Mismatch));
            case.release(later).await;
        }
    }
}
