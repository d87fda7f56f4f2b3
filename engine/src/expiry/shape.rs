//! Where each family of a tree stands, from its number of leaves.
//!
//! Level 0 are the leaves. Family `n` of a level are the children of node `n` of the level above;
//! the root is above the last level and in no family.

use super::family::FAN_OUT;

/// Levels of the largest tree: leaves are counted by 32 bits.
const LEVELS_MAX: usize = u32::BITS.div_ceil(FAN_OUT.ilog2()) as usize;

/// How many families each level has, one level after the other in one array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Where each level's first family stands.
    firsts: [usize; LEVELS_MAX],
    levels: usize,
    families: usize,
}

impl Shape {
    /// The lowest tree with so many leaves, and with one if there are none.
    pub(super) fn of(leaves: usize) -> Self {
        let mut shape = Self { firsts: [0; LEVELS_MAX], levels: 0, families: 0 };
        let mut nodes = leaves.max(1);
        for first in &mut shape.firsts {
            *first = shape.families;
            nodes = nodes.div_ceil(FAN_OUT);
            shape.families += nodes;
            shape.levels += 1;
            if nodes == 1 {
                break;
            }
        }
        shape
    }

    /// Levels below the root.
    pub(super) const fn levels(&self) -> usize {
        self.levels
    }

    /// Families of all levels.
    pub(super) const fn families(&self) -> usize {
        self.families
    }

    /// Where a family stands; `level` is below [`levels`](Self::levels).
    pub(super) fn place(&self, level: usize, family: usize) -> usize {
        self.firsts.get(level).map_or(usize::MAX, |first| first.saturating_add(family))
    }

    /// The number, on a level, of the node that is above a leaf, or that leaf: for any leaf of the
    /// largest tree.
    pub(super) const fn above(leaf: usize, level: usize) -> usize {
        leaf >> (FAN_OUT.ilog2() as usize * level)
    }
}

#[cfg(all(test, not(lease_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_as_low_as_it_can_be() {
        for (leaves, levels, families) in [
            (0, 1, 1),
            (1, 1, 1),
            (64, 1, 1),
            (65, 2, 3),
            (4_096, 2, 65),
            (4_097, 3, 65 + 2 + 1),
            (1 << 18, 3, 4_096 + 64 + 1),
            ((1 << 18) + 1, 4, 4_097 + 65 + 2 + 1),
        ] {
            let shape = Shape::of(leaves);
            assert_eq!((shape.levels(), shape.families()), (levels, families), "{leaves}");
        }
    }

    #[test]
    fn the_largest_tree_has_one_root() {
        let shape = Shape::of(1 << 32);
        assert_eq!(shape.levels(), LEVELS_MAX);
        assert_eq!(shape.place(LEVELS_MAX - 1, 0), shape.families() - 1);
    }

    #[test]
    fn no_two_families_stand_in_one_place() {
        for leaves in [1, 64, 65, 4_097, 300_000] {
            let shape = Shape::of(leaves);
            let mut places = Vec::new();
            let mut nodes = leaves;
            for level in 0..shape.levels() {
                nodes = nodes.div_ceil(FAN_OUT);
                places.extend((0..nodes).map(|family| shape.place(level, family)));
            }
            assert!(places.into_iter().eq(0..shape.families()), "{leaves}");
        }
    }
}
