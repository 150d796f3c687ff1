//! Whose a block is: each one behind a leaf's first block names that one, durably and for as long as any state that a
//! crash may choose names a slot of the block.
//!
//! So the word needs no version, and no block has to hold anything for another to be found: with links from block to
//! block, one in the middle that has lost its pairs would be free after a crash, and the way behind it gone.

use super::{Buffered, Form, OverflowBlocks};
use crate::keys::Keys;
use crate::leaf::{Home, ReadContext, damaged};
use holm_medium::{Medium, Result, Word, WriteHandle};

impl<const SEGMENTS: usize, F: Form> Buffered<SEGMENTS, F> {
    /// Where the number of the leaf's first block lies, above the last fingerprints.
    fn owner_word(&self) -> &Word {
        &self.fingerprints[3]
    }

    /// The number of the leaf's first block; 0 in that one itself. It changes only while no state that a crash may
    /// choose names a slot of this block.
    #[inline]
    pub(super) fn owner(&self) -> u32 {
        if SEGMENTS == 1 { 0 } else { (self.owner_word().read() >> 32) as u32 }
    }

    fn set_owner<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, number: u32) {
        if self.owner() != number {
            handle.write(self.owner_word(), self.owner_word().read() & 0xffff_ffff | u64::from(number) << 32);
            handle.defer(self.owner_word());
        }
    }

    /// Makes a fresh block an empty one, of the leaf that `owner` says.
    pub(super) fn format_block<M: Medium>(
        &self,
        overflow: &OverflowBlocks<SEGMENTS, F::FingerprintPolicy>,
        handle: &mut WriteHandle<'_, M>,
        home: Home,
        owner: u32,
    ) {
        overflow.begin();
        self.set_owner(handle, owner);
        self.set_home(handle, home, 0);
        self.publish(handle, 0);
        self.copied(overflow, 0);
    }

    /// See [`crate::leaf::Leaf::attach_overflow`]. A block that names this one holds pairs at the recovery point, so it
    /// was not given up by then, nor was this one: its home and its owner are those of the leaf, whether it holds
    /// anything itself or not.
    pub(super) fn attach_blocks<K: Keys>(
        &self,
        own: u32,
        overflow: &OverflowBlocks<SEGMENTS, F::FingerprintPolicy>,
        context: ReadContext<'_, K>,
        overflow_numbers: &[u32],
    ) -> Result<()> {
        let wrong =
            |found: String, expected: &str| Err(damaged::<Self>((own, 48), "the blocks of a leaf", found, expected));
        if self.owner() != 0 {
            return wrong(format!("block {own} behind another, and named by {overflow_numbers:?}"), "two ranks");
        }
        let home = self.home();
        for number in overflow_numbers {
            let alike = |block: &Self| (block.home().keyspace, block.home().skip) == (home.keyspace, home.skip);
            if !context.block(*number).is_some_and(alike) {
                return wrong(format!("block {number} of another range"), "one home");
            }
            if !overflow.attach(*number) {
                return wrong(format!("{own} and {overflow_numbers:?}"), "no more than a leaf has");
            }
        }
        self.derive(overflow, context);
        Ok(())
    }
}
