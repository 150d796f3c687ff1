//! After a crash, and at every open: recover each leaf, then derive all that is volatile from what the leaves say.
//!
//! One pass over the leaf area brings every block to the cut and says what it is; a second reads each leaf's ends and
//! marks the records it reaches; the rest is sorting and a bulk load. Both passes run on all cores.
//!
//! A leaf whose heads leave out `skip` bytes has promised that its whole range shares them. The separators chosen here
//! are not those of before the crash, so they are chosen to keep that promise, and where two neighbours' promises
//! leave a gap between them, an empty leaf is put into it.

use crate::design::{BerthOf, Design};
use crate::forest::Forest;
use crate::index::{Rebuilt, Root};
use crate::inner::Inner;
use crate::keys::Keys;
use crate::leaf::{Cut, Fate, Home, Leaf, Pairs, damaged};
use crate::load::Placed;
use crate::reach::Reach;
use crate::restore::{Below, Levels, Restorer};
use holm_medium::{Area, Epoch, Medium, Pen, Result};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;

/// A leaf in use, with the ends of what it holds.
struct Found<K: Keys> {
    number: u32,
    keyspace: u32,
    first: bool,
    skip: usize,
    pairs: usize,
    /// Of the range, where the leaf itself says that it starts there.
    ends: Option<(K::Fence, K::Fence)>,
}

/// What is to be where a range starts.
enum Place {
    Leaf(u32),
    /// An empty leaf, still to be made.
    Gap(Home),
}

pub(crate) fn rebuild<M: Medium, D: Design, K: Keys>(
    forest: &Forest<M, D, K>,
    cut: Cut,
    epoch: Epoch,
    threads: usize,
    ready: &mut dyn FnMut() -> Result<()>,
) -> Result<Rebuilt> {
    let pool = forest.quill.pool();
    let blocks = (pool.medium.image().area(Area::Leaves).len() / size_of::<D::Leaf>()) as u32;
    let restorer = Restorer { forest, epoch, blocks };
    let (live, latest) = recover_all(&restorer, cut, threads)?;
    let mut live = heads(forest, live)?;
    let linked = D::Leaf::CARD.linked;
    let planted: BTreeSet<_> = live.iter().filter(|live| !linked || live.2).map(|live| live.1).collect();
    let mut levels = restorer.find(|keyspace| planted.contains(&keyspace))?;
    if linked {
        live = chains(forest, &live, epoch)?;
    } else if !D::Leaf::CARD.defers {
        live = normalise_all(forest, &live, &levels, epoch, threads)?;
    }
    // The chains' order is theirs; for the rest any order does, and ascending numbers read the file from front to back.
    let reach = Reach::new(pool.medium.image().area(Area::Records).len() as u64);
    let mut found = parallel(threads, &live, |part| look_at(forest, part, epoch, &reach))?;
    found.sort_unstable_by(|a, b| (a.keyspace, &a.ends).cmp(&(b.keyspace, &b.ends)));
    if !linked && !D::Leaf::CARD.defers {
        divide(forest, &mut found, epoch, &reach)?;
    }
    let in_leaves = live.iter().flat_map(|live| forest.blocks_of(live.0));
    let in_use: Vec<_> = in_leaves.chain(levels.blocks().filter(|number| *number < blocks)).collect();
    let first = pool.space.first_block();
    let frontier = in_use.iter().max().map_or(first, |last| last + 1);
    let mut used = vec![false; frontier as usize];
    in_use.iter().for_each(|number| used[*number as usize] = true);
    let free = (first..frontier).rev().filter(|number| !used[*number as usize]).collect();
    let record_bytes = reach.bytes();
    let (record_frontier, runs) = reach.free_runs();
    pool.space.rebuilt(frontier, free, record_frontier, runs, record_bytes);
    let leaves = found.len() as u64;
    let trees: Vec<_> = found.chunk_by(|a, b| a.keyspace == b.keyspace).collect();
    let places = trees.iter().map(|tree| place::<D, K>(tree)).collect::<Result<Vec<_>>>()?;
    ready()?;
    let mut roots = Vec::new();
    for (tree, places) in trees.iter().zip(places) {
        let (keyspace, pairs) = (tree[0].keyspace, tree.iter().map(|leaf| leaf.pairs as u64).sum());
        if D::Twig::DURABLE {
            roots.push(restorer.raise(&mut levels, keyspace, tree.iter().map(below).collect(), pairs)?);
            continue;
        }
        let leaves = fill_gaps(forest, places, epoch)?;
        let (level, top) = forest.spine.load::<M, K>(&mut forest.quill.cut_at(epoch), keyspace, &leaves);
        roots.push(Root::new(keyspace, level, top, pairs));
    }
    restorer.end_all(levels)?;
    Ok(Rebuilt { roots, latest, leaves, record_bytes })
}

/// A leaf as durable nodes see it: keys whole.
fn below<K: Keys>(leaf: &Found<K>) -> Below {
    let word = |fence: &K::Fence| K::head(K::probe(fence), 0);
    Below { number: leaf.number, ends: leaf.ends.as_ref().map(|(low, high)| (word(low), word(high))) }
}

/// Runs `work` over equal parts of a list and joins what they give, in order.
fn parallel<T: Sync, R: Send>(
    threads: usize,
    all: &[T],
    work: impl Fn(&[T]) -> Result<Vec<R>> + Sync,
) -> Result<Vec<R>> {
    let part = all.len().div_ceil(threads.max(1)).max(1024);
    if part >= all.len() {
        // A small forest is recovered sooner than a thread is made.
        return work(all);
    }
    let mut joined = Vec::with_capacity(all.len());
    thread::scope(|scope| {
        let work = &work;
        let begin = |part| (thread::Builder::new().spawn_scoped(scope, move || work(part)).ok(), part);
        let parts: Vec<_> = all.chunks(part).map(begin).collect();
        for (begun, part) in parts {
            match begun.map(thread::ScopedJoinHandle::join) {
                Some(Ok(done)) => joined.extend(done?),
                Some(Err(panic)) => std::panic::resume_unwind(panic),
                // Threads are rationed: then this one does it.
                None => joined.extend(work(part)?),
            }
        }
        Ok(joined)
    })
}

type Live = (u32, u32, bool);

fn recover_all<M: Medium, D: Design, K: Keys>(
    restorer: &Restorer<'_, M, D, K>,
    cut: Cut,
    threads: usize,
) -> Result<(Vec<Live>, Epoch)> {
    let Restorer { forest, epoch, blocks } = *restorer;
    let latest = Mutex::new(0);
    let numbers: Vec<u32> = (forest.quill.pool().space.first_block()..blocks).collect();
    let live = parallel(threads, &numbers, |part| {
        let mut live = Vec::new();
        let mut newest = 0;
        let mut pen = forest.quill.cut_at(epoch);
        for &number in part.iter().filter(|number| restorer.station(**number).is_none()) {
            let (leaf, berth) = forest.block(number)?;
            let peer = |number| forest.leaf(number).filter(|_| number < blocks);
            let fate = leaf.recover(number, &berth.beside, &mut pen, cut, &peer)?;
            newest = newest.max(leaf.stamp());
            if let Fate::Live { keyspace, first } = fate {
                live.push((number, keyspace, first));
            }
        }
        // One fence for all that recovery wrote: until it is durable, a second crash finds the same work to do.
        pen.fence();
        let mut latest = latest.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *latest = newest.max(*latest);
        Ok(live)
    })?;
    let latest = *latest.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    Ok((live, latest))
}

/// Of leaves of several blocks, those blocks that are behind no other.
fn heads<M: Medium, D: Design, K: Keys>(forest: &Forest<M, D, K>, live: Vec<Live>) -> Result<Vec<Live>> {
    if D::Leaf::BLOCKS == 1 {
        return Ok(live);
    }
    let first = forest.quill.pool().space.first_block();
    let mut followed = BTreeSet::new();
    for (number, ..) in &live {
        let behind = forest.leaf(*number).map_or(0, Leaf::behind);
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
    let overlap = |pair: &[Found<K>]| {
        let ends = pair[0].ends.as_ref().zip(pair[1].ends.as_ref());
        pair[0].keyspace == pair[1].keyspace && ends.is_some_and(|(left, right)| left.1 >= right.0)
    };
    let overlapping: Vec<_> = found.windows(2).enumerate().filter(|(_, pair)| overlap(pair)).map(|it| it.0).collect();
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
    parallel(threads, live, |part| {
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
                left.0.relink(&left.1.beside, pen, at);
            }
            reached.push((at, keyspace, at == first));
            left = Some((leaf, berth));
        }
        at = next;
    }
    if let Some(left) = left.filter(|left| left.0.next() != 0) {
        left.0.relink(&left.1.beside, pen, 0);
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
        let unlogged = leaf.stamp() >= epoch;
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

/// Gives every leaf a range that keeps its promise, with empty leaves in the gaps.
fn place<D: Design, K: Keys>(tree: &[Found<K>]) -> Result<Vec<(K::Fence, Place)>> {
    let keyspace = tree[0].keyspace;
    let gap = |low: &K::Fence, high: Option<&K::Fence>| {
        (low.clone(), Place::Gap(Home { keyspace, skip: K::common(low, high) as u8, first: false }))
    };
    let mut placed: Vec<(K::Fence, Place)> = Vec::with_capacity(tree.len());
    let mut last: Option<(&Found<K>, &K::Fence)> = None;
    for leaf in tree {
        let Some((low, high)) = &leaf.ends else { continue };
        match last {
            None if leaf.skip == 0 => placed.push((K::Fence::default(), Place::Leaf(leaf.number))),
            None => {
                let start = K::cut(low, leaf.skip);
                placed.push(gap(&K::Fence::default(), Some(&start)));
                placed.push((start, Place::Leaf(leaf.number)));
            }
            Some((before, end)) => {
                if end >= low {
                    return Err(damaged::<D::Leaf>(
                        (leaf.number, 0),
                        "a leaf",
                        "keys that overlap another leaf's",
                        "a range of its own",
                    ));
                }
                let (limit, start) = between::<K>((end, before.skip), (low, leaf.skip));
                if let Some(limit) = limit {
                    placed.push(gap(&limit, Some(&start)));
                }
                placed.push((start, Place::Leaf(leaf.number)));
            }
        }
        last = Some((leaf, high));
    }
    match last {
        // Nothing but empty leaves: the first of them is the tree.
        None => {
            let number = tree.iter().find(|leaf| leaf.first).unwrap_or(&tree[0]).number;
            placed.push((K::Fence::default(), Place::Leaf(number)));
        }
        Some((leaf, high)) if leaf.skip > 0 => {
            if let Some(limit) = K::beyond(high, leaf.skip) {
                placed.push(gap(&limit, None));
            }
        }
        Some(_) => {}
    }
    Ok(placed)
}

/// Where the right leaf's range starts, and where the left one's must end if that is earlier.
fn between<K: Keys>(left: (&K::Fence, usize), right: (&K::Fence, usize)) -> (Option<K::Fence>, K::Fence) {
    let (end, left_skip) = left;
    let (low, right_skip) = right;
    // The shortest separator, or the right leaf's whole prefix where that is longer: all of its range must share it.
    let shortest = K::separator(end, low).max(K::cut(low, right_skip));
    if K::shares(end, low, left_skip) {
        return (None, shortest);
    }
    match K::beyond(end, left_skip) {
        Some(limit) if limit >= shortest => (None, shortest),
        Some(limit) if K::shares(&limit, low, right_skip) => (None, limit),
        Some(limit) => (Some(limit), K::cut(low, right_skip).max(K::separator(end, low))),
        None => (None, shortest),
    }
}
