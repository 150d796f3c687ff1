//! The group-commit thread: ends epochs at an interval and on request, with `committer.rs`.

#![forbid(unsafe_code)]

use super::committer::{end_epoch, end_last_epoch, make_durable};
use super::state::Shared;
use crate::error::{MediumError, Result};

/// Tells the observer, and those who wait for an epoch, that no further one becomes durable; also after a panic.
struct Ending<'a> {
    shared: &'a Shared,
    why: Option<MediumError>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if let Some(observer) = self.shared.observer() {
            observer.ended(self.why.as_ref());
        }
        self.shared.storage().clock.end_waits();
    }
}

/// Ends epochs until the clock is stopped, and one last epoch after that.
pub(super) fn run(shared: &Shared) {
    let died = MediumError::Died { thread: "the group-commit thread", why: "it panicked".into() };
    let mut ending = Ending { shared, why: Some(died) };
    ending.why = end_epochs(shared).err();
}

/// The loop. Returns the error after which nothing is acknowledged.
fn end_epochs(shared: &Shared) -> Result<()> {
    let mut active_since = shared.commit_state().active_since;
    shared.counters().not_durable_since(active_since);
    loop {
        let interval = shared.pace().interval();
        let is_stopped = shared.storage().clock.sleep(interval.and_then(|interval| active_since.checked_add(interval)));
        // Another thread may have met a failure: nothing is acknowledged after it.
        shared.refuse_if_failed()?;
        let mut state = shared.commit_state();
        let is_last = is_stopped && !state.has_work();
        if is_last {
            end_last_epoch(shared, &mut state);
        } else if !state.has_work() && state.active_since == active_since {
            end_epoch(shared, &mut state);
        }
        // Otherwise a leader has ended the epoch that was due, and may have left it.
        make_durable(shared, &mut state)?;
        active_since = state.active_since;
        if is_last {
            return Ok(());
        }
    }
}
