//! Changes that apply only if leaves are as they were read: what counts as changed, and what does not.

use crate::fixture;
use holm_medium::{Guard, Mapped, StorageOps, Writer};
use holm_tree::{
    Conditional, Design, Index, LeafVersion, Lookup, Reuse, SeekTarget, Seen, Superseded, TreeRoot, TreeSet, Words,
    designs,
};
use std::sync::Arc;

struct Tree<D: Design> {
    writer: Arc<Writer<Mapped>>,
    tree_set: TreeSet<Mapped, D, Words>,
    root: TreeRoot,
}

impl<D: Design> Tree<D> {
    /// Keys from 10 on in steps of ten.
    fn with(count: u64) -> Self {
        let (writer, tree_set) = fixture::tree_set();
        let root = tree_set.create_tree(&mut writer.clock().pin().expect("sound"), 7).expect("memory");
        let tree = Tree { writer, tree_set, root };
        for key in 1..=count {
            tree.put(key * 10, key);
        }
        tree
    }

    fn pin(&self) -> Guard<'_> {
        self.writer.clock().pin().expect("sound")
    }

    fn put(&self, key: u64, payload: u64) -> Option<Superseded> {
        self.tree_set.put(&self.root, &mut self.pin(), key, payload).expect("memory")
    }

    fn remove(&self, key: u64) -> Option<Superseded> {
        self.tree_set.remove(&self.root, &mut self.pin(), key).expect("memory")
    }

    fn get(&self, key: u64) -> Lookup {
        self.tree_set.get(&self.root, key)
    }

    fn put_if(&self, seen: LeafVersion, others: &[LeafVersion], key: u64) -> Conditional {
        let seen = Seen { leaf: seen, others, holds: None };
        self.tree_set.put_if_unchanged(&self.root, &mut self.pin(), seen, key, 1_000 + key).expect("memory")
    }

    fn remove_if(&self, seen: LeafVersion, others: &[LeafVersion], key: u64) -> Conditional {
        let seen = Seen { leaf: seen, others, holds: None };
        self.tree_set.remove_if_unchanged(&self.root, &mut self.pin(), seen, key).expect("memory")
    }
}

const NEW: Conditional = Conditional::Done(None);

fn both(test: impl Fn(&dyn Fn(u64) -> Box<dyn AnyTree>)) {
    test(&|count| Box::new(Tree::<designs::buffered>::with(count)));
    test(&|count| Box::new(Tree::<designs::holm>::with(count)));
}

/// A tree of any design.
trait AnyTree {
    fn put(&self, key: u64, payload: u64) -> Option<Superseded>;
    fn remove(&self, key: u64) -> Option<Superseded>;
    fn get(&self, key: u64) -> Lookup;
    fn put_if(&self, seen: LeafVersion, others: &[LeafVersion], key: u64) -> Conditional;
    fn remove_if(&self, seen: LeafVersion, others: &[LeafVersion], key: u64) -> Conditional;
    fn tick(&self);
    fn pairs(&self) -> u64;
    fn faults(&self) -> Vec<String>;
    fn first(&self) -> LeafVersion;
}

impl<D: Design> AnyTree for Tree<D> {
    fn put(&self, key: u64, payload: u64) -> Option<Superseded> {
        Tree::put(self, key, payload)
    }
    fn remove(&self, key: u64) -> Option<Superseded> {
        Tree::remove(self, key)
    }
    fn get(&self, key: u64) -> Lookup {
        Tree::get(self, key)
    }
    fn put_if(&self, seen: LeafVersion, others: &[LeafVersion], key: u64) -> Conditional {
        Tree::put_if(self, seen, others, key)
    }
    fn remove_if(&self, seen: LeafVersion, others: &[LeafVersion], key: u64) -> Conditional {
        Tree::remove_if(self, seen, others, key)
    }
    fn tick(&self) {
        self.writer.end_epoch().expect("sound");
    }
    fn pairs(&self) -> u64 {
        self.root.pairs()
    }
    fn faults(&self) -> Vec<String> {
        self.tree_set.audit(&self.root).faults
    }
    fn first(&self) -> LeafVersion {
        self.tree_set.cursor_at(&self.root, SeekTarget::Holding(0)).leaf_version
    }
}

#[test]
fn a_change_applies_to_the_leaf_as_it_was_read() {
    both(|with| {
        let tree = with(5);
        let seen = tree.get(15).leaf_version;
        assert_eq!(tree.put_if(seen, &[], 15), NEW);
        assert_eq!(tree.put_if(seen, &[], 16), Conditional::Conflict, "its own change counts");
        let seen = tree.get(15).leaf_version;
        let old = Superseded { payload: 1_015, reuse: Reuse::AtOnce };
        assert_eq!(tree.put_if(seen, &[seen], 15), Conditional::Done(Some(old)), "a leaf may stand for itself");
        let seen = tree.get(15).leaf_version;
        tree.tick();
        assert_eq!(
            tree.remove_if(seen, &[], 15),
            Conditional::Done(Some(Superseded { reuse: Reuse::AfterGrace, ..old }))
        );
        assert_eq!((tree.pairs(), tree.faults()), (5, vec![]));
    });
}

#[test]
fn a_change_of_a_neighbouring_key_counts() {
    both(|with| {
        let tree = with(5);
        for change in 0..3 {
            let seen = tree.get(15).leaf_version;
            let _old = match change {
                0 => tree.put(20, 7),
                1 => tree.put(25, 7),
                _ => tree.remove(25),
            };
            assert_eq!(tree.put_if(seen, &[], 15), Conditional::Conflict);
            assert_eq!(tree.remove_if(seen, &[], 20), Conditional::Conflict);
        }
        assert_eq!((tree.get(15).payload, tree.get(20).payload), (None, Some(7)));
    });
}

/// A reader that passed over a leaf: what arrives there afterwards makes its answer wrong.
#[test]
fn a_change_of_another_leaf_counts_if_the_answer_depended_on_it() {
    both(|with| {
        let tree = with(400);
        let (passed, seen) = (tree.first(), tree.get(3_000).leaf_version);
        assert_ne!(passed.leaf(), seen.leaf());
        assert!(matches!(tree.remove_if(seen, &[passed], 3_000), Conditional::Done(Some(_))));
        assert_eq!(tree.put_if(tree.get(3_000).leaf_version, &[passed], 3_000), NEW);
        let seen = tree.get(3_000).leaf_version;
        tree.put(5, 5);
        assert_eq!(tree.remove_if(seen, &[passed], 3_000), Conditional::Conflict);
        assert_eq!(tree.put_if(seen, &[tree.first(), passed], 3_002), Conditional::Conflict);
        assert!(matches!(tree.remove_if(seen, &[tree.first()], 3_000), Conditional::Done(Some(_))));
        assert_eq!(tree.faults(), Vec::<String>::new());
    });
}

#[test]
fn a_full_leaf_makes_room_and_is_read_again() {
    both(|with| {
        let tree = with(1);
        let (mut moved, mut put) = (0, 0);
        for key in 0..500 {
            let key = key * 7 % 500 + 10_000;
            loop {
                match tree.put_if(tree.get(key).leaf_version, &[], key) {
                    Conditional::Done(old) => break assert_eq!(old, None),
                    Conditional::Conflict => moved += 1,
                }
            }
            put += 1;
        }
        assert!(moved > 10 && moved < put / 5, "{moved} splits");
        assert_eq!((tree.pairs(), tree.faults()), (501, vec![]));
    });
}

/// A lookup in a dropped tree names no leaf.
#[test]
fn no_leaf_is_never_unchanged() {
    both(|with| {
        let tree = with(3);
        assert_eq!(tree.put_if(LeafVersion::default(), &[], 15), Conditional::Conflict);
        assert_eq!(tree.remove_if(LeafVersion::default(), &[], 10), Conditional::Conflict);
    });
}

#[test]
fn what_else_must_hold_is_asked_once_nobody_can_change_the_leaf() {
    let tree = Tree::<designs::buffered>::with(3);
    let seen = tree.get(20).leaf_version;
    let asked = std::cell::Cell::new(0);
    let put = |leaf, holds: bool| {
        let holds = || {
            asked.set(asked.get() + 1);
            // The latch is taken, so what was read is no longer valid for a reader.
            assert!(!tree.tree_set.validate(leaf));
            holds
        };
        let seen = Seen { leaf, others: &[], holds: Some(&holds) };
        tree.tree_set.put_if_unchanged(&tree.root, &mut tree.pin(), seen, 25, 25).expect("memory")
    };
    assert_eq!(put(seen, false), Conditional::Conflict);
    assert!(tree.get(25).payload.is_none() && tree.tree_set.validate(seen), "nothing has changed");
    assert_eq!((put(seen, true), tree.get(25).payload), (NEW, Some(25)));
    assert_eq!(put(seen, true), Conditional::Conflict, "the leaf has changed");
    assert_eq!(asked.get(), 2, "only of a leaf that is as it was");
}
