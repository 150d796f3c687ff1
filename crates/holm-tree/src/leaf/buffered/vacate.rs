//! The removal of many pairs of a leaf at once.

use super::overflow_blocks::BlockIndex;
use super::{Buffered, Form, Volatile};
use crate::keys::{Keys, Slot};
use crate::leaf::{ReadContext, Replaced, WriteContext};
use crate::pair::slots;
use crate::pairs::arrange;
use holm_medium::Medium;

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// Vacates the chosen slots. One store of a block's word of versions commits all of its slots, as it commits one
    /// slot in a removal. Where they lie in several blocks, whose keys alternate, a store commits the next of them in
    /// key order that lie in one block: the death of the process leaves their upper end, from some key on.
    pub(super) fn vacate_slots<M: Medium, K: Keys>(
        &self,
        write: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        chosen: &mut dyn FnMut(Slot) -> bool,
        removed: &mut dyn FnMut(Replaced),
    ) {
        let context = write.read;
        let mut gone = [0; BLOCKS];
        for (place, block) in self.segments(context) {
            // Only live slots are followed.
            let live = slots(block.now().bits);
            gone[place] = live.filter(|index| chosen(block.slot(*index))).fold(0, |gone, index| gone | 1 << index);
        }
        if gone.iter().filter(|gone| **gone != 0).count() < 2 {
            for (place, block) in self.segments(context).filter(|(place, _)| gone[*place] != 0) {
                self.vacate_in_block(write, (place, block), gone[place], removed);
            }
        } else {
            for (place, block, run) in self.runs_in_order(context, &gone) {
                self.vacate_in_block(write, (place, block), run, removed);
            }
        }
        // The caller takes one detached block from a leaf. Others stay attached, and the next pairs fill them.
        let emptied =
            self.segments(context).skip(1).filter(|(place, block)| gone[*place] != 0 && block.now().bits == 0);
        if let Some((place, _)) = emptied.last() {
            self.detach_spare(write, place);
        }
    }

    /// Returns these slots of each place in key order, as runs of slots that lie in one block.
    fn runs_in_order<'a, K: Keys>(
        &'a self,
        context: ReadContext<'a, Volatile<BLOCKS, F>, K>,
        chosen: &[u32; BLOCKS],
    ) -> Vec<(BlockIndex, &'a Self, u32)> {
        let each =
            |(place, block): (BlockIndex, &'a Self)| slots(chosen[place]).map(move |index| (place, block, index));
        let mut ordered: Vec<_> = self.segments(context).flat_map(each).collect();
        arrange(&mut ordered, |a, b| context.keys.order(a.1.slot(a.2), b.1.slot(b.2)));
        let runs = ordered.chunk_by(|a, b| a.0 == b.0);
        runs.map(|run| (run[0].0, run[0].1, run.iter().fold(0, |run, (_, _, index)| run | 1 << index))).collect()
    }

    /// Vacates slots of one block of this leaf by one store.
    fn vacate_in_block<M: Medium, K: Keys>(
        &self,
        write: &mut WriteContext<'_, '_, Volatile<BLOCKS, F>, M, K>,
        (place, block): (BlockIndex, &Self),
        gone: u32,
        removed: &mut dyn FnMut(Replaced),
    ) {
        let (context, handle) = write.parts();
        let (now, older) = (block.now().bits, block.older(handle.epoch()));
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
    }
}
