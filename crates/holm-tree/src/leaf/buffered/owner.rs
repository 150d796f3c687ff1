//! The owner of a block. Each overflow block names its leaf's first block durably. It does so for as long as a crash
//! may choose a state that names a slot of the block.
//!
//! So the word needs no version, and no block needs a pair to keep another one reachable. With links from block to
//! block, an empty block in the middle would be free after a crash, and the blocks after it unreachable.

use super::heirs::owner_of;
use super::{Buffered, Form, Volatile};
use crate::keys::Keys;
use crate::leaf::{BlockByte, Home, ReadContext, damaged};
use holm_medium::{Medium, Result, WriteHandle};

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// Returns the number of the leaf's first block; 0 in that block itself. It changes only while no state that a
    /// crash may choose names a slot of this block.
    #[inline]
    pub(super) fn owner(&self) -> u32 {
        if BLOCKS == 1 { 0 } else { owner_of(self.owner_word().read()) }
    }

    fn set_owner<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, number: u32) {
        // The block's last use may have left the name of an heir there.
        if (self.owner_word().read() >> 32) as u32 != number {
            handle.write(self.owner_word(), self.owner_word().read() & 0xffff_ffff | u64::from(number) << 32);
            handle.defer(self.owner_word());
        }
    }

    /// Formats a fresh block as an empty one of the leaf `owner`.
    pub(super) fn format_block<M: Medium>(
        &self,
        volatile: &Volatile<BLOCKS, F>,
        handle: &mut WriteHandle<'_, M>,
        home: Home,
        owner: u32,
    ) {
        volatile.begin();
        self.set_owner(handle, owner);
        self.set_home(handle, home, 0);
        self.publish(handle, 0);
        self.copied(volatile, 0);
    }

    /// See [`crate::leaf::WithOverflow::attach_overflow`]. A block that names this one has pairs at the recovery point.
    /// So neither block had been released by then, and this block's home and owner are those of the leaf, even if it
    /// is empty itself.
    pub(super) fn attach_blocks<K: Keys>(
        &self,
        own: u32,
        context: ReadContext<'_, Volatile<BLOCKS, F>, K>,
        overflow_numbers: &[u32],
    ) -> Result<()> {
        let wrong = |found: String, expected: &str| {
            Err(damaged::<Self>(BlockByte { block: own, byte: 48 }, "the blocks of a leaf", found, expected))
        };
        if self.owner() != 0 {
            return wrong(format!("block {own} behind another, and named by {overflow_numbers:?}"), "two ranks");
        }
        let home = self.home();
        for number in overflow_numbers {
            let alike = |block: &Self| (block.home().keyspace, block.home().skip) == (home.keyspace, home.skip);
            if !context.block(*number).is_some_and(alike) {
                return wrong(format!("block {number} of another range"), "one home");
            }
            if !context.volatile.attach(*number) {
                return wrong(format!("{own} and {overflow_numbers:?}"), "no more than a leaf has");
            }
        }
        self.derive(context);
        Ok(())
    }
}
