//! A copy of an image's words: what a crash leaves, before any open.

use holm_medium::{Area, Epoch, Image, Medium, WriteHandle, parts};

/// Both areas, word by word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    areas: [Vec<u64>; 2],
}

impl Snapshot {
    /// Copies an image as the CPU cache has it.
    pub fn of(image: &Image) -> Self {
        let copy = |area: Area| {
            let words = image.words(area.at(0), image.area(area).len() / 8);
            words.unwrap_or_default().iter().map(holm_medium::Word::read).collect()
        };
        Snapshot { areas: Area::ALL.map(copy) }
    }

    /// Bytes of each area.
    pub fn bytes(&self) -> [usize; 2] {
        [self.areas[0].len() * 8, self.areas[1].len() * 8]
    }

    /// The word at a location; 0 outside.
    pub fn word(&self, loc: u64) -> u64 {
        let (area, offset) = parts(loc);
        self.areas[area as usize].get(offset as usize / 8).copied().unwrap_or(0)
    }

    /// Changes the word at a location, if it lies inside.
    pub fn set(&mut self, loc: u64, value: u64) {
        let (area, offset) = parts(loc);
        if let Some(word) = self.areas[area as usize].get_mut(offset as usize / 8) {
            *word = value;
        }
    }

    /// The durable epoch according to the storage's first word.
    pub fn durable(&self) -> Epoch {
        self.word(Area::Leaves.at(0))
    }

    /// Writes the words into an image of zeros at least as large: all but the last zeros of each area.
    pub fn fill<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, image: &Image) {
        for area in Area::ALL {
            let words = &self.areas[area as usize];
            let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
            if let Some(place) = image.words(area.at(0), used) {
                handle.fill(place, words[..used].iter().copied());
            }
        }
    }

    /// Writes all words into an image at least as large.
    pub fn restore<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, image: &Image) {
        for area in Area::ALL {
            let words = &self.areas[area as usize];
            if let Some(place) = image.words(area.at(0), words.len()) {
                handle.fill(place, words.iter().copied());
            }
        }
    }
}
