//! What the log holds of the image since the last checkpoint: the last logged content of each logged line.
//!
//! After the death of a process, recovery compares the page cache with this. A record is immutable while a leaf refers
//! to it, and its space is reused no earlier than two epochs after it was freed. What the leaves referred to at the
//! end of the last logged epoch must therefore be in the image word for word as logged, whatever was stored since.
//!
//! Memory: while it is read, the log's lines and 16 bytes for each. Most lines of the image are as they were logged;
//! [`Logged::compare`] drops these.

#![forbid(unsafe_code)]

use crate::epoch::Epoch;
use crate::image::Image;
use crate::loc::LINE;

/// Words of a line.
const WORDS: u64 = LINE / 8;

/// The last logged content of those lines logged since the last checkpoint that differ in the image.
#[derive(Default)]
pub struct Logged {
    since: Epoch,
    epoch: Epoch,
    /// Lines of the image, by their locations divided by 64, in order, with the index of their content in `contents`.
    lines: Vec<(u64, usize)>,
    contents: Vec<[u64; 8]>,
}

impl Logged {
    /// Nothing yet, of the epochs after that of the last checkpoint.
    pub(super) fn after(since: Epoch) -> Self {
        Logged { since, ..Logged::default() }
    }

    /// Adds a run of whole lines from a log record; it belongs at a byte location of the image. A later run replaces
    /// an earlier one.
    pub(super) fn push(&mut self, loc: u64, bytes: &[u8]) {
        for (index, line) in bytes.as_chunks::<{ LINE as usize }>().0.iter().enumerate() {
            self.lines.push((loc / LINE + index as u64, self.contents.len()));
            let words = line.as_chunks::<8>().0;
            self.contents.push(std::array::from_fn(|at| u64::from_le_bytes(words[at])));
        }
    }

    /// Ends reading. `epoch` is that of the last record, or of the checkpoint.
    pub(super) fn seal(&mut self, epoch: Epoch) {
        self.epoch = epoch;
        self.lines.sort_unstable();
        // Keeps the last content of each line, which the latest record has.
        self.lines.reverse();
        self.lines.dedup_by_key(|line| line.0);
        self.lines.reverse();
    }

    /// Keeps the lines whose content in the image is not the logged one.
    pub(super) fn compare(&mut self, image: &Image) {
        let contents = std::mem::take(&mut self.contents);
        let mut differing = Vec::new();
        self.lines.retain_mut(|(line, content)| {
            let logged = &contents[*content];
            let found = image.words(*line * LINE, WORDS as usize);
            let differs = found.is_none_or(|found| found.iter().zip(logged).any(|(found, word)| found.read() != *word));
            if differs {
                *content = differing.len();
                differing.push(*logged);
            }
            differs
        });
        self.lines.shrink_to_fit();
        self.contents = differing;
    }

    /// The lines, by their locations divided by 64, in order.
    pub(super) fn lines(&self) -> impl Iterator<Item = u64> {
        self.lines.iter().map(|line| line.0)
    }

    /// The epoch of the last checkpoint: the log begins after it.
    pub fn since(&self) -> Epoch {
        self.since
    }

    /// The last epoch of the log.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The last logged content of a line, given its location divided by 64.
    pub(super) fn line(&self, line: u64) -> Option<&[u64; 8]> {
        let at = self.lines.binary_search_by_key(&line, |line| line.0).ok()?;
        Some(&self.contents[self.lines[at].1])
    }

    /// Whether `words` words of the image at a byte location are as they were last logged, as far as they were logged.
    /// Words outside the image agree with nothing that was logged there.
    pub fn agrees(&self, image: &Image, loc: u64, words: u32) -> bool {
        let (first, end) = (loc / 8, loc / 8 + u64::from(words));
        let from = self.lines.partition_point(|(line, _)| (line + 1) * WORDS <= first);
        let overlaps = self.lines[from..].iter().take_while(|(line, _)| line * WORDS < end);
        let mut found = None;
        overlaps.into_iter().all(|(line, content)| {
            let logged = &self.contents[*content];
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
        let lines: Vec<_> = logged.lines().map(|line| line * LINE).collect();
        assert_eq!(lines, [512, Area::Records.at(128), Area::Records.at(192), Area::Records.at(256)]);
        let first = |loc: u64| logged.line(loc / LINE).map(|words| words[0].to_le_bytes()[0]);
        assert_eq!(
            [64, 128, 192, 256, 320].map(|at| first(Area::Records.at(at))),
            [None, Some(1), Some(4), Some(5), None]
        );
        assert_eq!((first(512), first(576), logged.epoch()), (Some(3), None, 9));
    }

    #[test]
    fn what_is_as_it_was_logged_is_forgotten() {
        let image = Image::heap(0, 256);
        let mut logged = Logged::default();
        logged.push(Area::Records.at(64), &[line(0), line(7), line(0), line(0)].concat());
        logged.seal(4);
        logged.compare(&image);
        // The last one lies outside.
        assert_eq!(
            logged.lines().map(|line| line * LINE).collect::<Vec<_>>(),
            [128, 256].map(|at| Area::Records.at(at))
        );
        assert_eq!(logged.line(Area::Records.at(128) / LINE), Some(&[u64::from_le_bytes([7; 8]); 8]));
        assert!(logged.agrees(&image, Area::Records.at(64), 8) && !logged.agrees(&image, Area::Records.at(64), 9));
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
