//! A floor under the log retains its records: no checkpoint releases a segment that a follower still reads.

use holm_medium::superblock::Geometry;
use holm_medium::vfs::RealFs;
use holm_medium::{
    Area, Background, FIRST_EPOCH, FloorKind, Found, JournaledOptions, Medium, Pace, Persistence, Reserve, Storage,
    StorageOps, log::LogOptions, open,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A directory for this test, removed when dropped.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const SEGMENT: u64 = 1 << 20;

/// Options of a small database in a folder of its own.
fn small(private: bool) -> JournaledOptions {
    JournaledOptions {
        create: true,
        private,
        reserve: [1 << 20, 64 << 20].map(Reserve::Exactly),
        heap: [1 << 20, 1 << 20],
        log: LogOptions { initial: 64 << 10, total: 2 * SEGMENT, segments: 2, direct: false },
        agrees: |_, _, _| true,
    }
}

fn folder(name: &str) -> Scratch {
    Scratch(std::env::temp_dir().join(format!("holm-retention-{name}-{}", std::process::id())))
}

fn geometry() -> Geometry {
    Geometry { leaf_block: 512, design: "none".into(), keys: 0 }
}

/// The bug: closing left the segment that a floor retained, as a checkpoint does, and marked the database as clean
/// without what the other segment held.
#[test]
fn closing_waits_for_no_floor_and_loses_no_half() {
    let dir = folder("close");
    let opened = open(Arc::new(RealFs), &dir.0, &geometry(), &small(true)).expect("a new database");
    let (medium, opened_state) = opened.into_parts();
    let writer = Storage::open(medium, FIRST_EPOCH + 1).expect("a storage");
    let storage = writer.storage().clone();
    let mut background =
        Background::start(storage.clone(), opened_state, FIRST_EPOCH, Pace::WHEN_ASKED, true, None).expect("threads");
    let _floor = storage.space.retention().retain(FloorKind::Log, storage.clock.active());
    let mut places = Vec::new();
    // Into the other segment.
    let meter = background.meter();
    while meter.counters().log_bytes.load(Relaxed) < SEGMENT * 3 / 2 {
        let guard = storage.clock.pin().expect("an open clock");
        let value = 7 + places.len() as u64;
        places.push((writer.write_record(&guard, &[value; 4096], Persistence::PerEpoch).expect("room"), value));
        let label = guard.epoch();
        drop(guard);
        storage.clock.wait_durable(label).expect("a disk");
    }
    background.close(&|| Ok(None)).expect("a sound close");
    drop((background, meter, storage, writer));
    let opened = open(Arc::new(RealFs), &dir.0, &geometry(), &small(true)).expect("it was closed");
    assert_eq!(opened.recovery.found, Found::Clean);
    for (offset, value) in places {
        let words = opened.medium.image().words(Area::Records.at(offset), 4096).expect("it was in use");
        assert!(words.iter().all(|word| word.read() == value), "the record at {offset} is lost");
    }
}

#[test]
fn a_floor_keeps_the_log_from_being_released() {
    let dir = folder("floor");
    let opened = open(Arc::new(RealFs), &dir.0, &geometry(), &small(false)).expect("a new database");
    let (medium, opened_state) = opened.into_parts();
    let writer = Storage::open(medium, FIRST_EPOCH + 1).expect("a storage");
    let storage = writer.storage().clone();
    let mut background =
        Background::start(storage.clone(), opened_state, FIRST_EPOCH, Pace::WHEN_ASKED, true, None).expect("threads");
    let meter = background.meter();
    let checkpoints = || meter.counters().checkpoints.load(Relaxed);
    let logged = || meter.counters().log_bytes.load(Relaxed);
    let write = || {
        let guard = storage.clock.pin().expect("an open clock");
        writer.write_record(&guard, &[7; 4096], Persistence::PerEpoch).expect("room");
        let label = guard.epoch();
        drop(guard);
        storage.clock.wait_durable(label).expect("a disk");
    };
    let floor = storage.space.retention().retain(FloorKind::Log, storage.clock.active());
    // Into the other segment, and nearly to its end.
    while logged() < SEGMENT * 3 / 2 {
        write();
    }
    assert_eq!(checkpoints(), 0);
    drop(floor);
    // Further writes need the first segment again.
    while checkpoints() == 0 {
        write();
    }
    background.close(&|| Ok(None)).expect("a sound close");
}
