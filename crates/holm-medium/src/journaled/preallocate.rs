//! The preallocating thread: grows the files ahead of the writers, and starts write-back behind them.

#![forbid(unsafe_code)]

use super::state::Shared;
use std::time::Duration;

/// How often the preallocating thread checks the frontiers without a notification.
const PREALLOCATE_INTERVAL: Duration = Duration::from_millis(10);

/// Preallocates until the database is closed.
pub(super) fn run(shared: &Shared) {
    while !shared.is_stopped() {
        shared.wait_for_frontier(PREALLOCATE_INTERVAL);
        let medium = &shared.storage().medium;
        if let Err(error) = medium.preallocate().and_then(|()| medium.write_behind()) {
            // Not fatal: the writer that needs the space gets the error, and existing data stays usable.
            ::log::warn!("holm: {}: {error}", medium.dir.display());
        }
    }
}
