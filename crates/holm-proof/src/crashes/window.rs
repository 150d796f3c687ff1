//! The images of one moment: a take for each cell. All images are visited if they are few, otherwise a selection.

use super::{Bounds, Persistency, Take};
use crate::snapshot::Snapshot;
use rand::Rng;

/// What a crash may leave at one moment.
pub struct Window<'a> {
    pub(super) persistency: Persistency,
    pub(super) durable: &'a Snapshot,
    pub(super) content: u64,
    /// The cells that may have more than what is durable, ascending, and the takes of each.
    pub(super) places: Vec<u64>,
    pub(super) cells: Vec<Vec<Take>>,
}

/// How complete an enumeration was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// Every image was visited, or one that represents it.
    Whole,
    /// There were too many images.
    Sampled,
}

/// One image of a window: a take for each cell.
pub struct Choice<'a> {
    window: &'a Window<'a>,
    picks: &'a [usize],
    /// A hash of its content; equal for equal images of one trace.
    pub content: u64,
}

impl Choice<'_> {
    fn takes(&self) -> impl Iterator<Item = &Take> {
        self.window.cells.iter().zip(self.picks).map(|(takes, pick)| &takes[*pick])
    }

    /// The image itself.
    pub fn snapshot(&self) -> Snapshot {
        let mut left = self.window.durable.clone();
        for take in self.takes() {
            take.words.iter().for_each(|(loc, value)| left.set(*loc, *value));
        }
        left
    }

    /// One word of it.
    pub fn word(&self, loc: u64) -> u64 {
        match self.window.cell(loc) {
            Some(cell) => self.window.value(cell, self.picks[cell], loc),
            None => self.window.durable.word(loc),
        }
    }

    /// The first store that the image does not include.
    pub fn lost(&self) -> Option<usize> {
        self.takes().filter_map(|take| take.lost).min()
    }
}

impl Window<'_> {
    /// The cell that contains a word, if the cell has several takes.
    pub(super) fn cell(&self, loc: u64) -> Option<usize> {
        self.places.binary_search(&self.persistency.cell(loc)).ok()
    }

    /// A word in one take of its cell.
    pub(super) fn value(&self, cell: usize, pick: usize, loc: u64) -> u64 {
        let words = &self.cells[cell][pick].words;
        let found = words.binary_search_by_key(&loc, |(loc, _)| *loc);
        found.map_or_else(|_| self.durable.word(loc), |index| words[index].1)
    }

    /// The image with these takes.
    pub(super) fn choice<'a>(&'a self, picks: &'a [usize]) -> Choice<'a> {
        let changes = self.cells.iter().zip(picks).map(|(takes, pick)| takes[*pick].change);
        Choice { window: self, picks, content: changes.fold(self.content, |sum, change| sum ^ change) }
    }

    /// The number of images.
    pub fn images(&self) -> u128 {
        self.cells.iter().fold(1, |product, takes| product.saturating_mul(takes.len() as u128))
    }

    /// Visits the images: all if they are few, otherwise [`Window::sample`].
    ///
    /// # Errors
    /// The visitor's first error.
    pub fn visit<E>(
        &self,
        bounds: &Bounds,
        random: &mut impl Rng,
        mut visitor: impl FnMut(&Choice<'_>) -> Result<(), E>,
    ) -> Result<Extent, E> {
        if self.images() > bounds.exhaustive as u128 {
            self.sample(bounds, random, visitor)?;
            return Ok(Extent::Sampled);
        }
        let mut picks = vec![0; self.cells.len()];
        loop {
            visitor(&self.choice(&picks))?;
            let next = picks.iter().zip(&self.cells).position(|(pick, takes)| pick + 1 < takes.len());
            let Some(place) = next else { return Ok(Extent::Whole) };
            picks[..place].fill(0);
            picks[place] += 1;
        }
    }

    /// Visits the oldest image, the newest, and a number of random ones: for traces with more moments than time.
    ///
    /// # Errors
    /// The visitor's first error.
    pub fn draw<E>(
        &self,
        count: usize,
        random: &mut impl Rng,
        mut visitor: impl FnMut(&Choice<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        visitor(&self.choice(&vec![0; self.cells.len()]))?;
        visitor(&self.choice(&self.cells.iter().map(|takes| takes.len() - 1).collect::<Vec<_>>()))?;
        for _ in 0..count {
            let picks: Vec<_> = self.cells.iter().map(|takes| random.random_range(0..takes.len())).collect();
            visitor(&self.choice(&picks))?;
        }
        Ok(())
    }

    /// Visits the oldest and the newest image, each cell alone against the rest, pairs of cells, and some random
    /// images.
    ///
    /// # Errors
    /// The visitor's first error.
    pub fn sample<E>(
        &self,
        bounds: &Bounds,
        random: &mut impl Rng,
        mut visitor: impl FnMut(&Choice<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let lens: Vec<_> = self.cells.iter().map(Vec::len).collect();
        let mut show = |picks: &[usize]| visitor(&self.choice(picks));
        let old = vec![0; lens.len()];
        let new: Vec<_> = lens.iter().map(|len| len - 1).collect();
        show(&old)?;
        show(&new)?;
        for rest in [&old, &new] {
            let mut picks = rest.clone();
            for (place, len) in lens.iter().enumerate() {
                for pick in 0..*len {
                    picks[place] = pick;
                    show(&picks)?;
                }
                picks[place] = rest[place];
            }
        }
        let pairs = (0..lens.len()).flat_map(|first| (first + 1..lens.len()).map(move |second| (first, second)));
        let all = lens.len() * lens.len().saturating_sub(1) / 2;
        for (first, second) in pairs.step_by(all.div_ceil(bounds.pairs.max(1)).max(1)) {
            for (rest, other) in [(&old, &new), (&new, &old)] {
                let mut picks = rest.clone();
                (picks[first], picks[second]) = (other[first], other[second]);
                show(&picks)?;
            }
        }
        for _ in 0..bounds.random {
            let picks: Vec<_> = lens.iter().map(|len| random.random_range(0..*len)).collect();
            show(&picks)?;
        }
        Ok(())
    }
}
