//! `rivals`: what does each verb cost here, and in what one would reach for instead?
//!
//! Every workload over every store, interleaved: medians, and our ratio to the best rival, losses
//! included. `docs/performance.md` says how each figure is made.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::Duration;

use clap::Parser;
use leasehold_benches::contest::{self, BATCHES, CHURN, Plan, WORKLOADS};
use leasehold_benches::figures::{self, Figure, OURS};
use leasehold_benches::machine::Machine;
use leasehold_benches::stopwatch::Stopwatch;
use leasehold_benches::table::{Table, grouped};

/// Sizes unless others are asked for.
const SIZES: [usize; 2] = [100_000, 1_000_000];

/// From this size on only the three best rivals take part: the others would take most of the time.
const LARGE: usize = 5_000_000;

/// Where the best rivals are looked for if no smaller size was measured.
const PILOT_SIZE: usize = 100_000;

/// Seconds for `--quick`.
const QUICK_SECONDS: u64 = 45;

/// Compares the memory store with what one would reach for instead.
#[derive(Debug, Parser)]
struct Arguments {
    /// Few rounds at one size: under a minute in all.
    #[arg(long)]
    quick: bool,
    /// Most seconds to take. Rounds are left out, never stores or sizes.
    #[arg(long, value_name = "SECONDS")]
    budget: Option<u64>,
    /// One JSON object per line instead of tables.
    #[arg(long)]
    json: bool,
    /// Live keys; several with commas.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    live: Vec<usize>,
    /// Only these stores or workloads, with commas: `dashmap,scc,W1`.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Rounds over all stores.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Numbers of threads, with commas.
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [1, 2])]
    threads: Vec<usize>,
}

impl Arguments {
    /// Most seconds for everything.
    fn seconds(&self) -> Option<u64> {
        self.budget.or(self.quick.then_some(QUICK_SECONDS))
    }

    fn sizes(&self) -> Vec<usize> {
        match (self.live.is_empty(), self.quick) {
            (false, _) => self.live.clone(),
            (true, true) => vec![SIZES[0]],
            (true, false) => SIZES.to_vec(),
        }
    }

    fn plan(&self) -> Result<Plan, String> {
        let workloads = WORKLOADS.into_iter().chain([BATCHES]).map(|(name, _)| name);
        let workloads: Vec<_> = workloads.collect();
        let lowered = |name: &str| name.to_lowercase();
        let all = || contest::store_names().into_iter().chain(workloads.iter().copied());
        if let Some(name) =
            self.only.iter().find(|name| !all().any(|known| lowered(known) == lowered(name)))
        {
            let known: Vec<_> = all().collect();
            return Err(format!(
                "`{name}` is no store or workload; there are {}",
                known.join(", ")
            ));
        }
        if self.live.contains(&0) || self.threads.iter().any(|n| !(1..=64).contains(n)) {
            return Err("there is at least one live key, and there are 1 to 64 threads".into());
        }
        let chosen = |known: &[&str]| {
            let named = |name: &&&str| self.only.iter().any(|only| lowered(only) == lowered(name));
            let some: Vec<_> = known.iter().filter(named).collect();
            let list = if some.is_empty() { known.iter().collect() } else { some };
            list.into_iter().map(|name| (*name).to_owned()).collect()
        };
        let rounds = self.rounds.map_or(if self.quick { 5 } else { 11 }, usize::from);
        let measured = if self.quick { 150 } else { 400 };
        Ok(Plan {
            stores: chosen(&contest::store_names()),
            workloads: chosen(&workloads),
            threads: self.threads.clone(),
            rounds,
            budget: Duration::MAX,
            // The longest ttl and a little more: from then on as many keys end as come.
            churn: [Duration::from_millis(400), Duration::from_millis(measured)],
        })
    }
}

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    let plan = arguments.plan()?;
    if arguments.json {
        measure(&arguments, &plan, print_lines);
    } else {
        println!("{}", Machine::look());
        println!("ns between two ends of an operation, of whichever thread; medians of rounds\n");
        measure(&arguments, &plan, print_tables);
    }
    Ok(())
}

/// Runs every stage, and shows each as soon as it is done.
fn measure(arguments: &Arguments, plan: &Plan, show: fn(&[Figure])) {
    let stopwatch = Stopwatch::start();
    let sizes = arguments.sizes();
    let churns = plan.workloads.iter().any(|name| name == CHURN);
    let sized = plan.workloads.iter().any(|name| name != CHURN);
    let mut stages: Vec<_> = sizes.into_iter().filter(|_| sized).map(Some).collect();
    stages.extend(churns.then_some(None));
    let mut seen: Vec<Figure> = Vec::new();
    for (done, stage) in stages.iter().enumerate() {
        let left = arguments.seconds().map_or(Duration::MAX, |seconds| {
            Duration::from_secs(seconds).saturating_sub(stopwatch.elapsed())
        });
        let budget = left / u32::try_from(stages.len() - done).unwrap_or(1);
        let mut plan = Plan { budget, ..plan.clone() };
        let mut figures = match stage {
            Some(live) => {
                if *live >= LARGE {
                    plan.stores = best_stores(&plan, &seen);
                }
                contest::at_size(&plan, *live)
            }
            None => contest::of_churn(&plan),
        };
        figures::compare(&mut figures);
        show(&figures);
        seen.extend(figures);
    }
}

/// Our store and its three best rivals, by what was measured or by one quick look.
fn best_stores(plan: &Plan, seen: &[Figure]) -> Vec<String> {
    let best = if seen.is_empty() {
        let pilot = Plan { rounds: 3, ..plan.clone() };
        figures::best_rivals(&contest::at_size(&pilot, PILOT_SIZE))
    } else {
        figures::best_rivals(seen)
    };
    let ours = plan.stores.iter().filter(|store| *store == OURS).cloned();
    ours.chain(best).collect()
}

fn print_lines(figures: &[Figure]) {
    let mut out = std::io::stdout().lock();
    for figure in figures {
        let line = serde_json::to_string(figure).unwrap_or_default();
        // A reader that has gone wants no more lines.
        let _ = writeln!(out, "{line}");
    }
}

/// One table for each number of live keys: a row for each store, a column for each workload.
fn print_tables(figures: &[Figure]) {
    let Some(first) = figures.first() else {
        return;
    };
    let compared = figures.iter().filter(|figure| figure.workload != BATCHES.0);
    let columns: BTreeSet<_> = compared.map(|f| (f.workload.clone(), f.threads)).collect();
    let at = |store: &str, column: &(String, usize)| {
        figures
            .iter()
            .find(move |f| f.store == store && (&f.workload, f.threads) == (&column.0, column.1))
    };
    let size = if first.workload == CHURN {
        "as many keys as rate and ttl lead to".to_owned()
    } else {
        format!("{} live keys", grouped(first.live))
    };
    println!("{size}, {} rounds", first.rounds);
    for (name, about) in WORKLOADS {
        if columns.iter().any(|(workload, _)| workload == name) {
            println!("  {name} {about}");
        }
    }
    let head = columns.iter().map(|(workload, threads)| format!("{workload} x{threads}"));
    let mut table = Table::new(std::iter::once("store".to_owned()).chain(head));
    for store in contest::store_names() {
        if figures.iter().any(|figure| figure.store == store) {
            let cell = |column| at(store, column).map_or(String::new(), cost);
            table.push(std::iter::once(store.to_owned()).chain(columns.iter().map(cell)));
        }
    }
    let ratio = |column: &(String, usize)| {
        let ours = at(OURS, column)?;
        Some(format!("{:.2}", ours.ratio_to_best_rival?))
    };
    let rival = |column: &(String, usize)| at(OURS, column)?.best_rival.clone();
    let row = |name: &str, cell: &dyn Fn(&(String, usize)) -> Option<String>| {
        let cells = columns.iter().map(|column| cell(column).unwrap_or_default());
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<_>>()
    };
    table.push(row("ratio to best rival", &ratio));
    table.push(row("best rival", &rival));
    if !columns.is_empty() {
        println!("{table}");
    }
    figures.iter().filter_map(batch_line).for_each(|line| println!("{line}"));
}

/// What a batch costs by the key, which no rival can be asked.
fn batch_line(figure: &Figure) -> Option<String> {
    let (name, about) = BATCHES;
    let by_key = format!("{name} x{}, {about}: {} ns per key", figure.threads, cost(figure));
    (figure.workload == name).then(|| match figure.ratio_to_single_calls {
        Some(ratio) => format!("{by_key}, W2 / {name} = {ratio:.2}\n"),
        None => format!("{by_key}\n"),
    })
}

/// A cost, with a mark if the store lost keys on the way.
fn cost(figure: &Figure) -> String {
    let mark = if figure.wrong > 0.0 { "!" } else { "" };
    let digits = usize::from(figure.ns_per_op < 10.0);
    format!("{mark}{:.digits$}", figure.ns_per_op)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(arguments: &[&str]) -> Result<Plan, String> {
        let all = std::iter::once("rivals").chain(arguments.iter().copied());
        Arguments::try_parse_from(all).map_err(|error| error.to_string())?.plan()
    }

    #[test]
    fn only_takes_stores_and_workloads_and_refuses_what_is_neither() {
        let some = plan(&["--only", "leasehold,SCC,w2"]).expect("known names");
        assert_eq!(some.stores, ["leasehold", "scc"]);
        assert_eq!(some.workloads, ["W2"]);
        let batches = plan(&["--only", "b16"]).expect("a known name");
        assert_eq!(batches.workloads, ["B16"]);
        let one = plan(&["--only", "W5"]).expect("a known name");
        assert_eq!(one.stores, contest::store_names());
        assert!(plan(&["--only", "redis"]).is_err_and(|why| why.contains("quick_cache")));
    }

    #[test]
    fn eleven_rounds_are_the_default_and_sizes_and_threads_are_above_zero() {
        assert_eq!(plan(&[]).map(|plan| plan.rounds), Ok(11));
        for wrong in [["--live", "0"], ["--threads", "0"], ["--threads", "65"], ["--rounds", "0"]] {
            assert!(plan(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn quick_is_given_less_than_a_minute_unless_a_budget_is_set() {
        let seconds = |arguments: &[&str]| {
            let all = std::iter::once("rivals").chain(arguments.iter().copied());
            Arguments::try_parse_from(all).ok().and_then(|parsed| parsed.seconds())
        };
        assert_eq!(seconds(&[]), None);
        assert!(seconds(&["--quick"]).is_some_and(|seconds| seconds < 60));
        assert_eq!(seconds(&["--quick", "--budget", "7"]), Some(7));
    }
}
