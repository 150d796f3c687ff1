//! A typical B-tree in memory, which MB+-tree is compared with: nodes of a chosen size have pairs in them, values
//! included, inner nodes as well. It follows Google's cpp-btree: keys are searched one by one, and an insertion at the
//! end of a full node leaves that node full. Unlike there, a full node gives no pairs to its neighbours before it
//! splits.
//!
//! It exists for comparison only.

use super::subject::{Made, Subject};

/// A key and its value.
type Pair<K, const BYTES: usize> = (K, [u8; BYTES]);

/// A row of pairs in key order, of which `count` are in use.
#[derive(Clone, Copy)]
struct Row<K, const BYTES: usize, const SLOTS: usize> {
    count: u16,
    pairs: [Pair<K, BYTES>; SLOTS],
}

impl<K: Copy + Ord, const BYTES: usize, const SLOTS: usize> Row<K, BYTES, SLOTS> {
    /// A node that underflows has fewer pairs than this.
    const LEAST: usize = SLOTS / 2;

    fn used(&self) -> &[Pair<K, BYTES>] {
        &self.pairs[..usize::from(self.count)]
    }

    /// Returns the place of the first key that is at least `key`, and whether it is `key`.
    fn place(&self, key: K) -> (usize, bool) {
        let place = self.used().iter().position(|pair| pair.0 >= key).unwrap_or(usize::from(self.count));
        (place, self.used().get(place).is_some_and(|pair| pair.0 == key))
    }

    /// The row has room.
    fn insert(&mut self, at: usize, pair: Pair<K, BYTES>) {
        self.pairs.copy_within(at..usize::from(self.count), at + 1);
        self.pairs[at] = pair;
        self.count += 1;
    }

    fn remove(&mut self, at: usize) -> Pair<K, BYTES> {
        let pair = self.pairs[at];
        self.pairs.copy_within(at + 1..usize::from(self.count), at);
        self.count -= 1;
        pair
    }
}

/// An inner node: a row, and a child on either side of each of its pairs.
#[derive(Clone, Copy)]
struct Inner<K, const BYTES: usize, const SLOTS: usize, const CHILDREN: usize> {
    row: Row<K, BYTES, SLOTS>,
    children: [u32; CHILDREN],
}

/// The tree, of nodes with `SLOTS` pairs and one child more.
pub(super) struct BTree<K, const BYTES: usize, const SLOTS: usize, const CHILDREN: usize> {
    leaves: Nodes<Row<K, BYTES, SLOTS>>,
    inner: Nodes<Inner<K, BYTES, SLOTS, CHILDREN>>,
    root: u32,
    /// Levels of inner nodes; leaves are at level 0.
    height: usize,
}

/// The pair between two nodes, and the second node.
type Separated<K, const BYTES: usize> = (Pair<K, BYTES>, u32);

/// Nodes of one kind, by their numbers. What is freed is used again.
struct Nodes<T> {
    all: Vec<T>,
    free: Vec<u32>,
}

impl<T> Nodes<T> {
    fn push(&mut self, node: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.all[number as usize] = node;
            return number;
        }
        self.all.push(node);
        self.all.len() as u32 - 1
    }
}

impl<K: Made + Copy + Ord, const BYTES: usize, const SLOTS: usize, const CHILDREN: usize>
    BTree<K, BYTES, SLOTS, CHILDREN>
{
    fn row(&self, level: usize, node: u32) -> &Row<K, BYTES, SLOTS> {
        if level == 0 { &self.leaves.all[node as usize] } else { &self.inner.all[node as usize].row }
    }

    fn row_mut(&mut self, level: usize, node: u32) -> &mut Row<K, BYTES, SLOTS> {
        if level == 0 { &mut self.leaves.all[node as usize] } else { &mut self.inner.all[node as usize].row }
    }

    fn insert(&mut self, level: usize, node: u32, pair: Pair<K, BYTES>) -> Option<Separated<K, BYTES>> {
        let row = self.row_mut(level, node);
        let (at, is_there) = row.place(pair.0);
        if is_there {
            row.pairs[at].1 = pair.1;
            return None;
        }
        if level == 0 {
            return self.insert_here(level, node, at, (pair, u32::MAX));
        }
        let child = self.inner.all[node as usize].children[at];
        let separated = self.insert(level - 1, child, pair)?;
        self.insert_here(level, node, at, separated)
    }

    /// Inserts a pair at a place of a node, and behind it a child if the node has children.
    fn insert_here(
        &mut self,
        level: usize,
        node: u32,
        at: usize,
        (pair, right): Separated<K, BYTES>,
    ) -> Option<Separated<K, BYTES>> {
        let count = usize::from(self.row(level, node).count);
        if count < SLOTS {
            self.row_mut(level, node).insert(at, pair);
            if level > 0 {
                let children = &mut self.inner.all[node as usize].children;
                children.copy_within(at + 1..=count, at + 2);
                children[at + 1] = right;
            }
            return None;
        }
        // Of what comes in order, every node but the last stays full.
        let middle = if at == SLOTS { SLOTS - 1 } else { SLOTS / 2 };
        let (between, fresh) = self.split(level, node, middle);
        let separated = match at <= middle {
            true => self.insert_here(level, node, at, (pair, right)),
            false => self.insert_here(level, fresh, at - middle - 1, (pair, right)),
        };
        debug_assert!(separated.is_none(), "half a node has room");
        Some((between, fresh))
    }

    /// Moves what is behind the pair in the middle to a fresh node, and takes that pair out.
    fn split(&mut self, level: usize, node: u32, middle: usize) -> Separated<K, BYTES> {
        let row = self.row_mut(level, node);
        let between = row.pairs[middle];
        let mut upper = Row { count: (SLOTS - middle - 1) as u16, pairs: row.pairs };
        upper.pairs.copy_within(middle + 1.., 0);
        row.count = middle as u16;
        if level == 0 {
            return (between, self.leaves.push(upper));
        }
        let mut children = self.inner.all[node as usize].children;
        children.copy_within(middle + 1.., 0);
        (between, self.inner.push(Inner { row: upper, children }))
    }

    /// Takes a pair out of a node or the nodes below it.
    fn take(&mut self, level: usize, node: u32, key: K) -> bool {
        let (at, is_here) = self.row(level, node).place(key);
        if level == 0 {
            return is_here && {
                self.row_mut(0, node).remove(at);
                true
            };
        }
        let child = self.inner.all[node as usize].children[at];
        let taken = match is_here {
            // The greatest pair below takes its place.
            true => {
                let last = self.take_last(level - 1, child);
                self.row_mut(level, node).pairs[at] = last;
                true
            }
            false => self.take(level - 1, child, key),
        };
        self.refill(level, node, at);
        taken
    }

    /// Takes the greatest pair of a node that is not empty, or of the nodes below it.
    fn take_last(&mut self, level: usize, node: u32) -> Pair<K, BYTES> {
        let count = usize::from(self.row(level, node).count);
        if level == 0 {
            return self.row_mut(0, node).remove(count - 1);
        }
        let child = self.inner.all[node as usize].children[count];
        let last = self.take_last(level - 1, child);
        self.refill(level, node, count);
        last
    }

    /// Merges a child that underflows with a neighbour, or takes a pair of the neighbour if they have too many.
    fn refill(&mut self, level: usize, node: u32, at: usize) {
        let Inner { row, children } = self.inner.all[node as usize];
        if usize::from(self.row(level - 1, children[at]).count) >= Row::<K, BYTES, SLOTS>::LEAST.max(1) {
            return;
        }
        let between = at.saturating_sub(1);
        let (left, right) = (children[between], children[between + 1]);
        let counts = [left, right].map(|child| usize::from(self.row(level - 1, child).count));
        if counts[0] + 1 + counts[1] <= SLOTS {
            self.merge(level - 1, (left, right), row.pairs[between]);
            self.row_mut(level, node).remove(between);
            let children = &mut self.inner.all[node as usize].children;
            children.copy_within(between + 2.., between + 1);
            return;
        }
        let separator = match at == between {
            true => self.move_left(level - 1, (left, right), row.pairs[between]),
            false => self.move_right(level - 1, (left, right), row.pairs[between]),
        };
        self.row_mut(level, node).pairs[between] = separator;
    }

    /// Appends the pair between two nodes and all of the right one to the left one.
    fn merge(&mut self, level: usize, (left, right): (u32, u32), between: Pair<K, BYTES>) {
        let (upper, count) = (*self.row(level, right), usize::from(self.row(level, left).count));
        let row = self.row_mut(level, left);
        row.insert(count, between);
        row.pairs[count + 1..][..upper.used().len()].copy_from_slice(upper.used());
        row.count += upper.count;
        if level == 0 {
            self.leaves.free.push(right);
            return;
        }
        let more = self.inner.all[right as usize].children;
        self.inner.all[left as usize].children[count + 1..=count + 1 + usize::from(upper.count)]
            .copy_from_slice(&more[..=usize::from(upper.count)]);
        self.inner.free.push(right);
    }

    /// Appends the pair between two nodes to the left one. Returns the right one's first pair, which takes its place.
    fn move_left(&mut self, level: usize, (left, right): (u32, u32), between: Pair<K, BYTES>) -> Pair<K, BYTES> {
        let count = usize::from(self.row(level, left).count);
        self.row_mut(level, left).insert(count, between);
        if level > 0 {
            let children = &mut self.inner.all[right as usize].children;
            let first = children[0];
            children.copy_within(1.., 0);
            self.inner.all[left as usize].children[count + 1] = first;
        }
        self.row_mut(level, right).remove(0)
    }

    /// The same in the other direction.
    fn move_right(&mut self, level: usize, (left, right): (u32, u32), between: Pair<K, BYTES>) -> Pair<K, BYTES> {
        let count = usize::from(self.row(level, left).count);
        if level > 0 {
            let last = self.inner.all[left as usize].children[count];
            let children = &mut self.inner.all[right as usize].children;
            children.copy_within(..CHILDREN - 1, 1);
            children[0] = last;
        }
        self.row_mut(level, right).insert(0, between);
        self.row_mut(level, left).remove(count - 1)
    }
}

impl<K: Made, const BYTES: usize, const SLOTS: usize, const CHILDREN: usize> Subject
    for BTree<K, BYTES, SLOTS, CHILDREN>
{
    type Key = K;

    fn empty() -> Self {
        const { assert!(CHILDREN == SLOTS + 1 && SLOTS >= 3, "a child on either side of each pair") };
        let (leaves, inner) = (Nodes { all: vec![], free: vec![] }, Nodes { all: vec![], free: vec![] });
        BTree { leaves, inner, root: 0, height: 0 }
    }

    fn put(&mut self, key: K) {
        let pair = (key, [1; BYTES]);
        if self.leaves.all.is_empty() {
            self.root = self.leaves.push(Row { count: 0, pairs: [pair; SLOTS] });
        }
        if let Some((between, right)) = self.insert(self.height, self.root, pair) {
            let row = Row { count: 1, pairs: [between; SLOTS] };
            let mut children = [right; CHILDREN];
            children[0] = self.root;
            self.root = self.inner.push(Inner { row, children });
            self.height += 1;
        }
    }

    fn put_unique(&mut self, key: K) {
        self.put(key);
    }

    fn get(&self, key: K) -> u64 {
        if self.leaves.all.is_empty() {
            return 0;
        }
        let mut node = self.root;
        for level in (1..=self.height).rev() {
            let Inner { row, children } = &self.inner.all[node as usize];
            let (at, is_here) = row.place(key);
            if is_here {
                return u64::from(row.pairs[at].1[0]);
            }
            debug_assert!(level > 0, "leaves are below");
            node = children[at];
        }
        let row = &self.leaves.all[node as usize];
        let (at, is_here) = row.place(key);
        if is_here { u64::from(row.pairs[at].1[0]) } else { 0 }
    }

    fn remove(&mut self, key: K) -> bool {
        if self.leaves.all.is_empty() {
            return false;
        }
        let taken = self.take(self.height, self.root, key);
        // A root without pairs has one child.
        if self.height > 0 && self.row(self.height, self.root).count == 0 {
            let only = self.inner.all[self.root as usize].children[0];
            self.inner.free.push(self.root);
            self.root = only;
            self.height -= 1;
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holm_map::Real;
    use std::collections::BTreeSet;

    type Small = BTree<i64, 8, 3, 4>;

    /// Checks order, fill and depth of a node and of those below it. Returns the number of pairs.
    fn checked<const SLOTS: usize, const CHILDREN: usize>(
        tree: &BTree<i64, 8, SLOTS, CHILDREN>,
        level: usize,
        node: u32,
        within: (i64, i64),
    ) -> usize {
        let row = tree.row(level, node);
        assert!(level == tree.height || !row.used().is_empty(), "an empty node");
        let keys: Vec<i64> = row.used().iter().map(|pair| pair.0).collect();
        let all = [&[within.0], &keys[..], &[within.1]].concat();
        assert!(all.is_sorted_by(|low, high| low < high), "{all:?}");
        let below = |at: usize| {
            let child = tree.inner.all[node as usize].children[at];
            checked(tree, level - 1, child, (all[at], all[at + 1]))
        };
        keys.len() + if level == 0 { 0 } else { (0..=keys.len()).map(below).sum() }
    }

    fn agrees_with_a_set<const SLOTS: usize, const CHILDREN: usize>(keys: i64) {
        let (mut tree, mut set) = (BTree::<i64, 8, SLOTS, CHILDREN>::empty(), BTreeSet::new());
        let mut state = 7_u64;
        for step in 0..20 * keys {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            let key = (state >> 33) as i64 % keys;
            // Grows in the first half of the steps, and shrinks in the second.
            let adds = (state >> 20) % 8 < if step < 10 * keys { 5 } else { 3 };
            if adds {
                tree.put(key);
                set.insert(key);
            } else {
                assert_eq!(tree.remove(key), set.remove(&key), "{key}");
            }
            if step % 16 == 0 {
                assert_eq!(checked(&tree, tree.height, tree.root, (-1, keys)), set.len());
            }
        }
        (0..keys).for_each(|key| assert_eq!(tree.get(key) == 1, set.contains(&key)));
        set.iter().for_each(|key| assert!(tree.remove(*key)));
        assert_eq!((tree.height, tree.row(0, tree.root).count), (0, 0));
        assert_eq!(tree.leaves.all.len() - tree.leaves.free.len(), 1, "what is merged is free");
    }

    #[test]
    fn every_operation_agrees_with_a_set() {
        agrees_with_a_set::<3, 4>(200);
        agrees_with_a_set::<7, 8>(300);
        agrees_with_a_set::<4, 5>(200);
        agrees_with_a_set::<15, 16>(400);
    }

    /// Returns the nodes that searches of a thousand of `keys` keys pass, and the lines that they read: two pairs each.
    fn passed<const SLOTS: usize, const CHILDREN: usize>(keys: u64) -> [usize; 2] {
        let made = |number: u64| Real::<f32>::made(number * 0x9E_3779 % (1 << 25));
        let mut tree = BTree::<Real<f32>, 28, SLOTS, CHILDREN>::empty();
        (0..keys).for_each(|number| tree.put(made(number)));
        let [mut nodes, mut lines] = [0, 0];
        for key in (0..1_000).map(|number| made(number * keys / 1_000)) {
            let mut node = tree.root;
            for level in (0..=tree.height).rev() {
                let row = tree.row(level, node);
                let (at, is_here) = row.place(key);
                nodes += 1;
                lines += row.used().len().min(at + 1).div_ceil(2);
                if is_here {
                    break;
                }
                assert!(level > 0, "{key:?}");
                node = tree.inner.all[node as usize].children[at];
            }
        }
        [nodes, lines]
    }

    /// The claims of MB-F4a say so: a search of larger nodes passes fewer of them, and reads more lines.
    #[test]
    fn a_search_of_larger_nodes_passes_fewer_and_reads_more_lines() {
        let [small, large] = [passed::<7, 8>(100_000), passed::<63, 64>(100_000)];
        assert_eq!([small, large], [[6_791, 11_944], [2_984, 37_986]]);
    }

    #[test]
    fn what_comes_in_order_leaves_full_nodes() {
        let mut tree = Small::empty();
        (0..400).for_each(|key| tree.put(key));
        // Three pairs in a node, and one above.
        assert!(tree.leaves.all.len() <= 101 + 33, "{}", tree.leaves.all.len());
    }
}
