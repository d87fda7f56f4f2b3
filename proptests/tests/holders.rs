//! The store in memory under real threads: nobody else is ever granted what is held, nothing ends
//! early, and the bound holds at every moment.
//!
//! The clock is the manual one, moved by the threads themselves, so no test waits for time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use futures_util::FutureExt as _;
use leasehold::{
    AcquireError, Admission, Lease, LeaseStore, ManualClock, Outcome, RecordState, ReleaseError,
    Terms, Ttl,
};
use proptest::prelude::*;
use proptests::{Limits, Rig, address, cases};

const THREADS: usize = 4;
const KEYS: usize = 3;
const BOUND: usize = 2;

/// What the holder of a key does with it.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Release,
    RenewAndRelease,
    CommitAndForget,
    CommitAttachAndForget,
}

type Deeds = Vec<(usize, Deed)>;

fn deeds(length: usize) -> impl Strategy<Value = Vec<Deeds>> {
    let deed = prop_oneof![
        3 => Just(Deed::Release),
        1 => Just(Deed::RenewAndRelease),
        1 => Just(Deed::CommitAndForget),
        1 => Just(Deed::CommitAttachAndForget),
    ];
    let deeds = prop::collection::vec((0..KEYS, deed), length);
    prop::collection::vec(deeds, THREADS)
}

fn ttl(duration: Duration) -> Ttl {
    Ttl::new(duration).expect("a ttl")
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("a store in memory answers at the first poll")
}

fn rig(bound: usize, late_grace: Duration) -> Rig {
    Rig::new(Limits { bound, late_grace, outcome_bytes: 1 << 20 }).expect("the limits are legal")
}

fn within_bound(store: &impl LeaseStore, bound: usize) -> Result<(), String> {
    match store.usage() {
        Some(usage) if usage.entries <= bound => Ok(()),
        usage => Err(format!("{usage:?} with a bound of {bound}")),
    }
}

/// Says what must hold and what was seen instead.
fn must(holds: bool, what: &str, seen: &dyn std::fmt::Debug) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("{what}: {seen:?}")) }
}

/// Who holds which key, kept by the holders themselves.
#[derive(Default)]
struct Register {
    owners: [AtomicUsize; KEYS],
    tokens: [AtomicU64; KEYS],
    held: AtomicUsize,
}

impl Register {
    fn enter(&self, key: usize, me: usize, lease: &Lease) -> Result<(), String> {
        let owner = self.owners[key].compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst);
        must(owner.is_ok(), "granted a key that is held", &(me, owner))?;
        let held = self.held.fetch_add(1, Ordering::SeqCst) + 1;
        must(held <= BOUND, "more holders than the bound", &held)?;
        let last = self.tokens[key].fetch_max(lease.token().get(), Ordering::SeqCst);
        must(last < lease.token().get(), "tokens rise", &(last, lease.token()))
    }

    fn leave(&self, key: usize, me: usize) -> Result<(), String> {
        self.held.fetch_sub(1, Ordering::SeqCst);
        let owner = self.owners[key].swap(0, Ordering::SeqCst);
        must(owner == me, "somebody else was granted a key that is held", &(me, owner))
    }
}

fn work(
    store: &impl LeaseStore,
    clock: &ManualClock,
    register: &Register,
    me: usize,
    deeds: &Deeds,
) -> Result<(), String> {
    let day = ttl(Duration::from_secs(24 * 60 * 60));
    for (key, deed) in deeds {
        within_bound(store, BOUND)?;
        clock.advance(Duration::from_micros(500));
        let swept = ready(store.sweep(2));
        must(matches!(swept, Ok(0)), "nothing is due within the day", &swept)?;
        match ready(store.acquire(address(*key), Terms::new(day))) {
            Ok(Admission::Granted(lease)) => {
                register.enter(*key, me, &lease)?;
                settle(store, register, me, (*key, *deed), lease)?;
            }
            Ok(Admission::InFlight { .. } | Admission::Completed { .. })
            | Err(AcquireError::Full) => {}
            other => return Err(format!("not an answer to a plain acquire: {other:?}")),
        }
    }
    Ok(())
}

fn settle(
    store: &impl LeaseStore,
    register: &Register,
    me: usize,
    (key, deed): (usize, Deed),
    mut lease: Lease,
) -> Result<(), String> {
    let day = ttl(Duration::from_secs(24 * 60 * 60));
    let state = ready(store.peek(address(key)));
    must(matches!(state, Ok(RecordState::InFlight { .. })), "a held key is in flight", &state)?;
    if matches!(deed, Deed::Release | Deed::RenewAndRelease) {
        if matches!(deed, Deed::RenewAndRelease) {
            let renewed = ready(store.renew(&mut lease, day));
            must(renewed.is_ok(), "the holder renews", &renewed)?;
        }
        register.leave(key, me)?;
        let released = ready(store.release(&mut lease));
        return must(released.is_ok(), "the holder releases", &released);
    }
    let attach = matches!(deed, Deed::CommitAttachAndForget);
    let payload = || Outcome::new(bytes_of(me).into());
    let committed = ready(store.commit(&mut lease, (!attach).then(payload), day));
    must(committed.is_ok(), "the holder commits", &committed)?;
    if attach {
        let attached = ready(store.attach(&lease, payload()));
        must(attached.is_ok(), "the holder attaches", &attached)?;
    }
    let again = ready(store.acquire(address(key), Terms::new(day)));
    let replayed = matches!(&again, Ok(Admission::Completed { outcome: Some(outcome), .. })
        if *outcome == payload());
    must(replayed, "a committed key replays its holder's outcome", &again)?;
    let released = ready(store.release(&mut lease));
    let kept = matches!(released, Err(ReleaseError::Superseded));
    must(kept, "a committed key is not released", &released)?;
    register.leave(key, me)?;
    let forgotten = ready(store.forget(address(key)));
    must(matches!(forgotten, Ok(true)), "a committed key was there", &forgotten)
}

/// An outcome that names its maker, long enough to be torn.
fn bytes_of(me: usize) -> Vec<u8> {
    vec![u8::try_from(me).unwrap_or(u8::MAX); 100]
}

/// The manual clock, and what all threads may know of it: it shows at least `low`, at most `high`.
struct Time {
    clock: ManualClock,
    low: AtomicU64,
    high: AtomicU64,
}

impl Time {
    const fn new(clock: ManualClock) -> Self {
        Self { clock, low: AtomicU64::new(0), high: AtomicU64::new(0) }
    }

    fn advance(&self, by: Duration) {
        let nanos = u64::try_from(by.as_nanos()).unwrap_or(u64::MAX);
        self.high.fetch_add(nanos, Ordering::SeqCst);
        self.clock.advance(by);
        self.low.fetch_add(nanos, Ordering::SeqCst);
    }

    fn low(&self) -> Duration {
        Duration::from_nanos(self.low.load(Ordering::SeqCst))
    }

    fn high(&self) -> Duration {
        Duration::from_nanos(self.high.load(Ordering::SeqCst))
    }
}

/// A grant, as its holder saw it.
#[derive(Clone, Copy, Debug)]
struct Seen {
    key: usize,
    token: u64,
    /// It was granted at this time at the latest.
    granted: Duration,
    /// It had to last until this time at least.
    lasts: Duration,
}

/// Takes what it can get, never gives it back, and keeps it longer now and then.
fn hoard(
    store: &impl LeaseStore,
    time: &Time,
    until: Duration,
    ttls: &[u8],
) -> Result<Vec<Seen>, String> {
    let mut seen = Vec::new();
    for (turn, millis) in ttls.iter().cycle().enumerate() {
        if time.low() >= until {
            break;
        }
        within_bound(store, BOUND)?;
        time.advance(Duration::from_micros(700));
        let key = turn % KEYS;
        let length = ttl(Duration::from_millis(u64::from(*millis) + 1));
        let begun = time.low();
        let Ok(Admission::Granted(mut lease)) =
            ready(store.acquire(address(key), Terms::new(length)))
        else {
            continue;
        };
        let token = lease.token().get();
        let mut grant = Seen { key, token, granted: time.high(), lasts: begun + length.get() };
        let begun = time.low();
        let kept = match millis % 3 {
            0 => ready(store.renew(&mut lease, length)).is_ok(),
            1 => ready(store.commit(&mut lease, None, length)).is_ok(),
            _ => false,
        };
        if kept {
            grant.lasts = begun + length.get();
        }
        seen.push(grant);
    }
    Ok(seen)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(60),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_key_has_two_holders(deeds in deeds(200)) {
        let Rig { store, clock, .. } = rig(BOUND, Duration::from_secs(30));
        let register = Register::default();
        let outcome: Result<(), String> = thread::scope(|scope| {
            let workers: Vec<_> = deeds
                .iter()
                .enumerate()
                .map(|(me, deeds)| {
                    let (store, clock, register) = (&store, &clock, &register);
                    scope.spawn(move || work(store, clock, register, me + 1, deeds))
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no thread panics"))
        });
        prop_assert_eq!(outcome, Ok(()));
        prop_assert_eq!(store.usage().map(|usage| usage.entries), Some(0));
    }

    #[test]
    fn nothing_ends_early_while_threads_take_over(
        ttls in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), THREADS),
        grace in prop_oneof![Just(0_u64), 1_u64..300],
    ) {
        let rig = rig(BOUND, Duration::from_millis(grace));
        let (time, until) = (Time::new(rig.clock.clone()), Duration::from_secs(2));
        let seen = Mutex::new(Vec::new());
        let outcome: Result<(), String> = thread::scope(|scope| {
            let workers: Vec<_> = ttls
                .iter()
                .map(|ttls| {
                    let (store, time, seen) = (&rig.store, &time, &seen);
                    scope.spawn(move || {
                        let own = hoard(store, time, until, ttls)?;
                        seen.lock().map_err(|error| error.to_string())?.extend(own);
                        Ok(())
                    })
                })
                .collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("no thread panics"))
        });
        prop_assert_eq!(outcome, Ok(()));
        let mut seen = seen.into_inner().map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert!(seen.len() > 2 * KEYS, "hardly anything was granted: {}", seen.len());
        seen.sort_unstable_by_key(|grant| (grant.key, grant.token));
        for pair in seen.windows(2).filter(|pair| pair[0].key == pair[1].key) {
            prop_assert!(pair[0].token < pair[1].token, "{:?}", pair);
            prop_assert!(pair[0].lasts <= pair[1].granted, "ended early: {:?}", pair);
        }
        time.advance(Duration::from_secs(10));
        let swept = ready(rig.store.sweep(usize::MAX));
        prop_assert!(swept.is_ok(), "{:?}", swept);
        prop_assert_eq!(rig.store.usage().map(|usage| usage.entries), Some(0));
    }
}
