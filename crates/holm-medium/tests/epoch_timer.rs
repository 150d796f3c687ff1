//! Ends of epochs in the background: their cost, and that every failure is reported and leaves no thread waiting.

use holm_medium::{
    Area, Clock, Epoch, EpochTimer, FIRST_EPOCH, Flush, Guard, Image, LAST_EPOCH, LINE, Mapped, MappedOptions,
    MediumError, Pace, Persistence, Phase, RecordRun, Result, Space, Storage, StorageOps, Writer,
};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for any event that comes at all; a correct run never waits for it.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

fn storage(active: Epoch) -> Arc<Writer<Mapped>> {
    let options = MappedOptions { flush: Flush::Nothing, count: true, ..MappedOptions::default() };
    Arc::new(Storage::open(Mapped::heap(64 << 10, 64 << 10, options), active).expect("memory"))
}

fn threads(count: usize) -> NonZero<usize> {
    NonZero::new(count).expect("some")
}

/// Writes one word of each of `lines` lines, under its own label.
fn write(writer: &Writer<Mapped>, lines: u64) -> Epoch {
    let guard = writer.clock().pin().expect("sound");
    let mut handle = writer.begin_write(&guard);
    for line in 0..lines {
        let word = writer.image().words(Area::Records.at(line * LINE), 1).expect("within the area");
        handle.write(&word[0], line);
        handle.defer_words(word);
    }
    drop(handle);
    guard.epoch()
}

/// A storage whose write-back does what the test says.
struct SlowStorage {
    writer: Arc<Writer<Mapped>>,
    /// Threads whose names begin with this panic.
    kills: &'static str,
    /// Write-backs wait while this is set.
    slow: Mutex<bool>,
    quick: Condvar,
    reached: AtomicBool,
}

impl SlowStorage {
    fn new(kills: &'static str, slow: bool) -> Arc<Self> {
        let (slow, quick) = (Mutex::new(slow), Condvar::new());
        Arc::new(SlowStorage { writer: storage(FIRST_EPOCH), kills, slow, quick, reached: AtomicBool::new(false) })
    }
}

impl StorageOps for SlowStorage {
    fn clock(&self) -> &Clock {
        self.writer.clock()
    }
    fn space(&self) -> &Space {
        self.writer.space()
    }
    fn image(&self) -> &Arc<Image> {
        self.writer.image()
    }
    fn write_record(&self, guard: &Guard<'_>, words: &[u64], how: Persistence) -> Result<u64> {
        self.writer.write_record(guard, words, how)
    }
    fn write_record_below(&self, guard: &Guard<'_>, words: &[u64], how: Persistence, limit: u64) -> Option<u64> {
        self.writer.write_record_below(guard, words, how, limit)
    }
    fn write_record_in(&self, guard: &Guard<'_>, words: &[u64], how: Persistence, run: &mut RecordRun) -> Option<u64> {
        self.writer.write_record_in(guard, words, how, run)
    }
    fn cut_run(&self, piece: &mut RecordRun, bytes: u64) -> Result<RecordRun> {
        self.writer.cut_run(piece, bytes)
    }
    fn give_space_back(&self) -> Result<u64> {
        self.writer.give_space_back()
    }
    fn write_word(&self, guard: &Guard<'_>, loc: u64, value: u64) {
        self.writer.write_word(guard, loc, value);
    }
    fn write_back(&self, runs: &[(u64, u64)]) {
        let dies = |name: &str| !self.kills.is_empty() && name.starts_with(self.kills);
        assert!(!thread::current().name().is_some_and(dies), "a medium that is gone");
        self.reached.store(true, SeqCst);
        drop(self.quick.wait_while(self.slow.lock().expect("sound"), |slow| *slow).expect("sound"));
        self.writer.write_back(runs);
    }
    fn publish_epoch(&self, ended: Epoch) -> Result<()> {
        self.writer.publish_epoch(ended)
    }
}

/// The cost of the end of an epoch that has written `lines` lines: words written, lines flushed, fences.
fn cost(flushers: usize, lines: u64) -> [u64; 3] {
    let writer = storage(FIRST_EPOCH);
    let timer = EpochTimer::start(writer.clone(), Pace::WHEN_ASKED, threads(flushers)).expect("threads");
    let epoch = write(&writer, lines);
    let before = writer.storage().medium.counts();
    assert_eq!(timer.sync().expect("sound"), epoch);
    let cost = writer.storage().medium.counts() - before;
    let stats = timer.stats();
    assert!(stats.epochs <= 1 && stats.lines <= lines, "one end of an epoch is enough: {stats:?}");
    assert_eq!(writer.clock().durable(), epoch);
    // The lines lie one after the other, so a block of 256 bytes has four of them; the clock's word lies elsewhere.
    assert!(cost.blocks <= lines.div_ceil(4) + 2, "{cost:?}");
    [cost.writes, cost.flushes, cost.fences]
}

#[test]
fn an_end_costs_a_flush_a_line_and_one_for_the_clock_and_two_fences() {
    for lines in [0, 1, 7, 300] {
        assert_eq!(cost(1, lines), [1, lines + 1, 2]);
    }
}

/// Each further flusher that has lines fences for itself; a few lines are not divided.
#[test]
fn flushers_divide_the_lines_and_each_fences_for_itself() {
    assert_eq!(cost(3, 600), [1, 601, 4]);
    assert_eq!(cost(2, 600), [1, 601, 3]);
    assert_eq!(cost(3, 60), [1, 61, 2]);
}

#[test]
fn a_sync_waits_for_at_most_two_epoch_ends() {
    let slow_storage = SlowStorage::new("", true);
    let timer = EpochTimer::start(slow_storage.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    let first = write(&slow_storage.writer, 3);
    slow_storage.clock().request_tick();
    while !slow_storage.reached.load(SeqCst) {
        thread::yield_now();
    }
    // An epoch end is in progress when this request arrives.
    let second = write(&slow_storage.writer, 3);
    assert_eq!(second, first + 1);
    *slow_storage.slow.lock().expect("sound") = false;
    slow_storage.quick.notify_all();
    assert_eq!(timer.sync().expect("sound"), second);
    assert_eq!(slow_storage.clock().durable(), second);
    assert!(timer.stats().epochs <= 2, "the one under way and the next");
}

/// Checks that no epoch ends once the threads are gone, and that every caller gets an error.
fn refused_after_the_end(slow_storage: &SlowStorage, timer: &EpochTimer, lines: u64) {
    write(&slow_storage.writer, lines);
    let waiters = thread::scope(|scope| {
        let waiters = [(); 3].map(|()| scope.spawn(|| timer.sync()));
        waiters.map(|waiter| waiter.join().expect("no panic"))
    });
    for waited in waiters {
        assert!(matches!(&waited, Err(MediumError::Poisoned { why }) if why.contains("has died")), "{waited:?}");
    }
    let written = slow_storage.clock().pin().err();
    assert!(matches!(written, Some(MediumError::Poisoned { .. })), "{written:?}");
    assert!(slow_storage.clock().durable() < FIRST_EPOCH, "nothing was declared durable");
    while timer.phase() != Phase::Stopped {
        thread::yield_now();
    }
}

#[test]
fn waiters_and_writers_get_an_error_when_the_thread_dies() {
    let slow_storage = SlowStorage::new("holm-epochs", false);
    let timer = EpochTimer::start(slow_storage.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    refused_after_the_end(&slow_storage, &timer, 3);
    let why = slow_storage.clock().poisoned().map(ToString::to_string).unwrap_or_default();
    assert!(why.contains("a medium that is gone"), "{why}");
}

/// The other flushers have done their part; without the missing lines the epoch is not complete.
#[test]
fn waiters_and_writers_get_an_error_when_a_flusher_dies() {
    let slow_storage = SlowStorage::new("holm-flusher", false);
    let timer = EpochTimer::start(slow_storage.clone(), Pace::WHEN_ASKED, threads(3)).expect("threads");
    refused_after_the_end(&slow_storage, &timer, 600);
}

#[test]
fn an_operation_that_never_ends_is_reported_and_others_continue() {
    let writer = storage(FIRST_EPOCH);
    let timer = EpochTimer::start(writer.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    let guard = writer.clock().pin().expect("sound");
    thread::scope(|scope| {
        scope.spawn(|| {
            let late = timer.sync_within(SHORT).expect_err("somebody is in there");
            let MediumError::Late { epoch: FIRST_EPOCH, why, .. } = &late else { panic!("{late}") };
            assert!(why.starts_with("1 operations have kept epoch 4 open"), "{late}");
            let Phase::Waiting(stuck) = timer.phase() else { panic!("{:?}", timer.phase()) };
            assert_eq!((stuck.epoch, stuck.operations), (FIRST_EPOCH, 1));
            assert!(stuck.waited > Duration::ZERO);
            // The next epoch is open: other writers continue.
            assert_eq!(write(&writer, 3), FIRST_EPOCH + 1);
        });
    });
    assert_eq!(writer.clock().durable(), FIRST_EPOCH - 1);
    drop(guard);
    let stuck = timer.sync_within(LONG).map(|_| writer.clock().stuck());
    assert!(matches!(stuck, Ok(None)), "{stuck:?}");
}

#[test]
fn a_batch_that_holds_the_clock_is_reported() {
    let writer = storage(FIRST_EPOCH);
    let timer = EpochTimer::start(writer.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    let hold = writer.clock().hold(0, 2).expect("sound");
    let late = timer.sync_within(SHORT).expect_err("it is held").to_string();
    assert!(late.contains("a commit has held epoch 4 open"), "{late}");
    drop(hold);
    timer.sync_within(LONG).expect("sound");
}

/// What loses its label again and again repins so: otherwise it would never be done.
#[test]
fn an_operation_that_repins_with_a_hold_keeps_its_label() {
    let writer = storage(FIRST_EPOCH);
    let timer = EpochTimer::start(writer.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    let mut guard = writer.clock().pin().expect("sound");
    let hold = guard.repin_held().expect("sound");
    let late = timer.sync_within(SHORT).expect_err("it is held").to_string();
    assert!(late.contains("1 operations have kept epoch 4 open"), "{late}");
    // Without the hold, the next epoch would have begun, and its end would wait.
    assert!(guard.valid() && writer.clock().active() == FIRST_EPOCH);
    drop((guard, hold));
    timer.sync_within(LONG).expect("sound");
}

#[test]
fn a_slow_medium_is_reported_and_writers_continue() {
    let slow_storage = SlowStorage::new("", true);
    let timer = EpochTimer::start(slow_storage.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    let epoch = write(&slow_storage.writer, 3);
    let late = timer.sync_within(SHORT).expect_err("it is slow");
    assert!(late.to_string().contains("it is being written"), "{late}");
    assert!(matches!(timer.phase(), Phase::Writing(writing, _) if writing == epoch), "{:?}", timer.phase());
    let seen = Instant::now();
    assert_eq!(write(&slow_storage.writer, 3), epoch + 1);
    // The end began before the test saw it, and is not done before now.
    let so_far = seen.elapsed();
    *slow_storage.slow.lock().expect("sound") = false;
    slow_storage.quick.notify_all();
    assert_eq!(timer.sync_within(LONG).expect("it goes on"), epoch + 1);
    assert!(timer.stats().longest_write >= so_far);
}

#[test]
fn epochs_end_at_the_interval_and_when_the_timer_is_dropped() {
    let writer = storage(FIRST_EPOCH);
    let timer = EpochTimer::start(writer.clone(), Pace::every(Duration::from_millis(1)), threads(2)).expect("threads");
    let epoch = write(&writer, 3);
    while writer.clock().durable() < epoch {
        thread::yield_now();
    }
    let last = write(&writer, 3);
    drop(timer);
    assert!(writer.clock().durable() >= last);
    assert!(writer.clock().pin().is_err(), "what is written now would never be durable");
}

#[test]
fn after_the_last_epoch_everything_is_durable_and_no_write_begins() {
    let writer = storage(LAST_EPOCH - 1);
    let timer = EpochTimer::start(writer.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    assert_eq!((write(&writer, 3), timer.sync().expect("sound")), (LAST_EPOCH - 1, LAST_EPOCH - 1));
    let writers = thread::scope(|scope| {
        let writes = || {
            let label = writer.clock().pin().map(|guard| guard.epoch());
            label.and_then(|label| writer.clock().wait_durable(label).map(|()| label))
        };
        let writers = [(); 4].map(|()| scope.spawn(writes));
        writers.map(|writer| writer.join().expect("no panic"))
    });
    assert!(writers.iter().any(Result::is_ok), "the last epoch can be written in: {writers:?}");
    for slow_storage in writers {
        assert!(
            matches!(slow_storage, Ok(LAST_EPOCH) | Err(MediumError::OutOfEpochs { last: LAST_EPOCH })),
            "{slow_storage:?}"
        );
    }
    assert_eq!(writer.clock().durable(), LAST_EPOCH);
    assert!(matches!(writer.clock().pin().err(), Some(MediumError::OutOfEpochs { .. })));
    assert!(matches!(writer.clock().wait_durable(LAST_EPOCH + 1), Err(MediumError::OutOfEpochs { .. })));
    assert_eq!(timer.sync().expect("all of it is"), LAST_EPOCH);
    assert_eq!(writer.clock().paused(|| writer.clock().active()), LAST_EPOCH);
    assert!(writer.clock().pin().is_err(), "it has not been set going again");
    drop(timer);
    // A caller that ends epochs itself gets the same answer, as often as it calls.
    assert_eq!(writer.end_epoch().expect("sound"), LAST_EPOCH);
}

#[test]
fn a_storage_without_epochs_left_can_be_opened_and_read() {
    let writer = storage(LAST_EPOCH + 1);
    assert_eq!((writer.clock().durable(), writer.clock().active()), (LAST_EPOCH, LAST_EPOCH));
    assert!(matches!(writer.clock().pin().err(), Some(MediumError::OutOfEpochs { .. })));
}

/// The last epoch, ended as media do that are written while the writers are stopped.
#[test]
fn the_last_epoch_ends_with_stopped_writers() {
    let writer = storage(LAST_EPOCH);
    write(&writer, 1);
    assert_eq!(writer.clock().advance_stopped(|ended| assert_eq!(ended, LAST_EPOCH)), LAST_EPOCH);
    writer.clock().publish(LAST_EPOCH);
    assert!(matches!(writer.clock().pin().err(), Some(MediumError::OutOfEpochs { .. })));
}

#[test]
fn an_overflowing_interval_is_unbounded() {
    let writer = storage(FIRST_EPOCH);
    let timer = EpochTimer::start(writer.clone(), Pace::every(Duration::MAX), threads(1)).expect("threads");
    let epoch = write(&writer, 3);
    assert!(timer.sync_within(Duration::MAX).expect("it ends when asked") >= epoch);
}
