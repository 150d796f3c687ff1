//! Shore: the template's leaf, with two pairs in the header's line. An insert into that line flushes one line and
//! fences once, where the template flushes two and fences twice. This is the worked example of `docs/new-leaf.md`.
//!
//! ```text
//! bytes 0-7     bitmap: bit s admits pair s; the commit word
//!       8-15    number of the next leaf; 0 is none
//!       16-23   formatted 1 | first 1 | zero 30 | keyspace 24 | zero 8
//!       24-31   unused
//!       32-63   pairs 0 and 1: {head, payload}
//!       64-511  pairs 2 to 29
//! ```
//!
//! Assumption about the medium: what persists of a line is a prefix of the stores to it.

use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    AlongLinks, BlockState, Full, Home, Leaf, LeafRef, Linked, Merge, OneBlock, Pairs, PerOperation, Prefetch,
    ReadContext, RecoveryPoint, Replaced, Split, SplitRequest, WriteContext,
};

/// Pairs in the header's line.
const NEAR: usize = 2;
/// Pairs in another line.
const LINE: usize = 4;
const SLOTS: usize = 30;
const ALL: u64 = (1 << SLOTS) - 1;

/// In the home word: the block has been formatted.
const FORMATTED: u64 = 1;
/// In the home word: the first leaf of its keyspace.
const FIRST: u64 = 1 << 1;

persistent! {
    /// Two durable words.
    pub struct Pair {
        /// The key, or its head.
        pub head: Word,
        /// The value, or the address of the record.
        pub payload: Word,
    }
}

persistent! {
    /// 512 bytes: eight lines, the first of which has a header of four words.
    #[repr(align(64))]
    pub struct Shore {
        bitmap: Word,
        next: Word,
        home: Word,
        unused: Word,
        pairs: [Pair; 30],
    }
}

const _: () = assert!(size_of::<Shore>() == 512, "eight lines");

impl Shore {
    /// Returns the admitted slots with their indices. Any bit pattern is valid: bits beyond the last pair are ignored.
    fn admitted(&self) -> impl Iterator<Item = (usize, Slot)> {
        let bits = self.bitmap.read() & ALL;
        let slot = |pair: &Pair| Slot { head: pair.head.read(), payload: pair.payload.read() };
        let slots = self.pairs.iter().map(slot).enumerate();
        slots.filter(move |(index, _)| bits >> index & 1 == 1)
    }

    fn find<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<(usize, Slot)> {
        let head = K::head(search_key, 0);
        self.admitted().find(|(_, slot)| slot.head == head && context.keys.is(*slot, search_key))
    }

    fn commit<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, bits: u64) {
        handle.write(&self.bitmap, bits & ALL);
        handle.persist(&self.bitmap);
    }

    fn write_pair<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, slot: Slot) {
        handle.write(&self.pairs[index].head, slot.head);
        handle.write(&self.pairs[index].payload, slot.payload);
    }
}

impl Leaf for Shore {
    const SOURCE: &'static str = "none: the worked example";
    const CAPACITY: usize = SLOTS;
    const NEEDS_LINE_ORDER: bool = true;
    type Volatile = ();
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = AlongLinks;

    fn get<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.find(context, search_key).map(|(_, slot)| slot.payload)
    }

    fn block_pairs(&self, _: &(), out: &mut Pairs) {
        self.admitted().for_each(|(_, slot)| out.push(slot));
    }

    fn format<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, home: Home) {
        handle.write(&self.next, 0);
        self.commit(handle, 0);
        let first = if home.first { FIRST } else { 0 };
        // After the bitmap: a crash that kept this mark and lost the empty bitmap would leave the block's old pairs.
        handle.write(&self.home, u64::from(home.keyspace) << 32 | first | FORMATTED);
        // Survivor (flush, fence): no crash tells an empty tree from none, and the first put flushes this line.
        handle.persist(&self.home);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = context.parts();
        if let Some((index, old)) = self.find(context, search_key) {
            handle.write(&self.pairs[index].payload, payload);
            handle.persist(&self.pairs[index].payload);
            return Ok(Some(Replaced { payload: old.payload, same_epoch: false }));
        }
        let bits = self.bitmap.read() & ALL;
        let free = !bits & ALL;
        if free == 0 {
            return Err(Full);
        }
        let index = free.trailing_zeros() as usize;
        self.write_pair(handle, index, Slot { head: K::head(search_key, 0), payload });
        if index >= NEAR {
            // Before the bit: a crash must not keep the bit and lose the pair. In the header's line, the order of the
            // stores ensures that.
            handle.persist(&self.pairs[index]);
        }
        self.commit(handle, bits | 1 << index);
        Ok(None)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let (index, old) = self.find(context, search_key)?;
        self.commit(handle, self.bitmap.read() & !(1 << index));
        Some(Replaced { payload: old.payload, same_epoch: false })
    }

    /// Splits in place: the upper half moves to the first fresh block.
    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, fresh: [LeafRef { number, leaf: right, .. }, _], .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let mut slots: Vec<_> = self.admitted().collect();
        slots.sort_unstable_by(|(_, a), (_, b)| context.keys.order(*a, *b));
        let (lower, upper) = slots.split_at(slots.len() / 2);
        let ends = lower.last().zip(upper.first());
        let Some((low, high)) = ends.and_then(|(a, b)| context.keys.key(a.1).zip(context.keys.key(b.1))) else {
            // A payload that refers to no record is damage. The leaf stays whole, because no half would be better.
            return Split::new(own, None);
        };
        for (index, (_, slot)) in upper.iter().enumerate() {
            right.write_pair(handle, index, *slot);
        }
        handle.write(&right.bitmap, (1 << upper.len()) - 1);
        handle.write(&right.next, self.next.read());
        handle.write(&right.home, self.home.read() & !FIRST);
        handle.flush(&right.bitmap);
        for index in (NEAR..upper.len()).step_by(LINE) {
            handle.flush(&right.pairs[index]);
        }
        // Before the link: a crash must not keep the link and lose the right leaf.
        handle.fence();
        // Before the truncation, in the same line: if a crash kept it and lost the link, the upper half would be in
        // neither leaf.
        handle.write(&self.next, u64::from(number));
        let moved = upper.iter().fold(0, |bits, (index, _)| bits | 1 << index);
        self.commit(handle, self.bitmap.read() & !moved);
        Split::new(own, Some((K::shortest_separator(&low, &high), number)))
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        handle.write(&self.home, 0);
        handle.persist(&self.home);
    }

    fn recover<'a, M: Medium>(
        &'a self,
        _: u32,
        _: &(),
        _: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        let home = self.home.read();
        let live = BlockState::Live { keyspace: (home >> 32) as u32 & 0xff_ffff, first: home & FIRST != 0 };
        Ok(if home & FORMATTED == 0 { BlockState::Free } else { live })
    }
}

impl Prefetch for Shore {}

impl Merge for Shore {}

impl Linked for Shore {
    fn next(&self) -> u32 {
        self.next.read() as u32
    }

    /// Repairs a split that a crash stopped between its link and its truncation: the upper half is in both leaves, and
    /// this leaf gives it up.
    fn repair_link<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, right: Option<&Self>) {
        let (context, handle) = context.parts();
        let slots = right.into_iter().flat_map(Self::admitted).map(|(_, slot)| slot);
        let Some(lowest) = slots.min_by(|a, b| context.keys.order(*a, *b)) else { return };
        let both = self.admitted().filter(|(_, slot)| context.keys.order(*slot, lowest).is_ge());
        let given_up = both.fold(0, |bits, (index, _)| bits | 1 << index);
        if given_up != 0 {
            self.commit(handle, self.bitmap.read() & !given_up);
        }
    }

    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, next: u32) {
        let (_, handle) = context.parts();
        handle.write(&self.next, next.into());
        handle.flush(&self.next);
    }
}
