//! A bounded rate: the pause after a number of bytes, and a writer that pauses.

use holm_medium::sync::{Instant, sleep};
use std::io::{self, Write};
use std::time::Duration;

/// Returns how long to wait after these bytes in this time, to keep a rate in bytes per second.
pub(crate) fn pause_after(bytes: u64, elapsed: Duration, rate: u64) -> Duration {
    let due = Duration::try_from_secs_f64(bytes as f64 / rate as f64).unwrap_or(Duration::MAX);
    due.saturating_sub(elapsed)
}

/// A writer that passes on a bounded number of bytes per second, on average since it was made.
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
    rate: u64,
    begun: Instant,
    bytes: u64,
}

impl<W> PacedWriter<W> {
    /// Wraps a writer. A rate of 0 is no limit.
    pub fn new(inner: W, bytes_per_second: u64) -> Self {
        PacedWriter { inner, rate: bytes_per_second, begun: Instant::now(), bytes: 0 }
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
        if self.rate > 0 {
            let pause = pause_after(self.bytes, self.begun.elapsed(), self.rate);
            if !pause.is_zero() {
                sleep(pause);
            }
        }
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
        let second = Duration::from_secs(1);
        assert_eq!(pause_after(300, second, 100), 2 * second);
        assert_eq!(pause_after(100, second, 100), Duration::ZERO);
        assert_eq!(pause_after(100, 2 * second, 100), Duration::ZERO);
        assert_eq!(pause_after(u64::MAX, second, 1), Duration::MAX - second);
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
