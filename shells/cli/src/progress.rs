//! The progress of a load or backup: bytes, rate and remaining time, on standard error and only if it is a terminal.

use std::io::{self, IsTerminal, Read, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A line that redraws itself; nothing if standard error is not a terminal.
pub(crate) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// `total_bytes` is the length of the input, if it is known. Without it there is a rate, but no remaining time.
    pub(crate) fn new(total_bytes: Option<u64>) -> Self {
        if !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let bar = match total_bytes {
            Some(_) => "{bar:30} {percent:>3}% {bytes}/{total_bytes} {binary_bytes_per_sec} {eta} left",
            None => "{spinner} {bytes} {binary_bytes_per_sec} {elapsed}",
        };
        let style = ProgressStyle::with_template(bar).unwrap_or_else(|_| ProgressStyle::default_bar());
        let target = ProgressDrawTarget::stderr();
        let bar = ProgressBar::with_draw_target(total_bytes, target).with_style(style);
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// Wraps the input, and counts its bytes.
    pub(crate) fn watch<R: Read>(&self, input: R) -> impl Read + use<R> {
        self.bar.wrap_read(input)
    }

    /// Wraps the output, and counts its bytes.
    pub(crate) fn watch_output<W: Write>(&self, output: W) -> impl Write + use<W> {
        self.bar.wrap_write(output)
    }

    /// States how many bytes are done.
    pub(crate) fn reach(&self, bytes: u64) {
        self.bar.set_position(bytes);
    }

    /// Removes the line, so that the next message stands alone.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
