//! One block: its words, its pairs and its leaf; and the blocks of a leaf, one after the other.

use super::fingerprint_policy::FingerprintPolicy;
use super::overflow_blocks::BlockIndex;
use super::tagged::State;
use super::versions::Versions;
use super::{ALL, Buffered, Form, SLOTS, Volatile};
use crate::keys::{Keys, Slot};
use crate::leaf::{Home, ReadContext};
use crate::pair::slots;
use holm_medium::{Epoch, Medium, WriteHandle};
use holm_search::Search;

/// This bit of a home word's lower half marks an *heir*: this block gives way to the leaf of that number, once that
/// leaf is committed.
pub const HEIR: u32 = 1 << 31;

/// What DRAM keeps of a block.
type Copied<F> = <<F as Form>::FingerprintPolicy as FingerprintPolicy>::Volatile;

/// A pair that is moving into another block.
#[derive(Clone, Copy)]
pub struct MovingPair {
    /// Its two words.
    pub slot: Slot,
    /// Its fingerprint, if the design has them.
    pub fingerprint: Option<u8>,
    /// How many bytes its head leaves out so far.
    pub skip: usize,
}

impl MovingPair {
    /// Returns whether the pair leads to a record of its own.
    pub fn is_own<K: Keys>(&self, keys: &K) -> bool {
        keys.is_own(self.slot, self.skip, self.fingerprint)
    }

    fn head<K: Keys>(&self, keys: &K, home: Home) -> u64 {
        let same = self.skip == usize::from(home.skip);
        let changed = if same { None } else { keys.rehead(self.slot, home.skip.into()) };
        changed.unwrap_or(self.slot.head)
    }
}

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// Returns which slots are live now, and since which epoch.
    #[inline]
    pub fn now(&self) -> State {
        self.versions.now()
    }

    /// Returns the slots that the states at the ends of the two epochs before name.
    #[inline]
    pub fn older(&self, epoch: Epoch) -> u32 {
        self.versions.pinned(epoch)
    }

    /// Publishes a new set of live slots: the commit word of most operations.
    #[inline]
    pub fn publish<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, bits: u32) {
        let tag = handle.epoch();
        self.versions.put(handle, State { tag, bits });
        // Defers the first line; any of its words names it.
        handle.defer(&self.home);
    }

    /// Returns the pair of a slot. Total over any bits.
    #[inline]
    pub fn slot(&self, index: usize) -> Slot {
        self.pairs[index].slot()
    }

    /// Returns the slots that may hold a key with this fingerprint. Uses the block's copy in DRAM if there is one.
    #[inline]
    pub fn candidates(&self, copy: &Copied<F>, search: Search, fingerprint: u8) -> u32 {
        let alike = F::FingerprintPolicy::search_candidates(&self.fingerprints, copy, search, fingerprint);
        alike & F::FingerprintPolicy::now(&self.versions, copy).bits
    }

    /// Returns the slot with the search key, and its payload. The block has this place in its leaf.
    #[inline]
    pub fn find<K: Keys>(
        &self,
        context: ReadContext<'_, Volatile<BLOCKS, F>, K>,
        place: BlockIndex,
        search_key: K::SearchKey<'_>,
    ) -> Option<(usize, u64)> {
        let mut candidates = self.candidates(context.volatile.copy(place), context.search, K::fingerprint(search_key));
        while candidates != 0 {
            let index = candidates.trailing_zeros() as usize;
            let slot = self.slot(index);
            // Prefetch the whole record: its value is needed next, and the comparison already waits for its first line.
            context.keys.prefetch(slot.payload);
            if context.keys.is(slot, search_key) {
                return Some((index, slot.payload));
            }
            candidates &= candidates - 1;
        }
        None
    }

    /// Renews the DRAM copy of the block at a place of the leaf, after a change.
    #[inline]
    pub fn copied(&self, overflow: &Volatile<BLOCKS, F>, place: BlockIndex) {
        F::FingerprintPolicy::derive(&self.fingerprints, &self.versions, overflow.copy(place));
    }

    /// The same for all blocks of the leaf whose first block this is.
    pub fn derive<K: Keys>(&self, context: ReadContext<'_, Volatile<BLOCKS, F>, K>) {
        self.segments(context).for_each(|(place, block)| block.copied(context.volatile, place));
    }

    /// Writes the block's keyspace and shared prefix, and its origin or heir. The caller flushes.
    pub fn set_home<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, home: Home, kin: u32) {
        handle.write(&self.home, u64::from(home.skip) << 56 | u64::from(home.keyspace) << 32 | u64::from(kin));
        handle.defer(&self.home);
    }

    /// Writes only the origin or heir. The caller flushes.
    pub fn set_kin<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, kin: u32) {
        handle.write(&self.home, self.home.read() & !0xffff_ffff | u64::from(kin));
        handle.defer(&self.home);
    }

    /// Returns the leaf that this one replaces, or that it gives way to; zero if there is neither.
    pub fn kin(&self) -> u32 {
        self.home.read() as u32
    }

    /// Returns the block's keyspace, and what its range shares.
    pub fn home(&self) -> Home {
        let word = self.home.read();
        Home { keyspace: (word >> 32) as u32 & 0xff_ffff, skip: (word >> 56) as u8, first: false }
    }

    /// Returns the overflow block at a place; this block is the leaf's first.
    #[inline]
    fn at<'a, K: Keys>(context: ReadContext<'a, Volatile<BLOCKS, F>, K>, place: BlockIndex) -> Option<&'a Self> {
        context.block(Some(context.volatile.number(place)).filter(|number| *number != 0)?)
    }

    /// Returns the overflow blocks with their places; this block is the leaf's first.
    #[inline]
    pub fn overflow_blocks<'a, K: Keys>(
        context: ReadContext<'a, Volatile<BLOCKS, F>, K>,
    ) -> impl Iterator<Item = (BlockIndex, &'a Self)> {
        (1..BLOCKS).map_while(move |place| Some((place, Self::at(context, place)?)))
    }

    /// Returns this block, the first of a leaf, and its overflow blocks.
    #[inline]
    pub fn segments<'a, K: Keys>(
        &'a self,
        context: ReadContext<'a, Volatile<BLOCKS, F>, K>,
    ) -> impl Iterator<Item = (BlockIndex, &'a Self)> {
        std::iter::once((0, self)).chain(Self::overflow_blocks(context))
    }

    /// Returns the block's live pairs, in any order.
    pub fn moving_pairs(&self) -> impl Iterator<Item = MovingPair> {
        let skip = self.home().skip.into();
        let fingerprint = |index| F::FingerprintPolicy::of(&self.fingerprints, index);
        slots(self.now().bits).map(move |index| MovingPair {
            slot: self.slot(index),
            fingerprint: fingerprint(index),
            skip,
        })
    }

    /// Writes pairs into the first slots of a fresh block, which no word makes live yet. Returns the slots.
    pub fn write_pairs<M: Medium, K: Keys>(
        &self,
        keys: &K,
        handle: &mut WriteHandle<'_, M>,
        pairs: &[MovingPair],
        home: Home,
    ) -> u32 {
        for (slot, pair) in self.pairs.iter().zip(pairs) {
            handle.write(&slot.head, pair.head(keys, home));
            handle.write(&slot.payload, pair.slot.payload);
        }
        pairs.chunks(4).zip(self.pairs.as_chunks::<4>().0).for_each(|(_, line)| handle.defer(line));
        ALL >> (SLOTS - pairs.len())
    }

    /// Fills a fresh block of the leaf `owner` with pairs and publishes them, uncommitted: `kin` names the leaf's
    /// origin. Returns the slots.
    pub fn fill<M: Medium, K: Keys>(
        &self,
        keys: &K,
        handle: &mut WriteHandle<'_, M>,
        pairs: &[MovingPair],
        home: Home,
        [kin, owner]: [u32; 2],
    ) -> u32 {
        let bits = self.write_pairs(keys, handle, pairs, home);
        let mut fingerprints = [0, 0, 0, u64::from(owner) << 32];
        for (index, pair) in pairs.iter().enumerate() {
            fingerprints[index / 8] |= u64::from(pair.fingerprint.unwrap_or(0)) << (index % 8 * 8);
        }
        for (word, value) in self.fingerprints.iter().zip(fingerprints) {
            // Survivor in bd_tree, bd_tree_literal (store): they have no fingerprints, and one block has no owner.
            handle.write(word, value);
        }
        // The home word precedes the bitmap. If the process dies after the bitmap, the block is live and must already
        // name its origin.
        self.set_home(handle, home, kin);
        self.publish(handle, bits);
        bits
    }
}
