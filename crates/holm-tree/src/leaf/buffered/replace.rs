//! Room by copying: a full leaf gives way to fresh leaves, and two sparse leaves to one.
//!
//! A leaf is never cleared in place: the two older states would still pin the cleared slots, and the leaf would stay as
//! full as before. Where keys arrive in ascending order, nothing has to move: the leaf stays full, and an empty leaf
//! begins after it.
//!
//! After power loss, the recovery point decides for all blocks at once. The death of the process keeps every store in
//! program order, so one store has to commit for all. A fresh leaf names its *origin*, one block that gives way, and
//! becomes valid once the origin's word is empty. Every other block that gives way names its *heir* before that store.

use super::block::{HEIR, MovingPair};
use super::order::Order;
use super::{Buffered, Form, OverflowBlocks, SLOTS};
use crate::keys::Keys;
use crate::leaf::{Fresh, Home, Leaf, ReadContext, Split, SplitRequest};
use holm_medium::{Medium, WriteHandle};

/// Two neighbours become one leaf if they have at most this many pairs together; half of the leaf stays free for
/// versions.
pub const MERGE_UP_TO: usize = 14;

/// Returns whether each of these pairs leads to a record of its own.
fn own_keys<K: Keys>(context: ReadContext<'_, K>, pairs: &[MovingPair]) -> bool {
    pairs.iter().all(|pair| pair.is_own(context))
}

/// The same for pairs whose heads a new home will have changed.
fn rehead_own<K: Keys>(context: ReadContext<'_, K>, pairs: &[MovingPair], home: Home) -> bool {
    pairs.iter().all(|pair| pair.skip == usize::from(home.skip) || pair.is_own(context))
}

/// Returns how many blocks these pairs need: at least one.
fn blocks_for(pairs: &[MovingPair]) -> usize {
    pairs.len().div_ceil(SLOTS).max(1)
}

/// The blocks that give way, by number.
type DroppedTree<'a, L> = Vec<(u32, &'a L)>;

impl<const SEGMENTS: usize, F: Form> Buffered<SEGMENTS, F> {
    /// A leaf without a free slot and with fewer live pairs than this is full of old versions, not of pairs. It is
    /// refreshed and not split.
    pub const SPLIT_FROM: usize = if SEGMENTS == 1 { SLOTS / 2 } else { SLOTS * 3 / 4 };

    /// Orders the live pairs: for one fresh leaf if there are fewer than `many`, else for two.
    pub fn ordered<K: Keys>(
        &self,
        overflow: &OverflowBlocks<SEGMENTS, F::FingerprintPolicy>,
        context: ReadContext<'_, K>,
        many: usize,
    ) -> Vec<MovingPair> {
        let mut pairs: Vec<_> = self.segments(overflow, context).flat_map(|(_, block)| block.moving_pairs()).collect();
        let order = |a: &MovingPair, b: &MovingPair| context.keys.order(a.slot, b.slot);
        let count = pairs.len();
        if count < many {
            F::Order::whole(&mut pairs, order);
        } else {
            F::Order::halves(&mut pairs, count / 2, order);
        }
        pairs
    }

    /// Returns the blocks of this leaf that are not empty; an empty block need not give way.
    fn filled<'a, K: Keys>(
        &'a self,
        own: u32,
        overflow: &OverflowBlocks<SEGMENTS, F::FingerprintPolicy>,
        context: ReadContext<'a, K>,
    ) -> DroppedTree<'a, Self> {
        let number = |place| if place == 0 { own } else { overflow.number(place) };
        let blocks = self.segments(overflow, context).map(|(place, block)| (number(place), block));
        blocks.filter(|(_, block)| block.now().bits != 0).collect()
    }

    /// Returns the origin that fresh leaves name, one of the blocks that give way.
    fn origin(dropped: &DroppedTree<'_, Self>, own: u32) -> u32 {
        dropped.first().map_or(own, |(number, _)| *number)
    }

    /// Commits a split or merge against the death of the process: one store empties the origin's word, and so commits
    /// the leaves that name it. Only then may those leaves clear their origin. If they cleared it first, a process that
    /// dies in between would leave both generations live.
    fn supersede<M: Medium>(
        handle: &mut WriteHandle<'_, M>,
        dropped: &DroppedTree<'_, Self>,
        heirs: &[&Fresh<'_, Self>],
    ) {
        for (_, block) in dropped.iter().skip(1) {
            // One store can empty only one block; these blocks name an heir, and the same store decides for them.
            block.set_kin(handle, HEIR | heirs[0].number);
        }
        dropped.iter().for_each(|(_, block)| block.publish(handle, 0));
        heirs.iter().for_each(|heir| heir.leaf.set_kin(handle, 0));
    }

    /// Attaches another overflow block, if the leaf may have one more.
    fn extend<M: Medium>(
        &self,
        own: u32,
        overflow: &OverflowBlocks<SEGMENTS, F::FingerprintPolicy>,
        handle: &mut WriteHandle<'_, M>,
        fresh: &Fresh<'_, Self>,
    ) -> bool {
        let may = overflow.blocks() < SEGMENTS;
        if may {
            // No order is needed: a block of a lost epoch is empty, and so is a block without its first pair.
            fresh.leaf.format_block(fresh.volatile, handle, self.home(), own);
            overflow.attach(fresh.number);
            fresh.leaf.copied(overflow, overflow.blocks() - 1);
        }
        may
    }

    /// Makes an uncommitted leaf of the pairs, in as many of the fresh blocks as they need. Returns these blocks.
    fn settle_in<'f, 'l, M: Medium, K: Keys>(
        fresh: &'f [&'l Fresh<'l, Self>],
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        pairs: &[MovingPair],
        home: Home,
        origin: u32,
    ) -> &'f [&'l Fresh<'l, Self>] {
        let used = &fresh[..blocks_for(pairs)];
        // Equal shares leave each block free slots for updates of its own pairs.
        let share = pairs.len().div_ceil(used.len());
        let first = used[0];
        for (place, block) in used.iter().enumerate() {
            let part = &pairs[pairs.len().min(place * share)..pairs.len().min((place + 1) * share)];
            let owner = if place == 0 { 0 } else { first.number };
            block.volatile.begin();
            let slots = block.leaf.settle(context, handle, part, home, [origin, owner]);
            if place > 0 {
                first.volatile.attach(block.number);
            }
            first.volatile.set_moved(place, slots);
            block.leaf.copied(first.volatile, place);
        }
        used
    }

    /// Returns the separator between the last pair and a key after it, if the key comes after it.
    pub fn all_overflow_blocks<K: Keys>(
        &self,
        context: ReadContext<'_, K>,
        last: &MovingPair,
        coming: Option<K::SearchKey<'_>>,
    ) -> Option<K::Separator> {
        let search_key = coming.filter(|search_key| context.keys.compare(last.slot, last.skip, *search_key).is_lt())?;
        let key = context.keys.key(last.slot).filter(|_| last.is_own(context))?;
        Some(K::shortest_separator(&key, &K::to_separator(search_key)))
    }

    /// Returns the separator of these two halves. `None` if a record is not the slot's own, which only damage can
    /// cause: a separator derived from its key would be damage, too.
    pub fn divided<K: Keys>(
        context: ReadContext<'_, K>,
        (lower, upper): (&[MovingPair], &[MovingPair]),
    ) -> Option<K::Separator> {
        let ends = [*lower.last()?, *upper.first()?];
        let own = own_keys(context, &ends);
        let (last, first) = own.then(|| context.keys.key(ends[0].slot).zip(context.keys.key(ends[1].slot)))??;
        Some(K::shortest_separator(&last, &first))
    }

    /// The same, and what the ranges of the halves share.
    fn parted<K: Keys>(
        &self,
        context: ReadContext<'_, K>,
        (lower, upper): (&[MovingPair], &[MovingPair]),
        range: (&K::Separator, Option<&K::Separator>),
    ) -> Option<(K::Separator, [Home; 2])> {
        let separator = Self::divided(context, (lower, upper))?;
        let home =
            |low: &K::Separator, high: Option<&K::Separator>| Home { skip: K::common(low, high) as u8, ..self.home() };
        let homes = [home(range.0, Some(&separator)), home(&separator, range.1)];
        let fit = rehead_own(context, lower, homes[0]) && rehead_own(context, upper, homes[1]);
        fit.then_some((separator, homes))
    }

    /// See [`crate::leaf::Leaf::split`]; `coming` is the key that found no room.
    pub fn make_room<M: Medium, K: Keys>(
        &self,
        overflow: &OverflowBlocks<SEGMENTS, F::FingerprintPolicy>,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        SplitRequest { own, fresh: [left, right], spare, range, .. }: SplitRequest<'_, Self, K::Separator>,
        coming: Option<K::SearchKey<'_>>,
    ) -> Split<K::Separator> {
        let unchanged = Split { left: own, right: None };
        if self.extend(own, overflow, handle, &left) {
            return unchanged;
        }
        let pairs = self.ordered(overflow, context, Self::SPLIT_FROM);
        let many = pairs.len() >= Self::SPLIT_FROM;
        let last = pairs.last().filter(|_| many);
        if let Some(separator) = last.and_then(|last| self.all_overflow_blocks(context, last, coming)) {
            // There is no commit, because nothing changed: without its first pair, the fresh leaf is free after a
            // crash.
            let home = Home { skip: K::common(&separator, range.1) as u8, ..self.home() };
            right.leaf.format(right.volatile, handle, home);
            return Split { right: Some((separator, right.number)), ..unchanged };
        }
        if pairs.len() > (2 + spare.len()) * SLOTS {
            // The caller gave no spare blocks.
            return unchanged;
        }
        let dropped = self.filled(own, overflow, context);
        let origin = Self::origin(&dropped, own);
        let (below, above) = spare.split_at(spare.len() / 2);
        let lower: Vec<_> = std::iter::once(&left).chain(below).collect();
        let upper: Vec<_> = std::iter::once(&right).chain(above).collect();
        let halves = pairs.split_at(pairs.len() / 2);
        let parted = if many { self.parted(context, halves, range) } else { None };
        let Some((separator, homes)) = parted else {
            // Old versions fill the leaf.
            let all = [lower, upper].concat();
            let used = Self::settle_in(&all, context, handle, &pairs, self.home(), origin);
            Self::supersede(handle, &dropped, used);
            return Split { left: left.number, right: None };
        };
        let used = [
            Self::settle_in(&lower, context, handle, halves.0, homes[0], origin),
            Self::settle_in(&upper, context, handle, halves.1, homes[1], origin),
        ];
        Self::supersede(handle, &dropped, &used.concat());
        Split { left: left.number, right: Some((separator, right.number)) }
    }

    /// See [`crate::leaf::Leaf::merge`].
    pub fn unite<M: Medium, K: Keys>(
        &self,
        own: [(u32, &OverflowBlocks<SEGMENTS, F::FingerprintPolicy>); 2],
        other: &Self,
        context: ReadContext<'_, K>,
        handle: &mut WriteHandle<'_, M>,
        fresh: &Fresh<'_, Self>,
        range: (&K::Separator, Option<&K::Separator>),
    ) -> bool {
        let [(left, overflow), (right, theirs)] = own;
        let pairs = [self.ordered(overflow, context, usize::MAX), other.ordered(theirs, context, usize::MAX)].concat();
        if pairs.len() > MERGE_UP_TO {
            return false;
        }
        let home = Home { skip: K::common(range.0, range.1) as u8, ..self.home() };
        if !rehead_own(context, &pairs, home) {
            return false;
        }
        let dropped = [self.filled(left, overflow, context), other.filled(right, theirs, context)].concat();
        let fresh = [fresh];
        let used = Self::settle_in(&fresh, context, handle, &pairs, home, Self::origin(&dropped, left));
        Self::supersede(handle, &dropped, used);
        true
    }
}
