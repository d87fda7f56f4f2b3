//! Many threads on tiny stores, so that everything collides; the contract is checked from outside.
//!
//! ```text
//! RUSTFLAGS="--cfg lease_jitter" cargo run --release -p stress -- [--acquires N] [--seed N]
//! ```
//!
//! With `--real`, and built without that flag, it plays at real speed on the system's clock.
//!
//! Each round has a store, keys and habits of its own, drawn from the round's seed; several rounds
//! make a run. Built with `lease_jitter`, the engine's accesses now and then hold their thread up,
//! so that races are lost that would be won a million times. Exits with 1 if a claim is violated,
//! and names it, the round's seed and its shape. How threads meet is not drawn from the seed: a run
//! of the same round may have to be long to meet a violation again.
//!
//! This program uses the public API alone, and must never depend on how the engine does it.

#![forbid(unsafe_code)]

mod aftermath;
mod arena;
mod claim;
mod log;
mod mark;
mod player;
mod room;
mod round;
mod settling;
mod shape;
mod tally;
mod time;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::round::Found;
use crate::shape::Shape;
use crate::tally::Tally;

/// Stresses the memory store and checks its contract from outside.
#[derive(Debug, Parser)]
struct Arguments {
    /// Acquires in all.
    #[arg(long, value_name = "N", default_value_t = 5_000_000)]
    acquires: u64,
    /// Seed of the first round; each later round has the next.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// No round begins after so many seconds.
    #[arg(long, value_name = "N", default_value_t = u64::MAX)]
    seconds: u64,
    /// Threads of each round.
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = threads)]
    threads: usize,
    /// Plays every round on the system's clock, with short TTLs and a sweeper beside the players,
    /// in larger stores.
    #[arg(long)]
    real: bool,
    /// Says what each round is like before it begins.
    #[arg(long)]
    verbose: bool,
}

fn threads(text: &str) -> Result<usize, String> {
    let count = text.parse().map_err(|error| format!("{error}"))?;
    if (1..=64).contains(&count) { Ok(count) } else { Err("from 1 to 64".to_owned()) }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let started = now();
    let budget = Duration::from_secs(arguments.seconds);
    let mut total = Tally::default();
    let mut seed = arguments.seed;
    while total.acquires < arguments.acquires && started.elapsed() < budget {
        let shape = if arguments.real {
            Shape::drawn_real(seed, arguments.threads)
        } else {
            Shape::drawn(seed, arguments.threads)
        };
        if arguments.verbose {
            println!("seed {seed}: {shape}");
        }
        let acquires = shape.acquires.min(arguments.acquires - total.acquires);
        match round::play(seed, shape, acquires) {
            Ok(tally) => {
                if arguments.verbose {
                    println!("{tally}");
                }
                total += tally;
            }
            Err(Found { violation, acquires }) => {
                println!("{violation}\nseed: {seed}\nshape: {shape}");
                println!("after: {} acquires", total.acquires + acquires);
                return ExitCode::FAILURE;
            }
        }
        seed = seed.wrapping_add(1);
    }
    let seconds = started.elapsed().as_secs_f64();
    let jitter = if cfg!(lease_jitter) { "with" } else { "without" };
    let rate = total.acquires as f64 / seconds;
    println!("nothing found {jitter} jitter in {seconds:.1} s, {rate:.0} acquires/s");
    println!("{total}");
    ExitCode::SUCCESS
}

#[expect(clippy::disallowed_methods, reason = "the run times itself; the store does not")]
fn now() -> Instant {
    Instant::now()
}
