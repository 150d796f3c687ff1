//! Who may write to a key: PiBench's insert must not replace, nor its update make, and the trees put whatever was
//! there before. So writers of one key take turns from the question to the answer. Readers are not concerned.

use crossbeam_utils::CachePadded;
use std::sync::{Mutex, MutexGuard};

/// So many that two threads seldom meet at one although their keys differ.
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
