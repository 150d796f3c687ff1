//! The pass that lays records together in the order of their keys.
//!
//! It works on a window of leaves. Each leaf gets a run of record space that is as long as its records, so they lie
//! behind each other however the moves of different leaves interleave. A moved record takes another slot of its leaf,
//! and its former slot is free two epochs later. A leaf thus moves a few records in each round over the window, and has
//! its next turn two epochs later: without that, most leaves would be split.

use super::{Compact, CompactReport, To};
use crate::error::Result;
use crate::keyspace_tree::KeyspaceTree;
use crate::record::{self, Place};
use holm_medium::{Epoch, GRACE, RecordRun};
use holm_tree::Slot;
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Words of a page. A longer record shares no page worth mentioning with its neighbours, and does not move.
const PAGE_WORDS: u32 = 512;

/// Leaves of a window: their keys take some megabytes of memory.
const WINDOW: usize = 8192;

/// The most records that a leaf moves in a round. Of 28 slots, 17 are in use on average; two epochs pin as many more.
const MOST_MOVES: usize = 4;

/// A leaf whose records move.
struct MovingLeaf {
    tree: Arc<KeyspaceTree>,
    /// Those that are still to move, in order.
    keys: VecDeque<Vec<u8>>,
    /// How many move in a round.
    moves: usize,
    /// An epoch that is not before that of its last move.
    moved: Epoch,
    run: RecordRun,
}

/// What moves next, and where to.
#[derive(Default)]
struct Plan {
    window: Vec<MovingLeaf>,
    /// Space from which the runs of leaves are cut.
    piece: RecordRun,
    /// The last record of the leaves before, as it was found.
    last: Option<Slot>,
}

impl Compact {
    /// Lays the records of all keyspaces together. Afterwards, what they have left is free.
    pub(super) fn lay_in_key_order(&mut self, watch: &mut impl FnMut(&CompactReport) -> ControlFlow<()>) -> Result<()> {
        self.report.passes = 1;
        let mut plan = Plan::default();
        let laid = self.lay_all(&mut plan, watch);
        let runs = plan.window.into_iter().map(|leaf| leaf.run).chain([plan.piece]);
        runs.for_each(|run| self.engine.store.storage.space().end_run(run));
        laid?;
        self.settle()
    }

    /// The same, and leaves to the caller what is left of record space that it has taken.
    fn lay_all<W: FnMut(&CompactReport) -> ControlFlow<()>>(&mut self, plan: &mut Plan, watch: &mut W) -> Result<()> {
        let passed = self.each_leaf(watch, |compact, tree, low, watch| {
            let next = compact.plan_leaf(tree, low, plan)?;
            let is_full = plan.window.len() == WINDOW;
            let ended = is_full && compact.lay_window(plan, watch)?.is_break();
            Ok(if ended { ControlFlow::Break(()) } else { ControlFlow::Continue(next) })
        })?;
        match passed {
            ControlFlow::Continue(()) => self.lay_window(plan, watch).map(|_| ()),
            ControlFlow::Break(()) => Ok(()),
        }
    }

    /// Adds the leaf at `low` to the window, unless its records lie together. Returns where the next leaf begins.
    fn plan_leaf(&mut self, tree: &Arc<KeyspaceTree>, low: &[u8], plan: &mut Plan) -> Result<Option<Vec<u8>>> {
        let is_small = |slot: &&Slot| record::extent(slot.payload).is_some_and(|(_, words)| words < PAGE_WORDS);
        let before = plan.last;
        let (moving, keys) = self.copy_keys(tree, low, |slots| {
            let small: Vec<_> = slots.iter().filter(is_small).copied().collect();
            // A single record that lies alone would keep a large page of the file in use.
            let single = small.len() == 1 && !before.is_some_and(|last| follows(last, small[0]));
            let lie_together = small.windows(2).all(|pair| follows(pair[0], pair[1]));
            if lie_together && !single { Vec::new() } else { small }
        })?;
        let (store, cursor) = (&self.engine.store, &mut self.cursor);
        plan.last = cursor.pairs.iter().rfind(is_small).copied().or(plan.last);
        if !keys.is_empty() {
            let bytes = moving.iter().map(|slot| Place::of(slot.payload).bytes()).sum();
            let run = store.storage.cut_run(&mut plan.piece, bytes)?;
            let free = store.index.leaf_slots().saturating_sub(cursor.pairs.len());
            let moves = free.clamp(1, MOST_MOVES);
            plan.window.push(MovingLeaf { tree: tree.clone(), keys: keys.into(), moves, moved: 0, run });
        }
        Ok(cursor.edge.take())
    }

    /// Moves the records of a window, and empties it.
    fn lay_window(
        &mut self,
        Plan { window, piece, .. }: &mut Plan,
        watch: &mut impl FnMut(&CompactReport) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>> {
        while !window.is_empty() {
            for leaf in &mut *window {
                if self.engine.store.clock().active() < leaf.moved + GRACE {
                    self.pass_epochs()?;
                }
                self.move_some(leaf, piece)?;
                if self.keep_rate(watch).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            let space = self.engine.store.storage.space();
            window.extract_if(.., |leaf| leaf.keys.is_empty()).for_each(|leaf| space.end_run(leaf.run));
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Moves the next records of a leaf.
    fn move_some(&mut self, leaf: &mut MovingLeaf, piece: &mut RecordRun) -> Result<()> {
        for _ in 0..leaf.moves {
            let Some(key) = leaf.keys.pop_front() else { break };
            let to = &mut To::Into { run: &mut leaf.run, beside: piece };
            if let Err(error) = self.move_record(&leaf.tree, &key, to) {
                self.pass_over(error)?;
                leaf.keys.clear();
            }
        }
        leaf.moved = self.engine.store.clock().active();
        Ok(())
    }
}

/// Returns whether a record lies behind another, in the same page or the next.
fn follows(before: Slot, slot: Slot) -> bool {
    let (before, next) = (Place::of(before.payload), Place::of(slot.payload).location());
    (before.location()..before.location() + before.bytes() + u64::from(PAGE_WORDS) * 8).contains(&next)
}
