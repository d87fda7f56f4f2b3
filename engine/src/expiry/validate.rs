//! Whether a deadline is found, walked while nothing runs.

use super::{Deadlines, Leaf, Shape};
use crate::clock::Deadline;

impl Deadlines {
    /// Whether a look comes to the leaf once `due` has passed: no node on the way says later.
    ///
    /// # Errors
    ///
    /// The node that does, in words.
    pub(crate) fn covers(&self, leaf: Leaf, due: Deadline) -> Result<(), String> {
        for level in 0..=self.shape.levels() {
            let node = self.node(level, Shape::above(leaf.0 as usize, level));
            let earliest = node.ok_or_else(|| format!("{leaf:?} is not there"))?.read().earliest();
            if earliest > due {
                return Err(format!("level {level} above {leaf:?} says {earliest:?}, not {due:?}"));
            }
        }
        Ok(())
    }
}
