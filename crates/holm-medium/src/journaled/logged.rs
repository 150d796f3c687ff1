//! What the log holds of the image since the last checkpoint: the last logged content of each logged line.
//!
//! After the death of a process this is what the page cache is held against. A record is immutable while a leaf leads
//! to it, and its space is used again no earlier than two epochs after it was freed. So whatever the leaves led to at
//! the end of the last logged epoch must lie in the image word for word as the log has it, whatever was stored since.
//! Memory: the log's lines, and 24 bytes for each.

#![forbid(unsafe_code)]

use crate::epoch::Epoch;
use crate::image::Image;
use crate::loc::LINE;

/// Words of a line.
const WORDS: u64 = LINE / 8;

/// Consecutive lines of the image that were logged.
struct Run {
    /// The first line's location divided by 64.
    line: u64,
    count: u64,
    /// Where the first line's content is named in `contents`.
    first: usize,
}

impl Run {
    fn end(&self) -> u64 {
        self.line + self.count
    }
}

/// The last logged content of each line that was logged since the last checkpoint.
#[derive(Default)]
pub struct Logged {
    epoch: Epoch,
    /// Every line of every record, in the order in which they were logged.
    lines: Vec<[u64; 8]>,
    /// Until it is sealed: which line of the image each of these is.
    found: Vec<(u64, usize)>,
    /// In order, apart from each other.
    runs: Vec<Run>,
    /// For the lines of all runs: which of `lines` is the last one logged.
    contents: Vec<usize>,
}

impl Logged {
    /// Adds a run of a record, whole lines, that belong at a byte location of the image. A later one replaces it.
    pub(super) fn push(&mut self, loc: u64, bytes: &[u8]) {
        for (index, line) in bytes.as_chunks::<{ LINE as usize }>().0.iter().enumerate() {
            self.found.push((loc / LINE + index as u64, self.lines.len()));
            let words = line.as_chunks::<8>().0;
            self.lines.push(std::array::from_fn(|at| u64::from_le_bytes(words[at])));
        }
    }

    /// All records have been read; `epoch` is that of the last one, or of the checkpoint.
    pub(super) fn seal(&mut self, epoch: Epoch) {
        self.epoch = epoch;
        let mut found = std::mem::take(&mut self.found);
        found.sort_unstable();
        for (place, (line, content)) in found.iter().enumerate() {
            if found.get(place + 1).is_some_and(|next| next.0 == *line) {
                // A later record has it too.
                continue;
            }
            match self.runs.last_mut() {
                Some(run) if run.end() == *line => run.count += 1,
                _ => self.runs.push(Run { line: *line, count: 1, first: self.contents.len() }),
            }
            self.contents.push(*content);
        }
    }

    /// The last epoch of the log.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Where logged lines lie, and how many bytes of them in a row, in order.
    pub(super) fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        self.runs.iter().map(|run| (run.line * LINE, run.count * LINE))
    }

    /// The runs from the first one that ends behind a line, and how they overlap `line..end`.
    fn overlaps(&self, line: u64, end: u64) -> impl Iterator<Item = (u64, &[u64; 8])> {
        let from = self.runs.partition_point(|run| run.end() <= line);
        let runs = self.runs[from..].iter().take_while(move |run| run.line < end);
        runs.flat_map(move |run| {
            (run.line.max(line)..run.end().min(end)).map(|line| {
                let content = self.contents[run.first + (line - run.line) as usize];
                (line, &self.lines[content])
            })
        })
    }

    /// A line by its location divided by 64, as it was last logged.
    pub(super) fn line(&self, line: u64) -> Option<&[u64; 8]> {
        self.overlaps(line, line + 1).next().map(|found| found.1)
    }

    /// Whether so many words of the image at a byte location are as they were last logged, as far as they were logged.
    /// What lies outside the image agrees with nothing that was logged there.
    pub fn agrees(&self, image: &Image, loc: u64, words: u32) -> bool {
        let (first, end) = (loc / 8, loc / 8 + u64::from(words));
        let mut found = None;
        self.overlaps(loc / LINE, end.div_ceil(WORDS)).all(|(line, logged)| {
            let Some(found) = found.get_or_insert_with(|| image.words(loc, words as usize)) else { return false };
            let mut own = (line * WORDS).max(first)..((line + 1) * WORDS).min(end);
            own.all(|word| found[(word - first) as usize].read() == logged[(word - line * WORDS) as usize])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loc::Area;

    fn line(byte: u8) -> [u8; 64] {
        [byte; 64]
    }

    #[test]
    fn the_last_content_of_a_line_counts() {
        let mut logged = Logged::default();
        logged.push(Area::Records.at(128), &[line(1), line(2)].concat());
        logged.push(Area::Leaves.at(512), &line(3));
        logged.push(Area::Records.at(192), &[line(4), line(5)].concat());
        logged.seal(9);
        let places: Vec<_> = logged.places().collect();
        assert_eq!(places, [(Area::Leaves.at(512), 64), (Area::Records.at(128), 192)]);
        let first = |loc: u64| logged.line(loc / LINE).map(|words| words[0].to_le_bytes()[0]);
        assert_eq!(
            [64, 128, 192, 256, 320].map(|at| first(Area::Records.at(at))),
            [None, Some(1), Some(4), Some(5), None]
        );
        assert_eq!((first(512), first(576), logged.epoch()), (Some(3), None, 9));
    }

    #[test]
    fn words_beside_a_record_may_differ() {
        let image = Image::heap(0, 4096);
        let mut logged = Logged::default();
        let mut bytes = line(0);
        bytes[8] = 1;
        logged.push(Area::Records.at(64), &bytes);
        logged.seal(4);
        assert!(logged.agrees(&image, Area::Records.at(64), 1));
        assert!(!logged.agrees(&image, Area::Records.at(64), 2));
        assert!(!logged.agrees(&image, Area::Records.at(8), 9));
        assert!(logged.agrees(&image, Area::Records.at(80), 20));
        assert!(logged.agrees(&image, Area::Records.at(8), 8));
        assert!(!logged.agrees(&image, Area::Records.at(72), 4000), "it reaches beyond the image");
    }
}
