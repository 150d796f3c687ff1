//! What a transaction has read: leaves at their versions, and the values that gets returned.
//!
//! All that a transaction has been told is of one instant, whether it commits or not. After each read every noted leaf
//! is validated. A leaf that has changed is read again: the gets that it answered must have the same values as before.
//! So gets conflict by key. Scans conflict by leaf, about seventeen pairs, because they depend on the gaps, too.

use crate::commit::Dependencies;
use crate::error::{Error, Result};
use crate::keyspace_tree::KeyspaceTree;
use crate::slice::Slice;
use crate::store::Store;
use holm_medium::Epoch;
use holm_tree::LeafVersion;
use std::collections::HashMap;
use std::sync::Arc;

/// How often all that was read is read again before the transaction counts as conflicting.
const MOST_ROUNDS: usize = 8;

/// From this many leaves on, they are found by a map.
const FEW_LEAVES: usize = 16;

/// A leaf that was read.
#[derive(Clone, Copy)]
struct LeafRead {
    version: LeafVersion,
    /// Whether a scan has read it: then any change of it conflicts.
    scanned: bool,
    /// Whether it has changed; what it answered is then read again.
    stale: bool,
}

/// A value that a get returned.
struct Point {
    tree: Arc<KeyspaceTree>,
    key: Box<[u8]>,
    found: Option<Slice>,
    /// The index of its leaf.
    leaf: usize,
}

/// The reads of a transaction.
#[derive(Default)]
pub(super) struct Reads {
    leaves: Vec<LeafRead>,
    points: Vec<Point>,
    /// The index of each leaf by its number, once there are many.
    by_number: HashMap<u32, usize>,
    /// The latest epoch of anything that was read.
    stamp: Epoch,
}

impl Reads {
    /// The epoch that must be durable for what was read to be.
    pub(super) fn stamp(&self) -> Epoch {
        self.stamp
    }

    /// Notes the answer of a get, and makes sure that all that was read stands together.
    pub(super) fn note_point(
        &mut self,
        store: &Store,
        (tree, key, found): (&Arc<KeyspaceTree>, &[u8], Option<Slice>),
        (version, stamp): (LeafVersion, Epoch),
    ) -> Result<()> {
        let leaf = self.enter(version, stamp)?;
        self.points.push(Point { tree: tree.clone(), key: key.into(), found, leaf });
        self.stand_together(store)
    }

    /// Notes a leaf that a scan has copied, as [`Reads::note_point`] does.
    pub(super) fn note_scan(&mut self, store: &Store, version: LeafVersion, stamp: Epoch) -> Result<()> {
        let leaf = self.enter(version, stamp)?;
        self.leaves[leaf].scanned = true;
        self.stand_together(store)
    }

    fn find(&self, number: u32) -> Option<usize> {
        if self.leaves.len() > FEW_LEAVES {
            return self.by_number.get(&number).copied();
        }
        self.leaves.iter().rposition(|read| read.version.leaf() == number)
    }

    /// Returns the index of a leaf at a version. If it was noted at another version, that one becomes stale.
    fn enter(&mut self, version: LeafVersion, stamp: Epoch) -> Result<usize> {
        self.stamp = self.stamp.max(stamp);
        if let Some(at) = self.find(version.leaf()) {
            if self.leaves[at].version == version && !self.leaves[at].stale {
                return Ok(at);
            }
            self.outdate(at)?;
        }
        self.leaves.push(LeafRead { version, scanned: false, stale: false });
        if self.leaves.len() == FEW_LEAVES + 1 {
            self.by_number.extend(self.leaves.iter().enumerate().map(|(at, read)| (read.version.leaf(), at)));
        } else if self.leaves.len() > FEW_LEAVES {
            self.by_number.insert(version.leaf(), self.leaves.len() - 1);
        }
        Ok(self.leaves.len() - 1)
    }

    fn outdate(&mut self, at: usize) -> Result<()> {
        if self.leaves[at].scanned {
            return Err(Error::Conflict);
        }
        self.leaves[at].stale = true;
        Ok(())
    }

    /// Makes sure that there is an instant at which everything was as it was read.
    ///
    /// # Errors
    /// `Conflict`; those of a get.
    fn stand_together(&mut self, store: &Store) -> Result<()> {
        // One leaf stands by itself. It was validated when it was read.
        if self.leaves.len() == 1 {
            return Ok(());
        }
        for _ in 0..MOST_ROUNDS {
            let changed = |read: &LeafRead| !read.stale && !store.index.validate(read.version);
            let changed: Vec<_> = (0..self.leaves.len()).filter(|at| changed(&self.leaves[*at])).collect();
            changed.into_iter().try_for_each(|at| self.outdate(at))?;
            if self.leaves.iter().all(|read| !read.stale) {
                return Ok(());
            }
            self.read_again(store)?;
        }
        Err(Error::Conflict)
    }

    /// Reads once more what stale leaves answered, and forgets these leaves.
    fn read_again(&mut self, store: &Store) -> Result<()> {
        // Reading one point may make another leaf stale, so this takes several turns.
        for _ in 0..=self.points.len() {
            let Some(at) = self.points.iter().position(|point| self.leaves[point.leaf].stale) else { break };
            let Point { tree, key, found, .. } = &self.points[at];
            let before = store.before(tree, key)?;
            if before.value != *found {
                return Err(Error::Conflict);
            }
            self.points[at].leaf = self.enter(before.leaf, before.stamp)?;
        }
        self.compact();
        Ok(())
    }

    /// Forgets the stale leaves to which no point belongs any more.
    fn compact(&mut self) {
        let mut moved = Vec::with_capacity(self.leaves.len());
        let mut kept = Vec::with_capacity(self.leaves.len());
        let in_use: std::collections::HashSet<_> = self.points.iter().map(|point| point.leaf).collect();
        for (at, read) in self.leaves.iter().enumerate() {
            moved.push(kept.len());
            if !read.stale || in_use.contains(&at) {
                kept.push(*read);
            }
        }
        self.points.iter_mut().for_each(|point| point.leaf = moved[point.leaf]);
        self.leaves = kept;
        self.by_number.clear();
        if self.leaves.len() > FEW_LEAVES {
            self.by_number.extend(self.leaves.iter().enumerate().map(|(at, read)| (read.version.leaf(), at)));
        }
    }
}

/// The reads of a transaction that commits.
pub(super) struct CommittedReads<'a> {
    pub(super) reads: &'a mut Reads,
    pub(super) store: &'a Store,
}

impl Dependencies for CommittedReads<'_> {
    fn leaves(&self) -> Vec<LeafVersion> {
        self.reads.leaves.iter().map(|read| read.version).collect()
    }

    fn look_again(&mut self) -> Result<bool> {
        // With one leaf, too: the commit has found that it changed.
        let changed = |read: &LeafRead| !read.stale && !self.store.index.validate(read.version);
        let changed: Vec<_> = (0..self.reads.leaves.len()).filter(|at| changed(&self.reads.leaves[*at])).collect();
        let together = changed
            .into_iter()
            .try_for_each(|at| self.reads.outdate(at))
            .and_then(|()| self.reads.read_again(self.store))
            .and_then(|()| self.reads.stand_together(self.store));
        match together {
            Ok(()) => Ok(true),
            Err(Error::Conflict) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
