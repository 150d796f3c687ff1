//! The pairs that a walk has passed, for further walks that begin at the same place.
//!
//! Commands of a pipeline often read the same part of a collection. The first one walks over the store; the others walk
//! over its copy, and over the store only where they go farther. All belong to one instant, so the copy is never stale.

use crate::refusal::Outcome;
use crate::store::{Range, Visitor};
use crate::walk::{as_slice, contains};
use std::cell::RefCell;
use std::ops::{Bound, ControlFlow};

/// What a window holds at most, in bytes of keys and values.
const MOST_BYTES: usize = 16 << 10;

/// The first pairs of a walk.
pub(crate) struct Window {
    /// Where the walk begins, and in which direction it goes.
    near: Bound<Vec<u8>>,
    reverse: bool,
    /// Keys and values, one after the other, and where each key and each value ends.
    bytes: Vec<u8>,
    ends: Vec<(usize, usize)>,
    is_full: bool,
    /// Up to this bound there are no further pairs.
    far: Option<Bound<Vec<u8>>>,
}

fn owned(bound: Bound<&[u8]>) -> Bound<Vec<u8>> {
    bound.map(<[u8]>::to_vec)
}

fn near<'a>(range: &Range<'a>) -> Bound<&'a [u8]> {
    if range.reverse { range.high } else { range.low }
}

fn far<'a>(range: &Range<'a>) -> Bound<&'a [u8]> {
    if range.reverse { range.low } else { range.high }
}

impl Window {
    fn new(range: &Range<'_>) -> Self {
        let (bytes, ends) = (Vec::new(), Vec::new());
        Window { near: owned(near(range)), reverse: range.reverse, bytes, ends, is_full: false, far: None }
    }

    /// Returns whether a walk begins as this one did.
    fn begins(&self, range: &Range<'_>) -> bool {
        self.reverse == range.reverse && as_slice(&self.near) == near(range)
    }

    fn note(&mut self, key: &[u8], value: &[u8]) {
        self.is_full |= self.bytes.len() + key.len() + value.len() > MOST_BYTES;
        if !self.is_full {
            self.bytes.extend_from_slice(key);
            let end = self.bytes.len();
            self.bytes.extend_from_slice(value);
            self.ends.push((end, self.bytes.len()));
        }
    }

    /// Visits the pairs of a range that are here. Returns whether the walk goes on over the store.
    fn replay(&self, range: &Range<'_>, visit: &mut Visitor<'_>) -> bool {
        let mut begin = 0;
        for (middle, end) in &self.ends {
            let (key, value) = (&self.bytes[begin..*middle], &self.bytes[*middle..*end]);
            if !contains((range.low, range.high), key) || visit(key, value) == ControlFlow::Break(()) {
                return false;
            }
            begin = *end;
        }
        self.far.as_ref().is_none_or(|known| as_slice(known) != far(range))
    }

    /// Returns the key of the last pair.
    fn last(&self) -> Option<Vec<u8>> {
        let (middle, _) = self.ends.last()?;
        let begin = self.ends.len().checked_sub(2).map_or(0, |before| self.ends[before].1);
        Some(self.bytes[begin..*middle].to_vec())
    }
}

/// Walks over a range: over the pairs of a window if it begins at the same place, and then over the store.
pub(crate) fn walk_through(
    window: &RefCell<Option<Window>>,
    range: Range<'_>,
    visit: &mut Visitor<'_>,
    over_store: impl FnOnce(Range<'_>, &mut Visitor<'_>) -> Outcome<()>,
) -> Outcome<()> {
    // Not borrowed meanwhile: a visitor may walk itself.
    let mut known = window.take().filter(|window| window.begins(&range)).unwrap_or_else(|| Window::new(&range));
    if known.replay(&range, visit) {
        let last = known.last();
        let rest = match last.as_deref().map(Bound::Excluded) {
            None => range,
            Some(low) if !range.reverse => Range { low, ..range },
            Some(high) => Range { high, ..range },
        };
        let mut is_over = true;
        over_store(rest, &mut |key, value| {
            known.note(key, value);
            let flow = visit(key, value);
            is_over = flow == ControlFlow::Continue(());
            flow
        })?;
        if is_over && !known.is_full {
            known.far = Some(owned(far(&range)));
        }
    }
    window.replace(Some(known));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Map = BTreeMap<Vec<u8>, Vec<u8>>;

    /// Collects at most some pairs of a range.
    fn collect(most: usize, walk: impl FnOnce(&mut Visitor<'_>)) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut found = Vec::new();
        walk(&mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            if found.len() >= most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        found
    }

    fn over(map: &Map, range: Range<'_>, visit: &mut Visitor<'_>) {
        if crate::walk::is_empty((range.low, range.high)) {
            return;
        }
        let mut pairs: Vec<_> = map.iter().filter(|(key, _)| contains((range.low, range.high), key)).collect();
        if range.reverse {
            pairs.reverse();
        }
        let _ = pairs.into_iter().try_for_each(|(key, value)| visit(key, value));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

        #[test]
        fn walks_through_a_window_pass_what_walks_over_the_store_pass(
            map in proptest::collection::btree_map(
                proptest::collection::vec(0u8..4, 1..3),
                prop_oneof![proptest::collection::vec(any::<u8>(), 0..4), Just(vec![0; MOST_BYTES / 3])],
                0..12,
            ),
            walks in proptest::collection::vec((0u8..3, 0u8..6, any::<bool>(), 1usize..9), 1..12),
        ) {
            let window = RefCell::default();
            for (low, high, reverse, most) in walks {
                let (low, high) = ([low], [high]);
                let range = Range { low: Bound::Included(&low), high: Bound::Excluded(&high), reverse };
                let found = collect(most, |visit| {
                    walk_through(&window, range, visit, |rest, visit| {
                        over(&map, rest, visit);
                        Ok(())
                    }).unwrap();
                });
                prop_assert_eq!(found, collect(most, |visit| over(&map, range, visit)));
            }
        }
    }
}
