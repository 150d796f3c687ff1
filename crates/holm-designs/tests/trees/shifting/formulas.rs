//! Flushes and fences of each operation, by the formulas of the designs' pages.

use crate::fixture::{ORDERS, TreeFixture, mixed};
use holm_designs::designs::fast_fair;
use holm_medium::{Area, StorageOps};
use holm_tree::leaf::Leaf;
use holm_tree::{Design, SeekTarget};
use std::collections::BTreeSet;

const CAPACITY: usize = <fast_fair as Design>::Leaf::CAPACITY;

/// The line of a slot, by the page's table.
fn line(slot: usize) -> u64 {
    (slot as u64 + 1) / 4
}

/// The number of lines that an insert at `at` of `count` flushes, each with its fence.
fn shifted(count: usize, at: usize) -> u64 {
    line(count) - line(at) + 1 + u64::from((count + 2).is_multiple_of(4))
}

#[test]
fn flushes_and_fences_are_those_of_the_formulas() {
    for (name, order) in ORDERS {
        let fixture = TreeFixture::of_words("fast_fair");
        let (mut splits, mut worst) = (0, 0);
        for i in 0..4_000 {
            let key = order(mixed(i) % 1_200 + i / 4);
            let cursor = fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(key));
            let count = cursor.pairs.len();
            let at = cursor.pairs.partition_point(|slot| slot.head < key);
            let present = cursor.pairs.get(at).is_some_and(|slot| slot.head == key);
            let removes = mixed(i + 7) % 16 < if i < 3_000 { 3 } else { 12 };
            let before = fixture.counts();
            if removes {
                fixture.remove(key);
            } else {
                fixture.put(key, 0);
            }
            let spent = fixture.counts() - before;
            let half = CAPACITY / 2;
            let expected = match (removes, present) {
                (true, false) => (0, 0),
                (true, true) => (line(count - 1) - line(at) + 1, line(count - 1) - line(at) + 1),
                (false, true) => (1, 1),
                (false, false) if count < CAPACITY => (shifted(count, at), shifted(count, at)),
                (false, false) => {
                    splits += 1;
                    // A key between the halves belongs to the left one: the separator is the right half's first key.
                    let lines = shifted(half, if at > half { at - half } else { at });
                    (10 + lines, 3 + lines)
                }
            };
            worst = worst.max(spent.flushes);
            assert_eq!((spent.flushes, spent.fences), expected, "{name}: {count} pairs, at {at}, present: {present}");
            let before = fixture.counts();
            let _ = (fixture.get(key), fixture.index.cursor_at(&fixture.root, SeekTarget::Last));
            assert_eq!(fixture.counts(), before, "{name}: reading writes nothing");
        }
        assert!(splits > 10 && worst > 13, "{name}: {splits} splits, {worst} flushes at the worst");
    }
}

/// The number of slots in a ring.
const PLACES: usize = 30;

/// The number of distinct lines of indices `from..=to` in a ring that begins at `base`.
fn lines(base: usize, from: isize, to: isize) -> u64 {
    let place = |index: isize| (base as isize + index).rem_euclid(PLACES as isize) as u64;
    (from..=to).map(|index| (place(index) + 2) / 4).collect::<BTreeSet<_>>().len() as u64
}

/// The number of lines that an insert at `at` of `count` flushes, including the ring's word, which shares the last
/// line's fence.
fn opened(base: usize, count: usize, at: usize) -> u64 {
    let (count, at) = (count as isize, at as isize);
    1 + if count - at <= at { lines(base, at, count) } else { lines(base, -1, at - 1) }
}

/// The same for a removal.
fn closed(base: usize, count: usize, at: usize) -> u64 {
    let (last, at) = (count as isize - 1, at as isize);
    1 + if at <= last - at { lines(base, 0, at) } else { lines(base, at, last) }
}

#[test]
fn a_rings_flushes_and_fences_are_those_of_the_formulas() {
    for (name, order) in ORDERS {
        let fixture = TreeFixture::of_words("circ");
        let (mut splits, mut worst, mut bases) = (0, 0, BTreeSet::new());
        for i in 0..4_000 {
            let key = order(mixed(i) % 1_200 + i / 4);
            let cursor = fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(key));
            // The key zero lies in the header.
            let zero = usize::from(cursor.pairs.first().is_some_and(|slot| slot.head == 0));
            let count = cursor.pairs.len() - zero;
            let at = cursor.pairs.partition_point(|slot| slot.head < key).saturating_sub(zero);
            let present = cursor.pairs.iter().any(|slot| slot.head == key);
            let ring = fixture.writer.image().words(Area::Leaves.at(u64::from(cursor.leaf_version.leaf()) * 512), 1);
            let base = (ring.expect("a leaf")[0].read() >> 32) as usize & 255;
            bases.insert(base);
            let removes = mixed(i + 7) % 16 < if i < 3_000 { 3 } else { 12 };
            let before = fixture.counts();
            if removes {
                fixture.remove(key);
            } else {
                fixture.put(key, 0);
            }
            let spent = fixture.counts() - before;
            let (full, half) = (PLACES - 1, (PLACES - 1) / 2);
            let expected = match (removes, present) {
                (true, false) => (0, 0),
                (_, _) if key == 0 => (1, 1),
                (true, true) => (closed(base, count, at), closed(base, count, at) - 1),
                (false, true) => (1, 1),
                (false, false) if count < full => (opened(base, count, at), opened(base, count, at) - 1),
                (false, false) => {
                    splits += 1;
                    let moved = lines(base, half as isize, full as isize - 1);
                    let more = if at > half { opened(0, full - half, at - half) } else { opened(base, half, at) };
                    (9 + moved + more, 2 + more)
                }
            };
            worst = worst.max(spent.flushes);
            assert_eq!((spent.flushes, spent.fences), expected, "{name}: {count} from {base}, at {at}: {present}");
            let before = fixture.counts();
            let _ = (fixture.get(key), fixture.index.cursor_at(&fixture.root, SeekTarget::Last));
            assert_eq!(fixture.counts(), before, "{name}: reading writes nothing");
        }
        assert!(splits > 10 && worst > 13, "{name}: {splits} splits, {worst} flushes at the worst");
        assert!(bases.len() > 3 || name != "random", "{bases:?}");
    }
}
