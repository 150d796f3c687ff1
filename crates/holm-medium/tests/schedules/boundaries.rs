//! Snapshots between two epochs: an operation belongs to the snapshot if it belongs to the epoch that ends.

use crate::explore::{caught, explore};
use crate::{clock, note};
use holm_medium::{Clock, Epoch};
use shuttle::sync::Mutex;
use shuttle::thread;
use std::sync::Arc;

/// The epoch and the generation under which an operation took effect. The lock of their list is the operations' latch.
type Effect = (Epoch, u64);

fn write(clock: &Clock, effects: &Mutex<Vec<Effect>>) {
    let mut guard = clock.pin().expect("open");
    let mut effects = loop {
        let held = effects.lock().expect("no panic");
        if guard.valid() {
            break held;
        }
        drop(held);
        guard.repin().expect("open");
    };
    effects.push((guard.epoch(), guard.generation()));
}

/// Ends an epoch whenever a thread waits for it.
fn tick(clock: &Clock) {
    while !clock.sleep(None) {
        let ended = clock.advance();
        clock.drain(ended, |_, _| {});
        clock.publish(ended);
    }
}

fn boundaries(within: bool) {
    let (clock, effects) = (clock(), Mutex::new(Vec::new()));
    let mut begun = vec![];
    thread::scope(|scope| {
        let ticker = scope.spawn(|| tick(&clock));
        let writers = [(); 2].map(|()| scope.spawn(|| (0..4).for_each(|_| write(&clock, &effects))));
        for _ in 0..2 {
            let generations = Arc::new(std::sync::Mutex::new(vec![]));
            let said = generations.clone();
            let begin = move |generation| note(&said).push(generation);
            let (generation, epoch) =
                if within { clock.begin_snapshot(begin) } else { clock.begin_snapshot_between_epochs(begin) }
                    .expect("open");
            assert_eq!(*note(&generations), [generation], "no writer has seen it before");
            assert!(within || clock.durable() >= epoch, "it is durable");
            begun.push((generation, epoch));
        }
        writers.into_iter().for_each(|writer| writer.join().expect("no panic"));
        clock.stop();
        ticker.join().expect("no panic");
    });
    for (generation, epoch) in begun {
        for effect in &*effects.lock().expect("no panic") {
            assert_eq!(effect.0 <= epoch, effect.1 < generation, "{effect:?}, {generation} at the end of {epoch}");
        }
    }
}

#[test]
fn a_snapshot_between_two_epochs_has_the_first_and_nothing_of_the_second() {
    explore(1_500, || boundaries(false));
}

#[test]
fn a_snapshot_within_an_epoch_is_caught() {
    caught(1_500, "at the end of", || boundaries(true));
}

/// The clock is shut while a thread asks for a snapshot: it gets one, or an error, and does not hang.
#[test]
fn a_clock_that_is_shut_leaves_no_request() {
    explore(1_500, || {
        let clock = clock();
        thread::scope(|scope| {
            let asking = scope.spawn(|| clock.begin_snapshot_between_epochs(|_| ()).is_ok());
            scope.spawn(|| {
                tick(&clock);
                clock.publish(clock.shut("it was closed"));
            });
            scope.spawn(|| clock.stop());
            let _ = asking.join().expect("no panic");
        });
    });
}
