//! Labels: every mark is drained with its own epoch, no operation is left in an epoch that has ended, and labels rise
//! along the order in which latches are taken.

use crate::explore::{caught, explore};
use crate::{clock, note};
use holm_medium::{Area, Clock, Epoch, LINE, LineSet};
use shuttle::thread;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

#[derive(Default)]
struct Ledger {
    inside: BTreeMap<Epoch, u32>,
    marked: BTreeMap<Epoch, BTreeSet<u64>>,
    next: u64,
}

/// What a writer does wrong, if anything.
#[derive(Clone, Copy, PartialEq)]
enum Writer {
    Sound,
    MarksAfterCheckingOut,
    LabelsAsBefore,
}

/// The area where lines of different writers share masks.
fn records() -> u64 {
    Area::Records.at(0) / LINE
}

fn write(clock: &Clock, ledger: &Mutex<Ledger>, writer: Writer) {
    let guard = clock.pin().expect("sound");
    let epoch = guard.epoch();
    *note(ledger).inside.entry(epoch).or_default() += 1;
    for _ in 0..2 {
        let line = {
            let mut ledger = note(ledger);
            ledger.next += 1;
            let line = records() + ledger.next * 3;
            ledger.marked.entry(epoch).or_default().insert(line);
            line
        };
        match writer {
            Writer::Sound => clock.mark(guard.epoch(), LineSet::of(line, 1)),
            Writer::LabelsAsBefore => clock.mark(epoch - 1, LineSet::of(line, 1)),
            Writer::MarksAfterCheckingOut => {}
        }
    }
    *note(ledger).inside.entry(epoch).or_default() -= 1;
    drop(guard);
    if writer == Writer::MarksAfterCheckingOut {
        let line = records() + note(ledger).next * 3;
        clock.mark(epoch, LineSet::of(line, 1));
    }
}

fn tick(clock: &Clock, ledger: &Mutex<Ledger>) {
    let ended = clock.advance();
    let inside = note(ledger).inside.get(&ended).copied().unwrap_or_default();
    assert_eq!(inside, 0, "somebody is still in the ended epoch {ended}");
    let mut drained = BTreeSet::new();
    clock.drain(ended, |first, count| drained.extend(first..first + count));
    let marked = note(ledger).marked.remove(&ended).unwrap_or_default();
    assert_eq!(drained, marked, "the marks of epoch {ended}");
    clock.publish(ended);
}

fn marks(writer: Writer) {
    let (clock, ledger) = (clock(), Mutex::default());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..2).for_each(|_| write(&clock, &ledger, writer)));
        }
        scope.spawn(|| (0..3).for_each(|_| tick(&clock, &ledger)));
    });
    (0..2).for_each(|_| tick(&clock, &ledger));
    assert!(note(&ledger).marked.is_empty(), "marks that no epoch drained");
}

#[test]
fn drain_returns_each_dirty_line_with_its_own_epoch() {
    explore(1_500, || marks(Writer::Sound));
}

#[test]
fn a_mark_after_the_unpin_is_caught() {
    caught(1_500, "the marks of epoch", || marks(Writer::MarksAfterCheckingOut));
}

#[test]
fn a_mark_under_another_label_is_caught() {
    caught(1_500, "the marks of epoch", || marks(Writer::LabelsAsBefore));
}

/// Two writers of one leaf, whose lines share a mask: only the latch keeps them apart. Here the latch is a lock.
fn leaf(lets_go_first: bool) {
    let clock = clock();
    let latch = shuttle::sync::Mutex::new(());
    let write = |line| {
        let guard = clock.pin().expect("sound");
        let held = latch.lock().expect("no panic");
        if lets_go_first {
            drop(held);
        }
        clock.mark(guard.epoch(), LineSet::of(line, 1));
    };
    thread::scope(|scope| [5, 6].into_iter().for_each(|line| _ = scope.spawn(move || write(line))));
    let mut drained = vec![];
    clock.drain(clock.advance(), |first, count| drained.extend(first..first + count));
    assert_eq!(drained, [5, 6], "the marks of a leaf");
}

#[test]
fn a_leaf_is_marked_under_its_latch() {
    explore(1_500, || leaf(false));
}

#[test]
fn a_write_handle_that_outlives_the_latch_is_caught() {
    caught(1_500, "the marks of a leaf", || leaf(true));
}

/// Lock, then validate: labels must rise in the order in which a latch was taken. Here the latch is a lock.
fn order(validates: bool) {
    let clock = clock();
    let taken = shuttle::sync::Mutex::new(Vec::new());
    let write = || {
        let mut guard = clock.pin().expect("sound");
        loop {
            let mut taken = taken.lock().expect("no panic");
            if !validates || guard.valid() {
                taken.push(guard.epoch());
                return;
            }
            drop(taken);
            guard.repin().expect("an open clock");
        }
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..2).for_each(|_| write()));
        }
        scope.spawn(|| (0..2).for_each(|_| clock.publish(clock.advance())));
    });
    let taken = taken.lock().expect("no panic");
    assert!(taken.is_sorted(), "labels fall along the order of latches: {taken:?}");
}

#[test]
fn labels_rise_along_the_order_of_latches() {
    explore(1_500, || order(true));
}

#[test]
fn a_writer_that_does_not_validate_is_caught() {
    caught(1_500, "labels fall", || order(false));
}
