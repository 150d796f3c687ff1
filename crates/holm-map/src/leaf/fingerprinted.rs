//! Leaves of fingerprints: a cache line with a byte of each key's hash, and the pairs in an area of their own.
//!
//! A search compares one line and follows the few bytes that agree to their pairs, so a get touches two lines of a
//! leaf, where a leaf of keys is searched in eight and leads to two more. Pairs lie unsorted, side by side: nothing
//! but the order is made up when a scan comes by. One of the rooms where `unsafe` may stand.

use super::Leaf;
use crate::area::{Area, Pages};
use crate::key::Key;
use holm_search::{LINE_BYTES, Lane, LaneKernels, prefetch, prefetch_address, prefetch_address_write};
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

/// The line of a leaf: a fingerprint for each slot, and how many slots are occupied. Those are the first.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Marks([u8; LINE_BYTES]);

impl crate::area::Plain for Marks {}

/// The place of the count.
const COUNT: usize = LINE_BYTES - 1;

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

/// A byte of a key's hash. The product's top byte depends on all of the key.
#[inline(always)]
fn fingerprint<L: Lane>(lane: L) -> u8 {
    ((lane.number() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

impl<K: Key, V, C: FingerprintedLevel> Fingerprinted<K, V, C> {
    #[inline(always)]
    fn pair(&self, leaf: u32, slot: usize) -> NonNull<Pair<K::Lane, V>> {
        self.pairs.at(leaf as usize * C::SLOTS + slot)
    }

    /// The pair of an occupied slot.
    #[inline(always)]
    fn occupied(&self, leaf: u32, slot: usize) -> NonNull<Pair<K::Lane, V>> {
        assert!(slot < usize::from(self.marks[leaf as usize].0[COUNT]), "slot {slot} of leaf {leaf} is not occupied");
        self.pair(leaf, slot)
    }

    /// Writes a pair behind the others of `leaf`, which has room.
    #[inline(always)]
    fn append(&mut self, leaf: u32, pair: Pair<K::Lane, V>) -> usize {
        let marks = &mut self.marks[leaf as usize].0;
        let slot = usize::from(marks[COUNT]);
        assert!(slot < C::SLOTS, "a pair for a full leaf");
        marks[slot] = fingerprint(pair.lane);
        marks[COUNT] += 1;
        // SAFETY: a slot of this leaf, inside the area, which nobody else refers to while `self` is borrowed; it was
        // not occupied, so nothing is overwritten that would have to be dropped.
        unsafe { self.pair(leaf, slot).write(pair) };
        slot
    }

    /// Takes the pair out of an occupied slot; the last pair takes its place.
    fn take(&mut self, leaf: u32, slot: usize) -> Pair<K::Lane, V> {
        let (at, last) = (self.occupied(leaf, slot), usize::from(self.marks[leaf as usize].0[COUNT]) - 1);
        let end = self.pair(leaf, last);
        let marks = &mut self.marks[leaf as usize].0;
        marks[slot] = marks[last];
        marks[COUNT] -= 1;
        // SAFETY: the slot is occupied, so there is a pair; it is read once, for the slot now holds the last pair, and
        // the last slot, of which that is a copy, is not occupied any more. The two may be the same.
        unsafe {
            let pair = at.read();
            at.copy_from(end, 1);
            pair
        }
    }
}

// SAFETY: slots below the count are occupied, and only they; `append` and `take` write and read one pair each together
// with the count, and nothing else does.
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
    fn insert<X: LaneKernels>(&mut self, _: X, leaf: u32, key: K::Lane, value: V) -> usize {
        self.append(leaf, Pair { lane: key, value })
    }

    #[inline(always)]
    fn remove(&mut self, leaf: u32, slot: usize) -> V {
        self.take(leaf, slot).value
    }

    fn split(&mut self, leaf: u32) -> (K::Lane, u32) {
        let mut lanes = [K::Lane::GREATEST; LINE_BYTES];
        let count = self.len(leaf);
        (0..count).for_each(|slot| lanes[slot] = self.key(leaf, slot));
        let (_, middle, _) = lanes[..count].select_nth_unstable((count - 1) / 2);
        let (middle, fresh) = (*middle, self.fresh());
        let mut slot = 0;
        while slot < self.len(leaf) {
            if self.key(leaf, slot) > middle {
                let pair = self.take(leaf, slot);
                self.append(fresh, pair);
            } else {
                slot += 1;
            }
        }
        // Only where a promise of uniqueness was broken: room is made all the same.
        while self.len(fresh) == 0 || self.len(leaf) == Self::SLOTS {
            let pair = self.take(leaf, count - 1);
            self.append(fresh, pair);
        }
        (middle, fresh)
    }

    fn merge(&mut self, left: u32, right: u32) {
        while let Some(last) = self.len(right).checked_sub(1) {
            let pair = self.take(right, last);
            self.append(left, pair);
        }
    }

    fn sorted(&self, leaf: u32, out: &mut Vec<(K::Lane, u32)>) {
        out.clear();
        out.extend((0..self.len(leaf)).map(|slot| (self.key(leaf, slot), slot as u32)));
        out.sort_unstable();
    }

    fn greatest(&self, leaf: u32) -> Option<K::Lane> {
        (0..self.len(leaf)).map(|slot| self.key(leaf, slot)).max()
    }

    #[inline(always)]
    fn ask(&self, leaf: u32) {
        prefetch(&self.marks[leaf as usize]);
    }

    #[inline(always)]
    fn trace<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> u64 {
        let marks = &self.marks[leaf as usize].0;
        x.bytes_equal(marks, fingerprint(key)) & ((1 << marks[COUNT]) - 1)
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
    fn ask_room(&self, leaf: u32) {
        prefetch_address_write(self.pair(leaf, self.len(leaf).min(Self::SLOTS - 1)).as_ptr());
    }

    fn ask_all(&self, leaf: u32) {
        let (start, bytes) = (self.pair(leaf, 0).as_ptr(), self.len(leaf) * size_of::<Pair<K::Lane, V>>());
        (0..bytes).step_by(LINE_BYTES).for_each(|offset| prefetch_address(start.wrapping_byte_add(offset)));
    }
}
