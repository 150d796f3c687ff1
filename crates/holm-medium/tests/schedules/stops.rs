//! Stops: a batch that holds the clock sees one epoch, and an observer during a pause sees no writer inside.

use crate::clock;
use crate::explore::{caught, explore};
use holm_medium::{Area, Clock, LINE, LineSet};
use shuttle::thread;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

fn batch(holds: bool) {
    let clock = clock();
    let operate = || {
        let mut guard = clock.pin().expect("sound");
        if !guard.valid() {
            guard.repin().expect("an open clock");
        }
        guard.epoch()
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let _hold = holds.then(|| clock.hold(0, 1));
                let (first, last) = (operate(), operate());
                assert_eq!(first, last, "a batch saw two epochs");
            });
        }
        scope.spawn(|| (0..2).for_each(|_| clock.publish(clock.advance())));
        scope.spawn(|| clock.paused(|| ()));
    });
}

#[test]
fn a_batch_that_holds_sees_one_epoch() {
    explore(1_500, || batch(true));
}

#[test]
fn a_batch_that_does_not_hold_is_caught() {
    caught(1_500, "a batch saw two epochs", || batch(false));
}

/// How an observer looks at what writers are doing.
#[derive(Clone, Copy)]
enum Look {
    Paused,
    Stopped,
    Boldly,
}

fn look(clock: &Clock, look: Look, inside: &AtomicI32) {
    let nobody = || assert_eq!(inside.load(Relaxed), 0, "a writer is inside");
    match look {
        Look::Paused => clock.paused(nobody),
        Look::Stopped => {
            let ended = clock.advance_stopped(|_| nobody());
            clock.publish(ended);
        }
        Look::Boldly => nobody(),
    }
}

fn pauses(kind: Look) {
    let (clock, inside) = (clock(), AtomicI32::new(0));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..2 {
                    let mut guard = clock.pin().expect("sound");
                    inside.fetch_add(1, Relaxed);
                    clock.mark(guard.epoch(), LineSet::of(Area::Records.at(64) / LINE, 1));
                    while !guard.valid() {
                        // A writer that repins has released everything.
                        inside.fetch_sub(1, Relaxed);
                        guard.repin().expect("an open clock");
                        inside.fetch_add(1, Relaxed);
                    }
                    clock.mark(guard.epoch(), LineSet::of(Area::Records.at(128) / LINE, 1));
                    inside.fetch_sub(1, Relaxed);
                }
            });
        }
        scope.spawn(|| (0..2).for_each(|_| look(&clock, kind, &inside)));
    });
}

#[test]
fn an_observer_during_a_pause_sees_no_writer() {
    explore(1_500, || pauses(Look::Paused));
}

#[test]
fn a_copy_between_epochs_sees_no_writer() {
    explore(1_500, || pauses(Look::Stopped));
}

#[test]
fn an_observer_without_a_pause_is_caught() {
    caught(1_500, "a writer is inside", || pauses(Look::Boldly));
}

/// One thread ends epochs, another pauses, a batch holds the clock. All of them finish, and the clock has advanced once
/// per request.
#[test]
fn epoch_ends_pauses_and_batches_do_not_deadlock() {
    explore(1_500, || {
        let clock = clock();
        let start = clock.active();
        thread::scope(|scope| {
            scope.spawn(|| (0..2).for_each(|_| clock.publish(clock.advance())));
            scope.spawn(|| clock.paused(|| ()));
            scope.spawn(|| {
                let _hold = clock.hold(0, 1);
                drop(clock.pin().expect("sound"));
            });
            scope.spawn(|| drop(clock.pin().expect("sound")));
        });
        assert_eq!(clock.active(), start + 2);
        assert_eq!(clock.durable(), start + 1);
    });
}
