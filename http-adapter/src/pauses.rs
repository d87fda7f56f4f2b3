//! Growing pauses between attempts at something that others try too.

use std::time::Duration;

use leasehold::Attempt;

/// The pauses of one request. They double up to a longest one, and differ a little from those of
/// other requests, so that what began together does not stay together.
#[derive(Clone, Debug)]
pub(crate) struct Pauses {
    next: Duration,
    longest: Duration,
    /// From a half to one: the share of each pause that is taken.
    share: f64,
}

impl Pauses {
    /// Pauses from `first` to `longest`, for the request that an attempt names.
    pub(crate) fn new(first: Duration, longest: Duration, attempt: Attempt) -> Self {
        // The upper half of the bits, as good as random, as a fraction of one half.
        let fraction = (attempt.to_bits() >> 64) as f64 / u64::MAX as f64 / 2.0;
        Self { next: first, longest, share: 0.5 + fraction }
    }

    /// The next pause.
    pub(crate) fn next(&mut self) -> Duration {
        let pause = self.next.mul_f64(self.share);
        self.next = self.next.saturating_mul(2).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_shortened_by_half_at_most() {
        let (first, longest) = (Duration::from_secs(1), Duration::from_secs(5));
        let all = |bits| {
            let mut pauses = Pauses::new(first, longest, Attempt::from_bits(bits));
            [(); 5].map(|()| pauses.next().as_millis())
        };
        assert_eq!(all(u128::MAX), [1000, 2000, 4000, 5000, 5000]);
        assert_eq!(all(0), [500, 1000, 2000, 2500, 2500]);
    }
}
