//! The leaves that the rebuild found, their order, and the ranges that they get.
//!
//! If a leaf's heads leave out `skip` bytes, its whole range must share those bytes. The rebuild chooses new
//! separators, and chooses them so that each leaf's range still does. Where the ranges of two neighbours then leave a
//! gap, an empty leaf fills it.

use super::LiveLeaf;
use crate::keys::Keys;
use crate::leaf::{BlockByte, Home, damaged_in};
use crate::restore::Below;
use holm_medium::Result;
use std::ops::Range;

/// A leaf in use, or a run of neighbours, with the least and the greatest key.
pub struct FoundLeaf<K: Keys> {
    /// Which leaf; the first of a run.
    pub(crate) live: LiveLeaf,
    /// Bytes that heads leave out.
    pub(crate) skip: usize,
    /// The number of all pairs.
    pub(crate) pairs: usize,
    /// The other leaves of a run.
    pub(crate) run: Option<Run>,
    /// If the leaf keeps the lower end of its range, that end twice.
    pub(crate) ends: Option<(K::Separator, K::Separator)>,
}

/// The leaves of a run behind the first one.
pub struct Run {
    /// Which of the unchanged leaves they are.
    pub(super) behind: Range<usize>,
    /// Bytes that the heads of the last one leave out.
    pub(super) skip: usize,
}

/// Where the range of a leaf or of a run starts.
pub struct Placed<S> {
    /// The lower end.
    pub(crate) low: S,
    /// What starts there.
    pub(crate) start: RangeStart,
    /// The unchanged leaves that follow.
    pub(crate) behind: Range<usize>,
}

/// What starts at the lower end of a range.
pub enum RangeStart {
    /// A leaf.
    Leaf(u32),
    /// An empty leaf, yet to be made.
    Gap(Home),
}

impl<K: Keys> FoundLeaf<K> {
    /// Returns the bytes that the heads of the last leaf leave out.
    fn last_skip(&self) -> usize {
        self.run.as_ref().map_or(self.skip, |run| run.skip)
    }

    fn placed_at(&self, low: K::Separator) -> Placed<K::Separator> {
        let behind = self.run.as_ref().map_or(0..0, |run| run.behind.clone());
        Placed { low, start: RangeStart::Leaf(self.live.number), behind }
    }

    /// The leaf as durable nodes see it, with whole keys.
    pub(crate) fn below(&self) -> Below {
        let word = |separator: &K::Separator| K::head(K::search_key(separator), 0);
        Below { number: self.live.number, ends: self.ends.as_ref().map(|(low, high)| (word(low), word(high))) }
    }
}

/// Sorts by tree, then by key.
pub(super) fn sort<K: Keys>(found: &mut [FoundLeaf<K>]) {
    found.sort_unstable_by(|a, b| (a.live.keyspace, &a.ends).cmp(&(b.live.keyspace, &b.ends)));
}

/// Returns the indices of leaves that reach into their right neighbours.
pub(super) fn overlapping<K: Keys>(found: &[FoundLeaf<K>]) -> Vec<usize> {
    let overlap = |pair: &[FoundLeaf<K>]| {
        let ends = pair[0].ends.as_ref().zip(pair[1].ends.as_ref());
        pair[0].live.keyspace == pair[1].live.keyspace && ends.is_some_and(|(left, right)| left.1 >= right.0)
    };
    found.windows(2).enumerate().filter(|(_, pair)| overlap(pair)).map(|it| it.0).collect()
}

/// Returns one more than the last block in use, and the free blocks below it, the last one first.
pub(crate) fn free(first: u32, in_use: &[u32]) -> (u32, Vec<u32>) {
    let frontier = in_use.iter().max().map_or(first, |last| last + 1);
    let mut used = vec![false; frontier as usize];
    in_use.iter().for_each(|number| used[*number as usize] = true);
    (frontier, (first..frontier).rev().filter(|number| !used[*number as usize]).collect())
}

/// Gives every leaf a range whose keys share what the leaf's heads leave out, with empty leaves in the gaps.
pub(super) fn place<K: Keys>(block: usize, tree: &[FoundLeaf<K>]) -> Result<Vec<Placed<K::Separator>>> {
    let keyspace = tree[0].live.keyspace;
    let gap = |low: &K::Separator, high: Option<&K::Separator>| {
        let home = Home { keyspace, skip: K::common(low, high) as u8, first: false };
        Placed { low: low.clone(), start: RangeStart::Gap(home), behind: 0..0 }
    };
    let mut placed = Vec::with_capacity(tree.len());
    let mut last: Option<(&FoundLeaf<K>, &K::Separator)> = None;
    for leaf in tree {
        let Some((low, high)) = &leaf.ends else { continue };
        match last {
            None if leaf.skip == 0 => placed.push(leaf.placed_at(K::Separator::default())),
            None => {
                let start = K::truncate(low, leaf.skip);
                placed.push(gap(&K::Separator::default(), Some(&start)));
                placed.push(leaf.placed_at(start));
            }
            Some((before, end)) => {
                if end >= low {
                    return Err(damaged_in(
                        block,
                        BlockByte::first_of(leaf.live.number),
                        "a leaf",
                        "keys that overlap another leaf's",
                        "a range of its own",
                    ));
                }
                let (limit, start) = between::<K>((end, before.last_skip()), (low, leaf.skip));
                if let Some(limit) = limit {
                    placed.push(gap(&limit, Some(&start)));
                }
                placed.push(leaf.placed_at(start));
            }
        }
        last = Some((leaf, high));
    }
    match last {
        // There are only empty leaves: the first of them is the tree.
        None => {
            let leaf = tree.iter().find(|leaf| leaf.live.first).unwrap_or(&tree[0]);
            placed.push(leaf.placed_at(K::Separator::default()));
        }
        Some((leaf, high)) if leaf.last_skip() > 0 => {
            if let Some(limit) = K::beyond(high, leaf.last_skip()) {
                placed.push(gap(&limit, None));
            }
        }
        Some(_) => {}
    }
    Ok(placed)
}

/// Returns where the right leaf's range starts, and where the left one's must end if that is earlier.
fn between<K: Keys>(
    left: (&K::Separator, usize),
    right: (&K::Separator, usize),
) -> (Option<K::Separator>, K::Separator) {
    let (end, left_skip) = left;
    let (low, right_skip) = right;
    // The shortest separator, or the right leaf's whole prefix if that is longer: all of its range must share the
    // prefix.
    let shortest = K::shortest_separator(end, low).max(K::truncate(low, right_skip));
    if K::shares(end, low, left_skip) {
        return (None, shortest);
    }
    match K::beyond(end, left_skip) {
        Some(limit) if limit >= shortest => (None, shortest),
        Some(limit) if K::shares(&limit, low, right_skip) => (None, limit),
        Some(limit) => (Some(limit), K::truncate(low, right_skip).max(K::shortest_separator(end, low))),
        None => (None, shortest),
    }
}
