//! The passes that move the last leaves forwards, so that the close cuts the file `leaves` behind them.

use super::{Compact, CompactReport, MOST_PASSES};
use crate::error::Result;
use crate::keyspace_tree::KeyspaceTree;
use crate::operation::Operation;
use std::ops::ControlFlow;

/// A pass ends after this number of leaves in a row that could not move.
const MOST_MISSES: u32 = 16;

impl Compact {
    /// Moves the last leaves into free blocks before them, in passes.
    pub(super) fn move_leaves(&mut self, watch: &mut impl FnMut(&CompactReport) -> ControlFlow<()>) -> Result<()> {
        if !self.engine.store.index.capabilities().moves_leaves {
            return Ok(());
        }
        for _ in 0..MOST_PASSES {
            let store = &self.engine.store;
            let Some(limit) = store.storage.space().leaf_compaction_limit(store.clock().durable()) else { break };
            let (before, mut misses) = (self.report.leaves_moved, 0);
            self.report.passes += 1;
            let passed = self.each_leaf(watch, |compact, tree, low, _| {
                compact.copy_keys(tree, low, |_| Vec::new())?;
                let next = compact.cursor.edge.take();
                if compact.cursor.leaf_version.leaf() >= limit {
                    misses = if compact.move_leaf(tree, low, limit)? { 0 } else { misses + 1 };
                }
                // Writers have taken the blocks before the limit.
                Ok(if misses < MOST_MISSES { ControlFlow::Continue(next) } else { ControlFlow::Break(()) })
            })?;
            // What the leaves have left is free then.
            self.pass_epochs()?;
            let is_ended = passed.is_break() && misses < MOST_MISSES;
            if is_ended || self.report.leaves_moved == before {
                break;
            }
        }
        Ok(())
    }

    /// Moves the leaf that has a key, and counts it. Returns whether it has moved. Waits for no durability: no caller
    /// can observe the move.
    fn move_leaf(&mut self, tree: &KeyspaceTree, key: &[u8], limit: u32) -> Result<bool> {
        let store = &self.engine.store;
        let bytes = store.storage.space().block_bytes();
        let mut operation = Operation::begin_with_bytes(store, bytes)?;
        tree.check_not_dropped()?;
        let moved = operation.move_leaf(tree, key, limit)?;
        if moved {
            operation.finish_later();
            self.report.leaves_moved += 1;
            self.report.bytes_moved += bytes;
        }
        Ok(moved)
    }
}
