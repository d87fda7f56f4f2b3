//! What a binary found, as tables for people and as JSON for programs.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::figures::Figure;
use crate::machine::Machine;
use crate::target::{Side, Target};

/// Figures, targets, and what to know about them.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where they were taken.
    pub machine: Machine,
    /// What to know about them.
    pub notes: Vec<String>,
    /// The figures, in the order of the tables.
    pub figures: Vec<Figure>,
    /// The targets.
    pub targets: Vec<Target>,
}

impl Report {
    /// A report of this machine.
    #[must_use]
    pub fn new<const N: usize>(notes: [&str; N]) -> Self {
        let notes = notes.map(str::to_owned).to_vec();
        Self { machine: Machine::look(), notes, figures: Vec::new(), targets: Vec::new() }
    }

    /// Adds the figures of a scenario, and their ratios to one of them.
    pub fn add(&mut self, mut figures: Vec<Figure>, base: &str) {
        let base = figures.iter().find(|figure| figure.entrant == base).map(|base| base.median);
        for figure in &mut figures {
            figure.ratio = base.map(|base| figure.median / base);
        }
        self.figures.extend(figures);
    }

    /// A median; not a number if there is none, which meets no target.
    #[must_use]
    pub fn median(&self, scenario: &str, entrant: &str) -> f64 {
        let same = |figure: &&Figure| figure.scenario == scenario && figure.entrant == entrant;
        self.figures.iter().find(same).map_or(f64::NAN, |figure| figure.median)
    }

    /// How often one median of a scenario goes into another.
    #[must_use]
    pub fn ratio(&self, scenario: &str, of: &str, to: &str) -> f64 {
        self.median(scenario, of) / self.median(scenario, to)
    }

    /// Writes it as one JSON object.
    ///
    /// # Errors
    ///
    /// A sentence that names the file.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let cannot = |error: &dyn fmt::Display| format!("cannot write {}: {error}", path.display());
        let text = serde_json::to_string_pretty(self).map_err(|error| cannot(&error))?;
        fs::write(path, text + "\n").map_err(|error| cannot(&error))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine)?;
        for note in &self.notes {
            writeln!(f, "- {note}")?;
        }
        for figures in self.figures.chunk_by(|one, other| one.scenario == other.scenario) {
            table(f, figures)?;
        }
        if !self.targets.is_empty() {
            writeln!(f, "\n| target | figure | bound | |\n|---|--:|--:|---|")?;
        }
        for Target { what, figure, side, bound, met } in &self.targets {
            let side = if *side == Side::AtMost { "at most" } else { "at least" };
            let end = if *met { "met" } else { "missed" };
            writeln!(f, "| {what} | {} | {side} {bound} | {end} |", shown(*figure))?;
        }
        Ok(())
    }
}

/// The figures of one scenario.
fn table(f: &mut fmt::Formatter<'_>, figures: &[Figure]) -> fmt::Result {
    let Some(first) = figures.first() else { return Ok(()) };
    writeln!(f, "\n{}, {} rounds\n", first.scenario, first.rounds)?;
    writeln!(f, "| | {} | lowest to highest | ratio |\n|---|--:|--:|--:|", first.unit)?;
    for figure in figures {
        let ratio = figure.ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let ends = format!("{} to {}", shown(figure.lowest), shown(figure.highest));
        writeln!(f, "| {} | {} | {ends} | {ratio} |", figure.entrant, shown(figure.median))?;
    }
    Ok(())
}

/// A number with as many digits as can be trusted.
fn shown(value: f64) -> String {
    let digits = if value.abs() < 10.0 {
        2
    } else if value.abs() < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let mut report = Report::new(["a note"]);
        let figure = |entrant, value| Figure::of("fresh", entrant, "ns", &[value]);
        report.add(vec![figure("base", 200.0), figure("ours", 300.0)], "base");
        report
    }

    #[test]
    fn ratios_are_to_the_base_and_what_is_not_there_is_no_number() {
        let report = report();
        assert!((report.ratio("fresh", "ours", "base") - 1.5).abs() < 1e-9);
        assert!(report.ratio("fresh", "ours", "none").is_nan());
        assert_eq!(report.figures.last().and_then(|figure| figure.ratio), Some(1.5));
    }

    #[test]
    fn a_missed_target_is_shown_as_missed() {
        let mut report = report();
        report.targets = vec![Target::at_most(1.4, "ours", 1.5), Target::at_most(1.5, "x", 1.5)];
        let text = report.to_string();
        assert!(text.contains("| ours | 300 | 300 to 300 | 1.50 |"), "{text}");
        assert!(text.contains("| ours | 1.50 | at most 1.4 | missed |"), "{text}");
        assert!(text.contains("| x | 1.50 | at most 1.5 | met |"), "{text}");
    }
}
