//! Regions of the record area that were given back to the file system.
//!
//! A region that is free as a whole may be given back: its pages are removed from the file, and it reads as zeros. The
//! search for free space does not find it. Before it is used again, the medium allocates its pages: a full disk is an
//! error of that allocation, and never a fault of a store. What an open finds free in whole regions counts as given
//! back, because nothing at rest says whether it has pages; allocating them again costs one call. Where the file has
//! holes, so do whole regions behind the last record. The frontier allocates them when it comes there.

use super::free_map::REGION;
use std::collections::BTreeSet;
use std::ops::Range;

/// Bytes of a region.
pub(super) const REGION_BYTES: u64 = REGION * 8;

/// The numbers of the regions that were given back.
#[derive(Default)]
pub(super) struct Released(BTreeSet<u64>);

impl Released {
    /// Adds a region.
    pub(super) fn add(&mut self, region: u64) {
        let is_new = self.0.insert(region);
        debug_assert!(is_new, "region {region} is given back twice");
    }

    /// Removes a region.
    pub(super) fn remove(&mut self, region: u64) {
        self.0.remove(&region);
    }

    /// Removes and returns the first `count` adjacent regions before one, by the first of them.
    pub(super) fn take_first(&mut self, count: u64, before: u64) -> Option<u64> {
        let (mut first, mut len) = (0, 0);
        for region in self.0.range(..before).copied() {
            if len == 0 || first + len != region {
                (first, len) = (region, 0);
            }
            len += 1;
            if len == count {
                self.0.retain(|region| !(first..first + len).contains(region));
                return Some(first);
            }
        }
        None
    }

    /// The numbers of the regions within a range, in order.
    pub(super) fn within(&self, regions: Range<u64>) -> Vec<u64> {
        self.0.range(regions).copied().collect()
    }

    /// The numbers of all regions, in order.
    pub(super) fn all(&self) -> Vec<u64> {
        self.0.iter().copied().collect()
    }
}

/// Divides a free run, in bytes, into the whole regions that it has, and what is left before and after them. The
/// area's first region stays usable.
pub(super) fn whole_regions(offset: u64, bytes: u64) -> Range<u64> {
    let first = offset.div_ceil(REGION_BYTES).max(1);
    first..((offset + bytes) / REGION_BYTES).max(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_regions_are_found_and_single_ones_first() {
        let mut released = Released::default();
        [9, 2, 5, 4, 10, 11].into_iter().for_each(|region| released.add(region));
        assert_eq!(released.take_first(3, 11), None, "one of them lies behind");
        assert_eq!((released.take_first(3, 12), released.take_first(3, 12)), (Some(9), None));
        assert_eq!((released.take_first(1, 12), released.take_first(2, 12)), (Some(2), Some(4)));
        assert_eq!(released.within(0..12), []);
    }

    #[test]
    fn a_run_has_the_regions_that_lie_in_it_as_a_whole() {
        let whole = |offset, bytes| whole_regions(offset, bytes);
        assert_eq!(whole(0, 3 * REGION_BYTES), 1..3, "the first stays");
        assert_eq!(whole(REGION_BYTES, REGION_BYTES), 1..2);
        assert!(whole(REGION_BYTES + 8, 2 * REGION_BYTES - 16).is_empty());
        assert_eq!(whole(REGION_BYTES + 8, 2 * REGION_BYTES - 8), 2..3);
        assert!(whole(64, 128).is_empty());
    }
}
