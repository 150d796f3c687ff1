//! The latch: a reader that validates its version never sees two words torn that were written under the latch, and no
//! two writers are inside at once.

use crate::explore::{caught, explore};
use holm_tree::Latch;
use shuttle::hint::spin_loop;
use shuttle::sync::atomic::{AtomicU64, Ordering::Relaxed};
use shuttle::thread;

#[derive(Default)]
struct Guarded {
    latch: Latch,
    words: [AtomicU64; 2],
}

/// What a user of the latch does wrong, if anything.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// The reader uses what it read without validation.
    Believes,
    /// The writer unlocks as if it had written nothing.
    Undoes,
    /// The writer does not take the latch.
    Barges,
}

/// Increments both words.
fn write(guarded: &Guarded, fault: Fault) {
    let held = loop {
        let held = guarded.latch.read().and_then(|version| guarded.latch.try_lock(version));
        match held {
            Some(_) => break held,
            None if fault == Fault::Barges => break None,
            None => spin_loop(),
        }
    };
    for word in &guarded.words {
        word.store(word.load(Relaxed) + 1, Relaxed);
    }
    if let Some(held) = held
        && fault == Fault::Undoes
    {
        held.unlock_unchanged();
    }
}

/// Reads both words as they were at one instant.
fn read(guarded: &Guarded, fault: Fault) -> [u64; 2] {
    loop {
        if let Some(version) = guarded.latch.read() {
            let words = [0, 1].map(|index| guarded.words[index].load(Relaxed));
            if fault == Fault::Believes || guarded.latch.validate(version) {
                return words;
            }
        }
        spin_loop();
    }
}

fn pairs(fault: Fault) {
    let guarded = Guarded::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..2).for_each(|_| write(&guarded, fault)));
        }
        // Beside writers that do not take the latch, a reader sees any values; the test counts the lost write.
        if fault == Fault::Barges {
            return;
        }
        scope.spawn(|| {
            let mut last = 0;
            for _ in 0..2 {
                let [first, second] = read(&guarded, fault);
                assert_eq!(first, second, "a torn pair");
                assert!(first >= last, "time runs backwards");
                last = first;
            }
        });
    });
    assert_eq!(read(&guarded, Fault::None), [4, 4], "a write is lost");
}

#[test]
fn a_reader_that_validates_sees_no_torn_pair() {
    explore(3_000, || pairs(Fault::None));
}

#[test]
fn a_reader_that_does_not_validate_is_caught() {
    caught(3_000, "a torn pair", || pairs(Fault::Believes));
}

#[test]
fn a_writer_that_unlocks_as_unchanged_is_caught() {
    caught(3_000, "a torn pair", || pairs(Fault::Undoes));
}

#[test]
fn a_writer_without_the_latch_is_caught() {
    caught(3_000, "a write is lost", || pairs(Fault::Barges));
}

/// A writer that takes the latch at a version finds the state that it saw at that version.
#[test]
fn a_lock_at_a_version_finds_the_state_that_was_seen() {
    explore(3_000, || {
        let guarded = Guarded::default();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    loop {
                        let Some(version) = guarded.latch.read() else {
                            spin_loop();
                            continue;
                        };
                        let before = guarded.words[0].load(Relaxed);
                        let Some(held) = guarded.latch.try_lock(version) else { continue };
                        assert!(held.holds(&guarded.latch));
                        assert_eq!(guarded.words[0].load(Relaxed), before, "changed since it was seen");
                        guarded.words[0].store(before + 1, Relaxed);
                        return;
                    }
                });
            }
        });
        assert_eq!(guarded.words[0].load(Relaxed), 3);
    });
}
