//! The versions as in the paper: one word has a bitmap for the epoch of the last change. The word beside it has the
//! epoch's number and the bitmaps of the two epochs before (Du and Scott, HOPC'25, figure 1).
//!
//! Two words cannot change in one store. So a rollover needs two stores, and a crash may come between them. Beside two
//! bitmaps of 28 slots, only eight bits of the epoch fit. A whole tag beside the present's bitmap resolves both: the
//! past's word is stored first. If its eight bits differ from the tag's, the past was rolled over and the present was
//! not. This relies on the order of stores to one line, which `Triple` does not need.
//!
//! ```text
//! word 0   tag 36 | bitmap of the tag's epoch 28                          the present, stored last
//!      1   bitmap of one epoch before 28 | of two before 28 | epoch 8     stored first
//!      2   zero
//! ```

use holm_medium::{Epoch, EpochSpan, Medium, Word, WriteHandle, persistent};
use holm_tree::leaf::buffered::tagged::State;
use holm_tree::leaf::buffered::versions::Versions;
use holm_tree::leaf::buffered::{ALL, SLOTS};

persistent! {
    /// The present bitmap, and the bitmaps at the end of the two epochs before.
    pub struct Literal {
        words: [Word; 3],
    }
}

/// The word of the past, unpacked.
#[derive(Clone, Copy)]
struct Past {
    one_before: u32,
    two_before: u32,
    /// The lower bits of the epoch that follows these two.
    low: u8,
}

impl Past {
    fn unpack(word: u64) -> Self {
        Past { one_before: (word >> (SLOTS + 8)) as u32 & ALL, two_before: (word >> 8) as u32 & ALL, low: word as u8 }
    }

    fn pack(self) -> u64 {
        u64::from(self.one_before) << (SLOTS + 8) | u64::from(self.two_before) << 8 | u64::from(self.low)
    }

    /// Whether this is the past of `epoch`, among the epochs of which it can be the past.
    fn is_of(self, epoch: Epoch) -> bool {
        self.low == epoch as u8
    }
}

impl Literal {
    fn present_word(&self) -> &Word {
        &self.words[0]
    }

    fn past_word(&self) -> &Word {
        &self.words[1]
    }

    fn past(&self) -> Past {
        Past::unpack(self.past_word().read())
    }

    fn at_of(now: State, past: Past, recovery_epoch: Epoch) -> State {
        if now.tag <= recovery_epoch {
            return now;
        }
        let one = now.tag == recovery_epoch + 1 && past.is_of(now.tag);
        State { tag: recovery_epoch, bits: if one { past.one_before } else { past.two_before } }
    }

    /// What the past becomes when the present is about to belong to a later epoch. `None` if it is that already: a
    /// process died before it changed the present, and what it stored in the past may still be needed.
    fn rolled_over(&self, epoch: Epoch) -> Option<Past> {
        let (now, past) = (self.now(), self.past());
        let next = now.tag + 1 == epoch;
        let two_before = if next && past.is_of(now.tag) { past.one_before } else { now.bits };
        let rolled = Past { one_before: now.bits, two_before, low: epoch as u8 };
        Some(rolled).filter(|_| !(next && past.is_of(epoch)))
    }
}

impl Versions for Literal {
    const NEEDS_LINE_ORDER: bool = true;

    #[inline]
    fn words(&self) -> &[Word; 3] {
        &self.words
    }

    #[inline]
    fn now(&self) -> State {
        State::unpack(self.present_word().read())
    }

    /// The past counts only if the present belongs to a later epoch. It is then the past of that epoch, or of the next
    /// one if a crash interrupted the rollover. Eight bits distinguish these two, and no others are possible.
    #[inline]
    fn at(&self, recovery_epoch: Epoch) -> State {
        Self::at_of(self.now(), self.past(), recovery_epoch)
    }

    /// The commit word is the present's. The past is stored before it: otherwise a crash leaves a new present beside an
    /// old past, and recovery takes the state of one epoch for that of another.
    #[inline]
    fn put<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, state: State) {
        if let Some(past) = Some(state.tag).filter(|tag| *tag > self.now().tag).and_then(|tag| self.rolled_over(tag)) {
            handle.write(self.past_word(), past.pack());
            handle.order();
        }
        handle.write(self.present_word(), state.pack());
    }

    /// At most two epochs with changes lack an epoch record. So the past of a change that is beyond the recovery point
    /// is its own, or that of the next epoch.
    fn beyond(&self, recovery_epoch: Epoch) -> Option<Epoch> {
        let (tag, past) = (self.now().tag, self.past());
        Some(tag).filter(|tag| *tag > recovery_epoch && !past.is_of(*tag) && !past.is_of(*tag + 1))
    }

    /// In one store. The past may stay: no crash can choose a state from before the recovery point any more.
    fn scrub<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, recovery_epoch: Epoch) -> bool {
        let lost = self.now().tag > recovery_epoch;
        if lost {
            handle.write(self.present_word(), self.at(recovery_epoch).pack());
        }
        lost
    }

    fn ended(words: &[u64; 3], epoch: Epoch) -> Option<State> {
        let (now, past) = (State::unpack(words[0]), Past::unpack(words[1]));
        let known = now.tag <= epoch || past.is_of(now.tag) || past.is_of(now.tag + 1);
        let state = known.then(|| Self::at_of(now, past, epoch))?;
        // A state of the past does not say since which epoch it was valid.
        Some(if now.tag > epoch { State { tag: 0, ..state } } else { state })
    }

    fn after(words: &[u64; 3], epoch: Epoch) -> Option<EpochSpan> {
        let tag = State::unpack(words[0]).tag;
        (tag > epoch).then_some(EpochSpan { first: tag, last: tag })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holm_medium::{Area, FIRST_EPOCH, Flush, Image, LAST_EPOCH, Loc, Mapped, MappedOptions, Storage, Writer};
    use holm_tree::leaf::buffered::Triple;
    use std::sync::Arc;

    fn storage() -> (Writer<Mapped>, Arc<Image>) {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let writer = Storage::open(Mapped::heap(1024, 64, options), FIRST_EPOCH).expect("memory");
        let image = writer.storage().medium_image();
        (writer, image)
    }

    fn place<V: Versions>(image: &Image) -> &V {
        image.at(Loc::new(Area::Leaves, 512)).expect("within the area")
    }

    fn of(slots: &[u32]) -> u32 {
        slots.iter().fold(0, |bits, slot| bits | 1 << slot)
    }

    /// The node of the paper's figure 1 with the epoch of its last change, after a crash in epoch 5. Returns the bitmap
    /// at the end of epoch 3, before and after recovery.
    fn figure_one<V: Versions>(last_change: Epoch) -> [u32; 2] {
        let (writer, image) = storage();
        let node = place::<V>(&image);
        let before = [of(&[27]), of(&[0]), of(&[0, 1])];
        for (bits, tag) in before.into_iter().zip(last_change - 2..) {
            node.put(&mut writer.begin_write_at(tag), State { tag, bits });
        }
        let found = node.at(3).bits;
        assert_eq!(node.beyond(3), None);
        assert_eq!(node.scrub(&mut writer.begin_write_at(4), 3), last_change > 3);
        [found, node.now().bits]
    }

    #[test]
    fn the_three_examples_of_the_paper() {
        for (last_change, recovered) in [(5, of(&[27])), (4, of(&[0])), (3, of(&[0, 1]))] {
            assert_eq!(figure_one::<Literal>(last_change), [recovered; 2], "node epoch {last_change}, literally");
            assert_eq!(figure_one::<Triple>(last_change), [recovered; 2], "node epoch {last_change}, in three words");
        }
    }

    /// Pseudorandom numbers.
    fn draw(seed: &mut u64) -> u64 {
        *seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        *seed >> 33
    }

    /// The bitmap at an epoch's end, according to a list of states.
    fn state_at(history: &[State], recovery_epoch: Epoch) -> u32 {
        history.iter().rfind(|state| state.tag <= recovery_epoch).map_or(0, |state| state.bits)
    }

    /// Any change in any later epoch, torn after each of its stores, recovered to each epoch that a crash may choose,
    /// and then continued. Also where the lower bits of the epochs wrap around, and at the last epochs.
    #[test]
    fn every_torn_change_reads_as_a_state_of_the_history() {
        for (round, start) in
            (0..60).flat_map(|round| [4, 250, (1 << 20) - 5, LAST_EPOCH - 20_000].map(|at| (round, at)))
        {
            let (mut seed, (writer, image)) = (round, storage());
            let node = place::<Literal>(&image);
            let (mut history, mut epoch) = (vec![], start);
            for _ in 0..60 {
                epoch += [0, 0, 0, 1, 1, 1, 2, 3, 255, 256, 257][draw(&mut seed) as usize % 11];
                let bits = draw(&mut seed) as u32 & ALL;
                let old = [node.present_word().read(), node.past_word().read()];
                let mut handle = writer.begin_write_at(epoch);
                node.put(&mut handle, State { tag: epoch, bits });
                let new = [node.present_word().read(), node.past_word().read()];
                for (torn, recovery_epoch) in
                    [[old[0], new[1]], new].into_iter().flat_map(|torn| [(torn, 1), (torn, 2)])
                {
                    let recovery_epoch = epoch - recovery_epoch;
                    handle.write(node.present_word(), torn[0]);
                    handle.write(node.past_word(), torn[1]);
                    assert_eq!(
                        node.at(recovery_epoch).bits,
                        state_at(&history, recovery_epoch),
                        "round {round}, epoch {epoch}, cut {recovery_epoch}"
                    );
                    assert_eq!(node.beyond(recovery_epoch), None, "round {round}, epoch {epoch}, cut {recovery_epoch}");
                    // The same change by a recovery after the process died; power may fail before that recovery is
                    // durable.
                    node.put(&mut handle, State { tag: epoch, bits: !bits & ALL });
                    assert_eq!(
                        node.at(recovery_epoch).bits,
                        state_at(&history, recovery_epoch),
                        "done again, epoch {epoch}, cut {recovery_epoch}"
                    );
                    node.scrub(&mut handle, recovery_epoch);
                    assert_eq!(
                        (node.now().bits, node.scrub(&mut handle, recovery_epoch)),
                        (state_at(&history, recovery_epoch), false)
                    );
                    // The next two epochs after the recovery point, in place of the lost one.
                    for (again, tag) in (recovery_epoch + 1..recovery_epoch + 3).enumerate() {
                        node.put(&mut handle, State { tag, bits: again as u32 + 1 });
                    }
                    assert_eq!(
                        (node.at(recovery_epoch).bits, node.at(recovery_epoch + 1).bits),
                        (state_at(&history, recovery_epoch), 1)
                    );
                }
                handle.write(node.present_word(), new[0]);
                handle.write(node.past_word(), new[1]);
                history.push(State { tag: epoch, bits });
                let pinned = [1, 2].map(|before| state_at(&history, epoch - before));
                assert_eq!([1, 2].map(|before| node.at(epoch - before).bits), pinned, "round {round}, epoch {epoch}");
            }
        }
    }

    #[test]
    fn a_past_of_an_impossible_epoch_is_damage() {
        let (writer, image) = storage();
        let node = place::<Literal>(&image);
        let mut handle = writer.begin_write_at(9);
        node.put(&mut handle, State { tag: 9, bits: 1 });
        assert_eq!(node.beyond(7), None);
        handle.write(node.past_word(), Past { low: 12, ..node.past() }.pack());
        assert_eq!((node.beyond(7), node.beyond(9)), (Some(9), None));
    }
}
