//! A leaf's lines are marked dirty by its only writer, without a locked instruction: so a write handle must not outlive
//! the latch. Otherwise a line might never be written back, which few schedules of many threads show.

use super::bare::Bare;
use super::explore::explore;
use holm_medium::StorageOps;
use holm_tree::Index;
use shuttle::thread;

/// Two puts at once into one leaf, whose pairs go into different lines, or two removals.
fn two_writers(put: bool) {
    let bare = Bare::create(3);
    let Bare { writer, tree_set, root } = &bare;
    writer.end_epoch().expect("sound");
    thread::scope(|scope| {
        for key in if put { [10, 20] } else { [1, 2] } {
            let bare = &bare;
            scope.spawn(move || match put {
                true => tree_set.put(root, &mut bare.guard(), key, key).expect("room"),
                false => tree_set.remove(root, &mut bare.guard(), key).expect("sound"),
            });
        }
    });
    let mut lines = 0;
    writer.clock().drain(writer.clock().advance(), |_, count| lines += count);
    // The bitmap's line, and those of the fourth pair and the fifth.
    assert_eq!(lines, if put { 3 } else { 1 }, "lines that were written");
}

#[test]
fn lines_of_two_writers_of_a_leaf_are_written_back() {
    explore(400, || two_writers(true));
    explore(100, || two_writers(false));
}
