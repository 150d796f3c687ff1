//! NV-Tree's inner nodes: one array that routes as a sorted list does, and when it is rebuilt.

use crate::fixture::mixed;
use holm_designs::inner::Contiguous;
use holm_designs::leaf::nv_tree::NvTree;
use holm_designs::look::ONE_BY_ONE;
use holm_medium::{FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps, Writer};
use holm_search::Search;
use holm_tree::inner::{FreshNode, Inner, NewChild, NodeContents, NodeContext, NodeHeader, Range, Route, Sorted};
use holm_tree::leaf::{KeyRange, RecoveryPoint};
use holm_tree::{Design, Index, LongSeparators, SeekTarget, TreeRoot, TreeSet, Words};
use std::sync::Arc;

const ALL: KeyRange<'_, u64> = KeyRange { low: &0, high: None };

fn memory() -> Arc<Writer<Mapped>> {
    let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
    Arc::new(Storage::open(Mapped::heap(1 << 20, 4 << 10, options), FIRST_EPOCH).expect("memory"))
}

/// Checks a node's counts, and where it routes keys, against ordered separators and children.
fn routes(node: &impl Inner, long_separators: &LongSeparators, separators: &[u64], children: &[u32]) {
    let search = Search::detect();
    assert_eq!(node.len(), separators.len());
    assert_eq!((0..separators.len()).map(|index| node.entry(index).head).collect::<Vec<_>>(), separators);
    assert_eq!((0..children.len()).map(|index| node.child(index)).collect::<Vec<_>>(), children);
    for around in separators.iter().flat_map(|key| [key - 1, *key, key + 1]).chain([0, u64::MAX]) {
        let place = separators.partition_point(|key| *key <= around);
        assert_eq!(node.route::<Words>(search, long_separators, around), place, "{around} among {}", separators.len());
        let below = separators.partition_point(|key| *key < around);
        assert_eq!(node.route_below::<Words>(search, long_separators, around), below, "below {around}");
    }
}

/// All counts around those at which one more level or node is needed, with eight children per node. Also in memory that
/// held another number of children before.
#[test]
fn the_array_routes_as_a_sorted_list_does() {
    let (writer, long_separators, node) = (memory(), LongSeparators::default(), Contiguous::<1>::default());
    let header = NodeHeader { keyspace: 1, level: 2, first: true };
    let counts = [1, 2, 7, 8, 9, 16, 17, 63, 64, 65, 72, 73, 511, 512, 513, 577, 40, 3];
    for count in counts {
        let separators: Vec<u64> = (1..count).map(|i| i * 10).collect();
        let children: Vec<u32> = (0..count as u32).map(|i| i * 3 + 1).collect();
        let mut handle = writer.begin_write_at(FIRST_EPOCH);
        let contents = NodeContents { header, range: ALL, separators: &separators, children: &children };
        node.fill::<_, Words>(&mut NodeContext { handle: &mut handle, long_separators: &long_separators }, contents);
        routes(&node, &long_separators, &separators, &children);
    }
}

#[test]
fn the_array_inserts_and_removes_as_a_sorted_list_does() {
    let (writer, long_separators, node) = (memory(), LongSeparators::default(), Contiguous::<1>::default());
    let (mut separators, mut children) = (vec![], vec![7]);
    let mut handle = writer.begin_write_at(FIRST_EPOCH);
    let header = NodeHeader { keyspace: 1, level: 2, first: true };
    let contents = NodeContents { header, range: ALL, separators: &separators, children: &children };
    node.fill::<_, Words>(&mut NodeContext { handle: &mut handle, long_separators: &long_separators }, contents);
    for turn in 0..300u64 {
        if mixed(turn).is_multiple_of(4) && !separators.is_empty() {
            let index = mixed(turn + 1) as usize % separators.len();
            separators.remove(index);
            children.remove(index + 1);
            node.remove_child(&mut handle, index);
        } else {
            let key = mixed(turn) >> 8 | 1;
            let index = separators.partition_point(|it| *it < key);
            separators.insert(index, key);
            children.insert(index + 1, turn as u32);
            let new_child = NewChild { position: index, separator: &key, child: turn as u32 };
            let mut context = NodeContext { handle: &mut handle, long_separators: &long_separators };
            node.insert_child::<_, Words>(&mut context, &Range::default(), new_child, key);
        }
        let changed = mixed(turn + 2) as usize % children.len();
        children[changed] = 1_000 + turn as u32;
        node.set_child(&mut handle, changed, children[changed]);
        routes(&node, &long_separators, &separators, &children);
    }
    assert!(separators.len() > 100);
    let (right, middle) = (Contiguous::<1>::default(), separators.len() / 2);
    let mut context = NodeContext { handle: &mut handle, long_separators: &long_separators };
    let fresh = FreshNode { number: 0, node: &right };
    let separator = node.split::<_, Words>(&mut context, &Range::default(), fresh, 0);
    assert_eq!(separator, separators[middle]);
    routes(&node, &long_separators, &separators[..middle], &children[..=middle]);
    routes(&right, &long_separators, &separators[middle + 1..], &children[middle + 1..]);
}

/// Eight children per node, on every level.
struct Narrow;

impl Design for Narrow {
    const NAME: &'static str = "narrow";
    type Leaf = NvTree<30, 1, 0, ONE_BY_ONE>;
    type LeafParent = Sorted<1>;
    type Upper = Contiguous<1>;
}

struct Grown {
    writer: Arc<Writer<Mapped>>,
    tree_set: TreeSet<Mapped, Narrow, Words>,
    root: TreeRoot,
    /// Where each leaf's range starts, by leaf parent.
    shadow: Vec<Vec<u64>>,
    renewals: u64,
}

impl Grown {
    fn new() -> Self {
        let writer = memory();
        let tree_set = TreeSet::new(writer.clone(), Words, Search::detect());
        let root = tree_set.create_tree(&mut writer.clock().pin().expect("sound"), 1).expect("memory");
        Grown { writer, tree_set, root, shadow: vec![vec![0]], renewals: 0 }
    }

    fn lows(&self) -> Vec<u64> {
        let mut lows = vec![0];
        while let Some(edge) = self.tree_set.cursor_at(&self.root, SeekTarget::Holding(lows[lows.len() - 1])).edge {
            lows.push(edge);
        }
        lows
    }

    /// Leaf parents half full, as evenly as possible.
    fn even(leaves: &[u64]) -> Vec<Vec<u64>> {
        let (mut leaf_parents, mut rest) = (vec![], leaves);
        let nodes = leaves.len().div_ceil(4);
        for index in 0..nodes {
            let (part, tail) = rest.split_at(rest.len().div_ceil(nodes - index));
            leaf_parents.push(part.to_vec());
            rest = tail;
        }
        leaf_parents
    }

    /// Puts a key. If a leaf splits, its leaf parent takes the upper half; if that has no room, all leaf parents are
    /// rebuilt.
    fn put(&mut self, key: u64) {
        let mut guard = self.writer.clock().pin().expect("sound");
        self.tree_set.put(&self.root, &mut guard, key, !key).expect("memory");
        drop(guard);
        let before = self.shadow.concat();
        let after = self.lows();
        let Some(new) = after.iter().find(|low| before.binary_search(low).is_err()) else { return };
        let parent = |shadow: &[Vec<u64>]| shadow.partition_point(|leaf_parent| leaf_parent[0] <= *new) - 1;
        if self.shadow[parent(&self.shadow)].len() == 8 {
            self.shadow = Self::even(&before);
            self.renewals += 1;
        }
        let at = parent(&self.shadow);
        let place = self.shadow[at].partition_point(|low| low < new);
        self.shadow[at].insert(place, *new);
        assert_eq!(self.shadow.concat(), after);
        assert_eq!(self.tree_set.fills(&self.root), self.shadow.iter().map(Vec::len).collect::<Vec<_>>());
        assert_eq!(self.root.level_rebuilds(), self.renewals);
        assert_eq!(self.tree_set.height(&self.root), if self.renewals == 0 { 1 } else { 2 }, "one branch, ever");
    }
}

/// Each leaf parent's fill and the number of rebuilds equal those of a shadow that knows only where leaves split.
#[test]
fn leaf_parents_are_rebuilt_when_one_is_full() {
    let orders: [fn(u64) -> u64; 3] = [|i| i, |i| 5_000 - i, mixed];
    for order in orders {
        let mut grown = Grown::new();
        (0..4_000).for_each(|i| grown.put(order(i)));
        let Grown { tree_set, root, writer, .. } = grown;
        assert_eq!(tree_set.audit(&root).faults, Vec::<String>::new());
        // After reopening, leaf parents are half full, too.
        let leaves: usize = tree_set.fills(&root).iter().sum();
        let rebuilt = tree_set.rebuild(RecoveryPoint::Visible, writer.clock().active(), 1).expect("sound leaves");
        let root = &rebuilt.roots[0];
        let fills = tree_set.fills(root);
        assert_eq!((fills.iter().sum::<usize>(), fills.len()), (leaves, leaves.div_ceil(4)));
        assert!(fills.iter().all(|fill| (3..=4).contains(fill)), "{fills:?}");
        assert_eq!((root.level_rebuilds(), tree_set.height(root)), (0, 2));
    }
}

/// Ascending keys leave leaves of 15 pairs behind. The last leaf parent is full at 8 leaves, and then again after each
/// four more. Keys that are spread fill all leaf parents together.
#[test]
fn ascending_keys_rebuild_after_half_a_leaf_parent_and_spread_keys_after_many() {
    let renewals = |order: fn(u64) -> u64, many: u64| {
        let mut grown = Grown::new();
        (0..many).for_each(|i| grown.put(order(i)));
        (grown.shadow.concat().len() as u64, grown.root.level_rebuilds())
    };
    let (leaves, ascending) = renewals(|i| i, 3_000);
    assert_eq!((leaves, ascending), ((3_000 - 30u64).div_ceil(15) + 1, (leaves - 9) / 4 + 1));
    let (leaves, spread) = renewals(mixed, 3_000);
    assert!(spread * 4 < ascending && leaves > 100, "{spread} of {leaves} leaves");
}
