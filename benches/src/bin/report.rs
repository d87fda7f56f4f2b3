//! `report`: one page of what the other binaries and criterion found, and the README's chart.
//!
//! Reads `rivals.jsonl`, `latency.jsonl` and `memory.jsonl` from a folder, each if it is there, and
//! writes `report.html` beside them.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use leasehold_benches::chart::{self, Bar, Group, escaped};
use leasehold_benches::contest::WORKLOADS;
use leasehold_benches::criteria::{self, Estimate};
use leasehold_benches::figures::{Figure, OURS, best_rivals};
use leasehold_benches::footprint::Footprint;
use leasehold_benches::machine::Machine;
use leasehold_benches::table::grouped;
use leasehold_benches::tails::Tail;
use serde::de::DeserializeOwned;

/// Size whose figures the README shows.
const SHOWN_LIVE: usize = 1_000_000;

/// Draws what was measured.
#[derive(Debug, Parser)]
struct Arguments {
    /// Folder with the lines of the other binaries.
    #[arg(long, default_value = "target/bench")]
    folder: PathBuf,
    /// Folder of criterion's.
    #[arg(long, default_value = "target/criterion")]
    criterion: PathBuf,
    /// Where the README's chart goes, if anywhere.
    #[arg(long)]
    svg: Option<PathBuf>,
}

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    let folder = &arguments.folder;
    let figures: Vec<Figure> = lines(&folder.join("rivals.jsonl"))?;
    let tails: Vec<Tail> = lines(&folder.join("latency.jsonl"))?;
    let footprints: Vec<Footprint> = lines(&folder.join("memory.jsonl"))?;
    let estimates = criteria::read(&arguments.criterion);
    let machine = Machine::look();
    let page = [
        head(&machine),
        costs(&figures),
        latencies(&tails),
        memory(&footprints),
        benches(&estimates),
    ];
    write(&folder.join("report.html"), &page.concat())?;
    match &arguments.svg {
        Some(path) => write(path, &readme_chart(&figures, &machine)),
        None => Ok(()),
    }
}

/// The objects of a file, one a line; none if there is no such file.
fn lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, String> {
    let parse =
        |line| serde_json::from_str(line).map_err(|error| format!("{}: {error}", path.display()));
    fs::read_to_string(path).unwrap_or_default().lines().map(parse).collect()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("{}", path.display());
    Ok(())
}

fn head(machine: &Machine) -> String {
    let about = escaped(&machine.to_string()).replace('\n', "<br>");
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Leasehold: figures</title>\
         <style>body{{font:15px system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;\
         color-scheme:light dark}}table{{border-collapse:collapse;margin:1em 0}}td,th{{padding:2px \
         10px;text-align:right;border-bottom:1px solid #8884}}td:first-child,th:first-child{{\
         text-align:left}}svg{{max-width:100%;height:auto}}</style>\n<h1>Leasehold: figures</h1>\n\
         <p>{about}</p>\n<p>How each figure is made stands in docs/performance.md.</p>\n"
    )
}

/// A table whose cells are escaped.
fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let row = |tag: &str, cells: Vec<String>| {
        let cells = cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", escaped(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let head = row("th", head.iter().map(|cell| (*cell).to_owned()).collect());
    let rows: String = rows.into_iter().map(|cells| row("td", cells)).collect();
    format!("<table>{head}{rows}</table>\n")
}

/// One group of bars for each workload, in columns by threads.
fn columns(figures: &[&Figure], stores: Option<&[String]>) -> Vec<Vec<Group>> {
    let threads: BTreeSet<_> = figures.iter().map(|figure| figure.threads).collect();
    let group = |threads: usize, (name, about): (&str, &str)| {
        let of_group = figures.iter().filter(|f| f.workload == name && f.threads == threads);
        let wanted = of_group.filter(|f| stores.is_none_or(|stores| stores.contains(&f.store)));
        let bars: Vec<_> = wanted.map(|figure| bar(&figure.store, figure.ns_per_op)).collect();
        let about = about.split(':').next().unwrap_or(about);
        let title = format!("{name} {about}, {threads} thread{}", plural(threads));
        (!bars.is_empty()).then_some(Group { title, bars })
    };
    let column = |threads| WORKLOADS.iter().filter_map(|load| group(threads, *load)).collect();
    threads.into_iter().map(column).collect()
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn bar(store: &str, value: f64) -> Bar {
    Bar { label: store.to_owned(), value, is_ours: store == OURS }
}

fn costs(figures: &[Figure]) -> String {
    let mut page = String::from("<h2>What an operation costs</h2>\n");
    let sizes: BTreeSet<_> = figures.iter().map(|figure| figure.live).collect();
    for live in sizes {
        let of_size: Vec<_> = figures.iter().filter(|figure| figure.live == live).collect();
        let title = format!("{} live keys: nanoseconds, shorter is better", grouped(live));
        page += &chart::svg(&title, "bars that are cut end in an arrow", &columns(&of_size, None));
    }
    let ours = figures.iter().filter(|figure| figure.store == OURS);
    let rows = ours.map(|figure| {
        vec![
            figure.workload.clone(),
            figure.threads.to_string(),
            grouped(figure.live),
            chart::shown(figure.ns_per_op),
            figure.ratio_to_best_rival.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            figure.best_rival.clone().unwrap_or_default(),
            figure.rounds.to_string(),
        ]
    });
    let head = ["workload", "threads", "live keys", "ns", "ratio to best rival", "best", "rounds"];
    page + &table(&head, rows)
}

fn latencies(tails: &[Tail]) -> String {
    let rows = tails.iter().map(|tail| {
        let micros = |nanos: f64| format!("{:.2}", nanos / 1e3);
        let by = |ratio: Option<f64>| ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        vec![
            tail.workload.clone(),
            tail.rate.map_or("closed".to_owned(), |rate| grouped(rate as usize)),
            tail.threads.to_string(),
            tail.sweep_ms.map_or("never".to_owned(), |every| format!("{every} ms")),
            tail.store.clone(),
            micros(tail.p50_ns),
            micros(tail.p99_ns),
            micros(tail.p999_ns),
            micros(tail.max_ns),
            by(tail.p99_by_best_rival),
            by(tail.p999_by_best_rival),
        ]
    });
    let head = [
        "workload",
        "a second",
        "threads",
        "rivals sweep",
        "store",
        "p50 \u{b5}s",
        "p99",
        "p99.9",
        "max",
        "p99 by best",
        "p99.9 by best",
    ];
    format!("<h2>How long the slowest take</h2>\n{}", table(&head, rows))
}

fn memory(footprints: &[Footprint]) -> String {
    let mut page = String::from("<h2>Bytes per key</h2>\n");
    let bounds: BTreeSet<_> = footprints.iter().map(|found| found.bound).collect();
    let column = |bound: usize| {
        let of_bound = footprints.iter().filter(|found| found.bound == bound);
        let bars = of_bound.map(|found| bar(&found.store, found.resident_per_key)).collect();
        vec![Group { title: format!("{} keys", grouped(bound)), bars }]
    };
    let columns: Vec<_> = bounds.into_iter().map(column).collect();
    page += &chart::svg("Resident bytes per key", "filled to exactly the bound", &columns);
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let rows = footprints.iter().map(|found| {
        vec![
            found.store.clone(),
            grouped(found.bound),
            format!("{:.1}", found.resident_per_key),
            format!("{:.1}", found.requested_per_key),
            grouped(found.held),
            yes_no(found.refuses_more),
            yes_no(found.orders_expiry),
        ]
    });
    let head = ["store", "bound", "resident", "requested", "held", "says full", "orders expiry"];
    page + &table(&head, rows)
}

fn benches(estimates: &[Estimate]) -> String {
    let rows = estimates.iter().map(|found| {
        let [low, high] = found.interval;
        vec![
            found.id.clone(),
            format!("{:.1}", found.ns_per_request),
            format!("{low:.1} to {high:.1}"),
        ]
    });
    let head = ["bench", "ns per request", "median lies in"];
    format!("<h2>The store alone</h2>\n{}</html>\n", table(&head, rows))
}

/// Our store and the three best rivals at one size.
fn readme_chart(figures: &[Figure], machine: &Machine) -> String {
    let of_size: Vec<_> = figures.iter().filter(|figure| figure.live == SHOWN_LIVE).collect();
    let owned: Vec<_> = of_size.iter().map(|figure| (*figure).clone()).collect();
    let mut stores = best_rivals(&owned);
    stores.push(OURS.to_owned());
    let title = format!("Nanoseconds per operation, {} live keys", grouped(SHOWN_LIVE));
    let Machine { cpu, cores, commit, .. } = machine;
    let note = format!("shorter is better; {cpu}, {cores} cores; {commit}; `cargo xtask bench`");
    chart::svg(&title, &note, &columns(&of_size, Some(&stores)))
}
