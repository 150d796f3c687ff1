//! Ranges and prefixes, in both directions, a leaf at a time.
//!
//! Each leaf is copied out at one instant; the scan as a whole is not a snapshot. What was there when the scan began
//! and is not touched meanwhile is seen exactly once; what is inserted or removed meanwhile may be seen or not.

use crate::copied_pairs::{CopiedPairs, Remainder, ScanBounds};
use crate::engine::{Engine, KeyspaceTree};
use crate::error::{Error, Result};
use crate::keys::{Records, SearchKey};
use crate::slice::{Slice, show};
use holm_tree::{LeafCursor, SeekTarget};
use std::cell::Cell;
use std::iter::FusedIterator;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

/// An owned, double-ended iterator over pairs in the order of their keys: [`Keyspace::range`](crate::Keyspace::range).
///
/// An iterator is no snapshot. It copies one leaf at one instant (of large values, a part of one); what is in the range
/// throughout is returned exactly once, and what is inserted or removed meanwhile may be returned or not. It holds a
/// leaf's copy at each end, pins no space, and lets its keyspace be written and dropped meanwhile. Creating one reads
/// nothing. Each end begins with a search, O(log n); each further pair costs O(1).
///
/// Two calls make scans faster: [`Iter::next_ref`] lends pairs and spares a copy of each; [`Iter::limit`] says how many
/// are wanted, and no leaf beyond them is read.
///
/// # Errors
/// An item is an error where a pair cannot be read, as for [`Keyspace::get`](crate::Keyspace::get). The iterator ends
/// with the first error.
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
    engine: Arc<Engine>,
    tree: Arc<KeyspaceTree>,
    /// What is still to come lies at or above `low` and below `high`, as far as whole leaves go; the ends' own leaves
    /// say the rest.
    low: Vec<u8>,
    high: Option<Vec<u8>>,
    /// Pairs that may still be given.
    most: usize,
    limited: bool,
    front: ScanEnd,
    back: ScanEnd,
    buffers: ScanBuffers,
}

/// What an iterator copies leaves into.
#[derive(Default)]
struct ScanBuffers {
    /// The leaf that is looked at.
    cursor: LeafCursor<Records>,
    /// What each end has of its leaf.
    front: CopiedPairs,
    back: CopiedPairs,
}

thread_local! {
    /// The room of the thread's last iterator: of short scans, allocating it would be a tenth.
    static SPARE: Cell<ScanBuffers> = Cell::default();
}

impl ScanBuffers {
    /// As new.
    fn take() -> Self {
        // While a thread is being torn down there is none.
        let mut buffers = SPARE.try_with(Cell::take).unwrap_or_default();
        buffers.cursor.reset();
        buffers.front.clear();
        buffers.back.clear();
        buffers
    }

    /// Leaves it to the thread's next iterator, unless large values have made it large.
    fn leave(self) {
        if self.front.is_small() && self.back.is_small() {
            // And then there is nobody to leave it to either.
            let _ = SPARE.try_with(|spare| spare.set(self));
        }
    }
}

/// One end of an iterator: where it is in its share, and where it goes on.
#[derive(Default)]
struct ScanEnd {
    /// Positions of the share that are still to be given.
    left: Range<usize>,
    /// Whether a share has been taken.
    begun: bool,
    next: Next,
}

/// Where an end's next share is.
#[derive(Default)]
enum Next {
    /// At the end of the range that the iterator holds.
    Here,
    /// Beyond this key, once all before it has been given.
    Beyond(Vec<u8>),
    #[default]
    Nowhere,
}

/// The key after this one: no other lies between the two.
fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

/// Whether a scan that is between these ends goes on where it has not been. With a damaged key it may not, and would
/// never end.
fn goes_on(key: &[u8], low: &[u8], high: Option<&[u8]>, forward: bool) -> bool {
    if forward { key > low } else { high.is_none_or(|high| key < high) }
}

#[cold]
fn circle(engine: &Engine, key: &[u8]) -> Error {
    Error::Corrupt {
        path: engine.path.join("records"),
        offset: 0,
        what: "the key where a scan goes on",
        found: format!("\"{}\"", key.escape_ascii()),
        expected: "one where it has not been".into(),
    }
}

impl Iter {
    pub(crate) fn new<K: AsRef<[u8]>>(
        engine: Arc<Engine>,
        tree: Arc<KeyspaceTree>,
        range: impl RangeBounds<K>,
    ) -> Self {
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
        let empty = high.as_ref().is_some_and(|high| low >= *high);
        let end = || ScanEnd { next: if empty { Next::Nowhere } else { Next::Here }, ..ScanEnd::default() };
        let (front, back, buffers) = (end(), end(), ScanBuffers::take());
        Iter { engine, tree, low, high, most: usize::MAX, limited: false, front, back, buffers }
    }

    /// Returns at most `count` pairs, from both ends together, and reads no further ahead than that. Of several limits
    /// the least holds. [`Iterator::take`] returns the same pairs, and may have read a leaf too many.
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

    /// The next pair, lent until the next call; [`Iterator::next`] returns a copy that can be kept.
    ///
    /// # Errors
    /// As [`Keyspace::get`](crate::Keyspace::get); the iterator has ended then.
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
        Some(self.step(true)?.map(|index| self.buffers.front.lend(index)))
    }

    /// The next pair from the back, lent until the next call.
    ///
    /// # Errors
    /// As [`Iter::next_ref`].
    #[inline]
    pub fn next_back_ref(&mut self) -> Option<Result<(&[u8], &[u8])>> {
        Some(self.step(false)?.map(|index| self.buffers.back.lend(index)))
    }

    /// Brings an end to a share that still has something to give.
    fn advance(&mut self, forward: bool) -> Result<()> {
        loop {
            let ScanBuffers { cursor, front, back } = &mut self.buffers;
            let (end, copied) = if forward { (&mut self.front, front) } else { (&mut self.back, back) };
            if !end.left.is_empty() {
                return Ok(());
            }
            match std::mem::take(&mut end.next) {
                Next::Nowhere => return Ok(()),
                Next::Here => {}
                Next::Beyond(key) if forward => self.low = key,
                Next::Beyond(key) => self.high = Some(key),
            }
            // How many are wanted is not known of most scans: one that has come to its second leaf will go on.
            let ahead = if self.limited || end.begun { self.most } else { 0 };
            let bounds = ScanBounds { low: &self.low, high: self.high.as_deref(), forward, most: self.most };
            let remainder = take(&self.engine, &self.tree, bounds, ahead, cursor, copied)?;
            end.left = 0..copied.len();
            end.begun = true;
            let next = match remainder {
                Remainder::From(key) => Some(key),
                Remainder::Nothing => cursor.edge.take(),
            };
            if let Some(key) = next.as_ref().filter(|key| !goes_on(key, &self.low, self.high.as_deref(), forward)) {
                return Err(circle(&self.engine, key));
            }
            let ends = |key: &Vec<u8>| match forward {
                true => self.high.as_ref().is_some_and(|high| key >= high),
                false => *key <= self.low,
            };
            end.next = next.filter(|key| !ends(key)).map_or(Next::Nowhere, Next::Beyond);
        }
    }

    /// The position of the next pair in the share of an end.
    #[inline]
    fn step(&mut self, forward: bool) -> Option<Result<usize>> {
        let end = if forward { &self.front } else { &self.back };
        if end.left.is_empty()
            && self.most > 0
            && let Err(error) = self.advance(forward)
        {
            self.stop();
            return Some(Err(error));
        }
        let (index, other_begun, copied) = if forward {
            (self.front.left.next()?, self.back.begun, &self.buffers.front)
        } else {
            (self.back.left.next_back()?, self.front.begun, &self.buffers.back)
        };
        if self.most == 0 || other_begun && self.has_met(copied.key(index), forward) {
            self.stop();
            return None;
        }
        self.most -= 1;
        Some(Ok(index))
    }

    /// Whether the other end has given this key already, or one beyond it, or has all of its leaf to itself.
    fn has_met(&self, key: &[u8], from_front: bool) -> bool {
        let given = |copied: &CopiedPairs, at: Option<usize>| at.filter(|at| *at < copied.len());
        if from_front {
            let last = given(&self.buffers.back, Some(self.back.left.end));
            last.is_some_and(|at| key >= self.buffers.back.key(at))
                || self.high.as_ref().is_some_and(|high| key >= &high[..])
        } else {
            let last = given(&self.buffers.front, self.front.left.start.checked_sub(1));
            last.is_some_and(|at| key <= self.buffers.front.key(at)) || key < &self.low[..]
        }
    }

    fn stop(&mut self) {
        (self.front, self.back) = (ScanEnd::default(), ScanEnd::default());
    }
}

impl Drop for Iter {
    fn drop(&mut self) {
        std::mem::take(&mut self.buffers).leave();
    }
}

/// A share of the leaf at the near end of what is wanted, and what is left of that leaf.
fn take(
    engine: &Engine,
    tree: &KeyspaceTree,
    bounds: ScanBounds<'_>,
    ahead: usize,
    cursor: &mut LeafCursor<Records>,
    copied: &mut CopiedPairs,
) -> Result<Remainder> {
    loop {
        let target: SeekTarget<'_, Records> = match bounds.high {
            _ if bounds.forward => SeekTarget::Holding(SearchKey::new(bounds.low)),
            Some(high) => SeekTarget::Below(SearchKey::new(high)),
            None => SeekTarget::Last,
        };
        engine.index.copy_leaf(&tree.root, target, ahead, cursor);
        if let Some(remainder) = copied.refill(engine, (tree, cursor), bounds)? {
            return Ok(remainder);
        }
    }
}

impl Iterator for Iter {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.step(true)? {
            Ok(index) => Some(Ok(self.buffers.front.give(index))),
            Err(error) => Some(Err(error)),
        }
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        match self.step(false)? {
            Ok(index) => Some(Ok(self.buffers.back.give(index))),
            Err(error) => Some(Err(error)),
        }
    }
}

impl FusedIterator for Iter {}

/// A key, shown as a slice is.
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
