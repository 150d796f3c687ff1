//! Epochs that end in the middle of an operation: whatever the operation changes from then on has a new label, or is
//! left to a later one. Otherwise a recovery point could have the change without what came before it.

use crate::fixture;
use holm_medium::{Epoch, Guard, Mapped, StorageOps, Writer};
use holm_tree::leaf::KeyRange;
use holm_tree::{
    CommitObserver, CommitRequest, Committed, Conditional, Design, Index, RangeRemoval, Seen, TreeRoot, TreeSet,
    TreeWrite, Words, designs,
};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

const KEYS: u64 = 400;

struct Tree<D: Design> {
    writer: Arc<Writer<Mapped>>,
    tree_set: TreeSet<Mapped, D, Words>,
    root: TreeRoot,
}

/// Ends an epoch that an operation has pinned. New operations belong to the next one when this returns; the thread
/// ends when the operation has let go of its label.
fn end_under(writer: &Arc<Writer<Mapped>>, label: Epoch) -> JoinHandle<()> {
    let ending = writer.clone();
    let ends = thread::spawn(move || {
        ending.end_epoch().expect("sound");
    });
    while writer.clock().active() == label {
        thread::yield_now();
    }
    ends
}

/// Ends the epoch of a commit once its stores are done, if there is a writer.
struct After(Option<Arc<Writer<Mapped>>>, Option<JoinHandle<()>>);

impl CommitObserver for After {
    fn before_stores(&mut self, _: &Guard<'_>) {}
    fn after_stores(&mut self, guard: &Guard<'_>) {
        self.1 = self.0.as_ref().map(|writer| end_under(writer, guard.epoch()));
    }
}

impl<D: Design> Tree<D> {
    fn new() -> Self {
        let (writer, tree_set) = fixture::tree_set();
        let root = tree_set.create_tree(&mut writer.clock().pin().expect("sound"), 7).expect("memory");
        let tree = Tree { writer, tree_set, root };
        (0..KEYS).for_each(|key| tree.put(key));
        tree.end_epochs();
        tree
    }

    /// What gives way in an epoch can be used again two epochs later.
    fn end_epochs(&self) {
        for _ in 0..3 {
            self.writer.end_epoch().expect("sound");
        }
    }

    fn pin(&self) -> Guard<'_> {
        self.writer.clock().pin().expect("sound")
    }

    fn put(&self, key: u64) {
        self.tree_set.put(&self.root, &mut self.pin(), key, key).expect("memory");
    }

    fn remove(&self, key: u64) {
        self.tree_set.remove(&self.root, &mut self.pin(), key).expect("memory").expect("it is there");
    }

    fn leaves(&self) -> u64 {
        let audit = self.tree_set.audit(&self.root);
        assert_eq!(audit.faults, Vec::<String>::new());
        audit.leaves
    }

    /// A label whose epoch has ended.
    fn ended(&self) -> (Guard<'_>, JoinHandle<()>) {
        let guard = self.pin();
        let ends = end_under(&self.writer, guard.epoch());
        assert!(!guard.valid());
        (guard, ends)
    }

    /// Removes most keys in one commit, after which leaves are sparse.
    fn commit_removals(&self, ends: bool) {
        let write = |search_key| TreeWrite { root: &self.root, search_key, payload: None, seen: None };
        let writes: Vec<_> = (0..KEYS).filter(|key| key % 16 != 0).map(write).collect();
        let mut observer = After(ends.then(|| self.writer.clone()), None);
        let request = CommitRequest { reads: &[], writes: &writes, observer: &mut observer };
        let done = self.tree_set.commit(&mut self.pin(), request).expect("memory");
        assert!(matches!(done, Committed::Done(_)));
        observer.1.into_iter().for_each(|ended| ended.join().expect("no panic"));
    }

    /// Removes a range, in whose last leaf the epoch may end.
    fn remove_range(&self, ends: bool) {
        let (mut guard, mut ending, high) = (self.pin(), None, KEYS / 2);
        let label = guard.epoch();
        let removed = &mut |_, superseded: holm_tree::Superseded| {
            if ends && superseded.payload == high - 1 {
                ending = Some(end_under(&self.writer, label));
            }
        };
        let range = KeyRange { low: &0, high: Some(&high) };
        let request = RangeRemoval { range, most_leaves: usize::MAX, removed };
        assert_eq!(self.tree_set.remove_range(&self.root, &mut guard, request).expect("sound"), None);
        drop(guard);
        assert_eq!(ending.is_some(), ends);
        ending.into_iter().for_each(|ended| ended.join().expect("no panic"));
    }
}

fn merges_nothing<D: Design>() {
    let tree = Tree::<D>::new();
    let before = tree.leaves();
    tree.commit_removals(true);
    assert_eq!(tree.leaves(), before, "{}: merged under a label whose epoch has ended", D::NAME);
    let tree = Tree::<D>::new();
    tree.commit_removals(false);
    assert!(tree.leaves() < before, "{}: leaves can merge", D::NAME);
}

#[test]
fn leaves_do_not_merge_under_a_label_that_has_ended() {
    merges_nothing::<designs::buffered>();
    merges_nothing::<designs::holm>();
}

fn collapses_nothing<D: Design>() {
    let tree = Tree::<D>::new();
    let before = tree.leaves();
    tree.remove_range(true);
    assert_eq!(tree.leaves(), before, "{}: made one leaf under a label whose epoch has ended", D::NAME);
    // What has been left is made up for.
    (KEYS / 2..KEYS).for_each(|key| tree.remove(key));
    assert_eq!(tree.leaves(), 1, "{}", D::NAME);
    let tree = Tree::<D>::new();
    tree.remove_range(false);
    assert!(tree.leaves() < before, "{}: empty leaves can become one", D::NAME);
}

#[test]
fn empty_leaves_stay_under_a_label_that_has_ended() {
    collapses_nothing::<designs::buffered>();
    collapses_nothing::<designs::holm>();
}

fn takes_a_new_label<D: Design>() {
    let tree = Tree::<D>::new();
    // The leaf has room then.
    (4..10).for_each(|key| tree.remove(key));
    tree.end_epochs();
    let seen = |key| tree.tree_set.get(&tree.root, key).leaf_version;
    let (mut guard, ends) = tree.ended();
    let leaf = Seen { leaf: seen(3), others: &[], holds: None };
    let done = tree.tree_set.put_if_unchanged(&tree.root, &mut guard, leaf, 3, 1_000).expect("memory");
    assert!(matches!(done, Conditional::Done(Some(_))), "{}", D::NAME);
    assert_eq!(guard.epoch(), tree.writer.clock().active(), "{}: put under a label that has ended", D::NAME);
    assert_eq!(tree.tree_set.get(&tree.root, 3).stamp, guard.epoch(), "{}: the leaf's stamp", D::NAME);
    drop(guard);
    ends.join().expect("no panic");
}

#[test]
fn a_change_under_a_condition_takes_a_new_label() {
    takes_a_new_label::<designs::buffered>();
    takes_a_new_label::<designs::holm>();
}

fn frees_under_a_new_label<D: Design>() {
    let tree = Tree::<D>::new();
    tree.root.mark_dropped();
    let (mut guard, ends) = tree.ended();
    let mut freed = 0;
    tree.tree_set.drop_tree(&tree.root, &mut guard, &mut |_| freed += 1).expect("sound");
    assert_eq!(freed, KEYS, "{}", D::NAME);
    assert_eq!(guard.epoch(), tree.writer.clock().active(), "{}: freed under a label that has ended", D::NAME);
    drop(guard);
    ends.join().expect("no panic");
}

/// Its blocks would be reused one epoch early.
#[test]
fn a_tree_is_freed_under_a_new_label() {
    frees_under_a_new_label::<designs::buffered>();
    frees_under_a_new_label::<designs::holm>();
}

/// What a writer with a label that has ended tries in a tree that is dropped meanwhile.
type Attempt<D> = fn(&Tree<D>, &mut Guard<'_>) -> bool;

fn is_refused<D: Design>(what: &str, attempt: Attempt<D>) {
    let tree = Tree::<D>::new();
    let (mut guard, ends) = tree.ended();
    tree.root.mark_dropped();
    assert!(attempt(&tree, &mut guard), "{}: {what} of a dropped tree under a new label", D::NAME);
    drop(guard);
    ends.join().expect("no panic");
    assert_eq!(tree.root.pairs(), KEYS, "{}: {what}", D::NAME);
}

fn are_refused<D: Design>() {
    is_refused::<D>("a put", |tree, guard| tree.tree_set.put(&tree.root, guard, 3, 9).is_err());
    is_refused::<D>("a removal", |tree, guard| tree.tree_set.remove(&tree.root, guard, 3).is_err());
    is_refused::<D>("a change under a condition", |tree, guard| {
        let leaf = tree.tree_set.get(&tree.root, 3).leaf_version;
        let seen = Seen { leaf, others: &[], holds: None };
        tree.tree_set.put_if_unchanged(&tree.root, guard, seen, 3, 9).is_err()
    });
    is_refused::<D>("a removal of a range", |tree, guard| {
        let range = KeyRange { low: &0, high: Some(&9) };
        let request = RangeRemoval { range, most_leaves: usize::MAX, removed: &mut |_, _| () };
        tree.tree_set.remove_range(&tree.root, guard, request).is_err()
    });
    is_refused::<D>("a commit", |tree, guard| {
        let write = TreeWrite { root: &tree.root, search_key: 3, payload: Some(9), seen: None };
        let request = CommitRequest { reads: &[], writes: &[write], observer: &mut After(None, None) };
        tree.tree_set.commit(guard, request).is_err()
    });
}

/// The drop waits for the epochs of writers that may have missed its mark. A writer that moves on to another label is
/// in none of these, so it must look again, or it writes into blocks that are given to others.
#[test]
fn a_writer_of_a_dropped_tree_is_refused_under_a_new_label() {
    are_refused::<designs::buffered>();
    are_refused::<designs::holm>();
}
