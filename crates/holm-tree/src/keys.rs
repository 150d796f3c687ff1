//! What a slot's first word stands for.
//!
//! A slot is two words in every design. For [`Words`] the first is the key itself, as in the papers. For a store of
//! byte strings it is the key's *head*, eight bytes taken after a prefix that the leaf's whole range shares, and the
//! payload leads to a record with the rest. The tree knows this trait, the store supplies the bytes, and so the tree
//! never hears of variable-length keys. Everything here may be asked of slots that raced with a writer: the answers
//! must be total, and count only after the leaf's latch has been validated.

use crate::inner::NodePrefix;
use crate::long_separators::LongSeparators;
use std::cmp::Ordering;
use std::fmt::Debug;

/// The two words of a slot.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Slot {
    /// The key, or its head.
    pub head: u64,
    /// The value, or where the record lies.
    pub payload: u64,
}

/// Which word of a slot no two slots of a leaf share: designs that shift pairs tell by it a pair from its own copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The head, and slots are in ascending order of it. Every word may be a head, and every word a payload.
    Head,
    /// The payload, and it is never zero: the location of a record. Heads may be equal.
    Payload,
}

/// What slots stand for, how they compare with a search key, and what separates them.
pub trait Keys: Send + Sync + 'static {
    /// Which word of a slot is unique within its leaf.
    const UNIQUE: Role = Role::Payload;
    /// A key that is looked for.
    type SearchKey<'a>: Copy;
    /// A key that is kept: a separator, the end of a range. The default is the lowest key of all.
    type Separator: Clone + Ord + Default + Debug + Send + Sync + 'static;

    /// A separator as a search key.
    fn search_key(separator: &Self::Separator) -> Self::SearchKey<'_>;
    /// A search key as a separator.
    fn to_separator(search_key: Self::SearchKey<'_>) -> Self::Separator;
    /// Eight bytes of the search key after `skip`, so that heads compare as the keys do, ties excepted.
    fn head(search_key: Self::SearchKey<'_>, skip: usize) -> u64;
    /// The fingerprint of the search key.
    fn fingerprint(search_key: Self::SearchKey<'_>) -> u8;
    /// Whether the slot holds the search key.
    fn is(&self, slot: Slot, search_key: Self::SearchKey<'_>) -> bool;
    /// The slot's key against the search key's; the slot's head leaves out `skip` bytes, which the two share.
    fn compare(&self, slot: Slot, skip: usize, search_key: Self::SearchKey<'_>) -> Ordering;
    /// Two slots of one leaf.
    fn order(&self, a: Slot, b: Slot) -> Ordering;
    /// The slot's whole key; `None` where the payload leads nowhere.
    fn key(&self, slot: Slot) -> Option<Self::Separator>;
    /// The slot's head as it is when `skip` bytes are left out; `None` as above.
    fn rehead(&self, slot: Slot, skip: usize) -> Option<u64>;
    /// Asks the CPU for what a comparison with this slot will read.
    fn prefetch(&self, payload: u64) {
        let _ = payload;
    }
    /// The shortest separator `s` with `low < s <= high`.
    fn shortest_separator(low: &Self::Separator, high: &Self::Separator) -> Self::Separator;
    /// The least separator of all but the lowest key: nothing but that key itself lies below it.
    fn least() -> Self::Separator;
    /// How many bytes all the keys in `low..high` share; at most 255. `None`: no upper end.
    fn common(low: &Self::Separator, high: Option<&Self::Separator>) -> usize;
    /// The whole separator, where the head after `skip` bytes does not say all.
    fn as_long(separator: &Self::Separator, skip: usize) -> Option<&[u8]>;
    /// How a long separator compares with the search key.
    fn compare_long(long_separators: &LongSeparators, number: u32, search_key: Self::SearchKey<'_>) -> Ordering;
    /// The separator of which these are the bytes.
    fn from_long(long: &[u8]) -> Self::Separator;
    /// The separator that begins with a node's prefix, of which the search key has the assured part, and whose head
    /// says the rest.
    fn from_head(search_key: Self::SearchKey<'_>, prefix: &NodePrefix, head: u64) -> Self::Separator;
    /// The end of the range of all the keys that start with the first `skip` bytes of `key`; `None` if it has no end.
    fn beyond(key: &Self::Separator, skip: usize) -> Option<Self::Separator>;
    /// Whether a key's first bytes are those of another key.
    fn shares(key: &Self::Separator, other: &Self::Separator, skip: usize) -> bool;
    /// The first `count` bytes of a key as a separator.
    fn truncate(key: &Self::Separator, count: usize) -> Self::Separator;
    /// At open, of every slot found in a leaf of a keyspace whose heads leave out `skip` bytes: whether what it leads
    /// to is what was written, where there is reason to doubt it.
    fn sound(&self, keyspace: u32, slot: Slot, skip: usize) -> bool {
        let _ = (keyspace, slot, skip);
        true
    }
    /// After the death of a process, of a slot that is in no log: whether what it leads to is whole and has the slot's
    /// key.
    fn is_whole(&self, slot: Slot, skip: usize) -> bool {
        let _ = (slot, skip);
        true
    }
    /// Whether a slot's head is that of the key that it leads to.
    fn heads(&self, slot: Slot, skip: usize) -> bool {
        self.rehead(slot, skip) == Some(slot.head)
    }
    /// At open, of a leaf's slots in order: the least key and the greatest, which say where it belongs. `None` where an
    /// end leads nowhere, or to what was not written.
    fn ends(&self, slots: &[Slot], skip: usize) -> Option<(Self::Separator, Self::Separator)> {
        let _ = skip;
        self.key(*slots.first()?).zip(self.key(*slots.last()?))
    }
    /// Whether what a slot leads to has its head, and its fingerprint where it has one: asked before something is
    /// derived from its key.
    fn is_own(&self, slot: Slot, skip: usize, fingerprint: Option<u8>) -> bool {
        let _ = (slot, skip, fingerprint);
        true
    }
    /// Offset and length in words of the record that a payload leads to.
    fn extent(payload: u64) -> Option<(u64, u32)> {
        let _ = payload;
        None
    }
}

/// Keys that are words: slots hold them whole.
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
