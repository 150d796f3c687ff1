//! Ends of sessions that once went wrong, each told as a story of its own.

use crate::history::{Change, History, Mode, Session, contents};
use holm::{Durability, Found};
use holm_proof::disk::{Fault, Kind, SimDisk};

fn put(key: u32, len: usize) -> Vec<Change> {
    vec![(0, key.to_be_bytes().to_vec(), Some(vec![key as u8; len]))]
}

fn on_sync(private: bool) -> Mode {
    Mode { private, durability: Durability::OnSync }
}

fn begin(disk: &SimDisk, mode: Mode) -> Session {
    let db = mode.open(disk).expect("a sound disk");
    let before = contents(&db, "at the beginning");
    Session::begin(db, mode, before).expect("a sound disk")
}

fn reopened(disk: &SimDisk, mode: Mode, history: &History) -> Found {
    let db = mode.open(disk).expect("a sound disk");
    history.expect(&contents(&db, "afterwards"), "afterwards");
    db.recovery().found.clone()
}

/// A leaf born of a split has no older states, but its pairs are old all the same: their records may not be written
/// over in the epoch of the split.
#[test]
fn a_record_carried_by_a_split_is_not_young() {
    let disk = SimDisk::new();
    let mut session = begin(&disk, on_sync(false));
    (0..28).for_each(|key| session.step(put(key, 16)));
    // Closed in between: what lies in the log only would be restored.
    session.db.clone().close().expect("a sound disk");
    drop(session);
    let mut session = begin(&disk, on_sync(false));
    session.step(put(100, 16));
    for key in 0..28 {
        session.step(vec![(0, u32::to_be_bytes(key).to_vec(), None)]);
        session.step(put(200 + key, 16));
    }
    disk.write_back(1, 1);
    let history = session.history();
    reopened(&disk.crash_keeping_all(), on_sync(false), &history);
}

/// The last epoch's record may open the other half of the log. Closing must then empty both.
#[test]
fn closing_when_the_log_has_just_changed_halves() {
    for private in [false, true] {
        let disk = SimDisk::new();
        let mut session = begin(&disk, on_sync(private));
        (0..6).for_each(|key| session.step(put(key, 70_000)));
        session.sync();
        (10..20).for_each(|key| session.step(put(key, 70_000)));
        let mut history = session.history();
        session.db.clone().close().expect("a sound disk");
        drop(session);
        history.floor = history.steps.len();
        assert_eq!(reopened(&disk, on_sync(private), &history), Found::Clean, "private: {private}");
        assert_eq!(reopened(&disk.crash_to_durable(), on_sync(private), &history), Found::Clean, "private: {private}");
    }
}

/// Power goes at each call of closing, and once after the last of them: what was synced is there in any case, and all
/// of it when closing has returned.
#[test]
fn closing_cut_at_every_call() {
    for mode in Mode::all() {
        // The private image's checkpoint writes each run of lines by a call of its own.
        for call in (0..).step_by(if mode.private { 7 } else { 1 }) {
            let disk = SimDisk::new();
            let mut session = begin(&disk, mode);
            (0..40).for_each(|key| session.step(put(key, 30)));
            session.sync();
            (20..60).for_each(|key| session.step(put(key, 50)));
            disk.write_back(call, 2);
            disk.fail(Kind::Any, disk.calls().of(Kind::Any) + call, Fault::PowerCut);
            let closed = session.db.clone().close().is_ok();
            let mut history = session.history();
            drop(session);
            if closed {
                history.floor = history.steps.len();
            }
            for cut in [disk.crash_to_durable(), disk.crash_keeping_all(), disk.crash_seeded(call)] {
                let found = reopened(&cut, mode, &history);
                assert!(!closed || found == Found::Clean, "{mode:?}, call {call}: {found:?}");
            }
            if closed {
                break;
            }
        }
    }
}

/// A process dies in a batch; the next one does the rest; then power goes at any of its calls, or right after. Half of
/// the batch must not be left by either.
#[test]
fn a_batch_finished_at_open_stays_whole() {
    let mut cut_short = 0;
    for growths in 0..8 {
        let disk = SimDisk::new();
        let durability = if growths % 2 == 0 { Durability::OnSync } else { Durability::Strict };
        let mode = Mode { private: false, durability };
        let mut session = begin(&disk, mode);
        (0..300).for_each(|key| session.step(put(key * 7, 30)));
        session.sync();
        // Want of space in its midst ends a batch as the death of the process does: half done, and never acknowledged.
        disk.fail_from(Kind::Allocate, disk.calls().of(Kind::Allocate) + growths, Fault::NoSpace);
        session.step((0..1_500).map(|key| put(key, 8).remove(0)).collect());
        cut_short += usize::from(session.failed.is_some());
        let history = session.history();
        let killed = disk.kill();
        drop(session);
        let whole = SimDisk::kill(&killed);
        let opened = mode.open(&whole).expect("a sound disk");
        history.expect(&contents(&opened, "finished"), "finished");
        for cut in [whole.crash_to_durable(), whole.crash_keeping_all()] {
            reopened(&cut, mode, &history);
        }
        for call in (0..whole.calls().of(Kind::Any)).step_by(11) {
            let dying = killed.kill();
            dying.fail(Kind::Any, call, Fault::PowerCut);
            let opened = mode.open(&dying);
            dying.write_back(call, 2);
            reopened(&dying.crash_seeded(call), mode, &history);
            drop(opened);
        }
    }
    assert!(cut_short > 0, "no batch was cut short");
}
