//! The keys of a tree: what a slot's first word stands for.
//!
//! A slot has two words in every design. For [`Words`] the first word is the key itself, as in the papers. For a store
//! of byte strings it is the key's *head*: eight bytes after a prefix that the leaf's whole range shares. The payload
//! then leads to a record with the rest. The tree knows this trait and the store supplies the bytes, so the tree knows
//! nothing of variable-length keys.
//!
//! A reader may call every method here with slots that raced with a writer. The answers must be total, and count only
//! after the leaf's latch has been validated.

use crate::inner::NodePrefix;
use crate::long_separators::LongSeparators;
use std::cmp::Ordering;
use std::fmt::Debug;

/// The two words of a slot.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The key, or its head.
    pub head: u64,
    /// The value, or the place of the record.
    pub payload: u64,
}

/// Which word of a slot is unique within its leaf. Designs that shift pairs use it to tell a pair from its own copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The head; slots are in ascending order of it. Every word may be a head, and every word a payload.
    Head,
    /// The payload, the place of a record, which is never zero. Heads may be equal.
    Payload,
}

/// What slots stand for, how they compare with a search key, and which separators divide them.
pub trait Keys: Send + Sync + 'static {
    /// Which word of a slot is unique within its leaf.
    const UNIQUE: Role = Role::Payload;
    /// A borrowed key that an operation looks for.
    type SearchKey<'a>: Copy;
    /// An owned key: a separator or the end of a range. The default is the lowest key of all.
    type Separator: Clone + Ord + Default + Debug + Send + Sync + 'static;

    /// Borrows a separator as a search key.
    fn search_key(separator: &Self::Separator) -> Self::SearchKey<'_>;
    /// Copies a search key into a separator.
    fn to_separator(search_key: Self::SearchKey<'_>) -> Self::Separator;
    /// Returns whether one search key comes before another.
    fn precedes(one: Self::SearchKey<'_>, other: Self::SearchKey<'_>) -> bool;
    /// Returns whether a search key lies below a separator.
    fn is_below(search_key: Self::SearchKey<'_>, separator: &Self::Separator) -> bool {
        Self::to_separator(search_key) < *separator
    }
    /// Returns whether a search key lies below a separator or is it.
    fn is_at_or_below(search_key: Self::SearchKey<'_>, separator: &Self::Separator) -> bool {
        Self::to_separator(search_key) <= *separator
    }
    /// Returns eight bytes of the search key after `skip`. Heads compare as the keys do, except for ties.
    fn head(search_key: Self::SearchKey<'_>, skip: usize) -> u64;
    /// Returns the fingerprint of the whole search key.
    fn fingerprint(search_key: Self::SearchKey<'_>) -> u8;
    /// Returns whether the slot holds the search key. Follows the slot's payload, so the slot must be live.
    fn is(&self, slot: Slot, search_key: Self::SearchKey<'_>) -> bool;
    /// Compares the slot's key with the search key. The slot's head leaves out `skip` bytes, which the two share.
    fn compare(&self, slot: Slot, skip: usize, search_key: Self::SearchKey<'_>) -> Ordering;
    /// Compares two slots of one leaf.
    fn order(&self, a: Slot, b: Slot) -> Ordering;
    /// Returns the slot's whole key; `None` if the payload leads nowhere.
    fn key(&self, slot: Slot) -> Option<Self::Separator>;
    /// Returns the slot's head with `skip` bytes left out; `None` as above.
    fn rehead(&self, slot: Slot, skip: usize) -> Option<u64>;
    /// Begins to read what [`Keys::prefetch`] prefetches from the disk, where reads wait for it.
    fn announce(&self, payload: u64) {
        let _ = payload;
    }
    /// Prefetches what a comparison with this slot will read.
    fn prefetch(&self, payload: u64) {
        let _ = payload;
    }
    /// Returns the shortest separator `s` with `low < s <= high`.
    fn shortest_separator(low: &Self::Separator, high: &Self::Separator) -> Self::Separator;
    /// Returns the least separator above the lowest key: only that key lies below it.
    fn least() -> Self::Separator;
    /// Returns how many bytes all the keys in `low..high` share, at most 255. `None` means no upper end.
    fn common(low: &Self::Separator, high: Option<&Self::Separator>) -> usize;
    /// Returns the whole separator as bytes, if its head after `skip` bytes does not determine it.
    fn as_long(separator: &Self::Separator, skip: usize) -> Option<&[u8]>;
    /// Compares a long separator with the search key.
    fn compare_long(long_separators: &LongSeparators, number: u32, search_key: Self::SearchKey<'_>) -> Ordering;
    /// Returns all bytes of a separator. They order as separators do, and [`Keys::from_long`] restores it.
    fn separator_bytes(separator: &Self::Separator) -> Vec<u8>;
    /// Returns the separator with these bytes.
    fn from_long(long: &[u8]) -> Self::Separator;
    /// Rebuilds a separator: a node's prefix, whose assured part the search key has, and a head with the rest.
    fn from_head(search_key: Self::SearchKey<'_>, prefix: &NodePrefix, head: u64) -> Self::Separator;
    /// Returns the end of the range of all keys that start with the first `skip` bytes of `key`; `None` if it has no
    /// end.
    fn beyond(key: &Self::Separator, skip: usize) -> Option<Self::Separator>;
    /// Returns whether the first `skip` bytes of two keys are equal.
    fn shares(key: &Self::Separator, other: &Self::Separator, skip: usize) -> bool;
    /// Returns the first `count` bytes of a key as a separator.
    fn truncate(key: &Self::Separator, count: usize) -> Self::Separator;
    /// At open, for every slot of a keyspace's leaf whose heads leave out `skip` bytes: returns whether its record is
    /// what was written, where there is reason to doubt it.
    fn sound(&self, keyspace: u32, slot: Slot, skip: usize) -> bool {
        let _ = (keyspace, slot, skip);
        true
    }
    /// After the death of a process, for a slot that no log has: returns whether its record is complete and has the
    /// slot's key.
    fn is_whole(&self, slot: Slot, skip: usize) -> bool {
        let _ = (slot, skip);
        true
    }
    /// Returns whether a slot's head is that of its record's key.
    fn heads(&self, slot: Slot, skip: usize) -> bool {
        self.rehead(slot, skip) == Some(slot.head)
    }
    /// At open, for a leaf's slots in order: returns the least and the greatest key, which say where the leaf belongs.
    /// `None` if either leads nowhere, or to a record that is not what was written.
    fn ends(&self, slots: &[Slot], skip: usize) -> Option<(Self::Separator, Self::Separator)> {
        let _ = skip;
        self.key(*slots.first()?).zip(self.key(*slots.last()?))
    }
    /// Returns whether a slot's record has the slot's head, and its fingerprint if there is one. Callers check this
    /// before they derive anything from the record's key.
    fn is_own(&self, slot: Slot, skip: usize, fingerprint: Option<u8>) -> bool {
        let _ = (slot, skip, fingerprint);
        true
    }
    /// Returns the offset in the record area and the length in words of a payload's record, if it lies there.
    fn extent(payload: u64) -> Option<(u64, u32)> {
        let _ = payload;
        None
    }
    /// Returns where a payload's record lies: its location in the image, and its length in words. `None` if payloads
    /// lead to no records.
    fn location(payload: u64) -> Option<(u64, u32)> {
        let _ = payload;
        None
    }
    /// Returns the payload of a record in a leaf block: its offset in the leaf area, and its length in words. `None` if
    /// payloads lead to no records.
    fn payload_in_leaf(offset: u64, words: u32) -> Option<u64> {
        let _ = (offset, words);
        None
    }
}

/// Keys that are words; slots hold them whole.
#[derive(Clone, Copy, Default, Debug)]
pub struct Words;

impl Keys for Words {
    const UNIQUE: Role = Role::Head;
    type SearchKey<'a> = u64;
    type Separator = u64;

    fn search_key(separator: &u64) -> u64 {
        *separator
    }
    fn to_separator(search_key: u64) -> u64 {
        search_key
    }
    #[inline]
    fn precedes(one: u64, other: u64) -> bool {
        one < other
    }
    fn compare_long(_: &LongSeparators, _: u32, _: u64) -> Ordering {
        Ordering::Equal
    }
    #[inline]
    fn head(search_key: u64, _: usize) -> u64 {
        search_key
    }
    #[inline]
    fn fingerprint(search_key: u64) -> u8 {
        (search_key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
    }
    #[inline]
    fn is(&self, slot: Slot, search_key: u64) -> bool {
        slot.head == search_key
    }
    #[inline]
    fn compare(&self, slot: Slot, _: usize, search_key: u64) -> Ordering {
        slot.head.cmp(&search_key)
    }
    #[inline]
    fn order(&self, a: Slot, b: Slot) -> Ordering {
        a.head.cmp(&b.head)
    }
    fn key(&self, slot: Slot) -> Option<u64> {
        Some(slot.head)
    }
    fn rehead(&self, slot: Slot, _: usize) -> Option<u64> {
        Some(slot.head)
    }
    fn shortest_separator(_: &u64, high: &u64) -> u64 {
        *high
    }
    fn least() -> u64 {
        1
    }
    fn common(_: &u64, _: Option<&u64>) -> usize {
        0
    }
    fn as_long(_: &u64, _: usize) -> Option<&[u8]> {
        None
    }
    fn separator_bytes(separator: &u64) -> Vec<u8> {
        separator.to_be_bytes().to_vec()
    }
    fn from_long(long: &[u8]) -> u64 {
        long.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
    }
    fn from_head(_: u64, _: &NodePrefix, head: u64) -> u64 {
        head
    }
    fn beyond(_: &u64, _: usize) -> Option<u64> {
        None
    }
    fn shares(_: &u64, _: &u64, skip: usize) -> bool {
        skip == 0
    }
    fn truncate(_: &u64, _: usize) -> u64 {
        0
    }
}
