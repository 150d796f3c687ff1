//! Iteration over ranges and prefixes, in both directions, one leaf at a time.
//!
//! The iterator copies each leaf at one instant; the scan as a whole is not a snapshot. A pair that is present
//! throughout and untouched is returned exactly once. A pair that is inserted or removed meanwhile may be returned or
//! not.

use crate::continuation::Continuation;
use crate::copied_pairs::{CopiedPairs, Remainder, ScanBounds};
use crate::direction::Direction;
use crate::engine::Reader;
use crate::error::Result;
use crate::expiry::ReadView;
use crate::keys::{Records, SearchKey, beyond};
use crate::keyspace_tree::KeyspaceTree;
use crate::leaf_source::LeafSource;
use crate::read::Attempts;
use crate::slice::{Slice, show};
use holm_medium::TimedRead;
use holm_tree::{LeafCursor, SeekTarget, Wanted};
use std::cell::Cell;
use std::iter::FusedIterator;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

/// An owned, double-ended iterator over pairs in the order of their keys: [`Keyspace::range`](crate::Keyspace::range).
///
/// An iterator is not a snapshot. It copies one leaf at one instant (of large values, a part of one). A pair that is in
/// the range throughout is returned exactly once. A pair that is inserted or removed meanwhile may be returned or not.
///
/// The iterator holds one leaf's copy at each end and pins no space. Its keyspace may be written and dropped meanwhile.
/// Creating an iterator reads nothing. Each end starts with a search, O(log n); each further pair costs O(1).
///
/// Two methods make scans faster. [`Iter::next_ref`] lends pairs and so saves a copy of each. [`Iter::limit`] states
/// how many pairs are wanted, and the iterator reads no leaf beyond them.
///
/// # Errors
/// An item is an error if its pair cannot be read, as for [`Keyspace::get`](crate::Keyspace::get). The iterator ends
/// after the first error.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let depths = db.keyspace("depths")?;
/// for depth in 0..100u32 {
///     depths.insert(depth.to_be_bytes(), format!("{depth} m"))?; // big-endian: bytes order as the numbers do
/// }
/// let mut deep = depths.range(90u32.to_be_bytes()..);
/// assert_eq!(deep.next().transpose()?.map(|(_, value)| value.to_vec()), Some(b"90 m".to_vec()));
/// assert_eq!(deep.next_back().transpose()?.map(|(_, value)| value.to_vec()), Some(b"99 m".to_vec()));
/// assert_eq!(deep.count(), 8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Iter {
    reader: Reader,
    tree: Arc<KeyspaceTree>,
    /// Pairs still to come lie at or above `low` and below `high`, to the granularity of whole leaves. Each end's own
    /// copied leaf has the exact remainder.
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    /// The number of pairs that may still be returned.
    most: usize,
    limited: bool,
    /// Whether it returns expired pairs too, and values as they are stored.
    stored: bool,
    front: ScanEnd,
    back: ScanEnd,
    buffers: ScanBuffers,
}

/// The buffers that an iterator copies leaves into.
#[derive(Default)]
struct ScanBuffers {
    /// The cursor at the current leaf.
    cursor: LeafCursor<Records>,
    /// The copied pairs of each end's leaf.
    front: CopiedPairs,
    back: CopiedPairs,
}

holm_medium::sync::thread_local! {
    /// The buffers of the thread's last iterator. Allocating them would be a tenth of a short scan's cost.
    static SPARE: Cell<ScanBuffers> = Cell::default();
}

impl ScanBuffers {
    /// Returns empty buffers, those of the last iterator if there are any.
    fn take() -> Self {
        // The thread local is gone while the thread exits.
        let mut buffers = SPARE.try_with(Cell::take).unwrap_or_default();
        buffers.cursor.reset();
        buffers.front.clear();
        buffers.back.clear();
        buffers
    }

    /// Leaves the buffers to the thread's next iterator, unless large values have made them large.
    fn leave(self) {
        if self.front.is_small() && self.back.is_small() {
            // If the thread local is gone, the buffers are dropped.
            let _ = SPARE.try_with(|spare| spare.set(self));
        }
    }
}

/// One end of an iterator: its position in its copied pairs, and where it continues.
struct ScanEnd {
    /// The positions of copied pairs that are still to be returned.
    left: Range<usize>,
    /// Whether this end has copied pairs yet.
    begun: bool,
    next: Continuation,
}

impl ScanEnd {
    fn new(next: Continuation) -> Self {
        ScanEnd { left: 0..0, begun: false, next }
    }
}

/// The immediate successor of a key: no other key lies between the two.
pub(crate) fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// Returns the bounds of a range as a first key, and a first key beyond it.
pub(crate) fn half_open<K: AsRef<[u8]>>(range: &impl RangeBounds<K>) -> (Vec<u8>, Option<Vec<u8>>) {
    let low = match range.start_bound() {
        Bound::Included(low) => low.as_ref().to_vec(),
        Bound::Excluded(low) => successor(low.as_ref()),
        Bound::Unbounded => Vec::new(),
    };
    let high = match range.end_bound() {
        Bound::Included(high) => Some(successor(high.as_ref())),
        Bound::Excluded(high) => Some(high.as_ref().to_vec()),
        Bound::Unbounded => None,
    };
    (low, high)
}

/// Returns the range of the keys with a prefix.
pub(crate) fn of_prefix(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    (Bound::Included(prefix.to_vec()), beyond(prefix).map_or(Bound::Unbounded, Bound::Excluded))
}

impl Iter {
    pub(crate) fn new<K: AsRef<[u8]>>(reader: Reader, tree: Arc<KeyspaceTree>, range: impl RangeBounds<K>) -> Self {
        let (low, high) = half_open(&range);
        let empty = high.as_ref().is_some_and(|high| low >= *high);
        let end = || ScanEnd::new(if empty { Continuation::Ended } else { Continuation::AtBound });
        let (front, back, buffers) = (end(), end(), ScanBuffers::take());
        Iter { reader, tree, low, high, most: usize::MAX, limited: false, stored: false, front, back, buffers }
    }

    /// Iterates over the keys with a prefix.
    pub(crate) fn with_prefix(reader: Reader, tree: Arc<KeyspaceTree>, prefix: &[u8]) -> Self {
        Iter::new(reader, tree, of_prefix(prefix))
    }

    /// Returns all pairs as the records hold them: expired ones too, and deadlines before their values.
    pub(crate) fn stored(mut self) -> Self {
        self.stored = true;
        self
    }

    /// Limits the iterator to `count` pairs, from both ends together, and stops it from reading further ahead. The
    /// least of several limits holds. [`Iterator::take`] returns the same pairs but may read one leaf too many.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// # for key in ["a", "b", "c", "d"] { reefs.insert(key, "")?; }
    /// assert_eq!(reefs.iter().limit(3).count(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn limit(mut self, count: usize) -> Self {
        (self.most, self.limited) = (self.most.min(count), true);
        self
    }

    /// Returns the next pair, lent until the next call. [`Iterator::next`] returns an owned copy.
    ///
    /// # Errors
    /// As [`Keyspace::get`](crate::Keyspace::get); the iterator then ends.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// # for key in ["a", "b", "c", "d"] { reefs.insert(key, "xyz")?; }
    /// let (mut pairs, mut bytes) = (reefs.iter(), 0);
    /// while let Some(pair) = pairs.next_ref() {
    ///     let (key, value) = pair?;
    ///     bytes += key.len() + value.len();
    /// }
    /// assert_eq!(bytes, 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn next_ref(&mut self) -> Option<Result<(&[u8], &[u8])>> {
        Some(self.step(Direction::Forward)?.map(|index| self.buffers.front.lend(index)))
    }

    /// Returns the next pair from the back, lent until the next call.
    ///
    /// # Errors
    /// As [`Iter::next_ref`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
    /// # let reefs = db.keyspace("reefs")?;
    /// # for key in ["a", "b", "c"] { reefs.insert(key, "xyz")?; }
    /// let mut pairs = reefs.iter();
    /// assert_eq!(pairs.next_back_ref().transpose()?, Some((&b"c"[..], &b"xyz"[..])));
    /// assert_eq!(pairs.next_ref().transpose()?, Some((&b"a"[..], &b"xyz"[..])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn next_back_ref(&mut self) -> Option<Result<(&[u8], &[u8])>> {
        Some(self.step(Direction::Backward)?.map(|index| self.buffers.back.lend(index)))
    }

    /// Counts the pairs that are left, without a copy of each.
    pub(crate) fn count_pairs(mut self) -> Result<u64> {
        let mut count = 0;
        while self.next_ref().transpose()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    /// Advances an end until its copied pairs have one to return.
    fn advance(&mut self, direction: Direction) -> Result<()> {
        let mut most = self.most;
        loop {
            let ScanBuffers { cursor, front, back } = &mut self.buffers;
            let (end, copied) = match direction {
                Direction::Forward => (&mut self.front, front),
                Direction::Backward => (&mut self.back, back),
            };
            if !end.left.is_empty() {
                return Ok(());
            }
            match (std::mem::replace(&mut end.next, Continuation::Ended), direction) {
                (Continuation::Ended, _) => return Ok(()),
                (Continuation::AtBound, _) => {}
                (Continuation::Beyond(key), Direction::Forward) => self.low = key,
                (Continuation::Beyond(key), Direction::Backward) => self.high = Some(key),
            }
            // Most scans do not state how many pairs they want; one that has reached its second leaf probably
            // continues.
            let ahead = if self.limited || end.begun { self.most } else { 0 };
            let view = if self.stored { ReadView::Stored } else { self.reader.view(&self.tree) };
            let bounds = ScanBounds { low: &self.low, high: self.high.as_deref(), direction, most, view };
            let remainder = copy_part(&self.reader, &self.tree, bounds, ahead, cursor, copied);
            // First of all: the records of a snapshot that has ended may belong to others by now.
            self.reader.check_not_ended()?;
            let remainder = remainder?;
            // Only a valid copy is worth waiting for.
            self.reader.store().wait_stable(cursor.stamp)?;
            end.left = 0..copied.len();
            end.begun = true;
            if view != ReadView::Stored {
                // A run of expired pairs is passed over by leaves, however few pairs are wanted.
                most = usize::MAX;
            }
            end.next = Continuation::after(self.reader.store(), bounds, remainder, cursor.edge.take())?;
        }
    }

    /// Returns the position of the next pair in an end's copied pairs.
    #[inline]
    fn step(&mut self, direction: Direction) -> Option<Result<usize>> {
        let end = match direction {
            Direction::Forward => &self.front,
            Direction::Backward => &self.back,
        };
        if end.left.is_empty()
            && self.most > 0
            && let Err(error) = self.advance(direction)
        {
            self.stop();
            return Some(Err(error));
        }
        let (index, other_begun, copied) = match direction {
            Direction::Forward => (self.front.left.next()?, self.back.begun, &self.buffers.front),
            Direction::Backward => (self.back.left.next_back()?, self.front.begun, &self.buffers.back),
        };
        if self.most == 0 || other_begun && self.has_met(copied.key(index), direction) {
            self.stop();
            return None;
        }
        self.most -= 1;
        Some(Ok(index))
    }

    /// Returns whether the other end has returned this key or one beyond it, or owns the whole leaf.
    fn has_met(&self, key: &[u8], direction: Direction) -> bool {
        let given = |copied: &CopiedPairs, at: Option<usize>| at.filter(|at| *at < copied.len());
        match direction {
            Direction::Forward => {
                let last = given(&self.buffers.back, Some(self.back.left.end));
                last.is_some_and(|at| key >= self.buffers.back.key(at))
                    || self.high.as_ref().is_some_and(|high| key >= &high[..])
            }
            Direction::Backward => {
                let last = given(&self.buffers.front, self.front.left.start.checked_sub(1));
                last.is_some_and(|at| key <= self.buffers.front.key(at)) || key < &self.low[..]
            }
        }
    }

    fn stop(&mut self) {
        (self.front, self.back) = (ScanEnd::new(Continuation::Ended), ScanEnd::new(Continuation::Ended));
    }
}

impl Drop for Iter {
    fn drop(&mut self) {
        std::mem::take(&mut self.buffers).leave();
    }
}

/// Copies pairs of the leaf at the near bound, and returns what remains of that leaf. Waits for no durability.
pub(crate) fn copy_part(
    source: &impl LeafSource,
    tree: &KeyspaceTree,
    bounds: ScanBounds<'_>,
    ahead: usize,
    cursor: &mut LeafCursor<Records>,
    copied: &mut CopiedPairs,
) -> Result<Remainder> {
    let mut attempts = Attempts::default();
    loop {
        let target: SeekTarget<'_, Records> = match bounds.high {
            _ if bounds.direction == Direction::Forward => SeekTarget::Holding(SearchKey::new(bounds.low)),
            Some(high) => SeekTarget::Below(SearchKey::new(high)),
            None => SeekTarget::Last,
        };
        let paging = source.store().storage.image().paging();
        let read = (copied.measures() || paging.waits()).then(TimedRead::begin);
        let wanted = Wanted { pairs: ahead, until: bounds.far().map(SearchKey::new) };
        source.copy_leaf(&tree.root, target, wanted, cursor);
        if let Some(remainder) = copied.refill(&mut attempts, (source, tree), cursor, bounds)? {
            read.into_iter().for_each(|read| paging.note(read, copied.bytes()));
            return Ok(remainder);
        }
    }
}

impl Iterator for Iter {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.step(Direction::Forward)? {
            Ok(index) => Some(Ok(self.buffers.front.give(index))),
            Err(error) => Some(Err(error)),
        }
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self.step(Direction::Backward)? {
            Ok(index) => Some(Ok(self.buffers.back.give(index))),
            Err(error) => Some(Err(error)),
        }
    }
}

impl FusedIterator for Iter {}

/// A key, formatted as a slice is.
struct Shown<'a>(&'a [u8]);

impl std::fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        show(self.0, f)
    }
}

impl std::fmt::Debug for Iter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Iter")
            .field("keyspace", &self.tree.name)
            .field("low", &Shown(&self.low))
            .field("high", &self.high.as_ref().map(|key| Shown(key)))
            .finish()
    }
}
