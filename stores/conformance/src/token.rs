//! Laws of tokens: each grant of an address has a higher one than all before it.

use leasehold::{Lease, LeaseStore as _, Terms, Token};

use crate::Subject;
use crate::case::{Case, Gone, LONG, assert_is, granted, ttl};

/// Asserts the range that every token is in, and that it is above the last one.
#[track_caller]
fn rises(last: &mut Option<Token>, lease: &Lease) {
    let token = lease.token();
    assert!((1..1 << 63).contains(&token.get()), "token {token} is out of range");
    assert!(Some(token) > *last, "token {token} does not rise above {last:?}");
    *last = Some(token);
}

/// Tokens rise over release, forget, the end of a grace and of a kept TTL, and takeover, whether a
/// sweep has run or not.
pub async fn token_rises_with_every_grant<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut last = None;
    for swept in [true, false, true] {
        for state in Gone::ALL {
            rises(&mut last, &case.gone(state).await);
            case.sweep_if(swept).await;
            let lease = case.running().await;
            rises(&mut last, &lease);
            case.release(lease).await;
        }
        let (old, later) = case.taken_over(None).await;
        rises(&mut last, &old);
        rises(&mut last, &later);
        case.release(later).await;
    }
}

/// Tokens rise with every one of many quick grants.
pub async fn token_rises_over_many_grants<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut last = None;
    for _ in 0..1000 {
        let lease = case.running().await;
        rises(&mut last, &lease);
        case.release(lease).await;
    }
}

/// A lease keeps its token through renewal and commit.
pub async fn token_stays_with_its_lease<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut lease = case.running().await;
    let token = lease.token();
    assert_is!(case.store.renew(&mut lease, ttl(LONG * 2)).await, Ok(_));
    assert_eq!(lease.token(), token);
    case.commit(&mut lease, None).await;
    assert_eq!(lease.token(), token);
}

/// Tokens rise across a restart too, whether the records survive it or not.
pub async fn token_rises_across_a_restart<S: Subject>(subject: &S) {
    let case = Case::new(subject);
    let mut last = None;
    let lease = case.running().await;
    rises(&mut last, &lease);
    case.release(lease).await;
    let later = subject.restarted().await;
    let lease = granted(later.acquire(case.address, Terms::new(ttl(LONG))).await);
    rises(&mut last, &lease);
}
