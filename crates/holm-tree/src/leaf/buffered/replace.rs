//! Room by copying: a full leaf gives way to fresh leaves, and two sparse leaves to one.
//!
//! A leaf is never cleared in place: the two older states would still pin the cleared slots, and the leaf would stay as
//! full as before. Where keys arrive in ascending order, nothing has to move: the leaf stays full, and an empty leaf
//! begins after it.
//!
//! After power loss, the recovery point decides for all blocks at once. The death of the process keeps every store in
//! program order, so one store has to commit for all. A fresh leaf names its *origin*, one block that gives way, and
//! becomes valid once the origin's word is empty. Every block that gives way names its *heirs* before that store.

use super::block::MovingPair;
use super::order::Order;
use super::{Buffered, Form, SLOTS, Volatile};
use crate::keys::Keys;
use crate::leaf::{
    Home, KeyRange, Leaf, LeafRef, MergeRequest, MergedInto, ReadContext, Split, SplitRequest, WriteContext,
};
use crate::pairs::arrange;
use holm_medium::{Medium, WriteHandle};

/// Two neighbours become one leaf if they have at most this many pairs together; half of the leaf stays free for
/// versions.
pub const MERGE_UP_TO: usize = 14;

/// Returns whether each of these pairs leads to a record of its own.
fn own_keys<K: Keys>(keys: &K, pairs: &[MovingPair]) -> bool {
    pairs.iter().all(|pair| pair.is_own(keys))
}

/// The same for pairs whose heads a new home will have changed.
fn rehead_own<K: Keys>(keys: &K, pairs: &[MovingPair], home: Home) -> bool {
    pairs.iter().all(|pair| pair.skip == usize::from(home.skip) || pair.is_own(keys))
}

/// Prefetches the records from which the heads of pairs are read anew: each is a cache miss of its own.
fn prefetch_moved<K: Keys>(keys: &K, pairs: &[MovingPair], home: Home) {
    let moved = pairs.iter().filter(|pair| pair.skip != usize::from(home.skip));
    moved.for_each(|pair| keys.prefetch(pair.slot.payload));
}

/// Returns how many blocks these pairs need: at least one.
fn blocks_for(pairs: &[MovingPair]) -> usize {
    pairs.len().div_ceil(SLOTS).max(1)
}

/// The blocks that give way, by number.
type Outgoing<'a, L> = Vec<(u32, &'a L)>;

/// The pairs below a separator, and the others.
#[derive(Clone, Copy)]
struct Halves<'a> {
    lower: &'a [MovingPair],
    upper: &'a [MovingPair],
}

impl<'a> Halves<'a> {
    /// Divides pairs before the one at `middle`.
    fn of(pairs: &'a [MovingPair], middle: usize) -> Self {
        let (lower, upper) = pairs.split_at(middle);
        Halves { lower, upper }
    }
}

/// What a fresh leaf gets.
struct Contents<'a> {
    pairs: &'a [MovingPair],
    home: Home,
    /// The block that gives way to the leaf.
    origin: u32,
}

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// A leaf without a free slot and with fewer live pairs than this is full of old versions, not of pairs. It is
    /// refreshed and not split.
    pub const SPLIT_FROM: usize = if BLOCKS == 1 { SLOTS / 2 } else { SLOTS * 3 / 4 };

    /// Orders the live pairs: for one fresh leaf if there are fewer than `many`, else for two.
    pub fn ordered<K: Keys>(&self, context: ReadContext<'_, Volatile<BLOCKS, F>, K>, many: usize) -> Vec<MovingPair> {
        let mut pairs = Vec::with_capacity(BLOCKS * SLOTS);
        self.segments(context).for_each(|(_, block)| pairs.extend(block.moving_pairs()));
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
    fn filled<'a, K: Keys>(&'a self, own: u32, context: ReadContext<'a, Volatile<BLOCKS, F>, K>) -> Outgoing<'a, Self> {
        let number = |place| if place == 0 { own } else { context.volatile.number(place) };
        let blocks = self.segments(context).map(|(place, block)| (number(place), block));
        blocks.filter(|(_, block)| block.now().bits != 0).collect()
    }

    /// Returns the origin that fresh leaves name, one of the blocks that give way.
    fn origin(outgoing: &Outgoing<'_, Self>, own: u32) -> u32 {
        outgoing.first().map_or(own, |(number, _)| *number)
    }

    /// Commits a split or merge against the death of the process: one store empties the origin's word, and so commits
    /// the leaves that name it. Only then may those leaves clear their origin. If they cleared it first, a process that
    /// dies in between would leave both generations live.
    fn supersede<M: Medium>(
        handle: &mut WriteHandle<'_, M>,
        outgoing: &Outgoing<'_, Self>,
        heirs: &[&[LeafRef<'_, Self>]],
    ) {
        let numbers: Vec<_> = heirs.iter().map(|blocks| blocks[0].number).collect();
        // One store can empty only one block. The others name an heir, and the same store decides for them. All name
        // their heirs for recovery, which looks whether they are still there.
        outgoing.iter().for_each(|(_, block)| block.name_heirs(handle, &numbers));
        outgoing.iter().for_each(|(_, block)| block.publish(handle, 0));
        heirs.iter().copied().flatten().for_each(|heir| heir.leaf.set_kin(handle, 0));
    }

    /// Attaches another overflow block, if the leaf may have one more.
    fn extend<M: Medium>(
        &self,
        own: u32,
        overflow: &Volatile<BLOCKS, F>,
        handle: &mut WriteHandle<'_, M>,
        fresh: LeafRef<'_, Self>,
    ) -> bool {
        let may = overflow.blocks() < BLOCKS;
        if may {
            // No order is needed: a block of a lost epoch is empty, and so is a block without its first pair.
            fresh.leaf.format_block(fresh.volatile, handle, self.home(), own);
            overflow.attach(fresh.number);
            fresh.leaf.copied(overflow, overflow.blocks() - 1);
        }
        may
    }

    /// Makes an uncommitted leaf of the pairs, in as many of the fresh blocks as they need. Returns these blocks.
    fn fill_blocks<'f, 'l, M: Medium, K: Keys>(
        fresh: &'f [LeafRef<'l, Self>],
        keys: &K,
        handle: &mut WriteHandle<'_, M>,
        Contents { pairs, home, origin }: Contents<'_>,
    ) -> &'f [LeafRef<'l, Self>] {
        let used = &fresh[..blocks_for(pairs)];
        // Equal shares leave each block free slots for updates of its own pairs.
        let share = pairs.len().div_ceil(used.len());
        let first = used[0];
        for (place, block) in used.iter().enumerate() {
            let part = &pairs[pairs.len().min(place * share)..pairs.len().min((place + 1) * share)];
            let owner = if place == 0 { 0 } else { first.number };
            block.volatile.begin();
            let settled = block.leaf.settle::<M, K>(block.number, handle, part);
            let part = settled.as_deref().unwrap_or(part);
            let slots = block.leaf.fill(keys, handle, part, home, [origin, owner]);
            if place > 0 {
                first.volatile.attach(block.number);
            }
            first.volatile.set_moved(place, slots);
            block.leaf.copied(first.volatile, place);
        }
        used
    }

    /// Returns the separator between the last pair and the key that found no room, if that one comes after it.
    pub fn separator_after<K: Keys>(
        keys: &K,
        last: &MovingPair,
        search_key: Option<K::SearchKey<'_>>,
    ) -> Option<K::Separator> {
        let search_key = search_key?;
        let key = || keys.key(last.slot).filter(|_| last.is_own(keys));
        let key = keys.compare(last.slot, last.skip, search_key).is_lt().then(key)??;
        Some(K::shortest_separator(&key, &K::to_separator(search_key)))
    }

    /// Returns the separator of these two halves. `None` if a record is not the slot's own, which only damage can
    /// cause: a separator derived from its key would be damage, too.
    pub fn divided<K: Keys>(keys: &K, lower: &[MovingPair], upper: &[MovingPair]) -> Option<K::Separator> {
        let ends = [*lower.last()?, *upper.first()?];
        let own = own_keys(keys, &ends);
        let (last, first) = own.then(|| keys.key(ends[0].slot).zip(keys.key(ends[1].slot)))??;
        Some(K::shortest_separator(&last, &first))
    }

    /// Returns what the ranges on both sides of a separator share. `None` if a record is not the slot's own.
    fn parted<K: Keys>(
        &self,
        keys: &K,
        halves: Halves<'_>,
        range: KeyRange<'_, K::Separator>,
        separator: &K::Separator,
    ) -> Option<[Home; 2]> {
        let homes = [self.home_of::<K>(range.low, Some(separator)), self.home_of::<K>(separator, range.high)];
        prefetch_moved(keys, halves.lower, homes[0]);
        prefetch_moved(keys, halves.upper, homes[1]);
        let fit = rehead_own(keys, halves.lower, homes[0]) && rehead_own(keys, halves.upper, homes[1]);
        fit.then_some(homes)
    }

    /// Returns the home of a leaf of this keyspace with another range.
    fn home_of<K: Keys>(&self, low: &K::Separator, high: Option<&K::Separator>) -> Home {
        Home { skip: K::common(low, high) as u8, ..self.home() }
    }

    /// See [`Leaf::split`].
    pub(super) fn make_room<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let SplitRequest { own, fresh: [left, right], spare, range, room_for, .. } = request;
        let (read, handle) = context.parts();
        let keys = read.keys;
        if self.extend(own, read.volatile, handle, left) {
            return Split::new(own, None);
        }
        let pairs = self.ordered(read, Self::SPLIT_FROM);
        let many = pairs.len() >= Self::SPLIT_FROM;
        let last = pairs.last().filter(|_| many);
        if let Some(separator) = last.and_then(|last| Self::separator_after(keys, last, room_for.key())) {
            return self.begin_after::<M, K>(handle, own, right, range, separator);
        }
        if pairs.len() > (2 + spare.len()) * SLOTS {
            // The caller gave no spare blocks.
            return Split::new(own, None);
        }
        let halves = Halves::of(&pairs, pairs.len() / 2);
        let separator = if many { Self::divided(keys, halves.lower, halves.upper) } else { None };
        if let Some(separator) = separator
            && let Some(split) = self.replace_by_two(context, &request, halves, separator)
        {
            return split;
        }
        // Old versions fill the leaf.
        self.renew(context, &request, &pairs)
    }

    /// Moves all pairs of the leaf into fresh blocks, the first ones of them.
    fn renew<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        request: &SplitRequest<'_, '_, Self, K>,
        pairs: &[MovingPair],
    ) -> Split<K::Separator> {
        let SplitRequest { own, fresh: [left, right], spare, .. } = *request;
        let (read, handle) = context.parts();
        let outgoing = self.filled(own, read);
        let all = [&[left, right], spare].concat();
        let contents = Contents { pairs, home: self.home(), origin: Self::origin(&outgoing, own) };
        let used = Self::fill_blocks(&all, read.keys, handle, contents);
        Self::supersede(handle, &outgoing, &[used]);
        Split::new(left.number, None)
    }

    /// See [`Versioned::move_to`](crate::leaf::Versioned::move_to).
    pub(super) fn move_whole<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let pairs = self.ordered(context.read, Self::SPLIT_FROM);
        self.renew(context, &request, &pairs)
    }

    /// See [`Versioned::split_at`](crate::leaf::Versioned::split_at).
    pub(super) fn make_room_at<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        request: SplitRequest<'_, '_, Self, K>,
        separator: &K::Separator,
    ) -> Split<K::Separator> {
        let SplitRequest { own, fresh: [_, right], range, .. } = request;
        let (read, handle) = context.parts();
        let keys = read.keys;
        let mut pairs = self.ordered(read, usize::MAX);
        // Not every order of fresh blocks sorts.
        arrange(&mut pairs, |a, b| keys.order(a.slot, b.slot));
        let below = |pair: &MovingPair| keys.compare(pair.slot, pair.skip, K::search_key(separator)).is_lt();
        let halves = Halves::of(&pairs, pairs.partition_point(below));
        if halves.upper.is_empty() {
            return self.begin_after::<M, K>(handle, own, right, range, separator.clone());
        }
        match self.replace_by_two(context, &request, halves, separator.clone()) {
            Some(split) => split,
            // The separator leaves more pairs on one side than fresh blocks can take. Halves fit, and a later split
            // comes to the separator.
            None => self.make_room(context, request),
        }
    }

    /// Begins an empty leaf after this one, which keeps all its pairs. There is no commit, because nothing changed:
    /// without its first pair, the fresh leaf is free after a crash.
    fn begin_after<M: Medium, K: Keys>(
        &self,
        handle: &mut WriteHandle<'_, M>,
        own: u32,
        right: LeafRef<'_, Self>,
        range: KeyRange<'_, K::Separator>,
        separator: K::Separator,
    ) -> Split<K::Separator> {
        right.leaf.format(right.volatile, handle, self.home_of::<K>(&separator, range.high));
        Split::new(own, Some((separator, right.number)))
    }

    /// Moves the pairs below a separator into one fresh leaf, and the others into another. `None` if they do not fit,
    /// or if a record is not the slot's own: nothing has changed.
    fn replace_by_two<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        request: &SplitRequest<'_, '_, Self, K>,
        halves: Halves<'_>,
        separator: K::Separator,
    ) -> Option<Split<K::Separator>> {
        let SplitRequest { own, fresh: [left, right], spare, range, .. } = *request;
        let (read, handle) = context.parts();
        let keys = read.keys;
        let homes = self.parted(keys, halves, range, &separator)?;
        let (below, above) = spare.split_at(spare.len() / 2);
        let (lower, upper) = ([&[left], below].concat(), [&[right], above].concat());
        if blocks_for(halves.lower) > lower.len() || blocks_for(halves.upper) > upper.len() {
            return None;
        }
        let outgoing = self.filled(own, read);
        let origin = Self::origin(&outgoing, own);
        let contents = |pairs, home| Contents { pairs, home, origin };
        let used = [
            Self::fill_blocks(&lower, keys, handle, contents(halves.lower, homes[0])),
            Self::fill_blocks(&upper, keys, handle, contents(halves.upper, homes[1])),
        ];
        Self::supersede(handle, &outgoing, &used);
        Some(Split::new(left.number, Some((separator, right.number))))
    }

    /// Moves the pairs of both leaves into the fresh block, if they fit: see
    /// [`Merge::merge`](crate::leaf::Merge::merge).
    pub(super) fn unite<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        request: MergeRequest<'_, Self, K::Separator>,
    ) -> MergedInto {
        let MergeRequest { own, right, fresh: Some(fresh), shared, .. } = request else { return MergedInto::Neither };
        let (context, handle) = context.parts();
        let theirs = context.beside(right.volatile);
        let pairs = [self.ordered(context, usize::MAX), right.leaf.ordered(theirs, usize::MAX)].concat();
        if pairs.len() > MERGE_UP_TO || !Self::records_fit::<K>(&pairs) {
            return MergedInto::Neither;
        }
        let home = Home { skip: shared as u8, ..self.home() };
        if !rehead_own(context.keys, &pairs, home) {
            return MergedInto::Neither;
        }
        let outgoing = [self.filled(own, context), right.leaf.filled(right.number, theirs)].concat();
        let contents = Contents { pairs: &pairs, home, origin: Self::origin(&outgoing, own) };
        let fresh = [fresh];
        let used = Self::fill_blocks(&fresh, context.keys, handle, contents);
        Self::supersede(handle, &outgoing, &[used]);
        MergedInto::Fresh
    }
}
