//! The slot array of wB+-Tree: the number of pairs, and then their slots in key order, a byte each.

/// Slots in key order, in as many bytes as the words have. Total over any bits: a racing reader may see any.
#[derive(Clone, Copy)]
pub(super) struct Array<const SLOTS: usize, const WORDS: usize> {
    words: [[u8; 8]; WORDS],
}

impl<const SLOTS: usize, const WORDS: usize> Array<SLOTS, WORDS> {
    pub(super) fn new(order: impl Iterator<Item = usize>) -> Self {
        let mut array = Array { words: [[0; 8]; WORDS] };
        order.take(SLOTS).for_each(|slot| array.insert(array.len(), slot));
        array
    }

    pub(super) fn from_words(words: impl Iterator<Item = u64>) -> Self {
        let mut array = Array { words: [[0; 8]; WORDS] };
        array.words.iter_mut().zip(words).for_each(|(to, from)| *to = from.to_le_bytes());
        array
    }

    /// The words in use.
    pub(super) fn words(&self) -> impl Iterator<Item = u64> {
        self.words.iter().take(words_of(self.len())).map(|bytes| u64::from_le_bytes(*bytes))
    }

    pub(super) fn len(&self) -> usize {
        usize::from(self.words[0][0]).min(SLOTS)
    }

    pub(super) fn slot(&self, rank: usize) -> usize {
        usize::from(self.words.as_flattened()[1 + rank]) % SLOTS
    }

    /// All slots, in key order.
    pub(super) fn slots(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(|rank| self.slot(rank))
    }

    pub(super) fn insert(&mut self, rank: usize, slot: usize) {
        let end = 1 + self.len();
        let bytes = self.words.as_flattened_mut();
        bytes.copy_within(1 + rank..end, 2 + rank);
        bytes[1 + rank] = slot as u8;
        bytes[0] = end as u8;
    }

    pub(super) fn remove(&mut self, rank: usize) {
        let end = 1 + self.len();
        let bytes = self.words.as_flattened_mut();
        bytes.copy_within(2 + rank..end, 1 + rank);
        bytes[0] = end as u8 - 2;
    }
}

/// The words of an array of that many slots.
pub(super) const fn words_of(slots: usize) -> usize {
    (1 + slots).div_ceil(8)
}
