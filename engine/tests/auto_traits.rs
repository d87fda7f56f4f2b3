//! Which public types of the engine are `Send`, `Sync` and `Unpin`, and which must not be `Clone`.
//!
//! A change here breaks callers at a distance, so each is written down. That a lease has one owner
//! rests on its not being `Clone`.

use std::marker::PhantomData;

use leasehold::{
    AcquireError, Address, Admission, AttachError, Attempt, Clock, CommitError, ConfigError,
    Digester, Fingerprint, Key, KeyError, Lease, ManualClock, MemoryConfig, MemoryStore, Namespace,
    NamespaceError, Outcome, Place, RecordState, ReleaseError, RenewError, StoreError,
    StoreErrorKind, Sweeper, Terms, Token, Ttl, TtlError, Usage, Verdict,
};

/// Tells at run time whether a type has a trait: the inherent constant hides the trait's where its
/// bound holds.
struct Has<T: ?Sized>(PhantomData<T>);

trait Lacks {
    const SEND: bool = false;
    const SYNC: bool = false;
    const UNPIN: bool = false;
    const CLONE: bool = false;
}

impl<T: ?Sized> Lacks for Has<T> {}

impl<T: ?Sized + Send> Has<T> {
    const SEND: bool = true;
}

impl<T: ?Sized + Sync> Has<T> {
    const SYNC: bool = true;
}

impl<T: ?Sized + Unpin> Has<T> {
    const UNPIN: bool = true;
}

impl<T: Clone> Has<T> {
    const CLONE: bool = true;
}

/// One line of the table: type, `Send`, `Sync`, `Unpin`, `Clone`.
macro_rules! line {
    ($type:ty: $($expected:literal)*) => {
        assert_eq!(
            [Has::<$type>::SEND, Has::<$type>::SYNC, Has::<$type>::UNPIN, Has::<$type>::CLONE]
                .map(u8::from),
            [$($expected),*],
            "Send, Sync, Unpin, Clone of {}",
            stringify!($type)
        );
    };
}

#[test]
fn table_tells_the_traits_apart() {
    line!(std::rc::Rc<u8>: 0 0 1 1);
    line!(std::cell::Cell<u8>: 1 0 1 1);
    line!(std::sync::MutexGuard<'static, u8>: 0 1 1 0);
    line!(std::marker::PhantomPinned: 1 1 0 1);
}

#[test]
fn leases_and_stores_cross_threads_and_have_one_owner() {
    line!(Lease: 1 1 1 0);
    line!(Admission: 1 1 1 0);
    line!(MemoryStore: 1 1 1 0);
    line!(Sweeper: 1 1 1 0);
    line!(Clock: 1 1 1 1);
    line!(ManualClock: 1 1 1 1);
    line!(MemoryConfig: 1 1 1 1);
}

#[test]
fn values_cross_threads_and_are_cloned() {
    line!(Address: 1 1 1 1);
    line!(Attempt: 1 1 1 1);
    line!(Digester: 1 1 1 1);
    line!(Fingerprint: 1 1 1 1);
    line!(Key<'static>: 1 1 1 1);
    line!(Namespace: 1 1 1 1);
    line!(Outcome: 1 1 1 1);
    line!(Place: 1 1 1 1);
    line!(RecordState: 1 1 1 1);
    line!(Terms: 1 1 1 1);
    line!(Token: 1 1 1 1);
    line!(Ttl: 1 1 1 1);
    line!(Usage: 1 1 1 1);
    line!(Verdict: 1 1 1 1);
}

#[test]
fn errors_cross_threads() {
    line!(AcquireError: 1 1 1 0);
    line!(AttachError: 1 1 1 0);
    line!(CommitError: 1 1 1 0);
    line!(ReleaseError: 1 1 1 0);
    line!(RenewError: 1 1 1 0);
    line!(StoreError: 1 1 1 0);
    line!(StoreErrorKind: 1 1 1 1);
    line!(ConfigError: 1 1 1 1);
    line!(KeyError: 1 1 1 1);
    line!(NamespaceError: 1 1 1 1);
    line!(TtlError: 1 1 1 1);
}
