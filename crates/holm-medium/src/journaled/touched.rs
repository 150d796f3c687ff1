//! Which pages of the data files a half's records have touched: what a checkpoint has to bring to the disk.
//!
//! A bit for each page, counted once however often it is logged. It says nothing of what the kernel has written back
//! already, nor of the neighbours that it writes along with a page.

use crate::loc::parts;
use crate::vfs::PAGE;

#[derive(Default)]
pub(super) struct Touched {
    areas: [Vec<u64>; 2],
    pages: u64,
}

impl Touched {
    /// Bytes of the image from a location on are in a record.
    pub(super) fn mark(&mut self, loc: u64, bytes: u64) {
        let (area, offset) = parts(loc);
        let bits = &mut self.areas[area as usize];
        for page in offset / PAGE..(offset + bytes).div_ceil(PAGE) {
            let (word, bit) = ((page / 64) as usize, 1 << (page % 64));
            if bits.len() <= word {
                bits.resize(word + 1, 0);
            }
            self.pages += u64::from(bits[word] & bit == 0);
            bits[word] |= bit;
        }
    }

    /// Bytes of all pages marked, and forgets them.
    pub(super) fn take(&mut self) -> u64 {
        self.areas.iter_mut().for_each(Vec::clear);
        std::mem::take(&mut self.pages) * PAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loc::Area;

    #[test]
    fn a_page_counts_once() {
        let mut touched = Touched::default();
        for (area, offset, bytes) in [
            (Area::Leaves, 512, 64),
            (Area::Leaves, 4032, 64),
            (Area::Leaves, 4032, 128),
            (Area::Records, 512, 64),
            (Area::Records, 1 << 30, 3 * PAGE),
        ] {
            touched.mark(area.at(offset), bytes);
        }
        assert_eq!(touched.take(), 6 * PAGE);
        assert_eq!(touched.take(), 0);
        touched.mark(Area::Leaves.at(512), 64);
        assert_eq!(touched.take(), PAGE);
    }
}
