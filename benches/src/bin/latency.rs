//! `latency`: how long do the slowest operations take, here and in the three best rivals?
//!
//! Lifecycles of keys that are kept for 50 to 350 ms, in a closed loop (W5) and at a fixed rate
//! (W6), by HDR histogram. `docs/performance.md` says how each figure is made.

#![forbid(unsafe_code)]

use std::time::Duration;

use clap::Parser;
use leasehold_benches::machine::Machine;
use leasehold_benches::pace::{Pace, Span};
use leasehold_benches::table::{Table, grouped};
use leasehold_benches::tails::{self, Course, Tail};

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
    /// One JSON object per line instead of tables.
    #[arg(long)]
    json: bool,
}

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    if arguments.threads.iter().any(|threads| !(1..=64).contains(threads)) {
        return Err("there are 1 to 64 threads".into());
    }
    let most = arguments.threads.iter().copied().max().unwrap_or(1);
    let stores = tails::contestants(most);
    if !arguments.json {
        println!("{}", Machine::look());
        println!("microseconds; medians of {} rounds, max of all\n", arguments.rounds);
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
    let measured = Duration::from_secs(arguments.seconds.into());
    let warm_up = Duration::from_millis(400);
    let rate = Pace::Rate(arguments.rate);
    let closed = Duration::from_millis(400);
    let course = |pace, measured, live, sweep_every, threads| Course {
        pace,
        span: Span { warm_up, measured },
        threads,
        live,
        sweep_every,
        rounds: arguments.rounds.into(),
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
