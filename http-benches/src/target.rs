//! Targets: what a figure was meant to be. They are shown beside it, met or missed, and never end
//! a run.

use serde::Serialize;

/// On which side of its bound a figure is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Smaller is better.
    AtMost,
    /// Larger is better.
    AtLeast,
}

/// A figure beside what it was meant to be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    /// What the figure is, in words.
    pub what: String,
    /// The figure.
    pub figure: f64,
    /// Its side of the bound.
    pub side: Side,
    /// The bound.
    pub bound: f64,
    /// Whether it is met. A figure that is no number meets nothing.
    pub met: bool,
}

impl Target {
    /// A figure that should not be above a bound.
    #[must_use]
    pub fn at_most(bound: f64, what: impl Into<String>, figure: f64) -> Self {
        Self { what: what.into(), figure, side: Side::AtMost, bound, met: figure <= bound }
    }

    /// A figure that should not be below a bound.
    #[must_use]
    pub fn at_least(bound: f64, what: impl Into<String>, figure: f64) -> Self {
        Self { what: what.into(), figure, side: Side::AtLeast, bound, met: figure >= bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_itself_is_met_and_what_is_no_number_is_not() {
        assert!(Target::at_most(2.0, "x", 2.0).met);
        assert!(!Target::at_most(2.0, "x", 2.1).met);
        assert!(Target::at_least(2.0, "x", 2.0).met);
        assert!(!Target::at_least(2.0, "x", 1.9).met);
        assert!(!Target::at_most(2.0, "x", f64::NAN).met);
        assert!(!Target::at_least(2.0, "x", f64::NAN).met);
    }
}
