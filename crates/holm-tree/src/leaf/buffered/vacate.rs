//! The removal of many pairs of a leaf at once.

use super::{Buffered, Form, Volatile};
use crate::keys::{Keys, Slot};
use crate::leaf::{Replaced, WriteContext};
use crate::pair::slots;
use holm_medium::Medium;

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// Vacates the chosen slots, block by block. One store of a block's word of versions commits all of its slots, as
    /// it commits one slot in a removal. So the death of the process leaves each block with all of them or with none.
    pub(super) fn vacate_slots<M: Medium, K: Keys>(
        &self,
        write: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        chosen: &mut dyn FnMut(Slot) -> bool,
        removed: &mut dyn FnMut(Replaced),
    ) {
        let (context, handle) = write.parts();
        let mut empty = None;
        for (place, block) in self.segments(context) {
            let (now, older) = (block.now().bits, block.older(handle.epoch()));
            // Only live slots are followed.
            let gone = slots(now).filter(|index| chosen(block.slot(*index))).fold(0, |gone, index| gone | 1 << index);
            if gone == 0 {
                continue;
            }
            if place > 0 && now == gone {
                // As in a single removal: the first block keeps the epoch.
                self.stamp_first(context.volatile, handle);
            }
            block.publish(handle, now & !gone);
            block.copied(context.volatile, place);
            for index in slots(gone) {
                // As in a single removal: whether no crash can bring back what the slot holds.
                let same_epoch = older >> index & 1 == 0 && !context.volatile.has_moved(place, index);
                removed(Replaced { payload: block.slot(index).payload, same_epoch });
            }
            if place > 0 && now == gone {
                empty = Some(place);
            }
        }
        // The caller takes one detached block from a leaf. Others stay attached, and the next pairs fill them.
        if let Some(place) = empty {
            self.detach_spare(write, place);
        }
    }
}
