//! Work with hooks, over a store in memory: what is called, and what becomes of the lease.

use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use leasehold::{
    Address, Admission, Lease, MemoryConfig, MemoryStore, Outcome, RecordState, Terms, Ttl,
};

use super::{CommitFailure, HookError, TransactionHooks, run_with_hooks};

/// What a manager is told to answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Well,
    NotBegun,
    CommitRefused,
    CommitUnknown,
    RollbackUnknown,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0}")]
struct Failed(&'static str);

struct Manager {
    end: End,
    calls: Mutex<Vec<&'static str>>,
}

impl Manager {
    fn new(end: End) -> Self {
        Self { end, calls: Mutex::default() }
    }

    fn note(&self, call: &'static str) {
        self.calls.lock().expect("no test panics with it").push(call);
    }

    fn calls(&self) -> Vec<&'static str> {
        self.calls.lock().expect("no test panics with it").clone()
    }
}

impl TransactionHooks for Manager {
    type Error = Failed;

    async fn before(&self) -> Result<(), Failed> {
        self.note("before");
        if self.end == End::NotBegun { Err(Failed("not begun")) } else { Ok(()) }
    }

    async fn on_commit(&self) -> Result<(), CommitFailure<Failed>> {
        self.note("commit");
        match self.end {
            End::CommitRefused => Err(CommitFailure::RolledBack(Failed("refused"))),
            End::CommitUnknown => Err(CommitFailure::Unknown(Failed("lost"))),
            _ => Ok(()),
        }
    }

    async fn on_rollback(&self) -> Result<(), Failed> {
        self.note("rollback");
        if self.end == End::RollbackUnknown { Err(Failed("lost")) } else { Ok(()) }
    }
}

const ADDRESS: Address = Address::from_bytes([7; 32]);

fn long() -> Ttl {
    Ttl::new(Duration::from_secs(600)).expect("a valid time")
}

async fn granted() -> (MemoryStore, Lease) {
    let store = MemoryStore::new(MemoryConfig::default()).expect("a valid configuration");
    let admission = leasehold::LeaseStore::acquire(&store, ADDRESS, Terms::new(long())).await;
    let Ok(Admission::Granted(lease)) = admission else { panic!("{admission:?}") };
    (store, lease)
}

async fn state(store: &MemoryStore) -> RecordState {
    leasehold::LeaseStore::peek(store, ADDRESS).await.expect("memory answers")
}

/// Runs work that ends so, and tells what became of the lease and what was called.
async fn run(
    end: End,
    work: Result<(), Failed>,
) -> (Result<u8, HookError<u8, Failed>>, RecordState, Vec<&'static str>) {
    let (store, mut lease) = granted().await;
    let manager = Manager::new(end);
    let outcome = Outcome::new(Bytes::from_static(b"made"));
    let work = async {
        manager.note("work");
        work.map(|()| (1, Some(outcome)))
    };
    let answer = run_with_hooks(&store, &mut lease, long(), &manager, work).await;
    (answer, state(&store).await, manager.calls())
}

#[tokio::test]
async fn committed_work_is_recorded_after_its_commit() {
    let (answer, state, calls) = run(End::Well, Ok(())).await;
    assert!(matches!(answer, Ok(1)));
    assert!(matches!(state, RecordState::Completed { replayable: true, .. }));
    assert_eq!(calls, ["before", "work", "commit"]);
}

#[tokio::test]
async fn work_that_is_rolled_back_frees_the_key() {
    let (answer, state, calls) = run(End::Well, Err(Failed("no"))).await;
    assert!(matches!(answer, Err(HookError::RolledBack(Failed("no")))));
    assert_eq!(state, RecordState::Free);
    assert_eq!(calls, ["before", "work", "rollback"]);
    let (answer, state, calls) = run(End::CommitRefused, Ok(())).await;
    assert!(matches!(answer, Err(HookError::RolledBack(Failed("refused")))));
    assert_eq!(state, RecordState::Free);
    assert_eq!(calls, ["before", "work", "commit"]);
}

#[tokio::test]
async fn work_does_not_run_before_its_transaction() {
    let (answer, state, calls) = run(End::NotBegun, Ok(())).await;
    assert!(matches!(answer, Err(HookError::NotBegun(Failed("not begun")))));
    assert_eq!(state, RecordState::Free);
    assert_eq!(calls, ["before"]);
}

#[tokio::test]
async fn an_unknown_end_leaves_the_key_in_flight() {
    let (answer, state, _) = run(End::CommitUnknown, Ok(())).await;
    assert!(matches!(answer, Err(HookError::Unknown { work: None, end: Failed("lost") })));
    assert!(matches!(state, RecordState::InFlight { .. }));
    let (answer, state, _) = run(End::RollbackUnknown, Err(Failed("no"))).await;
    let Err(HookError::Unknown { work, end }) = answer else { panic!("{answer:?}") };
    assert_eq!((work, end), (Some(Failed("no")), Failed("lost")));
    assert!(matches!(state, RecordState::InFlight { .. }));
}

#[tokio::test]
async fn a_panic_leaves_the_key_in_flight_and_calls_no_hook() {
    let (store, mut lease) = granted().await;
    let manager = std::sync::Arc::new(Manager::new(End::Well));
    let (store, hooks) = (std::sync::Arc::new(store), std::sync::Arc::clone(&manager));
    let kept = std::sync::Arc::clone(&store);
    let task = tokio::spawn(async move {
        let work = async { panic!("the work panics") };
        run_with_hooks::<_, _, u8, _>(&*kept, &mut lease, long(), &*hooks, work).await
    });
    assert!(task.await.expect_err("it panics").is_panic());
    assert!(matches!(state(&store).await, RecordState::InFlight { .. }));
    assert_eq!(manager.calls(), ["before"]);
}

#[tokio::test]
async fn committed_work_whose_lease_is_gone_says_so() {
    let (store, mut lease) = granted().await;
    let manager = Manager::new(End::Well);
    let work = async {
        assert!(leasehold::LeaseStore::forget(&store, ADDRESS).await.expect("memory answers"));
        Ok((1, None))
    };
    let answer = run_with_hooks(&store, &mut lease, long(), &manager, work).await;
    let Err(HookError::Unrecorded { value: 1, error, .. }) = answer else { panic!("{answer:?}") };
    assert!(matches!(error, leasehold::CommitError::Superseded));
}
