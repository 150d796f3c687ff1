//! SSTree's counts, by formula: an operation's flushes follow from the leaf's subnodes before it.

use crate::fixture::{ORDERS, TreeFixture, mixed};
use holm_medium::{Area, StorageOps};
use holm_tree::{SeekTarget, Words};

/// Flushes and fences.
type Cost = (u64, u64);

fn line(slot: usize) -> usize {
    (slot + 1) / 4
}

/// The number of lines behind the first one in which these slots lie.
fn lines_behind(slots: impl Iterator<Item = usize>) -> u64 {
    let mut lines: Vec<_> = slots.map(line).filter(|line| *line > 0).collect();
    lines.dedup();
    lines.len() as u64
}

/// A subnode according to the bitmap: the key of each slot.
struct Subnode {
    keys: [Option<u64>; 15],
    last: bool,
}

impl Subnode {
    fn free(&self) -> Vec<usize> {
        (usize::from(!self.last)..15).filter(|slot| self.keys[*slot].is_none()).collect()
    }
}

/// The leaf before an operation: its subnodes from the head on.
struct Shape(Vec<Subnode>);

impl Shape {
    fn of(fixture: &TreeFixture<Words>, key: u64) -> Self {
        let mut number =
            u64::from(fixture.index.cursor_at(&fixture.root, SeekTarget::Holding(key)).leaf_version.leaf());
        let mut subnodes = vec![];
        let mut bitmap = None;
        while number != 0 {
            let words = fixture.writer.image().words(Area::Leaves.at(number * 256), 32).expect("a block of 256 bytes");
            let bitmap = *bitmap.get_or_insert(words[1].read());
            let region = words[0].read() >> 56 & 3;
            number = words[0].read() & 0xffff_ffff;
            let key = |slot: usize| (bitmap >> (15 * region) >> slot & 1 == 1).then(|| words[2 + 2 * slot].read());
            subnodes.push(Subnode { keys: std::array::from_fn(key), last: number == 0 });
        }
        Shape(subnodes)
    }

    fn find(&self, key: u64) -> Option<(usize, usize)> {
        let at = |(index, node): (usize, &Subnode)| Some((index, node.keys.iter().position(|it| *it == Some(key))?));
        self.0.iter().enumerate().find_map(at)
    }

    fn pairs(&self) -> usize {
        self.0.iter().map(|node| node.keys.iter().flatten().count()).sum()
    }

    /// If the last subnode has only these pairs, it is released with them: the additional cost, by its place.
    fn reclaims(&self, index: usize, gone: usize) -> Option<Cost> {
        let goes = index > 0 && index + 1 == self.0.len() && self.0[index].keys.iter().flatten().count() == gone;
        goes.then_some(if index == 1 { (1, 0) } else { (2, 1) })
    }

    /// The cost of an insert without a split; `None` if it splits.
    fn insert(&self, most: usize) -> Option<Cost> {
        if let Some(slot) = self.0[0].free().first() {
            return Some(if line(*slot) == 0 { (1, 1) } else { (2, 2) });
        }
        if self.0.len() < most {
            // Head replacement.
            return Some((1, 1));
        }
        let room = self.0.iter().position(|node| !node.free().is_empty())?;
        Some(if room == 1 { (2, 2) } else { (3, 2) })
    }

    fn update(&self, moves: bool, (index, slot): (usize, usize)) -> Cost {
        let free = self.0[0].free();
        if index == 0 || !moves || free.is_empty() {
            return (1, 1);
        }
        let near = (0..15).filter(|at| line(*at) == line(slot) && self.0[index].keys[*at].is_some()).count();
        let moved = near.min(free.len());
        let copies = lines_behind(free.into_iter().take(moved));
        let more = self.reclaims(index, moved);
        let first = u64::from(copies > 0 || more.is_some());
        let more = more.unwrap_or_default();
        (copies + 1 + more.0, first + 1 + more.1)
    }

    fn remove(&self, (index, _): (usize, usize)) -> Cost {
        // The tag alone comes before the bitmap.
        self.reclaims(index, 1).map_or((1, 1), |more| (1 + more.0, 2 + more.1))
    }
}

/// The cost of a split that moves `pairs` pairs to the new leaf: their lines, its head's first line, the old leaf's
/// bitmap.
fn split(pairs: usize) -> Cost {
    let fresh = if pairs > 15 { 4 + lines_behind(1..=pairs - 15) } else { lines_behind(0..pairs) };
    (fresh + 2, 3)
}

#[derive(Default, Debug)]
struct Seen {
    replaced: u64,
    behind: u64,
    splits: u64,
    riders: u64,
    moves: u64,
    reclaimed: u64,
}

fn follows(design: &str, most: usize, moves: bool) {
    for (name, order) in ORDERS {
        let fixture = TreeFixture::of_words(design);
        let mut seen = Seen::default();
        for i in 0..6_000 {
            let key = order(mixed(i) % 300);
            let removes = mixed(i + 7) % 16 < [3, 10, 6][i as usize / 500 % 3];
            let shape = Shape::of(&fixture, key);
            let found = shape.find(key);
            let counts = fixture.counts();
            if removes {
                fixture.remove(key)
            } else {
                fixture.put(key, i)
            };
            let spent = fixture.counts() - counts;
            let wanted = match (removes, found) {
                (true, None) => (0, 0),
                (true, Some(at)) => {
                    seen.reclaimed += u64::from(shape.reclaims(at.0, 1).is_some());
                    shape.remove(at)
                }
                (false, Some(at)) => {
                    seen.moves += u64::from(shape.update(moves, at) != (1, 1));
                    shape.update(moves, at)
                }
                (false, None) => shape.insert(most).unwrap_or_else(|| {
                    let pairs = shape.pairs();
                    let after = Shape::of(&fixture, key);
                    if after.pairs() == 1 {
                        // A leaf alone, in its head's first line.
                        return (1, 1);
                    }
                    seen.splits += 1;
                    // A fresh leaf has no more subnodes than its pairs need; the old leaf has the largest number.
                    if after.0.len() < most || after.0[0].keys[1].is_some() && after.pairs() == pairs / 2 + 1 {
                        seen.riders += 1;
                        return split(pairs / 2 + 1);
                    }
                    let (parted, room) = (split(pairs / 2), after.find(key).expect("the key was put"));
                    let insert = match room {
                        (0, slot) if line(slot) == 0 => (1, 1),
                        (0 | 1, _) => (2, 2),
                        _ => (3, 2),
                    };
                    (parted.0 + insert.0, parted.1 + insert.1)
                }),
            };
            if let (false, None, Some(cost)) = (removes, found, shape.insert(most)) {
                let full = shape.0[0].free().is_empty();
                seen.replaced += u64::from(full && cost == (1, 1));
                seen.behind += u64::from(full && cost != (1, 1));
            }
            assert_eq!((spent.flushes, spent.fences), wanted, "{design}, {name}, {i}: {key}, removed: {removes}");
        }
        let rare = [seen.replaced, seen.behind, seen.splits, seen.reclaimed];
        assert!(rare.iter().all(|count| *count > 3) && (seen.moves > 30) == moves, "{design}, {name}: {seen:?}");
    }
}

#[test]
fn flushes_and_fences_follow_from_the_list() {
    follows("ss_tree", 2, true);
    follows("ss_tree_staying", 2, false);
}

#[test]
fn flushes_and_fences_follow_from_longer_lists() {
    follows("ss_tree_three", 3, true);
    follows("ss_tree_four", 4, true);
}

/// Ascending keys leave full leaves behind, and each insert is one of a leaf that is not full: of fourteen or fifteen
/// pairs of a subnode, two or three cost one line, and so does the one that begins a subnode.
#[test]
fn ascending_keys_fill_every_leaf() {
    for (design, pairs) in [("ss_tree", 29), ("ss_tree_three", 43), ("ss_tree_four", 57)] {
        let mut fixture = TreeFixture::of_words(design);
        let before = fixture.counts();
        (0..100 * pairs).for_each(|key| assert_eq!(fixture.put(key, key), None));
        let spent = fixture.counts() - before;
        let lines = 2 * 100 * pairs
            - 100
                * match design {
                    "ss_tree" => 5,
                    "ss_tree_three" => 7,
                    _ => 9,
                };
        assert_eq!((spent.flushes, spent.fences), (lines, lines), "{design}");
        assert_eq!(fixture.index.audit(&fixture.root).leaves, 100, "{design}");
        fixture.rebuild();
        assert_eq!(fixture.payloads(), (0..100 * pairs).collect::<Vec<_>>(), "{design}");
    }
}
