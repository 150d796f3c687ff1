//! The rebuild at every open, also after a crash: it recovers each leaf, then derives all volatile state from the
//! leaves.
//!
//! The first pass over the leaf area brings every block to the recovery point and finds out what it is. The second pass
//! reads each leaf's least and greatest key, and marks the records that the leaf reaches. The rest is sorting and a
//! bulk load. Both passes run on all cores.
//!
//! Code that does not depend on the design lies in separate files, so that it is compiled once for all designs. `found`
//! orders the leaves and finds their ranges; `parallel` runs a pass on all cores. `kept` compares what the death of a
//! process left with the log.

mod found_leaves;
mod kept;
mod parallel;

use crate::design::{DescriptorOf, Design};
use crate::index::{Rebuilt, TreeRoot};
use crate::inner::Inner;
use crate::keys::Keys;
use crate::leaf::{BlockState, Leaf, Pairs, ReadContext, RecoveryPoint, damaged};
use crate::load::Placed;
use crate::reachable::ReachableRecords;
use crate::restore::{Levels, Restorer};
use crate::tree_set::TreeSet;
use found_leaves::{FoundLeaf, Place};
use holm_medium::{Area, Epoch, Logged, Medium, Result, WriteHandle};
use kept::{ChangedAfter, Changes, Kept};
use parallel::parallel;
use std::collections::BTreeSet;
use std::sync::Mutex;

pub(crate) fn rebuild<M: Medium, D: Design, K: Keys>(
    tree_set: &TreeSet<M, D, K>,
    recovery_point: RecoveryPoint,
    epoch: Epoch,
    threads: usize,
    logged: Option<&Logged>,
    ready: &mut dyn FnMut() -> Result<()>,
) -> Result<Rebuilt> {
    let storage = tree_set.writer.storage();
    let blocks = (storage.medium.image().area(Area::Leaves).len() / size_of::<D::Leaf>()) as u32;
    let restorer = Restorer { tree_set, epoch, blocks };
    let (blocks_found, latest, after) = recover_all(&restorer, recovery_point, threads, logged)?;
    let mut live = leaves_of(&restorer, blocks_found)?;
    let linked = D::Leaf::CAPABILITIES.linked;
    let planted: BTreeSet<_> = live.iter().filter(|live| !linked || live.2).map(|live| live.1).collect();
    let mut levels = restorer.find(|keyspace| planted.contains(&keyspace))?;
    if linked {
        live = follow_chains(tree_set, &live, epoch)?;
    } else if !D::Leaf::CAPABILITIES.per_epoch || D::Leaf::BLOCKS > 1 {
        live = scrub_all(tree_set, &live, &levels, epoch, threads)?;
    }
    // Chains keep their own order. For other designs any order works, and ascending numbers read the file front to
    // back.
    let reachable = ReachableRecords::new(storage.medium.image().area(Area::Records).len() as u64);
    let mut found = parallel(threads, &live, &|part| collect_bounds(tree_set, part, epoch, &reachable))?;
    found_leaves::sort(&mut found);
    if !linked && !D::Leaf::CAPABILITIES.per_epoch {
        resolve_overlap(tree_set, &mut found, epoch, &reachable)?;
    }
    let in_leaves = live.iter().flat_map(|live| tree_set.blocks_of(live.0));
    let in_use: Vec<_> = in_leaves.chain(levels.blocks().filter(|number| *number < blocks)).collect();
    let first = storage.space.first_block();
    let (frontier, free) = found_leaves::free(first, &in_use);
    let record_bytes = reachable.bytes();
    let (record_frontier, runs) = reachable.free_runs();
    storage.space.rebuilt(frontier, free, record_frontier, runs, record_bytes);
    let leaves = found.len() as u64;
    let trees: Vec<_> = found.chunk_by(|a, b| a.keyspace == b.keyspace).collect();
    let block = size_of::<D::Leaf>();
    let places = trees.iter().map(|tree| found_leaves::place(block, tree)).collect::<Result<Vec<_>>>()?;
    ready()?;
    let mut roots = Vec::new();
    for (tree, places) in trees.iter().zip(places) {
        let (keyspace, pairs) = (tree[0].keyspace, tree.iter().map(|leaf| leaf.pairs as u64).sum());
        if D::LeafParent::DURABLE {
            roots.push(restorer.build(&mut levels, keyspace, tree.iter().map(FoundLeaf::below).collect(), pairs)?);
            continue;
        }
        let leaves = fill_gaps(tree_set, places, epoch)?;
        let (level, top) = tree_set.inner.load::<M, K>(&mut tree_set.writer.begin_write_at(epoch), keyspace, &leaves);
        roots.push(TreeRoot::new(keyspace, level, top, pairs));
    }
    restorer.end_all(levels)?;
    Ok(Rebuilt { roots, latest, leaves, record_bytes, after })
}

/// A leaf's number and keyspace, and whether it is the keyspace's first leaf.
type Live = (u32, u32, bool);

/// The blocks that are not free, and what each one is.
type Blocks = Vec<(u32, BlockState)>;

/// Brings every block to the recovery point. After the death of a process, `logged` vouches for the blocks that it has,
/// before anything changes; the rest is verified afterwards. Returns the blocks, the latest epoch of any block, and the
/// epochs after the log's last one in which blocks had changed.
fn recover_all<M: Medium, D: Design, K: Keys>(
    restorer: &Restorer<'_, M, D, K>,
    recovery_point: RecoveryPoint,
    threads: usize,
    logged: Option<&Logged>,
) -> Result<(Blocks, Epoch, ChangedAfter)> {
    let Restorer { tree_set, epoch, blocks } = *restorer;
    let kept = Kept::new(tree_set, logged);
    let totals = Mutex::new((0, Changes::default()));
    let numbers: Vec<u32> = (tree_set.writer.storage().space.first_block()..blocks).collect();
    let live = parallel(threads, &numbers, &|part| {
        let mut live = Vec::new();
        let (mut newest, mut changes) = (0, Changes::default());
        let mut handle = tree_set.writer.begin_write_at(epoch);
        let mut look = kept.look();
        for &number in part.iter().filter(|number| restorer.node_header(**number).is_none()) {
            let (leaf, descriptor) = tree_set.block(number)?;
            let peer = |number| tree_set.leaf(number).filter(|_| number < blocks);
            // The log ends with the epoch before this one.
            let changed = leaf.changes_after(epoch - 1);
            changes.join(changed);
            // The comparison runs before anything of the block changes.
            look.at(number, leaf, &descriptor.volatile, changed.is_some())?;
            let block_state = leaf.recover(number, &descriptor.volatile, &mut handle, recovery_point, &peer)?;
            // Only this block is read: its overflow block may not be at the recovery point yet.
            newest = newest.max(leaf.stamp(&descriptor.volatile, ReadContext { image: None, ..tree_set.context() }));
            if block_state != BlockState::Free {
                live.push((number, block_state));
            }
        }
        // One fence for all that recovery wrote. It defends against a second crash: until the fence, that crash finds
        // the same work to do.
        handle.fence();
        kept.gather(look);
        let mut totals = totals.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        totals.0 = newest.max(totals.0);
        totals.1.join(changes.0);
        Ok(live)
    })?;
    let (latest, Changes(after)) = totals.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    kept.finish(after)?;
    Ok((live, latest, after))
}

/// Returns the leaves among the blocks, and the leaves that overflow blocks name.
fn leaves_of<M: Medium, D: Design, K: Keys>(restorer: &Restorer<'_, M, D, K>, blocks: Blocks) -> Result<Vec<Live>> {
    let (mut live, mut overflow_numbers) = (Vec::with_capacity(blocks.len()), Vec::new());
    for (number, block_state) in blocks {
        match block_state {
            BlockState::Live { keyspace, first } => live.push((number, keyspace, first)),
            BlockState::Overflow { keyspace, leaf } => overflow_numbers.push((leaf, number, keyspace)),
            BlockState::Free => {}
        }
    }
    let live = heads(restorer.tree_set, live)?;
    if overflow_numbers.is_empty() { Ok(live) } else { attach_overflow_blocks(restorer, live, overflow_numbers) }
}

/// Attaches the overflow blocks to the leaves that they name. A leaf whose own block is empty is a leaf because it is
/// named. If its block were given out as free, another leaf would use it while overflow blocks still name it.
fn attach_overflow_blocks<M: Medium, D: Design, K: Keys>(
    Restorer { tree_set, blocks, .. }: &Restorer<'_, M, D, K>,
    mut live: Vec<Live>,
    mut overflow_numbers: Vec<(u32, u32, u32)>,
) -> Result<Vec<Live>> {
    overflow_numbers.sort_unstable();
    let mut hollow = Vec::new();
    for part in overflow_numbers.chunk_by(|a, b| a.0 == b.0) {
        let (number, named_by, keyspace) = part[0];
        if !(tree_set.writer.storage().space.first_block()..*blocks).contains(&number) {
            let expected = "a block of the image";
            return Err(damaged::<D::Leaf>((named_by, 0), "the leaf of a block", number.to_string(), expected));
        }
        let (leaf, descriptor) = tree_set.block(number)?;
        let numbers: Vec<_> = part.iter().map(|block| block.1).collect();
        leaf.attach_overflow(number, &descriptor.volatile, tree_set.context(), &numbers)?;
        // `live` is in ascending order of numbers.
        if live.binary_search_by_key(&number, |live| live.0).is_err() {
            hollow.push((number, keyspace, false));
        }
    }
    live.append(&mut hollow);
    live.sort_unstable();
    Ok(live)
}

/// For leaves of several blocks that lead from one to the next: returns the blocks that are not overflow blocks.
fn heads<M: Medium, D: Design, K: Keys>(tree_set: &TreeSet<M, D, K>, live: Vec<Live>) -> Result<Vec<Live>> {
    if D::Leaf::BLOCKS == 1 {
        return Ok(live);
    }
    let first = tree_set.writer.storage().space.first_block();
    let mut followed = BTreeSet::new();
    for (number, ..) in &live {
        let (block, descriptor) = tree_set.block(*number)?;
        let overflow_block = block.overflow_block(&descriptor.volatile, tree_set.context(), 1);
        let exists = overflow_block >= first && tree_set.leaf(overflow_block).is_some();
        if overflow_block != 0 && !(exists && followed.insert(overflow_block)) {
            let expected = "a block of the image that no other leads to";
            return Err(damaged::<D::Leaf>(
                (*number, 0),
                "the block behind another",
                overflow_block.to_string(),
                expected,
            ));
        }
    }
    let heads: Vec<_> = live.iter().copied().filter(|live| !followed.contains(&live.0)).collect();
    // Free blocks, which a release had only begun with, are not live.
    let is_live = |number: &u32| live.binary_search_by_key(number, |live| live.0).is_ok();
    let reached: usize = heads.iter().map(|head| tree_set.blocks_of(head.0).filter(is_live).count()).sum();
    if reached != live.len() {
        let found = format!("{} of {}", live.len() - reached, live.len());
        return Err(damaged::<D::Leaf>((first, 0), "blocks that no leaf leads to", found, "none"));
    }
    Ok(heads)
}

/// Repairs leaves that reach into their right neighbours, and collects their bounds again. A split may leave them so,
/// in designs where a leaf does not name its origin.
fn resolve_overlap<M: Medium, D: Design, K: Keys>(
    tree_set: &TreeSet<M, D, K>,
    found: &mut [FoundLeaf<K>],
    epoch: Epoch,
    reachable: &ReachableRecords,
) -> Result<()> {
    let overlapping = found_leaves::overlapping(found);
    let mut handle = tree_set.writer.begin_write_at(epoch);
    for &index in &overlapping {
        let (left, descriptor) = tree_set.block(found[index].number)?;
        left.repair_link(&descriptor.volatile, tree_set.context(), &mut handle, tree_set.leaf(found[index + 1].number));
    }
    if !overlapping.is_empty() {
        // The fence precedes any change of either leaf. Without it, a crash finds the overlap again after one of the
        // two leaves has changed, and no recovery can match them.
        handle.fence();
    }
    for index in overlapping {
        let FoundLeaf { number, keyspace, first, .. } = found[index];
        found[index] = collect_bounds(tree_set, &[(number, keyspace, first)], epoch, reachable)?.remove(0);
    }
    Ok(())
}

/// Scrubs each leaf by itself. Uncommitted data can no longer come back by then.
fn scrub_all<M: Medium, D: Design, K: Keys>(
    tree_set: &TreeSet<M, D, K>,
    live: &[Live],
    levels: &Levels,
    epoch: Epoch,
    threads: usize,
) -> Result<Vec<Live>> {
    parallel(threads, live, &|part| {
        let mut kept = Vec::with_capacity(part.len());
        let mut handle = tree_set.writer.begin_write_at(epoch);
        for leaf in part {
            let (block, descriptor) = tree_set.block(leaf.0)?;
            if block.scrub_leaf(leaf.0, &descriptor.volatile, tree_set.context(), &mut handle, levels.place(leaf.0))? {
                kept.push(*leaf);
            }
        }
        // The fence precedes changes of the leaves and reuse of released ones. Without it, a crash finds a part of the
        // scrubbing together with a part of what follows.
        handle.fence();
        Ok(kept)
    })
}

/// For linked designs: returns the leaves of the chains, in chain order, each repaired against its right neighbour.
fn follow_chains<M: Medium, D: Design, K: Keys>(
    tree_set: &TreeSet<M, D, K>,
    live: &[Live],
    epoch: Epoch,
) -> Result<Vec<Live>> {
    let mut reached = Vec::new();
    let mut handle = tree_set.writer.begin_write_at(epoch);
    for &first in live.iter().filter(|live| live.2) {
        chain(tree_set, live, first, &mut handle, &mut reached)?;
    }
    // The fence precedes reuse of leaves that were passed over, and changes of repaired leaves. Without it, a crash
    // keeps a chain that leads into a reused block, or half of a split that no recovery can match.
    handle.fence();
    Ok(reached)
}

/// Follows one chain and takes empty leaves out of it: a bulk-loaded tree has no place for them, so no operation would
/// ever fill or free them. The first leaf stays, because the chain is found through it. Where nodes are durable, all
/// leaves stay.
fn chain<M: Medium, D: Design, K: Keys>(
    tree_set: &TreeSet<M, D, K>,
    live: &[Live],
    (first, keyspace, _): Live,
    handle: &mut WriteHandle<'_, M>,
    reached: &mut Vec<Live>,
) -> Result<()> {
    let mut left: Option<(&D::Leaf, &DescriptorOf<D>)> = None;
    let mut pairs = Pairs::default();
    let (mut at, mut low) = (first, None);
    let mut steps = 0;
    while at != 0 {
        steps += 1;
        if steps > live.len() {
            return Err(damaged::<D::Leaf>((at, 0), "the chain of leaves", "a circle", "an end"));
        }
        // `live` is in ascending order of numbers.
        let known = live.binary_search_by_key(&at, |live| live.0).is_ok_and(|index| live[index].1 == keyspace);
        if !known {
            return Err(damaged::<D::Leaf>(
                (at, 0),
                "the chain of leaves",
                "a block that is no leaf of the keyspace",
                "one that is",
            ));
        }
        let (leaf, descriptor) = tree_set.block(at)?;
        let before = std::mem::replace(&mut low, leaf.low(tree_set.context()));
        if low.is_some() && before >= low {
            return Err(damaged::<D::Leaf>(
                (at, 0),
                "where a leaf's range starts",
                "no more than where the one before does",
                "more",
            ));
        }
        let next = leaf.next();
        let right = (next != 0).then(|| tree_set.leaf(next)).flatten();
        leaf.repair_link(&descriptor.volatile, tree_set.context(), handle, right);
        leaf.rebuild_volatile(&descriptor.volatile, tree_set.context());
        pairs.clear();
        leaf.leaf_pairs(&descriptor.volatile, tree_set.context(), &mut pairs);
        if at == first || !pairs.is_empty() || D::LeafParent::DURABLE {
            if let Some(left) = left.filter(|left| left.0.next() != at) {
                left.0.relink(&left.1.volatile, tree_set.context(), handle, at);
            }
            reached.push((at, keyspace, at == first));
            left = Some((leaf, descriptor));
        }
        at = next;
    }
    if let Some(left) = left.filter(|left| left.0.next() != 0) {
        left.0.relink(&left.1.volatile, tree_set.context(), handle, 0);
    }
    Ok(())
}

/// Collects the bounds of each leaf, and marks every record that the leaf reaches.
fn collect_bounds<M: Medium, D: Design, K: Keys>(
    tree_set: &TreeSet<M, D, K>,
    part: &[Live],
    epoch: Epoch,
    reachable: &ReachableRecords,
) -> Result<Vec<FoundLeaf<K>>> {
    let mut found = Vec::with_capacity(part.len());
    let mut pairs = Pairs::default();
    for (index, &(number, keyspace, first)) in part.iter().enumerate() {
        if let Some(leaf) = part.get(index + 8).and_then(|ahead| tree_set.leaf(ahead.0)) {
            holm_search::prefetch_lines(leaf);
        }
        let (leaf, descriptor) = tree_set.block(number)?;
        leaf.rebuild_volatile(&descriptor.volatile, tree_set.context());
        pairs.clear();
        leaf.leaf_pairs(&descriptor.volatile, tree_set.context(), &mut pairs);
        // The leaf changed after the last log entry: only the leaf itself says what should be there.
        let unlogged = leaf.stamp(&descriptor.volatile, tree_set.context()) >= epoch;
        for slot in pairs.iter() {
            if let Some((offset, words)) = K::extent(slot.payload)
                && !reachable.mark(offset, words)
            {
                return Err(damaged::<D::Leaf>(
                    (number, 0),
                    "a slot's payload",
                    "a record outside the record area",
                    "one inside",
                ));
            }
            if !tree_set.keys.sound(keyspace, *slot, leaf.skip()) {
                return Err(damaged::<D::Leaf>(
                    (number, 0),
                    "a slot's record",
                    "a damaged one, or one that has lost writes",
                    "what was written",
                ));
            }
            if unlogged && !tree_set.keys.heads(*slot, leaf.skip()) {
                return Err(damaged::<D::Leaf>(
                    (number, 0),
                    "a slot's record",
                    "one of another key, or none",
                    "the slot's own",
                ));
            }
        }
        pairs.sort(&tree_set.keys, tree_set.inner.search, leaf.skip());
        let ends = match leaf.low(tree_set.context()) {
            // Only the lower end matters here: the separator between two such leaves must be the right one's lower end.
            Some(low) => Some((low.clone(), low)),
            None if !pairs.is_empty() => {
                let ends = tree_set.keys.ends(&pairs, leaf.skip());
                let (what, found, expected) =
                    ("the record of a leaf's first or last slot", "a damaged one, or none", "the slot's own");
                Some(ends.ok_or_else(|| damaged::<D::Leaf>((number, 0), what, found, expected))?)
            }
            // The first leaf of a chain is always in the tree; otherwise dropping the tree would miss the chain.
            _ => (D::Leaf::CAPABILITIES.linked && first).then(Default::default),
        };
        found.push(FoundLeaf { number, keyspace, first, skip: leaf.skip(), pairs: pairs.len(), ends });
    }
    Ok(found)
}

/// Makes the empty leaves.
fn fill_gaps<M: Medium, D: Design, K: Keys>(
    tree_set: &TreeSet<M, D, K>,
    places: Vec<(K::Separator, Place)>,
    epoch: Epoch,
) -> Result<Vec<Placed<K::Separator>>> {
    let fill = |(low, place)| match place {
        Place::Leaf(number) => Ok((low, number)),
        Place::Gap(home) => tree_set.fresh_leaf(epoch, home).map(|number| (low, number)),
    };
    places.into_iter().map(fill).collect()
}
