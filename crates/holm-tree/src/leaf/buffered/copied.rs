//! A block as a copy of its words: see [`crate::leaf::CopiedBlock`].

use super::Room as _;
use super::fingerprint_policy::FingerprintPolicy;
use super::tagged::State;
use super::versions::Versions;
use super::{Buffered, Form, SLOTS};
use crate::keys::Slot;
use crate::leaf::{CopiedBlock, CopiedSlot};
use crate::pair::slots;
use holm_medium::Epoch;

/// Words of a block.
const WORDS: usize = 8 + 2 * SLOTS;

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// Reads a state from a copy of a block's words; a block of another length has none.
    pub(super) fn read_copy(words: &[u64], until: Epoch) -> CopiedBlock {
        let room = F::Room::WORDS;
        let Some(words) = words.first_chunk::<WORDS>().filter(|_| words.len() == WORDS + room) else {
            return CopiedBlock::default();
        };
        let (Some((versions, _)), Some(at)) = (words.split_first_chunk::<3>(), F::Versions::AT) else {
            return CopiedBlock::default();
        };
        let state = at(versions, until);
        // What no earlier state names was stored last.
        let before = at(versions, state.tag.saturating_sub(1)).bits;
        let copied = |index: usize| CopiedSlot {
            index,
            slot: Slot { head: words[8 + 2 * index], payload: words[9 + 2 * index] },
            fingerprint: F::FingerprintPolicy::of_word(words[3 + index / 8], index),
            older: before >> index & 1 == 1,
        };
        CopiedBlock {
            keyspace: (words[7] >> 32) as u32 & 0xff_ffff,
            skip: (words[7] >> 56) as usize,
            epoch: state.tag,
            is_beyond: versions.iter().all(|word| State::unpack(*word).tag > until),
            slots: slots(state.bits).map(copied).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::leaf::Versioned;
    use crate::leaf::buffered::{Buffered, Fingerprints, State, Triple};

    /// The words of docs/format.md.
    #[test]
    fn a_copy_has_the_state_of_the_epoch_that_is_asked_for() {
        let read = Buffered::<1, (Triple, Fingerprints)>::READ_BLOCK.expect("the store's leaf can be read");
        let mut words = [0; 64];
        words[0] = State { tag: 7, bits: 0b01 }.pack();
        words[1] = State { tag: 9, bits: 0b11 }.pack();
        words[3] = 0xfe | 0x1a << 8;
        words[7] = 3 << 32 | 5 << 56;
        (words[8], words[9], words[10], words[11]) = (70, 71, 80, 81);
        let latest = read(&words, u64::MAX);
        assert_eq!((latest.keyspace, latest.skip, latest.epoch), (3, 5, 9));
        let slots: Vec<_> =
            latest.slots.iter().map(|it| (it.index, it.slot.payload, it.fingerprint, it.older)).collect();
        assert_eq!(slots, [(0, 71, Some(0xfe), true), (1, 81, Some(0x1a), false)]);
        let earlier = read(&words, 8);
        assert_eq!((earlier.epoch, earlier.slots.len(), earlier.slots[0].older), (7, 1, false));
        assert_eq!((read(&words, 6).slots.len(), read(&words, 6).is_beyond), (0, false), "its first state is none");
        words[2] = State { tag: 10, bits: 0b11 }.pack();
        assert!(read(&words, 6).is_beyond && !read(&words, 7).is_beyond);
        assert_eq!(read(&words[1..], u64::MAX).epoch, 0, "another length");
    }
}
