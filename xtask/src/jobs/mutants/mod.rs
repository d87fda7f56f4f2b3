//! Plants one fault at a time into a copy of the sources, and demands that its killer finds it.
//!
//! A check that finds nothing proves little until it has been seen to find something. The faults
//! are the files of `xtask/faults/`; `fault` has their form. Each names the cheapest check that
//! finds it, its *killer*. This job must never touch the sources that it copies.

mod fault;
mod killer;
mod sources;
mod trial;

use std::path::Path;

use super::{Done, Options};
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use fault::Fault;
use sources::Sources;
use trial::{Bench, End};

/// Where the copy and what is built from it go, below the root.
const FOLDER: &str = "target/mutants";

/// First the sources as they are, in which no killer may find anything; then every fault.
pub(super) fn run_all(root: &Path, options: &Options) -> Result<Done, Failure> {
    let faults = fault::all(root)?;
    let asked = |fault: &&Fault| {
        let names = [fault.name.as_str(), fault.killer.kind.word()];
        options.only.as_ref().is_none_or(|only| names.contains(&only.as_str()))
    };
    let mut chosen: Vec<_> = faults.iter().filter(asked).collect();
    if chosen.is_empty() {
        return Err(Failure::new(
            "there is no such fault, and no such kind of killer; see xtask/faults",
        ));
    }
    // Those of one build together, and the quickest first.
    chosen.sort_by_key(|fault| (fault.killer.kind, &fault.name));
    let sources = Sources::read(root)?;
    // All of them first: a fault that no longer fits is told at once.
    let planted =
        chosen.iter().map(|fault| fault.plant(&sources)).collect::<Result<Vec<_>, _>>()?;
    let bench = Bench::new(&root.join(FOLDER));
    bench.write(&sources)?;
    for killer in fault::killers(&chosen) {
        if let End::Found { by } = bench.try_clean(killer)? {
            return Err(Failure::new(format!("{killer} found without a fault: {by}")));
        }
    }
    let mut table = vec![row("mutant", "killer", "s", "found by")];
    let mut survivors = Vec::new();
    for (fault, planted) in chosen.iter().zip(planted) {
        println!("\n-- {}: {}", fault.name, fault.breaks);
        let stopwatch = Stopwatch::start();
        let end = bench.write(&planted).and_then(|()| bench.try_fault(&fault.killer));
        let seconds = format!("{:.0}", stopwatch.elapsed().as_secs_f64());
        let by = match end {
            Ok(End::Found { by }) => by,
            Ok(End::Nothing) => {
                survivors.push(fault.name.as_str());
                "SURVIVED".to_owned()
            }
            Err(failure) => {
                println!("{failure}");
                survivors.push(fault.name.as_str());
                "NOT TRIED: see above".to_owned()
            }
        };
        table.push(row(&fault.name, fault.killer.kind.word(), &seconds, &by));
        println!("{}", table.last().map_or("", |line| line));
    }
    bench.write(&sources)?;
    println!("\n{}", table.join("\n"));
    if survivors.is_empty() {
        Ok(Done::Passed)
    } else {
        Err(Failure::new(format!("survived, or could not be tried: {}", survivors.join(", "))))
    }
}

fn row(name: &str, killer: &str, seconds: &str, by: &str) -> String {
    format!("{name:<36}{killer:<10}{seconds:>4}  {by}").trim_end().to_owned()
}
