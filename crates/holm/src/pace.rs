//! A bounded rate: what pauses after a number of bytes, and a writer that pauses.

use holm_medium::sync::{Instant, sleep};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::time::Duration;

/// The time for which bytes may come at once that did not come before.
const BURST: Duration = Duration::from_millis(100);

/// The longest sleep before a watcher is asked again.
const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// A bounded rate. Time in which nothing came is made up for by a tenth of a second's bytes, and no more.
#[derive(Debug)]
pub(crate) struct Pace {
    rate: Option<u64>,
    /// The last look at the time.
    looked: Instant,
    /// Bytes up to that look.
    bytes: u64,
    /// For how long the bytes that have come are too many.
    debt: Duration,
    /// For how long they are too few.
    credit: Duration,
}

impl Pace {
    /// A rate in bytes per second; 0 is no limit.
    pub(crate) fn new(rate: u64) -> Self {
        let (rate, looked) = (Some(rate).filter(|rate| *rate > 0), Instant::now());
        Pace { rate, looked, bytes: 0, debt: Duration::ZERO, credit: Duration::ZERO }
    }

    /// The rate; `None` if there is no limit.
    pub(crate) fn rate(&self) -> Option<u64> {
        self.rate
    }

    /// Returns the pause after `bytes` more that have come `elapsed` after the last ones.
    fn pause_after(&mut self, bytes: u64, elapsed: Duration) -> Duration {
        let Some(rate) = self.rate else { return Duration::ZERO };
        self.credit = (self.credit + elapsed.saturating_sub(self.debt)).min(BURST);
        self.debt = self.debt.saturating_sub(elapsed);
        let cost = Duration::try_from_secs_f64(bytes as f64 / rate as f64).unwrap_or(Duration::MAX);
        let on_credit = cost.min(self.credit);
        self.credit -= on_credit;
        self.debt = self.debt.saturating_add(cost - on_credit);
        self.debt
    }

    /// Notes that there were `bytes` in all by now, and sleeps until the rate allows more, or until `watch` breaks off:
    /// it is asked again and again during the sleep.
    pub(crate) fn keep(&mut self, bytes: u64, mut watch: impl FnMut() -> ControlFlow<()>) -> ControlFlow<()> {
        let mut slept = false;
        loop {
            let now = Instant::now();
            let elapsed = now.saturating_duration_since(std::mem::replace(&mut self.looked, now));
            let more = bytes - std::mem::replace(&mut self.bytes, bytes);
            let pause = self.pause_after(more, elapsed);
            if pause.is_zero() {
                return ControlFlow::Continue(());
            }
            if std::mem::replace(&mut slept, true) {
                watch()?;
            }
            sleep(pause.min(LONGEST_SLEEP));
        }
    }
}

/// A writer that passes on a bounded number of bytes per second. What was not passed on in time is made up for by a
/// tenth of a second's bytes at once, and no more.
///
/// A backup through it takes longer and leaves more of the machine to the writers beside it. The backup's snapshot is
/// open for that time, and keeps what they replace.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let db = holm::Database::open(folder.path().join("sea.holm"))?;
/// let mut stream = Vec::new(); // or a file
/// db.backup_to(&mut holm::PacedWriter::new(&mut stream, 200 << 20))?;
/// # assert!(!stream.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PacedWriter<W> {
    inner: W,
    pace: Pace,
    bytes: u64,
}

impl<W> PacedWriter<W> {
    /// Wraps a writer. A rate of 0 is no limit.
    pub fn new(inner: W, bytes_per_second: u64) -> Self {
        PacedWriter { inner, pace: Pace::new(bytes_per_second), bytes: 0 }
    }

    /// Returns the wrapped writer.
    pub fn into_inner(self) -> W {
        self.inner
    }
}

impl<W: Write> Write for PacedWriter<W> {
    /// Writes, and then sleeps until the rate allows more.
    ///
    /// # Errors
    /// Those of the wrapped writer.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        let _ = self.pace.keep(self.bytes, || ControlFlow::Continue(()));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;

    #[test]
    fn a_pause_makes_up_for_what_came_too_fast() {
        let (second, mut pace) = (Duration::from_secs(1), Pace::new(100));
        assert_eq!(pace.pause_after(300, Duration::ZERO), 3 * second);
        assert_eq!(pace.pause_after(0, second), 2 * second);
        assert_eq!(pace.pause_after(100, second), 2 * second);
        assert_eq!(pace.pause_after(0, 2 * second), Duration::ZERO);
        assert_eq!(Pace::new(1).pause_after(u64::MAX, second), Duration::MAX - BURST);
        assert_eq!(Pace::new(0).pause_after(u64::MAX, Duration::ZERO), Duration::ZERO);
    }

    /// After an hour without a byte, an hour's bytes came at once.
    #[test]
    fn a_quiet_time_is_followed_by_no_burst() {
        let (second, mut pace) = (Duration::from_secs(1), Pace::new(100));
        assert_eq!(pace.pause_after(0, 3_600 * second), Duration::ZERO);
        assert_eq!(pace.pause_after(110, Duration::ZERO), second);
    }

    #[test]
    fn a_watcher_ends_a_pause() {
        let mut asked = 0;
        let kept = Pace::new(1).keep(1 << 40, || {
            asked += 1;
            if asked < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        assert!(kept.is_break());
    }

    #[test]
    fn a_paced_writer_passes_everything_on() {
        for rate in [0, u64::MAX] {
            let mut writer = PacedWriter::new(Vec::new(), rate);
            writer.write_all(b"north").and_then(|()| writer.write_all(b"south")).expect("memory");
            assert_eq!(writer.into_inner(), b"northsouth");
        }
        let refused = PacedWriter::new(&mut [0u8; 3][..], 1 << 40).write_all(b"north");
        assert_eq!(refused.expect_err("no room").kind(), io::ErrorKind::WriteZero);
    }
}
