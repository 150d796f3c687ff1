//! An operation that never ends keeps its epoch from becoming durable, but does not block reads and writes.

use crate::grove::Grove;
use holm_medium::{FIRST_EPOCH, Ground, MediumError, Metronome, Pace, Phase};
use holm_tree::Words;
use std::num::NonZero;
use std::thread;
use std::time::Duration;

#[test]
fn others_read_and_write_beside_an_operation_that_is_stuck() {
    let grove = Grove::new("buffered", Words);
    for key in 0..100 {
        grove.put(key, key + 1);
    }
    let pace = Pace::every(Duration::from_millis(1));
    let metronome = Metronome::start(grove.quill.clone(), pace, NonZero::<usize>::MIN).expect("a thread");
    let stuck = grove.quill.clock().check_in().expect("sound");
    thread::scope(|scope| {
        scope.spawn(|| {
            let late = metronome.sync_within(Duration::from_millis(20)).expect_err("somebody is in there");
            assert!(matches!(late, MediumError::Late { epoch, .. } if epoch >= stuck.epoch()), "{late}");
            let Phase::Waiting(waits) = metronome.phase() else { panic!("{:?}", metronome.phase()) };
            assert_eq!((waits.epoch, waits.operations), (stuck.epoch(), 1));
            for key in 0..200 {
                assert_eq!(grove.get(key), Some(key + 1).filter(|_| key < 100));
                assert_eq!(grove.put(key, key + 2), Some(key + 1).filter(|_| key < 100));
            }
        });
    });
    assert!(grove.quill.clock().durable() + 1 >= FIRST_EPOCH && grove.quill.clock().durable() < stuck.epoch());
    drop(stuck);
    metronome.sync().expect("it goes on");
    assert_eq!(grove.payloads().len(), 200);
}
