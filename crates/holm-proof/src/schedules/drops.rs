//! A tree is dropped beside a writer that may move on to another label. The dropping thread marks the tree as dropped,
//! waits for the current epoch, and releases its leaves for reuse. By then no late writer may still be on its way into
//! them.

use super::bare::Bare;
use super::explore::{caught, explore};
use holm_medium::Ground;
use holm_tree::leaf::Leaf;
use holm_tree::{Design, Index, designs};
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
    let bare = Bare::plant(pairs);
    let Bare { quill, forest, root } = &bare;
    let gone = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stay = bare.stay();
            if root.is_given_up() {
                return;
            }
            while moves != Moves::WithTree && stay.valid() {
                thread::yield_now();
            }
            if moves == Moves::Alone {
                stay.renew().expect("an open clock");
            }
            match forest.put(root, &mut stay, pairs + 1, 0, None) {
                Ok(_) => assert!(!gone.load(SeqCst), "written to a tree whose leaves are given to others"),
                Err(error) => assert!(root.is_given_up(), "{error}"),
            }
        });
        root.give_up();
        let label = quill.clock().active();
        while quill.clock().durable() < label {
            quill.advance().expect("sound");
        }
        gone.store(true, SeqCst);
        forest.uproot(root, &mut bare.stay(), &mut |_| ()).expect("sound");
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
