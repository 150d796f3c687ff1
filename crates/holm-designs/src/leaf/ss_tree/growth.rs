//! How a leaf grows: by another subnode in front of its head while it may have more, and otherwise by a split.
//!
//! **Head replacement**: everything that makes a subnode the head of a list lies in its first line, and its first word
//! is stored last. Until then the subnode is free. Afterwards the old head is behind it, and the old head's bitmap
//! means nothing.
//!
//! **Split**: the upper half goes into a leaf of one or two free subnodes, whose head's first word commits. Then one
//! store of the bitmap removes it from the old leaf. A crash in between leaves it in both leaves: see `recovery`.
//!
//! **Append**: a pair above all of the last leaf begins a leaf alone, and the full leaf stays as it is.

use super::subnode::{SLOTS, bit, lines_behind, part, places, spare, used};
use super::{SsTree, Volatile};
use crate::append::separator_below;
use holm_medium::{Medium, WriteHandle};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{Leaf, LeafRef, PendingPair, ReadContext, Split, SplitRequest, WriteContext};
use holm_tree::pair::slots;
use holm_tree::pairs::arrange;

/// A pair that moves to another leaf, with its fingerprint and the bit that it had.
#[derive(Clone, Copy)]
struct MovingPair {
    slot: Slot,
    fingerprint: u8,
    bit: u64,
}

impl<const SUBNODES: usize, const COURSE: usize> SsTree<SUBNODES, COURSE> {
    /// Makes room, and inserts the pending pair where that costs nothing.
    pub(super) fn grow<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        request: &SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let read = context.read;
        let known = read.volatile.known();
        let there = request.room_for.pair().is_some_and(|pair| self.find(read, pair.search_key).is_some());
        if known.free() != 0 || there {
            return Split::new(request.own, None);
        }
        let used = self.followers(read).fold(1 << known.region(), |used, (_, node)| used | 1 << node.region());
        if let Some(region) = (0..SUBNODES).find(|region| used >> region & 1 == 0) {
            self.step_behind(context, request, region);
            return Split { left: request.fresh[0].number, right: None, put: request.room_for.pair().is_some() };
        }
        self.part(context, request).unwrap_or(Split::new(request.own, None))
    }

    /// Head replacement: a free subnode becomes the head, with the pending pair if there is one.
    fn step_behind<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        request: &SplitRequest<'_, '_, Self, K>,
        region: usize,
    ) {
        let (ReadContext { volatile, .. }, handle) = context.parts();
        let [fresh, _] = request.fresh;
        let head = fresh.leaf;
        let known = volatile.known();
        let mut bitmap = known.bitmap();
        if let Some(pair) = request.room_for.pair().map(new::<K>) {
            head.store(handle, 1, pair.slot);
            bitmap |= bit(region, 1);
            fresh.volatile.fingerprints.set(1, pair.fingerprint);
        }
        head.delegate_all(handle, [0, 1].map(|word| volatile.fingerprints.word(word)), known.region());
        handle.write(&head.words[1], bitmap);
        // The commit word, last in its line: this subnode is the head, and the old head is behind it.
        handle.write(&head.words[0], used(self.keyspace(), region, request.own));
        // Before the operation returns, and before another pair goes into the new head: otherwise a crash loses them.
        handle.persist(&head.words[0]);
        fresh.volatile.know(bitmap, region, true);
    }

    /// Moves the upper half of a full leaf to a fresh one, with the pending pair if it belongs there. `None` if there
    /// is room by now, or if no separator exists because a record is missing: the tree set reports a leaf that stays
    /// full.
    fn part<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile, M, K>,
        SplitRequest { own, fresh, range, room_for, .. }: &SplitRequest<'_, '_, Self, K>,
    ) -> Option<Split<K::Separator>> {
        let pending = room_for.pair();
        let (context, handle) = context.parts();
        let known = context.volatile.known();
        let mut order = self.moving_pairs(context);
        if order.len() < Self::CAPACITY {
            return None;
        }
        let all = order.iter().map(|pair| pair.slot);
        if let (Some(separator), Some(pair)) = (separator_below(context.keys, *range, pending, all), pending) {
            self.found(handle, fresh, &[new::<K>(pair)]);
            return Some(Split { left: *own, right: Some((separator, fresh[0].number)), put: true });
        }
        arrange(&mut order, |a, b| context.keys.order(a.slot, b.slot));
        // The greater part stays, so that the upper part has room for the pending pair.
        let (lower, upper) = order.split_at(order.len().div_ceil(2));
        let (last, first) = context.keys.key(lower.last()?.slot).zip(context.keys.key(upper.first()?.slot))?;
        let separator = K::shortest_separator(&last, &first);
        let rider = pending.filter(|pair| K::to_separator(pair.search_key) >= separator).map(new::<K>);
        let coming: Vec<_> = upper.iter().copied().chain(rider).collect();
        self.found(handle, fresh, &coming);
        let bitmap = known.bitmap() & !upper.iter().fold(0, |bits, pair| bits | pair.bit);
        // The commit word of the split, after that of the new leaf. Durable before either leaf changes: recovery could
        // not match the two halves afterwards.
        self.commit(handle, bitmap);
        context.volatile.know(bitmap, known.region(), true);
        Some(Split { left: *own, right: Some((separator, fresh[0].number)), put: rider.is_some() })
    }

    /// All pairs, each with its fingerprint and its bit.
    fn moving_pairs<K: Keys>(&self, context: ReadContext<'_, Volatile, K>) -> Vec<MovingPair> {
        let volatile = context.volatile;
        let known = volatile.known();
        let moving_pair = |node: &Self, region: usize, at: usize, fingerprint: u8| MovingPair {
            slot: node.slot(at),
            fingerprint,
            bit: bit(region, at),
        };
        let mut all: Vec<_> =
            slots(known.own()).map(|at| moving_pair(self, known.region(), at, volatile.fingerprints.of(at))).collect();
        for (before, node) in self.followers(context) {
            let region = node.region();
            let pairs = slots(part(known.bitmap(), region));
            all.extend(pairs.map(|at| moving_pair(node, region, at, before.delegated_fingerprint(at))));
        }
        all
    }

    /// Makes a leaf of free subnodes: the first one is its head, and the second one has the pairs that do not fit
    /// there.
    fn found<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, fresh: &[LeafRef<'_, Self>; 2], coming: &[MovingPair]) {
        let [head, tail] = fresh;
        let (behind, ahead) = if coming.len() > SLOTS { coming.split_at(SLOTS) } else { (&[][..], coming) };
        let keyspace = self.keyspace();
        let mut bitmap = 0;
        let mut fingerprints = [0; 2];
        if !behind.is_empty() {
            for (at, pair) in behind.iter().enumerate() {
                tail.leaf.store(handle, at, pair.slot);
                fingerprints[at / 8] |= u64::from(pair.fingerprint) << (at % 8 * 8);
                bitmap |= bit(0, at);
            }
            // The subnode is free until the head links it: otherwise recovery would take it for a leaf of its own.
            handle.write(&tail.leaf.words[0], spare(0));
            handle.flush(tail.leaf);
        }
        let (region, number) = if behind.is_empty() { (0, 0) } else { (1, tail.number) };
        let mut taken = 0;
        for (at, pair) in slots(places(number != 0)).zip(ahead) {
            head.leaf.store(handle, at, pair.slot);
            head.volatile.fingerprints.set(at, pair.fingerprint);
            bitmap |= bit(region, at);
            taken |= 1 << at;
        }
        lines_behind(taken).for_each(|line| head.leaf.flush(handle, line));
        if number != 0 || lines_behind(taken).next().is_some() {
            // Before this subnode becomes a head: otherwise a crash keeps the head and loses the pairs of its leaf.
            handle.fence();
        }
        if number != 0 {
            head.leaf.delegate_all(handle, fingerprints, 0);
        }
        handle.write(&head.leaf.words[1], bitmap);
        // The commit word of the new leaf and of the pending pair; last in its line.
        handle.write(&head.leaf.words[0], used(keyspace, region, number));
        // Before the pairs are removed from the old leaf: otherwise a crash leaves them in neither.
        handle.persist(&head.leaf.words[0]);
        head.volatile.know(bitmap, region, number != 0);
    }
}

/// A pair that has not been in a leaf before.
fn new<K: Keys>(PendingPair { search_key, payload }: PendingPair<'_, K>) -> MovingPair {
    MovingPair { slot: Slot { head: K::head(search_key, 0), payload }, fingerprint: K::fingerprint(search_key), bit: 0 }
}
