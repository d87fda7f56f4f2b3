//! The children of one node, side by side.
//!
//! The last family of a level may have children that nobody files for: they say *never* for good,
//! so that no look has to know how many there are.

use super::node::{NEVER, Node};
use crate::clock::{Deadline, Tick};

/// Children of a node. 64 fill eight cache lines, which one look fetches together. Two under loom,
/// and four under jitter, so that the smallest trees have levels.
pub(super) const FAN_OUT: usize = if cfg!(lease_loom) {
    2
} else if cfg!(lease_jitter) {
    4
} else {
    64
};

/// The children of one node. Aligned, so that they lie in as few cache lines as they can.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Family([Node; FAN_OUT]);

impl Family {
    pub(super) fn new() -> Self {
        Self(std::array::from_fn(|_| Node::new()))
    }

    /// The child with this number, counted round and round.
    pub(super) fn child(&self, number: usize) -> &Node {
        &self.0[number % FAN_OUT]
    }

    /// The first child that is due; the look starts at one and goes round.
    pub(super) fn first_due(&self, now: Tick, start: usize) -> Option<usize> {
        let round = (0..FAN_OUT).map(|step| (start % FAN_OUT + step) % FAN_OUT);
        round.into_iter().find(|child| self.child(*child).read().is_due(now))
    }

    /// The earliest tick of all children. One that is being raised counts with the tick that it
    /// shows: nothing below it falls due before that.
    pub(super) fn earliest(&self) -> Deadline {
        self.0.iter().map(|child| child.read().earliest()).min().unwrap_or(NEVER)
    }
}
