//! `layer`: how long does a request take through our layer, in process, and through what one would
//! reach for instead?
//!
//! Every scenario over every stack, in interleaved rounds on one thread, without sockets.
//! `docs/http-performance.md` says how each figure is made.

#![forbid(unsafe_code)]

mod course;
mod renewal;

use std::path::PathBuf;

use clap::Parser;
use leasehold_http::{Duplicate, Metrics};
use leasehold_http_benches::figures::Figure;
use leasehold_http_benches::pass::{self, Told};
use leasehold_http_benches::report::Report;
use leasehold_http_benches::rounds::{Entrant, interleave};
use leasehold_http_benches::stack::{self, handler};
use leasehold_http_benches::target::Target;
use tokio::runtime::Runtime;

use course::Course;

/// Times requests through our layer and through others.
#[derive(Debug, Parser)]
struct Arguments {
    /// Rounds over all stacks.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Only scenarios whose name has this in it.
    #[arg(long, value_name = "TEXT", default_value = "")]
    only: String,
    /// Only stacks of these names, with commas: for a profiler.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    stacks: Vec<String>,
    /// Also write what was found to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const BARE: &str = "bare handler";
const MOCK: &str = "mock";
const OURS: &str = "leasehold";
const REPLAY: &str = "leasehold, replay";
const THEIRS: &str = "axum-idempotent";

const EMPTY: &str = "fresh key, empty";
const BESIDE_1K: &str = "fresh key, beside 1,000";
const BESIDE_10K: &str = "fresh key, beside 10,000";
const BESIDE_1M: &str = "fresh key, beside 1,000,000";
const DUPLICATE: &str = "duplicate, of 10,000";
const SHIELD: &str = "disconnect shield";
const WAITING: &str = "fresh key, a handler that waits once";
const RENEWAL: &str = "renewal";

/// What is measured over all stacks.
const COURSES: [(&str, Course); 5] = [
    (EMPTY, Course::fresh(0, 1_000, 16)),
    (BESIDE_1K, Course::fresh(1_000, 500, 32)),
    (BESIDE_10K, Course::fresh(10_000, 2_000, 8)),
    (BESIDE_1M, Course::fresh(1_000_000, 16_000, 1).kept()),
    (DUPLICATE, Course::duplicates(10_000, 16_000)),
];

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    let rounds = usize::from(arguments.rounds);
    let runtime = pass::runtime()?;
    let mut report = Report::new([
        "one thread, a current-thread runtime, no sockets; medians of rounds; ratio to the mock",
        "footing 0.6.3 takes part in nothing: it asks for Rust 1.99",
    ]);
    let wanted = |scenario: &str| scenario.contains(&arguments.only);
    let contest = |mut entrants: Vec<Entrant<'_, f64>>| {
        let stacks = &arguments.stacks;
        entrants.retain(|entrant| stacks.is_empty() || stacks.iter().any(|s| s == entrant.name));
        interleave(rounds, &mut entrants)
    };
    for (scenario, course) in COURSES.into_iter().filter(|(scenario, _)| wanted(scenario)) {
        let found = contest(stacks(&runtime, course))?;
        report.add(figures(scenario, "ns", &found), MOCK);
    }
    if wanted(SHIELD) {
        let found = contest(shields(&runtime))?;
        report.add(figures(SHIELD, "ns", &found), BARE);
    }
    if wanted(WAITING) {
        let found = contest(waiting(&runtime))?;
        report.add(figures(WAITING, "ns", &found), BARE);
    }
    if wanted(RENEWAL) {
        let ours = Entrant::new(OURS, || renewal::ours(&runtime));
        let tasks = Entrant::new("a task with a timer each", || renewal::tasks(&runtime));
        let found = contest(vec![ours, tasks])?;
        report.add(figures(RENEWAL, "ns on a core", &found), OURS);
    }
    report.targets = targets(&report);
    println!("{report}");
    arguments.json.map_or(Ok(()), |path| report.write(&path))
}

fn figures(scenario: &str, unit: &'static str, found: &[(&str, Vec<f64>)]) -> Vec<Figure> {
    found.iter().map(|(entrant, rounds)| Figure::of(scenario, entrant, unit, rounds)).collect()
}

/// All that protect requests, and what they are compared with.
fn stacks(runtime: &Runtime, course: Course) -> Vec<Entrant<'_, f64>> {
    let ours = |duplicate| move |room| stack::leasehold(room, stack::policy(duplicate));
    let theirs = |room| Ok(stack::axum_idempotent(room));
    vec![
        course.entrant(runtime, BARE, |_| Ok(stack::bare()), Told::Ran),
        course.entrant(runtime, MOCK, |room| Ok(stack::mock(room)), Told::Refused),
        course.entrant(runtime, OURS, ours(Duplicate::Reject), Told::Refused),
        course.entrant(runtime, REPLAY, ours(Duplicate::Replay), Told::Replayed),
        course.entrant(runtime, THEIRS, theirs, Told::Replayed),
    ]
}

/// Ways for a handler to outlive its client.
fn shields(runtime: &Runtime) -> Vec<Entrant<'_, f64>> {
    let course = Course::fresh(0, 16_000, 1);
    vec![
        course.entrant(runtime, BARE, |_| Ok(stack::bare()), Told::Ran),
        course.entrant(runtime, "in place", |_| Ok(stack::shielded()), Told::Ran),
        course.entrant(runtime, "a task per request", |_| Ok(stack::spawned()), Told::Ran),
    ]
}

/// A handler that waits needs its lease renewed, perhaps: what it costs to be ready for that.
fn waiting(runtime: &Runtime) -> Vec<Entrant<'_, f64>> {
    let course = Course::fresh(0, 1_000, 16);
    let ours = |renew: bool| {
        move |room| {
            let policy = stack::policy(Duplicate::Reject).renew(renew);
            stack::with_metrics(room, policy, Metrics::new(), handler::order_later)
        }
    };
    vec![
        course.entrant(runtime, BARE, |_| Ok(stack::bare_later()), Told::Ran),
        course.entrant(runtime, "leasehold, without renewal", ours(false), Told::Refused),
        course.entrant(runtime, OURS, ours(true), Told::Refused),
    ]
}

fn targets(report: &Report) -> Vec<Target> {
    let by = |scenario, of, to| report.ratio(scenario, of, to);
    let less = |scenario, of, by| report.median(scenario, of) - report.median(scenario, by);
    let mut targets = Vec::new();
    for scenario in [EMPTY, BESIDE_1K, BESIDE_10K, BESIDE_1M] {
        let what = format!("{scenario}: leasehold by mock");
        targets.push(Target::at_most(1.5, what, by(scenario, OURS, MOCK)));
        let what = format!("{scenario}: axum-idempotent by leasehold");
        targets.push(Target::at_least(3.0, what, by(scenario, THEIRS, OURS)));
    }
    let growth = report.median(BESIDE_1M, OURS) / report.median(BESIDE_1K, OURS);
    let registering = less(WAITING, OURS, "leasehold, without renewal");
    targets.extend([
        Target::at_most(2.0, "leasehold, fresh key: beside a million by beside 1,000", growth),
        Target::at_most(1.4, "duplicate: leasehold by mock", by(DUPLICATE, OURS, MOCK)),
        Target::at_least(
            2.4,
            "duplicate: axum-idempotent by leasehold",
            by(DUPLICATE, THEIRS, OURS),
        ),
        Target::at_most(100.0, "disconnect shield, ns", less(SHIELD, "in place", BARE)),
        Target::at_most(150.0, "to be ready for a renewal, ns a request", registering),
        Target::at_most(100.0, "renewal, ns", report.median(RENEWAL, OURS)),
    ]);
    targets.retain(|target| !target.figure.is_nan());
    targets
}
