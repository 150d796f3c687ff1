//! The admission gate: the bytes that open epochs must write stay within the limit and one operation, and no caller
//! waits for ever. A caller that is refused for lack of space gets an error, and is admitted later. A lost wake-up
//! shows as a deadlock. A wait that epoch ends do not finish shows as a model that takes too many steps.

use crate::explore::{caught, explore};
use crate::{clock, note};
use holm_medium::{Clock, Epoch, MediumError};
use shuttle::thread;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// More than the clock counts in batches, so that each operation counts at once.
const LARGE: u64 = 1 << 20;

/// Ends epochs on request.
fn tick(clock: &Clock, drains: bool) {
    while !clock.sleep(None) {
        let ended = clock.advance();
        if drains {
            clock.drain(ended, |_, _| {});
        }
        clock.publish(ended);
        // A caller that was admitted and has not yet pinned an epoch goes first, or epochs end in vain.
        thread::yield_now();
    }
}

fn bounded(limit: u64, drains: bool) {
    let (clock, written) = (clock(), Mutex::new(BTreeMap::<Epoch, u32>::new()));
    clock.limit(limit);
    thread::scope(|scope| {
        let ticker = scope.spawn(|| tick(&clock, drains));
        let writers = [false, false, true].map(|batch| {
            let (clock, written) = (&clock, &written);
            scope.spawn(move || {
                let held = batch.then(|| clock.hold(LARGE, 1).expect("sound"));
                let guard = match &held {
                    Some(held) => held.pin(),
                    None => clock.pin_with_bytes(LARGE),
                };
                let guard = guard.expect("sound");
                // The lock must not be held when the schedule moves on.
                *note(written).entry(guard.epoch()).or_default() += 1;
            })
        });
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        clock.stop();
        ticker.join().expect("no panic");
    });
    let most = note(&written).values().copied().max().unwrap_or(0);
    assert!(most <= 1, "{most} large operations in one epoch");
}

#[test]
fn one_large_operation_at_a_time() {
    explore(1_500, || bounded(LARGE, true));
}

#[test]
fn without_a_limit_epochs_grow() {
    caught(1_500, "large operations in one epoch", || bounded(u64::MAX, true));
}

#[test]
fn undrained_lines_block_writers_forever() {
    caught(1_500, "max_steps", || bounded(LARGE, false));
}

#[test]
fn refused_writers_get_an_error_and_are_admitted_later() {
    explore(1_500, || {
        let clock = clock();
        let full = MediumError::NoSpace { doing: "growing", path: "log.0".into() };
        thread::scope(|scope| {
            let writers = [(); 2].map(|()| {
                let clock = &clock;
                scope.spawn(move || match clock.pin() {
                    Ok(guard) => drop(guard),
                    Err(error) => assert!(error.is_no_space(), "{error}"),
                })
            });
            (0..3).for_each(|_| clock.refuse(&full));
            clock.accept();
            writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        });
        assert!(clock.pin().is_ok(), "accepted again");
    });
}
