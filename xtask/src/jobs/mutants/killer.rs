//! A killer: the check that finds a fault, as a fault's file names it.
//!
//! ```text
//! killed by: loom grants::two_acquirers_have_one_winner
//! ```
//!
//! The kind, and but for `stress` the test: its name, and before it the file of tests where there
//! are several. A law's name means it in every shape of the store. It must never name more than one
//! crate's tests, so that one build is enough.

use std::fmt;

/// What kind of check it is, the cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A unit test of the engine.
    Unit,
    /// A law of the contract, held against the memory store.
    Law,
    /// A property, or a case that one has found before.
    Property,
    /// A loom scenario, beside the engine's parts or of the whole store.
    Loom,
    /// The stress run.
    Stress,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Unit, Self::Law, Self::Property, Self::Loom, Self::Stress];

    /// What it is called by.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Unit => "unit",
            Self::Law => "law",
            Self::Property => "property",
            Self::Loom => "loom",
            Self::Stress => "stress",
        }
    }
}

/// One killer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Killer {
    pub(super) kind: Kind,
    /// Nothing for the stress run.
    pub(super) test: String,
}

impl Killer {
    /// Reads what a fault's file says.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (word, test) = text.split_once(' ').unwrap_or((text, ""));
        let kind = Kind::ALL.into_iter().find(|kind| kind.word() == word)?;
        let wants_test = kind != Kind::Stress;
        let is_whole = wants_test != test.is_empty() && !test.contains(' ');
        is_whole.then(|| Self { kind, test: test.to_owned() })
    }

    /// Whether it is a scenario beside the engine's parts.
    fn is_of_parts(&self) -> bool {
        self.test.contains("loom_tests::")
    }

    /// The file of tests, where the crate has several.
    fn file(&self) -> Option<&str> {
        let in_file = match self.kind {
            Kind::Property => true,
            Kind::Loom => !self.is_of_parts(),
            Kind::Unit | Kind::Law | Kind::Stress => false,
        };
        self.test.split_once("::").filter(|_| in_file).map(|(file, _)| file)
    }

    /// The filter by which the test's program is asked for it.
    pub(super) fn filter(&self) -> &str {
        match self.file() {
            Some(_) => self.test.split_once("::").map_or("", |(_, name)| name),
            None => &self.test,
        }
    }

    /// The test's own name.
    #[cfg(test)]
    pub(super) fn name(&self) -> &str {
        self.test.rsplit("::").next().unwrap_or_default()
    }

    /// The package's folder, from the root.
    pub(super) fn folder(&self) -> &'static str {
        match self.kind {
            Kind::Property => "proptests",
            Kind::Loom if !self.is_of_parts() => "loom-tests",
            Kind::Unit | Kind::Law | Kind::Loom => "engine",
            Kind::Stress => "stress",
        }
    }

    /// What builds it, as arguments of cargo.
    pub(super) fn build(&self) -> Vec<&str> {
        let package = match self.folder() {
            "engine" => "leasehold",
            other => other,
        };
        match self.kind {
            Kind::Stress => vec!["build", "--release", "-p", package],
            Kind::Unit => vec!["test", "--no-run", "-p", package, "--lib"],
            Kind::Law => vec!["test", "--no-run", "-p", package, "--test", "conformance"],
            Kind::Property => {
                vec!["test", "--no-run", "-p", package, "--test", self.file().unwrap_or_default()]
            }
            Kind::Loom => {
                let mut build = vec!["test", "--no-run", "--release", "-p", package];
                match self.file() {
                    Some(file) => build.extend(["--test", file]),
                    None => build.push("--lib"),
                }
                build
            }
        }
    }
}

impl fmt::Display for Killer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(format!("{} {}", self.kind.word(), self.test).trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Killer {
        Killer::parse(text).expect("it is whole")
    }

    #[test]
    fn a_killer_names_its_test_unless_it_is_the_stress_run() {
        assert_eq!(parsed("stress").kind, Kind::Stress);
        for wrong in ["", "stress x", "loom", "loom a b", "guess x"] {
            assert_eq!(Killer::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_file_of_tests_is_no_part_of_the_filter() {
        let whole = parsed("loom grants::one_wins");
        assert_eq!((whole.folder(), whole.filter()), ("loom-tests", "one_wins"));
        assert!(whole.build().ends_with(&["--test", "grants"]));
        let part = parsed("loom index::loom_tests::one_wins");
        assert_eq!((part.folder(), part.filter()), ("engine", "index::loom_tests::one_wins"));
        assert!(part.build().ends_with(&["--lib"]));
        let unit = parsed("unit word::tests::one_wins");
        assert_eq!((unit.filter(), unit.name()), ("word::tests::one_wins", "one_wins"));
    }
}
