//! Volatile nodes by number, in memory that never changes type and is never freed.
//!
//! A stale number leads to a valid node of the right type whose version has changed, so the reader restarts. Therefore
//! the tree needs neither unsafe code nor epoch-based reclamation. The price: memory of a tree that shrank is reused,
//! not returned. Chunks double in size; finding a node takes two shifts and two loads.

use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU32, Ordering};
use holm_medium::prefer_large_pages;
use std::sync::OnceLock;

/// The first chunk holds this power of two. It is tiny where schedules are explored or each step is interpreted, so
/// that few nodes span many chunks.
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

    /// Returns the node of a number; `None` if the number was never allocated.
    #[inline]
    pub fn get(&self, number: u32) -> Option<&T> {
        let (chunk, index) = Self::place(number);
        self.chunks.get(chunk)?.get()?.get(index)
    }

    /// Returns the node of a number and allocates its whole chunk if necessary; `None` for the very last numbers.
    pub fn get_or_allocate(&self, number: u32) -> Option<&T> {
        let (chunk, index) = Self::place(number);
        let allocate = || {
            let len = 1usize << (chunk as u32 + FIRST_BITS);
            let mut nodes = Vec::with_capacity(len);
            prefer_large_pages(nodes.spare_capacity_mut());
            nodes.resize_with(len, T::default);
            nodes.into_boxed_slice()
        };
        self.chunks.get(chunk)?.get_or_init(allocate).get(index)
    }

    /// Returns an unused number and its node, which may still hold its previous content.
    ///
    /// # Panics
    /// After four thousand million nodes.
    pub fn take(&self) -> (u32, &T) {
        let freed = self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop();
        let number = freed.unwrap_or_else(|| self.next.fetch_add(1, Ordering::Relaxed));
        (number, self.get_or_allocate(number).expect("fewer nodes than numbers"))
    }

    /// Returns the bytes of all nodes that were ever taken.
    pub fn bytes(&self) -> u64 {
        u64::from(self.next.load(Ordering::Relaxed)) * size_of::<T>() as u64
    }

    /// Returns the bytes of all nodes for which there is memory.
    pub fn allocated_bytes(&self) -> u64 {
        self.chunks.iter().filter_map(OnceLock::get).map(|chunk| size_of_val(&**chunk) as u64).sum()
    }

    /// Gives a number back for reuse.
    pub fn give(&self, number: u32) {
        self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(number);
    }
}
