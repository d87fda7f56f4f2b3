//! `server`: how much processor time does one request cost a whole server process, ours and
//! others?
//!
//! Servers run as processes of their own, wrk loads them over kept connections, and the kernel's
//! account says what they used. `docs/http-performance.md` says how each figure is made.

#![forbid(unsafe_code)]

mod accounts;
mod children;
mod contest;
mod load;
mod serve;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use leasehold_http_benches::figures::Figure;
use leasehold_http_benches::report::Report;
use leasehold_http_benches::target::Target;

use contest::{Plan, Sample};

/// Compares whole servers by the processor time of a request.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    serve: Option<Serve>,
    #[command(flatten)]
    measure: Measure,
}

#[derive(Debug, clap::Args)]
struct Measure {
    /// Rounds over all servers.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// Seconds of load for each server in each round.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=60))]
    seconds: u16,
    /// Connections that wrk keeps.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    connections: u16,
    /// The gateway's binary [default: `leasehold` beside this one]
    #[arg(long, value_name = "FILE")]
    gateway: Option<PathBuf>,
    /// Also write what was found to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What this program does as a child of itself.
#[derive(Debug, Subcommand)]
enum Serve {
    /// hyper with a handler
    #[command(hide = true)]
    Hyper,
    /// The same with our layer
    #[command(hide = true)]
    Layer,
    /// axum-reverse-proxy
    #[command(hide = true)]
    AxumReverseProxy {
        /// Whom requests are passed to.
        upstream: String,
    },
}

const PROCESSOR: &str = "microseconds of processor time for a request";
const RATE: &str = "requests a second";

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    match arguments.serve {
        Some(Serve::Hyper) => serve::hyper(),
        Some(Serve::Layer) => serve::layer(),
        Some(Serve::AxumReverseProxy { upstream }) => serve::axum_reverse_proxy(&upstream),
        None => measure(&arguments.measure),
    }
}

fn measure(arguments: &Measure) -> Result<(), String> {
    load::check_installed()?;
    let gateway = arguments.gateway.clone().map_or_else(beside, Ok)?;
    let plan = Plan {
        rounds: arguments.rounds.into(),
        seconds: arguments.seconds,
        connections: arguments.connections,
        gateway,
    };
    let note = format!(
        "wrk and all servers share the cores; {} connections, {} s each time; user and system time",
        plan.connections, plan.seconds
    );
    let mut report = Report::new(["every request has a key of its own, but for duplicates", &note]);
    let found = contest::run(&plan)?;
    let rounds = |of: fn(&Sample) -> f64| {
        let values = |(name, samples): &(&'static str, Vec<Sample>)| {
            (*name, samples.iter().map(of).collect::<Vec<_>>())
        };
        found.iter().map(values).collect::<Vec<_>>()
    };
    let figures = |unit, name: &dyn Fn(&str) -> bool, rounds: Vec<(&'static str, Vec<f64>)>| {
        let some = rounds.into_iter().filter(|(entrant, _)| name(entrant));
        let figure = |(entrant, rounds): (_, Vec<f64>)| Figure::of(unit, entrant, unit, &rounds);
        some.map(figure).collect::<Vec<_>>()
    };
    let all = |_: &str| true;
    report.add(figures(PROCESSOR, &all, rounds(|sample| sample.micros)), contest::NGINX);
    report.add(
        figures("of that in the kernel", &all, rounds(|sample| sample.system_micros)),
        contest::NGINX,
    );
    report.add(figures(RATE, &all, rounds(|sample| sample.rate)), contest::PASSING);
    report.targets = targets(&report);
    println!("{report}");
    arguments.json.as_ref().map_or(Ok(()), |path| report.write(path))
}

fn targets(report: &Report) -> Vec<Target> {
    let by = |of, to| report.ratio(PROCESSOR, of, to);
    vec![
        Target::at_most(1.35, "hyper with the layer by hyper", by(contest::LAYER, contest::HYPER)),
        Target::at_most(
            1.10,
            "gateway, protected by its pass-through",
            by(contest::PROTECTED, contest::PASSING),
        ),
        Target::at_most(1.5, "gateway, protected by nginx", by(contest::PROTECTED, contest::NGINX)),
        Target::at_least(
            1.7,
            "axum-reverse-proxy by gateway, protected",
            by(contest::AXUM_REVERSE_PROXY, contest::PROTECTED),
        ),
        Target::at_least(
            2.2,
            "duplicates a second by pass-through's requests",
            report.ratio(RATE, contest::DUPLICATES, contest::PASSING),
        ),
    ]
}

/// The gateway that was built with this program.
fn beside() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find itself: {error}"))?;
    let path = own.with_file_name(format!("leasehold{}", std::env::consts::EXE_SUFFIX));
    path.exists().then_some(path).ok_or_else(|| {
        "there is no gateway yet: `cargo build --release -p leasehold-http --bin leasehold`"
            .to_owned()
    })
}
