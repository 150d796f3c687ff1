//! The heirs of a block: the leaves that got its pairs when its leaf gave way to them.
//!
//! A block names them before the store that empties it, in the same line, and keeps the names until it is taken again.
//! After the death of the process, the kernel can lose the page of an heir and keep that of the block. Nothing else
//! would show it: if no epoch since has been logged, the log has the block with its pairs, and the heir as it was
//! before. An heir that has not changed since the block was emptied has been lost.

use super::block::HEIR;
use super::{Buffered, Form};
use crate::leaf::GaveWay;
use holm_medium::{Epoch, Medium, Word, WriteHandle};

/// Returns the number of the leaf's first block from a copy of the word that has it.
pub fn owner_of(word: u64) -> u32 {
    let number = (word >> 32) as u32;
    if number & HEIR == 0 { number } else { 0 }
}

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// The word above the last fingerprints: in an overflow block the number of the leaf's first block, and in a first
    /// block the second heir.
    pub(super) fn owner_word(&self) -> &Word {
        &self.fingerprints[3]
    }

    /// Names the leaves that are about to get this block's pairs: one or two. An overflow block has room for one name.
    /// The caller flushes.
    pub(super) fn name_heirs<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, heirs: &[u32]) {
        let Some(first) = heirs.first() else { return };
        self.set_kin(handle, HEIR | first);
        if let Some(second) = heirs.get(1).filter(|_| self.owner() == 0) {
            let name = u64::from(HEIR | second) << 32;
            // Survivor (store): recovery asks for it where pages were lost, which no crash here does.
            handle.write(self.owner_word(), self.owner_word().read() & 0xffff_ffff | name);
        }
    }

    /// See [`crate::leaf::Versioned::gave_way_after`]. A block that names heirs and has pairs is about to give way: the
    /// epoch has not ended, and so the heirs are later than every epoch that is in the log.
    pub(super) fn gave_way(&self, epoch: Epoch) -> Option<GaveWay> {
        let (now, kin) = (self.now(), self.kin());
        let in_epoch = if now.bits == 0 { now.tag } else { epoch + 1 };
        if kin & HEIR == 0 || in_epoch <= epoch {
            return None;
        }
        let second = (self.owner_word().read() >> 32) as u32;
        let second = Some(second & !HEIR).filter(|_| second & HEIR != 0);
        Some(GaveWay { in_epoch, heirs: [Some(kin & !HEIR), second] })
    }
}
