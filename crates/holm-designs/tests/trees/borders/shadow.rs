//! The contents of every slot of a tree of borders, derived only from the page's description, and each operation's cost
//! by the page's table.

use std::collections::BTreeMap;

const SLOTS: usize = 31;

/// Flushes and fences.
pub type Cost = (u64, u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    Live(u64),
    /// The key moved away: it is dead while the range does not grow.
    Stale,
    Dead,
}

type Leaf = [Slot; SLOTS];

/// The leaves below one leaf parent, by where they start.
pub struct Shadow {
    leaves: BTreeMap<u64, Leaf>,
    pub splits: usize,
    /// The number of splits after which the pending pair still had to be inserted.
    pub waited: usize,
    pub merges: usize,
}

fn lives(leaf: &Leaf) -> Vec<u64> {
    let key = |slot: &Slot| if let Slot::Live(key) = slot { Some(*key) } else { None };
    leaf.iter().filter_map(key).collect()
}

fn free(leaf: &Leaf) -> Vec<usize> {
    (0..SLOTS).filter(|slot| !matches!(leaf[*slot], Slot::Live(_))).collect()
}

impl Shadow {
    pub fn new() -> Self {
        Shadow { leaves: BTreeMap::from([(0, [Slot::Dead; SLOTS])]), splits: 0, waited: 0, merges: 0 }
    }

    /// Where the leaf of a key starts.
    fn start(&self, key: u64) -> u64 {
        *self.leaves.range(..=key).next_back().expect("one starts at zero").0
    }

    pub fn leaves(&self) -> usize {
        self.leaves.len()
    }

    pub fn holds(&self, key: u64) -> bool {
        lives(&self.leaves[&self.start(key)]).contains(&key)
    }

    /// The cost of a put. If it splits, the right half's block may have been used before.
    pub fn put(&mut self, key: u64, used: impl Fn(u64) -> bool) -> Cost {
        let (start, alone) = (self.start(key), self.leaves.len() == 1);
        let leaf = self.leaves.get_mut(&start).expect("there");
        if lives(leaf).contains(&key) {
            return (1, 1);
        }
        if let Some(slot) = free(leaf).first().filter(|_| !(alone && key == u64::MAX)) {
            leaf[*slot] = Slot::Live(key);
            return (1, 1);
        }
        self.splits += 1;
        let mut lower = lives(leaf);
        lower.push(key);
        lower.sort_unstable();
        let upper = lower.split_off(lower.len() - lower.len().div_ceil(2).min(15));
        let middle = lower.last().map_or(0, |last| *last).midpoint(upper[0]) + 1;
        let moved = |slot: &Slot| matches!(slot, Slot::Live(key) if *key >= middle);
        let place = (0..3).find(|slot| moved(&leaf[*slot]));
        leaf.iter_mut().filter(|slot| moved(slot)).for_each(|slot| *slot = Slot::Stale);
        let waits = key < middle && place.is_none();
        if key < middle {
            leaf[place.unwrap_or_else(|| free(leaf)[0])] = Slot::Live(key);
        }
        let mut right = [Slot::Dead; SLOTS];
        right.iter_mut().zip(upper.iter().rev()).for_each(|(slot, key)| *slot = Slot::Live(*key));
        self.leaves.insert(middle, right);
        self.waited += usize::from(waits);
        let fresh = if used(middle) { 8 } else { upper.len() as u64 / 4 + 1 };
        (fresh + 1 + u64::from(waits), 2 + u64::from(waits))
    }

    pub fn remove(&mut self, key: u64) -> Cost {
        let start = self.start(key);
        let leaf = self.leaves.get_mut(&start).expect("there");
        let Some(slot) = leaf.iter_mut().find(|slot| **slot == Slot::Live(key)) else { return (0, 0) };
        *slot = Slot::Dead;
        let merge = if lives(leaf).len() < 6 { self.merge(start) } else { (0, 0) };
        (1 + merge.0, 1 + merge.1)
    }

    /// Merges a leaf with its right neighbour, or otherwise with its left one.
    fn merge(&mut self, start: u64) -> Cost {
        let starts: Vec<_> = self.leaves.keys().copied().collect();
        let place = starts.iter().position(|it| *it == start).expect("there");
        let pairs = [Some(place), place.checked_sub(1)].into_iter().flatten();
        let Some(at) = pairs.filter(|at| at + 1 < starts.len()).find(|at| self.fit(&starts[*at..], starts.len()))
        else {
            return (0, 0);
        };
        let next = &starts[at + 1];
        let coming = lives(&self.leaves[next]);
        let leaf = self.leaves.get_mut(&starts[at]).expect("there");
        self.merges += 1;
        let mut lines = 0u32;
        let mut coming = coming.into_iter();
        for slot in free(leaf) {
            let to = coming.next().map_or(Slot::Dead, Slot::Live);
            lines |= u32::from(leaf[slot] != to) << ((slot + 1) / 4);
            leaf[slot] = to;
        }
        self.leaves.remove(next);
        (u64::from(lines.count_ones()) + 1, u64::from(lines != 0) + 1)
    }

    /// Whether the first two of these leaves can merge, in a tree of `leaves` leaves.
    fn fit(&self, starts: &[u64], leaves: usize) -> bool {
        let [own, coming] = [0, 1].map(|at| lives(&self.leaves[&starts[at]]));
        let homeless = leaves == 2 && coming.contains(&u64::MAX);
        !homeless && (own.len().min(coming.len()) == 0 || own.len() + coming.len() <= 15)
    }
}
