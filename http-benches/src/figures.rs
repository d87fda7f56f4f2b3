//! Figures: what the rounds of one entrant come to.

use serde::Serialize;

/// One entrant's figure in one scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What was asked of all entrants.
    pub scenario: String,
    /// Whose figure it is.
    pub entrant: String,
    /// What is counted.
    pub unit: &'static str,
    /// The median of the rounds.
    pub median: f64,
    /// The lowest round.
    pub lowest: f64,
    /// The highest round.
    pub highest: f64,
    /// How many rounds there were.
    pub rounds: usize,
    /// The median by that of the scenario's base, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
}

impl Figure {
    /// The figure of these rounds.
    #[must_use]
    pub fn of(scenario: &str, entrant: &str, unit: &'static str, rounds: &[f64]) -> Self {
        Self {
            scenario: scenario.to_owned(),
            entrant: entrant.to_owned(),
            unit,
            median: median(rounds),
            lowest: rounds.iter().copied().fold(f64::NAN, f64::min),
            highest: rounds.iter().copied().fold(f64::NAN, f64::max),
            rounds: rounds.len(),
            ratio: None,
        }
    }
}

/// The middle value, or the mean of the two in the middle; not a number if there is none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.get(middle), middle.checked_sub(1).and_then(|before| sorted.get(before))) {
        (Some(upper), Some(lower)) if sorted.len().is_multiple_of(2) => (lower + upper) / 2.0,
        (Some(middle), _) => *middle,
        (None, _) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_the_middle_and_shows_both_ends() {
        let figure = Figure::of("s", "e", "ns", &[4.0, 1.0, 9.0]);
        assert_eq!((figure.median, figure.lowest, figure.highest), (4.0, 1.0, 9.0));
        assert_eq!(figure.rounds, 3);
        assert!((median(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(median(&[]).is_nan());
    }
}
