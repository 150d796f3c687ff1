//! The states of a list that a crash may leave, and how recovery repairs them.
//!
//! | image | recovery |
//! |---|---|
//! | a link to a free subnode in whose region bits are set | none: the subnode counts, and its tag means nothing |
//! | a link to a free subnode without such bits | the subnode had been released: the link is dropped |
//! | bits in regions of no subnode | the leaf was being released with its keyspace: the bits are cleared |
//! | no bit at all | the leaf is released, its last subnode first |
//! | pairs of a leaf that its right neighbour also has | a split had begun: they belong to the neighbour |
//!
//! The paper's recovery finishes what had begun, for which the head needs free slots. A removal does not guarantee free
//! slots. Here the tag matters only for subnodes to which nothing leads: it prevents recovery from taking them for
//! heads. So nothing needs to be finished.

use super::subnode::{bit, part};
use super::{SsTree, Volatile};
use holm_medium::{Medium, Result};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{BlockByte, BlockState, Leaf, ReadContext, WriteContext, damaged};
use holm_tree::pair::slots;
use std::cmp::Ordering;

impl<const SUBNODES: usize, const COURSE: usize> SsTree<SUBNODES, COURSE> {
    /// Whether the subnode is part of a leaf. A block alone cannot say whether it is the head of one.
    pub(super) fn block_state(&self, own: u32) -> Result<BlockState> {
        if !self.is_sound() {
            let found = format!("{:#x}, {:#x}", self.words[0].read(), self.words[1].read());
            let expected = "a keyspace, a region, the next subnode's number and a bitmap of as many regions";
            return Err(damaged::<Self>(BlockByte::first_of(own), "a subnode's header", found, expected));
        }
        let live = BlockState::Live { keyspace: self.keyspace(), first: false };
        Ok(if self.is_used() { live } else { BlockState::Free })
    }

    /// Repairs the list of which this is the head; returns whether it still is a leaf.
    pub(super) fn repair_list<M: Medium, K: Keys>(
        &self,
        own: u32,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
    ) -> Result<bool> {
        let (context, handle) = context.parts();
        let mut list: Vec<(u32, &Self)> = vec![(own, self)];
        let mut regions = 1u32 << self.region();
        let mut node = self;
        while node.next() != 0 {
            let number = node.next();
            let next = context.block::<Self>(number).filter(|next| regions >> next.region() & 1 == 0);
            let Some(next) = next.filter(|_| list.len() < SUBNODES) else {
                let expected = "at most as many as a leaf may have, each with a region of its own";
                return Err(damaged::<Self>(
                    BlockByte::first_of(own),
                    "a list of subnodes",
                    format!("{regions:#b}, {number}"),
                    expected,
                ));
            };
            if !next.is_used() && part(self.bitmap(), next.region()) == 0 {
                // Before the subnode is reused: the rebuild fences.
                node.end(handle);
                node.flush(handle, 0);
                break;
            }
            regions |= 1 << next.region();
            list.push((number, next));
            node = next;
        }
        let owned = (0..SUBNODES).filter(|region| regions >> region & 1 == 1);
        let mask = owned.fold(0, |mask, region| mask | (bit(region, super::SLOTS) - bit(region, 0)));
        let bitmap = self.bitmap() & mask;
        if bitmap == 0 {
            list.iter().rev().for_each(|(_, node)| node.release(handle));
            return Ok(false);
        }
        if bitmap != self.bitmap() {
            // Before another subnode gets one of those regions: the rebuild fences.
            handle.write(&self.words[1], bitmap);
            self.flush(handle, 0);
        }
        Ok(true)
    }

    /// Removes the pairs that the right neighbour also has. Any other overlap is damage, and the rebuild reports it.
    pub(super) fn cut_off<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Volatile, M, K>, right: &Self) {
        let (context, handle) = context.parts();
        let theirs: Vec<Slot> = right.every(context).map(|(_, slot)| slot).collect();
        let Some(lowest) = theirs.iter().copied().reduce(|a, b| if context.keys.order(a, b).is_le() { a } else { b })
        else {
            return;
        };
        let at_or_above = |slot: Slot| context.keys.order(slot, lowest) != Ordering::Less;
        let shared: Vec<_> = self.every(context).filter(|(_, slot)| at_or_above(*slot)).collect();
        if shared.iter().all(|(_, slot)| theirs.contains(slot)) {
            handle.write(&self.words[1], self.bitmap() & !shared.iter().fold(0, |bits, (bit, _)| bits | bit));
            // The rebuild fences before either leaf changes.
            self.flush(handle, 0);
        }
    }

    /// Every pair that counts, with its bit, according to what is durable.
    fn every<'a, K: Keys>(&'a self, context: ReadContext<'a, Volatile, K>) -> impl Iterator<Item = (u64, Slot)> {
        let nodes = std::iter::once(self).chain(self.followers(context).map(|(_, node)| node));
        nodes.flat_map(|node| {
            let region = node.region();
            slots(part(self.bitmap(), region)).map(move |at| (bit(region, at), node.slot(at)))
        })
    }

    /// Derives what DRAM knows from what is durable.
    pub(super) fn derive<K: Keys>(&self, context: ReadContext<'_, Volatile, K>) {
        let region = self.region();
        for at in slots(part(self.bitmap(), region)) {
            let fingerprint = context.keys.key(self.slot(at)).map_or(0, |key| K::fingerprint(K::search_key(&key)));
            context.volatile.fingerprints.set(at, fingerprint);
        }
        context.volatile.know(self.bitmap(), region, self.next() != 0);
    }
}
