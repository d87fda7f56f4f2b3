//! Who has the lease, and who hears of what.

use std::time::Duration;

use futures_util::FutureExt;
use leasehold::{Place, Token};

use super::*;
use crate::policy::Policy;

fn held() -> HeldLease {
    let now = tokio::time::Instant::now();
    let lease = Lease::new(Token::new(7), now.into_std(), Place([0; 32]));
    let address = Address::from_bytes([1; 32]);
    let held = HeldLease::new(&lease, address, Arc::new(Prepared::alone(Policy::default())));
    held.lend(lease, now + Duration::from_secs(30));
    held
}

#[test]
fn a_lease_has_one_owner_at_a_time() {
    let held = held();
    let mut loan = Loan::of(&held);
    assert!(loan.lease().is_some());
    assert!(Loan::of(&held).lease().is_none());
    let mut claim = std::pin::pin!(held.claim(false));
    assert!((&mut claim).now_or_never().is_none());
    drop(loan);
    let lease = (&mut claim).now_or_never().expect("it is back");
    assert_eq!(lease.token(), Token::new(7));
    assert!(Loan::of(&held).lease().is_none());
}

#[test]
fn a_renewal_hears_of_a_claim_that_breaks_it_off_and_of_no_other() {
    let held = held();
    let _loan = Loan::of(&held);
    let mut claimed = std::pin::pin!(held.claimed());
    assert!((&mut claimed).now_or_never().is_none());
    assert!(held.claim(false).now_or_never().is_none());
    assert!((&mut claimed).now_or_never().is_none());
    assert!(held.claim(true).now_or_never().is_none());
    assert!((&mut claimed).now_or_never().is_some());
}

#[test]
fn a_loss_is_counted_once_and_told_to_all_who_wait() {
    let held = held();
    let mut first = std::pin::pin!(held.lost());
    let other = held.clone();
    let mut second = std::pin::pin!(other.lost());
    assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
    // Dropped without effect.
    assert!(held.lost().now_or_never().is_none());
    held.lose();
    other.lose();
    assert!(first.now_or_never().is_some() && second.now_or_never().is_some());
    assert!(held.lost().now_or_never().is_some() && held.is_lost());
    assert_eq!(held.prepared().handles.lease_lost.get(), 1);
}

#[test]
fn its_debug_output_says_what_a_handler_may_see() {
    let text = format!("{:?}", held());
    assert!(text.contains("Token(7)") && text.contains("lost: false"), "{text}");
}
