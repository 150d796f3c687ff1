//! The rebuild at every open, also after a crash: it recovers each leaf, then derives all volatile state from the
//! leaves.
//!
//! The first pass over the leaf area brings every block to the recovery point and finds out what it is. The second pass
//! reads each leaf's least and greatest key, and marks the records that the leaf reaches. The rest is sorting and a
//! bulk load. Both passes run on all cores.
//!
//! The rebuild is compiled once for each kind of keys, not for each design. A design takes part through three trait
//! objects: its blocks by number (`leaves`), the steps that depend on how its leaves are found (`plan`), and its inner
//! levels ([`LevelPlan`]). `found_leaves` orders the leaves and finds their ranges; `chains` follows the links of
//! linked designs; `ranges` orders leaves by where they start; `overflow` attaches blocks to leaves of several;
//! `unchanged` finds leaves that an index describes; `kept` compares what the death of a process left with the log;
//! `parallel` runs a pass on all cores.

mod chains;
pub(crate) mod found_leaves;
mod kept;
mod leaves;
mod overflow;
mod parallel;
pub(crate) mod plan;
pub(crate) mod ranges;
pub(crate) mod unchanged;

use crate::design::{Design, LevelsOf};
use crate::index::{Evidence, Rebuilt};
use crate::keys::{Keys, Slot};
use crate::leaf::{BlockByte, BlockState, Leaf, Pairs, Recovery, RecoveryPoint, damaged_in};
use crate::levels::{LevelPlan, Levels as _, Opening};
use crate::reachable::ReachableRecords;
use crate::sync::Mutex;
use crate::tree_set::TreeSet;
use found_leaves::FoundLeaf;
use holm_medium::{Area, EarlierIndex, Epoch, Medium, MediumError, Result, Space};
use kept::{Changes, Kept};
pub(crate) use leaves::LiveLeaf;
use leaves::{ChangedAfter, Leaves, LeavesOf};
use parallel::parallel;
use plan::Plan;
use std::collections::BTreeSet;
use unchanged::{Pass, Unchanged};

/// What a rebuild is asked for.
pub(crate) struct Request<'a> {
    pub(crate) recovery_point: RecoveryPoint,
    /// The label of what recovery writes; the log ends with the epoch before it.
    pub(crate) epoch: Epoch,
    pub(crate) threads: usize,
    pub(crate) evidence: Evidence<'a>,
}

/// Rebuilds the trees of a tree set. `ready` runs once everything found is verified.
pub(crate) fn rebuild<M: Medium, D: Design, K: Keys>(
    tree_set: &TreeSet<M, D, K>,
    request: &Request<'_>,
    ready: &mut dyn FnMut() -> Result<()>,
) -> Result<Rebuilt> {
    let (storage, epoch) = (tree_set.writer.storage(), request.epoch);
    let blocks = (storage.medium.image().area(Area::Leaves).len() / size_of::<D::Leaf>()) as u32;
    let plan = <D::Leaf as Leaf>::Recovery::plan(tree_set, epoch);
    let mut levels = LevelsOf::<D>::plan(tree_set, Opening { epoch, blocks, leaves_stay: plan.leaves_stay() });
    let leaves = LeavesOf { tree_set, epoch, blocks };
    let space = &storage.space;
    let numbers = space.first_block()..blocks;
    let earlier = request.evidence.earlier.filter(|earlier| {
        // No leaf of the recovered state may be later than the index, or the index later than the state.
        TreeSet::<M, D, K>::INDEXED && earlier.epoch < epoch
    });
    Rebuild { leaves: &leaves, plan: &*plan, space, numbers, earlier, request }
        .run(&mut *levels, ready)
        .map_err(|error| error.within(storage.medium.folder()))
}

/// A rebuild in progress.
struct Rebuild<'a, K: Keys> {
    leaves: &'a dyn Leaves<K>,
    plan: &'a dyn Plan<K>,
    space: &'a Space,
    /// The blocks of the leaf area.
    numbers: std::ops::Range<u32>,
    /// For designs that have one.
    earlier: Option<&'a EarlierIndex>,
    request: &'a Request<'a>,
}

/// What the first pass found.
struct Recovered {
    /// The blocks that are not free, and what each one is.
    blocks: Vec<(u32, BlockState)>,
    /// The latest epoch of any block.
    latest: Epoch,
    /// The epochs after the log's last one in which blocks had changed.
    after: ChangedAfter,
}

impl<K: Keys> Rebuild<'_, K> {
    fn run(&self, levels: &mut dyn LevelPlan<K>, ready: &mut dyn FnMut() -> Result<()>) -> Result<Rebuilt> {
        let threads = self.request.threads;
        let reachable = ReachableRecords::new(self.leaves.image().area(Area::Records).len() as u64)?;
        let mut unchanged = self.unchanged(&reachable)?;
        let Recovered { blocks, latest, after } = self.recover_all(levels, &unchanged)?;
        let live = overflow::leaves_of(self.leaves, &self.numbers, blocks)?;
        let with_trees: BTreeSet<_> =
            live.iter().filter(|leaf| self.plan.makes_tree(leaf)).map(|leaf| leaf.keyspace).collect();
        levels.find(&|keyspace| with_trees.contains(&keyspace))?;
        let live = self.plan.leaves(live, levels, threads)?;
        // Chains keep their own order. For other designs any order works, and ascending numbers read the file front to
        // back.
        let collect = |part: &[LiveLeaf]| self.collect_bounds(part, &reachable);
        let mut found = parallel(threads, &live, &collect)?;
        let runs = unchanged.runs(&found, threads, &collect)?;
        let leaves = (found.len() + unchanged.leaves.len()) as u64;
        found.extend(runs);
        found_leaves::sort(&mut found);
        self.plan.repair_overlaps(&mut found, &|leaf| Ok(self.collect_bounds(&[leaf], &reachable)?.remove(0)))?;
        let mut in_use: Vec<u32> = unchanged.leaves.iter().map(|unchanged| unchanged.leaf.number).collect();
        live.iter().for_each(|leaf| self.leaves.each_block(leaf.number, &mut |number| in_use.push(number)));
        in_use.extend(levels.blocks().into_iter().filter(|number| *number < self.numbers.end));
        let (frontier, free) = found_leaves::free(self.numbers.start, &in_use);
        let record_bytes = reachable.bytes();
        let (record_frontier, runs) = reachable.free_runs();
        self.space.rebuilt(frontier, free, record_frontier, runs, record_bytes);
        let trees: Vec<_> = found.chunk_by(|a, b| a.live.keyspace == b.live.keyspace).collect();
        let block = self.leaves.block_bytes();
        let places = trees.iter().map(|tree| found_leaves::place(block, tree)).collect::<Result<Vec<_>>>()?;
        ready()?;
        let built = trees.iter().zip(places).map(|(tree, places)| levels.build(tree, places, &unchanged));
        let roots = built.collect::<Result<Vec<_>>>()?;
        levels.end_all()?;
        let from_index = unchanged.leaves.len() as u64;
        // Each is compared with the index, recovered, or both.
        let blocks_read = self.numbers.len() as u64;
        Ok(Rebuilt { roots, latest, leaves, from_index, blocks_read, record_bytes, after })
    }

    /// Returns the leaves that are as an earlier index has them, and marks the records that they reach.
    fn unchanged(&self, reachable: &ReachableRecords) -> Result<Unchanged<'_>> {
        let Some(earlier) = self.earlier else { return Ok(Unchanged::default()) };
        // Of what the log has, it alone knows what records the leaves led to. These leaves count as changed, although
        // an index that a checkpoint has made since may have them as they are: then they are compared with the log.
        let logged = self.request.evidence.logged;
        let upto = logged.map_or(earlier.epoch, |logged| earlier.epoch.min(logged.since()));
        let pass = Pass { numbers: self.numbers.clone(), threads: self.request.threads, upto };
        let pairs_of =
            unchanged::find(self.leaves, earlier, pass, &|leaf, skip, pairs| self.mark(leaf, pairs, skip, reachable))?;
        Ok(Unchanged::new(earlier, &pairs_of))
    }

    /// Brings every block to the recovery point. After the death of a process, the log vouches for the blocks that it
    /// has, before anything changes; the rest is verified afterwards.
    fn recover_all(&self, levels: &dyn LevelPlan<K>, unchanged: &Unchanged<'_>) -> Result<Recovered> {
        let kept = Kept::new(self.leaves, self.request.evidence.logged);
        let totals = Mutex::new((0, Changes::default()));
        let mut is_unchanged = vec![false; self.numbers.end as usize];
        unchanged.leaves.iter().for_each(|unchanged| is_unchanged[unchanged.leaf.number as usize] = true);
        let numbers: Vec<u32> = self.numbers.clone().filter(|number| !is_unchanged[*number as usize]).collect();
        let blocks = parallel(self.request.threads, &numbers, &|part| {
            let mut changes = Changes::default();
            let mut comparison = kept.comparison();
            let mut blocks = part.iter().copied().filter(|number| !levels.is_node(*number));
            let mut before = |number, changed: ChangedAfter| {
                changes.join(changed);
                // The comparison runs before anything of the block changes.
                comparison.check_block(number, changed.is_some())
            };
            let recovered = self.leaves.recover(&mut blocks, self.request.recovery_point, &mut before)?;
            kept.gather(comparison);
            let mut totals = totals.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            totals.0 = recovered.latest.max(totals.0);
            totals.1.join(changes.0);
            Ok(recovered.blocks)
        })?;
        let (latest, Changes(after)) = totals.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        // No leaf may lead there any more, until what is found is durable.
        self.space.withhold_records(kept.finish(after)?);
        Ok(Recovered { blocks, latest, after })
    }

    /// Collects the bounds of each leaf, and marks every record that the leaf reaches.
    fn collect_bounds(&self, part: &[LiveLeaf], reachable: &ReachableRecords) -> Result<Vec<FoundLeaf<K>>> {
        let (leaves, keys) = (self.leaves, self.leaves.keys());
        let mut found = Vec::with_capacity(part.len());
        let mut pairs = Pairs::default();
        for (index, &live) in part.iter().enumerate() {
            if let Some(ahead) = part.get(index + 8) {
                leaves.prefetch(ahead.number);
            }
            let read = leaves.read(live.number, &mut pairs)?;
            // The leaf changed after the last log entry: only the leaf itself says what should be there.
            let unlogged = read.stamp >= self.request.epoch;
            self.mark(live, &pairs, read.skip, reachable)?;
            // A page of records may have gone back to one in which other keys begin alike. Fingerprints tell most of
            // them apart.
            let may_go_back = self.request.evidence.logged.is_some();
            let is_found = |slot: Slot| !may_go_back || leaves.finds(live.number, slot);
            let is_own = |slot: &Slot| keys.heads(*slot, read.skip) && is_found(*slot);
            if unlogged && !pairs.iter().all(is_own) {
                return Err(self.wrong(live, "a slot's record", "one of another key, or none", "the slot's own"));
            }
            pairs.sort(keys, leaves.search(), read.skip);
            let ends = match self.plan.low(live.number) {
                // Only the lower end matters here: the separator between two such leaves must be the right one's lower
                // end.
                Some(low) => Some((low.clone(), low)),
                None if !pairs.is_empty() => {
                    let what = "the record of a leaf's first or last slot";
                    let ends = keys.ends(&pairs, read.skip);
                    Some(ends.ok_or_else(|| self.wrong(live, what, "a damaged one, or none", "the slot's own"))?)
                }
                None => self.plan.keeps_empty(&live).then(Default::default),
            };
            found.push(FoundLeaf { live, skip: read.skip, pairs: pairs.len(), run: None, ends });
        }
        Ok(found)
    }

    /// Marks the records of a leaf's slots.
    fn mark(&self, live: LiveLeaf, pairs: &Pairs, skip: usize, reachable: &ReachableRecords) -> Result<()> {
        let keys = self.leaves.keys();
        // Records lie anywhere, and so do their bits.
        pairs.iter().filter_map(|slot| K::extent(slot.payload)).for_each(|(offset, _)| reachable.prefetch(offset));
        for slot in pairs.iter() {
            if let Some((offset, words)) = K::extent(slot.payload)
                && !reachable.mark(offset, words)
            {
                return Err(self.wrong(live, "a slot's payload", "a record outside the record area", "one inside"));
            }
            if !keys.sound(live.keyspace, *slot, skip) {
                let found = "a damaged one, or one that has lost writes";
                return Err(self.wrong(live, "a slot's record", found, "what was written"));
            }
        }
        Ok(())
    }

    fn wrong(&self, leaf: LiveLeaf, what: &'static str, found: &str, expected: &str) -> MediumError {
        damaged_in(self.leaves.block_bytes(), BlockByte::first_of(leaf.number), what, found, expected)
    }
}
