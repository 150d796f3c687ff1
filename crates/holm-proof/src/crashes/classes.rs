//! All images of a window, one of each class: a class is the images that agree in every word that opening them reads.
//!
//! All cells begin with all their takes. When an opening reads a word, the value divides the remaining takes of its
//! cell, and the walk continues with each part separately. A cell that no opening reads is never divided, however many
//! takes it has. So a leaf to which nothing leads costs one image, instead of the product of its lines (Jaaru, Vinter).

use super::known::{Known, Node, NodeSearch};
use super::window::{Choice, Window};
use rand::Rng;

/// What the walk needs from its caller.
pub(crate) trait Opener<T> {
    /// The error that stops the walk.
    type Stop;
    /// Opens an image; returns the words that this read, with their values, and the outcome.
    fn open(&mut self, choice: &Choice<'_>) -> (Vec<(u64, u64)>, T);
    /// Judges a class of `images` images by one of them: the one with the most stores.
    fn judge(&mut self, choice: &Choice<'_>, came_to: &T, images: u128) -> Result<(), Self::Stop>;
}

struct Walk<'a, T, O, R> {
    window: &'a Window<'a>,
    known: &'a mut Known<T>,
    opener: &'a mut O,
    random: &'a mut R,
    /// For each cell, the takes that agree with all values read so far.
    left: Vec<Vec<usize>>,
    /// The number of classes that may still be judged.
    most: usize,
}

impl Window<'_> {
    /// Judges every class if there are at most `most`; returns whether it did. Images whose class is not known yet are
    /// opened, with random takes for cells that no opening reads: a second crash may start from there.
    ///
    /// # Errors
    /// The judge's first error.
    pub(crate) fn classes<T, O: Opener<T>>(
        &self,
        known: &mut Known<T>,
        most: usize,
        random: &mut impl Rng,
        opener: &mut O,
    ) -> Result<bool, O::Stop> {
        let left = self.cells.iter().map(|takes| (0..takes.len()).collect()).collect();
        Walk { window: self, known, opener, random, left, most }.from(NodeSearch::First)
    }
}

impl<T, O: Opener<T>, R: Rng> Walk<'_, T, O, R> {
    /// Judges the remaining takes, from a path on. Recurses where takes divide; each cell's number of takes bounds the
    /// depth.
    fn from(&mut self, mut way: NodeSearch) -> Result<bool, O::Stop> {
        loop {
            match self.node(way) {
                Node::Fork(fork) => match self.read(self.known.loc(fork)) {
                    Read::One(value) => way = NodeSearch::From(fork, value),
                    Read::Many(cell, parts) => return self.part(fork, cell, parts),
                },
                Node::End(end) => {
                    if self.most == 0 {
                        return Ok(false);
                    }
                    self.most -= 1;
                    let fullest: Vec<_> = self.left.iter().map(|takes| takes[takes.len() - 1]).collect();
                    let images = self.left.iter().fold(1u128, |all, takes| all.saturating_mul(takes.len() as u128));
                    self.opener.judge(&self.window.choice(&fullest), self.known.end(end), images)?;
                    return Ok(true);
                }
            }
        }
    }

    /// The node at the end of a path; if no opening has followed it yet, opens an image that does.
    fn node(&mut self, way: NodeSearch) -> Node {
        if let Some(node) = self.known.at(way) {
            return node;
        }
        let picks: Vec<_> = self.left.iter().map(|takes| takes[self.random.random_range(0..takes.len())]).collect();
        let (reads, came_to) = self.opener.open(&self.window.choice(&picks));
        self.known.learn(&reads, came_to);
        self.known.at(way).expect("an opening that finds the same values reads the same words")
    }

    /// The values that a word may have in the remaining takes.
    fn read(&self, loc: u64) -> Read {
        let Some(cell) = self.window.cell(loc) else { return Read::One(self.window.durable.word(loc)) };
        let mut parts: Vec<(u64, Vec<usize>)> = vec![];
        for take in &self.left[cell] {
            let value = self.window.value(cell, *take, loc);
            match parts.iter_mut().find(|(known, _)| *known == value) {
                Some((_, takes)) => takes.push(*take),
                None => parts.push((value, vec![*take])),
            }
        }
        match &parts[..] {
            [(value, _)] => Read::One(*value),
            _ => Read::Many(cell, parts),
        }
    }

    fn part(&mut self, fork: usize, cell: usize, parts: Vec<(u64, Vec<usize>)>) -> Result<bool, O::Stop> {
        for (value, takes) in parts {
            let all = std::mem::replace(&mut self.left[cell], takes);
            let whole = self.from(NodeSearch::From(fork, value));
            self.left[cell] = all;
            if !whole? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The possible values of a word.
enum Read {
    One(u64),
    /// Different values in different takes of a cell.
    Many(usize, Vec<(u64, Vec<usize>)>),
}
