//! Designs whose leaves keep where their ranges start: the order of the starts replaces links.

use super::leaves::LiveLeaf;
use super::parallel::parallel;
use super::plan::Plan;
use crate::design::Design;
use crate::keys::Keys;
use crate::leaf::{BlockByte, Leaf, Ranged, damaged};
use crate::levels::LevelPlan;
use crate::tree_set::TreeSet;
use holm_medium::{Epoch, Medium, Result};
use std::collections::BTreeSet;

/// The plan of designs whose leaves keep where their ranges start.
pub struct RangePlan<'a, M: Medium, D: Design, K: Keys> {
    pub(crate) tree_set: &'a TreeSet<M, D, K>,
    pub(crate) epoch: Epoch,
}

/// A live block and where its range starts.
struct Started<S> {
    live: LiveLeaf,
    low: S,
    generation: u32,
}

/// A leaf and where its range ends, if it ends.
struct Bounded<S> {
    live: LiveLeaf,
    high: Option<S>,
}

impl<M: Medium, D: Design<Leaf: Ranged>, K: Keys> RangePlan<'_, M, D, K> {
    /// Returns the blocks in the order of their trees and starts, the latest of each start last.
    fn started(&self, live: &[LiveLeaf]) -> Result<Vec<Started<K::Separator>>> {
        let mut started = Vec::with_capacity(live.len());
        for live in live {
            let (block, descriptor) = self.tree_set.block(live.number)?;
            let low = block.low(self.tree_set.context(&descriptor.volatile)).ok_or_else(|| {
                damaged::<D::Leaf>(BlockByte::first_of(live.number), "where a range starts", "no key", "a key")
            })?;
            started.push(Started { live: *live, low, generation: block.generation() });
        }
        started.sort_unstable_by(|a, b| {
            (a.live.keyspace, &a.low, a.generation).cmp(&(b.live.keyspace, &b.low, b.generation))
        });
        Ok(started)
    }

    /// Makes blocks that no leaf names free, durably.
    fn release(&self, unnamed: impl Iterator<Item = u32>) -> Result<()> {
        let mut handle = self.tree_set.writer.begin_write_at(self.epoch);
        for number in unnamed {
            self.tree_set.block(number)?.0.release(&mut handle);
        }
        Ok(())
    }
}

impl<M: Medium, D: Design<Leaf: Ranged>, K: Keys> Plan<K> for RangePlan<'_, M, D, K> {
    fn leaves(&self, live: Vec<LiveLeaf>, _: &dyn LevelPlan<K>, threads: usize) -> Result<Vec<LiveLeaf>> {
        let started = self.started(&live)?;
        let (mut leaves, mut replaced) = (Vec::with_capacity(started.len()), Vec::new());
        for (index, Started { live, low, generation }) in started.iter().enumerate() {
            let next = started.get(index + 1).filter(|next| next.live.keyspace == live.keyspace);
            match next {
                Some(next) if next.low == *low && next.generation == *generation => {
                    let (found, expected) = ("a second one with the same start and generation", "one");
                    return Err(damaged::<D::Leaf>(BlockByte::first_of(live.number), "a leaf", found, expected));
                }
                Some(next) if next.low == *low => replaced.push(live.number),
                next => leaves.push(Bounded { live: *live, high: next.map(|next| next.low.clone()) }),
            }
        }
        let settled = parallel(threads, &leaves, &|part: &[Bounded<K::Separator>]| {
            for Bounded { live, high } in part {
                let (block, descriptor) = self.tree_set.block(live.number)?;
                let peer = |number| self.tree_set.descriptors.get(number).map(|descriptor| &descriptor.volatile);
                let context = self.tree_set.context(&descriptor.volatile);
                block.settle(live.number, context, high.as_ref(), &peer)?;
            }
            Ok(part.iter().map(|leaf| leaf.live).collect())
        })?;
        let named: BTreeSet<u32> = settled.iter().flat_map(|leaf| self.tree_set.blocks_of(leaf.number)).collect();
        // A crash between a replacement and the release of what it made useless: without this, the block is found as a
        // leaf once its tree is dropped.
        self.release(replaced.into_iter().filter(|number| !named.contains(number)))?;
        Ok(settled)
    }

    fn low(&self, number: u32) -> Option<K::Separator> {
        let (leaf, descriptor) = self.tree_set.leaf(number).zip(self.tree_set.descriptors.get(number))?;
        leaf.low(self.tree_set.context(&descriptor.volatile))
    }
}
