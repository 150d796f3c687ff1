//! Simulated time. A clock of nanoseconds, which a scheduler moves, and the threads that sleep until it shows an
//! instant.
//!
//! A thread that sleeps stays runnable for shuttle, and yields until the clock shows its instant. A scheduler that
//! knows of this clock leaves such threads out and moves the clock: [`drive`], [`advance`], [`is_awake`]. Under any
//! other scheduler, each yield of a thread that sleeps moves the clock by a tenth of a millisecond.

use shuttle::current::me;
use shuttle::thread::yield_now;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::{Add, Sub};
use std::time::Duration;

/// What a yield of a sleeping thread takes where nothing else moves the clock, in nanoseconds.
const POLL: u64 = 100_000;

/// The clock's first reading: an hour.
const BEGIN: u64 = 3_600_000_000_000;

std::thread_local! {
    static NOW: Cell<u64> = const { Cell::new(BEGIN) };
    static DRIVEN: Cell<bool> = const { Cell::new(false) };
    /// Threads that sleep, by the numbers of their tasks, and until when.
    static ASLEEP: RefCell<BTreeMap<usize, u64>> = const { RefCell::new(BTreeMap::new()) };
}

/// An instant of the simulated clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instant(u64);

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Instant {
    /// What the clock shows.
    pub fn now() -> Self {
        Instant(NOW.get())
    }

    /// The time since then; zero if it is to come.
    pub fn elapsed(&self) -> Duration {
        Self::now().saturating_duration_since(*self)
    }

    /// The time since an earlier instant; zero if it is later.
    pub fn saturating_duration_since(&self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// The same.
    pub fn duration_since(&self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }

    /// A later instant, if the clock can show it.
    pub fn checked_add(&self, time: Duration) -> Option<Self> {
        self.0.checked_add(u64::try_from(time.as_nanos()).ok()?).map(Instant)
    }

    /// An earlier instant, if the clock could show it.
    pub fn checked_sub(&self, time: Duration) -> Option<Self> {
        self.0.checked_sub(u64::try_from(time.as_nanos()).ok()?).map(Instant)
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, time: Duration) -> Instant {
        Instant(self.0.saturating_add(nanos(time)))
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

/// Sets the clock back to its first reading. While `driven`, only [`advance`] moves it.
pub fn drive(driven: bool) {
    NOW.set(BEGIN);
    DRIVEN.set(driven);
    ASLEEP.with_borrow_mut(BTreeMap::clear);
}

/// Nanoseconds since the first reading.
pub fn elapsed_ns() -> u64 {
    NOW.get() - BEGIN
}

/// Moves the clock forward.
pub fn advance(by_ns: u64) {
    NOW.set(NOW.get().saturating_add(by_ns));
}

/// Whether a task does not sleep, or the clock shows its instant.
pub fn is_awake(task: usize) -> bool {
    ASLEEP.with_borrow(|asleep| asleep.get(&task).is_none_or(|until| *until <= NOW.get()))
}

/// Nanoseconds until the next of these tasks awakes, if any of them sleeps.
pub fn next_awakes_in(tasks: impl Iterator<Item = usize>) -> Option<u64> {
    let until = |task| ASLEEP.with_borrow(|asleep| asleep.get(&task).copied());
    tasks.filter_map(until).min().map(|until| until.saturating_sub(NOW.get()))
}

/// Ends the sleep of a task.
pub(super) fn wake(task: usize) {
    ASLEEP.with_borrow_mut(|asleep| asleep.remove(&task));
}

/// Sleeps until the clock shows an instant, or [`wake`] ends it. Returns at once if `woken` says so.
pub(super) fn sleep_until(until: Instant, woken: impl Fn() -> bool) {
    let own = usize::from(me());
    ASLEEP.with_borrow_mut(|asleep| asleep.insert(own, until.0));
    while !woken() && NOW.get() < until.0 {
        yield_now();
        if !DRIVEN.get() {
            advance(POLL);
        }
    }
    wake(own);
}

/// Sleeps for a time of the simulated clock, and lets other threads run in any case.
pub fn sleep(time: Duration) {
    yield_now();
    sleep_until(Instant::now() + time, || false);
}
