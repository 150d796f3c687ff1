//! The clock on real threads, for Miri: orderings that are too weak show only where stores may arrive late.

use holm_medium::{Area, Clock, FIRST_EPOCH, LINE, LineSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;

fn clock() -> Clock {
    Clock::new(FIRST_EPOCH, [1 << 14, 1 << 14])
}

/// A thread pins an epoch for the first time while the clock advances: its thread slot is new, and must still be seen.
#[test]
fn a_new_thread_slot_is_seen_by_an_advance() {
    for _ in 0..if cfg!(miri) { 20 } else { 300 } {
        let clock = clock();
        let (ended, left) = (AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                let guard = clock.pin().expect("sound");
                // Long enough for the other thread to end this epoch, if it does not wait as it should.
                let still_in = (0..100).map(|_| ended.load(Relaxed)).inspect(|_| thread::yield_now()).max();
                let still_in = still_in.unwrap_or_default();
                assert!(still_in < guard.epoch(), "epoch {still_in} ended with somebody in it");
                left.store(true, Relaxed);
                drop(guard);
            });
            scope.spawn(|| {
                let raised = clock.advance();
                // Each operation of the ended epoch has unpinned it, and that is visible.
                ended.store(raised, Relaxed);
                clock.publish(raised);
            });
        });
        assert!(left.into_inner());
    }
}

/// Marks are relaxed; the unpin and the thread slot publish them to the draining thread.
#[test]
fn marks_are_visible_after_the_unpin() {
    let (clock, records) = (clock(), Area::Records.at(0) / LINE);
    let ticks = if cfg!(miri) { 12 } else { 300 };
    let marked: Vec<AtomicU64> = (0..ticks + FIRST_EPOCH + 2).map(|_| AtomicU64::new(0)).collect();
    thread::scope(|scope| {
        for thread in 0..2 {
            let (clock, marked) = (&clock, &marked);
            scope.spawn(move || {
                while clock.active() < FIRST_EPOCH + ticks {
                    let guard = clock.pin().expect("sound");
                    // In the area where lines of different writers share a mask.
                    clock.mark(guard.epoch(), LineSet::of(records + thread * 2, 1));
                    marked[guard.epoch() as usize].fetch_or(1 << thread, Relaxed);
                    drop(guard);
                    thread::yield_now();
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..ticks {
                let ended = clock.advance();
                let mut drained = 0;
                clock.drain(ended, |first, _| drained |= 1 << ((first - records) / 2));
                assert_eq!(drained, marked[ended as usize].load(Relaxed), "the marks of epoch {ended}");
                clock.publish(ended);
            }
        });
    });
}

#[test]
fn waiters_wake() {
    let clock = clock();
    thread::scope(|scope| {
        let ticker = scope.spawn(|| {
            while !clock.sleep(None) {
                clock.publish(clock.advance());
            }
        });
        for _ in 0..3 {
            let epoch = clock.pin().expect("sound").epoch();
            clock.wait_durable(epoch).expect("sound");
            clock.paused(|| ());
        }
        clock.stop();
        ticker.join().expect("no panic");
    });
}
