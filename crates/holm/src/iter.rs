//! Ranges and prefixes, in both directions, a leaf at a time.
//!
//! Each leaf is copied out at one instant; the scan as a whole is not a snapshot. What was there when the scan began
//! and is not touched meanwhile is seen exactly once; what is inserted or removed meanwhile may be seen or not.

use crate::engine::{Engine, Leafful, Tree};
use crate::error::Result;
use crate::keys::{Bounds, Probe, Records};
use crate::slice::{Slice, show};
use holm_tree::{Index, Toward};
use std::iter::FusedIterator;
use std::ops::{Bound, Range, RangeBounds};
use std::sync::Arc;

type Pair = (Slice, Slice);

/// An owned, double-ended iterator over pairs in the order of their keys. Holding one costs a leaf's copy at each end
/// and pins nothing.
pub struct Iter {
    engine: Arc<Engine>,
    tree: Arc<Tree>,
    /// What is still to come, as far as whole leaves go; the ends' own leaves say the rest.
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
    front: End,
    back: End,
}

/// One end of an iterator: the leaf it is in, and where it goes on.
#[derive(Default)]
struct End {
    leaf: Option<Leafful>,
    /// Positions of the leaf that are still to be given.
    left: Range<usize>,
    next: Option<Edge>,
}

/// Where the next leaf is looked for.
enum Edge {
    /// The leaf that holds this key.
    Holding(Vec<u8>),
    /// The leaf that holds the greatest keys below this one.
    Below(Vec<u8>),
    Last,
}

impl Edge {
    /// A leaf's share of a range, and where a scan goes on.
    fn leaf(&self, engine: &Engine, tree: &Tree, range: Bounds<'_>) -> Result<(Leafful, Option<Edge>)> {
        let forward = matches!(self, Edge::Holding(_));
        loop {
            let toward: Toward<'_, Records> = match self {
                Edge::Holding(key) => Toward::Holding(Probe::new(key)),
                Edge::Below(key) => Toward::Below(Probe::new(key)),
                Edge::Last => Toward::Last,
            };
            let view = Index::view(&*engine.index, &tree.root, toward);
            if let Some(mut leafful) = engine.copy_part(&view, range, forward)? {
                // Asked after copying: see `Tree::alive`.
                tree.alive()?;
                let next = match leafful.rest.take() {
                    Some(key) if forward => Some(Edge::Holding(key)),
                    // Backwards, the share ends above the lowest pair that was copied.
                    Some(_) => (leafful.len() > 0).then(|| Edge::Below(leafful.key(0).to_vec())),
                    None if forward => view.edge.map(Edge::Holding),
                    None => view.edge.map(Edge::Below),
                };
                return Ok((leafful, next));
            }
        }
    }
}

impl End {
    /// The key of the pair that this end gave last, if its leaf still has it.
    fn given(&self, at: Option<usize>) -> Option<&[u8]> {
        let (leaf, at) = self.leaf.as_ref().zip(at)?;
        (at < leaf.len()).then(|| leaf.key(at))
    }
}

impl Iter {
    pub(crate) fn new<K: AsRef<[u8]>>(engine: Arc<Engine>, tree: Arc<Tree>, range: impl RangeBounds<K>) -> Self {
        let own = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        let (low, high) = (own(range.start_bound()), own(range.end_bound()));
        let mut iter = Iter { engine, tree, low, high, front: End::default(), back: End::default() };
        if iter.is_empty_range() {
            return iter;
        }
        iter.front.next = Some(match &iter.low {
            Bound::Included(key) | Bound::Excluded(key) => Edge::Holding(key.clone()),
            Bound::Unbounded => Edge::Holding(Vec::new()),
        });
        iter.back.next = Some(match &iter.high {
            // The key itself may be in the range: it starts in the leaf that would hold it. That leaf's edge is its
            // end, so the backward walk begins below the key's successor instead.
            Bound::Included(key) => Edge::Below([key, &[0][..]].concat()),
            Bound::Excluded(key) => Edge::Below(key.clone()),
            Bound::Unbounded => Edge::Last,
        });
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
        let mut edge = Some(Edge::Holding(Vec::new()));
        while let Some(at) = edge {
            let low = match &at {
                Edge::Holding(key) | Edge::Below(key) => Bound::Included(&key[..]),
                Edge::Last => Bound::Unbounded,
            };
            let (leaf, next) = at.leaf(engine, tree, (low, Bound::Unbounded))?;
            all.extend((0..leaf.len()).map(|index| leaf.pair(index)));
            edge = next;
        }
        Ok(all)
    }

    fn bounds(&self) -> Bounds<'_> {
        (self.low.as_ref().map(|low| &low[..]), self.high.as_ref().map(|high| &high[..]))
    }

    /// Whether nothing of the range lies at or above an edge.
    fn is_past(&self, edge: &[u8]) -> bool {
        match &self.high {
            Bound::Included(high) => edge > &high[..],
            Bound::Excluded(high) => edge >= &high[..],
            Bound::Unbounded => false,
        }
    }

    /// Whether nothing of the range lies below an edge.
    fn is_before(&self, edge: &[u8]) -> bool {
        match &self.low {
            Bound::Included(low) | Bound::Excluded(low) => edge <= &low[..],
            Bound::Unbounded => false,
        }
    }

    /// Brings the front to a leaf that still has something to give.
    fn advance(&mut self) -> Result<()> {
        while self.front.left.is_empty()
            && let Some(edge) = self.front.next.take()
        {
            if let (Edge::Holding(edge), Some(_)) = (&edge, &self.front.leaf) {
                // All below the edge has been given.
                self.low = Bound::Included(edge.clone());
            }
            let (leaf, next) = edge.leaf(&self.engine, &self.tree, self.bounds())?;
            self.front.left = 0..leaf.len();
            self.front.leaf = Some(leaf);
            self.front.next = next.filter(|next| !matches!(next, Edge::Holding(edge) if self.is_past(edge)));
        }
        Ok(())
    }

    /// The same for the back.
    fn retreat(&mut self) -> Result<()> {
        while self.back.left.is_empty()
            && let Some(edge) = self.back.next.take()
        {
            if let (Edge::Below(edge), Some(_)) = (&edge, &self.back.leaf) {
                self.high = Bound::Excluded(edge.clone());
            }
            let (leaf, next) = edge.leaf(&self.engine, &self.tree, self.bounds())?;
            self.back.left = 0..leaf.len();
            self.back.leaf = Some(leaf);
            self.back.next = next.filter(|next| !matches!(next, Edge::Below(edge) if self.is_before(edge)));
        }
        Ok(())
    }

    /// Whether the two ends have met at this key: the other end has given it already, or one beyond it.
    fn met(&self, key: &[u8], from_front: bool) -> bool {
        if from_front {
            // Everything at and above what the back gave last is taken.
            match self.back.given(Some(self.back.left.end).filter(|_| self.back.leaf.is_some())) {
                Some(taken) => key >= taken,
                None => false,
            }
        } else {
            match self.front.given(self.front.left.start.checked_sub(1)) {
                Some(taken) => key <= taken,
                None => false,
            }
        }
    }

    fn stop<T>(&mut self, last: Option<T>) -> Option<T> {
        (self.front, self.back) = (End::default(), End::default());
        last
    }
}

impl Iterator for Iter {
    type Item = Result<(Slice, Slice)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.front.left.is_empty()
            && let Err(error) = self.advance()
        {
            return self.stop(Some(Err(error)));
        }
        let index = self.front.left.next()?;
        let leaf = self.front.leaf.as_ref()?;
        if self.back.leaf.is_some() && (self.met(leaf.key(index), true) || self.is_past(leaf.key(index))) {
            return self.stop(None);
        }
        Some(Ok(leaf.pair(index)))
    }
}

impl DoubleEndedIterator for Iter {
    fn next_back(&mut self) -> Option<Self::Item> {
        if self.back.left.is_empty()
            && let Err(error) = self.retreat()
        {
            return self.stop(Some(Err(error)));
        }
        let index = self.back.left.next_back()?;
        let leaf = self.back.leaf.as_ref()?;
        let key = leaf.key(index);
        let below = matches!(&self.low, Bound::Included(low) if key < &low[..]);
        if self.front.leaf.is_some() && (self.met(key, false) || below) {
            return self.stop(None);
        }
        Some(Ok(leaf.pair(index)))
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
            .field("low", &self.low.as_ref().map(|key| Shown(key)))
            .field("high", &self.high.as_ref().map(|key| Shown(key)))
            .finish()
    }
}
