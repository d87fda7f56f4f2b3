//! The slowest lifecycles of our store one by one, and what they met: to tell the store's own work
//! from the machine's.
//!
//! *Slow* is what took long without the time for which the thread had no core: on a busy machine
//! the scheduler's pauses would hide all else. Looks at the store and at the scheduler between
//! operations, in the time that a fixed rate leaves free. Must not be used for figures.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::pace::{Pace, Span, Starts};
use crate::stopwatch;
use crate::store::{Answer, Leasehold, Store as _, Watch};
use crate::tails::{Course, Lists};
use crate::team::{self, Share};
use crate::{passes, workload};

/// How a thread fared with the scheduler since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Scheduled {
    /// Nanoseconds that it was ready to run and had no core.
    off_core_ns: u64,
    /// How often it was given one. It never sleeps, so each time it had lost one before.
    given: u64,
}

/// The kernel's account of this thread, kept open: to open it takes longer than to read it.
struct Scheduler(Option<File>);

impl Scheduler {
    /// For the calling thread. Where the kernel keeps no account nothing is ever seen.
    fn of_this_thread() -> Self {
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    fn look(&mut self) -> Scheduled {
        let mut text = [0; 128];
        let read = self.0.as_mut().and_then(|file| {
            file.rewind().ok()?;
            file.read(&mut text).ok()
        });
        parse(std::str::from_utf8(&text[..read.unwrap_or(0)]).unwrap_or_default())
    }
}

/// Three numbers: nanoseconds on a core, nanoseconds ready without one, times that it was given
/// one.
fn parse(text: &str) -> Scheduled {
    let mut numbers = text.split_whitespace().skip(1).map(|word| word.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    Scheduled { off_core_ns: next(), given: next() }
}

/// One slow operation. Its three steps follow each other without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Which thread's.
    pub thread: usize,
    /// From the thread's start to the operation's end.
    pub at: Duration,
    /// From when it could start, for the rate and for the thread, to when it did.
    pub start_ns: u64,
    /// The acquire.
    pub acquire_ns: u64,
    /// The commit.
    pub commit_ns: u64,
    /// Expired entries that were reclaimed meanwhile, by whichever thread.
    pub reclaimed: u64,
    /// How long the thread had no core meanwhile.
    pub off_core_ns: u64,
    /// How often it lost one.
    pub switches: u64,
}

/// What most of a slow operation's time went to, as far as it can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The thread lost its core, or was late before the store was called at all. Besides the pause
    /// it pays for the caches, and for the kernel's own work.
    Scheduler,
    /// Expired entries were reclaimed.
    Sweep,
    /// Neither: memory, another thread's line, or a hypervisor that stopped the whole machine.
    Unknown,
}

/// What a round found.
#[derive(Debug, Default)]
pub struct Found {
    /// The slowest operations, slowest first.
    pub slowest: Vec<Slow>,
    /// All operations that were looked at.
    pub operations: u64,
    /// Those in which the thread lost its core.
    pub preempted: u64,
    /// For how long it had none, in all.
    pub off_core_ns: u64,
}

impl Slow {
    /// All of it.
    #[must_use]
    pub const fn nanos(&self) -> u64 {
        self.start_ns + self.acquire_ns + self.commit_ns
    }

    /// The part that the thread had a core for.
    #[must_use]
    pub const fn on_core_ns(&self) -> u64 {
        self.nanos().saturating_sub(self.off_core_ns)
    }

    /// The longest step.
    #[must_use]
    pub fn step(&self) -> &'static str {
        let steps =
            [(self.start_ns, "start"), (self.acquire_ns, "acquire"), (self.commit_ns, "commit")];
        steps.into_iter().max().map_or("", |(_, step)| step)
    }

    /// What most of its time went to.
    #[must_use]
    pub fn cause(&self) -> Cause {
        if self.switches > 0 || self.step() == "start" {
            Cause::Scheduler
        } else if self.reclaimed > 0 {
            Cause::Sweep
        } else {
            Cause::Unknown
        }
    }
}

impl Found {
    /// Counts an operation, and keeps it if it is among the slowest.
    fn take(&mut self, slow: Slow, wanted: usize) {
        self.operations += 1;
        self.preempted += u64::from(slow.switches > 0);
        self.off_core_ns += slow.off_core_ns;
        self.keep(slow, wanted);
    }

    fn keep(&mut self, slow: Slow, wanted: usize) {
        let at = self.slowest.partition_point(|other| other.on_core_ns() >= slow.on_core_ns());
        if at < wanted {
            self.slowest.insert(at, slow);
            self.slowest.truncate(wanted);
        }
    }

    fn add(&mut self, other: Self, wanted: usize) {
        self.operations += other.operations;
        self.preempted += other.preempted;
        self.off_core_ns += other.off_core_ns;
        other.slowest.into_iter().for_each(|slow| self.keep(slow, wanted));
    }
}

/// The slowest lifecycles of one round of our store.
///
/// # Panics
///
/// If a fresh key is refused.
#[must_use]
pub fn look(course: &Course, wanted: usize) -> Found {
    let lists = Lists::new(course);
    let store = Leasehold::new(workload::bound(lists.most_entries(course)), LONG, Watch::system());
    passes::fill(&store, &lists.live);
    let all = Mutex::new(Found::default());
    let work = team::run(course.threads, |thread| {
        let (found, share) = watched(&store, &lists, course, wanted, thread);
        all.lock().expect("no thread breaks while it adds").add(found, wanted);
        share
    });
    assert_eq!(work.wrong, 0, "a fresh key was refused");
    all.into_inner().expect("all threads have ended")
}

/// Ours orders expiry: it never looks through all keys.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// One thread's part.
fn watched(
    store: &Leasehold,
    lists: &Lists,
    course: &Course,
    wanted: usize,
    thread: usize,
) -> (Found, Share) {
    let Course { pace, span, .. } = *course;
    let (mut found, mut share) = (Found::default(), Share::default());
    let mut scheduler = Scheduler::of_this_thread();
    let mut starts = Starts::new(pace);
    let (mut reclaimed, mut scheduled) = (store.reclaimed(), scheduler.look());
    let mut ready = stopwatch::now();
    for (number, (key, ttl)) in (0_u32..).zip(lists.of_thread(thread)) {
        let meant = starts.wait(number);
        let began = stopwatch::now();
        let lease = store.acquire(key);
        let acquired = stopwatch::now();
        share.count(match lease {
            Answer::Granted(lease) => store.commit(key, lease, *ttl),
            _ => false,
        });
        let (ended, at) = (starts.ended(), starts.since_start());
        // What is seen here is where the next one begins: one look for each is enough.
        let before = (reclaimed, scheduled);
        (reclaimed, scheduled) = (store.reclaimed(), scheduler.look());
        if at >= span.warm_up {
            let slow = Slow {
                thread,
                at,
                start_ns: between(meant.max(ready), began),
                acquire_ns: between(began, acquired),
                commit_ns: between(acquired, ended),
                reclaimed: reclaimed.saturating_sub(before.0),
                off_core_ns: scheduled.off_core_ns.saturating_sub(before.1.off_core_ns),
                switches: scheduled.given.saturating_sub(before.1.given),
            };
            found.take(slow, wanted);
        }
        if at >= span.warm_up + span.measured {
            break;
        }
        ready = stopwatch::now();
    }
    (found, share)
}

fn between(from: Instant, to: Instant) -> u64 {
    u64::try_from(to.saturating_duration_since(from).as_nanos()).unwrap_or(u64::MAX)
}

/// A round at a fixed rate, as the comparison has it.
#[must_use]
pub fn course(rate: u32, span: Span, live: usize, threads: usize) -> Course {
    Course { pace: Pace::Rate(rate), span, threads, live, sweep_every: None, rounds: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow(start_ns: u64, acquire_ns: u64, commit_ns: u64) -> Slow {
        Slow {
            thread: 0,
            at: Duration::ZERO,
            start_ns,
            acquire_ns,
            commit_ns,
            reclaimed: 0,
            off_core_ns: 0,
            switches: 0,
        }
    }

    #[test]
    fn the_slowest_on_a_core_are_kept_and_all_are_counted() {
        let mut found = Found::default();
        for nanos in [3, 9, 1, 5] {
            found.take(slow(0, nanos, 0), 2);
        }
        let mut other = Found::default();
        other.take(Slow { off_core_ns: 93, switches: 1, ..slow(0, 100, 0) }, 2);
        found.add(other, 2);
        let kept: Vec<_> = found.slowest.iter().map(Slow::on_core_ns).collect();
        assert_eq!(kept, [9, 7]);
        assert_eq!((found.operations, found.preempted, found.off_core_ns), (5, 1, 93));
    }

    #[test]
    fn the_cause_is_the_scheduler_then_a_sweep_then_unknown() {
        let swept = Slow { reclaimed: 4, ..slow(10, 50, 40) };
        assert_eq!((swept.step(), swept.cause()), ("acquire", Cause::Sweep));
        assert_eq!(Slow { switches: 1, ..swept }.cause(), Cause::Scheduler);
        assert_eq!((slow(1, 2, 3).step(), slow(1, 2, 3).cause()), ("commit", Cause::Unknown));
        assert_eq!(slow(9, 2, 3).cause(), Cause::Scheduler);
    }

    #[test]
    fn the_kernels_account_is_read_and_one_that_is_not_there_is_nothing() {
        assert_eq!(parse("688928 56535 7\n"), Scheduled { off_core_ns: 56_535, given: 7 });
        assert_eq!(parse(""), Scheduled::default());
        assert_eq!(Scheduler(None).look(), Scheduled::default());
    }

    #[test]
    fn a_round_gives_as_many_as_were_wanted_and_the_slowest_first() {
        let span = Span { warm_up: Duration::ZERO, measured: Duration::from_millis(20) };
        let found = look(&course(20_000, span, 100, 2), 5);
        assert_eq!(found.slowest.len(), 5);
        let on_core: Vec<_> = found.slowest.iter().map(Slow::on_core_ns).collect();
        assert!(on_core.is_sorted_by(|one, other| one >= other), "{on_core:?}");
        assert!(found.slowest.iter().all(|slow| slow.acquire_ns > 0 && slow.thread < 2));
        assert!(found.operations >= 5);
    }
}
