//! Turns of threads that write the same key in transactions.
//!
//! Of two transactions that change one record at once, one conflicts and has done its work in vain. So commands that
//! share a transaction wait for their turn at the key. This is no condition of correctness: a writer without a turn
//! conflicts, as ever.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Keys that share a lock wait for each other without need.
const LOCKS: usize = 64;

/// A lock for each group of keys.
#[derive(Debug)]
pub(crate) struct Turns {
    hasher: RandomState,
    locks: [Mutex<()>; LOCKS],
}

impl Default for Turns {
    fn default() -> Self {
        Turns { hasher: RandomState::new(), locks: [const { Mutex::new(()) }; LOCKS] }
    }
}

impl Turns {
    /// Waits for the turn at a key.
    pub(crate) fn wait(&self, database: u32, key: &[u8]) -> MutexGuard<'_, ()> {
        let lock = &self.locks[self.hasher.hash_one((database, key)) as usize % LOCKS];
        // A panic of another thread leaves nothing half done: its transaction was not committed.
        lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
