//! Designs whose nodes above the leaves are durable too: what each operation flushes and fences, splits of nodes and
//! growth included, by a shadow of the tree that knows the keys alone; and that a rebuild leaves the nodes as they were.

#[path = "strict/grove.rs"]
mod grove;

use grove::{Grove, ORDERS, mixed};
use holm_search::Search;
use holm_tree::Words;
use holm_tree::variants;

/// Flushes and fences.
type Cost = (u64, u64);

fn sum(costs: impl IntoIterator<Item = Cost>) -> Cost {
    costs.into_iter().fold((0, 0), |all, cost| (all.0 + cost.0, all.1 + cost.1))
}

/// What a kind of block costs.
trait Prices {
    /// The most pairs or children.
    const MOST: usize;
    /// One more, in place `at` of `count`.
    fn insert(count: usize, at: usize) -> Cost;
    /// One less.
    fn remove(count: usize, at: usize) -> Cost;
    /// The upper half into a fresh block.
    const SPLIT: Cost;
}

/// FAST and FAIR, of so many slots behind a header as long as one.
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

/// A tree by its keys: of each level the nodes, of each node the least keys of its children; in level 0 the pairs.
struct Shadow {
    levels: Vec<Vec<Vec<u64>>>,
    grown: usize,
    split: usize,
}

impl Shadow {
    fn new() -> Self {
        Shadow { levels: vec![vec![vec![]], vec![vec![0]]], grown: 0, split: 0 }
    }

    /// At each level from the top down, which node and which of its children a key leads to.
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

    /// The upper half of a node goes, and its parent is told; `top` is what a new one costs.
    fn halve<N: Prices>(&mut self, level: usize, path: &[(usize, usize)], top: Cost) -> Cost {
        let index = path[path.len() - 1 - level].0;
        let node = &mut self.levels[level][index];
        let upper = node.split_off(node.len() / 2);
        let separator = upper[0];
        self.levels[level].insert(index + 1, upper);
        self.split += usize::from(level > 0);
        if level + 1 == self.levels.len() {
            self.grown += 1;
            self.levels.push(vec![vec![0, separator]]);
            return top;
        }
        let (parent, at) = path[path.len() - 2 - level];
        let parent = &mut self.levels[level + 1][parent];
        parent.insert(at + 1, separator);
        N::insert(parent.len() - 1, at + 1)
    }

    fn put<L: Prices, N: Prices>(&mut self, key: u64, top: Cost) -> Cost {
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
            // From the top down, the first full node; a leaf only below nodes with room.
            let full = (1..self.levels.len())
                .rev()
                .find(|level| self.levels[*level][path[path.len() - 1 - level].0].len() == N::MOST);
            costs.push(if full.is_some() { N::SPLIT } else { L::SPLIT });
            costs.push(self.halve::<N>(full.unwrap_or(0), &path, top));
        }
    }

    fn remove<L: Prices>(&mut self, key: u64) -> Cost {
        let path = self.path(key);
        let (leaf, at) = path[path.len() - 1];
        let pairs = &mut self.levels[0][leaf];
        if pairs.get(at) != Some(&key) {
            return (0, 0);
        }
        let cost = L::remove(pairs.len(), at);
        pairs.remove(at);
        cost
    }
}

fn spent(grove: &Grove<Words>, operation: impl FnOnce()) -> Cost {
    let before = grove.counts();
    operation();
    let spent = grove.counts() - before;
    (spent.flushes, spent.fences)
}

/// Flushes and fences of a trace are those of the shadow; a rebuild in its midst changes nothing, and nothing durable.
fn follows<L: Prices, N: Prices>(design: &str, turns: u64, growths: usize) {
    for (name, order) in ORDERS {
        let plant =
            || Grove::over(|quill| variants::open(design, quill, Words, Search::detect()).expect("such a variant"));
        let (mut grove, mut shadow) = (plant(), Shadow::new());
        for turn in 0..turns {
            let key = order(turn / 2 + mixed(turn) % 50);
            let (done, wanted) = if mixed(turn + 7) % 16 < 3 {
                (spent(&grove, || _ = grove.remove(key)), shadow.remove::<L>(key))
            } else {
                (spent(&grove, || _ = grove.put(key, turn)), shadow.put::<L, N>(key, (1, 1)))
            };
            assert_eq!(done, wanted, "{design}, {name}: turn {turn}, key {key:#x}");
            if turn % 1000 == 999 {
                let before = grove.counts();
                grove.rebuild();
                assert_eq!((grove.counts() - before).flushes, 0, "{design}, {name}: nothing to repair");
            }
        }
        let pairs: usize = shadow.levels[0].iter().map(Vec::len).sum();
        assert_eq!(grove.payloads().len(), pairs);
        assert!(shadow.grown >= growths && shadow.split > 2 * growths, "{name}: {} {}", shadow.grown, shadow.split);
    }
}

#[test]
fn fast_fair_throughout_flushes_what_the_page_says() {
    follows::<Shifted<31>, Shifted<31>>("fast_fair_all", 25_000, 1);
    follows::<Shifted<31>, Shifted<7>>("fast_fair_all_narrow", 6_000, 3);
}
