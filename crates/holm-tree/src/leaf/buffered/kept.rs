//! Compares a block that the death of a process left with what the log has of it.
//!
//! A block still has its state at the end of the last logged epoch, whatever came after it. That state's word is
//! overwritten only once two more epochs have brought changes; so are the slots that it names and their fingerprints.
//! After the last logged epoch, at most two epochs can have brought changes. So that state must be the same in the
//! image and in the log's copy. The copy itself may hold stores of the epoch after its own.

use super::heirs::owner_of;
use super::tagged::State;
use super::versions::Versions;
use super::{Buffered, Form, SLOTS};
use crate::block_difference::BlockDifference;
use crate::leaf::Pairs;
use crate::pair::slots;
use holm_medium::{Epoch, EpochSpan, Word};

/// The bits of the first line's fingerprint words that belong to a slot.
fn print_of(line: &[u64; 8], index: usize) -> u64 {
    line[3 + index / 8] >> (index % 8 * 8) & 0xff
}

/// Where a slot's pair lies: line and word.
fn place_of(index: usize) -> (usize, usize) {
    (1 + index / 4, index % 4 * 2)
}

const _: () = assert!(place_of_last() == 7);

const fn place_of_last() -> usize {
    1 + (SLOTS - 1) / 4
}

fn ended<V: Versions>(line: &[u64; 8], epoch: Epoch) -> Option<State> {
    V::ended(&[line[0], line[1], line[2]], epoch)
}

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// See [`crate::leaf::Versioned::agrees`]; `fingerprint_policy` says whether the words hold fingerprints.
    pub fn is_as_logged(logged: &[Option<[u64; 8]>], found: &[[u64; 8]], epoch: Epoch, fingerprints: bool) -> bool {
        // If more than two epochs have brought changes, the log has lost its end, and nothing can be compared.
        let Some(state) = ended::<F::Versions>(&found[0], epoch) else { return true };
        if let Some(line) = &logged[0] {
            let before = ended::<F::Versions>(line, epoch).unwrap_or(state);
            let known = state.tag != 0 && before.tag != 0;
            if before.bits != state.bits || known && before.tag != state.tag {
                return false;
            }
            // The first block's number and the keyspace must agree; what the block says of a split need not.
            let keyspace = line[7] >> 32 == found[0][7] >> 32;
            let owner = !fingerprints || owner_of(line[6]) == owner_of(found[0][6]);
            if state.bits != 0 && !(keyspace && owner) {
                return false;
            }
            if fingerprints && slots(state.bits).any(|index| print_of(line, index) != print_of(&found[0], index)) {
                return false;
            }
        }
        slots(state.bits).all(|index| {
            let (line, word) = place_of(index);
            logged[line].is_none_or(|logged| logged[word..word + 2] == found[line][word..word + 2])
        })
    }

    fn version_words(&self) -> [u64; 3] {
        self.versions.words().each_ref().map(Word::read)
    }

    /// See [`crate::leaf::Versioned::live_at`].
    pub fn was_live(&self, epoch: Epoch, out: &mut Pairs) -> bool {
        let state = F::Versions::ended(&self.version_words(), epoch);
        slots(state.map_or(0, |state| state.bits)).for_each(|index| out.push(self.slot(index)));
        state.is_some()
    }

    /// See [`crate::leaf::Versioned::changed_in`]. While epoch `e + 1` is active, a block has the words of its states
    /// at the ends of `e` and of `e - 1`. No store goes to a slot that either of them names. A slot that both of them
    /// name has not changed between. The keyspace belongs to any pair of the two: a block is taken for another one two
    /// epochs after it has become empty.
    pub fn difference_of(&self, epoch: Epoch, out: &mut BlockDifference) -> bool {
        let words = self.version_words();
        let [Some(now), Some(before)] = [epoch, epoch - 1].map(|epoch| F::Versions::ended(&words, epoch)) else {
            return false;
        };
        out.keyspace = self.home().keyspace;
        let payload = |index: usize| self.slot(index).payload;
        out.came.extend(slots(now.bits & !before.bits).map(payload));
        out.went.extend(slots(before.bits & !now.bits).map(payload));
        true
    }

    /// See [`crate::leaf::Versioned::changes_after`].
    pub fn changed_after(&self, epoch: Epoch) -> Option<EpochSpan> {
        F::Versions::after(&self.version_words(), epoch)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fingerprints, Triple};
    use super::*;
    use crate::keys::Words;
    use crate::leaf::{Home, Leaf, ReadContext, Versioned, WriteContext};
    use holm_medium::{Area, FIRST_EPOCH, Flush, Image, Loc, Mapped, MappedOptions, Storage};
    use holm_search::Search;

    type Block = Buffered<1, (Triple, Fingerprints)>;

    fn lines(image: &Image) -> [[u64; 8]; 8] {
        let words = image.words(Area::Leaves.at(512), 64).expect("inside");
        std::array::from_fn(|line| std::array::from_fn(|word| words[line * 8 + word].read()))
    }

    /// A block of which the end of each epoch logs every changed line; the copy may contain stores of the next epoch or
    /// not. Up to two more epochs may follow. The block agrees with the log, and no earlier state of it does.
    #[test]
    fn a_block_agrees_with_its_log_and_none_before_it_does() {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let writer = Storage::open(Mapped::heap(8 * 512, 64, options), FIRST_EPOCH).expect("memory");
        let image = writer.storage().medium_image();
        let block = image.at::<Block>(Loc::new(Area::Leaves, 512)).expect("inside");
        let volatile = <Block as Leaf>::Volatile::default();
        let read = ReadContext { volatile: &volatile, keys: &Words, search: Search::portable(), image: Some(&*image) };
        block.format(&volatile, &mut writer.begin_write_at(FIRST_EPOCH), Home { keyspace: 5, skip: 0, first: false });
        // Three kinds of change, one for each epoch; in the last epochs, none.
        let mut ends = vec![];
        for epoch in FIRST_EPOCH..FIRST_EPOCH + 40 {
            let mut handle = writer.begin_write_at(epoch);
            let key = epoch % 7;
            match epoch % 3 {
                0 => drop(block.remove(&mut WriteContext { read, handle: &mut handle }, key)),
                // Twice, so that the second store changes only the payload.
                _ => (0..2).for_each(|turn| {
                    let mut context = WriteContext { read, handle: &mut handle };
                    assert!(block.insert(&mut context, key, epoch * 2 + turn).is_ok(), "room");
                }),
            }
            drop(handle);
            ends.push((epoch, lines(&image)));
        }
        let changed = |at: &usize| *at == 0 || ends[*at].1 != ends[at - 1].1;
        let ends: Vec<_> = (0..ends.len()).filter(changed).map(|at| ends[at]).collect();
        for (at, (epoch, _)) in ends.iter().enumerate() {
            for copied in [at, at + 1].into_iter().filter(|at| *at < ends.len()) {
                let logged = ends[copied].1.map(Some);
                for later in at..ends.len().min(at + 3) {
                    assert!(Block::agrees(&logged, &ends[later].1, *epoch), "{epoch}, {copied}, {later}");
                    let seen: [_; 8] =
                        std::array::from_fn(|line| (line % 2 == later % 2).then_some(ends[copied].1[line]));
                    assert!(Block::agrees(&seen, &ends[later].1, *epoch), "{epoch}, {copied}, {later}, some lines");
                }
                for (earlier, end) in ends[..at].iter().enumerate() {
                    assert!(!Block::agrees(&logged, &end.1, *epoch), "{epoch}, {copied}, {earlier}");
                }
            }
        }
    }

    /// A single line of pairs or fingerprints that went back in time or changed: the states' epochs do not show it.
    #[test]
    fn each_word_that_counts_is_compared() {
        let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
        let writer = Storage::open(Mapped::heap(8 * 512, 64, options), FIRST_EPOCH).expect("memory");
        let image = writer.storage().medium_image();
        let block = image.at::<Block>(Loc::new(Area::Leaves, 512)).expect("inside");
        let volatile = <Block as Leaf>::Volatile::default();
        let read = ReadContext { volatile: &volatile, keys: &Words, search: Search::portable(), image: Some(&*image) };
        let mut handle = writer.begin_write_at(FIRST_EPOCH);
        block.format(&volatile, &mut handle, Home { keyspace: 5, skip: 0, first: false });
        let mut context = WriteContext { read, handle: &mut handle };
        (0..28).for_each(|key| assert_eq!(block.insert(&mut context, key, key), Ok(None)));
        drop(handle);
        let found = lines(&image);
        let logged = found.map(Some);
        for word in (0..64).filter(|word| ![1, 2].contains(word)) {
            let mut changed = found;
            changed[word / 8][word % 8] ^= 1 << 40;
            // In word 6, the owner above the fingerprints; in word 7, the keyspace.
            assert!(!Block::agrees(&logged, &changed, FIRST_EPOCH), "word {word}");
        }
        let mut kin = found;
        kin[0][7] ^= 9;
        assert!(Block::agrees(&logged, &kin, FIRST_EPOCH), "what it says of a split is of later epochs");
    }
}
