//! A durable pair of words: what every leaf keeps, and which of the two words tells pairs apart.

use crate::keys::{Keys, Role, Slot};
use holm_medium::{Medium, Word, WriteHandle, persistent};

persistent! {
    /// Two durable words.
    pub struct Pair {
        /// The key, or its head.
        pub head: Word,
        /// The value, or where the record lies.
        pub payload: Word,
    }
}

impl Pair {
    /// Both words as they are now.
    #[inline]
    pub fn slot(&self) -> Slot {
        Slot { head: self.head.read(), payload: self.payload.read() }
    }

    /// The word that no other pair of the leaf has too.
    #[inline]
    pub fn unique_word<K: Keys>(&self) -> &Word {
        match K::UNIQUE {
            Role::Head => &self.head,
            Role::Payload => &self.payload,
        }
    }

    /// The word beside the mark.
    #[inline]
    pub fn other_word<K: Keys>(&self) -> &Word {
        match K::UNIQUE {
            Role::Head => &self.payload,
            Role::Payload => &self.head,
        }
    }

    /// Both words, where it does not matter which of them a crash keeps: nothing says yet that they count.
    #[inline]
    #[track_caller]
    pub fn write<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, slot: Slot) {
        handle.write(&self.head, slot.head);
        handle.write(&self.payload, slot.payload);
    }
}

/// A slot's word that no other pair of the leaf has too, and the one beside it.
#[inline]
pub fn unique_and_other<K: Keys>(slot: Slot) -> (u64, u64) {
    match K::UNIQUE {
        Role::Head => (slot.head, slot.payload),
        Role::Payload => (slot.payload, slot.head),
    }
}

/// The slots of a bitmap, from the lowest.
pub fn slots(bits: u32) -> impl Iterator<Item = usize> {
    let mut rest = bits;
    std::iter::from_fn(move || {
        let slot = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(slot)
    })
}
