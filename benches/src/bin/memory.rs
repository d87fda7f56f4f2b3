//! `memory`: how many bytes does a key take, here and in what one would reach for instead?
//!
//! Each store is filled to exactly its bound in a process of its own. *Resident* is what is in
//! memory then, *requested* what was asked of the kernel; `docs/performance.md` says how each is
//! made.

#![forbid(unsafe_code)]

use std::process::Command;

use clap::Parser;
use leasehold_benches::contest::store_names;
use leasehold_benches::footprint::{self, Footprint};
use leasehold_benches::machine::Machine;
use leasehold_benches::table::{Table, grouped};

/// Bytes per key of each store, filled to exactly its bound: ten seconds in all, a minute more for
/// a bound of ten million.
#[derive(Debug, Parser)]
struct Arguments {
    /// Bounds, with commas.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [100_000, 1_000_000])]
    bound: Vec<usize>,
    /// Only these stores, with commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// One JSON object per line instead of a table.
    #[arg(long)]
    json: bool,
    /// Measure this store in this process, and print its line.
    #[arg(long, hide = true)]
    child: Option<String>,
}

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    if arguments.bound.contains(&0) {
        return Err("a bound is at least one".into());
    }
    if let Some(store) = &arguments.child {
        return child(store, arguments.bound.first().copied().unwrap_or(1));
    }
    if !arguments.json {
        println!("{}", Machine::look());
        println!("bytes per key that is held; each store filled to its bound\n");
    }
    for bound in &arguments.bound {
        let wanted =
            |name: &&str| arguments.only.is_empty() || arguments.only.contains(&(*name).into());
        let lines = store_names().into_iter().filter(wanted).map(|store| line(store, *bound));
        let lines = lines.collect::<Result<Vec<_>, _>>()?;
        if arguments.json {
            lines.iter().for_each(|line| println!("{line}"));
        } else {
            print(*bound, &lines)?;
        }
    }
    Ok(())
}

fn child(store: &str, bound: usize) -> Result<(), String> {
    let footprint = footprint::measure(store, bound);
    let footprint = footprint.ok_or_else(|| format!("there is no store `{store}`"))?;
    println!("{}", serde_json::to_string(&footprint).map_err(|error| error.to_string())?);
    Ok(())
}

/// Measures a store in a process of its own.
fn line(store: &str, bound: usize) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let bound = bound.to_string();
    let child = Command::new(program).args(["--child", store, "--bound", &bound]).output();
    let output = child.map_err(|error| format!("cannot start a process for {store}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{store}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn print(bound: usize, lines: &[String]) -> Result<(), String> {
    println!("bound {}", grouped(bound));
    let head = ["store", "resident", "requested", "held", "refused early", "says full", "ordered"];
    let mut table = Table::new(head);
    for line in lines {
        let found: Footprint = serde_json::from_str(line).map_err(|error| error.to_string())?;
        let yes_no = |yes| if yes { "yes" } else { "no" }.to_owned();
        table.push([
            found.store,
            format!("{:.1}", found.resident_per_key),
            format!("{:.1}", found.requested_per_key),
            grouped(found.held),
            grouped(found.refused_early),
            yes_no(found.refuses_more),
            yes_no(found.orders_expiry),
        ]);
    }
    println!("{table}");
    Ok(())
}
