//! A tree is dropped beside a writer that may move on to another label. The dropping thread marks the tree as dropped,
//! waits for the current epoch, and releases its leaves for reuse. By then no late writer may still be on its way into
//! them. Until then, a reader that has asked to keep the leaves reads all of them.

use super::bare::Bare;
use super::explore::{caught, explore};
use holm_medium::StorageOps;
use holm_tree::leaf::Leaf;
use holm_tree::{Design, Index, LeafCursor, SeekTarget, designs};
use shuttle::sync::atomic::{AtomicBool, Ordering::SeqCst};
use shuttle::thread;

/// One leaf with room, and one that must split.
const SHAPES: [u64; 2] = [3, <designs::buffered as Design>::Leaf::CAPACITY as u64];

/// What the writer does when its label is no longer the active epoch.
#[derive(Clone, Copy, PartialEq)]
enum Moves {
    /// Leaves it to the tree to repin, and to check.
    WithTree,
    /// The same, and begins only then.
    WithTreeLate,
    /// Repins by itself, and does not check.
    Alone,
}

fn give_up(pairs: u64, moves: Moves) {
    let bare = Bare::create(pairs);
    let Bare { writer, tree_set, root } = &bare;
    let gone = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = bare.guard();
            if root.is_dropped() {
                return;
            }
            while moves != Moves::WithTree && guard.valid() {
                thread::yield_now();
            }
            if moves == Moves::Alone {
                guard.repin().expect("an open clock");
            }
            match tree_set.put(root, &mut guard, pairs + 1, 0) {
                Ok(_) => assert!(!gone.load(SeqCst), "written to a tree whose leaves are given to others"),
                Err(error) => assert!(root.is_dropped(), "{error}"),
            }
        });
        root.mark_dropped();
        let label = writer.clock().active();
        while writer.clock().durable() < label {
            writer.end_epoch().expect("sound");
        }
        gone.store(true, SeqCst);
        tree_set.drop_tree(root, &mut bare.guard(), &mut |_| ()).expect("sound");
    });
}

#[test]
fn no_writer_changes_a_dropped_tree() {
    for moves in [Moves::WithTree, Moves::WithTreeLate] {
        SHAPES.into_iter().for_each(|pairs| explore(400, move || give_up(pairs, moves)));
    }
}

#[test]
fn a_writer_that_repins_without_a_check_is_caught() {
    SHAPES.into_iter().for_each(|pairs| caught(400, "written to a tree", move || give_up(pairs, Moves::Alone)));
}

/// Reads a snapshot of a tree that is dropped meanwhile and not freed, beside a writer that had begun before. A reader
/// that met the writer's latch and the mark gave up, as if the leaf were empty.
fn read_on(pairs: u64) {
    let bare = Bare::create(pairs);
    let Bare { tree_set, root, .. } = &bare;
    let generation = tree_set.begin_snapshot().expect("open").0;
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut guard = bare.guard();
            if !root.is_dropped() {
                drop(tree_set.put(root, &mut guard, pairs + 1, 0));
            }
        });
        scope.spawn(|| root.mark_dropped());
        let mut cursor = LeafCursor::default();
        tree_set.copy_leaf_at(root, generation, SeekTarget::Holding(1), &mut cursor);
        assert_eq!(cursor.pairs.len() as u64, pairs, "the snapshot has one leaf");
        for key in [1, pairs] {
            assert_eq!(tree_set.get_at(root, generation, key).lookup.payload, Some(key));
            assert_eq!(tree_set.get(root, key).payload, Some(key));
        }
    });
    tree_set.close_snapshot(generation);
}

#[test]
fn a_dropped_tree_is_read_until_it_is_freed() {
    SHAPES.into_iter().for_each(|pairs| explore(400, move || read_on(pairs)));
}
