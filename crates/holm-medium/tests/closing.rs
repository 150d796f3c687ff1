//! A close that finds a segment which no checkpoint has released.

use holm_medium::superblock::Geometry;
use holm_medium::vfs::RealFs;
use holm_medium::{
    Area, Background, FIRST_EPOCH, Found, JournaledOptions, Medium, Pace, Persistence, Reserve, Storage, StorageOps,
    log::LogOptions, open,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::channel;
use std::thread;

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
    Scratch(std::env::temp_dir().join(format!("holm-closing-{name}-{}", std::process::id())))
}

fn geometry() -> Geometry {
    Geometry { leaf_block: 512, design: "none".into(), keys: 0 }
}

/// The bug: closing left the segment before the start, as a checkpoint does, and marked the database as clean without
/// what the other segment held. The last record switches to that one, and the thread of the checkpoints, which is busy
/// with an index, takes no checkpoint any more.
#[test]
fn closing_loses_no_segment_behind_a_switch() {
    let dir = folder("close");
    let opened = open(Arc::new(RealFs), &dir.0, &geometry(), &small(true)).expect("a new database");
    let (medium, opened_state) = opened.into_parts();
    let writer = Storage::open(medium, FIRST_EPOCH + 1).expect("a storage");
    let storage = writer.storage().clone();
    let mut background =
        Background::start(storage.clone(), opened_state, FIRST_EPOCH, Pace::WHEN_ASKED, true, None).expect("threads");
    let (busy, is_busy) = channel();
    let (release, released) = channel::<()>();
    let released = std::sync::Mutex::new(released);
    background.index_by(Box::new(move || {
        busy.send(()).expect("it is awaited");
        let _ = released.lock().expect("no panic").recv();
        None
    }));
    let meter = background.meter();
    let logged = || meter.counters().log_bytes.load(Relaxed);
    let mut places = Vec::new();
    let mut write = |bytes: usize, is_awaited: bool| {
        let guard = storage.clock.pin().expect("an open clock");
        let (words, value) = (bytes / 8, 7 + places.len() as u64);
        let place = writer.write_record(&guard, &vec![value; words], Persistence::PerEpoch).expect("room");
        places.push((place, words, value));
        let label = guard.epoch();
        drop(guard);
        if is_awaited {
            storage.clock.wait_durable(label).expect("a disk");
        }
    };
    // The first checkpoint is followed by an index.
    while is_busy.try_recv().is_err() {
        write(32 << 10, true);
    }
    // The last record does not fit behind this one.
    write(600 << 10, true);
    let before = logged();
    write(600 << 10, false);
    thread::scope(|scope| {
        let news = storage.clone();
        let close = scope.spawn(|| background.close(&|| Ok(None)));
        // Until the threads have been stopped.
        news.clock.call_listeners();
        release.send(()).expect("it is awaited");
        close.join().expect("no panic").expect("a sound close");
    });
    assert!(logged() > before);
    drop((background, meter, storage, writer));
    let opened = open(Arc::new(RealFs), &dir.0, &geometry(), &small(true)).expect("it was closed");
    assert_eq!(opened.recovery.found, Found::Clean);
    for (offset, words, value) in places {
        let words = opened.medium.image().words(Area::Records.at(offset), words).expect("it was in use");
        assert!(words.iter().all(|word| word.read() == value), "the record at {offset} is lost");
    }
}
