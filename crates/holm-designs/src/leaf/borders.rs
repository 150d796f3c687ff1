//! Borders: the ends of a leaf's range replace a bitmap. A pair counts if and only if its key lies within them.
//!
//! Durable when an operation returns. An insert stores a value and then a key into a slot whose key lies outside the
//! borders: one line, one fence. A split moves the upper border, and the same store makes dead on the left what moved
//! to the right. DRAM beside the block keeps what makes searches fast: which slots count, and a fingerprint of each.
//!
//! ```text
//! bytes 0-7     low: where the range starts, written once
//!       8-15    LEAF, FIRST | zero | keyspace 24 | next leaf 32: the commit word of split and merge
//!       16-511  31 pairs {key, value} in any order; slot i lies in line (i + 1) / 4
//! ```
//!
//! **A pair counts** if `low <= key < high`. `high` is the `low` of the next leaf; without a next leaf there is no
//! upper end. Any other key is dead. Zero is dead wherever `low` is greater. In the first leaf the greatest key of all
//! is dead, for it belongs to the last leaf. So every range leaves out one key that means "no pair". Every key has a
//! leaf if there are two. A single leaf has no place for the greatest key, and splits to make one, however few pairs it
//! holds.
//!
//! **A range that grows** makes keys count that lay beyond it. So a writer that removes a right neighbour from the
//! chain first overwrites such keys, durably. A range that shrinks needs nothing. A block that no leaf ever used is
//! zero, and so is ready to become a right leaf; a used block is overwritten completely.
//!
//! Borders are keys, so slots must hold whole keys: the design does not support keys in records. Assumption about the
//! medium: what persists of a line is a prefix of the stores to it.

use crate::row::flush_lines;
use crate::slot_fingerprints::SlotFingerprints;
use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    AlongLinks, BlockByte, BlockState, Full, Home, Leaf, Linked, MOST_PAIRS, Merge, MergeRequest, MergedInto, OneBlock,
    Pairs, PendingPair, PerOperation, Prefetch, ReadContext, RecoveryPoint, Replaced, Split, SplitRequest,
    WriteContext, damaged,
};
use holm_tree::pair::Pair;
use holm_tree::pair::slots;
use holm_tree::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

const SLOTS: usize = 31;
const ALL: u32 = (1 << SLOTS) - 1;

/// The number of pairs that a split moves, out of 32: with the header, four lines.
const MOVED: usize = 15;

/// A leaf with fewer pairs looks for a neighbour to merge with,
const SPARSE: usize = 6;

/// and merges if the two hold at most this many pairs together, or one of them none.
const MERGE_UP_TO: usize = 15;

/// The block is a leaf.
const LEAF: u64 = 1 << 63;
/// The first leaf of its keyspace.
const FIRST: u64 = 1 << 62;
/// Where the keyspace lies in the link word, and the number of possible keyspaces.
const KEYSPACE: u32 = 32;
const KEYSPACES: u64 = 1 << 24;
const NEXT: u64 = u32::MAX as u64;

persistent! {
    /// 512 bytes: two words of header and 31 pairs.
    #[repr(align(64))]
    pub struct Borders {
        low: Word,
        link: Word,
        pairs: [Pair; 31],
    }
}

const _: () = assert!(size_of::<Borders>() == 512 && SLOTS <= MOST_PAIRS);

/// What DRAM knows of a leaf's slots. Recovery derives it from keys and borders, and searches use it.
#[derive(Default)]
pub struct Known {
    /// A bit for each slot that counts.
    counts: AtomicU32,
    /// The block has been written since it was zero.
    used: AtomicBool,
    fingerprints: SlotFingerprints,
}

impl Known {
    #[inline]
    fn counts(&self) -> u32 {
        self.counts.load(Relaxed)
    }

    fn set(&self, slot: usize, fingerprint: u8) {
        self.fingerprints.set(slot, fingerprint);
        self.counts.store(self.counts() | 1 << slot, Relaxed);
    }

    fn clear(&self, slots: u32) {
        self.counts.store(self.counts() & !slots, Relaxed);
    }
}

/// A moving pair, with its fingerprint.
#[derive(Clone, Copy, Default)]
struct MovingPair {
    slot: Slot,
    fingerprint: u8,
    /// The slot that it leaves; `None` for a new pair.
    from: Option<u8>,
}

/// The pairs that a split divides: those of a full leaf and one more, without heap memory.
struct Halves {
    pairs: [MovingPair; SLOTS + 1],
    count: usize,
    middle: usize,
}

impl Halves {
    /// In any order.
    fn lower(&self) -> &[MovingPair] {
        &self.pairs[..self.middle]
    }

    /// Ascending.
    fn upper(&self) -> &[MovingPair] {
        &self.pairs[self.middle..self.count]
    }
}

impl Borders {
    #[inline]
    fn slot(&self, index: usize) -> Slot {
        let pair = &self.pairs[index];
        Slot { head: pair.head.read(), payload: pair.payload.read() }
    }

    /// The slots whose fingerprint equals the search key's.
    #[inline]
    fn candidates<K: Keys>(context: ReadContext<'_, Known, K>, search_key: K::SearchKey<'_>) -> u32 {
        let known = context.volatile;
        known.fingerprints.alike(context.search, K::fingerprint(search_key)) & known.counts()
    }

    #[inline]
    fn find<K: Keys>(&self, context: ReadContext<'_, Known, K>, search_key: K::SearchKey<'_>) -> Option<(usize, u64)> {
        let mut candidates = Self::candidates(context, search_key);
        while candidates != 0 {
            let index = candidates.trailing_zeros() as usize;
            let slot = self.slot(index);
            if context.keys.is(slot, search_key) {
                return Some((index, slot.payload));
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// A key outside the borders, wherever the upper one lies.
    fn dead(&self) -> u64 {
        if self.low.read() > 0 { 0 } else { u64::MAX }
    }

    /// Whether a key has no place although slots are free: the greatest key, in a single leaf.
    #[inline]
    fn shuns(&self, key: u64) -> bool {
        key == u64::MAX && self.low.read() == 0 && self.next() == 0
    }

    fn link_to(&self, next: u32) -> u64 {
        self.link.read() & !NEXT | u64::from(next)
    }

    /// Stores a pair into a dead slot, the key last: the key makes the pair count, and the value must be there before
    /// it.
    fn store<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, slot: usize, pair: Slot) {
        handle.write(&self.pairs[slot].payload, pair.payload);
        handle.write(&self.pairs[slot].head, pair.head);
    }

    /// Flushes the lines of these slots, each once.
    fn flush<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, changed: u32) {
        flush_lines(handle, &self.pairs, 1, changed);
    }

    fn moving_pairs<'a>(&'a self, known: &'a Known) -> impl Iterator<Item = MovingPair> {
        let of = |slot| MovingPair {
            slot: self.slot(slot),
            fingerprint: known.fingerprints.of(slot),
            from: Some(slot as u8),
        };
        slots(known.counts()).map(of)
    }

    /// Makes an unreachable block the right half of a split.
    fn fill<M: Medium>(
        &self,
        known: &Known,
        handle: &mut WriteHandle<'_, M>,
        low: u64,
        link: u64,
        pairs: &[MovingPair],
    ) {
        // Before anything else: if the process dies in between, no block looks unused that is not.
        handle.write(&self.low, low);
        handle.write(&self.link, link);
        // The greatest first: the next split moves those, so a pair that waits for it finds a slot in the link's line.
        let placed = || pairs.iter().rev().enumerate();
        for (slot, pair) in placed() {
            self.store(handle, slot, pair.slot);
        }
        let filled: u32 = (1 << pairs.len()) - 1;
        // The header's line, in any case.
        let mut changed = 1 | filled;
        if known.used.swap(true, Relaxed) {
            changed = ALL;
            slots(ALL & !filled).for_each(|slot| handle.write(&self.pairs[slot].head, 0));
        }
        self.flush(handle, changed);
        known.clear(ALL);
        placed().for_each(|(slot, pair)| known.set(slot, pair.fingerprint));
    }

    /// The halves of a full leaf and the pair that found no room; `None` if there is room by now. If the caller does
    /// not say which pair found no room, a single leaf believes that it is full.
    fn halves<K: Keys>(
        &self,
        context: ReadContext<'_, Known, K>,
        pending: Option<PendingPair<'_, K>>,
    ) -> Option<Halves> {
        let known = context.volatile;
        let key = pending.map_or(u64::MAX, |pending| K::head(pending.search_key, 0));
        if known.counts() != ALL && !self.shuns(key) {
            return None;
        }
        let new = match pending {
            Some(PendingPair { search_key, .. }) if self.find(context, search_key).is_some() => return None,
            Some(PendingPair { search_key, payload }) => Some(MovingPair {
                slot: Slot { head: key, payload },
                fingerprint: K::fingerprint(search_key),
                from: None,
            }),
            None => None,
        };
        let mut halves = Halves { pairs: [MovingPair::default(); SLOTS + 1], count: 0, middle: 0 };
        for (place, pair) in halves.pairs.iter_mut().zip(self.moving_pairs(known).chain(new)) {
            *place = pair;
            halves.count += 1;
        }
        // If the greatest key of all found no room, it goes to the upper half, even if that has no other pair.
        let moved = (halves.count + usize::from(new.is_some())) / 2;
        halves.middle = halves.count - moved.min(MOVED);
        let (key, middle) = (|pair: &MovingPair| pair.slot.head, halves.middle);
        // These are copies that no writer changes, so the standard library may sort them. The order of the lower half
        // does not matter.
        let all = &mut halves.pairs[..halves.count];
        if middle < all.len() {
            all.select_nth_unstable_by_key(middle, key);
            all[middle..].sort_unstable_by_key(key);
        }
        Some(halves)
    }

    /// Removes the right neighbour from the chain and takes its pairs over. Leaves the last flush for the caller to
    /// fence.
    fn widen<M: Medium>(
        &self,
        known: &Known,
        handle: &mut WriteHandle<'_, M>,
        mut coming: impl Iterator<Item = MovingPair>,
        next: u32,
    ) {
        let dead = self.dead();
        let mut changed = 0;
        for slot in slots(ALL & !known.counts()) {
            if let Some(pair) = coming.next() {
                // The pair still lies beyond the upper border.
                self.store(handle, slot, pair.slot);
                known.set(slot, pair.fingerprint);
            } else if self.pairs[slot].head.read() != dead {
                handle.write(&self.pairs[slot].head, dead);
            } else {
                continue;
            }
            changed |= 1 << slot;
        }
        if changed != 0 {
            self.flush(handle, changed);
            // Before the border moves: otherwise a crash keeps the border's move, makes old dead keys count, or loses
            // the pairs that move here.
            handle.fence();
        }
        // The commit word: the range between the two upper borders is this leaf's.
        handle.write(&self.link, self.link_to(next));
        handle.flush(&self.link);
    }
}

impl Leaf for Borders {
    const SOURCE: &'static str = "none: our own";
    const CAPACITY: usize = SLOTS;
    const NEEDS_LINE_ORDER: bool = true;
    const NEEDS_WHOLE_KEYS: bool = true;
    type Volatile = Known;
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = AlongLinks;

    #[inline]
    fn get<K: Keys>(&self, context: ReadContext<'_, Known, K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.find(context, search_key).map(|(_, payload)| payload)
    }

    fn block_pairs(&self, known: &Known, out: &mut Pairs) {
        slots(known.counts()).for_each(|slot| out.push(self.slot(slot)));
    }

    fn format<M: Medium>(&self, known: &Known, handle: &mut WriteHandle<'_, M>, home: Home) {
        assert!(home.first, "where another leaf starts, only a split can say");
        assert!(u64::from(home.keyspace) < KEYSPACES, "keyspaces are numbered below 2^24");
        // Zero is a key here.
        self.pairs.iter().for_each(|pair| handle.write(&pair.head, u64::MAX));
        self.flush(handle, ALL & !0b111);
        // Before the block is a leaf: otherwise a crash leaves a leaf with the pairs of the block's last use.
        handle.fence();
        handle.write(&self.low, 0);
        // The commit word, last in its line.
        handle.write(&self.link, LEAF | FIRST | u64::from(home.keyspace) << KEYSPACE);
        // Survivor (flush, fence): no crash tells an empty tree from none, and the first pair goes into this line.
        handle.persist(&self.link);
        known.used.store(true, Relaxed);
        known.clear(ALL);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = context.parts();
        let known = context.volatile;
        if let Some((slot, old)) = self.find(context, search_key) {
            // The commit word.
            handle.write(&self.pairs[slot].payload, payload);
            // Before the new value is acknowledged or seen: otherwise a crash brings the old value back.
            handle.persist(&self.pairs[slot]);
            return Ok(Some(Replaced { payload: old, same_epoch: false }));
        }
        let (free, head) = (!known.counts() & ALL, K::head(search_key, 0));
        if free == 0 || self.shuns(head) {
            return Err(Full);
        }
        let slot = free.trailing_zeros() as usize;
        // The commit word is the key.
        self.store(handle, slot, Slot { head, payload });
        // Before the pair is acknowledged or seen: otherwise a crash loses it.
        handle.persist(&self.pairs[slot]);
        known.set(slot, K::fingerprint(search_key));
        Ok(None)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let (slot, payload) = self.find(context, search_key)?;
        // The commit word.
        handle.write(&self.pairs[slot].head, self.dead());
        // Before the removal is acknowledged or seen: otherwise a crash brings the pair back.
        handle.persist(&self.pairs[slot]);
        context.volatile.clear(1 << slot);
        Some(Replaced { payload, same_epoch: false })
    }

    /// Splits into one fresh block. One commit word covers the split and, if possible, the pair that found no room.
    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        SplitRequest { own, fresh: [right, _], room_for, .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let pending = room_for.pair();
        let (context, handle) = context.parts();
        let (known, stays) = (context.volatile, Split::new(own, None));
        let Some(halves) = self.halves(context, pending) else { return stays };
        let (lower, upper) = (halves.lower(), halves.upper());
        let key = |pair: &MovingPair| pair.slot.head;
        let (last, first) = (lower.iter().map(key).max().unwrap_or(0), upper.first().map_or(u64::MAX, key));
        // Halfway between the halves; the middle of all keys, where both are empty. Between equal keys, which only
        // damage can cause, there is no separator: the tree set reports a leaf that stays full.
        let low = last.midpoint(first).saturating_add(1);
        let separator = context.keys.key(Slot { head: low, payload: 0 });
        let Some(separator) = separator.filter(|_| last < low && low <= first) else { return stays };
        right.leaf.fill(right.volatile, handle, low, self.link.read() & !FIRST, upper);
        // Before the link: otherwise a crash keeps the link and loses the pairs to which it leads.
        handle.fence();
        // The commit word: this leaf's upper border is now the right leaf's lower one.
        handle.write(&self.link, self.link_to(right.number));
        let gone = upper.iter().filter_map(|pair| pair.from).fold(0, |gone, slot| gone | 1 << slot);
        known.clear(gone);
        let new = lower.iter().find(|pair| pair.from.is_none());
        // What moved away is dead only once the link is durable. In the link's own line, the link persists first
        // anyway.
        let place = slots(gone & 0b111).next();
        if let Some((pair, place)) = new.zip(place) {
            // The commit word of the insert is the key.
            self.store(handle, place, pair.slot);
            known.set(place, pair.fingerprint);
        }
        // Before readers see the split: otherwise a crash loses the link, and with it what later goes to the right
        // leaf.
        handle.persist(&self.link);
        let put = pending.is_some() && (new.is_none() || place.is_some());
        Split { left: own, right: Some((separator, right.number)), put }
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.link, 0);
        // Before the block is reused: otherwise recovery finds the first leaf of a dropped keyspace.
        handle.persist(&self.link);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        own: u32,
        known: &Known,
        _: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        let (low, link) = (self.low.read(), self.link.read());
        if link == 0 {
            let noise = |pair: &Pair| pair.head.read() | pair.payload.read() != 0;
            known.used.store(low != 0 || self.pairs.iter().any(noise), Relaxed);
            return Ok(BlockState::Free);
        }
        known.used.store(true, Relaxed);
        let (first, keyspace) = (link & FIRST != 0, (link & !(LEAF | FIRST)) >> KEYSPACE);
        if link & LEAF == 0 || keyspace >= KEYSPACES || first != (low == 0) {
            let expected = "a keyspace below 2^24, the mark of a leaf, and zero as the lower border of the first alone";
            return Err(damaged::<Self>(
                BlockByte::first_of(own),
                "a leaf's header",
                format!("{low:#x}, {link:#x}"),
                expected,
            ));
        }
        Ok(BlockState::Live { keyspace: keyspace as u32, first })
    }
}

impl Linked for Borders {
    fn next(&self) -> u32 {
        self.link.read() as u32
    }

    fn low<K: Keys>(&self, context: ReadContext<'_, Known, K>) -> Option<K::Separator> {
        context.keys.key(Slot { head: self.low.read(), payload: 0 })
    }

    /// Repairs nothing: no change is ever half done, because the borders alone decide what counts.
    fn repair_link<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Known, M, K>, right: Option<&Self>) {
        let ReadContext { volatile: known, keys, .. } = context.read;
        let low = self.low.read();
        let high = right.map(|right| right.low.read());
        known.clear(ALL);
        for slot in 0..SLOTS {
            let key = self.pairs[slot].head.read();
            let within = low <= key && high.is_none_or(|high| key < high) && !self.shuns(key);
            if let Some(separator) = keys.key(self.slot(slot)).filter(|_| within) {
                known.set(slot, K::fingerprint(K::search_key(&separator)));
            }
        }
    }

    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, Known, M, K>, next: u32) {
        self.widen(context.read.volatile, context.handle, std::iter::empty(), next);
    }
}

impl Prefetch for Borders {
    /// Does nothing: fingerprints are not in the block.
    #[inline]
    fn prefetch_header(&self) {}

    #[inline]
    fn prefetch_pairs<K: Keys>(&self, context: ReadContext<'_, Known, K>, search_key: K::SearchKey<'_>) {
        let candidates = Self::candidates(context, search_key);
        if candidates != 0 {
            holm_search::prefetch(&self.pairs[candidates.trailing_zeros() as usize]);
        }
    }
}

impl Merge for Borders {
    fn sparse<K: Keys>(&self, context: ReadContext<'_, Known, K>) -> bool {
        (context.volatile.counts().count_ones() as usize) < SPARSE
    }

    fn merge<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, Known, M, K>,
        MergeRequest { right, .. }: MergeRequest<'_, Self, K::Separator>,
    ) -> MergedInto {
        let (ReadContext { volatile: known, .. }, handle) = context.parts();
        let [own, other] = [known, right.volatile].map(|known| known.counts().count_ones() as usize);
        let next = right.leaf.next();
        let alone = self.low.read() == 0 && next == 0;
        let homeless = alone && right.leaf.moving_pairs(right.volatile).any(|pair| pair.slot.head == u64::MAX);
        if homeless || own.min(other) > 0 && own + other > MERGE_UP_TO {
            return MergedInto::Neither;
        }
        self.widen(known, handle, right.leaf.moving_pairs(right.volatile), next);
        // Before the merge is seen and the right block is reused: otherwise a crash leaves the reused block in the
        // chain.
        handle.fence();
        MergedInto::Left
    }
}
