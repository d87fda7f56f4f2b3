//! Where entries fall due: a tree of minima over the table.
//!
//! # The tree
//! ```text
//!                    root                 one word; a look that finds nothing due reads only this
//!           /         |         \
//!       node        node       node       64 children each, in eight cache lines
//!      / | \       / | \       / | \
//!   leaf leaf ..  leaf leaf ..            each stands for some neighbouring slots of the table
//! ```
//! A leaf names a tick before which none of its slots falls due; a node above, one before which
//! none of its children does. There are no records, so nothing has to be allocated, moved or
//! removed: an entry is in the tree by the tick of its leaf.
//!
//! # To file
//! Who has published a slot's word with a new deadline goes from the leaf to the root and lowers
//! each node that does not *cover* the deadline: it covers it if its tick is no later *and* it is
//! not being raised. Mostly all of them do, and filing is one fence and a load for each level.
//! Everybody goes through all levels, also behind another filer who has just lowered the leaf: that
//! one may stall before it gets to the parent, and must not hide what others have filed.
//!
//! A deadline that moves to later needs no filing. A raiser may see the old word or the new one:
//! neither is earlier than what it writes.
//!
//! # To raise
//! A node whose tick has passed is raised in three steps: say so, in the node, leaving its tick;
//! look at all that is below; put the earliest tick found in the place of the old one, if nobody
//! has touched the node since. A filer touches it in any case, even if the tick is early enough
//! already: the raiser may have looked at its slot before. A raise that fails leaves the node due,
//! for the next look. Any number of raisers may be at it, and nobody waits for them.
//!
//! # Nothing is hidden
//! A filer publishes (a word, or a lowered child), passes a fence, and reads the node. A raiser
//! marks the node, passes a fence, and reads what is below. One fence comes first. If it is the
//! filer's, the raiser sees what was published, and raises no further. If it is the raiser's, the
//! filer sees the mark and cancels the raise, or sees the tick that the raise ended with, and
//! lowers that.
//!
//! A raise never lowers a node, even if it sees an earlier deadline: who filed that is on the way.
//! So whoever lowers a node visits its parent next, after a fence.
//!
//! One case is not in this argument. A filer finds a node covered by what *another* filer has just
//! written, and reads the parent without a fence in between. Where stores become visible to all
//! threads at once (x86, 64-bit ARM) the order of the two loads is enough: the parent's raiser sees
//! that node too. The language promises less: there, the raiser may miss it, and the deadline is
//! hidden until the other filer gets to the parent, which is its next step, and lowers that to a
//! tick no later. It is late by a stall of that thread at most; another fence at each level would
//! cost every filer some 5 ns a level.
//!
//! # Progress
//! All of it is lock-free. Raisers of one node share one raise, so they never undo each other: a
//! raise fails only if another ended it or a filer came through, and a filer comes through once for
//! each move of an entry. A look goes down to a leaf that may be due, or raises a node that has
//! nothing due below it. It hands out a leaf each time, so one that its caller cannot raise
//! keeps nobody in a loop here.
//!
//! # What it must never do
//! Decide what is due: that is the slot's word. Allocate after construction. Let a node's tick lie
//! after a deadline that was filed below it.

mod family;
#[cfg(all(test, lease_loom))]
mod loom_tests;
mod node;
mod shape;
#[cfg(all(test, not(lease_loom)))]
mod tests;
#[cfg(all(test, not(lease_loom)))]
mod thread_tests;
#[cfg(feature = "validate")]
mod validate;

use std::io;

use crossbeam_utils::CachePadded;

use self::family::{FAN_OUT, Family};
pub(crate) use self::node::NEVER;
use self::node::{Node, Reading};
use self::shape::Shape;
use crate::clock::{Deadline, Tick};
use crate::sync::{Ordering, fence};

/// Number of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaf(pub(crate) u32);

/// A leaf that may hold something due, whose raise has begun. To drop it does no harm: the leaf
/// stays due, and whoever looks next joins the raise.
#[derive(Debug)]
#[must_use = "the leaf stays due until its raise ends"]
pub(crate) struct Raise {
    leaf: Leaf,
    begun: Reading,
}

impl Raise {
    pub(crate) const fn leaf(&self) -> Leaf {
        self.leaf
    }
}

/// The deadlines of one table.
#[derive(Debug)]
pub(crate) struct Deadlines {
    /// Padded: every filer and every look reads it, and little writes it.
    root: CachePadded<Node>,
    shape: Shape,
    families: Box<[Family]>,
}

impl Deadlines {
    /// A tree in which every leaf says *never*.
    ///
    /// # Errors
    ///
    /// If there is no memory for it.
    pub(crate) fn new(leaves: usize) -> io::Result<Self> {
        let shape = Shape::of(leaves);
        let mut families = Vec::new();
        families.try_reserve_exact(shape.families()).map_err(|_| io::ErrorKind::OutOfMemory)?;
        families.extend((0..shape.families()).map(|_| Family::new()));
        let root = CachePadded::new(Node::new());
        Ok(Self { root, shape, families: families.into_boxed_slice() })
    }

    /// Bytes that [`new`](Self::new) allocates.
    pub(crate) fn bytes(leaves: usize) -> usize {
        Shape::of(leaves).families().saturating_mul(size_of::<Family>())
    }

    /// Makes sure that a look will come to the leaf once `due` has passed. Call it after the slot's
    /// word was published.
    #[inline]
    pub(crate) fn file(&self, leaf: Leaf, due: Deadline) {
        if due >= NEVER {
            return;
        }
        // [D4] `SeqCst`: the word is published before the leaf is read. Pairs with [D3].
        fence(Ordering::SeqCst);
        for level in 0..self.shape.levels() {
            let Some(node) = self.node(level, Shape::above(leaf.0 as usize, level)) else {
                debug_assert!(false, "{leaf:?} is not in this tree");
                return;
            };
            if node.lower(due) {
                // [D5] `SeqCst`: the lowered node is published before its parent is read. Pairs
                // with [D3].
                fence(Ordering::SeqCst);
            }
        }
        self.root.lower(due);
    }

    /// Whether anything may be due.
    pub(crate) fn is_due(&self, now: Tick) -> bool {
        self.root.read().is_due(now)
    }

    /// A leaf whose tick has passed; none only if nothing is due at all. Look at the leaf's slots
    /// *after* this, then [`finish`](Self::finish).
    ///
    /// The look starts about the leaf whose number `hint` is, any number will do: callers that
    /// start apart meet less.
    pub(crate) fn next_due(&self, now: Tick, hint: usize) -> Option<Raise> {
        // Ends: a turn without a leaf has raised a node that had nothing due below it to after
        // `now`, or another thread has moved that node.
        while self.is_due(now) {
            if let Some(raise) = self.descend(now, hint) {
                return Some(raise);
            }
        }
        None
    }

    /// Raises the leaf to the earliest deadline that the caller saw in its slots since
    /// [`next_due`](Self::next_due) gave it; false if somebody filed there meanwhile, or was
    /// faster: then the leaf is left as it is.
    pub(crate) fn finish(&self, raise: Raise, earliest: Deadline) -> bool {
        let leaf = self.node(0, raise.leaf.0 as usize);
        leaf.is_some_and(|leaf| leaf.finish(raise.begun, earliest))
    }

    /// Goes down to a due leaf and begins its raise; or raises the node from which there is no way
    /// on.
    fn descend(&self, now: Tick, hint: usize) -> Option<Raise> {
        let mut number = 0;
        for level in (0..self.shape.levels()).rev() {
            let family = self.family(level, number)?;
            let Some(child) = family.first_due(now, Shape::above(hint, level)) else {
                self.raise(self.node(level + 1, number)?, family, now);
                return None;
            };
            number = number * FAN_OUT + child;
        }
        let begun = self.node(0, number)?.begin(now)?;
        Some(Raise { leaf: Leaf(number as u32), begun })
    }

    /// Raises a node to the earliest tick of its children.
    fn raise(&self, node: &Node, children: &Family, now: Tick) {
        if let Some(begun) = node.begin(now) {
            node.finish(begun, children.earliest());
        }
    }

    /// The children of a node of the level above.
    fn family(&self, level: usize, parent: usize) -> Option<&Family> {
        self.families.get(self.shape.place(level, parent))
    }

    fn node(&self, level: usize, number: usize) -> Option<&Node> {
        if level == self.shape.levels() {
            return Some(&self.root);
        }
        Some(self.family(level, number / FAN_OUT)?.child(number))
    }
}
