//! `allocations`: how often does one request through each stack ask for memory, and for how much?
//!
//! Counted apart from `layer`, since an allocator that counts takes time for it.
//! `docs/http-performance.md` says how each figure is made.

#![forbid(unsafe_code)]

use std::path::PathBuf;

use clap::Parser;
use futures_util::FutureExt;
use leasehold_http::Duplicate;
use leasehold_http_benches::figures::Figure;
use leasehold_http_benches::pass::{self, Stack, Told};
use leasehold_http_benches::report::Report;
use leasehold_http_benches::request;
use leasehold_http_benches::stack;
use leasehold_http_benches::target::Target;
use tokio::runtime::Runtime;

/// Counts the allocations of requests through each stack.
#[derive(Debug, Parser)]
struct Arguments {
    /// Also write what was found to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Requests of each kind. The first half is not counted: by its end nothing is made for the first
/// time any more.
const REQUESTS: u64 = 2_000;

const FRESH: &str = "fresh key";
const DUPLICATE: &str = "duplicate";

/// What each request of one kind asked for.
#[derive(Debug, Default)]
struct Asked {
    times: Vec<f64>,
    bytes: Vec<f64>,
}

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    let runtime = pass::runtime()?;
    let mut report = Report::new([
        "medians over single requests; the request itself was made before, and the answer is read",
    ]);
    let room = stack::room(REQUESTS as usize);
    let ours = |duplicate| stack::leasehold(room, stack::policy(duplicate));
    let found = [
        both(&runtime, "bare handler", stack::bare(), Told::Ran)?,
        both(&runtime, "in place", stack::shielded(), Told::Ran)?,
        both(&runtime, "mock", stack::mock(room), Told::Refused)?,
        both(&runtime, "leasehold", ours(Duplicate::Reject)?, Told::Refused)?,
        both(&runtime, "leasehold, replay", ours(Duplicate::Replay)?, Told::Replayed)?,
        both(&runtime, "axum-idempotent", stack::axum_idempotent(room), Told::Replayed)?,
    ];
    for (scenario, at) in [(FRESH, 0), (DUPLICATE, 1)] {
        let figures = |unit, of: fn(&Asked) -> &[f64]| {
            let name = format!("{unit} of one request, {scenario}");
            let figure = |(entrant, asked): &(&str, [Asked; 2])| {
                Some(Figure::of(&name, entrant, unit, of(asked.get(at)?)))
            };
            found.iter().filter_map(figure).collect()
        };
        report.add(figures("allocations", |asked| &asked.times), "mock");
        report.add(figures("bytes", |asked| &asked.bytes), "mock");
    }
    report.targets = targets(&report);
    println!("{report}");
    arguments.json.map_or(Ok(()), |path| report.write(&path))
}

fn targets(report: &Report) -> Vec<Target> {
    let median = |scenario, entrant| {
        report.median(&format!("allocations of one request, {scenario}"), entrant)
    };
    let handler = median(FRESH, "bare handler");
    vec![
        Target::at_most(
            8.0,
            "allocations, fresh key, without the handler's own",
            median(FRESH, "leasehold") - handler,
        ),
        Target::at_most(6.0, "allocations, duplicate", median(DUPLICATE, "leasehold")),
        Target::at_most(1.0, "allocations, disconnect shield", median(FRESH, "in place") - handler),
    ]
}

/// Fresh keys, and then the same again.
fn both<S: Stack>(
    runtime: &Runtime,
    name: &'static str,
    mut stack: S,
    again: Told,
) -> Result<(&'static str, [Asked; 2]), String> {
    let fresh = count(runtime, &mut stack, Told::Ran);
    let found = fresh.and_then(|fresh| Ok([fresh, count(runtime, &mut stack, again)?]));
    found.map(|found| (name, found)).map_err(|error| format!("{name}: {error}"))
}

fn count<S: Stack>(runtime: &Runtime, stack: &mut S, expected: Told) -> Result<Asked, String> {
    let mut asked = Asked::default();
    let _entered = runtime.enter();
    for (number, request) in (0..REQUESTS).zip((0..REQUESTS).map(request::request)) {
        let mut told = None;
        let info = allocation_counter::measure(|| {
            told = pass::send(stack, request).now_or_never();
        });
        if told != Some(expected) {
            return Err(format!("a request was told {told:?} instead of {expected:?}"));
        }
        if number >= REQUESTS / 2 {
            asked.times.push(info.count_total as f64);
            asked.bytes.push(info.bytes_total as f64);
        }
    }
    Ok(asked)
}
