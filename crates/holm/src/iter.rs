//! Ranges and prefixes, in both directions, a leaf at a time.
//!
//! Each leaf is copied out at one instant; the scan as a whole is not a snapshot. What was there when the scan began
//! and is not touched meanwhile is seen exactly once; what is inserted or removed meanwhile may be seen or not.

use crate::engine::{End, Engine, Leafful, Tree};
use crate::error::Result;
use crate::keys::{Probe, Records};
use crate::slice::{Slice, show};
use holm_tree::{Index, Toward};
use std::collections::VecDeque;
use std::iter::FusedIterator;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

type Pair = (Slice, Slice);

/// An owned, double-ended iterator over pairs in the order of their keys. Holding one costs a leaf's copy at each end
/// and pins nothing.
pub struct Iter {
    engine: Arc<Engine>,
    tree: Arc<Tree>,
    /// What is still to come, from both ends.
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
    front: VecDeque<Pair>,
    back: VecDeque<Pair>,
    /// Where the next leaf of each end is looked for; `None`: there is none.
    ahead: Option<Edge>,
    behind: Option<Edge>,
}

enum Edge {
    /// The leaf that holds this key.
    Holding(Vec<u8>),
    /// The leaf that holds the greatest keys below this one.
    Below(Vec<u8>),
    Last,
}

impl Edge {
    /// What of a leaf is wanted: all of it, or of large records as many as one copy may hold, from the end that the
    /// walk comes from.
    fn view(&self, engine: &Engine, tree: &Tree, end: End, wanted: impl Fn(&[u8]) -> bool) -> Result<Leafful> {
        loop {
            let toward: Toward<'_, Records> = match self {
                Edge::Holding(key) => Toward::Holding(Probe::new(key)),
                Edge::Below(key) => Toward::Below(Probe::new(key)),
                Edge::Last => Toward::Last,
            };
            let view = Index::view(&*engine.index, &tree.root, toward);
            if let Some(leafful) = engine.copy_leaf(view, end, &wanted)? {
                // Asked after copying: see `Tree::alive`.
                tree.alive()?;
                return Ok(leafful);
            }
        }
    }
}

impl Iter {
    pub(crate) fn new<K: AsRef<[u8]>>(engine: Arc<Engine>, tree: Arc<Tree>, range: impl RangeBounds<K>) -> Self {
        let own = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        let (low, high) = (own(range.start_bound()), own(range.end_bound()));
        let ahead = match &low {
            Bound::Included(key) | Bound::Excluded(key) => Edge::Holding(key.clone()),
            Bound::Unbounded => Edge::Holding(Vec::new()),
        };
        let behind = match &high {
            // The key itself may be in the range: look for the leaf that would hold it.
            Bound::Included(key) => Edge::Holding(key.clone()),
            Bound::Excluded(key) => Edge::Below(key.clone()),
            Bound::Unbounded => Edge::Last,
        };
        let (front, back) = (VecDeque::new(), VecDeque::new());
        let mut iter = Iter { engine, tree, low, high, front, back, ahead: Some(ahead), behind: Some(behind) };
        if iter.is_empty_range() {
            (iter.ahead, iter.behind) = (None, None);
        }
        iter
    }

    fn is_empty_range(&self) -> bool {
        match (&self.low, &self.high) {
            (Bound::Included(low), Bound::Included(high)) => low > high,
            (Bound::Included(low) | Bound::Excluded(low), Bound::Excluded(high))
            | (Bound::Excluded(low), Bound::Included(high)) => low >= high,
            _ => false,
        }
    }

    /// Every pair of a tree, for the catalog.
    pub(crate) fn all_of(engine: &Engine, tree: &Arc<Tree>) -> Result<Vec<Pair>> {
        let mut all = Vec::new();
        let mut edge = Edge::Holding(Vec::new());
        loop {
            let leafful = edge.view(engine, tree, End::Front, |_| true)?;
            all.extend(leafful.items);
            match leafful.high {
                Some(high) => edge = Edge::Holding(high),
                None => return Ok(all),
            }
        }
    }

    fn contains(&self, key: &[u8]) -> bool {
        let above = match &self.low {
            Bound::Included(low) => key >= &low[..],
            Bound::Excluded(low) => key > &low[..],
            Bound::Unbounded => true,
        };
        above
            && match &self.high {
                Bound::Included(high) => key <= &high[..],
                Bound::Excluded(high) => key < &high[..],
                Bound::Unbounded => true,
            }
    }

    /// Whether a leaf that starts there is past the end.
    fn is_past(&self, start: &[u8]) -> bool {
        match &self.high {
            Bound::Included(high) => start > &high[..],
            Bound::Excluded(high) => start >= &high[..],
            Bound::Unbounded => false,
        }
    }

    /// Whether a leaf that ends there is before the beginning.
    fn is_before(&self, end: &[u8]) -> bool {
        match &self.low {
            Bound::Included(low) | Bound::Excluded(low) => end <= &low[..],
            Bound::Unbounded => false,
        }
    }

    fn fill_front(&mut self) -> Result<()> {
        while self.front.is_empty()
            && let Some(edge) = self.ahead.take()
        {
            let leafful = edge.view(&self.engine, &self.tree, End::Front, |key| self.contains(key))?;
            self.front = leafful.items.into_iter().filter(|(key, _)| self.contains(key)).collect();
            self.ahead = leafful.high.filter(|high| !self.is_past(high)).map(Edge::Holding);
        }
        Ok(())
    }

    fn fill_back(&mut self) -> Result<()> {
        while self.back.is_empty()
            && let Some(edge) = self.behind.take()
        {
            let leafful = edge.view(&self.engine, &self.tree, End::Back, |key| self.contains(key))?;
            self.back = leafful.items.into_iter().filter(|(key, _)| self.contains(key)).collect();
            self.behind = leafful.low.filter(|low| !self.is_before(low)).map(Edge::Below);
        }
        Ok(())
    }

    fn stop<T>(&mut self, result: Result<T>) -> Option<Result<T>> {
        (self.ahead, self.behind) = (None, None);
        self.front.clear();
        self.back.clear();
        Some(result)
    }
}

impl Iterator for Iter {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Err(error) = self.fill_front() {
                return self.stop(Err(error));
            }
            let pair = self.front.pop_front()?;
            // The other end may have been here meanwhile.
            if self.contains(&pair.0) {
                remember(&mut self.low, &pair.0);
                return Some(Ok(pair));
            }
        }
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        loop {
            if let Err(error) = self.fill_back() {
                return self.stop(Err(error));
            }
            let pair = self.back.pop_back()?;
            if self.contains(&pair.0) {
                remember(&mut self.high, &pair.0);
                return Some(Ok(pair));
            }
        }
    }
}

/// The last key given is the new bound; its buffer is used again.
fn remember(bound: &mut Bound<Vec<u8>>, key: &[u8]) {
    let mut buffer = match std::mem::replace(bound, Bound::Unbounded) {
        Bound::Included(buffer) | Bound::Excluded(buffer) => buffer,
        Bound::Unbounded => Vec::new(),
    };
    buffer.clear();
    buffer.extend_from_slice(key);
    *bound = Bound::Excluded(buffer);
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
            .field("low", &self.low.as_ref().map(|key| Shown(key)))
            .field("high", &self.high.as_ref().map(|key| Shown(key)))
            .finish()
    }
}
