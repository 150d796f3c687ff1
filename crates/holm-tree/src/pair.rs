//! A durable pair of words, which every leaf stores, and which of the two words tells pairs apart.

use crate::keys::{Keys, Role, Slot};
use holm_medium::{Medium, Word, WriteHandle, persistent};

persistent! {
    /// Two durable words.
    pub struct Pair {
        /// The key, or its head.
        pub head: Word,
        /// The value, or the place of the record.
        pub payload: Word,
    }
}

impl Pair {
    /// Reads both words.
    #[inline]
    pub fn slot(&self) -> Slot {
        Slot { head: self.head.read(), payload: self.payload.read() }
    }

    /// Returns the word that is unique among the leaf's pairs.
    #[inline]
    pub fn unique_word<K: Keys>(&self) -> &Word {
        match K::UNIQUE {
            Role::Head => &self.head,
            Role::Payload => &self.payload,
        }
    }

    /// Returns the word beside the unique one.
    #[inline]
    pub fn other_word<K: Keys>(&self) -> &Word {
        match K::UNIQUE {
            Role::Head => &self.payload,
            Role::Payload => &self.head,
        }
    }

    /// Writes both words, where it does not matter which of them a crash keeps: no word makes the pair live yet.
    #[inline]
    #[track_caller]
    pub fn write<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, slot: Slot) {
        handle.write(&self.head, slot.head);
        handle.write(&self.payload, slot.payload);
    }
}

/// Returns a slot's word that is unique among the leaf's pairs, and the other word.
#[inline]
pub fn unique_and_other<K: Keys>(slot: Slot) -> (u64, u64) {
    match K::UNIQUE {
        Role::Head => (slot.head, slot.payload),
        Role::Payload => (slot.payload, slot.head),
    }
}

/// Returns the slots of a bitmap, the lowest first.
pub fn slots(bits: u32) -> impl Iterator<Item = usize> {
    let mut rest = bits;
    std::iter::from_fn(move || {
        let slot = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(slot)
    })
}
