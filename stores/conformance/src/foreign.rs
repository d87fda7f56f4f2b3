//! Laws of leases that another store has granted: a mistake in the program that must do no harm.

use leasehold::{AttachError, CommitError, LeaseStore as _, ReleaseError, RenewError, Terms};

use crate::Subject;
use crate::case::{Case, LONG, assert_is, granted, outcome, ttl};

/// A lease of another store is refused as foreign by commit, renew, release and attach, although
/// this store has a lease of the same address; nothing is touched in either store.
pub async fn lease_of_another_store_is_foreign<S: Subject>(subject: &S) {
    let Some(stranger) = subject.stranger().await else {
        // Such a store answers as if the lease were gone or taken over.
        return eprintln!("this kind of store cannot tell the leases of another from its own");
    };
    let case = Case::new(subject);
    let terms = Terms::new(ttl(LONG));
    let mut foreign = granted(stranger.acquire(case.address, terms).await);
    let mut own = case.running().await;
    for kept in [false, true] {
        if kept {
            case.commit(&mut own, None).await;
        }
        let (before, deadline) = (case.look().await, foreign.deadline());
        let answer = case.store.renew(&mut foreign, ttl(LONG * 2)).await;
        assert_is!(answer, Err(RenewError::Foreign));
        assert_eq!(foreign.deadline(), deadline);
        let answer = case.store.commit(&mut foreign, None, ttl(LONG * 2)).await;
        assert_is!(answer, Err(CommitError::Foreign));
        assert_is!(case.store.release(&mut foreign).await, Err(ReleaseError::Foreign));
        let answer = case.store.attach(&foreign, outcome("body")).await;
        assert_is!(answer, Err(AttachError::Foreign));
        case.assert_unmoved(&before).await;
    }
    assert_is!(stranger.commit(&mut foreign, None, ttl(LONG)).await, Ok(()));
}
