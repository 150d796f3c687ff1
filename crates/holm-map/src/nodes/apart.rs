//! Nodes as in the paper: separators in one area, identifiers in another. Each node's slots are contiguous in both.

use super::{Nodes, Occupancy, children, in_two_halves};
use crate::area::Area;
use crate::key::Key;
use crate::level::Level;
use crate::search::{Node, Search};
use holm_search::{Hint, Lane, LaneKernels, prefetch, prefetch_lines_as};
use std::marker::PhantomData;
use std::ops::Range;

/// Nodes whose keys and identifiers lie in two areas, searched by `Q`.
pub struct Apart<K: Key, C, Q> {
    separators: Area<K::Lane>,
    identifiers: Area<u32>,
    occupancy: Occupancy,
    level: PhantomData<(C, Q)>,
}

impl<K: Key, C: Level, Q: Search> Apart<K, C, Q> {
    /// Returns the index of the node's first slot.
    #[inline(always)]
    fn start(node: u32) -> usize {
        node as usize * <Self as Nodes<K>>::CHILDREN
    }

    /// Returns the slots of a node, the same for separators and identifiers. Only the first node may have fewer than a
    /// whole one.
    #[inline(always)]
    fn room(&self, node: u32) -> Range<usize> {
        let start = Self::start(node);
        let end = start + <Self as Nodes<K>>::CHILDREN;
        let whole = <Self as Nodes<K>>::FIRST_CHILDREN == <Self as Nodes<K>>::CHILDREN;
        start..if whole { end } else { end.min(self.separators.len()) }
    }

    #[inline(always)]
    fn node(&self, node: u32) -> Node<'_, K::Lane> {
        Node { keys: &self.separators[self.room(node)], counts: &self.occupancy.used, number: node as usize }
    }
}

impl<K: Key, C, Q> Clone for Apart<K, C, Q> {
    fn clone(&self) -> Self {
        let (separators, identifiers) = (self.separators.clone(), self.identifiers.clone());
        Self { separators, identifiers, occupancy: self.occupancy.clone(), level: PhantomData }
    }
}

impl<K: Key, C: Level, Q: Search> Nodes<K> for Apart<K, C, Q> {
    const CHILDREN: usize = children::<K::Lane, C>();

    fn new() -> Self {
        let (separators, identifiers) = (Area::new(C::PAGES), Area::new(C::PAGES));
        Self { separators, identifiers, occupancy: Occupancy::new(C::PAGES), level: PhantomData }
    }

    fn bytes(&self) -> usize {
        self.separators.bytes() + self.identifiers.bytes() + self.occupancy.bytes()
    }

    fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    fn occupancy_mut(&mut self) -> &mut Occupancy {
        &mut self.occupancy
    }

    fn add(&mut self, children: usize) {
        self.identifiers.grow(children, 0);
        self.separators.grow(children, K::Lane::GREATEST);
    }

    fn first_room(&self) -> usize {
        self.separators.len().min(Self::CHILDREN)
    }

    fn widen(&mut self, children: usize) {
        let more = children.saturating_sub(self.separators.len());
        self.add(more);
    }

    fn separator(&self, node: u32, slot: usize) -> K::Lane {
        self.separators[Self::start(node) + slot]
    }

    #[inline(always)]
    fn child(&self, node: u32, entry: usize) -> u32 {
        self.identifiers[Self::start(node) + entry]
    }

    fn write_separator(&mut self, node: u32, slot: usize, separator: K::Lane) {
        self.separators[Self::start(node) + slot] = separator;
    }

    fn write_child(&mut self, node: u32, entry: usize, child: u32) {
        self.identifiers[Self::start(node) + entry] = child;
    }

    fn copy_separators(&mut self, from: (u32, usize), count: usize, to: (u32, usize)) {
        let start = Self::start(from.0) + from.1;
        self.separators.copy_within(start..start + count, Self::start(to.0) + to.1);
    }

    fn copy_children(&mut self, from: (u32, usize), count: usize, to: (u32, usize)) {
        let start = Self::start(from.0) + from.1;
        self.identifiers.copy_within(start..start + count, Self::start(to.0) + to.1);
    }

    fn resample(&mut self, _: u32, _: usize, _: usize) {}

    #[inline(always)]
    fn find<X: LaneKernels>(&self, x: X, node: u32, key: K::Lane) -> (usize, u32) {
        let lent = self.node(node);
        prefetch_lines_as(lent.keys, C::KEYS);
        prefetch_lines_as(&self.identifiers[self.room(node)], C::IDENTIFIERS);
        let entry = Q::below::<K, X>(x, lent, key);
        (entry, self.child(node, entry))
    }

    #[inline(always)]
    fn ask(&self, node: u32) {
        prefetch_lines_as(self.node(node).keys, Hint::T0);
    }

    #[inline(always)]
    fn descend<X: LaneKernels, const MANY: usize>(
        &self,
        x: X,
        keys: &[K::Lane; MANY],
        nodes: &mut [u32; MANY],
        ask: impl Fn(u32, K::Lane),
    ) {
        let first = |node, key| {
            let place = Self::start(node) + Q::below::<K, X>(x, self.node(node), key);
            prefetch(&self.identifiers[place]);
            place
        };
        in_two_halves(keys, nodes, first, |place, _| self.identifiers[place], ask);
    }
}
