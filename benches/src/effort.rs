//! How much time the criterion benches take: all of them together stay below ten minutes.

use std::time::Duration;

use criterion::Criterion;

/// Longer than any pass of a bench.
pub const LONG: Duration = Duration::from_secs(3_600);

/// For what needs little preparation.
#[must_use]
pub fn short() -> Criterion {
    Criterion::default()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(4))
        .sample_size(30)
        .without_plots()
}

/// For what prepares a store for each sample.
#[must_use]
pub fn few() -> Criterion {
    short().measurement_time(Duration::from_secs(5)).sample_size(10)
}

/// A size, or a small one in a debug build: that one measures nothing, it shows that a bench runs.
#[must_use]
pub const fn size(wanted: usize) -> usize {
    if cfg!(debug_assertions) && wanted > 10_000 { 10_000 } else { wanted }
}

/// Sizes, without those that a debug build leaves out.
pub fn sizes(wanted: &[usize]) -> impl Iterator<Item = usize> {
    wanted.iter().copied().filter(|wanted| size(*wanted) == *wanted)
}

/// Numbers of threads: 1, 2, 4 and so on, up to the cores that there are.
pub fn teams() -> impl Iterator<Item = usize> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::iter::successors(Some(1_usize), |threads| threads.checked_mul(2))
        .take_while(move |threads| *threads <= cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn teams_double_up_to_the_cores() {
        let teams: Vec<_> = teams().collect();
        assert_eq!(teams.first(), Some(&1));
        assert!(teams.windows(2).all(|pair| pair[1] == 2 * pair[0]));
    }

    #[test]
    fn a_debug_build_is_small() {
        assert_eq!(size(7), 7);
        assert_eq!(sizes(&[10_000, 20_000]).count(), if cfg!(debug_assertions) { 1 } else { 2 });
    }
}
