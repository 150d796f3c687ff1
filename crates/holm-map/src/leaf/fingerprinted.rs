//! Leaves of fingerprints: one cache line with a byte of each key's hash, and the pairs behind it.
//!
//! A search compares one line and follows the few matching bytes to their pairs. So a get touches two lines of a leaf.
//! A search of a leaf of keys touches eight lines, and two more for the pair. The hash of a key selects the line of its
//! pair; if that line is full, the pair lies in the next line with room. So a search prefetches that line together with
//! the fingerprints, and most searches wait once, not twice. Both lie in one block and so usually in one page, whose
//! address is translated once. A scan sorts the leaf when it reaches it.
//!
//! When many searches run together, the number of lines counts, not the latency. Then a search reads the home line
//! alone, and reads the fingerprints only for the few keys that are not at home. A vacant slot holds a key whose home
//! is elsewhere, so that no search finds it. This is one of the files where `unsafe` is allowed.

use super::Leaf;
use super::in_order::{FewSlots, in_order};
use crate::area::{Area, Pages};
use crate::key::Key;
use holm_search::{
    Hint, LINE_BYTES, Lane, LaneKernels, Portable, prefetch_address, prefetch_address_as, prefetch_address_write,
};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

mod copying;
mod moving;
mod orders;

/// The parameters of a leaf of fingerprints.
pub trait FingerprintedLevel: 'static {
    /// Pairs in a leaf, at most 63. The leaf has room for some more, at most 63, if that makes its size a power of two.
    const SLOTS: usize;
    /// The pages of the leaves' area.
    const PAGES: Pages = Pages::Large;
    /// A leaf with at most this number of pairs is merged with a neighbour. If 0, only empty leaves are removed.
    const SPARSE: usize = Self::SLOTS / 4;
    /// A neighbour with at most this number of pairs takes some pairs of a full leaf. If 0, a full leaf always splits.
    const SHARING: usize = Self::SLOTS * 7 / 10;
}

/// The first line of a leaf: a fingerprint for each slot, [`VACANT`] for a slot that is not occupied, and the number of
/// occupied slots.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct FingerprintLine([u8; LINE_BYTES]);

/// The index of the count.
const COUNT: usize = LINE_BYTES - 1;

/// The fingerprint of no key.
const VACANT: u8 = 0;

struct Pair<L, V> {
    lane: L,
    value: V,
}

/// The unit of leaves: a line, or more if pairs have a larger alignment. A leaf's first unit begins with its marks, and
/// the other units hold its pairs.
#[repr(C, align(64))]
struct Unit<P> {
    alignment: [P; 0],
    bytes: [MaybeUninit<u8>; LINE_BYTES],
}

/// Leaves of fingerprints.
pub struct Fingerprinted<K: Key, V, C> {
    units: Area<Unit<Pair<K::Lane, V>>>,
    free: Vec<u32>,
    orders: orders::Orders,
    /// Two keys whose home lines differ if a leaf has two lines. Vacant slots hold one of them.
    strangers: [K::Lane; 2],
    level: PhantomData<C>,
}

/// The hash of a key: what a leaf uses of a key apart from its order.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    /// All bits of the key affect the upper bits of the product.
    #[inline(always)]
    fn of<L: Lane>(lane: L) -> Self {
        // The rotation brings the topmost byte to the front at no extra cost.
        Self((lane.number() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(8))
    }

    /// Returns a byte other than [`VACANT`].
    #[inline(always)]
    fn fingerprint(self) -> u8 {
        let byte = self.0 as u8;
        byte + u8::from(byte == VACANT)
    }

    /// Returns one of `slots`, from bits that the fingerprint does not use.
    #[inline(always)]
    fn home(self, slots: usize) -> usize {
        (((self.0 >> 32) * slots as u64) >> 32) as usize
    }
}

impl<K: Key, V, C: FingerprintedLevel> Fingerprinted<K, V, C> {
    /// Pairs in a leaf: some more than `SLOTS` if the leaf's size is then a power of two. In a large area such a leaf
    /// lies in one page, unless it is larger than a page. Then one address translation serves all lines of a search.
    const ROOM: usize = {
        assert!(C::SLOTS >= 4 && C::SLOTS < LINE_BYTES, "a leaf has four slots to 63");
        let pair = size_of::<Pair<K::Lane, V>>();
        let whole = ((LINE_BYTES + C::SLOTS * pair).next_power_of_two() - LINE_BYTES) / pair;
        if whole < LINE_BYTES { whole } else { C::SLOTS }
    };

    /// Returns a set without leaves, whose vacant slots will hold one of two keys.
    fn empty(strangers: [K::Lane; 2]) -> Self {
        let (units, orders) = (Area::new(C::PAGES), orders::Orders::default());
        Self { units, free: Vec::new(), orders, strangers, level: PhantomData }
    }

    /// Units of a leaf.
    const UNITS: usize = 1 + (Self::ROOM * size_of::<Pair<K::Lane, V>>()).div_ceil(size_of::<Unit<Pair<K::Lane, V>>>());

    /// Returns the address where a leaf begins. The area holds whole leaves, so all of the leaf is inside if its number
    /// is.
    #[inline(always)]
    fn block(&self, leaf: u32) -> NonNull<Unit<Pair<K::Lane, V>>> {
        self.units.at(leaf as usize * Self::UNITS)
    }

    #[inline(always)]
    fn marks(&self, leaf: u32) -> &[u8; LINE_BYTES] {
        // SAFETY: inside the area, and written when the leaf was created. While the borrow lasts there is no writer:
        // only values are lent exclusively through a shared borrow.
        unsafe { &self.block(leaf).cast::<FingerprintLine>().as_ref().0 }
    }

    #[inline(always)]
    fn marks_mut(&mut self, leaf: u32) -> &mut [u8; LINE_BYTES] {
        // SAFETY: as above, and borrowed exclusively.
        unsafe { &mut self.block(leaf).cast::<FingerprintLine>().as_mut().0 }
    }

    #[inline(always)]
    fn pair(&self, leaf: u32, slot: usize) -> NonNull<Pair<K::Lane, V>> {
        assert!(slot < Self::ROOM, "a slot that no leaf has");
        // SAFETY: by the line above.
        unsafe { self.pair_in(leaf, slot) }
    }

    /// As `pair`, for a slot that is known to be in range.
    ///
    /// # Safety
    /// `slot` is below `ROOM`.
    #[inline(always)]
    unsafe fn pair_in(&self, leaf: u32, slot: usize) -> NonNull<Pair<K::Lane, V>> {
        debug_assert!(slot < Self::ROOM);
        // SAFETY: the units behind a leaf's first one have room for its slots, aligned for pairs.
        unsafe { self.block(leaf).add(1).cast::<Pair<K::Lane, V>>().add(slot) }
    }

    /// As `pair_in`, for a leaf that is known to exist.
    ///
    /// # Safety
    /// The slot is occupied.
    #[inline(always)]
    unsafe fn pair_found(&self, leaf: u32, slot: usize) -> NonNull<Pair<K::Lane, V>> {
        debug_assert!(self.marks(leaf)[slot] != VACANT);
        // SAFETY: a leaf with a pair lies inside the area, and the slot is one of its slots.
        unsafe { self.units.at_found(leaf as usize * Self::UNITS + 1).cast::<Pair<K::Lane, V>>().add(slot) }
    }

    /// Returns the address of a pair's value.
    #[inline(always)]
    fn value_of(&self, pair: NonNull<Pair<K::Lane, V>>) -> NonNull<V> {
        // SAFETY: a pair of `self.pair` is inside the area, and so is its field.
        unsafe { NonNull::new_unchecked(&raw mut (*pair.as_ptr()).value) }
    }

    /// Returns the pair of an occupied slot.
    #[inline(always)]
    fn occupied(&self, leaf: u32, slot: usize) -> NonNull<Pair<K::Lane, V>> {
        assert!(slot < Self::ROOM && self.marks(leaf)[slot] != VACANT, "slot {slot} of leaf {leaf} is vacant");
        self.pair(leaf, slot)
    }

    /// Returns the occupied slots, as bits.
    #[inline(always)]
    fn mask<X: LaneKernels>(&self, x: X, leaf: u32) -> u64 {
        !x.bytes_equal(self.marks(leaf), VACANT) & Self::ALL
    }

    /// All slots, as bits.
    const ALL: u64 = (1 << Self::ROOM) - 1;

    /// Pairs that begin in one cache line, and so arrive together.
    const NEAR: usize = {
        let near = LINE_BYTES / size_of::<Pair<K::Lane, V>>();
        // With three pairs per line, some pairs cross into the next line. Then each pair counts as a line of its own.
        if near.is_power_of_two() { near } else { 1 }
    };

    /// Whether a key's home is only a part of the leaf, so that other keys have other homes.
    const HOMES: bool = Self::ROOM > Self::NEAR;

    /// Returns the first slot in the home line of a key.
    #[inline(always)]
    fn home(key: K::Lane) -> usize {
        Self::home_of(Hash::of(key))
    }

    /// As `home`, from the key's hash.
    #[inline(always)]
    fn home_of(hash: Hash) -> usize {
        hash.home(Self::ROOM) & !(Self::NEAR - 1)
    }

    /// Returns the slots in the home line of a key that hold the key, as bits; bit 0 is the line's first slot. Vacant
    /// slots never match, because they hold a key whose home is elsewhere.
    #[inline(always)]
    fn at_home(&self, leaf: u32, home: usize, key: K::Lane) -> u32 {
        let mut slots = 0;
        for near in 0..Self::NEAR {
            // The leaf's last line may contain indices that are no slots.
            if Self::ROOM.is_multiple_of(Self::NEAR) || home + near < Self::ROOM {
                slots |= u32::from(self.lane(leaf, home + near) == key) << near;
            }
        }
        slots
    }

    /// Returns the lane that a slot holds, occupied or not.
    #[inline(always)]
    fn lane(&self, leaf: u32, slot: usize) -> K::Lane {
        // SAFETY: a slot of a leaf.
        unsafe { Self::lane_of(self.pair(leaf, slot)) }
    }

    /// As `lane`, from the address of the slot's pair.
    ///
    /// # Safety
    /// The address is that of a slot of a leaf.
    #[inline(always)]
    unsafe fn lane_of(pair: NonNull<Pair<K::Lane, V>>) -> K::Lane {
        // SAFETY: inside the area, and written when the leaf was created. Only the lane is read, because the value may
        // be lent exclusively or be absent.
        unsafe { (&raw const (*pair.as_ptr()).lane).read() }
    }

    /// Returns the lane of every slot, and the greatest lane behind the last slot.
    #[inline(always)]
    fn lanes(&self, leaf: u32) -> [K::Lane; LINE_BYTES] {
        let (mut lanes, pairs) = ([K::Lane::GREATEST; LINE_BYTES], self.pair(leaf, 0));
        for (slot, lane) in lanes.iter_mut().enumerate().take(Self::ROOM) {
            // SAFETY: one of the leaf's slots, which are adjacent.
            *lane = unsafe { Self::lane_of(pairs.add(slot)) };
        }
        lanes
    }

    /// Marks a slot as vacant.
    #[inline(always)]
    fn vacate(&mut self, leaf: u32, slot: usize) {
        let [one, other] = self.strangers;
        let stranger = if Self::home(one) == slot & !(Self::NEAR - 1) { other } else { one };
        // SAFETY: inside the area, and a lane has nothing to drop.
        unsafe { (&raw mut (*self.pair(leaf, slot).as_ptr()).lane).write(stranger) };
    }

    /// Returns the slots whose fingerprints match the key's, as bits.
    #[inline(always)]
    fn candidates<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> u64 {
        x.bytes_equal(self.marks(leaf), Hash::of(key).fingerprint()) & Self::ALL
    }

    /// Returns the one of some occupied slots that holds the key. It starts at the key's home, where the key most
    /// likely is. Whether other slots share the fingerprint is unpredictable, and a mispredicted branch would wait for
    /// their lines.
    #[inline(always)]
    fn among(&self, leaf: u32, slots: u64, key: K::Lane) -> Option<usize> {
        let home = Self::home(key);
        let mut slots = (slots & Self::ALL).rotate_right(home as u32);
        while slots != 0 {
            let slot = (home + slots.trailing_zeros() as usize) % u64::BITS as usize;
            // SAFETY: a bit of `ALL`.
            if unsafe { Self::lane_of(self.pair_in(leaf, slot)) } == key {
                return Some(slot);
            }
            slots &= slots - 1;
        }
        None
    }

    /// Returns the vacant slot for a key: one in its home line if there is one, otherwise the next one behind.
    #[inline(always)]
    fn room(vacant: u64, hash: Hash) -> usize {
        let behind = vacant & !((1 << Self::home_of(hash)) - 1);
        let found = if behind == 0 { vacant } else { behind };
        found.trailing_zeros() as usize
    }

    /// Writes a pair into one of the `vacant` slots of `leaf`, and returns the slot.
    #[inline(always)]
    fn place(&mut self, leaf: u32, vacant: u64, pair: Pair<K::Lane, V>) -> usize {
        let hash = Hash::of(pair.lane);
        let slot = Self::room(vacant, hash);
        self.orders.forget(leaf);
        let marks = self.marks_mut(leaf);
        assert!(slot < Self::ROOM && marks[slot] == VACANT, "a pair for a full leaf");
        marks[slot] = hash.fingerprint();
        marks[COUNT] += 1;
        // SAFETY: a slot of this leaf, inside the area, to which no other reference exists while `self` is borrowed. It
        // was vacant, so the write overwrites nothing that would have to be dropped.
        unsafe { self.pair(leaf, slot).write(pair) };
        slot
    }

    /// Removes the pair from an occupied slot.
    #[inline(always)]
    fn take(&mut self, leaf: u32, slot: usize) -> Pair<K::Lane, V> {
        let at = self.occupied(leaf, slot);
        self.orders.forget(leaf);
        let marks = self.marks_mut(leaf);
        marks[slot] = VACANT;
        marks[COUNT] -= 1;
        // SAFETY: the slot was occupied, so there is a pair. It is read once, because the slot is vacant now.
        let pair = unsafe { at.read() };
        self.vacate(leaf, slot);
        pair
    }

    /// Returns the occupied slots of `leaf` and their keys.
    fn keys(&self, leaf: u32) -> impl Iterator<Item = (usize, K::Lane)> + '_ {
        ones(self.mask(Portable, leaf)).map(move |slot| (slot, self.key(leaf, slot)))
    }
}

/// Iterates over the indices of the set bits.
#[inline(always)]
fn ones(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        at
    })
}

// SAFETY: exactly the slots whose mark is not `VACANT` are occupied. Only `place` and `take` change marks, and each
// writes or reads one pair together with its mark.
unsafe impl<K: Key, V, C: FingerprintedLevel> Leaf<K, V> for Fingerprinted<K, V, C> {
    type Slots = FewSlots;

    const SLOTS: usize = Self::ROOM;
    const SPARSE: usize = C::SPARSE * Self::ROOM / C::SLOTS;
    const SHARING: usize = {
        assert!(C::SHARING < C::SLOTS - 1, "a neighbour that takes pairs has room for two");
        C::SHARING * Self::ROOM / C::SLOTS
    };

    fn new() -> Self {
        let other = std::iter::successors(Some(K::Lane::LEAST), |lane| lane.next());
        let other = other.take(256).find(|lane| Self::home(*lane) != Self::home(K::Lane::LEAST));
        assert!(other.is_some() || !Self::HOMES, "among 256 keys there are two that are not at home in the same line");
        let strangers = [K::Lane::LEAST, other.unwrap_or(K::Lane::LEAST)];
        Self::empty(strangers)
    }

    fn bytes(&self) -> usize {
        self.units.bytes() + self.free.capacity() * size_of::<u32>() + self.orders.bytes()
    }

    fn prepare(&mut self, leaves: usize, _: usize) {
        self.units.prepare(leaves.saturating_mul(Self::UNITS));
    }

    fn fresh(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let leaf = self.units.len() / Self::UNITS;
            let number = u32::try_from(leaf).unwrap_or_else(|_| panic!("a tree has at most 2^32 leaves"));
            self.units.grow_unwritten(Self::UNITS);
            self.orders.grow(leaf + 1);
            self.write_empty(number);
            number
        })
    }

    fn retire(&mut self, leaf: u32) {
        debug_assert_eq!(self.len(leaf), 0);
        self.free.push(leaf);
    }

    #[inline(always)]
    fn len(&self, leaf: u32) -> usize {
        usize::from(self.marks(leaf)[COUNT])
    }

    #[inline(always)]
    fn find<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Option<usize> {
        self.among(leaf, self.candidates(x, leaf, key), key)
    }

    #[inline(always)]
    fn key(&self, leaf: u32, slot: usize) -> K::Lane {
        self.lane(leaf, slot)
    }

    #[inline(always)]
    fn value_at(&self, leaf: u32, slot: usize) -> NonNull<V> {
        self.value_of(self.occupied(leaf, slot))
    }

    #[inline(always)]
    unsafe fn value_found(&self, leaf: u32, slot: usize) -> NonNull<V> {
        // SAFETY: by this function's contract.
        self.value_of(unsafe { self.pair_found(leaf, slot) })
    }

    #[inline(always)]
    unsafe fn key_found(&self, leaf: u32, slot: usize) -> K::Lane {
        // SAFETY: by this function's contract, and an occupied slot is one of the leaf's slots.
        unsafe { Self::lane_of(self.pair_found(leaf, slot)) }
    }

    #[inline(always)]
    fn insert<X: LaneKernels>(&mut self, x: X, leaf: u32, key: K::Lane, value: V) -> usize {
        let vacant = Self::ALL & !self.mask(x, leaf);
        self.place(leaf, vacant, Pair { lane: key, value })
    }

    /// While keys arrive in order, each goes behind the others. Then they lie in order, and a scan need not sort them.
    /// A search finds them by their fingerprints and waits once more.
    fn insert_at_end<X: LaneKernels>(&mut self, x: X, leaf: u32, key: K::Lane, value: V) -> usize {
        let (vacant, count) = (Self::ALL & !self.mask(x, leaf), self.len(leaf));
        let in_order = vacant == Self::ALL & !0 << count && (count == 0 || self.lane(leaf, count - 1) < key);
        let vacant = if in_order { vacant & vacant.wrapping_neg() } else { vacant };
        self.place(leaf, vacant, Pair { lane: key, value })
    }

    #[inline(always)]
    fn remove(&mut self, leaf: u32, slot: usize) -> V {
        self.take(leaf, slot).value
    }

    fn split<X: LaneKernels>(&mut self, x: X, leaf: u32) -> (K::Lane, u32) {
        let (above, greatest) = self.part(x, leaf, Self::ROOM / 2);
        // No key is above only if a caller of `insert_unique` broke its promise. Then one pair moves, so that there is
        // room. It must be one with the greatest key: a lesser key would not be found behind the separator of the two
        // leaves.
        let greatest_one = || self.end(leaf, false).map_or(0, |(_, slot)| 1 << slot);
        let above = if above == 0 { greatest_one() } else { above };
        let fresh = self.fresh();
        self.carry(x, leaf, above, fresh);
        (greatest.unwrap_or(K::Lane::LEAST), fresh)
    }

    fn share<X: LaneKernels>(&mut self, x: X, leaf: u32, neighbour: u32, to_right: bool) -> Option<K::Lane> {
        let room = Self::ROOM - self.len(neighbour);
        let moving = room / 2;
        let (above, greatest) = self.part(x, leaf, if to_right { Self::ROOM - moving } else { moving });
        let left = Self::ALL & !above;
        let moved = if to_right { above } else { left };
        // If a caller of `insert_unique` broke its promise, equal keys move together or not at all. There may be too
        // many of them, because the waiting key may belong to either leaf.
        let count = moved.count_ones() as usize;
        if count == 0 || count >= room || count == Self::ROOM {
            return None;
        }
        self.carry(x, leaf, moved, neighbour);
        greatest
    }

    fn merge(&mut self, left: u32, right: u32) {
        self.carry(Portable, right, self.mask(Portable, right), left);
    }

    fn sorted<X: LaneKernels>(&self, x: X, leaf: u32, out: &mut FewSlots) {
        out.count = self.len(leaf);
        out.slots = in_order(x, &self.lanes(leaf), self.mask(x, leaf));
        self.orders.put(leaf, out.slots);
    }

    #[inline(always)]
    fn known_order(&self, leaf: u32, out: &mut FewSlots) -> bool {
        let known = self.orders.get(leaf, &mut out.slots);
        out.count = self.len(leaf);
        known
    }

    #[inline(always)]
    fn find_again<X: LaneKernels>(&self, _: X, leaf: u32, key: K::Lane, slot: usize) -> Option<usize> {
        // A removal moves no other pair of the leaf.
        (slot < Self::ROOM && self.marks(leaf)[slot] != VACANT && self.lane(leaf, slot) == key).then_some(slot)
    }

    #[inline(always)]
    fn append(&mut self, leaf: u32, key: K::Lane, value: V) {
        self.push(leaf, key, value);
    }

    fn empty_copy(&self) -> Self {
        Self::empty_like(self)
    }

    fn copy_leaf(&mut self, other: &Self, leaf: u32)
    where
        V: Clone,
    {
        self.copy_pairs(other, leaf);
    }

    fn counts(&self) -> (usize, usize) {
        (self.units.len() / Self::UNITS, self.free.len())
    }

    fn end(&self, leaf: u32, least: bool) -> Option<(K::Lane, usize)> {
        let keys = self.keys(leaf).map(|(slot, key)| (key, slot));
        if least { keys.min() } else { keys.max() }
    }

    #[inline(always)]
    fn ask_early(&self, leaf: u32, key: K::Lane) {
        let home = self.pair(leaf, Self::home(key)).as_ptr();
        prefetch_address(home);
        // The line where most pairs are that found no room at home.
        prefetch_address(home.wrapping_byte_add(LINE_BYTES));
    }

    #[inline(always)]
    fn ask_count(&self, leaf: u32) {
        prefetch_address(self.block(leaf).as_ptr());
    }

    #[inline(always)]
    fn ask(&self, leaf: u32, key: K::Lane) {
        if Self::HOMES {
            // Prefetches into the second level: the first level has few requests in flight at a time, and this makes
            // many.
            prefetch_address_as(self.pair(leaf, Self::home(key)).as_ptr(), Hint::T1);
        } else {
            self.ask_count(leaf);
        }
    }

    #[inline(always)]
    fn find_many<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        leaves: &[u32; MANY],
        keys: &[K::Lane; MANY],
    ) -> [Option<NonNull<V>>; MANY] {
        let mut found = [None; MANY];
        // Collects the keys that are not at home without a branch, because the branch would be unpredictable.
        let (mut strays, mut count) = ([0; MANY], 0);
        for at in 0..MANY {
            let home = Self::home(keys[at]);
            let here = if Self::HOMES { self.at_home(leaves[at], home, keys[at]) } else { 0 };
            let slot = home + (here | 1 << (Self::NEAR - 1)).trailing_zeros() as usize;
            found[at] = Some(self.value_of(self.pair(leaves[at], slot.min(Self::ROOM - 1))));
            strays[count] = at;
            count += usize::from(here == 0);
        }
        let strays = &strays[..count];
        strays.iter().for_each(|at| self.ask_count(leaves[*at]));
        let mut slots = [0; MANY];
        for (slots, at) in slots.iter_mut().zip(strays) {
            *slots = self.candidates(x, leaves[*at], keys[*at]);
            if *slots != 0 {
                prefetch_address(self.pair(leaves[*at], slots.trailing_zeros() as usize).as_ptr());
            }
        }
        for (slots, at) in slots.iter().zip(strays) {
            let slot = self.among(leaves[*at], *slots, keys[*at]);
            found[*at] = slot.map(|slot| self.value_at(leaves[*at], slot));
        }
        found
    }

    #[inline(always)]
    fn ask_place<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) {
        let (vacant, slots) = (Self::ALL & !self.mask(x, leaf), self.candidates(x, leaf, key));
        if slots != 0 {
            prefetch_address(self.pair(leaf, slots.trailing_zeros() as usize).as_ptr());
        }
        prefetch_address_write(self.pair(leaf, Self::room(vacant, Hash::of(key)).min(Self::ROOM - 1)).as_ptr());
    }

    fn ask_all(&self, leaf: u32) {
        let (start, bytes) = (self.pair(leaf, 0).as_ptr(), Self::ROOM * size_of::<Pair<K::Lane, V>>());
        (0..bytes).step_by(LINE_BYTES).for_each(|offset| prefetch_address(start.wrapping_byte_add(offset)));
        self.ask_count(leaf);
        self.orders.ask(leaf);
    }
}
