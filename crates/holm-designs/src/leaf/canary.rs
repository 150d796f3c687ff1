//! A plain leaf with known bugs, one for each tree. The proof must catch the bugs, and the leaf is the simplest of
//! all.
//!
//! Unsorted pairs under a bitmap, leaves linked to the right; durable when an operation returns. The leaf exists only
//! for the proof and is in no list that users see. The bugs belong to classes that published indexes had. Without a
//! bug, every scenario passes under every model of persistency.
//!
//! ```text
//! bytes 0-7     bitmap: bit s admits pair s; the commit word
//!       8-15    the next leaf's number
//!       16-23   0 for no leaf, else 1 + keyspace, which says the bug; bit 32: the first of its chain
//!       24-31   a second bitmap, of one bug alone
//!       32-47   a count and a lock, of one bug and of two
//!       64-511  28 pairs {key, payload}
//! ```

mod bug;

pub use bug::Bug;

use holm_medium::{Medium, Result, Word, WriteHandle, persistent};
use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{
    AlongLinks, BlockState, Full, Home, Leaf, Linked, Merge, OneBlock, Pairs, PerOperation, Prefetch, ReadContext,
    RecoveryPoint, Replaced, Split, SplitRequest, WriteContext,
};
use std::cmp::Ordering;

const SLOTS: usize = 28;
const ALL: u64 = (1 << SLOTS) - 1;
const FIRST: u64 = 1 << 32;

/// The slots whose bits the torn bitmap keeps in its second word.
const HIGH: u64 = ALL & !((1 << (SLOTS / 2)) - 1);

persistent! {
    /// Two durable words.
    pub struct Pair {
        key: Word,
        payload: Word,
    }
}

persistent! {
    /// 512 bytes: a header line, and seven lines of pairs.
    #[repr(align(64))]
    pub struct Canary {
        bitmap: Word,
        next: Word,
        home: Word,
        high: Word,
        count: Word,
        lock: Word,
        unused: [Word; 2],
        pairs: [Pair; 28],
    }
}

impl Canary {
    fn bits(&self) -> u64 {
        if self.bug() == Bug::Torn {
            (self.bitmap.read() & !HIGH | self.high.read() & HIGH) & ALL
        } else {
            self.bitmap.read() & ALL
        }
    }

    fn slot(&self, index: usize) -> Slot {
        Slot { head: self.pairs[index].key.read(), payload: self.pairs[index].payload.read() }
    }

    fn used(&self) -> impl Iterator<Item = usize> {
        let bits = self.bits();
        (0..SLOTS).filter(move |index| bits >> index & 1 == 1 && !self.overlooked(bits, *index))
    }

    /// Whether the bug hides a pair that is present.
    fn overlooked(&self, bits: u64, index: usize) -> bool {
        let slot = self.slot(index);
        match self.bug() {
            Bug::Zero => slot.head == 0,
            Bug::Null => slot.payload == 0,
            Bug::Equal => index > 0 && bits >> (index - 1) & 1 == 1 && self.slot(index - 1).payload == slot.payload,
            Bug::Greatest => slot.head == u64::MAX,
            Bug::Resurrects => (0..index).any(|other| bits >> other & 1 == 1 && self.slot(other).head == slot.head),
            _ => false,
        }
    }

    fn find<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<usize> {
        self.used().find(|index| context.keys.is(self.slot(*index), search_key))
    }

    /// Stores the commit word; with the torn bitmap there are two.
    fn commit<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, bits: u64) {
        handle.write(&self.bitmap, bits);
        if self.bug() == Bug::Torn {
            handle.write(&self.high, bits);
        }
        handle.flush(&self.bitmap);
        // Before the operation returns: otherwise a crash undoes what was acknowledged.
        handle.fence();
    }

    /// The next slot according to the count, in the bug that trusts it.
    fn counted(&self) -> Option<usize> {
        Some(self.count.read() as usize).filter(|count| self.bug() == Bug::Counted && *count < SLOTS)
    }

    /// Whether the leaf had pairs before. A fresh block is empty, too.
    fn deserted(&self) -> bool {
        self.pairs[0].payload.read() != 0
    }

    fn store<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, index: usize, key: u64, payload: u64) {
        let bug = self.bug();
        handle.write(&self.pairs[index].key, key);
        handle.write(&self.pairs[index].payload, payload);
        if bug != Bug::Unflushed {
            handle.flush(&self.pairs[if bug == Bug::Misaimed { 0 } else { index }]);
        }
        if bug != Bug::Unfenced {
            // Before the bitmap: otherwise a crash keeps the bit and loses the pair that it admits.
            handle.fence();
        }
    }

    /// The slots that count, in key order.
    fn sorted<K: Keys>(&self, context: ReadContext<'_, (), K>) -> Vec<(usize, Slot)> {
        let mut pairs: Vec<_> = self.used().map(|index| (index, self.slot(index))).collect();
        pairs.sort_unstable_by(|a, b| context.keys.order(a.1, b.1));
        pairs
    }

    fn link<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, next: u32) {
        handle.write(&self.next, next.into());
        if self.bug() != Bug::Unlinked {
            handle.flush(&self.next);
        }
        // Before the truncation: otherwise a crash loses the link, and the upper half is in neither leaf.
        handle.fence();
    }

    fn set_home<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, home: Home) {
        handle.write(&self.home, (1 + u64::from(home.keyspace)) | if home.first { FIRST } else { 0 });
    }

    fn home(&self) -> Home {
        let word = self.home.read();
        Home { keyspace: (word as u32).wrapping_sub(1), skip: 0, first: word & FIRST != 0 }
    }

    fn bug(&self) -> Bug {
        Bug::of(self.home())
    }
}

impl Leaf for Canary {
    const SOURCE: &'static str = "none: known bugs";
    const CAPACITY: usize = SLOTS;
    type Volatile = ();
    type Durability = PerOperation;
    type Overflow = OneBlock;
    type Recovery = AlongLinks;

    fn get<K: Keys>(&self, context: ReadContext<'_, (), K>, search_key: K::SearchKey<'_>) -> Option<u64> {
        self.find(context, search_key).map(|index| self.slot(index).payload)
    }

    fn block_pairs(&self, _: &(), out: &mut Pairs) {
        self.used().for_each(|index| out.push(self.slot(index)));
    }

    fn format<M: Medium>(&self, _: &(), handle: &mut WriteHandle<'_, M>, home: Home) {
        let bug = Bug::of(home);
        if bug == Bug::Unswept {
            self.set_home(handle, home);
            handle.persist(&self.home);
        }
        if bug == Bug::Counted {
            handle.write(&self.count, 0);
        }
        if [Bug::Stuck, Bug::Erodes].contains(&bug) {
            handle.write(&self.lock, 0);
        }
        handle.write(&self.bitmap, 0);
        // Survivor (store): this word counts only with the torn bitmap.
        handle.write(&self.high, 0);
        handle.write(&self.next, 0);
        // Before the block becomes a leaf: otherwise a crash leaves a leaf with the pairs of the block's last use.
        handle.persist(&self.bitmap);
        self.set_home(handle, home);
        // Survivor (flush, fence): no crash tells an empty tree from none, and the first put flushes this line and
        // fences.
        handle.persist(&self.home);
    }

    fn insert<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
        payload: u64,
    ) -> std::result::Result<Option<Replaced>, Full> {
        let (context, handle) = context.parts();
        let bug = self.bug();
        let found = self.find(context, search_key);
        if let Some(index) = found.filter(|_| ![Bug::Torn, Bug::Twice, Bug::Nowhere, Bug::Resurrects].contains(&bug)) {
            let old = self.slot(index).payload;
            handle.write(&self.pairs[index].payload, payload);
            handle.flush(&self.pairs[index].payload);
            // Before the operation returns: otherwise a crash brings the old payload back.
            handle.fence();
            return Ok(Some(Replaced { payload: old, same_epoch: false }));
        }
        let bits = self.bits();
        let free = !bits & if bug == Bug::Brim { ALL << 1 | 1 } else { ALL };
        if free == 0 || bug == Bug::Stuck && self.lock.read() != 0 || bug == Bug::Barren && bits == 0 && self.deserted()
        {
            return Err(Full);
        }
        if bug == Bug::Stuck {
            handle.write(&self.lock, 1);
        }
        if bug == Bug::Erodes {
            handle.write(&self.lock, 1);
            handle.persist(&self.lock);
        }
        // A replaced pair moves to the other half, so that both words of a torn bitmap must change.
        let other = found.map_or(ALL, |index| if HIGH >> index & 1 == 1 { !HIGH } else { HIGH });
        let choice = if free & other == 0 { free } else { free & other };
        let index = self.counted().unwrap_or(choice.trailing_zeros() as usize);
        let old = found.map(|index| Replaced { payload: self.slot(index).payload, same_epoch: false });
        let gone = found.map_or(0, |index| 1 << index);
        let changed = bits & !gone | 1 << index;
        if bug == Bug::Early {
            self.commit(handle, changed);
        }
        self.store(handle, index, K::head(search_key, 0), payload);
        match bug {
            Bug::Twice | Bug::Resurrects => self.commit(handle, bits | 1 << index),
            Bug::Nowhere => self.commit(handle, bits & !gone),
            _ => {}
        }
        if bug != Bug::Early {
            self.commit(handle, changed);
        }
        if bug == Bug::Counted {
            handle.write(&self.count, self.count.read() + 1);
            handle.persist(&self.count);
        }
        if bug == Bug::Stuck {
            handle.write(&self.lock, 0);
        }
        if bug == Bug::Erodes {
            handle.write(&self.lock, 0);
            handle.persist(&self.lock);
        }
        Ok(old)
    }

    fn remove<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        search_key: K::SearchKey<'_>,
    ) -> Option<Replaced> {
        let (context, handle) = context.parts();
        let index = self.find(context, search_key)?;
        let payload = self.slot(index).payload;
        let bits = self.bits() & !(1 << index);
        if self.bug() == Bug::UnflushedRemoval {
            handle.write(&self.bitmap, bits);
        } else {
            self.commit(handle, bits);
        }
        Some(Replaced { payload, same_epoch: false })
    }

    fn split<M: Medium, K: Keys>(
        &self,
        context: &mut WriteContext<'_, '_, (), M, K>,
        SplitRequest { own, fresh: [right, _], .. }: SplitRequest<'_, '_, Self, K>,
    ) -> Split<K::Separator> {
        let (context, handle) = context.parts();
        let bug = self.bug();
        let pairs = self.sorted(context);
        let middle = pairs.len() / 2;
        let (lower, upper) = pairs.split_at(middle);
        let ends = lower.last().zip(upper.first());
        let separators = ends.and_then(|(last, first)| context.keys.key(last.1).zip(context.keys.key(first.1)));
        // Records are missing: this is damage, and no split can help.
        let Some((last, first)) = separators else { return Split::new(own, None) };
        for (pair, (_, slot)) in right.leaf.pairs.iter().zip(upper) {
            handle.write(&pair.key, slot.head);
            handle.write(&pair.payload, slot.payload);
        }
        let filled = (1 << upper.len()) - 1;
        handle.write(&right.leaf.bitmap, filled);
        if bug == Bug::Torn {
            handle.write(&right.leaf.high, filled);
        }
        if bug == Bug::Counted {
            handle.write(&right.leaf.count, upper.len() as u64);
        }
        if [Bug::Stuck, Bug::Erodes].contains(&bug) {
            handle.write(&right.leaf.lock, 0);
        }
        handle.write(&right.leaf.next, self.next.read());
        right.leaf.set_home(handle, Home { first: false, ..self.home() });
        let lines = if bug == Bug::Hollow { 0 } else { (upper.len() * size_of::<Pair>()).div_ceil(64) };
        handle.flush(&right.leaf.bitmap);
        right.leaf.pairs.chunks(4).take(lines).for_each(|line| handle.flush(&line[0]));
        // Before the link: otherwise a crash keeps the link and loses the pairs to which it leads.
        handle.fence();
        let truncated = lower.iter().fold(0, |bits, (index, _)| bits | 1 << index);
        if bug == Bug::Lost {
            self.commit(handle, truncated);
            self.link(handle, right.number);
        } else {
            self.link(handle, right.number);
            self.commit(handle, truncated);
        }
        Split::new(own, Some((K::shortest_separator(&last, &first), right.number)))
    }

    fn release<M: Medium>(&self, handle: &mut WriteHandle<'_, M>) {
        let bug = self.bug();
        handle.write(&self.home, 0);
        if bug != Bug::Undead {
            handle.persist(&self.home);
        }
    }

    fn recover<'a, M: Medium>(
        &'a self,
        _: u32,
        _: &(),
        handle: &mut WriteHandle<'_, M>,
        _: RecoveryPoint,
        _: &dyn Fn(u32) -> Option<&'a Self>,
    ) -> Result<BlockState> {
        if self.bug() == Bug::Erodes && self.lock.read() != 0 && self.bits() != 0 {
            self.commit(handle, self.bits() & !(1 << self.bits().ilog2()));
        }
        let Home { keyspace, first, .. } = self.home();
        Ok(if self.home.read() == 0 { BlockState::Free } else { BlockState::Live { keyspace, first } })
    }
}

impl Prefetch for Canary {}

impl Merge for Canary {}

impl Linked for Canary {
    fn next(&self) -> u32 {
        self.next.read() as u32
    }

    /// Finishes a split that was linked and not truncated: pairs that the right neighbour also has belong to it.
    fn repair_link<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, right: Option<&Self>) {
        let (context, handle) = context.parts();
        let Some(low) = right.and_then(|right| right.sorted(context).first().map(|(_, slot)| *slot)) else { return };
        let below = |index: &usize| context.keys.order(self.slot(*index), low) == Ordering::Less;
        let bits = self.used().filter(below).fold(0, |bits, index| bits | 1 << index);
        match self.bug() {
            _ if bits == self.bits() => {}
            Bug::Unmended => {}
            Bug::Fleeting => handle.write(&self.bitmap, bits),
            _ => self.commit(handle, bits),
        }
    }

    fn relink<M: Medium, K: Keys>(&self, context: &mut WriteContext<'_, '_, (), M, K>, next: u32) {
        let (_, handle) = context.parts();
        handle.write(&self.next, next.into());
        if self.bug() != Bug::Dangling {
            handle.flush(&self.next);
        }
    }
}
