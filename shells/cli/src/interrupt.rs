//! Signals: ^C during a long command, of which the first ends it in order and the second at once; and the one that
//! would end the program where a file reaches the limit of its size.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGXFSZ};
use signal_hook::flag;

/// From here on, a write beyond the limit of a file's size (`ulimit -f`) fails, as one to a full disk does. The signal
/// that the system sends as well ends nothing.
pub(crate) fn outlive_file_limits() {
    // Without a handler, the signal does what it did.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Whether the user has asked for the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Begins to listen.
    pub(crate) fn listen(&self) -> anyhow::Result<()> {
        let begin = || {
            // In this order: the second signal finds the flag set by the first.
            flag::register_conditional_default(SIGINT, self.0.clone())?;
            flag::register(SIGINT, self.0.clone())
        };
        begin().map(drop).context("listening for ^C")
    }

    pub(crate) fn is_there(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
