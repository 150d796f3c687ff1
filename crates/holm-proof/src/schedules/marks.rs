//! What is marked of a leaf is marked by its only writer, without a locked instruction: so a pen must not outlive the
//! latch. What that would lose is a line that is never written back, which few schedules of a whole crowd show.

use super::explore::explore;
use holm_medium::{FIRST_EPOCH, Flush, Ground, Mapped, MappedOptions, Pool};
use holm_search::Search;
use holm_tree::{Forest, Index, Words, designs};
use shuttle::thread;
use std::sync::Arc;

/// Two puts at once into one leaf, whose pairs go into different lines, or two removals.
fn two_writers(put: bool) {
    let options = MappedOptions { flush: Flush::Nothing, ..MappedOptions::default() };
    let quill = Arc::new(Pool::open(Mapped::heap(16 * 512, 64, options), FIRST_EPOCH).expect("memory"));
    let forest = Forest::<Mapped, designs::buffered, Words>::new(quill.clone(), Words, Search::portable());
    let stay = || quill.clock().check_in().expect("sound");
    let root = forest.plant(&mut stay(), 1).expect("room");
    let write = |key: u64, put: bool| match put {
        true => forest.put(&root, &mut stay(), key, key, None).expect("room"),
        false => forest.remove(&root, &mut stay(), key, None).expect("sound"),
    };
    (1..=3).for_each(|key| _ = write(key, true));
    quill.advance().expect("sound");
    thread::scope(|scope| {
        for key in if put { [10, 20] } else { [1, 2] } {
            let write = &write;
            scope.spawn(move || write(key, put));
        }
    });
    let mut lines = 0;
    quill.clock().drain(quill.clock().raise(), |_, count| lines += count);
    // That of the bitmap, and of the fourth pair and the fifth.
    assert_eq!(lines, if put { 3 } else { 1 }, "lines that were written");
}

#[test]
fn what_two_writers_of_a_leaf_have_written_is_written_back() {
    explore(400, || two_writers(true));
    explore(100, || two_writers(false));
}
