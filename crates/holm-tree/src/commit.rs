//! Commits: writes to any number of leaves of any trees of the set that take effect at one instant, if what the caller
//! has read is still so.
//!
//! This is Silo's protocol (Tu and others, SOSP 2013) with the leaf as the granule: latch every leaf that is written,
//! take the label, validate what was read, and only then store. A leaf's version changes with every insert, update and
//! removal, and whenever its range changes. So an unchanged version vouches for the gaps between keys, too, and a scan
//! whose leaves are unchanged has met no phantom.
//!
//! **All or nothing, to every reader**: all written leaves are latched from the first store to the last.
//!
//! **No circle of waiting**: a commit takes its latches in the order of trees and keys. That is one order for all
//! commits. Every other thread that holds a latch tries a second one and does not wait for it.
//!
//! **The label before the reads**: suppose a commit finds a leaf that it has read unchanged, and another one then
//! overwrites it. The other one latches the leaf later and takes its label later still. So labels rise along every
//! dependency between commits, and each recovery point is closed under them.
//!
//! **Nothing fails half-way**: a commit asks for the room in each leaf under its label. If there is too little, it lets
//! go of everything, splits, and starts over. Stores begin only when all writes are sure to fit. A leaf that was read
//! and that the commit itself splits counts as unchanged, so a commit that is alone always succeeds.
//!
//! **Keys that were read need no descent**: a leaf that is latched at the version at which it was read still holds the
//! keys for which it answered. When such a key's turn comes, a commit tries that latch, and descends if it fails. A key
//! that was not read may lie in a leaf that the commit has just latched: the descent leads there, and the key joins it.

use crate::design::Design;
use crate::index::{LeafVersion, SeekTarget, TreeRoot};
use crate::inner::Inner as _;
use crate::keys::Keys;
use crate::latch::{LatchGuard, Version, order_after_label};
use crate::leaf::{BlockByte, Durability as _, Leaf, Merge as _, damaged};
use crate::split::SplitPoint;
use crate::superseded::Superseded;
use crate::tree_set::{DurabilityOf, LatchedLeaf, TreeSet};
use crate::wait::back_off;
use holm_medium::{Guard, Medium, MediumError, Result};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// How often a commit makes room before it takes the tree for damaged; each time, every leaf that lacked room is split.
const MOST_ATTEMPTS: usize = 1 << 10;

/// How many labels a commit loses while it takes its latches before it keeps the epoch from ending. Otherwise a commit
/// that takes longer than an epoch would start over for ever.
const MOST_LOST_LABELS: u32 = 8;

/// The share of a leaf that one part of a long run of new keys fills: six sevenths, so that updates still find slots.
const FILL: (usize, usize) = (6, 7);

/// One write of a commit.
pub struct TreeWrite<'a, K: Keys> {
    /// The tree to write to.
    pub root: &'a TreeRoot,
    /// The key.
    pub search_key: K::SearchKey<'a>,
    /// The payload to put; `None` removes the key.
    pub payload: Option<u64>,
    /// The leaf that answered for the key, if the caller has read it. While that leaf is unchanged, the commit needs no
    /// descent to the key.
    pub seen: Option<LeafVersion>,
}

/// What a commit asks of its caller while all latches are held.
pub trait CommitObserver {
    /// The commit is decided: everything holds, and its first store is next.
    fn before_stores(&mut self, guard: &Guard<'_>);
    /// The last store is done. No latch has been released, so nobody has seen any of the stores.
    fn after_stores(&mut self, guard: &Guard<'_>);
}

/// A set of writes to commit, and what must still be so when they take effect.
pub struct CommitRequest<'r, 'w, K: Keys> {
    /// The leaves on which the writes depend.
    pub reads: &'r [LeafVersion],
    /// The writes, in strictly ascending order of tree and key. Each tree has one root in them.
    pub writes: &'r [TreeWrite<'w, K>],
    /// What happens around the stores.
    pub observer: &'r mut dyn CommitObserver,
}

/// What became of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// All writes took effect. The payloads that they replaced.
    Done(Vec<Superseded>),
    /// Nothing has changed: a leaf is not as it was read.
    Conflict,
}

/// A latched leaf, and the writes that belong to it.
struct Group<'a, D: Design> {
    latched: LatchedLeaf<'a, D>,
    writes: Range<usize>,
}

/// Releases the latches of leaves in which nothing was written.
fn undo<D: Design>(groups: Vec<Group<'_, D>>) {
    groups.into_iter().for_each(|group| group.latched.held.unlock_unchanged());
}

/// A commit cannot go on, because one of its trees is dropped.
impl<M: Medium, D: Design, K: Keys> TreeSet<M, D, K> {
    /// Whether trees of this design can commit writes to several leaves. With a lock array they cannot: the order of
    /// its latches is not that of the keys. This is the one boundary at which other designs are refused.
    const COMMITS: bool = D::CAPABILITIES.commits_leaves;

    /// See [`crate::Index::commit`].
    pub(crate) fn commit_writes(&self, guard: &mut Guard<'_>, request: CommitRequest<'_, '_, K>) -> Result<Committed> {
        let CommitRequest { reads, writes, observer } = request;
        debug_assert!(writes.is_sorted_by(|one, next| Self::precedes(one, next)), "writes ascend by tree and key");
        let mut reads = Cow::Borrowed(reads);
        if !Self::COMMITS {
            return Err(MediumError::Unsupported { what: "a commit of several leaves by this leaf design" });
        }
        let (mut lost_labels, mut _hold) = (0, None);
        for _ in 0..MOST_ATTEMPTS {
            let groups = loop {
                let groups = self.latch_groups(writes)?;
                if guard.valid() {
                    break groups;
                }
                undo(groups);
                lost_labels += 1;
                if lost_labels == MOST_LOST_LABELS {
                    _hold = Some(guard.repin_held()?);
                } else {
                    guard.repin()?;
                }
                writes.iter().try_for_each(|write| write.root.refuse_given_up())?;
            };
            // Not before the label: see the head of this file.
            order_after_label();
            if !self.all_unchanged(&reads, &groups) {
                undo(groups);
                return Ok(Committed::Conflict);
            }
            let is_short = |group: &&Group<'_, D>| self.is_short(guard, group, writes);
            let short: Vec<_> = groups.iter().filter(is_short).map(|group| group.writes.clone()).collect();
            if !short.is_empty() {
                undo(groups);
                // A set: each split looks for the leaf that it takes among thousands that a long transaction has read.
                let mut left: BTreeSet<_> = reads.iter().copied().collect();
                for group in short {
                    self.make_room_for(guard, &writes[group], &mut left)?;
                }
                reads = left.into_iter().collect();
                continue;
            }
            debug_assert!(
                groups.iter().flat_map(|group| group.writes.clone()).eq(0..writes.len()),
                "each write has one latched leaf"
            );
            // The commit takes effect here. What follows does not fail.
            return self.apply(guard, groups, writes, observer).map(Committed::Done);
        }
        Err(damaged::<D::Leaf>(
            BlockByte::first_of(0),
            "a leaf",
            "too full however often it is split",
            "room for a commit",
        ))
    }

    /// Returns whether a commit takes one write before another. Writes to one tree name one root.
    fn precedes(one: &TreeWrite<'_, K>, next: &TreeWrite<'_, K>) -> bool {
        if std::ptr::eq(one.root, next.root) {
            K::precedes(one.search_key, next.search_key)
        } else {
            one.root.keyspace() < next.root.keyspace()
        }
    }

    /// Latches the leaves of all writes, in their order.
    fn latch_groups(&self, writes: &[TreeWrite<'_, K>]) -> Result<Vec<Group<'_, D>>> {
        let mut groups: Vec<Group<'_, D>> = Vec::with_capacity(writes.len().min(16));
        let mut next = 0;
        while next < writes.len() {
            let (latched, end) = match self.take_seen_leaf(&groups, writes, next) {
                Some(taken) => taken,
                None => match self.take_leaf(&groups, writes, next) {
                    Ok(taken) => taken,
                    Err(error) => {
                        undo(groups);
                        return Err(error);
                    }
                },
            };
            match latched {
                Some(latched) => groups.push(Group { latched, writes: next..end }),
                // To the leaf that was latched last.
                None => groups.last_mut().into_iter().for_each(|last| last.writes.end = end),
            }
            next = end;
        }
        Ok(groups)
    }

    /// Latches the leaf of a write without a descent, if its key was read and the leaf is as it was. Waits for nobody.
    /// Returns the leaf, or nothing if the commit has latched it already, and the end of the writes that belong to it.
    fn take_seen_leaf<'a>(
        &'a self,
        groups: &[Group<'a, D>],
        writes: &[TreeWrite<'_, K>],
        next: usize,
    ) -> Option<(Option<LatchedLeaf<'a, D>>, usize)> {
        let seen = writes[next].seen?;
        let end = next + writes[next..].iter().take_while(|write| write.seen == Some(seen)).count();
        let is_own =
            |last: &Group<'_, D>| last.latched.number == seen.leaf && last.latched.held.version() == seen.version;
        if groups.last().is_some_and(is_own) {
            return Some((None, end));
        }
        Some((Some(self.try_take_at(seen)?), end))
    }

    /// Latches the leaf of a write, and waits for its writer. Returns as [`TreeSet::take_seen_leaf`] does.
    fn take_leaf<'a>(
        &'a self,
        groups: &[Group<'a, D>],
        writes: &[TreeWrite<'_, K>],
        next: usize,
    ) -> Result<(Option<LatchedLeaf<'a, D>>, usize)> {
        let first = &writes[next];
        // Where the leaf ends matters only if another write to the same tree follows.
        let is_last = writes.get(next + 1).is_none_or(|write| !std::ptr::eq(write.root, first.root));
        let try_once = || {
            let (at, edge) = if is_last {
                (self.inner.seek::<K>(first.root, first.search_key)?, None)
            } else {
                self.inner.descend::<K>(first.root, &SeekTarget::Holding(first.search_key))?
            };
            // A leaf that the commit holds keeps its range, so the parent needs to be right once.
            if groups.last().is_some_and(|last| last.latched.number == at.leaf) {
                return at.leaf_parent.latch().validate(at.version).then_some((None, edge));
            }
            Some((Some(self.try_take_reached(first.root, &at)?), edge))
        };
        let mut turn = 0;
        let (latched, edge) = loop {
            if let Some(taken) = try_once() {
                break taken;
            }
            first.root.refuse_given_up()?;
            back_off(&mut turn);
        };
        let in_leaf = |write: &&TreeWrite<'_, K>| {
            std::ptr::eq(write.root, first.root) && edge.as_ref().is_none_or(|edge| K::is_below(write.search_key, edge))
        };
        Ok((latched, next + 1 + writes[next + 1..].iter().take_while(in_leaf).count()))
    }

    /// Returns whether a leaf may lack room for its writes under this label.
    fn is_short(&self, guard: &Guard<'_>, group: &Group<'_, D>, writes: &[TreeWrite<'_, K>]) -> bool {
        let LatchedLeaf { leaf, descriptor, .. } = &group.latched;
        let puts = writes[group.writes.clone()].iter().filter(|write| write.payload.is_some()).count();
        puts > 0 && puts > DurabilityOf::<D>::room(leaf, self.context(&descriptor.volatile), guard.epoch())
    }

    /// Makes room for the writes of one leaf, which hold no latch: one split where that is enough, and otherwise a
    /// split after each part of the new keys that a leaf takes. Splits are operations of their own, and change nothing
    /// that a reader can see. Replaces the leaves that it splits in `reads`.
    fn make_room_for(
        &self,
        guard: &mut Guard<'_>,
        writes: &[TreeWrite<'_, K>],
        reads: &mut BTreeSet<LeafVersion>,
    ) -> Result<()> {
        let Some(first) = writes.first() else { return Ok(()) };
        let mut split = |write: &TreeWrite<'_, K>, point: &SplitPoint<'_, K>| {
            let outcome = self.split_at_point(write.root, guard, write.search_key, point)?;
            if let Some((before, after)) = outcome.leaves
                && reads.remove(&before)
            {
                reads.extend(after);
            }
            Ok(())
        };
        if writes.len() <= DurabilityOf::<D>::COMMIT_ROOM {
            return split(first, &SplitPoint::Middle(None));
        }
        let part = (D::Leaf::CAPACITY * FILL.0 / FILL.1).min(writes.len().div_ceil(2)).max(1);
        for at in (part..writes.len()).step_by(part) {
            let [below, above] = [at - 1, at].map(|at| K::to_separator(writes[at].search_key));
            let separator = K::shortest_separator(&below, &above);
            split(&writes[at], &SplitPoint::At(&separator))?;
        }
        Ok(())
    }

    /// Returns whether all leaves that the caller has read are as they were.
    fn all_unchanged(&self, reads: &[LeafVersion], groups: &[Group<'_, D>]) -> bool {
        let mut own: Vec<(u32, Version)> = Vec::new();
        if !reads.is_empty() {
            own.extend(groups.iter().map(|group| (group.latched.number, group.latched.held.version())));
            own.sort_unstable_by_key(|(number, _)| *number);
        }
        reads.iter().all(|read| match own.binary_search_by_key(&read.leaf, |(number, _)| *number) {
            Ok(at) => own[at].1 == read.version,
            // Number 0 is no leaf: a lookup in a dropped tree names it.
            Err(_) => read.leaf != 0 && self.validates(*read),
        })
    }

    /// Stores all writes, and releases the latches.
    fn apply(
        &self,
        guard: &Guard<'_>,
        groups: Vec<Group<'_, D>>,
        writes: &[TreeWrite<'_, K>],
        observer: &mut dyn CommitObserver,
    ) -> Result<Vec<Superseded>> {
        let mut replaced = Vec::with_capacity(writes.len());
        let (mut detached, mut sparse) = (Vec::new(), Vec::new());
        for Group { latched, writes: range } in &groups {
            self.preserve(guard, latched, writes[range.clone()].iter().filter_map(|write| write.payload));
        }
        observer.before_stores(guard);
        for Group { latched: LatchedLeaf { number, leaf, descriptor, .. }, writes: range } in &groups {
            let mut removed = false;
            // The write handle goes before the latch, as in a put.
            let mut handle = self.writer.begin_write(guard);
            for write in &writes[range.clone()] {
                let mut context = self.writing(&descriptor.volatile, &mut handle);
                let old = match write.payload {
                    Some(payload) => leaf.insert(&mut context, write.search_key, payload).map_err(|_| {
                        damaged::<D::Leaf>(
                            BlockByte::first_of(0),
                            "a leaf",
                            "full in the middle of a commit",
                            "the room that it had",
                        )
                    })?,
                    None => leaf.remove(&mut context, write.search_key),
                };
                let change = i64::from(write.payload.is_some()) - i64::from(old.is_some());
                if change != 0 {
                    write.root.pairs.add(change);
                }
                removed |= change < 0;
                replaced.extend(old.map(|old| self.superseded(guard, *number, old)));
                detached.extend(Self::take_detached(leaf, descriptor));
            }
            if removed && leaf.sparse(self.context(&descriptor.volatile)) {
                sparse.push(range.start);
            }
        }
        debug_assert!(replaced.len() <= writes.len(), "a write replaces one payload at most");
        observer.after_stores(guard);
        groups.into_iter().for_each(|group| drop::<LatchGuard<'_>>(group.latched.held));
        self.retire_blocks(guard, detached);
        // Merges are operations of their own: a neighbour may already belong to the next epoch.
        sparse.into_iter().for_each(|at| self.merge(writes[at].root, guard, writes[at].search_key));
        Ok(replaced)
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::keys::Words;
    use crate::{Index as _, designs};
    use holm_medium::{FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps as _};
    use holm_search::Search;
    use std::sync::Arc;

    struct Nothing;

    impl CommitObserver for Nothing {
        fn before_stores(&mut self, _: &Guard<'_>) {}
        fn after_stores(&mut self, _: &Guard<'_>) {}
    }

    /// A tree whose root is latched admits no descent. A commit of keys that were read needs none, as long as their
    /// leaves are unchanged.
    #[test]
    fn keys_that_were_read_are_written_without_a_descent() {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let medium = Mapped::anonymous(options).expect("address space");
        let writer = Arc::new(Storage::open(medium, FIRST_EPOCH).expect("memory"));
        let tree_set = TreeSet::<Mapped, designs::buffered, Words>::new(writer.clone(), Words, Search::detect());
        let pin = || writer.clock().pin().expect("sound");
        let root = tree_set.create_tree(&mut pin(), 7).expect("memory");
        for key in 0..40 {
            tree_set.put(&root, &mut pin(), key, key).expect("memory");
        }
        // To make room takes a descent. Two leaves have room, once the slots of what is removed are free.
        for key in 10..20 {
            tree_set.remove(&root, &mut pin(), key).expect("memory");
        }
        for _ in 0..3 {
            writer.end_epoch().expect("sound");
        }
        let keys = [3, 4, 35];
        let seen = keys.map(|key| tree_set.get(&root, key).leaf_version);
        let commit = |payload: u64| {
            let write = |at: usize| TreeWrite {
                root: &root,
                search_key: keys[at],
                payload: Some(payload),
                seen: Some(seen[at]),
            };
            let request =
                CommitRequest { reads: &seen, writes: &[write(0), write(1), write(2)], observer: &mut Nothing };
            tree_set.commit(&mut pin(), request)
        };
        assert!(seen[0] == seen[1] && seen[1] != seen[2]);
        let held = root.latch.try_lock(root.latch.read().expect("no writer")).expect("unchanged");
        // A commit that descends is then refused, and does not wait for ever.
        root.mark_dropped();
        assert!(matches!(commit(1_000), Ok(Committed::Done(replaced)) if replaced.len() == 3));
        assert!(matches!(commit(2_000), Err(MediumError::Unsupported { .. })), "its leaves have changed");
        held.unlock_unchanged();
        assert_eq!(keys.map(|key| tree_set.get(&root, key).payload), [Some(1_000); 3]);
    }
}
