//! Ends of epochs in the background: their cost, and that every failure is reported and leaves no thread waiting.

use holm_medium::{
    Area, Aside, Clock, Counts, Epoch, FIRST_EPOCH, Flush, Ground, Image, LAST_EPOCH, LINE, Lay, Mapped, MappedOptions,
    MediumError, Metronome, Pace, Phase, Pool, Quill, Result, Space, Stay,
};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// Long enough for any event that comes at all; a correct run never waits for it.
const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(20);

fn pool(active: Epoch) -> Arc<Quill<Mapped>> {
    let options = MappedOptions { flush: Flush::Nothing, count: true, ..MappedOptions::default() };
    Arc::new(Pool::open(Mapped::heap(64 << 10, 64 << 10, options), active).expect("memory"))
}

fn threads(count: usize) -> NonZero<usize> {
    NonZero::new(count).expect("some")
}

/// Writes one word of each of `lines` lines, under its own label.
fn write(quill: &Quill<Mapped>, lines: u64) -> Epoch {
    let stay = quill.clock().check_in().expect("sound");
    let mut pen = quill.cut(&stay);
    for line in 0..lines {
        let word = quill.image().words(Area::Records.at(line * LINE), 1).expect("within the area");
        pen.write(&word[0], line);
        pen.defer_words(word);
    }
    drop(pen);
    stay.epoch()
}

/// A storage whose write-back does what the test says.
struct Told {
    quill: Arc<Quill<Mapped>>,
    /// Threads whose names begin with this panic.
    kills: &'static str,
    /// Write-backs wait while this is set.
    slow: Mutex<bool>,
    quick: Condvar,
    reached: AtomicBool,
}

impl Told {
    fn new(kills: &'static str, slow: bool) -> Arc<Self> {
        let (slow, quick) = (Mutex::new(slow), Condvar::new());
        Arc::new(Told { quill: pool(FIRST_EPOCH), kills, slow, quick, reached: AtomicBool::new(false) })
    }
}

impl Ground for Told {
    fn clock(&self) -> &Clock {
        self.quill.clock()
    }
    fn space(&self) -> &Space {
        self.quill.space()
    }
    fn image(&self) -> &Arc<Image> {
        self.quill.image()
    }
    fn lay(&self, stay: &Stay<'_>, words: &[u64], how: Lay) -> Result<u64> {
        self.quill.lay(stay, words, how)
    }
    fn set_aside(&self, stay: &Stay<'_>, blocks: u64) -> Result<Aside<'_>> {
        self.quill.set_aside(stay, blocks)
    }
    fn mark(&self, stay: &Stay<'_>, loc: u64, value: u64) {
        self.quill.mark(stay, loc, value);
    }
    fn write_back(&self, runs: &[(u64, u64)]) {
        let dies = |name: &str| !self.kills.is_empty() && name.starts_with(self.kills);
        assert!(!thread::current().name().is_some_and(dies), "a medium that is gone");
        self.reached.store(true, SeqCst);
        drop(self.quick.wait_while(self.slow.lock().expect("sound"), |slow| *slow).expect("sound"));
        self.quill.write_back(runs);
    }
    fn declare(&self, ended: Epoch) -> Result<()> {
        self.quill.declare(ended)
    }
}

/// The cost of the end of an epoch that has written `lines` lines.
fn cost(persisters: usize, lines: u64) -> Counts {
    let quill = pool(FIRST_EPOCH);
    let metronome = Metronome::start(quill.clone(), Pace::WHEN_ASKED, threads(persisters)).expect("threads");
    let epoch = write(&quill, lines);
    let before = quill.pool().medium.counts();
    assert_eq!(metronome.sync().expect("sound"), epoch);
    let cost = quill.pool().medium.counts() - before;
    let beat = metronome.beat();
    assert!(beat.epochs <= 1 && beat.lines <= lines, "one end of an epoch is enough: {beat:?}");
    assert_eq!(quill.clock().durable(), epoch);
    cost
}

#[test]
fn an_end_costs_a_flush_a_line_and_one_for_the_clock_and_two_fences() {
    for lines in [0, 1, 7, 300] {
        assert_eq!(cost(1, lines), Counts { writes: 1, flushes: lines + 1, fences: 2 });
    }
}

/// Each further flusher that has lines fences for itself; a few lines are not divided.
#[test]
fn flushers_divide_the_lines_and_each_fences_for_itself() {
    assert_eq!(cost(3, 600), Counts { writes: 1, flushes: 601, fences: 4 });
    assert_eq!(cost(2, 600), Counts { writes: 1, flushes: 601, fences: 3 });
    assert_eq!(cost(3, 60), Counts { writes: 1, flushes: 61, fences: 2 });
}

#[test]
fn a_sync_waits_for_at_most_two_epoch_ends() {
    let told = Told::new("", true);
    let metronome = Metronome::start(told.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    let first = write(&told.quill, 3);
    told.clock().nudge();
    while !told.reached.load(SeqCst) {
        thread::yield_now();
    }
    // An epoch end is in progress when this request arrives.
    let second = write(&told.quill, 3);
    assert_eq!(second, first + 1);
    *told.slow.lock().expect("sound") = false;
    told.quick.notify_all();
    assert_eq!(metronome.sync().expect("sound"), second);
    assert_eq!(told.clock().durable(), second);
    assert!(metronome.beat().epochs <= 2, "the one under way and the next");
}

/// Checks that no epoch ends once the threads are gone, and that every caller gets an error.
fn told_of_the_end(told: &Told, metronome: &Metronome, lines: u64) {
    write(&told.quill, lines);
    let waiters = thread::scope(|scope| {
        let waiters = [(); 3].map(|()| scope.spawn(|| metronome.sync()));
        waiters.map(|waiter| waiter.join().expect("no panic"))
    });
    for waited in waiters {
        assert!(matches!(&waited, Err(MediumError::Poisoned { why }) if why.contains("has died")), "{waited:?}");
    }
    let written = told.clock().check_in().err();
    assert!(matches!(written, Some(MediumError::Poisoned { .. })), "{written:?}");
    assert!(told.clock().durable() < FIRST_EPOCH, "nothing was declared durable");
    while metronome.phase() != Phase::Gone {
        thread::yield_now();
    }
}

#[test]
fn waiters_and_writers_get_an_error_when_the_thread_dies() {
    let told = Told::new("holm-metronome", false);
    let metronome = Metronome::start(told.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    told_of_the_end(&told, &metronome, 3);
    let why = told.clock().poisoned().map(ToString::to_string).unwrap_or_default();
    assert!(why.contains("a medium that is gone"), "{why}");
}

/// The other flushers have done their part; without the missing lines the epoch is not complete.
#[test]
fn waiters_and_writers_get_an_error_when_a_flusher_dies() {
    let told = Told::new("holm-persister", false);
    let metronome = Metronome::start(told.clone(), Pace::WHEN_ASKED, threads(3)).expect("threads");
    told_of_the_end(&told, &metronome, 600);
}

#[test]
fn an_operation_that_never_ends_is_reported_and_others_continue() {
    let quill = pool(FIRST_EPOCH);
    let metronome = Metronome::start(quill.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    let stay = quill.clock().check_in().expect("sound");
    thread::scope(|scope| {
        scope.spawn(|| {
            let late = metronome.sync_within(SHORT).expect_err("somebody is in there");
            let MediumError::Late { epoch: FIRST_EPOCH, why, .. } = &late else { panic!("{late}") };
            assert!(why.starts_with("1 operations have kept epoch 4 open"), "{late}");
            let Phase::Waiting(stuck) = metronome.phase() else { panic!("{:?}", metronome.phase()) };
            assert_eq!((stuck.epoch, stuck.operations), (FIRST_EPOCH, 1));
            assert!(stuck.waited > Duration::ZERO);
            // The next epoch is open: other writers continue.
            assert_eq!(write(&quill, 3), FIRST_EPOCH + 1);
        });
    });
    assert_eq!(quill.clock().durable(), FIRST_EPOCH - 1);
    drop(stay);
    let stuck = metronome.sync_within(LONG).map(|_| quill.clock().stuck());
    assert!(matches!(stuck, Ok(None)), "{stuck:?}");
}

#[test]
fn a_batch_that_holds_the_clock_is_reported() {
    let quill = pool(FIRST_EPOCH);
    let metronome = Metronome::start(quill.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    let hold = quill.clock().hold(0, 2).expect("sound");
    let late = metronome.sync_within(SHORT).expect_err("it is held").to_string();
    assert!(late.contains("a batch has held epoch 4 open"), "{late}");
    drop(hold);
    metronome.sync_within(LONG).expect("sound");
}

#[test]
fn a_slow_medium_is_reported_and_writers_continue() {
    let told = Told::new("", true);
    let metronome = Metronome::start(told.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    let epoch = write(&told.quill, 3);
    let late = metronome.sync_within(SHORT).expect_err("it is slow");
    assert!(late.to_string().contains("it is being written"), "{late}");
    assert!(matches!(metronome.phase(), Phase::Writing(writing, _) if writing == epoch), "{:?}", metronome.phase());
    let seen = Instant::now();
    assert_eq!(write(&told.quill, 3), epoch + 1);
    // The end began before the test saw it, and is not done before now.
    let so_far = seen.elapsed();
    *told.slow.lock().expect("sound") = false;
    told.quick.notify_all();
    assert_eq!(metronome.sync_within(LONG).expect("it goes on"), epoch + 1);
    assert!(metronome.beat().longest_write >= so_far);
}

#[test]
fn epochs_end_at_the_interval_and_when_the_timer_is_dropped() {
    let quill = pool(FIRST_EPOCH);
    let metronome =
        Metronome::start(quill.clone(), Pace::every(Duration::from_millis(1)), threads(2)).expect("threads");
    let epoch = write(&quill, 3);
    while quill.clock().durable() < epoch {
        thread::yield_now();
    }
    let last = write(&quill, 3);
    drop(metronome);
    assert!(quill.clock().durable() >= last);
    assert!(quill.clock().check_in().is_err(), "what is written now would never be durable");
}

#[test]
fn after_the_last_epoch_everything_is_durable_and_no_write_begins() {
    let quill = pool(LAST_EPOCH - 1);
    let metronome = Metronome::start(quill.clone(), Pace::WHEN_ASKED, threads(1)).expect("threads");
    assert_eq!((write(&quill, 3), metronome.sync().expect("sound")), (LAST_EPOCH - 1, LAST_EPOCH - 1));
    let writers = thread::scope(|scope| {
        let writes = || {
            let label = quill.clock().check_in().map(|stay| stay.epoch());
            label.and_then(|label| quill.clock().wait_durable(label).map(|()| label))
        };
        let writers = [(); 4].map(|()| scope.spawn(writes));
        writers.map(|writer| writer.join().expect("no panic"))
    });
    assert!(writers.iter().any(Result::is_ok), "the last epoch can be written in: {writers:?}");
    for told in writers {
        assert!(matches!(told, Ok(LAST_EPOCH) | Err(MediumError::OutOfEpochs { last: LAST_EPOCH })), "{told:?}");
    }
    assert_eq!(quill.clock().durable(), LAST_EPOCH);
    assert!(matches!(quill.clock().check_in().err(), Some(MediumError::OutOfEpochs { .. })));
    assert!(matches!(quill.clock().wait_durable(LAST_EPOCH + 1), Err(MediumError::OutOfEpochs { .. })));
    assert_eq!(metronome.sync().expect("all of it is"), LAST_EPOCH);
    assert_eq!(quill.clock().paused(|| quill.clock().active()), LAST_EPOCH);
    assert!(quill.clock().check_in().is_err(), "it has not been set going again");
    drop(metronome);
    // A caller that ends epochs itself gets the same answer, as often as it calls.
    assert_eq!(quill.advance().expect("sound"), LAST_EPOCH);
}

#[test]
fn a_storage_without_epochs_left_can_be_opened_and_read() {
    let quill = pool(LAST_EPOCH + 1);
    assert_eq!((quill.clock().durable(), quill.clock().active()), (LAST_EPOCH, LAST_EPOCH));
    assert!(matches!(quill.clock().check_in().err(), Some(MediumError::OutOfEpochs { .. })));
}

/// The last epoch, ended as media do that are written while the writers are stopped.
#[test]
fn the_last_epoch_ends_with_stopped_writers() {
    let quill = pool(LAST_EPOCH);
    write(&quill, 1);
    assert_eq!(quill.clock().raise_stopped(|ended| assert_eq!(ended, LAST_EPOCH)), LAST_EPOCH);
    quill.clock().publish(LAST_EPOCH);
    assert!(matches!(quill.clock().check_in().err(), Some(MediumError::OutOfEpochs { .. })));
}

#[test]
fn an_overflowing_interval_is_unbounded() {
    let quill = pool(FIRST_EPOCH);
    let metronome = Metronome::start(quill.clone(), Pace::every(Duration::MAX), threads(1)).expect("threads");
    let epoch = write(&quill, 3);
    assert!(metronome.sync_within(Duration::MAX).expect("it ends when asked") >= epoch);
}
