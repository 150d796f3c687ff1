//! Designs with durable nodes above the leaves: a shadow of the tree that knows only keys predicts what each operation
//! flushes and fences, including splits of nodes and growth. A rebuild leaves the nodes as they were.

use crate::fixture::{ORDERS, TreeFixture, mixed};
use holm_tree::Words;

/// Flushes and fences.
type Cost = (u64, u64);

fn sum(costs: impl IntoIterator<Item = Cost>) -> Cost {
    costs.into_iter().fold((0, 0), |all, cost| (all.0 + cost.0, all.1 + cost.1))
}

/// The costs of one kind of block.
trait Prices {
    /// The largest number of pairs or children.
    const MOST: usize;
    /// Inserts one entry in place `at` of `count`.
    fn insert(count: usize, at: usize) -> Cost;
    /// Removes one entry.
    fn remove(count: usize, at: usize) -> Cost;
    /// Removes a pair that is the only one of its line, if that costs less.
    const REMOVE_ALONE: Option<Cost> = None;
    /// Splits: the upper half goes into a fresh block, or both halves into two.
    const SPLIT: Cost;
    /// What the parent does in a split, except for inserting the new half.
    const INSTEAD: Cost = (0, 0);
    /// A new root with two children.
    const TOP: Cost = (1, 1);
    /// Merges two leaves with these numbers of pairs, if they merge.
    fn merge(left: usize, right: usize) -> Option<Cost> {
        let _ = (left, right);
        None
    }
}

/// FAST and FAIR, with `SLOTS` slots behind a header as long as one slot.
struct Shifted<const SLOTS: usize>;

impl<const SLOTS: usize> Prices for Shifted<SLOTS> {
    const MOST: usize = SLOTS - 1;
    fn insert(count: usize, at: usize) -> Cost {
        let line = |slot: usize| (slot as u64 + 1) / 4;
        let lines = line(count) - line(at) + 1 + u64::from((count + 2).is_multiple_of(4));
        (lines, lines)
    }
    fn remove(count: usize, at: usize) -> Cost {
        let line = |slot: usize| (slot as u64 + 1) / 4;
        let lines = line(count - 1) - line(at) + 1;
        (lines, lines)
    }
    const SPLIT: Cost = ((SLOTS as u64 + 1) / 4 + 2, 3);
}

/// Isle-Tree's leaf.
struct Isle;

impl Prices for Isle {
    const MOST: usize = 28;
    fn insert(_: usize, _: usize) -> Cost {
        (2, 2)
    }
    fn remove(_: usize, _: usize) -> Cost {
        (2, 2)
    }
    const REMOVE_ALONE: Option<Cost> = Some((1, 1));
    // Four lines of pairs and the header in each half, and the old leaf's end.
    const SPLIT: Cost = (11, 2);
    const INSTEAD: Cost = (1, 1);
    fn merge(left: usize, right: usize) -> Option<Cost> {
        // The header and the lines of pairs, the tie of the right leaf, and the end of the left one.
        let lines = 2 + (left + right).div_ceil(4) as u64;
        (left + right <= 21).then_some(if left == 0 { (lines, 2) } else { (lines + 1, 2) })
    }
}

/// Isle-Tree's node, with `LINES` lines behind its header.
struct Row<const LINES: u64>;

impl<const LINES: u64> Prices for Row<LINES> {
    const MOST: usize = 1 + LINES as usize * 4;
    fn insert(count: usize, at: usize) -> Cost {
        // The first child lies in the header; flushed are the shifted lines, and the count.
        let lines = ((count - 1) / 4 - (at - 1) / 4 + 2) as u64;
        (lines, lines)
    }
    fn remove(count: usize, at: usize) -> Cost {
        let lines = ((count - 2) / 4 - (at - 1) / 4 + 2) as u64;
        (lines, lines)
    }
    const SPLIT: Cost = (LINES + 2, 2);
    const TOP: Cost = (LINES + 1, 2);
}

/// wB+-Tree, with `SLOTS` slots behind a header of one line.
struct Arrayed<const SLOTS: u64>;

impl<const SLOTS: u64> Prices for Arrayed<SLOTS> {
    const MOST: usize = SLOTS as usize;
    fn insert(_: usize, _: usize) -> Cost {
        (4, 3)
    }
    fn remove(_: usize, _: usize) -> Cost {
        (3, 3)
    }
    // The right half; then the link and the shorter array, in one line.
    const SPLIT: Cost = (1 + (SLOTS / 2).div_ceil(4) + 1, 2);
    const TOP: Cost = (3, 2);
}

/// Its leaf, whose split goes through a log.
struct Logged;

impl Prices for Logged {
    const MOST: usize = 28;
    fn insert(count: usize, at: usize) -> Cost {
        Arrayed::<28>::insert(count, at)
    }
    fn remove(count: usize, at: usize) -> Cost {
        Arrayed::<28>::remove(count, at)
    }
    const SPLIT: Cost = (9, 4);
}

/// A tree by its keys: the nodes of each level, and for each node the least keys of its children. Level 0 has the
/// pairs.
struct Shadow {
    levels: Vec<Vec<Vec<u64>>>,
    grown: usize,
    split: usize,
    merged: usize,
    /// The number of merges since the last rebuild: a merge replaces two leaves, and only the next rebuild ends the
    /// second.
    given_up: u64,
}

impl Shadow {
    fn new() -> Self {
        Shadow { levels: vec![vec![vec![]], vec![vec![0]]], grown: 0, split: 0, merged: 0, given_up: 0 }
    }

    /// At each level from the root down, the node and the child to which a key leads.
    fn path(&self, key: u64) -> Vec<(usize, usize)> {
        let (mut path, mut node) = (vec![], 0);
        for level in self.levels[1..].iter().rev() {
            let at = level[node].partition_point(|low| *low <= key) - 1;
            path.push((node, at));
            node = level[..node].iter().map(Vec::len).sum::<usize>() + at;
        }
        path.push((node, self.levels[0][node].partition_point(|it| *it < key)));
        path
    }

    /// Moves the upper half of a node out, and inserts it into its parent.
    fn halve<N: Prices>(&mut self, level: usize, path: &[(usize, usize)]) -> Cost {
        let index = path[path.len() - 1 - level].0;
        let node = &mut self.levels[level][index];
        let upper = node.split_off(node.len() / 2);
        let separator = upper[0];
        self.levels[level].insert(index + 1, upper);
        self.split += usize::from(level > 0);
        if level + 1 == self.levels.len() {
            self.grown += 1;
            self.levels.push(vec![vec![0, separator]]);
            return N::TOP;
        }
        let (parent, at) = path[path.len() - 2 - level];
        let parent = &mut self.levels[level + 1][parent];
        parent.insert(at + 1, separator);
        N::insert(parent.len() - 1, at + 1)
    }

    fn put<L: Prices, N: Prices>(&mut self, key: u64) -> Cost {
        let mut costs = vec![];
        loop {
            let path = self.path(key);
            let (leaf, at) = path[path.len() - 1];
            let pairs = &mut self.levels[0][leaf];
            if pairs.get(at) == Some(&key) {
                return (1, 1);
            }
            if pairs.len() < L::MOST {
                costs.push(L::insert(pairs.len(), at));
                pairs.insert(at, key);
                return sum(costs);
            }
            // The first full node from the root down; the leaf only if all nodes above it have room.
            let full = (1..self.levels.len())
                .rev()
                .find(|level| self.levels[*level][path[path.len() - 1 - level].0].len() == N::MOST);
            costs.extend(if full.is_some() { [N::SPLIT, (0, 0)] } else { [L::SPLIT, L::INSTEAD] });
            costs.push(self.halve::<N>(full.unwrap_or(0), &path));
        }
    }

    /// `alone` states whether the pair is the only one of its line.
    fn remove<L: Prices, N: Prices>(&mut self, key: u64, alone: bool) -> Cost {
        let path = self.path(key);
        let (leaf, at) = path[path.len() - 1];
        let pairs = &mut self.levels[0][leaf];
        if pairs.get(at) != Some(&key) {
            return (0, 0);
        }
        let cost = L::REMOVE_ALONE.filter(|_| alone).unwrap_or(L::remove(pairs.len(), at));
        pairs.remove(at);
        let sparse = pairs.len() < L::MOST / 2;
        let (parent, at) = path[path.len() - 2];
        let children = self.levels[1][parent].len();
        if !sparse || children < 2 {
            return cost;
        }
        // With the right neighbour under the same parent, or otherwise with the left one.
        let places = [Some(at), at.checked_sub(1)].into_iter().flatten().filter(|place| place + 1 < children);
        let merges = places.map(|place| {
            let left = leaf - at + place;
            let [some, more] = [left, left + 1].map(|leaf| self.levels[0][leaf].len());
            Some((place, left, L::merge(some, more)?))
        });
        let Some((place, left, merge)) = merges.flatten().next() else { return cost };
        let gone = N::remove(children, place + 1);
        self.levels[1][parent].remove(place + 1);
        let right = self.levels[0].remove(left + 1);
        self.levels[0][left].extend(right);
        self.merged += 1;
        self.given_up += 1;
        sum([cost, merge, gone, L::INSTEAD])
    }
}

fn spent(fixture: &TreeFixture<Words>, operation: impl FnOnce()) -> Cost {
    let before = fixture.counts();
    operation();
    let spent = fixture.counts() - before;
    (spent.flushes, spent.fences)
}

/// Checks that the flushes and fences of a trace equal the shadow's. A rebuild within it changes nothing, and nothing
/// durable. Returns the number of merged leaves.
fn follows<L: Prices, N: Prices>(design: &str, turns: u64, growths: usize) -> usize {
    let mut merged = 0;
    for (name, order) in ORDERS {
        let create = || TreeFixture::of_words(design);
        let (mut fixture, mut shadow) = (create(), Shadow::new());
        for turn in 0..turns {
            // The tree grows, and then it shrinks.
            let grows = turn < turns / 4 * 3;
            let key = order(if grows { turn / 2 + mixed(turn) % 50 } else { mixed(turn) % (turns / 2) });
            let (done, wanted) = if mixed(turn + 7) % 16 < if grows { 3 } else { 15 } {
                let alone = L::REMOVE_ALONE.is_some() && fixture.is_alone_in_its_line(key);
                (spent(&fixture, || _ = fixture.remove(key)), shadow.remove::<L, N>(key, alone))
            } else {
                (spent(&fixture, || _ = fixture.put(key, turn)), shadow.put::<L, N>(key))
            };
            assert_eq!(done, wanted, "{design}, {name}: turn {turn}, key {key:#x}");
            if turn % 1000 == 999 {
                let before = fixture.counts();
                fixture.rebuild();
                let ended = std::mem::take(&mut shadow.given_up);
                assert!((fixture.counts() - before).flushes <= ended, "{design}, {name}: nothing else to repair");
            }
        }
        let pairs: usize = shadow.levels[0].iter().map(Vec::len).sum();
        assert_eq!(fixture.payloads().len(), pairs);
        assert!(shadow.grown >= growths && shadow.split > 2 * growths, "{name}: {} {}", shadow.grown, shadow.split);
        merged += shadow.merged;
    }
    merged
}

#[test]
fn fast_fair_throughout_flushes_what_the_page_says() {
    follows::<Shifted<31>, Shifted<31>>("fast_fair_all", 25_000, 1);
    follows::<Shifted<31>, Shifted<7>>("fast_fair_all_narrow", 8_000, 2);
}

#[test]
fn isle_throughout_flushes_what_the_page_says() {
    assert!(follows::<Isle, Row<7>>("isle_all", 25_000, 1) > 100);
    assert!(follows::<Isle, Row<1>>("isle_all_narrow", 8_000, 2) > 20);
}

#[test]
fn wb_tree_throughout_flushes_what_the_page_says() {
    follows::<Logged, Arrayed<28>>("wb_tree_all", 25_000, 1);
    follows::<Logged, Arrayed<4>>("wb_tree_all_narrow", 8_000, 2);
}
