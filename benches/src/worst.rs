//! The slowest lifecycles of our store one by one, and what they met: to tell the store's own work
//! from the machine's.
//!
//! Looks at the store and at the scheduler between operations, in the time that a fixed rate leaves
//! free, so its times are not for comparing. Must not be used for figures.

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

/// Three numbers: nanoseconds on a core, nanoseconds ready without one, times that it was given one.
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
    /// The thread had no core for half of the time or more, or was late before the store was
    /// called at all.
    Scheduler,
    /// Expired entries were reclaimed.
    Sweep,
    /// Neither: memory, another thread's line, or a hypervisor that stopped the whole machine.
    Unknown,
}

impl Slow {
    /// All of it.
    #[must_use]
    pub const fn nanos(&self) -> u64 {
        self.start_ns + self.acquire_ns + self.commit_ns
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
        if 2 * self.off_core_ns >= self.nanos() || self.step() == "start" {
            Cause::Scheduler
        } else if self.reclaimed > 0 {
            Cause::Sweep
        } else {
            Cause::Unknown
        }
    }
}

/// The slowest so far, slowest first.
struct Slowest {
    wanted: usize,
    found: Vec<Slow>,
}

impl Slowest {
    const fn new(wanted: usize) -> Self {
        Self { wanted, found: Vec::new() }
    }

    /// Whether an operation that took so long belongs to them.
    fn takes(&self, nanos: u64) -> bool {
        self.found.len() < self.wanted || self.found.last().is_some_and(|l| nanos > l.nanos())
    }

    fn push(&mut self, slow: Slow) {
        let at = self.found.partition_point(|other| other.nanos() >= slow.nanos());
        self.found.insert(at, slow);
        self.found.truncate(self.wanted);
    }
}

/// The slowest lifecycles of one round of our store, slowest first.
///
/// # Panics
///
/// If a fresh key is refused.
#[must_use]
pub fn look(course: &Course, wanted: usize) -> Vec<Slow> {
    let lists = Lists::new(course);
    let store = Leasehold::new(workload::bound(lists.most_entries(course)), LONG, Watch::system());
    passes::fill(&store, &lists.live);
    let all = Mutex::new(Slowest::new(wanted));
    let work = team::run(course.threads, |thread| {
        let (slowest, share) = watched(&store, &lists, course, wanted, thread);
        let mut all = all.lock().expect("no thread breaks while it adds");
        slowest.found.into_iter().for_each(|slow| all.push(slow));
        share
    });
    assert_eq!(work.wrong, 0, "a fresh key was refused");
    all.into_inner().expect("all threads have ended").found
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
) -> (Slowest, Share) {
    let Course { pace, span, .. } = *course;
    let (mut slowest, mut share) = (Slowest::new(wanted), Share::default());
    let mut scheduler = Scheduler::of_this_thread();
    let mut starts = Starts::new(pace);
    for (number, (key, ttl)) in (0_u32..).zip(lists.of_thread(thread)) {
        let (reclaimed, scheduled) = (store.reclaimed(), scheduler.look());
        let ready = stopwatch::now();
        let meant = starts.wait(number);
        let began = stopwatch::now();
        let lease = store.acquire(key);
        let acquired = stopwatch::now();
        share.count(match lease {
            Answer::Granted(lease) => store.commit(key, lease, *ttl),
            _ => false,
        });
        let ended = starts.ended();
        let at = starts.since_start();
        let due = meant.max(ready);
        if at >= span.warm_up && slowest.takes(between(due, ended)) {
            let after = scheduler.look();
            slowest.push(Slow {
                thread,
                at,
                start_ns: between(due, began),
                acquire_ns: between(began, acquired),
                commit_ns: between(acquired, ended),
                reclaimed: store.reclaimed().saturating_sub(reclaimed),
                off_core_ns: after.off_core_ns.saturating_sub(scheduled.off_core_ns),
                switches: after.given.saturating_sub(scheduled.given),
            });
        }
        if at >= span.warm_up + span.measured {
            break;
        }
    }
    (slowest, share)
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
    fn the_slowest_are_kept_and_sorted() {
        let mut slowest = Slowest::new(2);
        for nanos in [3, 9, 1, 5] {
            if slowest.takes(nanos) {
                slowest.push(slow(0, nanos, 0));
            }
        }
        assert!(slowest.takes(6) && !slowest.takes(5));
        let kept: Vec<_> = slowest.found.iter().map(Slow::nanos).collect();
        assert_eq!(kept, [9, 5]);
    }

    #[test]
    fn the_cause_is_the_scheduler_then_a_sweep_then_unknown() {
        let swept = Slow { reclaimed: 4, ..slow(10, 50, 40) };
        assert_eq!((swept.step(), swept.cause()), ("acquire", Cause::Sweep));
        assert_eq!(Slow { off_core_ns: 50, ..swept }.cause(), Cause::Scheduler);
        assert_eq!(Slow { off_core_ns: 49, ..swept }.cause(), Cause::Sweep);
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
        assert_eq!(found.len(), 5);
        assert!(found.windows(2).all(|pair| pair[0].nanos() >= pair[1].nanos()));
        assert!(found.iter().all(|slow| slow.acquire_ns > 0 && slow.thread < 2));
    }
}
