//! Power fails while several threads run transactions: what is left has whole transactions only, and with each of them
//! all that it depends on. The disk is simulated, so the threads go on, and one history is cut many times.

use holm::{Database, Durability, ImageMode};
use holm_proof::cycles::{Transaction, check, check_left};
use holm_proof::disk::SimDisk;
use holm_proof::lists::{Board, THREADS, Worker};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// Histories in each mode; `HOLM_HISTORIES` overrides it.
const HISTORIES: u64 = 3;

/// Cuts of one history.
const CUTS: u64 = 12;

/// The transactions of each thread from one cut to the next.
const BETWEEN: u64 = 30;

/// The keys beside each list.
const FILLERS: u8 = 12;

/// Bytes of heap for leaves and records.
const HEAP: [usize; 2] = [1 << 20, 16 << 20];

#[derive(Clone, Copy, Debug)]
struct Mode {
    image: ImageMode,
    durability: Durability,
}

impl Mode {
    fn open(self, disk: &SimDisk) -> Database {
        let builder = Database::builder().durability(self.durability).image(self.image).log_bytes(2 << 20);
        builder.vfs(Arc::new(disk.clone()), HEAP).open("/d").expect("a sound disk")
    }
}

/// A disk after a cut, and the instant before which all that had returned must be left.
struct Cut {
    disk: SimDisk,
    floor: u64,
}

/// Cuts the disk.
fn cut(disk: &SimDisk, (db, board): (&Database, &Board), mode: Mode, random: &mut Pcg64) -> Cut {
    if random.random_ratio(1, 4) {
        disk.write_back(random.random(), 4);
    }
    let now = board.now();
    let floor = match mode.durability {
        Durability::Strict => now,
        _ if random.random_ratio(2, 3) => {
            db.sync().expect("sound");
            now
        }
        _ => 0,
    };
    let disk = if random.random_ratio(1, 3) { disk.crash_to_durable() } else { disk.crash_seeded(random.random()) };
    Cut { disk, floor }
}

/// Runs all threads, and cuts the power again and again. Returns the history and the cuts.
fn live(mode: Mode, seed: u64) -> (Vec<Transaction>, Vec<Cut>) {
    let disk = SimDisk::new();
    let db = mode.open(&disk);
    let board = Board::new(&db, 0, FILLERS).and_then(Board::with_long_transactions).expect("sound");
    db.sync().expect("sound");
    // The cuts so far, and the steps of all threads.
    let (cuts, steps) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = |thread| {
        let mut worker = Worker::new(&board, thread, seed);
        for step in 0..CUTS * BETWEEN {
            // The threads run during each cut, and not far ahead of it.
            while step > (cuts.load(SeqCst) + 2) * BETWEEN {
                thread::yield_now();
            }
            worker.step(&mut |_| ()).expect("no error but conflicts");
            steps.fetch_add(1, SeqCst);
        }
        worker.into_history()
    };
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        let mut random = Pcg64::seed_from_u64(seed);
        let made = (0..CUTS).map(|_| {
            // Once the threads have come a little further; one that has failed comes no further.
            let until = steps.load(SeqCst) + random.random_range(0..BETWEEN);
            while steps.load(SeqCst) < until && threads.iter().any(|thread| !thread.is_finished()) {
                thread::yield_now();
            }
            let made = cut(&disk, (&db, &board), mode, &mut random);
            cuts.fetch_add(1, SeqCst);
            made
        });
        let made: Vec<_> = made.collect();
        (threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect(), made)
    })
}

/// Opens what each cut has left. Returns how many appends were left, and how many were not.
fn judge(mode: Mode, seed: u64) -> [usize; 2] {
    let (history, cuts) = live(mode, seed);
    if let Err(wrong) = check(&history) {
        panic!("{mode:?}, seed {seed}: {} in {history:#?}", wrong[0]);
    }
    let appends = history.iter().flat_map(Transaction::appends).count();
    let mut counts = [0, 0];
    for (number, cut) in cuts.iter().enumerate() {
        let db = mode.open(&cut.disk);
        assert_eq!(db.check().expect("readable").faults, Vec::<String>::new());
        let left = Board::new(&db, 0, 0).expect("sound").lists().expect("sound");
        if let Err(loss) = check_left(&history, &left, cut.floor) {
            panic!("{mode:?}, seed {seed}, cut {number}: {loss}\n{:?}", db.recovery());
        }
        let kept: usize = left.values().map(Vec::len).sum();
        counts = [counts[0] + kept, counts[1] + appends - kept];
    }
    counts
}

fn what_power_leaves_is_closed(durability: Durability) {
    let histories = std::env::var("HOLM_HISTORIES").ok().and_then(|count| count.parse().ok()).unwrap_or(HISTORIES);
    for image in [ImageMode::Shared, ImageMode::Private] {
        let mode = Mode { image, durability };
        let counts = (0..histories).map(|seed| judge(mode, seed)).fold([0, 0], |[a, b], [c, d]| [a + c, b + d]);
        assert!(counts[0] > 0 && counts[1] > 0, "{mode:?}: nothing was at stake: {counts:?}");
    }
}

#[test]
fn what_power_leaves_is_closed_if_calls_wait() {
    what_power_leaves_is_closed(Durability::Strict);
}

#[test]
fn what_power_leaves_is_closed_if_epochs_end_by_themselves() {
    what_power_leaves_is_closed(Durability::Buffered { interval: Duration::from_millis(1) });
}

#[test]
fn what_power_leaves_is_closed_if_epochs_end_on_demand() {
    what_power_leaves_is_closed(Durability::OnSync);
}
