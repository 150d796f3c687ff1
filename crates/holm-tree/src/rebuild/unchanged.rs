//! Leaves that are as an index of an earlier moment has them: recovery reads their slots, and no key.
//!
//! An index has, for each leaf, the checksum that its block had and the separator at which its range began. A block
//! that still has this checksum, and that no epoch after the index's has changed, has the same pairs. After the death
//! of a process, a block that changed after the last checkpoint is compared with the log, whatever the index says. Of
//! two unchanged leaves that were neighbours, the separator between them still divides their keys: whatever was between
//! them since has changed, or was empty. So they make up a run, and recovery reads the keys of its ends alone, as if
//! the run were one leaf. A leaf that lies between two leaves of a run nevertheless divides it.
//!
//! This holds for each leaf by itself. It is no matter whether the index is that of the last session, of an older one,
//! or of leaves that other threads changed while it was made in key order: see `earlier_index.rs`.

use super::found_leaves::{FoundLeaf, Run};
use super::leaves::{Leaves, LiveLeaf};
use super::parallel::parallel;
use crate::keys::Keys;
use crate::leaf::Pairs;
use holm_medium::{EarlierIndex, Epoch, IndexedTree, Result};
use std::ops::Range;

/// Reads the ends of leaves.
type Collect<'a, K> = dyn Fn(&[LiveLeaf]) -> Result<Vec<FoundLeaf<K>>> + Sync + 'a;

/// An unchanged leaf.
pub struct UnchangedLeaf<'a> {
    /// Where its range began.
    pub(crate) separator: &'a [u8],
    /// Where its range ended; `None` for the last leaf.
    end: Option<&'a [u8]>,
    pub(crate) leaf: LiveLeaf,
    pairs: u32,
    /// Whether the leaf before it was its neighbour.
    follows: bool,
}

/// All unchanged leaves, by tree and in key order.
#[derive(Default)]
pub struct Unchanged<'a> {
    pub(crate) leaves: Vec<UnchangedLeaf<'a>>,
    /// Those of each tree.
    trees: Vec<(u32, Range<usize>)>,
}

/// A pass over the blocks that an index has.
pub(super) struct Pass {
    /// The blocks of the leaf area.
    pub(super) numbers: Range<u32>,
    pub(super) threads: usize,
    /// A leaf that has changed after this epoch counts as changed, whatever the index says.
    pub(super) upto: Epoch,
}

/// Returns the pairs of each leaf of the index that is unchanged, by its position in the index. Of a leaf that is in it
/// more than once, the last position counts: between two, other leaves were in its place. `check` gets the slots, and
/// marks their records.
pub(super) fn find<K: Keys>(
    leaves: &dyn Leaves<K>,
    earlier: &EarlierIndex,
    Pass { numbers, threads, upto }: Pass,
    check: &(dyn Fn(LiveLeaf, usize, &Pairs) -> Result<()> + Sync),
) -> Result<Vec<u32>> {
    let mut pairs_of = vec![0; earlier.trees.iter().map(IndexedTree::len).sum()];
    let indexed = earlier.trees.iter().flat_map(|tree| tree.leaves().map(|(_, leaf)| (tree.keyspace, leaf)));
    // By number: the pass goes front to back, as the file lies.
    let mut expected = vec![None; numbers.end as usize];
    for (position, (keyspace, leaf)) in indexed.enumerate().filter(|(_, (_, leaf))| numbers.contains(&leaf.number)) {
        let live = LiveLeaf { number: leaf.number, keyspace, first: false };
        expected[leaf.number as usize] = Some((live, leaf.sum, position));
    }
    let found = parallel(threads, &expected, &|part| {
        let mut pairs = Pairs::default();
        let mut found = Vec::with_capacity(part.len());
        for &(leaf, sum, position) in part.iter().flatten() {
            if !leaves.is_unchanged(leaf.number, sum, upto) {
                continue;
            }
            let read = leaves.read(leaf.number, &mut pairs)?;
            if !pairs.is_empty() {
                check(leaf, read.skip, &pairs)?;
                found.push((position, pairs.len() as u32));
            }
        }
        Ok(found)
    })?;
    found.into_iter().for_each(|(position, pairs)| pairs_of[position] = pairs);
    Ok(pairs_of)
}

impl<'a> Unchanged<'a> {
    /// Returns the leaves of an index that have pairs, given those of all in its order.
    pub(super) fn new(earlier: &'a EarlierIndex, pairs_of: &[u32]) -> Self {
        let (mut unchanged, mut pairs_of) = (Unchanged::default(), pairs_of.iter().copied());
        for tree in &earlier.trees {
            let (first, mut follows) = (unchanged.leaves.len(), false);
            let ends = tree.leaves().skip(1).map(|(separator, _)| Some(separator)).chain([None]);
            for (((separator, leaf), end), pairs) in tree.leaves().zip(ends).zip(&mut pairs_of) {
                let leaf = LiveLeaf { number: leaf.number, keyspace: tree.keyspace, first: false };
                if pairs > 0 {
                    unchanged.leaves.push(UnchangedLeaf { separator, end, leaf, pairs, follows });
                }
                follows = pairs > 0;
            }
            unchanged.trees.push((tree.keyspace, first..unchanged.leaves.len()));
        }
        unchanged
    }

    /// Returns the runs, each as one leaf with the ends that `collect` reads. `changed` are the other leaves.
    pub(super) fn runs<K: Keys>(
        &mut self,
        changed: &[FoundLeaf<K>],
        threads: usize,
        collect: &Collect<'_, K>,
    ) -> Result<Vec<FoundLeaf<K>>> {
        changed.iter().for_each(|leaf| self.divide(leaf));
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (index, leaf) in self.leaves.iter().enumerate() {
            match runs.last_mut() {
                Some(run) if leaf.follows => run.end = index + 1,
                _ => runs.push(index..index + 1),
            }
        }
        let ends: Vec<_> =
            runs.iter().flat_map(|run| [run.start, run.end - 1]).map(|index| self.leaves[index].leaf).collect();
        let mut ends = parallel(threads, &ends, collect)?.into_iter();
        let mut found = Vec::with_capacity(runs.len());
        for run in runs {
            let (Some(first), Some(last)) = (ends.next(), ends.next()) else { break };
            let ends = first.ends.zip(last.ends).map(|((low, _), (_, high))| (low, high));
            let pairs = self.leaves[run.clone()].iter().map(|leaf| leaf.pairs as usize).sum();
            let rest = Run { behind: run.start + 1..run.end, skip: last.skip };
            found.push(FoundLeaf { ends, pairs, run: Some(rest), ..first });
        }
        Ok(found)
    }

    /// Ends a run where a changed leaf begins. If an unchanged leaf had that place, the changed one lies on one of its
    /// sides: separators may have been chosen anew since, and then keys behind the old one are in the leaf before. Only
    /// the keys tell which side, so the unchanged leaf is a run by itself.
    fn divide<K: Keys>(&mut self, changed: &FoundLeaf<K>) {
        let Some((low, _)) = &changed.ends else { return };
        let Ok(tree) = self.trees.binary_search_by_key(&changed.live.keyspace, |tree| tree.0) else { return };
        let range = self.trees[tree].1.clone();
        let low = K::separator_bytes(low);
        let leaves = &mut self.leaves[range];
        let (before, after) = leaves.split_at_mut(leaves.partition_point(|leaf| leaf.separator <= &low[..]));
        if let Some(leaf) = after.first_mut() {
            leaf.follows = false;
        }
        if let Some(leaf) = before.last_mut().filter(|leaf| leaf.end.is_none_or(|end| &low[..] < end)) {
            leaf.follows = false;
        }
    }
}
