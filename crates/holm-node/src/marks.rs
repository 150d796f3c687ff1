//! Hashes of a group at marks, which replicas compare through the log.
//!
//! A mark is passed by the first entry whose index is at or above a multiple of 1,024, and its hash is that of all
//! changes before this entry. So a mark depends on the log alone. The last few are in memory: a replica that has just
//! been opened or restored knows none, and compares nothing before it passes one.

use crate::fault::{Fault, Result};

/// Entries from mark to mark, about.
const DISTANCE: u64 = 1_024;

/// How many marks are known.
const MOST: usize = 64;

/// The last marks of a group, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks(Vec<(u64, u64)>);

impl Marks {
    /// Notes the hash before an entry, if the entry passes a mark.
    pub(crate) fn pass(&mut self, before: u64, index: u64, hash: u64) {
        if index / DISTANCE > before / DISTANCE {
            if self.0.len() == MOST {
                self.0.remove(0);
            }
            self.0.push((index / DISTANCE, hash));
        }
    }

    /// Returns the last mark and its hash; zeros if none is known.
    pub(crate) fn last(&self) -> (u64, u64) {
        self.0.last().copied().unwrap_or_default()
    }

    /// Compares a mark with that of another replica, if it is known.
    pub(crate) fn compare(&self, mark: u64, expected: u64) -> Result<()> {
        match self.0.iter().find(|(known, _)| *known == mark) {
            Some((_, found)) if *found != expected => Err(Fault::Differs { mark, found: *found, expected }),
            _ => Ok(()),
        }
    }
}
