//! The text format of Prometheus 0.0.4, made of the encoder's OpenMetrics.
//!
//! They differ in two things: OpenMetrics declares a counter without the `_total` of its samples,
//! and ends with a line of its own. Samples are never touched.

use std::collections::HashSet;

/// The last line of OpenMetrics.
const END: &str = "# EOF";

/// The page as the older format has it.
pub(super) fn plain(page: &str) -> String {
    let counters: HashSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut plain = String::with_capacity(page.len());
    for line in page.lines().filter(|line| *line != END) {
        match declaration(line).filter(|(_, name, _)| counters.contains(name)) {
            Some((mark, name, rest)) => plain.push_str(&format!("{mark}{name}_total {rest}\n")),
            None => {
                plain.push_str(line);
                plain.push('\n');
            }
        }
    }
    plain
}

/// What a line declares: its mark, the name, and what it says of it.
fn declaration(line: &str) -> Option<(&str, &str, &str)> {
    let mark = ["# HELP ", "# TYPE "].into_iter().find(|mark| line.starts_with(mark))?;
    let (name, rest) = line.strip_prefix(mark)?.split_once(' ')?;
    Some((mark, name, rest))
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_counter_is_declared_by_the_name_of_its_samples() {
        let page = "# HELP a_b Things.\n# TYPE a_b counter\na_b_total{x=\"# TYPE a_b counter\"} 1\n\
                    # HELP g Now.\n# TYPE g gauge\ng 2\n# EOF\n";
        let expected = "# HELP a_b_total Things.\n# TYPE a_b_total counter\n\
                        a_b_total{x=\"# TYPE a_b counter\"} 1\n\
                        # HELP g Now.\n# TYPE g gauge\ng 2\n";
        assert_eq!(plain(page), expected);
    }
}
