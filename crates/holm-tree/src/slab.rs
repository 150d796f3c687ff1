//! Volatile nodes by number, in memory that never changes type and never goes away.
//!
//! A stale number leads to a valid node of the right type whose version has moved on, so the reader restarts: that is
//! why the tree needs neither unsafe code nor reclamation by epochs. The price: memory of a shrunken tree is reused,
//! not returned. Chunks double in size; finding a node is two shifts and two loads.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU32, Ordering};
use std::sync::OnceLock;

/// The first chunk holds this power of two; a tiny one where schedules are explored or each step is interpreted, so
/// that few nodes meet many chunks.
const FIRST_BITS: u32 = if cfg!(any(shuttle, miri)) { 1 } else { 6 };

/// Nodes by number.
pub struct Slab<T> {
    chunks: [OnceLock<Box<[T]>>; 27],
    next: AtomicU32,
    free: Mutex<Vec<u32>>,
}

impl<T: Default> Default for Slab<T> {
    fn default() -> Self {
        Slab { chunks: [const { OnceLock::new() }; 27], next: AtomicU32::new(0), free: Mutex::default() }
    }
}

impl<T: Default> Slab<T> {
    #[inline]
    fn place(number: u32) -> (usize, usize) {
        let shifted = u64::from(number) + (1 << FIRST_BITS);
        let highest = shifted.ilog2();
        ((highest - FIRST_BITS) as usize, (shifted ^ 1 << highest) as usize)
    }

    /// The node of a number; `None` where there never was one.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let (chunk, index) = Self::place(number);
        self.chunks.get(chunk)?.get()?.get(index)
    }

    /// The node of a number, made with its whole chunk if need be. The last numbers of all have no place.
    pub fn get_or_allocate(&self, number: u32) -> Option<&T> {
        let (chunk, index) = Self::place(number);
        let len = 1usize << (chunk as u32 + FIRST_BITS);
        self.chunks.get(chunk)?.get_or_init(|| (0..len).map(|_| T::default()).collect()).get(index)
    }

    /// A number that nobody uses, and its node, which may hold what it held before.
    ///
    /// # Panics
    /// After four thousand million nodes.
    pub fn take(&self) -> (u32, &T) {
        let freed = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let number = freed.unwrap_or_else(|| self.next.fetch_add(1, Ordering::Relaxed));
        (number, self.get_or_allocate(number).expect("fewer nodes than numbers"))
    }

    /// Bytes of the nodes that were ever taken.
    pub fn bytes(&self) -> u64 {
        u64::from(self.next.load(Ordering::Relaxed)) * size_of::<T>() as u64
    }

    /// Gives a number back.
    pub fn give(&self, number: u32) {
        self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(number);
    }
}
