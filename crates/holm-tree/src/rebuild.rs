//! After a crash, and at every open: recover each leaf, then derive all that is volatile from what the leaves say.
//!
//! One pass over the leaf area brings every block to the cut and says what it is; a second reads each leaf's ends and
//! marks the records it reaches; the rest is sorting and a bulk load. Both passes run on all cores.
//!
//! What does not depend on the design lies in files of its own, so that it is compiled once for all of them: `found`
//! puts the leaves into order and finds their ranges, `parallel` runs a pass on all cores. What the death of a process
//! left is held against the log in `kept`.

mod found;
mod kept;
mod parallel;

use crate::design::{BerthOf, Design};
use crate::forest::Forest;
use crate::index::{Rebuilt, Root};
use crate::inner::Inner;
use crate::keys::Keys;
use crate::leaf::{Cut, Fate, Leaf, Lens, Pairs, damaged};
use crate::load::Placed;
use crate::reach::Reach;
use crate::restore::{Levels, Restorer};
use found::{Found, Place};
use holm_medium::{Area, Epoch, Logged, Medium, Pen, Result};
use kept::{Changes, Kept};
use parallel::parallel;
use std::collections::BTreeSet;
use std::sync::Mutex;

pub(crate) fn rebuild<M: Medium, D: Design, K: Keys>(
    forest: &Forest<M, D, K>,
    cut: Cut,
    epoch: Epoch,
    threads: usize,
    logged: Option<&Logged>,
    ready: &mut dyn FnMut() -> Result<()>,
) -> Result<Rebuilt> {
    let pool = forest.quill.pool();
    let blocks = (pool.medium.image().area(Area::Leaves).len() / size_of::<D::Leaf>()) as u32;
    let restorer = Restorer { forest, epoch, blocks };
    let (blocks_found, latest, after) = recover_all(&restorer, cut, threads, logged)?;
    let mut live = leaves_of(&restorer, blocks_found)?;
    let linked = D::Leaf::CARD.linked;
    let planted: BTreeSet<_> = live.iter().filter(|live| !linked || live.2).map(|live| live.1).collect();
    let mut levels = restorer.find(|keyspace| planted.contains(&keyspace))?;
    if linked {
        live = chains(forest, &live, epoch)?;
    } else if !D::Leaf::CARD.defers || D::Leaf::BLOCKS > 1 {
        live = normalise_all(forest, &live, &levels, epoch, threads)?;
    }
    // The chains' order is theirs; for the rest any order does, and ascending numbers read the file from front to back.
    let reach = Reach::new(pool.medium.image().area(Area::Records).len() as u64);
    let mut found = parallel(threads, &live, &|part| look_at(forest, part, epoch, &reach))?;
    found::sort(&mut found);
    if !linked && !D::Leaf::CARD.defers {
        divide(forest, &mut found, epoch, &reach)?;
    }
    let in_leaves = live.iter().flat_map(|live| forest.blocks_of(live.0));
    let in_use: Vec<_> = in_leaves.chain(levels.blocks().filter(|number| *number < blocks)).collect();
    let first = pool.space.first_block();
    let (frontier, free) = found::free(first, &in_use);
    let record_bytes = reach.bytes();
    let (record_frontier, runs) = reach.free_runs();
    pool.space.rebuilt(frontier, free, record_frontier, runs, record_bytes);
    let leaves = found.len() as u64;
    let trees: Vec<_> = found.chunk_by(|a, b| a.keyspace == b.keyspace).collect();
    let block = size_of::<D::Leaf>();
    let places = trees.iter().map(|tree| found::place(block, tree)).collect::<Result<Vec<_>>>()?;
    ready()?;
    let mut roots = Vec::new();
    for (tree, places) in trees.iter().zip(places) {
        let (keyspace, pairs) = (tree[0].keyspace, tree.iter().map(|leaf| leaf.pairs as u64).sum());
        if D::Twig::DURABLE {
            roots.push(restorer.raise(&mut levels, keyspace, tree.iter().map(Found::below).collect(), pairs)?);
            continue;
        }
        let leaves = fill_gaps(forest, places, epoch)?;
        let (level, top) = forest.spine.load::<M, K>(&mut forest.quill.cut_at(epoch), keyspace, &leaves);
        roots.push(Root::new(keyspace, level, top, pairs));
    }
    restorer.end_all(levels)?;
    Ok(Rebuilt { roots, latest, leaves, record_bytes, after })
}

/// A leaf's number and keyspace, and whether it is the first one of that.
type Live = (u32, u32, bool);

/// Each block that is not free, and what it is.
type Blocks = Vec<(u32, Fate)>;

/// Brings every block to the cut. Of blocks that the process has left as they are, `logged` vouches for what it can
/// first; the rest is verified afterwards. Tells the blocks, the latest epoch that one carries, and which epochs behind
/// the log's last one blocks were found to have changed in.
fn recover_all<M: Medium, D: Design, K: Keys>(
    restorer: &Restorer<'_, M, D, K>,
    cut: Cut,
    threads: usize,
    logged: Option<&Logged>,
) -> Result<(Blocks, Epoch, Option<(Epoch, Epoch)>)> {
    let Restorer { forest, epoch, blocks } = *restorer;
    let kept = Kept::new(forest, logged);
    let latest = Mutex::new(0);
    let after = Mutex::new(None);
    let numbers: Vec<u32> = (forest.quill.pool().space.first_block()..blocks).collect();
    let live = parallel(threads, &numbers, &|part| {
        let mut live = Vec::new();
        let (mut newest, mut changes) = (0, Changes::default());
        let mut pen = forest.quill.cut_at(epoch);
        let mut look = kept.look();
        for &number in part.iter().filter(|number| restorer.station(**number).is_none()) {
            let (leaf, berth) = forest.block(number)?;
            let peer = |number| forest.leaf(number).filter(|_| number < blocks);
            changes.join(leaf.changes_after(epoch - 1));
            // Before anything of it changes.
            look.at(number, leaf, &berth.beside)?;
            let fate = leaf.recover(number, &berth.beside, &mut pen, cut, &peer)?;
            // Of this block alone: the one behind it may not be at the cut yet.
            newest = newest.max(leaf.stamp(&berth.beside, Lens { image: None, ..forest.lens() }));
            if fate != Fate::Free {
                live.push((number, fate));
            }
        }
        // One fence for all that recovery wrote: until it is durable, a second crash finds the same work to do.
        pen.fence();
        let mut latest = latest.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *latest = newest.max(*latest);
        drop(latest);
        kept.gather(look);
        changes.join(*after.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        *after.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = changes.0;
        Ok(live)
    })?;
    let latest = *latest.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let after = *after.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    kept.finish(after)?;
    Ok((live, latest, after))
}

/// The leaves that the blocks are, or are behind of.
fn leaves_of<M: Medium, D: Design, K: Keys>(restorer: &Restorer<'_, M, D, K>, blocks: Blocks) -> Result<Vec<Live>> {
    let (mut live, mut behind) = (Vec::with_capacity(blocks.len()), Vec::new());
    for (number, fate) in blocks {
        match fate {
            Fate::Live { keyspace, first } => live.push((number, keyspace, first)),
            Fate::Behind { keyspace, leaf } => behind.push((leaf, number, keyspace)),
            Fate::Free => {}
        }
    }
    let live = heads(restorer.forest, live)?;
    if behind.is_empty() { Ok(live) } else { enlist_all(restorer, live, behind) }
}

/// Tells each leaf of the blocks that name it. One whose own block holds nothing is a leaf for being named: given out
/// as free, that block would be somebody else's while others still lead there.
fn enlist_all<M: Medium, D: Design, K: Keys>(
    Restorer { forest, blocks, .. }: &Restorer<'_, M, D, K>,
    mut live: Vec<Live>,
    mut behind: Vec<(u32, u32, u32)>,
) -> Result<Vec<Live>> {
    behind.sort_unstable();
    let mut hollow = Vec::new();
    for part in behind.chunk_by(|a, b| a.0 == b.0) {
        let (number, named_by, keyspace) = part[0];
        if !(forest.quill.pool().space.first_block()..*blocks).contains(&number) {
            let expected = "a block of the image";
            return Err(damaged::<D::Leaf>((named_by, 0), "the leaf of a block", number.to_string(), expected));
        }
        let (leaf, berth) = forest.block(number)?;
        let numbers: Vec<_> = part.iter().map(|block| block.1).collect();
        leaf.enlist(number, &berth.beside, forest.lens(), &numbers)?;
        // `live` is in ascending order of numbers.
        if live.binary_search_by_key(&number, |live| live.0).is_err() {
            hollow.push((number, keyspace, false));
        }
    }
    live.append(&mut hollow);
    live.sort_unstable();
    Ok(live)
}

/// Of leaves of several blocks that lead from one to the next, those blocks that are behind no other.
fn heads<M: Medium, D: Design, K: Keys>(forest: &Forest<M, D, K>, live: Vec<Live>) -> Result<Vec<Live>> {
    if D::Leaf::BLOCKS == 1 {
        return Ok(live);
    }
    let first = forest.quill.pool().space.first_block();
    let mut followed = BTreeSet::new();
    for (number, ..) in &live {
        let (block, berth) = forest.block(*number)?;
        let behind = block.behind(&berth.beside, forest.lens(), 1);
        let exists = behind >= first && forest.leaf(behind).is_some();
        if behind != 0 && !(exists && followed.insert(behind)) {
            let expected = "a block of the image that no other leads to";
            return Err(damaged::<D::Leaf>((*number, 0), "the block behind another", behind.to_string(), expected));
        }
    }
    let heads: Vec<_> = live.iter().copied().filter(|live| !followed.contains(&live.0)).collect();
    // Free ones, on which giving up has only begun, are not among those that live.
    let is_live = |number: &u32| live.binary_search_by_key(number, |live| live.0).is_ok();
    let reached: usize = heads.iter().map(|head| forest.blocks_of(head.0).filter(is_live).count()).sum();
    if reached != live.len() {
        let found = format!("{} of {}", live.len() - reached, live.len());
        return Err(damaged::<D::Leaf>((first, 0), "blocks that no leaf leads to", found, "none"));
    }
    Ok(heads)
}

/// Leaves that reach into their right neighbours, as a split may leave them where a leaf does not name the one that it
/// stems from: each is mended, and looked at again.
fn divide<M: Medium, D: Design, K: Keys>(
    forest: &Forest<M, D, K>,
    found: &mut [Found<K>],
    epoch: Epoch,
    reach: &Reach,
) -> Result<()> {
    let overlapping = found::overlapping(found);
    let mut pen = forest.quill.cut_at(epoch);
    for &index in &overlapping {
        let (left, berth) = forest.block(found[index].number)?;
        left.mend(&berth.beside, forest.lens(), &mut pen, forest.leaf(found[index + 1].number));
    }
    if !overlapping.is_empty() {
        // Before either leaf changes: else a crash finds again what nobody can match any more.
        pen.fence();
    }
    for index in overlapping {
        let Found { number, keyspace, first, .. } = found[index];
        found[index] = look_at(forest, &[(number, keyspace, first)], epoch, reach)?.remove(0);
    }
    Ok(())
}

/// Each leaf by itself, now that nothing which does not count can come back.
fn normalise_all<M: Medium, D: Design, K: Keys>(
    forest: &Forest<M, D, K>,
    live: &[Live],
    levels: &Levels,
    epoch: Epoch,
    threads: usize,
) -> Result<Vec<Live>> {
    parallel(threads, live, &|part| {
        let mut kept = Vec::with_capacity(part.len());
        let mut pen = forest.quill.cut_at(epoch);
        for leaf in part {
            let (block, berth) = forest.block(leaf.0)?;
            if block.normalise(leaf.0, &berth.beside, forest.lens(), &mut pen, levels.place(leaf.0))? {
                kept.push(*leaf);
            }
        }
        // Before the leaves change, and those given up are used again: else a crash finds half of what was done to
        // them, and half of what comes next.
        pen.fence();
        Ok(kept)
    })
}

/// For linked designs: what the chains reach, in their order, each leaf mended against its right neighbour.
fn chains<M: Medium, D: Design, K: Keys>(forest: &Forest<M, D, K>, live: &[Live], epoch: Epoch) -> Result<Vec<Live>> {
    let mut reached = Vec::new();
    let mut pen = forest.quill.cut_at(epoch);
    for &first in live.iter().filter(|live| live.2) {
        chain(forest, live, first, &mut pen, &mut reached)?;
    }
    // Before what was passed over is given out as free, and leaves that were mended change: else a crash keeps a chain
    // that leads into somebody's leaf, or half of a split that nobody can match any more.
    pen.fence();
    Ok(reached)
}

/// One chain. Empty leaves are taken out of it: a tree loaded anew has no place for them, so nobody would ever fill or
/// free them. The first one stays, for all that is known of the chain hangs on it; and all do where nodes are durable.
fn chain<M: Medium, D: Design, K: Keys>(
    forest: &Forest<M, D, K>,
    live: &[Live],
    (first, keyspace, _): Live,
    pen: &mut Pen<'_, M>,
    reached: &mut Vec<Live>,
) -> Result<()> {
    let mut left: Option<(&D::Leaf, &BerthOf<D>)> = None;
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
        let (leaf, berth) = forest.block(at)?;
        let before = std::mem::replace(&mut low, leaf.low(forest.lens()));
        if low.is_some() && before >= low {
            return Err(damaged::<D::Leaf>(
                (at, 0),
                "where a leaf's range starts",
                "no more than where the one before does",
                "more",
            ));
        }
        let next = leaf.next();
        let right = (next != 0).then(|| forest.leaf(next)).flatten();
        leaf.mend(&berth.beside, forest.lens(), pen, right);
        leaf.rederive(&berth.beside, forest.lens());
        pairs.clear();
        leaf.gather(&berth.beside, forest.lens(), &mut pairs);
        if at == first || !pairs.is_empty() || D::Twig::DURABLE {
            if let Some(left) = left.filter(|left| left.0.next() != at) {
                left.0.relink(&left.1.beside, forest.lens(), pen, at);
            }
            reached.push((at, keyspace, at == first));
            left = Some((leaf, berth));
        }
        at = next;
    }
    if let Some(left) = left.filter(|left| left.0.next() != 0) {
        left.0.relink(&left.1.beside, forest.lens(), pen, 0);
    }
    Ok(())
}

/// The ends of each leaf, and every record it reaches.
fn look_at<M: Medium, D: Design, K: Keys>(
    forest: &Forest<M, D, K>,
    part: &[Live],
    epoch: Epoch,
    reach: &Reach,
) -> Result<Vec<Found<K>>> {
    let mut found = Vec::with_capacity(part.len());
    let mut pairs = Pairs::default();
    for (index, &(number, keyspace, first)) in part.iter().enumerate() {
        if let Some(leaf) = part.get(index + 8).and_then(|ahead| forest.leaf(ahead.0)) {
            holm_search::prefetch_lines(leaf);
        }
        let (leaf, berth) = forest.block(number)?;
        leaf.rederive(&berth.beside, forest.lens());
        pairs.clear();
        leaf.gather(&berth.beside, forest.lens(), &mut pairs);
        // Kept beyond the last record of the log: nothing but the leaf itself says what should be there.
        let unlogged = leaf.stamp(&berth.beside, forest.lens()) >= epoch;
        for slot in pairs.iter() {
            if let Some((offset, words)) = K::extent(slot.payload)
                && !reach.mark(offset, words)
            {
                return Err(damaged::<D::Leaf>(
                    (number, 0),
                    "a slot's payload",
                    "a record outside the record area",
                    "one inside",
                ));
            }
            if !forest.keys.sound(keyspace, *slot, leaf.skip()) {
                return Err(damaged::<D::Leaf>(
                    (number, 0),
                    "a slot's record",
                    "a damaged one, or one that has lost writes",
                    "what was written",
                ));
            }
            if unlogged && !forest.keys.heads(*slot, leaf.skip()) {
                return Err(damaged::<D::Leaf>(
                    (number, 0),
                    "a slot's record",
                    "one of another key, or none",
                    "the slot's own",
                ));
            }
        }
        pairs.sort(&forest.keys, forest.spine.search, leaf.skip());
        let ends = match leaf.low(forest.lens()) {
            // Where its range starts is all that is asked of it: between two such leaves only the upper one's will do.
            Some(low) => Some((low.clone(), low)),
            None if !pairs.is_empty() => {
                let ends = forest.keys.ends(&pairs, leaf.skip());
                let (what, found, expected) =
                    ("the record of a leaf's first or last slot", "a damaged one, or none", "the slot's own");
                Some(ends.ok_or_else(|| damaged::<D::Leaf>((number, 0), what, found, expected))?)
            }
            // In the tree wherever it has a chain behind it, else whoever gives up the tree would not meet it.
            _ => (D::Leaf::CARD.linked && first).then(Default::default),
        };
        found.push(Found { number, keyspace, first, skip: leaf.skip(), pairs: pairs.len(), ends });
    }
    Ok(found)
}

/// Makes the empty leaves.
fn fill_gaps<M: Medium, D: Design, K: Keys>(
    forest: &Forest<M, D, K>,
    places: Vec<(K::Fence, Place)>,
    epoch: Epoch,
) -> Result<Vec<Placed<K::Fence>>> {
    let fill = |(low, place)| match place {
        Place::Leaf(number) => Ok((low, number)),
        Place::Gap(home) => forest.fresh_leaf(epoch, home).map(|number| (low, number)),
    };
    places.into_iter().map(fill).collect()
}
