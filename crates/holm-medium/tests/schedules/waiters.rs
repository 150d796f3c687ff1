//! Waiters: the event that they wait for wakes them, and so do the storage's failure and its end; never too early, and
//! never not at all. A lost wake-up shows as a deadlock, which the scheduler reports.

use crate::clock;
use crate::explore::{caught, explore};
use holm_medium::{Clock, MediumError};
use shuttle::thread;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Ends epochs until stopped; `recorded` is what a medium would have made durable.
fn tick(clock: &Clock, recorded: &AtomicU64, early: bool) {
    while !clock.sleep(None) {
        let ended = clock.advance();
        if early {
            clock.publish(ended);
        }
        thread::yield_now();
        recorded.store(ended, Relaxed);
        if !early {
            clock.publish(ended);
        }
    }
}

fn waits(early: bool) {
    let (clock, recorded) = (clock(), AtomicU64::new(0));
    thread::scope(|scope| {
        let ticker = scope.spawn(|| tick(&clock, &recorded, early));
        let waiters = [(); 2].map(|()| {
            scope.spawn(|| {
                let epoch = clock.pin().expect("sound").epoch();
                clock.wait_durable(epoch).expect("sound");
                assert!(recorded.load(Relaxed) >= epoch, "woken before the epoch was durable");
                assert!(clock.durable() >= epoch, "woken for nothing");
            })
        });
        waiters.into_iter().for_each(|waiter| waiter.join().expect("no panic"));
        clock.stop();
        ticker.join().expect("no panic");
    });
}

#[test]
fn a_waiter_returns_once_its_epoch_is_durable() {
    explore(1_500, || waits(false));
}

#[test]
fn an_epoch_published_too_early_is_caught() {
    caught(1_500, "woken before the epoch was durable", || waits(true));
}

#[test]
fn poison_wakes_every_waiter_and_refuses_writers() {
    explore(1_500, || {
        let clock = clock();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let waited = clock.wait_durable(clock.active());
                    assert!(matches!(waited, Err(MediumError::Poisoned { .. })), "{waited:?}");
                });
            }
            scope.spawn(|| clock.poison(&MediumError::Unsupported { what: "a test's failure" }));
        });
        assert!(matches!(clock.pin().err(), Some(MediumError::Poisoned { .. })));
        assert!(clock.poisoned().is_some());
    });
}

#[test]
fn a_stop_wakes_waiters_and_the_timer_thread() {
    explore(1_500, || {
        let clock = clock();
        thread::scope(|scope| {
            scope.spawn(|| {
                let far = clock.active() + 3;
                if clock.wait_durable(far).is_ok() {
                    assert!(clock.durable() >= far, "the ticks came before the stop");
                }
            });
            scope.spawn(|| {
                while !clock.sleep(None) {
                    clock.publish(clock.advance());
                }
                // Not before: an epoch that has begun may be the last one, which a close makes durable.
                clock.end_waits();
            });
            scope.spawn(|| clock.stop());
        });
    });
}

#[test]
fn a_requested_tick_is_never_lost() {
    explore(1_500, || {
        let clock = clock();
        let start = clock.active();
        thread::scope(|scope| {
            let ticker = scope.spawn(|| {
                assert!(!clock.sleep(None));
                clock.publish(clock.advance());
            });
            clock.request_tick();
            ticker.join().expect("no panic");
        });
        assert_eq!(clock.durable(), start);
    });
}

/// A writer that is throttled waits under the same lock, and a clock that is shut admits nobody.
#[test]
fn an_end_for_good_wakes_writers_that_wait_for_room() {
    explore(1_500, || {
        let clock = clock();
        clock.limit(100);
        thread::scope(|scope| {
            scope.spawn(|| {
                // The second one waits for the end of the epoch of the first.
                for _ in 0..2 {
                    if let Err(refused) = clock.hold(100, 0) {
                        assert!(matches!(refused, MediumError::Poisoned { .. }), "{refused:?}");
                        return;
                    }
                }
            });
            // What it ends is published later, or never, if the disk refuses its record.
            scope.spawn(|| clock.shut("it was closed"));
        });
        assert!(clock.hold(1, 0).is_err(), "nobody is admitted");
    });
}
