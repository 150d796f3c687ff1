//! The lines that the two open epochs have dirtied.

#![forbid(unsafe_code)]

use super::dirty::{Dirty, LineSet};
use super::label::Epoch;

/// A map of dirty lines per open epoch. Two suffice: an epoch begins only after the second one before it was drained.
pub(super) struct DirtyLines([Dirty; 2]);

impl DirtyLines {
    /// Maps for areas of at most `reserved` bytes.
    pub(super) fn new(reserved: [usize; 2]) -> Self {
        DirtyLines([Dirty::new(reserved), Dirty::new(reserved)])
    }

    /// Marks lines as written in an epoch, which the caller has pinned.
    #[inline]
    pub(super) fn mark(&self, epoch: Epoch, marks: LineSet) {
        self.0[(epoch & 1) as usize].mark(marks);
    }

    /// Declares that two leaves may share a mask; call it before any leaf is marked.
    pub(super) fn share_masks(&self) {
        self.0.iter().for_each(Dirty::share_masks);
    }

    /// Counts the lines of both epochs.
    pub(super) fn line_count(&self) -> u64 {
        self.0.iter().map(Dirty::line_count).sum()
    }

    /// Takes the runs of lines that an ended epoch dirtied.
    pub(super) fn drain(&self, ended: Epoch, visit: impl FnMut(u64, u64)) {
        self.0[(ended & 1) as usize].drain(visit);
    }
}
