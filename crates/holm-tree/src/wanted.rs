//! What a scan wants of a tree, which decides how far it reads ahead.

use crate::keys::Keys;

/// What a scan wants, from the pairs of its target on. A hint: what is read ahead in vain costs time, and nothing else.
pub struct Wanted<'a, K: Keys> {
    /// The number of pairs.
    pub pairs: usize,
    /// The far bound, which is below the pairs of a scan backwards and above those of others; `None` if the scan has
    /// none.
    pub until: Option<K::SearchKey<'a>>,
}

impl<K: Keys> Clone for Wanted<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: Keys> Copy for Wanted<'_, K> {}

impl<K: Keys> Wanted<'_, K> {
    /// One leaf: nothing is read ahead.
    pub fn leaf() -> Self {
        Wanted::pairs(0)
    }

    /// A number of pairs, without a bound.
    pub fn pairs(pairs: usize) -> Self {
        Wanted { pairs, until: None }
    }

    /// Whether a scan may want something beyond the edge of a leaf, which is the end of the leaf's range or, backwards,
    /// its start. `None` is the edge of the tree.
    #[inline]
    pub(crate) fn goes_beyond(&self, edge: Option<&K::Separator>, forward: bool) -> bool {
        let within = |edge| match self.until {
            None => true,
            Some(until) if forward => !K::is_at_or_below(until, edge),
            Some(until) => K::is_below(until, edge),
        };
        self.pairs > 0 && edge.is_some_and(within)
    }
}
