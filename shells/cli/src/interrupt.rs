//! ^C during a long command: the first ends it in order, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use signal_hook::consts::SIGINT;
use signal_hook::flag;

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
