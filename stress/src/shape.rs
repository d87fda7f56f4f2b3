//! What one round is like, all of it drawn from its seed.

use std::fmt;

/// One round's store, and how its players play.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Acquires of the round.
    pub(crate) acquires: u64,
    pub(crate) bound: usize,
    pub(crate) keys: usize,
    /// One thread moves the clock, instead of the system.
    pub(crate) manual: bool,
    pub(crate) late_grace_ms: u64,
    /// Longest TTL of what is let expire.
    pub(crate) ttl_ms_max: u64,
    /// Most leases of a player, and most kept keys that it will forget.
    pub(crate) leases: usize,
    pub(crate) fingerprints: bool,
    pub(crate) outcomes: bool,
    /// Of 16 leases and kept keys, how many have a TTL that will end within the round.
    pub(crate) expiring: u8,
    /// A background thread keeps a coarse clock.
    pub(crate) upkeep: bool,
    /// A background thread sweeps.
    pub(crate) sweeps: bool,
    pub(crate) threads: usize,
}

/// Bounds to choose from: one, few, and enough for a table with several neighbours.
const BOUNDS: [usize; 10] = [1, 2, 3, 4, 6, 8, 12, 12, 24, 48];

/// The same at real speed: several leaves of deadlines and, at the most, several levels.
const BOUNDS_REAL: [usize; 6] = [1, 4, 32, 256, 2_048, 8_192];

/// Acquires of a round at real speed: long enough that much expires meanwhile.
const ACQUIRES_REAL: u64 = 300_000;

/// Acquires of a round whose clock is moved by hand. Few, so that what is seen at a round's end is
/// seen often, and a run has hundreds of shapes. Arbitrary.
const ACQUIRES_MANUAL: u64 = 8_000;

/// Acquires of a round on the system's clock, whose end has to wait until all has expired.
const ACQUIRES_SYSTEM: u64 = 40_000;

impl Shape {
    /// The shape of a seed.
    pub(crate) fn drawn(seed: u64, threads: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let bound = BOUNDS[random.usize(..BOUNDS.len())];
        let keys = match random.u8(..4) {
            0 => 1.max(bound / 2),
            1 => bound,
            2 => bound + random.usize(1..=4),
            _ => 2 * bound + random.usize(1..=8),
        };
        let manual = random.u8(..16) > 0;
        Self {
            acquires: if manual { ACQUIRES_MANUAL } else { ACQUIRES_SYSTEM },
            bound,
            keys,
            manual,
            late_grace_ms: [0, 0, 40, 200][random.usize(..4)],
            ttl_ms_max: if manual { [32, 100, 300][random.usize(..3)] } else { 32 },
            leases: 1 + random.usize(..=2.max(2 * bound / threads)),
            fingerprints: random.bool(),
            outcomes: random.bool(),
            expiring: [0, 1, 2, 4, 8, 16][random.usize(..6)],
            upkeep: !manual && random.bool(),
            sweeps: !manual && random.bool(),
            threads,
        }
    }

    /// The shape of a seed for a round at real speed.
    pub(crate) fn drawn_real(seed: u64, threads: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let bound = BOUNDS_REAL[random.usize(..BOUNDS_REAL.len())];
        Self {
            acquires: ACQUIRES_REAL,
            bound,
            keys: bound + random.usize(0..=1.max(bound / 8)),
            manual: false,
            late_grace_ms: [0, 40, 200][random.usize(..3)],
            ttl_ms_max: [32, 64, 100][random.usize(..3)],
            leases: 1 + random.usize(..=2.max(2 * bound / threads)),
            fingerprints: random.bool(),
            outcomes: random.bool(),
            expiring: [1, 2, 4, 8][random.usize(..4)],
            upkeep: random.bool(),
            sweeps: true,
            threads,
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let clock = if self.manual { "manual" } else { "system" };
        write!(
            f,
            "bound {}, {} keys, {} threads, {clock} clock, upkeep {}, sweeper {}, grace {} ms, ttl \
             up to {} ms, up to {} leases a thread, fingerprints {}, outcomes {}, {} of 16 expire",
            self.bound,
            self.keys,
            self.threads,
            self.upkeep,
            self.sweeps,
            self.late_grace_ms,
            self.ttl_ms_max,
            self.leases,
            self.fingerprints,
            self.outcomes,
            self.expiring
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_draw_every_relation_of_keys_to_the_bound_and_both_clocks() {
        let shapes: Vec<_> = (0..256).map(|seed| Shape::drawn(seed, 8)).collect();
        let some = |which: fn(&Shape) -> bool| shapes.iter().any(which);
        assert!(some(|shape| shape.keys < shape.bound) && some(|shape| shape.keys > shape.bound));
        assert!(some(|shape| shape.manual) && some(|shape| !shape.manual && shape.upkeep));
        assert!(shapes.iter().all(|shape| shape.keys > 0 && shape.leases > 0));
        assert_eq!(Shape::drawn(7, 8).to_string(), Shape::drawn(7, 8).to_string());
        let real: Vec<_> = (0..64).map(|seed| Shape::drawn_real(seed, 4)).collect();
        assert!(real.iter().all(|shape| !shape.manual && shape.sweeps && shape.expiring > 0));
    }
}
