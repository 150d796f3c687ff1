//! Which pages of the data files records of the log have touched: what a checkpoint has to write to disk.
//!
//! One bit per page, counted once however often the page is logged. This includes neither what the kernel has already
//! written back, nor the neighbouring pages that it writes along.

use crate::loc::{Area, parts};
use crate::vfs::FORMAT_PAGE;

#[derive(Default)]
pub(super) struct Touched {
    areas: [Vec<u64>; 2],
    pages: u64,
}

impl Touched {
    /// Marks the pages of `bytes` bytes of the image from a location on: a record holds them.
    pub(super) fn mark(&mut self, loc: u64, bytes: u64) {
        let (area, offset) = parts(loc);
        let bits = &mut self.areas[area as usize];
        for page in offset / FORMAT_PAGE..(offset + bytes).div_ceil(FORMAT_PAGE) {
            let (word, bit) = ((page / 64) as usize, 1 << (page % 64));
            if bits.len() <= word {
                bits.resize(word + 1, 0);
            }
            self.pages += u64::from(bits[word] & bit == 0);
            bits[word] |= bit;
        }
    }

    /// Runs of marked pages of an area (offset, bytes), in order.
    pub(super) fn runs(&self, area: Area) -> impl Iterator<Item = (u64, u64)> {
        let bits = &self.areas[area as usize];
        let is_marked = |page: u64| bits.get((page / 64) as usize).is_some_and(|word| word >> (page % 64) & 1 == 1);
        let mut page = 0;
        std::iter::from_fn(move || {
            let left = bits.get((page / 64) as usize..)?;
            // Skips whole words without a mark.
            let empty = left.iter().skip(1).take_while(|word| **word == 0).count() as u64;
            let next = (page..(page / 64 + 1) * 64).find(|page| is_marked(*page));
            let first = match next {
                Some(first) => first,
                None => ((page / 64 + 1 + empty) * 64..bits.len() as u64 * 64).find(|page| is_marked(*page))?,
            };
            page = (first..).find(|page| !is_marked(*page))?;
            Some((first * FORMAT_PAGE, (page - first) * FORMAT_PAGE))
        })
    }

    /// Returns the bytes of all marked pages, and clears the marks.
    pub(super) fn take(&mut self) -> u64 {
        self.areas.iter_mut().for_each(Vec::clear);
        std::mem::take(&mut self.pages) * FORMAT_PAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_once() {
        let mut touched = Touched::default();
        for (area, offset, bytes) in [
            (Area::Leaves, 512, 64),
            (Area::Leaves, 4032, 64),
            (Area::Leaves, 4032, 128),
            (Area::Records, 512, 64),
            (Area::Records, 1 << 30, 3 * FORMAT_PAGE),
        ] {
            touched.mark(area.at(offset), bytes);
        }
        let runs = |area| touched.runs(area).collect::<Vec<_>>();
        assert_eq!(runs(Area::Leaves), [(0, 2 * FORMAT_PAGE)]);
        assert_eq!(runs(Area::Records), [(0, FORMAT_PAGE), (1 << 30, 3 * FORMAT_PAGE)]);
        assert_eq!(touched.take(), 6 * FORMAT_PAGE);
        assert_eq!(touched.take(), 0);
        touched.mark(Area::Leaves.at(512), 64);
        assert_eq!(touched.take(), FORMAT_PAGE);
    }
}
