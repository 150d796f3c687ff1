//! How a leaf grows: by another subnode in front of its head while it may have more, and otherwise by a split.
//!
//! **Head replacement**: everything that makes a subnode the head of a list lies in its first line, and its first word
//! is stored last. Until then the subnode is free. Afterwards the old head is behind it, and the old head's bitmap
//! means nothing.
//!
//! **Split**: the upper half goes into a leaf of one or two free subnodes, whose head's first word commits. Then one
//! store of the bitmap removes it from the old leaf. A crash in between leaves it in both leaves: see `recovery`.

use super::subnode::{SLOTS, bit, lines_behind, part, places, spare, used};
use super::{Beside, SsTree};
use holm_medium::{Medium, Pen};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{Fresh, Leaf, Lens, Split};
use holm_tree::pair::slots;
use holm_tree::pairs::arrange;
use holm_tree::sync::atomic::Ordering::Relaxed;

/// A pair that moves to another leaf, with its fingerprint and the bit that it had.
#[derive(Clone, Copy)]
struct Traveller {
    slot: Slot,
    print: u8,
    bit: u64,
}

impl<const SUBNODES: usize, const COURSE: usize> SsTree<SUBNODES, COURSE> {
    /// Makes room, and inserts the pending pair where that costs nothing.
    pub(super) fn grow<M: Medium, K: Keys>(
        &self,
        own: u32,
        beside: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: &[Fresh<'_, Self>; 2],
        pending: Option<(K::Probe<'_>, u64)>,
    ) -> (Split<K::Fence>, bool) {
        let stays = (Split { left: own, right: None }, false);
        let there = pending.is_some_and(|(probe, _)| self.find(beside, lens, probe).is_some());
        if beside.known().free() != 0 || there {
            return stays;
        }
        let used = self.followers(lens).fold(1 << beside.known().region(), |used, (_, node)| used | 1 << node.region());
        if let Some(region) = (0..SUBNODES).find(|region| used >> region & 1 == 0) {
            self.step_behind(
                own,
                beside,
                pen,
                &fresh[0],
                region,
                pending.map(|(probe, payload)| new::<K>(probe, payload)),
            );
            return (Split { left: fresh[0].number, right: None }, pending.is_some());
        }
        self.part(own, beside, lens, pen, fresh, pending).unwrap_or(stays)
    }

    /// Head replacement: a free subnode becomes the head, with the pending pair if there is one.
    fn step_behind<M: Medium>(
        &self,
        own: u32,
        beside: &Beside,
        pen: &mut Pen<'_, M>,
        fresh: &Fresh<'_, Self>,
        region: usize,
        pending: Option<Traveller>,
    ) {
        let head = fresh.leaf;
        let known = beside.known();
        let mut bitmap = known.bitmap();
        if let Some(pair) = pending {
            head.store(pen, 1, pair.slot);
            bitmap |= bit(region, 1);
            fresh.beside.set_print(1, pair.print);
        }
        head.delegate_all(pen, [0, 1].map(|word| beside.prints[word].load(Relaxed)), known.region());
        pen.write(&head.words[1], bitmap);
        // The commit word, last in its line: this subnode is the head, and the old head is behind it.
        pen.write(&head.words[0], used(self.keyspace(), region, own));
        // Before the operation returns, and before another pair goes into the new head: otherwise a crash loses them.
        pen.persist(&head.words[0]);
        fresh.beside.know(bitmap, region, true);
    }

    /// Moves the upper half of a full leaf to a fresh one, with the pending pair if it belongs there. `None` if there
    /// is room by now, or if no separator exists because a record is missing: the tree set reports a leaf that stays
    /// full.
    fn part<M: Medium, K: Keys>(
        &self,
        own: u32,
        beside: &Beside,
        lens: Lens<'_, K>,
        pen: &mut Pen<'_, M>,
        fresh: &[Fresh<'_, Self>; 2],
        pending: Option<(K::Probe<'_>, u64)>,
    ) -> Option<(Split<K::Fence>, bool)> {
        let known = beside.known();
        let mut order = self.travellers(beside, lens);
        if order.len() < Self::CAPACITY {
            return None;
        }
        arrange(&mut order, |a, b| lens.keys.order(a.slot, b.slot));
        // The greater part stays, so that the upper part has room for the pending pair.
        let (lower, upper) = order.split_at(order.len().div_ceil(2));
        let (last, first) = lens.keys.key(lower.last()?.slot).zip(lens.keys.key(upper.first()?.slot))?;
        let separator = K::separator(&last, &first);
        let rider = pending.filter(|(probe, _)| K::fence(*probe) >= separator);
        let rider = rider.map(|(probe, payload)| new::<K>(probe, payload));
        let coming: Vec<_> = upper.iter().copied().chain(rider).collect();
        self.found(pen, fresh, &coming);
        let bitmap = known.bitmap() & !upper.iter().fold(0, |bits, pair| bits | pair.bit);
        // The commit word of the split, after that of the new leaf. Durable before either leaf changes: recovery could
        // not match the two halves afterwards.
        self.commit(pen, bitmap);
        beside.know(bitmap, known.region(), true);
        Some((Split { left: own, right: Some((separator, fresh[0].number)) }, rider.is_some()))
    }

    /// All pairs, each with its fingerprint and its bit.
    fn travellers<K: Keys>(&self, beside: &Beside, lens: Lens<'_, K>) -> Vec<Traveller> {
        let known = beside.known();
        let traveller = |node: &Self, region: usize, at: usize, print: u8| Traveller {
            slot: node.slot(at),
            print,
            bit: bit(region, at),
        };
        let mut all: Vec<_> =
            slots(known.own()).map(|at| traveller(self, known.region(), at, beside.print(at))).collect();
        for (before, node) in self.followers(lens) {
            let region = node.region();
            let pairs = slots(part(known.bitmap(), region));
            all.extend(pairs.map(|at| traveller(node, region, at, before.delegated_print(at))));
        }
        all
    }

    /// Makes a leaf of free subnodes: the first one is its head, and the second one has the pairs that do not fit
    /// there.
    fn found<M: Medium>(&self, pen: &mut Pen<'_, M>, fresh: &[Fresh<'_, Self>; 2], coming: &[Traveller]) {
        let [head, tail] = fresh;
        let (behind, ahead) = if coming.len() > SLOTS { coming.split_at(SLOTS) } else { (&[][..], coming) };
        let keyspace = self.keyspace();
        let mut bitmap = 0;
        let mut prints = [0; 2];
        if !behind.is_empty() {
            for (at, pair) in behind.iter().enumerate() {
                tail.leaf.store(pen, at, pair.slot);
                prints[at / 8] |= u64::from(pair.print) << (at % 8 * 8);
                bitmap |= bit(0, at);
            }
            // The subnode is free until the head links it: otherwise recovery would take it for a leaf of its own.
            pen.write(&tail.leaf.words[0], spare(0));
            pen.flush(tail.leaf);
        }
        let (region, number) = if behind.is_empty() { (0, 0) } else { (1, tail.number) };
        let mut taken = 0;
        for (at, pair) in slots(places(number != 0)).zip(ahead) {
            head.leaf.store(pen, at, pair.slot);
            head.beside.set_print(at, pair.print);
            bitmap |= bit(region, at);
            taken |= 1 << at;
        }
        lines_behind(taken).for_each(|line| head.leaf.flush(pen, line));
        // Before this subnode becomes a head: otherwise a crash keeps the head and loses the pairs of its leaf.
        pen.fence();
        if number != 0 {
            head.leaf.delegate_all(pen, prints, 0);
        }
        pen.write(&head.leaf.words[1], bitmap);
        // The commit word of the new leaf and of the pending pair; last in its line.
        pen.write(&head.leaf.words[0], used(keyspace, region, number));
        // Before the pairs are removed from the old leaf: otherwise a crash leaves them in neither.
        pen.persist(&head.leaf.words[0]);
        head.beside.know(bitmap, region, number != 0);
    }
}

/// A pair that has not been in a leaf before.
fn new<K: Keys>(probe: K::Probe<'_>, payload: u64) -> Traveller {
    Traveller { slot: Slot { head: K::head(probe, 0), payload }, print: K::print(probe), bit: 0 }
}
