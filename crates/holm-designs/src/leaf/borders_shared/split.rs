//! How a leaf without a free slot gets one: another block, which has the old ones as its bases.

use super::{ALL, BASES, BLOCKS, BordersShared, NEAR, known::Base, known::Known};
use holm_medium::{Medium, WriteHandle};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{LeafRef, PendingPair, ReadContext, Split, SplitRequest, WriteContext};
use holm_tree::pair::slots;

/// A pair of a leaf with its fingerprint, and the block and slot where it lies; `None` for a new pair.
#[derive(Clone, Copy)]
struct Placed {
    slot: Slot,
    fingerprint: u8,
    from: Option<(u8, u8)>,
}

impl Placed {
    fn key(&self) -> u64 {
        self.slot.head
    }

    /// The slot where the pair stays, if its block is one of these.
    fn stays_in(&self, blocks: u32) -> Option<(usize, usize)> {
        let (block, at) = self.from.filter(|(block, _)| blocks >> block & 1 == 1)?;
        Some((usize::from(block), usize::from(at)))
    }
}

/// Where a new leaf starts, and how many blocks started there before.
#[derive(Clone, Copy)]
struct Start {
    low: u64,
    generation: u32,
}

/// Of the blocks in which a new leaf has pairs, returns those that become its bases. The pairs of the others are
/// copied: as few as possible, and what finds room in the header's line beside `coming` pairs.
fn bases(pairs: [usize; BLOCKS], stays: Option<usize>, coming: usize) -> u32 {
    let mut room = NEAR.saturating_sub(coming);
    let named = |block: &usize| pairs[*block] > 0 || stays == Some(*block);
    let mut bases = (0..BLOCKS).filter(named).fold(0u32, |bases, block| bases | 1 << block);
    loop {
        let smallest = slots(bases).filter(|block| stays != Some(*block)).min_by_key(|block| pairs[*block]);
        match smallest {
            Some(block) if bases.count_ones() as usize > BASES || pairs[block] <= room => {
                room = room.saturating_sub(pairs[block]);
                bases &= !(1 << block);
            }
            _ => return bases,
        }
    }
}

impl BordersShared {
    /// All pairs of a leaf and the new one, in any order.
    fn placed<K: Keys>(&self, context: ReadContext<'_, Known, K>, new: Option<Placed>) -> Vec<Placed> {
        let known = context.volatile;
        let count: u32 = (0..BLOCKS).map(|block| known.counts(block).count_ones()).sum();
        let mut placed = Vec::with_capacity(count as usize + 1);
        placed.extend(new);
        for block in 0..BLOCKS {
            let Some(leaf) = self.block_at(context, block) else { continue };
            let inverted = known.is_inverted(block);
            placed.extend(slots(known.counts(block)).map(|at| Placed {
                slot: leaf.slot(at, inverted),
                fingerprint: known.fingerprints(block).of(at),
                from: Some((block as u8, at as u8)),
            }));
        }
        placed
    }

    /// Makes an unreachable block a leaf of these pairs, with some of the blocks of this leaf as its bases. All of it
    /// takes effect with one word.
    fn begin_leaf<M: Medium, K: Keys>(
        &self,
        own: u32,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        fresh: LeafRef<'_, Self>,
        start: Start,
        pairs: &[Placed],
    ) {
        let (context, handle) = context.parts();
        let (mut of_block, mut coming) = ([0; BLOCKS], 0);
        for pair in pairs {
            pair.from.map_or_else(|| coming += 1, |(block, _)| of_block[usize::from(block)] += 1);
        }
        let replaces = start.low == self.low.read();
        let bases = bases(of_block, replaces.then_some(0), coming);
        let copied: Vec<_> = pairs.iter().filter(|pair| pair.stays_in(bases).is_none()).collect();
        let lent: Vec<Base> = slots(bases).map(|block| context.volatile.lend(own, block)).collect();
        fresh.leaf.fill(fresh.volatile, handle, start, (self.state.read(), &lent), &copied);
        fresh.volatile.begin(start.low == 0, lent);
        copied.iter().enumerate().for_each(|(at, pair)| fresh.volatile.set(0, at, pair.fingerprint));
        // What counts in a base is within the range of the leaf that has lent it, so it is among these pairs.
        for pair in pairs {
            let Some((block, at)) = pair.stays_in(bases) else { continue };
            let before = bases & ((1 << block) - 1);
            fresh.volatile.set(1 + before.count_ones() as usize, at, pair.fingerprint);
        }
    }

    /// Writes a block that no leaf names.
    fn fill<M: Medium>(
        &self,
        known: &Known,
        handle: &mut WriteHandle<'_, M>,
        Start { low, generation }: Start,
        (state, bases): (u64, &[Base]),
        pairs: &[&Placed],
    ) {
        let used = known.use_block();
        let mut far = 0;
        for at in NEAR..BLOCK_PAIRS {
            if let Some(pair) = pairs.get(at) {
                self.store(handle, at, pair.slot, low == 0);
            } else if used {
                handle.write(&self.pairs[at].head, 0);
            } else {
                break;
            }
            far |= 1 << at;
        }
        if far != 0 {
            self.flush(handle, far);
            // Before the block is a leaf: otherwise a crash leaves a leaf that lacks these pairs, or has the pairs of
            // the block's last use.
            handle.fence();
        }
        for at in 0..NEAR {
            match pairs.get(at) {
                Some(pair) => self.store(handle, at, pair.slot, low == 0),
                None if used => handle.write(&self.pairs[at].head, 0),
                None => {}
            }
        }
        let number = |place: usize| bases.get(place).map_or(0, |base| u64::from(base.number));
        handle.write(&self.low, low);
        handle.write(&self.bases[0], number(0) | number(1) << 32);
        handle.write(&self.bases[1], number(2) | u64::from(generation) << 32);
        // The commit word, last in its line: of the split, and of the new pair if there is one.
        handle.write(&self.state, state);
        // Before readers see the split: otherwise a crash loses the leaf, and with it what later goes there.
        handle.persist(&self.state);
    }

    /// Replaces a leaf whose block other leaves use by one that begins with the same pairs.
    fn replace<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        request: &SplitRequest<'_, '_, Self, K>,
        pairs: &[Placed],
    ) -> Split<K::Separator> {
        let (own, fresh) = (request.own, request.fresh[0]);
        let Some(generation) = self.generation_word().checked_add(1) else { return Split::new(own, None) };
        let start = Start { low: self.low.read(), generation };
        self.begin_leaf(own, context, fresh, start, pairs);
        let (context, handle) = context.parts();
        context.volatile.end();
        for place in 0..BASES {
            let last: Option<&Self> =
                Some(context.volatile.base(place)).filter(|at| *at != 0).and_then(|at| context.block(at));
            if let Some(base) = last {
                handle.write(&base.state, 0);
                // Before the block is reused: otherwise recovery finds it as a leaf, once its tree is dropped.
                handle.persist(&base.state);
            }
        }
        Split { left: fresh.number, right: None, put: request.room_for.pair().is_some() }
    }

    /// Gives the upper half of a leaf to a new one, and the new pair if it belongs there.
    fn split_off<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        request: &SplitRequest<'_, '_, Self, K>,
        pairs: &mut [Placed],
    ) -> Split<K::Separator> {
        let stays = Split::new(request.own, None);
        let middle = pairs.len() / 2;
        if !pairs.is_empty() {
            pairs.select_nth_unstable_by_key(middle, Placed::key);
        }
        let (lower, upper) = pairs.split_at(middle);
        let (last, first) =
            (lower.iter().map(Placed::key).max().unwrap_or(0), upper.first().map_or(u64::MAX, Placed::key));
        // Halfway between the halves. Between equal keys, which only damage can cause, there is no separator: the tree
        // set reports a leaf that stays full.
        let low = last.midpoint(first).saturating_add(1);
        let separator = context.read.keys.key(Slot { head: low, payload: 0 });
        let Some(separator) = separator.filter(|_| last < low && low <= first && self.low.read() < low) else {
            return stays;
        };
        let fresh = request.fresh[0];
        self.begin_leaf(request.own, context, fresh, Start { low, generation: 0 }, upper);
        for (block, at) in upper.iter().filter_map(|pair| pair.from) {
            context.read.volatile.clear(usize::from(block), 1 << at);
        }
        let put = request.room_for.pair().is_some() && upper.iter().any(|pair| pair.from.is_none());
        Split { left: request.own, right: Some((separator, fresh.number)), put }
    }

    pub(super) fn make_room<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let stays = Split::new(request.own, None);
        let known = context.read.volatile;
        let pending = request.room_for.pair();
        // If the caller does not say which pair found no room, the first leaf believes that it is full.
        let key = pending.map_or(u64::MAX, |pending| K::head(pending.search_key, 0));
        let shuns = self.shuns(key);
        let present = |pending: PendingPair<'_, K>| self.find(context.read, pending.search_key).is_some();
        if known.free() != 0 && !shuns || pending.is_some_and(present) {
            return stays;
        }
        let new = pending.map(|pending| Placed {
            slot: Slot { head: key, payload: pending.payload },
            fingerprint: K::fingerprint(pending.search_key),
            from: None,
        });
        let mut pairs = self.placed(context.read, new);
        if known.is_lent() && (pending.is_none() || !shuns) {
            return self.replace(context, &request, &pairs);
        }
        self.split_off(context, &request, &mut pairs)
    }
}

const BLOCK_PAIRS: usize = ALL.count_ones() as usize;
