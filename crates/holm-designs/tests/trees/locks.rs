//! Isle-Tree's lock array: leaves have no latches of their own, and a latch in their node covers several leaves. The
//! tree is the same, leaf by leaf, whatever leaves share.

use crate::fixture::{TreeFixture, mixed};
use crate::strict::readers_beside_writers;
use holm_designs::leaf::isle::Isle;
use holm_designs::look::ONE_BY_ONE;
use holm_medium::{FIRST_EPOCH, Flush, Mapped, MappedOptions, Storage, StorageOps};
use holm_search::Search;
use holm_tree::inner::Sorted;
use holm_tree::locks::{LockArray, Locks, PerLeaf};
use holm_tree::{Design, Index, Latch, TreeSet, Words};
use std::marker::PhantomData;
use std::sync::Arc;

/// Eight children per node.
struct Narrow<L>(PhantomData<L>);

impl<L: Locks> Design for Narrow<L> {
    const NAME: &'static str = "narrow";
    type Leaf = Isle<7, ONE_BY_ONE>;
    type LeafParent = Sorted<1, L>;
    type Upper = Sorted<1>;
}

fn create<L: Locks>() -> TreeFixture<Words> {
    TreeFixture::over(|writer| Box::new(TreeSet::<_, Narrow<L>, _>::new(writer, Words, Search::detect())))
}

/// The number of leaves after each of several steps: first many puts, and then many removals.
fn leaves(fixture: &TreeFixture<Words>) -> Vec<u64> {
    let count = || fixture.index.audit(&fixture.root).leaves;
    let put = (0..2_000).step_by(250).map(|from| {
        (from..from + 250).for_each(|i| assert_eq!(fixture.put(mixed(i), i), None));
        count()
    });
    let mut counts: Vec<_> = put.collect();
    counts.extend((0..2_000).step_by(250).map(|from| {
        (from..from + 250).for_each(|i| assert_eq!(fixture.remove(mixed(i)), Some(i)));
        count()
    }));
    counts
}

/// One lock for all leaves of a node: both halves of each split, and both leaves of each merge, share it. A writer that
/// waited for it twice would deadlock; one that tried it twice would never merge.
#[test]
fn leaves_that_share_a_lock_split_and_merge_as_others_do() {
    let apart = leaves(&create::<PerLeaf>());
    assert!(apart[7] > 8 * 8 && apart[15] < apart[7] / 4, "nodes split, leaves merge: {apart:?}");
    assert_eq!(leaves(&create::<LockArray<1>>()), apart);
    assert_eq!(leaves(&create::<LockArray<2>>()), apart);
    assert_eq!(leaves(&create::<LockArray<8>>()), apart);
}

#[test]
fn readers_beside_writers_of_the_same_lock_see_what_is_there() {
    readers_beside_writers(&create::<LockArray<1>>());
    readers_beside_writers(&create::<LockArray<8>>());
}

/// Known bug: a lock array that a node's split does not take.
#[derive(Default)]
struct Forgotten(LockArray<64>);

impl Locks for Forgotten {
    const IN_NODE: bool = true;
    type Own = ();
    fn own((): &()) -> Option<&Latch> {
        None
    }
    fn of<'a>(&'a self, own: &'a (), number: u32) -> &'a Latch {
        self.0.of(own, number)
    }
}

/// The number of lookups that still validate although their leaves have changed. Of eight leaves under one node, the
/// last one splits, and so does the node; then every pair is updated.
fn outlived<L: Locks>() -> usize {
    let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
    let writer = Arc::new(Storage::open(Mapped::heap(64 << 10, 4 << 10, options), FIRST_EPOCH).expect("memory"));
    let tree_set = TreeSet::<_, Narrow<L>, _>::new(writer.clone(), Words, Search::detect());
    let guard = || writer.clock().pin().expect("sound");
    let root = tree_set.create_tree(&mut guard(), 1).expect("memory");
    let put = |key: u64, payload: u64| _ = tree_set.put(&root, &mut guard(), key, payload).expect("memory");
    let keys = 7 * 14 + 28;
    (0..keys).for_each(|key| put(key, 1));
    assert_eq!((tree_set.fills(&root), tree_set.height(&root)), (vec![8], 1));
    let leaf_version: Vec<_> = (0..keys).map(|key| tree_set.get(&root, key).leaf_version).collect();
    assert!(leaf_version.iter().all(|leaf_version| tree_set.validate(*leaf_version)));
    put(keys, 1);
    assert_eq!((tree_set.fills(&root), tree_set.height(&root)), (vec![4, 5], 2));
    (0..keys).for_each(|key| put(key, 2));
    leaf_version.into_iter().filter(|leaf_version| tree_set.validate(*leaf_version)).count()
}

#[test]
fn a_lookup_does_not_validate_when_the_lock_has_moved() {
    assert_eq!(outlived::<LockArray<64>>(), 0);
    assert_eq!(outlived::<LockArray<1>>(), 0);
    assert_eq!(outlived::<PerLeaf>(), 0);
    assert!(outlived::<Forgotten>() > 0, "a node that splits without its locks is caught");
}
