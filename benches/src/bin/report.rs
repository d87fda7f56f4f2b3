//! `report`: one page of what the other binaries and criterion found, and the README's chart.
//!
//! Reads `rivals.jsonl`, `latency.jsonl`, `memory.jsonl` and criterion's folder from one folder,
//! each if it is there, and writes `report.html` beside them.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use leasehold_benches::chart::{self, Bar, Group, escaped};
use leasehold_benches::contest::{BATCHES, CHURN, WORKLOADS};
use leasehold_benches::criteria::{self, Estimate};
use leasehold_benches::figures::{Figure, OURS, best_rivals};
use leasehold_benches::footprint::Footprint;
use leasehold_benches::growth::{self, Line, Panel};
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
    /// Where the README's chart goes, if anywhere.
    #[arg(long)]
    svg: Option<PathBuf>,
    /// How and when it was measured, in one line: command, load.
    #[arg(long, default_value = "")]
    note: String,
}

fn main() -> Result<(), String> {
    let arguments = Arguments::parse();
    let folder = &arguments.folder;
    let figures: Vec<Figure> = lines(&folder.join("rivals.jsonl"))?;
    let tails: Vec<Tail> = lines(&folder.join("latency.jsonl"))?;
    let footprints: Vec<Footprint> = lines(&folder.join("memory.jsonl"))?;
    let estimates = criteria::read(&folder.join("criterion"));
    let machine = Machine::look();
    let page = [
        head(&machine, &arguments.note),
        costs(&figures),
        grown(&figures),
        latencies(&tails),
        memory(&footprints),
        benches(&estimates),
    ];
    write(&folder.join("report.html"), &page.concat())?;
    match &arguments.svg {
        Some(path) => write(path, &readme_chart(&figures, &machine, &arguments.note)),
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

fn head(machine: &Machine, note: &str) -> String {
    let Machine { cpu, cores, commit, versions, .. } = machine;
    let about = format!("{cpu}, {cores} cores; commit {commit}; {versions}; {note}");
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Leasehold: figures</title>\
         <style>body{{font:15px system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;\
         color-scheme:light dark}}table{{border-collapse:collapse;margin:1em 0}}td,th{{padding:2px \
         10px;text-align:right;border-bottom:1px solid #8884}}td:first-child,th:first-child{{\
         text-align:left}}svg{{max-width:100%;height:auto}}</style>\n<h1>Leasehold: figures</h1>\n\
         <p>{}</p>\n<p>How each figure is made stands in docs/performance.md.</p>\n",
        escaped(&about)
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
        let label = |f: &Figure| format!("{}{}", f.store, if f.wrong > 0.0 { " !" } else { "" });
        let bars = wanted.map(|f| Bar { label: label(f), ..bar(&f.store, f.ns_per_op) });
        let bars: Vec<_> = bars.collect();
        let title = format!("{name} {}, {}", short(about), team(threads));
        (!bars.is_empty()).then_some(Group { title, bars })
    };
    let column = |threads| WORKLOADS.iter().filter_map(|load| group(threads, *load)).collect();
    threads.into_iter().map(column).collect()
}

/// What a workload is called besides its number.
fn short(about: &str) -> &str {
    about.split(':').next().unwrap_or(about)
}

fn team(threads: usize) -> String {
    format!("{threads} thread{}", if threads == 1 { "" } else { "s" })
}

fn bar(store: &str, value: f64) -> Bar {
    Bar { label: store.to_owned(), value, is_ours: store == OURS }
}

/// Those that have a size, and churn.
fn parted(figures: &[Figure]) -> (Vec<&Figure>, Vec<&Figure>) {
    figures.iter().partition(|figure| figure.workload != CHURN)
}

fn costs(figures: &[Figure]) -> String {
    let mut page = String::from("<h2>What an operation costs</h2>\n");
    let note = "a bar that is cut ends in an arrow; ! marks a cache that had dropped live keys";
    let (sized, churn) = parted(figures);
    let sizes: BTreeSet<_> = sized.iter().map(|figure| figure.live).collect();
    for live in sizes {
        let of_size: Vec<_> = sized.iter().copied().filter(|f| f.live == live).collect();
        let title = format!("{} live keys: nanoseconds, shorter is better", grouped(live));
        page += &chart::svg(&title, note, &columns(&of_size, None));
    }
    let title = "Keys kept for 50 to 350 ms: nanoseconds, shorter is better";
    page += &chart::svg(title, note, &columns(&churn, None));
    page + &ratios(figures) + &batches(figures)
}

/// Our figures beside the best rival's, losses included.
fn ratios(figures: &[Figure]) -> String {
    let ours = figures.iter().filter(|f| f.store == OURS && f.workload != BATCHES.0);
    let rows = ours.map(|figure| {
        vec![
            figure.workload.clone(),
            figure.threads.to_string(),
            size_of(figure),
            chart::shown(figure.ns_per_op),
            figure.ratio_to_best_rival.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            figure.best_rival.clone().unwrap_or_default(),
            figure.rounds.to_string(),
        ]
    });
    let head = ["workload", "threads", "live keys", "ns", "ratio to best rival", "best", "rounds"];
    let about = "<p>The ratio is the best rival's cost by ours: below 1 it is ahead of us.</p>\n";
    about.to_owned() + &table(&head, rows)
}

fn size_of(figure: &Figure) -> String {
    if figure.workload == CHURN { "by rate and ttl".to_owned() } else { grouped(figure.live) }
}

/// What no rival has.
fn batches(figures: &[Figure]) -> String {
    let (name, about) = BATCHES;
    let rows = figures.iter().filter(|figure| figure.workload == name).map(|figure| {
        let ratio = figure.ratio_to_single_calls;
        vec![
            grouped(figure.live),
            figure.threads.to_string(),
            chart::shown(figure.ns_per_op),
            ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
            figure.rounds.to_string(),
        ]
    });
    let head = ["live keys", "threads", "ns per key", "single call by batch", "rounds"];
    format!("<p>{name}, {}</p>\n{}", escaped(about), table(&head, rows))
}

/// Our store and the three best rivals of each workload, by size and threads.
fn grown(figures: &[Figure]) -> String {
    let (sized, _) = parted(figures);
    let threads: BTreeSet<_> = sized.iter().map(|figure| figure.threads).collect();
    let mut page = String::from("<h2>How costs grow</h2>\n<p>Live keys from left to right.</p>\n");
    for (name, about) in WORKLOADS {
        let all: Vec<_> = sized.iter().copied().filter(|f| f.workload == name).cloned().collect();
        if all.iter().map(|figure| figure.live).collect::<BTreeSet<_>>().len() < 2 {
            continue;
        }
        let mut stores = best_rivals(&all);
        stores.push(OURS.to_owned());
        let line = |store: &String, threads: usize| {
            let of_line = all.iter().filter(|f| f.store == *store && f.threads == threads);
            let mut points: Vec<_> = of_line.map(|f| (f.live, f.ns_per_op)).collect();
            points.sort_by_key(|(live, _)| *live);
            Line { label: store.clone(), points, is_ours: store == OURS }
        };
        let panel = |threads: &usize| Panel {
            title: team(*threads),
            lines: stores.iter().map(|store| line(store, *threads)).collect(),
        };
        let panels: Vec<_> = threads.iter().map(panel).collect();
        page += &growth::svg(&format!("{name} {}: nanoseconds", short(about)), &panels);
    }
    page
}

fn latencies(tails: &[Tail]) -> String {
    let rows = tails.iter().map(|tail| {
        let micros = |nanos: f64| format!("{:.2}", nanos / 1e3);
        let by = |ratio: Option<f64>| ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
        vec![
            tail.workload.clone(),
            tail.rate.map_or("closed".to_owned(), |rate| grouped(rate as usize)),
            tail.threads.to_string(),
            grouped(tail.live),
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
        "kept beside",
        "rivals sweep",
        "store",
        "p50 \u{b5}s",
        "p99 \u{b5}s",
        "p99.9 \u{b5}s",
        "max \u{b5}s",
        "p99 by best",
        "p99.9 by best",
    ];
    let about = "<p>By best: our time by the best rival's; above 1 it is ahead of us.</p>";
    format!("<h2>How long the slowest take</h2>\n{about}\n{}", table(&head, rows))
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
    let head = [
        "store",
        "bound",
        "resident, bytes",
        "requested, bytes",
        "held",
        "says full",
        "orders expiry",
    ];
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

/// Our store and the three best rivals at one size, and in churn.
fn readme_chart(figures: &[Figure], machine: &Machine, note: &str) -> String {
    let (sized, churn) = parted(figures);
    let of_size = sized.into_iter().filter(|figure| figure.live == SHOWN_LIVE);
    let shown: Vec<_> = of_size.chain(churn).collect();
    let mut stores = best_rivals(&shown.iter().map(|f| (*f).clone()).collect::<Vec<_>>());
    stores.push(OURS.to_owned());
    let rounds = shown.iter().map(|figure| figure.rounds).min().unwrap_or(0);
    let title = format!("Nanoseconds per operation; W1 to W4 with {} keys", grouped(SHOWN_LIVE));
    let Machine { cpu, cores, commit, .. } = machine;
    let note =
        format!("shorter is better; {cpu}, {cores} cores; {commit}; {rounds} rounds; {note}");
    chart::svg(&title, &note, &columns(&shown, Some(&stores)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Vec<Figure> {
        let figure = |workload: &str, live: usize, store: &str, ns_per_op: f64| Figure {
            ns_per_op,
            rounds: 11,
            ..Figure::of(workload, 1, live, store)
        };
        let mut figures = vec![
            figure("W1", 1_000, OURS, 20.0),
            figure("W1", 1_000, "scc", 10.0),
            figure("W1", SHOWN_LIVE, OURS, 40.0),
            figure("W1", SHOWN_LIVE, "scc", 80.0),
            Figure { wrong: 0.1, ..figure("W5", SHOWN_LIVE, "moka", 70.0) },
            figure("W5", SHOWN_LIVE, OURS, 30.0),
            figure("W2", SHOWN_LIVE, OURS, 12.0),
            figure("B16", SHOWN_LIVE, OURS, 6.0),
        ];
        leasehold_benches::figures::compare(&mut figures);
        figures
    }

    #[test]
    fn losses_are_shown_and_caches_that_drop_keys_are_marked() {
        let page = costs(&figures());
        assert!(page.contains("<td>0.50</td><td>scc</td>"), "{page}");
        assert!(page.contains("moka !"), "{page}");
        assert!(page.contains("<td>6.0</td><td>2.00</td>"), "{page}");
    }

    #[test]
    fn churn_is_under_no_size_and_batches_are_compared_with_no_rival() {
        let page = costs(&figures());
        let churn = page.split_once("Keys kept for 50 to 350 ms").map(|(_, after)| after);
        assert_eq!(page.matches("W5 churn").count(), 1);
        assert!(churn.is_some_and(|after| after.contains("W5 churn")));
        assert!(page.contains("<td>W5</td><td>1</td><td>by rate and ttl</td>"), "{page}");
        assert!(!page.contains("<td>B16</td>"), "{page}");
    }

    #[test]
    fn growth_is_drawn_where_there_are_two_sizes() {
        let page = grown(&figures());
        assert!(page.contains("W1 lifecycle") && !page.contains("W2"), "{page}");
        assert!(page.contains(">scc 80<") && page.contains(">leasehold 40<"), "{page}");
    }

    #[test]
    fn the_readmes_chart_says_size_rounds_and_how() {
        let chart = readme_chart(&figures(), &Machine::look(), "`a command`");
        assert!(chart.contains("with 1,000,000 keys") && chart.contains("11 rounds; `a command`"));
        assert!(chart.contains("W1 lifecycle") && chart.contains("W5 churn"), "{chart}");
        assert!(!chart.contains(">20<"), "the figure of another size is not shown");
    }
}
