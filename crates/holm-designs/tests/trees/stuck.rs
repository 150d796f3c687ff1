//! An operation that never ends keeps its epoch from becoming durable, but does not block reads and writes.

use crate::fixture::TreeFixture;
use holm_medium::{EpochTimer, FIRST_EPOCH, MediumError, Pace, Phase, StorageOps};
use std::num::NonZero;
use std::thread;
use std::time::Duration;

#[test]
fn others_read_and_write_beside_an_operation_that_is_stuck() {
    let fixture = TreeFixture::of_words("buffered");
    for key in 0..100 {
        fixture.put(key, key + 1);
    }
    let pace = Pace::every(Duration::from_millis(1));
    let timer = EpochTimer::start(fixture.writer.clone(), pace, NonZero::<usize>::MIN).expect("a thread");
    let stuck = fixture.writer.clock().pin().expect("sound");
    thread::scope(|scope| {
        scope.spawn(|| {
            let late = timer.sync_within(Duration::from_millis(20)).expect_err("somebody is in there");
            assert!(matches!(late, MediumError::Late { epoch, .. } if epoch >= stuck.epoch()), "{late}");
            let Phase::Waiting(waits) = timer.phase() else { panic!("{:?}", timer.phase()) };
            assert_eq!((waits.epoch, waits.operations), (stuck.epoch(), 1));
            for key in 0..200 {
                assert_eq!(fixture.get(key), Some(key + 1).filter(|_| key < 100));
                assert_eq!(fixture.put(key, key + 2), Some(key + 1).filter(|_| key < 100));
            }
        });
    });
    assert!(fixture.writer.clock().durable() + 1 >= FIRST_EPOCH && fixture.writer.clock().durable() < stuck.epoch());
    drop(stuck);
    timer.sync().expect("it goes on");
    assert_eq!(fixture.payloads().len(), 200);
}
