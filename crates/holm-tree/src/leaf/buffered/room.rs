//! Records in the leaf's own block: a thread that has read the leaf has read their page, too.
//!
//! A record's words may be written where none of three states leads: that of the present epoch and those at the ends of
//! the two epochs before. This is the rule for slots, applied to what slots lead to. So there is no list of free room,
//! neither durable nor volatile: the live slots of the three states say what is in use. Room that a value of another
//! size has left behind is found again by the same look.
//!
//! A leaf that gives way takes its records along: the fresh blocks get copies. The old block is free as a whole two
//! epochs later. So a record in a block belongs to that block's own pairs, and to no others.
//!
//! While a snapshot is open, states beyond these three are readable. Nothing is laid into a block then; records go
//! where those without room go, to the record area.

use super::block::MovingPair;
use super::{ALL, Ascending, Buffered, Fingerprints, Form, Triple};
use crate::keys::Keys;
use crate::leaf::Full;
use crate::pair::slots;
use holm_medium::{Area, Medium, Persistent, Word, WriteHandle, parts};

/// The words behind a leaf's pairs.
pub trait Room: Persistent {
    /// Their number: at most 448.
    const WORDS: usize;
    /// Longer records lie in the record area, so that each leaf has room for several.
    const LONGEST: usize = Self::WORDS / LEAST_RECORDS;

    /// The words themselves.
    fn words(&self) -> &[Word];
}

/// No room: every record lies in the record area.
impl Room for () {
    const WORDS: usize = 0;

    fn words(&self) -> &[Word] {
        &[]
    }
}

impl<const WORDS: usize> Room for [Word; WORDS] {
    const WORDS: usize = WORDS;

    fn words(&self) -> &[Word] {
        self
    }
}

/// What a page of 4 KiB has behind 512 bytes of leaf.
const MOST_WORDS: usize = 448;

/// The records of the greatest length that fit into a room.
const LEAST_RECORDS: usize = 7;

/// The form of a leaf of one page with room for its records.
pub struct Clustered;

impl Form for Clustered {
    type Versions = Triple;
    type FingerprintPolicy = Fingerprints;
    type Order = Ascending;
    type Room = [Word; MOST_WORDS];
}

/// Which words of a room are in use.
#[derive(Default)]
struct Used([u64; MOST_WORDS / 64]);

impl Used {
    fn mark(&mut self, from: usize, words: usize) {
        (from..from + words).for_each(|word| self.0[word / 64] |= 1 << (word % 64));
    }

    /// Returns the first run of this many free words below `end`.
    fn first_free(&self, words: usize, end: usize) -> Option<usize> {
        let mut from = 0;
        while from + words <= end {
            let in_use = |word: &usize| self.0[word / 64] >> (word % 64) & 1 == 1;
            match (from..from + words).rev().find(in_use) {
                Some(last) => from = last + 1,
                None => return Some(from),
            }
        }
        None
    }
}

impl<const BLOCKS: usize, F: Form> Buffered<BLOCKS, F> {
    /// The offset of a block's room in the leaf area, in bytes.
    fn room_of(own: u32) -> u64 {
        (u64::from(own) + 1) * size_of::<Self>() as u64 - F::Room::WORDS as u64 * 8
    }

    /// Returns the words of the room of block `own` in which a payload's record lies, if it lies there.
    fn within<K: Keys>(own: u32, payload: u64) -> Option<(usize, usize)> {
        let (location, words) = K::location(payload)?;
        let (area, offset) = parts(location);
        let from = offset.checked_sub(Self::room_of(own))? / 8;
        let fits = area == Area::Leaves && from + u64::from(words) <= F::Room::WORDS as u64;
        fits.then_some((from as usize, words as usize))
    }

    /// See [`Leaf::lay`](crate::leaf::Leaf::lay).
    pub(super) fn lay_record<M: Medium, K: Keys>(
        &self,
        own: u32,
        handle: &mut WriteHandle<'_, M>,
        record: &[u64],
    ) -> Result<Option<u64>, Full> {
        if record.len() > F::Room::LONGEST {
            return Ok(None);
        }
        let mut used = Used::default();
        let named = self.now().bits | self.older(handle.epoch());
        let records = |bits| slots(bits).filter_map(|index| Self::within::<K>(own, self.slot(index).payload));
        records(named).for_each(|(from, words)| used.mark(from, words));
        match used.first_free(record.len(), F::Room::WORDS) {
            Some(from) => Ok(self.write_record::<M, K>(own, handle, from, record.iter().copied())),
            None if self.is_worth_a_split(named, records(self.now().bits), record.len()) => Err(Full),
            None => Ok(None),
        }
    }

    /// Whether a leaf without room for a record is to be split for it: the pair of the record would have no slot
    /// either, or present records alone leave no room, and there are enough of them for two leaves. Otherwise earlier
    /// versions have the room, for two epochs.
    #[cold]
    fn is_worth_a_split(&self, named: u32, present: impl Iterator<Item = (usize, usize)>, words: usize) -> bool {
        let fills = |in_use: usize| in_use + words > F::Room::WORDS;
        named == ALL
            || self.now().bits.count_ones() as usize >= Self::SPLIT_FROM && fills(present.map(|(_, words)| words).sum())
    }

    /// Writes a record into free words of the room from `from` on, and returns its payload.
    fn write_record<M: Medium, K: Keys>(
        &self,
        own: u32,
        handle: &mut WriteHandle<'_, M>,
        from: usize,
        record: impl ExactSizeIterator<Item = u64>,
    ) -> Option<u64> {
        let place = self.room.words().get(from..from + record.len())?;
        let payload = K::payload_in_leaf(Self::room_of(own) + from as u64 * 8, place.len() as u32)?;
        handle.fill(place, record);
        handle.defer_words(place);
        Some(payload)
    }

    /// Copies the records of pairs that move into this fresh block, `own`, out of the blocks that give way. Returns the
    /// pairs with their payloads as they are then; `None` without room. Records in the record area stay there.
    pub(super) fn settle<M: Medium, K: Keys>(
        &self,
        own: u32,
        handle: &mut WriteHandle<'_, M>,
        pairs: &[MovingPair],
    ) -> Option<Vec<MovingPair>> {
        if F::Room::WORDS == 0 {
            return None;
        }
        let (mut settled, mut end) = (pairs.to_vec(), 0);
        for pair in &mut settled {
            let Some((location, words)) = Self::record_in_leaf::<K>(pair.slot.payload) else { continue };
            let record = handle.image().words(location, words);
            let record: Option<Vec<u64>> = record.map(|words| words.iter().map(Word::read).collect());
            // What leads out of the image, or has more records than a block has room for, is damage. It stays, for a
            // reader to report.
            let copied = record.and_then(|record| self.write_record::<M, K>(own, handle, end, record.into_iter()));
            if let Some(payload) = copied {
                pair.slot.payload = payload;
                end += words;
            }
        }
        Some(settled)
    }

    /// Returns the location and the words of a payload's record, if a leaf block has it.
    fn record_in_leaf<K: Keys>(payload: u64) -> Option<(u64, usize)> {
        let (location, words) = K::location(payload).filter(|_| F::Room::WORDS > 0)?;
        (parts(location).0 == Area::Leaves).then_some((location, words as usize))
    }

    /// Returns whether the records of these pairs that lie in leaf blocks leave a quarter of one room free: if they
    /// filled it, the next put would split the merged leaf again.
    pub(super) fn records_fit<K: Keys>(pairs: &[MovingPair]) -> bool {
        let words =
            pairs.iter().filter_map(|pair| Self::record_in_leaf::<K>(pair.slot.payload)).map(|(_, words)| words);
        words.sum::<usize>() <= F::Room::WORDS * 3 / 4
    }
}

const _: () = assert!(MOST_WORDS.is_multiple_of(64) && size_of::<Used>() * 8 == MOST_WORDS);
