//! The paper's leaves: a node of keys, an area of identifiers, and pairs in the pair area.
//!
//! An unsorted leaf is searched for an equal key and appended to. Its last pair fills a hole. Its pivot for a split is
//! the median of its last three keys. A sorted leaf is searched as an inner node is, and insertions shift it. This is
//! one of the files where `unsafe` is allowed.

use super::Leaf;
use super::in_order::in_order;
use super::pair_area::PairArea;
use crate::area::{Area, Pages};
use crate::key::Key;
use crate::search::{Node, Search};
use holm_search::{Hint, Lane, LaneKernels, MASK_LANES, prefetch, prefetch_lines_as, prefetch_write};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// The parameters of a paged leaf.
pub trait PagedLevel: 'static {
    /// Whether leaves are sorted.
    type Order: Order;
    /// Bytes of keys in a leaf: whole cache lines.
    const BYTES: usize;
    /// The pages of keys and identifiers.
    const PAGES: Pages = Pages::Large;
    /// The pages of the pair area.
    const PAIR_PAGES: Pages = Pages::Large;
    /// How a leaf's identifiers are prefetched when a search enters it.
    const IDENTIFIERS: Hint = Hint::None;
    /// A leaf with at most this number of pairs is merged with a neighbour. If 0, only empty leaves are removed, as in
    /// the paper.
    const SPARSE: usize = 0;
    /// A neighbour with at most this number of pairs takes some pairs of a full leaf. If 0, a full leaf always splits,
    /// as in the paper.
    const SHARING: usize = 0;
}

/// Whether leaves are sorted, and how they are searched.
pub trait Order: 'static {
    /// Whether the keys ascend.
    const SORTED: bool;

    /// Returns the slot of `key` if it is among the keys. Greatest lanes stand behind the used keys, and this search
    /// reports them as if they were keys.
    fn find<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> Option<usize>;

    /// Returns the slot where `key`, which is absent, is to be written.
    fn place<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> usize;
}

/// Leaves whose keys stay in the order of arrival.
pub struct Unsorted;

/// Leaves whose keys are sorted, searched by `Q`.
pub struct Sorted<Q>(PhantomData<Q>);

impl Order for Unsorted {
    const SORTED: bool = false;

    #[inline(always)]
    fn find<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> Option<usize> {
        let masks = node.keys.chunks(MASK_LANES).map(|lanes| x.equal(lanes, key)).enumerate();
        let found = |(chunk, mask): (usize, u64)| chunk * MASK_LANES + mask.trailing_zeros() as usize;
        // The loop compares all of the leaf without a branch: a branch would depend on the key.
        let (mut before, mut slot) = (false, 0);
        for (chunk, mask) in masks {
            slot = if before || mask == 0 { slot } else { found((chunk, mask)) };
            before |= mask != 0;
        }
        before.then_some(slot)
    }

    #[inline(always)]
    fn place<K: Key, X: LaneKernels>(_: X, node: Node<'_, K::Lane>, _: K::Lane) -> usize {
        node.used()
    }
}

impl<Q: Search> Order for Sorted<Q> {
    const SORTED: bool = true;

    #[inline(always)]
    fn find<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> Option<usize> {
        let slot = Q::below::<K, X>(x, node, key);
        (node.keys.get(slot) == Some(&key)).then_some(slot)
    }

    #[inline(always)]
    fn place<K: Key, X: LaneKernels>(x: X, node: Node<'_, K::Lane>, key: K::Lane) -> usize {
        Q::below::<K, X>(x, node, key)
    }
}

/// Leaves of keys and identifiers.
pub struct Paged<K: Key, V, C> {
    keys: Area<K::Lane>,
    identifiers: Area<u32>,
    used: Area<u32>,
    pairs: PairArea<K::Lane, V>,
    free: Vec<u32>,
    level: PhantomData<C>,
}

/// The identifier of a slot without a pair.
const NONE: u32 = u32::MAX;

impl<K: Key, V, C: PagedLevel> Paged<K, V, C> {
    const ROOM: usize = {
        assert!(C::BYTES.is_multiple_of(holm_search::LINE_BYTES), "leaves are whole lines");
        C::BYTES / size_of::<K::Lane>()
    };

    #[inline(always)]
    fn start(leaf: u32) -> usize {
        leaf as usize * Self::ROOM
    }

    #[inline(always)]
    fn node(&self, leaf: u32) -> Node<'_, K::Lane> {
        let keys = &self.keys[Self::start(leaf)..][..Self::ROOM];
        Node { keys, counts: &self.used, number: leaf as usize }
    }

    /// Returns the identifier in a slot of `leaf`, [`NONE`] if the slot is not occupied.
    #[inline(always)]
    fn identifier(&self, leaf: u32, slot: usize) -> u32 {
        self.identifiers[Self::start(leaf)..][..Self::ROOM][slot]
    }

    /// Returns the slot of `key`. If `key` is the greatest key, `slot` may be padding, which this function excludes.
    #[inline(always)]
    fn place(&self, leaf: u32, slot: Option<usize>, key: K::Lane) -> Option<usize> {
        // Only the greatest key can be mistaken for padding, so other searches do not read the count, which lies
        // elsewhere.
        slot.filter(|slot| key != K::Lane::GREATEST || *slot < self.used[leaf as usize] as usize)
    }

    /// Removes a key and its identifier from a leaf. The pair stays.
    fn unlink(&mut self, leaf: u32, slot: usize) -> u32 {
        let (start, last) = (Self::start(leaf), self.used[leaf as usize] as usize - 1);
        let (keys, identifiers) = (&mut self.keys[start..][..=last], &mut self.identifiers[start..][..=last]);
        let identifier = identifiers[slot];
        if C::Order::SORTED {
            keys.copy_within(slot + 1.., slot);
            identifiers.copy_within(slot + 1.., slot);
        } else {
            (keys[slot], identifiers[slot]) = (keys[last], identifiers[last]);
        }
        (keys[last], identifiers[last]) = (K::Lane::GREATEST, NONE);
        self.used[leaf as usize] -= 1;
        identifier
    }

    /// Writes a key and the identifier of its pair into `slot` of a leaf that has room.
    #[inline(always)]
    fn link(&mut self, leaf: u32, slot: usize, key: K::Lane, identifier: u32) {
        let (start, used) = (Self::start(leaf), self.used[leaf as usize] as usize);
        let (keys, identifiers) = (&mut self.keys[start..][..Self::ROOM], &mut self.identifiers[start..][..Self::ROOM]);
        if C::Order::SORTED {
            keys.copy_within(slot..used, slot + 1);
            identifiers.copy_within(slot..used, slot + 1);
        }
        (keys[slot], identifiers[slot]) = (key, identifier);
        self.used[leaf as usize] += 1;
    }

    /// Returns a pivot: at least one key is greater, and all keys that stay are at most the pivot. It is the middle
    /// key, or in an unsorted leaf the median of the last three.
    fn pivot(&self, leaf: u32) -> K::Lane {
        let used = self.len(leaf);
        let keys = &self.node(leaf).keys[..used];
        if C::Order::SORTED {
            return keys[(used - 1) / 2];
        }
        let mut last = [keys[used - 3], keys[used - 2], keys[used - 1]];
        last.sort_unstable();
        last[1]
    }
}

// SAFETY: a slot has an identifier other than `NONE` exactly if it is occupied, and each identifier is in one slot.
// `insert` links a fresh one, `remove` unlinks it before it takes the pair, and `split` and `merge` unlink and link.
unsafe impl<K: Key, V, C: PagedLevel> Leaf<K, V> for Paged<K, V, C> {
    type Slots = Vec<u32>;

    const SLOTS: usize = {
        assert!(Self::ROOM >= 4, "a leaf has four slots or more");
        Self::ROOM
    };
    const SPARSE: usize = C::SPARSE;
    const SHARING: usize = {
        assert!(C::SHARING < Self::ROOM - 1, "a neighbour that takes pairs has room for two");
        C::SHARING
    };

    fn new() -> Self {
        Self {
            keys: Area::new(C::PAGES),
            identifiers: Area::new(C::PAGES),
            used: Area::new(C::PAGES),
            pairs: PairArea::new(C::PAIR_PAGES),
            free: Vec::new(),
            level: PhantomData,
        }
    }

    fn bytes(&self) -> usize {
        let nodes = self.keys.bytes() + self.identifiers.bytes() + self.used.bytes();
        nodes + self.pairs.bytes() + self.free.capacity() * size_of::<u32>()
    }

    fn prepare(&mut self, leaves: usize, pairs: usize) {
        self.keys.prepare(leaves.saturating_mul(Self::ROOM));
        self.identifiers.prepare(leaves.saturating_mul(Self::ROOM));
        self.used.prepare(leaves);
        self.pairs.prepare(pairs);
    }

    fn fresh(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let leaf = self.used.len();
            let number = u32::try_from(leaf).unwrap_or_else(|_| panic!("a tree has at most 2^32 leaves"));
            self.used.grow(1, 0);
            self.keys.grow(Self::ROOM, K::Lane::GREATEST);
            self.identifiers.grow(Self::ROOM, NONE);
            number
        })
    }

    fn retire(&mut self, leaf: u32) {
        debug_assert_eq!(self.len(leaf), 0);
        self.free.push(leaf);
    }

    #[inline(always)]
    fn len(&self, leaf: u32) -> usize {
        self.used[leaf as usize] as usize
    }

    #[inline(always)]
    fn find<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) -> Option<usize> {
        prefetch_lines_as(&self.identifiers[Self::start(leaf)..][..Self::ROOM], C::IDENTIFIERS);
        self.place(leaf, C::Order::find::<K, X>(x, self.node(leaf), key), key)
    }

    #[inline(always)]
    fn key(&self, leaf: u32, slot: usize) -> K::Lane {
        self.node(leaf).keys[slot]
    }

    #[inline(always)]
    fn value_at(&self, leaf: u32, slot: usize) -> NonNull<V> {
        // `NONE` is outside the area, so a slot without a pair panics there.
        self.pairs.value_at(self.identifier(leaf, slot))
    }

    #[inline(always)]
    fn insert<X: LaneKernels>(&mut self, x: X, leaf: u32, key: K::Lane, value: V) -> usize {
        let slot = C::Order::place::<K, X>(x, self.node(leaf), key);
        assert!(self.len(leaf) < Self::ROOM, "a pair for a full leaf");
        let identifier = self.pairs.insert(key, value);
        self.link(leaf, slot, key, identifier);
        slot
    }

    fn remove(&mut self, leaf: u32, slot: usize) -> V {
        assert!(slot < self.len(leaf), "slot {slot} of leaf {leaf} is not occupied");
        let (key, identifier) = (self.key(leaf, slot), self.unlink(leaf, slot));
        // SAFETY: the identifier was in an occupied slot, and is in no slot any more.
        unsafe { self.pairs.remove(key, identifier) }
    }

    fn split<X: LaneKernels>(&mut self, _: X, leaf: u32) -> (K::Lane, u32) {
        let (pivot, fresh) = (self.pivot(leaf), self.fresh());
        let (from, used) = (Self::start(leaf), self.len(leaf));
        let mut kept = 0;
        for slot in 0..used {
            let (key, identifier) = (self.keys[from + slot], self.identifiers[from + slot]);
            // All keys stay only if a caller of `insert_unique` broke its promise. This makes room all the same.
            if key > pivot || kept + 1 == used {
                let end = self.len(fresh);
                self.link(fresh, end, key, identifier);
            } else {
                (self.keys[from + kept], self.identifiers[from + kept]) = (key, identifier);
                kept += 1;
            }
        }
        self.keys[from + kept..from + used].fill(K::Lane::GREATEST);
        self.identifiers[from + kept..from + used].fill(NONE);
        self.used[leaf as usize] = kept as u32;
        (pivot, fresh)
    }

    fn share<X: LaneKernels>(&mut self, x: X, leaf: u32, neighbour: u32, to_right: bool) -> Option<K::Lane> {
        let (used, room) = (self.len(leaf), Self::ROOM - self.len(neighbour));
        let mut order = Vec::with_capacity(used);
        self.sorted(x, leaf, &mut order);
        let key_at = |at: usize| self.key(leaf, order[at] as usize);
        // If a caller of `insert_unique` broke its promise, two keys may be equal, and no separator fits between them.
        let kept = if to_right { used - room / 2 } else { room / 2 };
        let (left, right) = (key_at(kept - 1), key_at(kept));
        if left == right {
            return None;
        }
        for slot in (0..used).rev() {
            let key = self.key(leaf, slot);
            if (key > left) == to_right {
                let identifier = self.unlink(leaf, slot);
                let place = C::Order::place::<K, X>(x, self.node(neighbour), key);
                self.link(neighbour, place, key, identifier);
            }
        }
        Some(left)
    }

    fn merge(&mut self, left: u32, right: u32) {
        while self.len(right) > 0 {
            // Moves from the front, so that a sorted leaf stays sorted.
            let key = self.key(right, 0);
            let identifier = self.unlink(right, 0);
            self.link(left, self.len(left), key, identifier);
        }
    }

    fn sorted<X: LaneKernels>(&self, x: X, leaf: u32, out: &mut Vec<u32>) {
        let keys = &self.node(leaf).keys[..self.len(leaf)];
        out.clear();
        if !C::Order::SORTED && keys.len() <= MASK_LANES {
            let mut lanes = [K::Lane::GREATEST; MASK_LANES];
            lanes[..keys.len()].copy_from_slice(keys);
            // With no keys, the shift would be by all bits.
            let which = u64::MAX.checked_shr((MASK_LANES - keys.len()) as u32).unwrap_or(0);
            return out.extend(in_order(x, &lanes, which)[..keys.len()].iter().map(|slot| u32::from(*slot)));
        }
        out.extend(0..keys.len() as u32);
        if !C::Order::SORTED {
            out.sort_unstable_by_key(|slot| keys[*slot as usize]);
        }
    }

    #[inline(always)]
    fn append(&mut self, leaf: u32, key: K::Lane, value: V) {
        let slot = self.len(leaf);
        assert!(slot < Self::ROOM, "a pair for a full leaf");
        let identifier = self.pairs.insert(key, value);
        self.link(leaf, slot, key, identifier);
    }

    fn empty_copy(&self) -> Self {
        let (mut leaves, count) = (Self::new(), self.used.len());
        leaves.used.grow(count, 0);
        leaves.keys.grow(count * Self::ROOM, K::Lane::GREATEST);
        leaves.identifiers.grow(count * Self::ROOM, NONE);
        leaves.free.clone_from(&self.free);
        leaves
    }

    fn copy_leaf(&mut self, other: &Self, leaf: u32)
    where
        V: Clone,
    {
        for slot in 0..other.len(leaf) {
            let key = other.key(leaf, slot);
            // SAFETY: an occupied slot has a value, and no writer changes it while `other` is borrowed.
            let value = unsafe { other.value_at(leaf, slot).as_ref() }.clone();
            self.append(leaf, key, value);
        }
    }

    fn counts(&self) -> (usize, usize) {
        (self.used.len(), self.free.len())
    }

    fn end(&self, leaf: u32, least: bool) -> Option<(K::Lane, usize)> {
        let keys = self.node(leaf).keys[..self.len(leaf)].iter().copied().zip(0..);
        if least { keys.min() } else { keys.max() }
    }

    #[inline(always)]
    fn ask_early(&self, _: u32, _: K::Lane) {}

    #[inline(always)]
    fn ask_count(&self, leaf: u32) {
        prefetch(&self.used[leaf as usize]);
    }

    #[inline(always)]
    fn ask(&self, leaf: u32, _: K::Lane) {
        prefetch_lines_as(self.node(leaf).keys, Hint::T0);
    }

    #[inline(always)]
    fn find_many<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        leaves: &[u32; MANY],
        keys: &[K::Lane; MANY],
    ) -> [Option<NonNull<V>>; MANY] {
        let mut slots = [None; MANY];
        for ((slot, leaf), key) in slots.iter_mut().zip(leaves).zip(keys) {
            *slot = self.place(*leaf, C::Order::find::<K, X>(x, self.node(*leaf), *key), *key);
            if let Some(slot) = *slot {
                prefetch(&self.identifiers[Self::start(*leaf) + slot]);
            }
        }
        for (slot, leaf) in slots.iter().zip(leaves) {
            if let Some(slot) = *slot {
                self.pairs.ask(self.identifier(*leaf, slot));
            }
        }
        let mut found = [None; MANY];
        for ((found, slot), leaf) in found.iter_mut().zip(&slots).zip(leaves) {
            *found = slot.map(|slot| self.value_at(*leaf, slot));
        }
        found
    }

    #[inline(always)]
    fn ask_place<X: LaneKernels>(&self, x: X, leaf: u32, key: K::Lane) {
        let slot = C::Order::find::<K, X>(x, self.node(leaf), key);
        let slot = slot.unwrap_or(self.len(leaf)).min(Self::ROOM - 1);
        prefetch_write(&self.identifiers[Self::start(leaf) + slot]);
        self.pairs.ask_room();
    }

    fn ask_all(&self, leaf: u32) {
        let start = Self::start(leaf);
        prefetch_lines_as(&self.keys[start..][..Self::ROOM], Hint::T0);
        self.identifiers[start..][..self.len(leaf)].iter().for_each(|identifier| self.pairs.ask(*identifier));
    }
}
