//! When a split appends: a pair above all of a tree's last leaf begins a leaf alone, so that ascending keys leave full
//! leaves behind.

use holm_tree::keys::{Keys, Slot};
use holm_tree::leaf::{KeyRange, PendingPair};

/// Returns the separator between a full leaf and a pair that found no room in it, if the leaf is its tree's last one
/// and the pair's key is above all of its keys.
pub(crate) fn separator_below<K: Keys>(
    keys: &K,
    range: KeyRange<'_, K::Separator>,
    pending: Option<PendingPair<'_, K>>,
    full: impl Iterator<Item = Slot>,
) -> Option<K::Separator> {
    let pending = pending.filter(|_| range.high.is_none())?;
    let last = keys.key(full.max_by(|a, b| keys.order(*a, *b))?)?;
    let key = K::to_separator(pending.search_key);
    (last < key).then(|| K::shortest_separator(&last, &key))
}
