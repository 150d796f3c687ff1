//! Nodes in rows: sixteen separators, and beside them the identifiers of as many children. What a search reads last
//! lies together, and all of a node lies in one or two pages, however large the level is.
//!
//! The last separator of each row is also kept in a packed array of samples, and in large nodes that of every sixteenth
//! row too. A node begins with its samples. Each step of a search yields the place of the next step, without a check: a
//! check takes two or three of the fifteen instructions of a step. The number of searches that a CPU overlaps depends
//! on how many of their instructions fit into its reorder window. This is one of the files where `unsafe` is allowed.
//!
//! **Why a search ends in its node.** The last separator that a node has room for is unused: it is the greatest lane,
//! which no key exceeds. Each sample is the last separator of its row or of its stride; where there is no such row, it
//! is the greatest lane. So however many samples are below a key, the node has one more row and one more stride.

use super::{Layout, Nodes, Occupancy, children, in_two_halves};
use crate::area::Area;
use crate::key::Key;
use crate::level::Level;
use holm_search::{Hint, LINE_BYTES, Lane, LaneKernels, prefetch_address, prefetch_lines_as};
use std::marker::PhantomData;

/// Separators of a row, and children of a row.
const ROW: usize = 16;
/// Rows per coarse sample, and rows of a small node, which has no coarse samples.
const STRIDE: usize = 16;

/// Steps of sixteen. The last of each 16 separators is kept in a packed array, and in nodes of more than 256 separators
/// also the last of each 256. No branch depends on a key, and a search touches few lines. A node has room for a
/// multiple of 16 children, a large one of 256.
pub struct Sampled;

impl Layout for Sampled {
    type Nodes<K: Key, C: Level> = Rows<K, C>;
}

/// Nodes in rows.
pub struct Rows<K: Key, C> {
    /// For each node its samples and its rows: separators, and the identifiers that [`Rows::row_children`] returns as
    /// numbers.
    lanes: Area<K::Lane>,
    occupancy: Occupancy,
    level: PhantomData<C>,
}

/// Splits a copy into pieces, from the front or from the back, so that no piece crosses the end of a row on either
/// side.
fn pieces(from: usize, count: usize, to: usize, backwards: bool, mut copy: impl FnMut(usize, usize, usize)) {
    let mut done = 0;
    while done < count {
        let left = count - done;
        let of_row = |at: usize| if backwards { (at + left - 1) % ROW + 1 } else { ROW - (at + done) % ROW };
        let piece = left.min(of_row(from)).min(of_row(to));
        let offset = if backwards { left - piece } else { done };
        copy(from + offset, to + offset, piece);
        done += piece;
    }
}

impl<K: Key, C: Level> Rows<K, C> {
    /// Lanes of a row.
    const LANES: usize = ROW + ROW * size_of::<u32>() / size_of::<K::Lane>();

    /// Lanes of the coarse samples, which come first: whole lines, and none in a small node.
    const COARSE: usize = {
        let rows = <Self as Nodes<K>>::CHILDREN / ROW;
        if rows > STRIDE { (rows / STRIDE).next_multiple_of(K::Lane::PER_LINE) } else { 0 }
    };

    /// Lanes of all samples.
    const SAMPLES: usize = {
        let children = <Self as Nodes<K>>::CHILDREN;
        let unit = if children > ROW * STRIDE { ROW * STRIDE } else { ROW };
        assert!(children.is_multiple_of(unit), "a sampled node has room for a multiple of 16 children, or of 256");
        Self::COARSE + (children / ROW).next_multiple_of(K::Lane::PER_LINE)
    };

    /// Lanes of a whole node.
    const NODE: usize = Self::SAMPLES + <Self as Nodes<K>>::CHILDREN / ROW * Self::LANES;

    /// Returns the index where the row of a slot begins.
    #[inline(always)]
    fn row(node: u32, slot: usize) -> usize {
        node as usize * Self::NODE + Self::SAMPLES + slot / ROW * Self::LANES
    }

    /// Returns the index of a separator.
    #[inline(always)]
    fn place(node: u32, slot: usize) -> usize {
        Self::row(node, slot) + slot % ROW
    }

    /// Returns the numbers of a row's children.
    #[inline(always)]
    fn row_children(&self, row: usize) -> &[u32; ROW] {
        let lanes = &self.lanes[row + ROW..row + Self::LANES];
        // SAFETY: the lanes have as many bytes as 16 numbers, and at least their size and alignment. All bit patterns
        // are valid numbers.
        unsafe { &*lanes.as_ptr().cast() }
    }

    #[inline(always)]
    fn row_children_mut(&mut self, row: usize) -> &mut [u32; ROW] {
        let lanes = &mut self.lanes[row + ROW..row + Self::LANES];
        // SAFETY: as above, and borrowed exclusively.
        unsafe { &mut *lanes.as_mut_ptr().cast() }
    }

    /// Returns the samples of a node.
    #[inline(always)]
    fn samples(&self, node: u32) -> &[K::Lane] {
        assert!((node as usize) < self.occupancy.used.len(), "a node that is not there");
        let start = node as usize * Self::NODE;
        // SAFETY: each node begins with `SAMPLES` samples, and this node exists.
        unsafe { self.lanes.get_unchecked(start..start + Self::SAMPLES) }
    }

    /// Returns the row that `key` belongs to: the index where it begins, and the number of rows before it in the node.
    #[inline(always)]
    fn row_of<X: LaneKernels>(&self, x: X, node: u32, key: K::Lane) -> (usize, usize) {
        let (coarse, fine) = self.samples(node).split_at(Self::COARSE);
        let rows = if Self::COARSE == 0 {
            x.below(fine, key)
        } else {
            let strides = x.below(coarse, key);
            strides * STRIDE + x.below(&fine.as_chunks::<STRIDE>().0[strides], key)
        };
        let row = node as usize * Self::NODE + Self::SAMPLES + rows * Self::LANES;
        debug_assert!(row + Self::LANES <= self.lanes.len() && rows < self.room(node) / ROW);
        (row, rows)
    }

    /// Returns the number of children that a node has room for.
    fn room(&self, node: u32) -> usize {
        if node == 0 { self.first_room() } else { Self::CHILDREN }
    }

    /// Returns the separators of a row.
    ///
    /// # Safety
    /// [`Rows::row_of`] returned `row`, and nothing has changed since.
    #[inline(always)]
    unsafe fn separators(&self, row: usize) -> &[K::Lane] {
        // SAFETY: a row of the node, by the argument at the head of this file.
        unsafe { self.lanes.get_unchecked(row..row + ROW) }
    }

    /// Returns the index within its row of the child that `key` belongs to, and the child's number.
    ///
    /// # Safety
    /// As for [`Rows::separators`], and `key` is the key that `row_of` was called with.
    #[inline(always)]
    unsafe fn child_in<X: LaneKernels>(&self, x: X, row: usize, key: K::Lane) -> (usize, u32) {
        // Separators ascend, so the count is at most this. But separators come from the leaves, and safety must not
        // depend on leaves in which a caller of `insert_unique` broke its promise.
        // SAFETY: by this function's contract.
        let below = x.below(unsafe { self.separators(row) }, key).min(ROW - 1);
        // SAFETY: in the row, by the line above; lanes are at least of a number's alignment.
        (below, unsafe { self.lanes.as_ptr().add(row + ROW).cast::<u32>().add(below).read() })
    }

    /// Prefetches the numbers of a row's children, together with the separators, so that neither waits for the other.
    #[inline(always)]
    fn ask_children(&self, row: usize) {
        prefetch_address(self.lanes.as_ptr().wrapping_add(row + ROW));
    }
}

impl<K: Key, C> Clone for Rows<K, C> {
    fn clone(&self) -> Self {
        Self { lanes: self.lanes.clone(), occupancy: self.occupancy.clone(), level: PhantomData }
    }
}

impl<K: Key, C: Level> Nodes<K> for Rows<K, C> {
    const CHILDREN: usize = children::<K::Lane, C>();

    fn new() -> Self {
        const { assert!(Self::FIRST_CHILDREN.is_multiple_of(ROW) && Self::SAMPLES > 0 && LINE_BYTES == 64) };
        Self { lanes: Area::new(C::PAGES), occupancy: Occupancy::new(C::PAGES), level: PhantomData }
    }

    fn bytes(&self) -> usize {
        self.lanes.bytes() + self.occupancy.bytes()
    }

    fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    fn occupancy_mut(&mut self) -> &mut Occupancy {
        &mut self.occupancy
    }

    fn add(&mut self, children: usize) {
        self.lanes.grow(Self::SAMPLES + children / ROW * Self::LANES, K::Lane::GREATEST);
    }

    fn first_room(&self) -> usize {
        (self.lanes.len().min(Self::NODE) - Self::SAMPLES) / Self::LANES * ROW
    }

    fn widen(&mut self, children: usize) {
        let more = children - self.first_room();
        self.lanes.grow(more / ROW * Self::LANES, K::Lane::GREATEST);
    }

    fn separator(&self, node: u32, slot: usize) -> K::Lane {
        self.lanes[Self::place(node, slot)]
    }

    fn child(&self, node: u32, entry: usize) -> u32 {
        self.row_children(Self::row(node, entry))[entry % ROW]
    }

    fn write_separator(&mut self, node: u32, slot: usize, separator: K::Lane) {
        self.lanes[Self::place(node, slot)] = separator;
    }

    fn write_child(&mut self, node: u32, entry: usize, child: u32) {
        self.row_children_mut(Self::row(node, entry))[entry % ROW] = child;
    }

    fn copy_separators(&mut self, from: (u32, usize), count: usize, to: (u32, usize)) {
        pieces(from.1, count, to.1, from < to, |at, goal, piece| {
            let start = Self::place(from.0, at);
            self.lanes.copy_within(start..start + piece, Self::place(to.0, goal));
        });
    }

    fn copy_children(&mut self, from: (u32, usize), count: usize, to: (u32, usize)) {
        pieces(from.1, count, to.1, from < to, |at, goal, piece| {
            let read = *self.row_children(Self::row(from.0, at));
            let written = self.row_children_mut(Self::row(to.0, goal));
            written[goal % ROW..][..piece].copy_from_slice(&read[at % ROW..][..piece]);
        });
    }

    fn resample(&mut self, node: u32, from: usize, to: usize) {
        let samples = node as usize * Self::NODE;
        let rows = self.room(node) / ROW;
        let last = |lanes: &[K::Lane], rows: usize| lanes[Self::place(node, rows * ROW - 1)];
        for row in from / ROW..(to / ROW).min(rows) {
            self.lanes[samples + Self::COARSE + row] = last(&self.lanes, row + 1);
        }
        if Self::COARSE > 0 {
            let stride = ROW * STRIDE;
            for coarse in from / stride..(to / stride).min(rows / STRIDE) {
                self.lanes[samples + coarse] = last(&self.lanes, (coarse + 1) * STRIDE);
            }
        }
    }

    #[inline(always)]
    fn find<X: LaneKernels>(&self, x: X, node: u32, key: K::Lane) -> (usize, u32) {
        let (row, rows) = self.row_of(x, node, key);
        self.ask_children(row);
        // SAFETY: `row_of` returned it in this search.
        let (below, child) = unsafe { self.child_in(x, row, key) };
        (rows * ROW + below, child)
    }

    #[inline(always)]
    fn ask(&self, node: u32) {
        prefetch_lines_as(self.samples(node), Hint::T0);
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
            let row = self.row_of(x, node, key).0;
            // SAFETY: `row_of` returned it in the line above.
            prefetch_lines_as(unsafe { self.separators(row) }, Hint::T0);
            self.ask_children(row);
            row
        };
        // SAFETY: `first` computed the row for this key: each second half receives the result of its first half.
        let second = |row, key| unsafe { self.child_in(x, row, key).1 };
        in_two_halves(keys, nodes, first, second, ask);
    }
}
