//! Leaves of fingerprints: a cache line with a byte of each key's hash, and the pairs in an area of their own.
//!
//! A search compares one line and follows the few bytes that agree to their pairs, so a get touches two lines of a
//! leaf, where a leaf of keys is searched in eight and leads to two more. A pair lies in the line where its key's hash
//! puts it, or else in the next that has room; so that line can be asked for together with the fingerprints, and most
//! searches wait once, not twice. The order is made up when a scan comes by. One of the rooms where `unsafe` may stand.

use super::{Leaf, Unordered};
use crate::area::{Area, Pages};
use crate::key::Key;
use holm_search::{LINE_BYTES, Lane, LaneKernels, Portable, prefetch, prefetch_address, prefetch_address_write};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// What a leaf of fingerprints is.
pub trait FingerprintedLevel: 'static {
    /// Pairs in a leaf, at most 63.
    const SLOTS: usize;
    /// The pages of the fingerprints' area.
    const PAGES: Pages = Pages::Large;
    /// The pages of the pairs' area.
    const PAIR_PAGES: Pages = Pages::Large;
    /// At so many pairs or fewer a leaf joins a neighbour; 0, and only empty leaves go.
    const SPARSE: usize = Self::SLOTS / 4;
}

/// The line of a leaf: a fingerprint for each slot, [`VACANT`] for one that is not occupied, and how many are.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Marks([u8; LINE_BYTES]);

impl crate::area::Plain for Marks {}

/// The place of the count.
const COUNT: usize = LINE_BYTES - 1;

/// No key's fingerprint.
const VACANT: u8 = 0;

struct Pair<L, V> {
    lane: L,
    value: V,
}

/// Leaves of fingerprints.
pub struct Fingerprinted<K: Key, V, C> {
    marks: Area<Marks>,
    pairs: Area<Pair<K::Lane, V>>,
    free: Vec<u32>,
    level: PhantomData<C>,
}

/// What a leaf knows of a key beside its order.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    /// The product's upper bits depend on all of the key.
    #[inline(always)]
    fn of<L: Lane>(lane: L) -> Self {
        Self((lane.number() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// A byte, other than [`VACANT`].
    #[inline(always)]
    fn fingerprint(self) -> u8 {
        ((self.0 >> 56) as u8).max(VACANT + 1)
    }

    /// One of `slots`, by bits that the fingerprint has nothing of.
    #[inline(always)]
    fn home(self, slots: usize) -> usize {
        ((((self.0 >> 24) & 0xffff_ffff) * slots as u64) >> 32) as usize
    }
}

impl<K: Key, V, C: FingerprintedLevel> Fingerprinted<K, V, C> {
    #[inline(always)]
    fn pair(&self, leaf: u32, slot: usize) -> NonNull<Pair<K::Lane, V>> {
        self.pairs.at(leaf as usize * C::SLOTS + slot)
    }

    /// The pair of an occupied slot.
    #[inline(always)]
    fn occupied(&self, leaf: u32, slot: usize) -> NonNull<Pair<K::Lane, V>> {
        assert!(slot < C::SLOTS && self.marks[leaf as usize].0[slot] != VACANT, "slot {slot} of leaf {leaf} is vacant");
        self.pair(leaf, slot)
    }

    /// Occupied slots, as bits.
    #[inline(always)]
    fn mask<X: LaneKernels>(&self, x: X, leaf: u32) -> u64 {
        !x.bytes_equal(&self.marks[leaf as usize].0, VACANT) & Self::ALL
    }

    /// All slots, as bits.
    const ALL: u64 = (1 << C::SLOTS) - 1;

    /// Pairs that begin in one cache line: what comes with a slot's line.
    const NEAR: usize = {
        let near = LINE_BYTES / size_of::<Pair<K::Lane, V>>();
        if near.is_power_of_two() { near } else { 1 }
    };

    /// The one of some vacant slots for a key: in the line of its home, if there is one, or else the next one behind.
    #[inline(always)]
    fn room(vacant: u64, hash: Hash) -> usize {
        let line = hash.home(C::SLOTS) & !(Self::NEAR - 1);
        let behind = vacant & !((1 << line) - 1);
        let found = if behind == 0 { vacant } else { behind };
        found.trailing_zeros() as usize
    }

    /// Writes a pair into one of the `vacant` slots of `leaf`; says which.
    #[inline(always)]
    fn place(&mut self, leaf: u32, vacant: u64, pair: Pair<K::Lane, V>) -> usize {
        let hash = Hash::of(pair.lane);
        let slot = Self::room(vacant, hash);
        let marks = &mut self.marks[leaf as usize].0;
        assert!(slot < C::SLOTS && marks[slot] == VACANT, "a pair for a full leaf");
        marks[slot] = hash.fingerprint();
        marks[COUNT] += 1;
        // SAFETY: a slot of this leaf, inside the area, which nobody else refers to while `self` is borrowed; it was
        // vacant, so nothing is overwritten that would have to be dropped.
        unsafe { self.pair(leaf, slot).write(pair) };
        slot
    }

    /// Moves pairs from slots of one leaf to another.
    fn carry(&mut self, from: u32, slots: u64, to: u32) {
        let mut vacant = Self::ALL & !self.mask(Portable, to);
        for slot in ones(slots) {
            let pair = self.take(from, slot);
            vacant &= !(1 << self.place(to, vacant, pair));
        }
    }

    /// Takes the pair out of an occupied slot.
    #[inline(always)]
    fn take(&mut self, leaf: u32, slot: usize) -> Pair<K::Lane, V> {
        let at = self.occupied(leaf, slot);
        let marks = &mut self.marks[leaf as usize].0;
        marks[slot] = VACANT;
        marks[COUNT] -= 1;
        // SAFETY: the slot was occupied, so there is a pair; it is read once, for the slot is vacant now.
        unsafe { at.read() }
    }

    /// The occupied slots of `leaf` and their keys.
    fn keys(&self, leaf: u32) -> impl Iterator<Item = (usize, K::Lane)> + '_ {
        ones(self.mask(Portable, leaf)).map(move |slot| (slot, self.key(leaf, slot)))
    }
}

/// The places of bits that are set.
#[inline(always)]
fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        at
    })
}

// SAFETY: slots whose mark is not `VACANT` are occupied, and only they; `place` and `take` write and read one pair each
// together with its mark, and nothing else does.
unsafe impl<K: Key, V, C: FingerprintedLevel> Leaf<K, V> for Fingerprinted<K, V, C> {
    const SLOTS: usize = {
        assert!(C::SLOTS >= 4 && C::SLOTS < LINE_BYTES, "a leaf has four slots to 63");
        C::SLOTS
    };
    const SPARSE: usize = C::SPARSE;

    /// The slots whose fingerprints agree.
    type Trace = u64;

    fn new() -> Self {
        let (marks, pairs) = (Area::new(C::PAGES), Area::new(C::PAIR_PAGES));
        Self { marks, pairs, free: Vec::new(), level: PhantomData }
    }

    fn bytes(&self) -> usize {
        self.marks.bytes() + self.pairs.bytes() + self.free.capacity() * size_of::<u32>()
    }

    fn prepare(&mut self, leaves: usize, _: usize) {
        self.marks.prepare(leaves);
        self.pairs.prepare(leaves.saturating_mul(Self::SLOTS));
    }

    fn fresh(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let leaf = self.marks.len();
            let number = u32::try_from(leaf).unwrap_or_else(|_| panic!("a tree has at most 2^32 leaves"));
            self.marks.grow(1, Marks([0; LINE_BYTES]));
            self.pairs.grow_unwritten(Self::SLOTS);
            number
        })
    }

    fn retire(&mut self, leaf: u32) {
        debug_assert_eq!(self.len(leaf), 0);
        self.free.push(leaf);
    }

    #[inline(always)]
    fn len(&self, leaf: u32) -> usize {
        usize::from(self.marks[leaf as usize].0[COUNT])
    }

    #[inline(always)]
    fn find<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Option<usize> {
        self.follow(leaf, self.trace(x, leaf, key), key)
    }

    #[inline(always)]
    fn key(&self, leaf: u32, slot: usize) -> K::Lane {
        // SAFETY: occupied; only the lane is looked at, for the value may be lent out exclusively.
        unsafe { (&raw const (*self.occupied(leaf, slot).as_ptr()).lane).read() }
    }

    #[inline(always)]
    fn value_at(&self, leaf: u32, slot: usize) -> NonNull<V> {
        // SAFETY: the pair is inside the area, and so is its field.
        unsafe { NonNull::new_unchecked(&raw mut (*self.occupied(leaf, slot).as_ptr()).value) }
    }

    #[inline(always)]
    fn insert<X: LaneKernels>(&mut self, x: X, leaf: u32, key: K::Lane, value: V) -> usize {
        let vacant = Self::ALL & !self.mask(x, leaf);
        self.place(leaf, vacant, Pair { lane: key, value })
    }

    #[inline(always)]
    fn remove(&mut self, leaf: u32, slot: usize) -> V {
        self.take(leaf, slot).value
    }

    fn split<X: LaneKernels>(&mut self, x: X, leaf: u32) -> (K::Lane, u32) {
        let mut lanes = [K::Lane::GREATEST; LINE_BYTES];
        (0..C::SLOTS).for_each(|slot| lanes[slot] = self.key(leaf, slot));
        let ranks = x.ranks(&lanes, C::SLOTS);
        let kept = C::SLOTS / 2;
        let above = (0..C::SLOTS).fold(0, |mask, slot| mask | u64::from(usize::from(ranks[slot]) >= kept) << slot);
        // Nothing is above only where a promise of uniqueness was broken: one moves, so that there is room.
        let above = if above == 0 { 1 } else { above };
        let greatest = ones(Self::ALL & !above).map(|slot| lanes[slot]).max();
        let fresh = self.fresh();
        self.carry(leaf, above, fresh);
        (greatest.unwrap_or(K::Lane::LEAST), fresh)
    }

    fn merge(&mut self, left: u32, right: u32) {
        self.carry(right, self.mask(Portable, right), left);
    }

    fn sorted<X: LaneKernels>(&self, x: X, leaf: u32, out: &mut Vec<(K::Lane, u32)>) {
        let mut unordered = Unordered::new();
        ones(self.mask(x, leaf)).for_each(|slot| unordered.push(self.key(leaf, slot), slot));
        unordered.put_in_order(x, out);
    }

    fn end(&self, leaf: u32, least: bool) -> Option<(K::Lane, usize)> {
        let keys = self.keys(leaf).map(|(slot, key)| (key, slot));
        if least { keys.min() } else { keys.max() }
    }

    fn any(&self, leaf: u32) -> Option<usize> {
        self.keys(leaf).map(|(slot, _)| slot).next()
    }

    #[inline(always)]
    fn ask_early(&self, leaf: u32, key: K::Lane) {
        prefetch_address(self.pair(leaf, Hash::of(key).home(C::SLOTS) & !(Self::NEAR - 1)).as_ptr());
    }

    #[inline(always)]
    fn ask(&self, leaf: u32) {
        prefetch(&self.marks[leaf as usize]);
    }

    #[inline(always)]
    fn trace<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> u64 {
        x.bytes_equal(&self.marks[leaf as usize].0, Hash::of(key).fingerprint()) & Self::ALL
    }

    #[inline(always)]
    fn ask_traced(&self, leaf: u32, trace: u64) {
        if trace != 0 {
            prefetch_address(self.pair(leaf, trace.trailing_zeros() as usize).as_ptr());
        }
    }

    #[inline(always)]
    fn ask_value(&self, _: u32, _: u64) {}

    #[inline(always)]
    fn follow(&self, leaf: u32, mut trace: u64, key: K::Lane) -> Option<usize> {
        while trace != 0 {
            let slot = trace.trailing_zeros() as usize;
            // SAFETY: a trace has bits for occupied slots only, and the area's bounds are checked by `pair`; only the
            // lane is looked at.
            if unsafe { (&raw const (*self.pair(leaf, slot).as_ptr()).lane).read() } == key {
                return Some(slot);
            }
            trace &= trace - 1;
        }
        None
    }

    #[inline(always)]
    fn ask_room<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) {
        let vacant = Self::ALL & !self.mask(x, leaf);
        prefetch_address_write(self.pair(leaf, Self::room(vacant, Hash::of(key)).min(C::SLOTS - 1)).as_ptr());
    }

    fn ask_all(&self, leaf: u32) {
        let (start, bytes) = (self.pair(leaf, 0).as_ptr(), C::SLOTS * size_of::<Pair<K::Lane, V>>());
        (0..bytes).step_by(LINE_BYTES).for_each(|offset| prefetch_address(start.wrapping_byte_add(offset)));
        self.ask(leaf);
    }
}
