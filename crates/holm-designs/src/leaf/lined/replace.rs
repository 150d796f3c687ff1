//! Room by copying: a full leaf gives way to fresh leaves, and two sparse leaves to one. The protocol is BD+Tree's,
//! with the first line's word as the word of the leaf.
//!
//! After power loss, the recovery point decides for all lines at once. The death of the process keeps every store in
//! program order, so one store has to commit for all. A fresh leaf names its *origin*, the leaf that gives way, and
//! becomes valid once the first line of the origin says that it is no leaf. The right leaf of a merge names its *heir*
//! before that store.

use super::known::{Copies, Known};
use super::line::{ALL, LEAF, PAIRS};
use super::recovery::HEIR;
use super::{LINES, Lined, SLOTS, in_line};
use holm_medium::{Epoch, Medium, WriteHandle};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{LeafRef, MergeRequest, MergedInto, ReadContext, RoomFor, Split, SplitRequest, WriteContext};
use holm_tree::pair::slots;

/// A leaf without room and with fewer pairs than this is full of old copies. It is renewed and not split.
const SPLIT_FROM: usize = SLOTS / 2;

/// With at most this many pairs, spread evenly, each line has room for a copy.
const ROOMY: usize = LINES * (PAIRS - 1);

/// Two neighbours become one leaf if they have at most this many pairs together.
pub const MERGE_UP_TO: usize = SLOTS / 2;

/// A pair that moves, with its fingerprint.
pub type Moving = (Slot, u8);

impl Lined {
    /// Returns the pairs in the order of their keys.
    fn ordered<K: Keys>(&self, context: ReadContext<'_, Known, K>) -> Vec<Moving> {
        let moving = |slot: usize| (self.slot(slot), self.lines[slot / PAIRS].fingerprint(slot % PAIRS));
        let mut pairs: Vec<_> = slots(context.volatile.copies().newest).map(moving).collect();
        pairs.sort_by(|(a, _), (b, _)| context.keys.order(*a, *b));
        pairs
    }

    /// Makes a fresh block a leaf with these pairs, evenly over its lines, so that each line has room for a copy. The
    /// leaf is uncommitted while `origin` is not zero.
    pub(super) fn fill<M: Medium>(
        &self,
        known: &Known,
        handle: &mut WriteHandle<'_, M>,
        pairs: &[Moving],
        keyspace: u32,
        origin: u32,
    ) {
        let epoch = handle.epoch();
        known.begin(epoch);
        let mut filled = [0; LINES];
        let mut copies = Copies::default();
        for (place, (slot, fingerprint)) in pairs.iter().enumerate() {
            let line = place * LINES / pairs.len();
            let index = filled[line];
            filled[line] += 1;
            self.lines[line].write(handle, index, *slot, *fingerprint);
            known.set_fingerprint(line * PAIRS + index, *fingerprint);
            copies.newest |= 1 << (line * PAIRS + index);
        }
        // What the block held in an earlier life counts at no epoch that a crash may choose, for the block was no leaf
        // then.
        let fresh = |line: usize| {
            let found = self.versions(line, epoch).without(ALL | LEAF);
            (0..PAIRS).fold(found, |found, index| found.with_turn(index, 0))
        };
        self.set_origin(handle, origin);
        for (line, filled) in filled.into_iter().enumerate().skip(1) {
            let holds = self.lines[line].versions();
            if filled > 0 || holds.now | holds.last | holds.before != 0 {
                self.publish(known, handle, line, fresh(line), &mut copies);
            }
        }
        self.lines[0].set_of_leaf(handle, keyspace);
        // Last of all: if the process died before, the block would be a leaf without some of its pairs, or one that
        // does not name its origin.
        self.publish(known, handle, 0, fresh(0).with_now(LEAF), &mut copies);
    }

    /// Makes the block no leaf, in one store, which has this epoch.
    pub(super) fn give_way<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, epoch: Epoch) {
        self.lines[0].put(handle, self.versions(0, epoch).with_now(0));
    }

    /// Returns the separator of two parts.
    fn divided<K: Keys>(keys: &K, lower: &[Moving], upper: &[Moving]) -> Option<K::Separator> {
        let [low, high] = [lower.last()?, upper.first()?].map(|(slot, _)| keys.key(*slot));
        Some(K::shortest_separator(&low?, &high?))
    }

    /// Returns the separator between the last pair and what found no room, if that comes after it.
    fn separator_after<K: Keys>(keys: &K, last: &Moving, room_for: RoomFor<'_, K>) -> Option<K::Separator> {
        let search_key = room_for.key()?;
        let after = keys.compare(last.0, 0, search_key).is_lt();
        let key = after.then(|| keys.key(last.0))??;
        Some(K::shortest_separator(&key, &K::to_separator(search_key)))
    }

    pub(super) fn make_room<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let SplitRequest { own, fresh: [left, right], room_for, .. } = request;
        let (read, handle) = context.parts();
        let (keys, keyspace) = (read.keys, self.keyspace());
        let pairs = self.ordered(read);
        let many = pairs.len() >= SPLIT_FROM && !self.renews(read.volatile, handle.epoch());
        let last = pairs.last().filter(|_| many);
        if let Some(separator) = last.and_then(|last| Self::separator_after(keys, last, room_for)) {
            // Keys come in order: nothing moves, and an empty leaf begins after this one. Without its first pair, it is
            // free after a crash.
            right.leaf.fill(right.volatile, handle, &[], keyspace, 0);
            return Split::new(own, Some((separator, right.number)));
        }
        let (lower, upper) = pairs.split_at(pairs.len() / 2);
        let separator = if many { Self::divided(keys, lower, upper) } else { None };
        match separator {
            Some(separator) => {
                left.leaf.fill(left.volatile, handle, lower, keyspace, own);
                right.leaf.fill(right.volatile, handle, upper, keyspace, own);
                self.supersede(handle, &[left, right]);
                Split::new(left.number, Some((separator, right.number)))
            }
            None => {
                left.leaf.fill(left.volatile, handle, &pairs, keyspace, own);
                self.supersede(handle, &[left]);
                Split::new(left.number, None)
            }
        }
    }

    /// Returns whether a renewed leaf would have room for long: its lines then have room for copies, and copies of the
    /// last epochs, which come again in each epoch, take at most half of it now.
    fn renews(&self, known: &Known, epoch: Epoch) -> bool {
        let newest = known.copies().newest;
        let recent =
            |line: usize| (self.versions(line, epoch).pinned() & ALL & !in_line(known.live(), line)).count_ones();
        let (pairs, recent) = (newest.count_ones() as usize, (0..LINES).map(recent).sum::<u32>() as usize);
        pairs <= ROOMY && recent <= (SLOTS - pairs) / 2
    }

    /// Commits fresh leaves against the death of the process. Only then may they forget their origin: if they forgot it
    /// first, a process that dies in between would leave both generations.
    fn supersede<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, heirs: &[LeafRef<'_, Self>]) {
        self.give_way(handle, handle.epoch());
        heirs.iter().for_each(|heir| heir.leaf.set_origin(handle, 0));
    }

    /// Moves the pairs of both leaves into the fresh block.
    pub(super) fn unite<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        request: MergeRequest<'_, Self, K::Separator>,
    ) -> MergedInto {
        let MergeRequest { own, right, fresh: Some(fresh), .. } = request else { return MergedInto::Neither };
        let (context, handle) = context.parts();
        let pairs = [self.ordered(context), right.leaf.ordered(context.beside(right.volatile))].concat();
        if pairs.len() > MERGE_UP_TO {
            return MergedInto::Neither;
        }
        fresh.leaf.fill(fresh.volatile, handle, &pairs, self.keyspace(), own);
        // Before the left leaf gives way: one store can end only one leaf, and the same store decides for this one.
        right.leaf.set_origin(handle, HEIR | fresh.number);
        self.give_way(handle, handle.epoch());
        right.leaf.give_way(handle, handle.epoch());
        fresh.leaf.set_origin(handle, 0);
        MergedInto::Fresh
    }
}
