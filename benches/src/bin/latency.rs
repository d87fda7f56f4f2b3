//! `latency`: how long do the slowest operations take, here and in the three best rivals?
//!
//! Lifecycles of keys that are kept for 50 to 350 ms, in a closed loop (W5) and at a fixed rate
//! (W6), by HDR histogram. `docs/performance.md` says how each figure is made.

#![forbid(unsafe_code)]

use std::time::Duration;

use clap::Parser;
use leasehold_benches::contest::store_names;
use leasehold_benches::machine::Machine;
use leasehold_benches::pace::{Pace, Span};
use leasehold_benches::table::{Table, grouped};
use leasehold_benches::tails::{self, Course, Tail};
use leasehold_benches::worst::{self, Cause, Slow};

/// How slow are the slowest lifecycles, compared with the three best rivals?
#[derive(Debug, Parser)]
struct Arguments {
    /// Operations a second and thread.
    #[arg(long, default_value_t = 150_000, value_parser = clap::value_parser!(u32).range(1..))]
    rate: u32,
    /// Seconds of each round that are recorded.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=60))]
    seconds: u16,
    /// Rounds over all stores.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Keys that are kept for a day, beside those that come and go.
    #[arg(long, default_value_t = 1_000_000)]
    live: usize,
    /// Numbers of threads, with commas.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,
    /// Only these stores, with commas, instead of the three best rivals.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// One JSON object per line instead of tables.
    #[arg(long)]
    json: bool,
    /// Two rounds of one second: 2 minutes in all instead of 6.
    #[arg(long, conflicts_with_all = ["rounds", "seconds"])]
    quick: bool,
    /// Show our N slowest lifecycles one by one at the fixed rate, by the time that they had a
    /// core, and what they met, instead of comparing: 7 seconds in all.
    #[arg(long, value_name = "N", conflicts_with = "json")]
    worst: Option<usize>,
}

impl Arguments {
    fn rounds(&self) -> usize {
        if self.quick { 2 } else { self.rounds.into() }
    }

    fn measured(&self) -> Duration {
        Duration::from_secs(if self.quick { 1 } else { self.seconds.into() })
    }

    /// The stores that take part.
    fn stores(&self) -> Result<Vec<String>, String> {
        let known = store_names();
        if let Some(name) = self.only.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(format!("`{name}` is no store; there are {}", known.join(", ")));
        }
        let most = self.threads.iter().copied().max().unwrap_or(1);
        let all = || tails::contestants(self.rate, most);
        Ok(if self.only.is_empty() { all() } else { self.only.clone() })
    }
}

/// The longest time that a key is kept, and a little more.
const WARM_UP: Duration = Duration::from_millis(400);

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    if arguments.threads.iter().any(|threads| !(1..=64).contains(threads)) {
        return Err("there are 1 to 64 threads".into());
    }
    if let Some(wanted) = arguments.worst {
        println!("{}", Machine::look());
        arguments.threads.iter().for_each(|threads| print_worst(&arguments, wanted, *threads));
        return Ok(());
    }
    let stores = arguments.stores()?;
    if !arguments.json {
        println!("{}", Machine::look());
        println!("microseconds; medians of {} rounds, max of all\n", arguments.rounds());
    }
    for course in courses(&arguments) {
        let tails = tails::measure(&course, &stores);
        if arguments.json {
            for tail in &tails {
                println!("{}", serde_json::to_string(tail).unwrap_or_default());
            }
        } else {
            print(&course, &tails);
        }
    }
    Ok(())
}

/// The closed loop as in `rivals`; the fixed rate with rivals that sweep, and with rivals that
/// never do, whose memory then grows without end.
fn courses(arguments: &Arguments) -> Vec<Course> {
    let sweeps = Some(Duration::from_millis(200));
    let (measured, warm_up) = (arguments.measured(), WARM_UP);
    let rate = Pace::Rate(arguments.rate);
    let closed = Duration::from_millis(400);
    let course = |pace, measured, live, sweep_every, threads| Course {
        pace,
        span: Span { warm_up, measured },
        threads,
        live,
        sweep_every,
        rounds: arguments.rounds(),
    };
    let kinds = [
        (Pace::Closed, closed, 0, sweeps),
        (rate, measured, arguments.live, sweeps),
        (rate, measured, arguments.live, None),
    ];
    let of_kind = |(pace, measured, live, sweep)| {
        let threads = arguments.threads.iter();
        threads.map(move |threads| course(pace, measured, live, sweep, *threads))
    };
    kinds.into_iter().flat_map(of_kind).collect()
}

fn print(course: &Course, tails: &[Tail]) {
    let pace = match course.pace {
        Pace::Closed => "W5 closed loop".to_owned(),
        Pace::Rate(rate) => format!("W6 {} a second and thread", grouped(rate as usize)),
    };
    let sweeps = match course.sweep_every {
        Some(every) => format!("rivals look through all keys every {} ms", every.as_millis()),
        None => "rivals never remove what has expired".to_owned(),
    };
    let (threads, live) = (course.threads, grouped(course.live));
    println!("{pace}, {threads} threads, {live} keys kept beside; {sweeps}");
    let mut table = Table::new(["store", "p50", "p99", "p99.9", "max"]);
    for tail in tails {
        let times = [tail.p50_ns, tail.p99_ns, tail.p999_ns, tail.max_ns];
        let shown = times.map(|nanos| format!("{:.2}", nanos / 1e3));
        table.push(std::iter::once(tail.store.clone()).chain(shown));
        if let (Some(p99), Some(p999)) = (tail.p99_by_best_rival, tail.p999_by_best_rival) {
            table.push(["  by best rival", "", &format!("{p99:.2}"), &format!("{p999:.2}"), ""]);
        }
    }
    println!("{table}");
}

/// Our slowest lifecycles, and how many of them had which cause.
fn print_worst(arguments: &Arguments, wanted: usize, threads: usize) {
    let span = Span { warm_up: WARM_UP, measured: arguments.measured() };
    let course = worst::course(arguments.rate, span, arguments.live, threads);
    let found = worst::look(&course, wanted);
    let rate = grouped(arguments.rate as usize);
    println!("\n{rate} a second and thread, {threads} threads; times in microseconds");
    let head = [
        "at ms",
        "thread",
        "on core",
        "start",
        "acquire",
        "commit",
        "reclaimed",
        "off core",
        "switches",
        "longest",
        "cause",
    ];
    let mut table = Table::new(head);
    found.slowest.iter().for_each(|slow| table.push(worst_row(slow)));
    print!("{table}");
    let count = |cause| found.slowest.iter().filter(|slow| slow.cause() == cause).count();
    println!(
        "of these the scheduler {}, reclaiming {}, neither {}; of all {} operations {} lost the \
         core, for {:.1} ms in all",
        count(Cause::Scheduler),
        count(Cause::Sweep),
        count(Cause::Unknown),
        grouped(usize::try_from(found.operations).unwrap_or(usize::MAX)),
        found.preempted,
        found.off_core_ns as f64 / 1e6
    );
}

fn worst_row(slow: &Slow) -> Vec<String> {
    let micros = |nanos: u64| format!("{:.2}", nanos as f64 / 1e3);
    let cause = match slow.cause() {
        Cause::Scheduler => "scheduler",
        Cause::Sweep => "reclaiming",
        Cause::Unknown => "unknown",
    };
    vec![
        format!("{:.1}", slow.at.as_secs_f64() * 1e3),
        slow.thread.to_string(),
        micros(slow.on_core_ns()),
        micros(slow.start_ns),
        micros(slow.acquire_ns),
        micros(slow.commit_ns),
        slow.reclaimed.to_string(),
        micros(slow.off_core_ns),
        slow.switches.to_string(),
        slow.step().to_owned(),
        cause.to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Arguments, String> {
        let all = std::iter::once("latency").chain(arguments.iter().copied());
        Arguments::try_parse_from(all).map_err(|error| error.to_string())
    }

    #[test]
    fn only_takes_stores_and_refuses_what_is_none() {
        let stores = |arguments: &[&str]| parse(arguments).and_then(|parsed| parsed.stores());
        assert_eq!(
            stores(&["--only", "leasehold,scc"]),
            Ok(vec!["leasehold".into(), "scc".into()])
        );
        assert!(stores(&["--only", "redis"]).is_err_and(|why| why.contains("quick_cache")));
    }

    #[test]
    fn quick_is_two_rounds_and_excludes_other_numbers_of_them() {
        let quick = parse(&["--quick"]).map(|parsed| (parsed.rounds(), parsed.measured()));
        assert_eq!(quick, Ok((2, Duration::from_secs(1))));
        assert!(parse(&["--quick", "--rounds", "3"]).is_err());
        assert!(parse(&["--worst", "3", "--json"]).is_err());
    }
}
