//! Space that a data file has given back, or that a copy of it never had, is allocated before anything is stored there:
//! through a mapping, a full disk is a fault and no error.

#![forbid(unsafe_code)]

use super::data_files::{Journaled, area_path};
use crate::error::{MediumError, Result};
use crate::loc::{Area, parts};
use crate::region::LARGE_PAGE;
use crate::storage::Storage;
use crate::superblock::ImageKind;
use std::collections::BTreeSet;
use std::ops::Range;

const PAGE: u64 = LARGE_PAGE as u64;

impl Journaled {
    /// Allocates bytes of a file, into which nothing stores meanwhile. Their contents stay.
    pub(super) fn allocate(&self, area: Area, offset: u64, bytes: u64) -> Result<()> {
        let allocated = self.files[area as usize].fill_holes(offset, bytes);
        allocated.map_err(|error| MediumError::io("allocating again space of", &area_path(&self.dir, area), error))
    }

    /// Whether a part of the file of the records may have no space.
    fn has_holes(&self) -> Result<bool> {
        let io = |error| MediumError::io("measuring", &area_path(&self.dir, Area::Records), error);
        let file = &self.files[Area::Records as usize];
        Ok(self.kind == ImageKind::Shared && file.disk_bytes().map_err(io)? < file.len().map_err(io)?)
    }
}

impl Storage<Journaled> {
    /// Once an open knows which space is free, and before it stores the first record: allocates all of the records'
    /// file but what is free in whole large pages, also behind the last record, which
    /// [`Medium::take_back`](crate::Medium::take_back) allocates when it is used.
    ///
    /// # Errors
    /// `NoSpace`; the database is as it was.
    pub fn allocate_used(&self) -> Result<()> {
        if !self.medium.has_holes()? {
            return Ok(());
        }
        let len = self.medium.image.area(Area::Records).len() as u64;
        self.space.release_end(len);
        for used in between(self.space.released_pages(), len) {
            self.medium.allocate(Area::Records, used.start, used.end - used.start)?;
        }
        Ok(())
    }
}

/// The ranges of bytes below `len` that are in none of these large pages, which are in order.
fn between(pages: Vec<u64>, len: u64) -> Vec<Range<u64>> {
    let ends = pages.iter().map(|page| page * PAGE).chain([len]);
    let starts = [0].into_iter().chain(pages.iter().map(|page| (page + 1) * PAGE));
    starts.zip(ends).map(|(start, end)| start..end.min(len)).filter(|range| !range.is_empty()).collect()
}

/// The large pages of the records that a recovery has allocated.
#[derive(Default)]
pub(super) struct AllocatedPages(BTreeSet<u64>);

impl AllocatedPages {
    /// Allocates the large pages of a logged run, each once: the run may be of a time before its space was given back.
    pub(super) fn allocate(&mut self, medium: &Journaled, loc: u64, bytes: u64) -> Result<()> {
        let (Area::Records, offset) = parts(loc) else { return Ok(()) };
        let len = medium.image.area(Area::Records).len() as u64;
        for page in offset / PAGE..(offset + bytes).div_ceil(PAGE).min(len.div_ceil(PAGE)) {
            if self.0.insert(page) {
                medium.allocate(Area::Records, page * PAGE, PAGE.min(len - page * PAGE))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_used_but_the_pages_given_back() {
        let used = |pages, len| between(pages, len).iter().map(|range| (range.start, range.end)).collect::<Vec<_>>();
        assert_eq!(used(vec![], 3 * PAGE), [(0, 3 * PAGE)]);
        let three = [(0, PAGE), (3 * PAGE, 4 * PAGE), (5 * PAGE, 5 * PAGE + 8)];
        assert_eq!(used(vec![1, 2, 4], 5 * PAGE + 8), three);
        assert_eq!(used(vec![1, 2], 3 * PAGE), [(0, PAGE)]);
    }
}
