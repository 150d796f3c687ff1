//! What the forms of FAST and FAIR differ in: which word of a pair is its mark, what lets slot 0 count, and which lines
//! a shift flushes.

use crate::guide::Guide;
use crate::row::LINE_SLOTS;
use holm_medium::{Medium, Word, WriteHandle};
use holm_tree::keys::{Keys, Slot};
use holm_tree::pair::Pair;

/// The header's length, in slots.
pub const LEAD: usize = 1;

/// In the header's second word: slot 0 counts.
pub const FRONT: u64 = 1 << 34;

/// Whether a slot is the first of its line. Slot 0 is not: the header is before it.
pub const fn starts_line(slot: usize) -> bool {
    (slot + LEAD).is_multiple_of(LINE_SLOTS)
}

/// One form of the protocol, and the guide of its searches.
pub trait Form: Send + Sync + Sized + 'static {
    /// How searches find a slot.
    type Guide: Guide;

    /// Slot 0 counts by its mark, as every other slot does, and not by the header.
    const FRONT_BY_MARK: bool;

    /// An insert flushes the zero behind the pairs where it begins a line.
    const FLUSHES_END: bool;

    /// Whether a removal flushes the line of slot `to` after it has filled this slot, of `end` slots.
    fn flushes(to: usize, end: usize) -> bool;

    /// Returns the word of a pair that is its mark, and the other word.
    fn words<K: Keys>(pair: &Pair) -> (&Word, &Word);

    /// Returns what [`Form::words`] of a slot hold.
    fn values<K: Keys>(slot: Slot) -> (u64, u64);

    /// Whether slot 0 counts, by the header's second word and its own pair.
    fn front(home: &Word, first: &Pair) -> bool;

    /// Lets slot 0 count, or not.
    fn set_front<M: Medium>(handle: &mut WriteHandle<'_, M>, home: &Word, first: &Pair, counts: bool);
}
