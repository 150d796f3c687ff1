//! Live pairs copied out of a leaf, and how they are put in order.

use crate::keys::{Keys, Slot};
use holm_search::{MOST_RANKED, Search};
use std::cmp::Ordering;
use std::hint::select_unpredictable;

/// The most pairs that any design keeps in one leaf.
pub const MOST_PAIRS: usize = 256;

/// Up to this many pairs with equal heads are ordered on the stack, more on the heap.
const FEW_EQUALS: usize = 64;

/// Live pairs, copied out of a leaf.
#[derive(Clone, Debug, Default)]
pub struct Pairs(Vec<Slot>);

impl Pairs {
    /// Adds a pair. A pair beyond [`MOST_PAIRS`] is dropped; only a torn count could lead to one.
    #[inline]
    pub fn push(&mut self, slot: Slot) {
        if self.0.len() < MOST_PAIRS {
            self.0.push(slot);
        }
    }

    /// Removes all pairs.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes all pairs and reserves room for those of one leaf.
    pub fn begin(&mut self, capacity: usize) {
        self.0.clear();
        self.0.reserve(capacity.min(MOST_PAIRS));
    }

    /// Sorts by key: by head first, and runs of equal heads by their records. Heads leave out `skip` bytes.
    ///
    /// Blocks that were filled in order are copied in that order, with later pairs at the end.
    pub fn sort<K: Keys>(&mut self, keys: &K, search: Search, skip: usize) {
        let run = 1 + self.0.array_windows().take_while(|[a, b]| a.head < b.head).count();
        if run >= self.0.len() || self.place_by_rank(search, run).is_some() {
            return;
        }
        // The bytes that decide between equal heads lie in the records.
        self.0.iter().for_each(|slot| keys.prefetch(slot.payload));
        self.0.sort_unstable_by_key(|slot| slot.head);
        for run in self.0.chunk_by_mut(|a, b| a.head == b.head) {
            sort_equals(run, keys, skip + size_of::<u64>());
        }
    }

    /// Puts each pair at the index that the number of lesser heads gives, so that no branch depends on a head. The
    /// first `run` pairs are in order. Returns `None`, with the pairs in any order, if heads are equal or pairs are too
    /// many.
    fn place_by_rank(&mut self, search: Search, run: usize) -> Option<()> {
        let len = self.0.len();
        if len <= MOST_RANKED {
            return ranked(search, &mut self.0);
        }
        let front = if len - run <= MOST_RANKED { run } else { len / 2 };
        if len - front > MOST_RANKED {
            return None;
        }
        if front > run {
            ranked(search, &mut self.0[..front])?;
        }
        ranked(search, &mut self.0[front..])?;
        merge(&mut self.0, front)
    }
}

/// As [`Pairs::place_by_rank`], for as many pairs as are ranked at once.
fn ranked(search: Search, pairs: &mut [Slot]) -> Option<()> {
    let len = pairs.len();
    let mut heads = [0; MOST_RANKED];
    pairs.iter().zip(&mut heads).for_each(|(slot, head)| *head = slot.head);
    let (mut placed, mut taken) = ([Slot::default(); MOST_RANKED], 0u32);
    for (slot, place) in pairs.iter().zip(search.ranks(&heads, len)) {
        let place = place as usize % MOST_RANKED;
        placed[place] = *slot;
        taken |= 1 << place;
    }
    // Equal heads got the same index and left another one empty.
    if taken.count_ones() as usize != len {
        return None;
    }
    pairs.copy_from_slice(&placed[..len]);
    Some(())
}

/// Merges two ordered runs, of which the second has at most as many pairs as are ranked at once. Returns `None` if
/// heads are equal; each pair is then still present once.
fn merge(pairs: &mut [Slot], front: usize) -> Option<()> {
    let mut behind = [Slot::default(); MOST_RANKED];
    let (mut left, mut right, mut equal) = (front, pairs.len() - front, false);
    behind[..right].copy_from_slice(&pairs[front..]);
    // From the back, where there is room.
    while left > 0 && right > 0 {
        let (a, b) = (pairs[left - 1], behind[right - 1]);
        let is_left = a.head > b.head;
        equal |= a.head == b.head;
        pairs[left + right - 1] = select_unpredictable(is_left, a, b);
        left -= usize::from(is_left);
        right -= usize::from(!is_left);
    }
    pairs[..right].copy_from_slice(&behind[..right]);
    (!equal).then_some(())
}

/// Beyond this many equal bytes, whole keys are compared: what follows is rarely long.
const DEEPEST: usize = 256;

/// Sorts pairs that agree up to `depth` by the next eight bytes, read once for each pair, and so on. Where bytes run
/// out, it compares whole keys.
fn sort_equals<K: Keys>(run: &mut [Slot], keys: &K, depth: usize) {
    if run.len() < 2 {
        return;
    }
    let (mut few, mut many) = ([(0, Slot::default()); FEW_EQUALS], vec![]);
    let deeper = match few.get_mut(..run.len()) {
        Some(few) => few,
        None => {
            many.resize(run.len(), (0, Slot::default()));
            &mut many[..]
        }
    };
    for (deeper, slot) in deeper.iter_mut().zip(&*run) {
        *deeper = (keys.rehead(*slot, depth).unwrap_or_default(), *slot);
    }
    // These heads are copies that no writer changes, so the library may sort them.
    deeper.sort_unstable_by_key(|(head, _)| *head);
    run.iter_mut().zip(&*deeper).for_each(|(slot, deeper)| *slot = deeper.1);
    let mut rest = run;
    for equal in deeper.chunk_by(|a, b| a.0 == b.0) {
        let (run, after) = rest.split_at_mut(equal.len());
        rest = after;
        // The zeros may be bytes of the keys, or padding.
        if equal[0].0 == 0 || depth >= DEEPEST {
            arrange(run, |a, b| keys.order(*a, *b));
        } else {
            sort_equals(run, keys, depth + size_of::<u64>());
        }
    }
}

/// Sorts a few things by a comparison that may contradict itself. A reader compares through records that a writer
/// changes meanwhile; it discards the result later, but the sort must end. The library's sorts may panic there. Things
/// that are in order already are compared once each.
pub fn arrange<T: Copy>(things: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    for end in 1..things.len() {
        let thing = things[end];
        if order(&things[end - 1], &thing) != Ordering::Greater {
            continue;
        }
        let at = things[..end - 1].partition_point(|before| order(before, &thing) != Ordering::Greater);
        things.copy_within(at..end, at + 1);
        things[at] = thing;
    }
}

/// A pair and the index of its slot.
#[derive(Clone, Copy, Debug)]
pub struct IndexedPair {
    /// The pair.
    pub slot: Slot,
    /// The index.
    pub at: usize,
}

/// Divides a leaf of unordered pairs: returns the separator, and the pairs from it on, in order. `None` if there are
/// fewer than `full`, so that the leaf has room by now. Also `None` if a record is missing, which only damage can
/// cause: the tree set reports a leaf that stays full.
pub fn upper_half<K: Keys>(
    keys: &K,
    pairs: impl Iterator<Item = IndexedPair>,
    full: usize,
) -> Option<(K::Separator, Vec<IndexedPair>)> {
    let mut lower: Vec<_> = pairs.collect();
    if lower.len() < full {
        return None;
    }
    arrange(&mut lower, |a, b| keys.order(a.slot, b.slot));
    let upper = lower.split_off(lower.len() / 2);
    let (last, first) = keys.key(lower.last()?.slot).zip(keys.key(upper.first()?.slot))?;
    Some((K::shortest_separator(&last, &first), upper))
}

/// Returns pairs whose heads leave out `from` bytes with heads that leave out `to`.
pub fn reheaded<K: Keys>(keys: &K, pairs: &[Slot], from: usize, to: usize) -> Vec<Slot> {
    let head = |slot: Slot| if from == to { None } else { keys.rehead(slot, to) };
    // The head stays as it was if the record is missing; the next open reports that.
    pairs.iter().map(|slot| Slot { head: head(*slot).unwrap_or(slot.head), ..*slot }).collect()
}

impl std::ops::Deref for Pairs {
    type Target = [Slot];
    fn deref(&self) -> &[Slot] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Words;
    use std::cell::Cell;

    fn mixed(i: u64) -> u64 {
        i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40
    }

    #[test]
    fn sorting_orders_every_length_equal_heads_and_extremes_at_every_level() {
        for search in Search::all_available() {
            for len in 0..=MOST_PAIRS as u64 {
                for distinct in [1, 3, len.max(1), u64::MAX] {
                    let head = |i: u64| match i {
                        0 => u64::MAX,
                        1 => 0,
                        _ if distinct == u64::MAX => mixed(i),
                        _ => i % distinct,
                    };
                    // Ordered runs in front, as in blocks that were filled in order.
                    for front in [0, len / 2, len.saturating_sub(20), len] {
                        let mut heads: Vec<_> = (0..len).map(head).collect();
                        heads[..front as usize].sort_unstable();
                        let mut pairs = Pairs::default();
                        heads.iter().zip(0..).for_each(|(head, payload)| pairs.push(Slot { head: *head, payload }));
                        pairs.sort(&Words, search, 0);
                        heads.sort_unstable();
                        assert_eq!(pairs.iter().map(|slot| slot.head).collect::<Vec<_>>(), heads);
                        let mut payloads: Vec<_> = pairs.iter().map(|slot| slot.payload).collect();
                        payloads.sort_unstable();
                        assert_eq!(payloads, (0..len).collect::<Vec<_>>(), "each once");
                    }
                }
            }
        }
    }

    #[test]
    fn arranging_sorts_and_survives_contradictions() {
        for len in 0..MOST_PAIRS as u64 {
            let mut things: Vec<_> = (0..len).map(mixed).collect();
            arrange(&mut things, u64::cmp);
            assert!(things.is_sorted());
            let turn = Cell::new(0);
            arrange(&mut things, |a, b| {
                turn.set(turn.get() + 1);
                a.cmp(b)
            });
            assert_eq!(turn.get(), len.saturating_sub(1), "what is in order is compared once each");
            arrange(&mut things, |_, _| {
                turn.set(turn.get() + 1);
                mixed(turn.get() + len).cmp(&mixed(turn.get() + 7))
            });
            things.sort_unstable();
            let mut wanted: Vec<_> = (0..len).map(mixed).collect();
            wanted.sort_unstable();
            assert_eq!(things, wanted, "in whatever order, each once");
        }
    }
}
