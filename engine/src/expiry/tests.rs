//! The tree by one thread: what is filed is found, when it is due, and nothing else is.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// Shapes on both sides of each boundary.
const SHAPES: [usize; 7] = [1, 2, 63, 64, 65, 4_096, 4_097];

impl Deadlines {
    /// Every node's tick is at or before those of its children, and no padding was ever lowered.
    /// Holds while nobody files.
    fn validate(&self, leaves: usize) {
        let mut nodes = leaves;
        for level in 0..self.shape.levels() {
            let parents = nodes.div_ceil(FAN_OUT);
            for parent in 0..parents {
                let children = self.family(level, parent).expect("a family of this level");
                let above = self.node(level + 1, parent).expect("its parent").read().earliest();
                assert!(above <= children.earliest(), "level {level}, family {parent}");
            }
            for padding in nodes..parents * FAN_OUT {
                let node = self.node(level, padding).expect("in the last family");
                assert_eq!(node.read().earliest(), NEVER, "level {level}, node {padding}");
            }
            nodes = parents;
        }
    }

    /// The ticks from a leaf to the root.
    fn way_up(&self, leaf: Leaf) -> Vec<u64> {
        (0..=self.shape.levels())
            .map(|level| self.node(level, Shape::above(leaf.0 as usize, level)))
            .map(|node| node.expect("on the way up").read().earliest().0)
            .collect()
    }
}

/// Raises every due leaf to *never*; gives them in the order in which they came.
fn drain(tree: &Deadlines, now: u64, hint: usize) -> Vec<u32> {
    let mut leaves = Vec::new();
    while let Some(raise) = tree.next_due(Tick(now), hint) {
        leaves.push(raise.leaf().0);
        assert!(tree.finish(raise, NEVER));
    }
    leaves
}

#[test]
fn filing_below_the_roots_tick_lowers_every_level() {
    for leaves in SHAPES {
        let tree = Deadlines::new(leaves).expect("the memory is there");
        let last = Leaf(leaves as u32 - 1);
        let levels = tree.shape.levels() + 1;
        assert_eq!(tree.way_up(last), vec![NEVER.0; levels]);
        for due in [40, 30, 30, 35] {
            tree.file(last, Deadline(due));
            assert_eq!(tree.way_up(last), vec![due.min(if due == 35 { 30 } else { due }); levels]);
            tree.validate(leaves);
        }
    }
}

#[test]
fn a_later_deadline_lowers_its_own_way_as_far_as_the_first_common_node() {
    let tree = Deadlines::new(4_097).expect("the memory is there");
    tree.file(Leaf(0), Deadline(10));
    tree.file(Leaf(70), Deadline(20));
    assert_eq!(tree.way_up(Leaf(70)), [20, 20, 10, 10]);
    assert_eq!(tree.way_up(Leaf(0)), [10, 10, 10, 10]);
    tree.validate(4_097);
}

#[test]
fn a_leaf_is_due_from_its_tick_on() {
    for leaves in SHAPES {
        let tree = Deadlines::new(leaves).expect("the memory is there");
        let middle = leaves as u32 / 2;
        tree.file(Leaf(middle), Deadline(7));
        assert!(!tree.is_due(Tick(6)) && tree.next_due(Tick(6), 0).is_none(), "{leaves}");
        assert!(tree.is_due(Tick(7)), "{leaves}");
        assert_eq!(drain(&tree, 7, 0), [middle]);
        assert!(!tree.is_due(Tick(NEVER.0)), "{leaves}");
        assert_eq!(tree.way_up(Leaf(middle)), vec![NEVER.0; tree.shape.levels() + 1]);
    }
}

#[test]
fn a_deadline_at_the_end_of_the_range_is_never_due() {
    let tree = Deadlines::new(65).expect("the memory is there");
    for due in [NEVER.0, NEVER.0 + 1, u64::MAX] {
        tree.file(Leaf(64), Deadline(due));
        assert!(!tree.is_due(Tick(u64::MAX)));
        assert!(tree.next_due(Tick(u64::MAX), 0).is_none());
    }
    tree.file(Leaf(64), Deadline(NEVER.0 - 1));
    assert_eq!(drain(&tree, u64::MAX, 0), [64]);
}

#[test]
fn a_deadline_at_the_end_of_the_range_cancels_no_raise() {
    let tree = Deadlines::new(1).expect("the memory is there");
    tree.file(Leaf(0), Deadline(1));
    let raise = tree.next_due(Tick(1), 0).expect("due");
    tree.file(Leaf(0), NEVER);
    assert!(tree.finish(raise, NEVER));
}

#[test]
fn a_cancelled_raise_leaves_the_tick() {
    let tree = Deadlines::new(65).expect("the memory is there");
    tree.file(Leaf(3), Deadline(5));
    let raise = tree.next_due(Tick(5), 0).expect("due");
    tree.file(Leaf(3), Deadline(50));
    assert!(!tree.finish(raise, Deadline(90)));
    assert_eq!(tree.way_up(Leaf(3)), [5, 5, 5]);
    let raise = tree.next_due(Tick(5), 0).expect("still due");
    assert!(tree.finish(raise, Deadline(50)));
    assert!(tree.next_due(Tick(49), 0).is_none());
    assert_eq!(tree.way_up(Leaf(3)), [50, 50, 50]);
}

#[test]
fn a_dropped_raise_leaves_the_leaf_to_the_next_who_looks() {
    let tree = Deadlines::new(65).expect("the memory is there");
    tree.file(Leaf(9), Deadline(5));
    for _ in 0..3 {
        assert!(tree.next_due(Tick(5), 0).is_some_and(|raise| raise.leaf() == Leaf(9)));
    }
    assert_eq!(drain(&tree, 5, 0), [9]);
}

#[test]
fn of_two_raises_of_one_leaf_one_ends() {
    let tree = Deadlines::new(2).expect("the memory is there");
    tree.file(Leaf(1), Deadline(5));
    let one = tree.next_due(Tick(5), 0).expect("due");
    let two = tree.next_due(Tick(6), 1).expect("due");
    assert!(tree.finish(two, Deadline(8)));
    assert!(!tree.finish(one, NEVER));
    assert_eq!(tree.way_up(Leaf(1))[0], 8);
}

#[test]
fn a_raise_to_a_tick_that_has_passed_leaves_the_leaf_due() {
    let tree = Deadlines::new(65).expect("the memory is there");
    tree.file(Leaf(2), Deadline(5));
    let raise = tree.next_due(Tick(9), 0).expect("due");
    assert!(tree.finish(raise, Deadline(7)));
    assert_eq!(drain(&tree, 9, 0), [2]);
}

#[test]
fn a_raise_of_another_tree_changes_nothing() {
    let (small, large) = (
        Deadlines::new(1).expect("the memory is there"),
        Deadlines::new(200).expect("the memory is there"),
    );
    large.file(Leaf(150), Deadline(5));
    let raise = large.next_due(Tick(5), 0).expect("due");
    assert!(!small.finish(raise, NEVER));
}

#[test]
fn the_hint_only_changes_the_order() {
    let due: BTreeSet<u32> = [0, 1, 63, 64, 100, 4_000, 4_095, 4_096].into();
    let mut orders = BTreeSet::new();
    for hint in [0, 1, 64, 101, 4_095, 4_096, 1 << 20, usize::MAX] {
        let tree = Deadlines::new(4_097).expect("the memory is there");
        for leaf in &due {
            tree.file(Leaf(*leaf), Deadline(3));
        }
        let order = drain(&tree, 3, hint);
        assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), due, "{hint}");
        assert_eq!(order.len(), due.len(), "{hint}");
        if due.contains(&(hint as u32)) {
            assert_eq!(order.first(), Some(&(hint as u32)), "the leaf of that number is first");
        }
        orders.insert(order);
    }
    assert!(orders.len() > 3, "{orders:?}");
}

#[test]
fn what_is_allocated_is_what_bytes_says() {
    for leaves in SHAPES {
        let tree = Deadlines::new(leaves).expect("the memory is there");
        assert_eq!(size_of_val(&*tree.families), Deadlines::bytes(leaves), "{leaves}");
    }
    assert_eq!(Deadlines::bytes(64), 64 * 8);
    // A leaf stands for 40 slots.
    let per_slot = Deadlines::bytes(250_000) as f64 / (250_000.0 * 40.0);
    assert!(per_slot < 0.21, "{per_slot}");
}

/// A table of words, leaf by leaf: the deadlines of the entries in it.
#[derive(Default)]
struct Model(BTreeMap<u32, Vec<u64>>);

impl Model {
    fn due(&self, now: u64) -> BTreeSet<u32> {
        let is_due = |words: &Vec<u64>| words.iter().any(|due| *due <= now);
        self.0.iter().filter(|(_, words)| is_due(words)).map(|(leaf, _)| *leaf).collect()
    }

    /// Takes what is due out of a leaf; gives the earliest of the rest.
    fn take(&mut self, leaf: u32, now: u64) -> Deadline {
        let words = self.0.entry(leaf).or_default();
        words.retain(|due| *due > now);
        words.iter().min().map_or(NEVER, |due| Deadline(*due))
    }
}

#[test]
fn ten_thousand_random_files_and_raises_agree_with_a_map() {
    for leaves in SHAPES {
        let mut random = fastrand::Rng::with_seed(leaves as u64);
        let (tree, mut model, mut now) =
            (Deadlines::new(leaves).expect("the memory is there"), Model::default(), 0);
        for step in 0..10_000 {
            let leaf = random.u32(0..leaves as u32);
            let due = now + random.u64(0..200);
            model.0.entry(leaf).or_default().push(due);
            tree.file(Leaf(leaf), Deadline(due));
            if random.u8(0..8) > 0 {
                continue;
            }
            now += random.u64(0..20);
            let expected = model.due(now);
            let mut found = BTreeSet::new();
            while let Some(raise) = tree.next_due(Tick(now), random.usize(..)) {
                let leaf = raise.leaf().0;
                if random.u8(0..4) == 0 {
                    // Somebody files while the leaf is looked at.
                    let due = now + random.u64(1..50);
                    model.0.entry(leaf).or_default().push(due);
                    tree.file(Leaf(leaf), Deadline(due));
                    assert!(!tree.finish(raise, NEVER));
                    continue;
                }
                assert!(found.insert(leaf), "{leaf} was due twice");
                assert!(tree.finish(raise, model.take(leaf, now)));
            }
            assert_eq!(found, expected, "{leaves} leaves, step {step}");
            assert!(!tree.is_due(Tick(now)));
        }
        tree.validate(leaves);
    }
}
