//! Serializes the writers of one key. PiBench's insert must not replace, and its update must not create, but a put of a
//! tree does both. So a writer holds the lock from its lookup to its write. Readers do not lock.

use crossbeam_utils::CachePadded;
use std::sync::{Mutex, MutexGuard};

/// Enough that two threads with different keys seldom share a lock.
const COUNT: usize = 1024;

/// Locks by a hash of the key.
pub(crate) struct Stripes(Box<[CachePadded<Mutex<()>>]>);

impl Stripes {
    pub(crate) fn new() -> Self {
        Stripes((0..COUNT).map(|_| CachePadded::default()).collect())
    }

    pub(crate) fn lock(&self, hash: u64) -> MutexGuard<'_, ()> {
        let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        self.0[mixed as usize % COUNT].lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
