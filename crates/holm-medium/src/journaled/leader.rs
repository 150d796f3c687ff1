//! The leader of a commit: a thread that waits for an epoch and ends it itself. That saves the way to the group-commit
//! thread and back, which takes longer than all else but the write itself.
//!
//! A leader waits for operations of the epoch and for the medium, as its wait did anyway. What may take longer it
//! leaves to the thread: room in the log, and what is said of failures.

#![forbid(unsafe_code)]

use super::committer::{end_epoch, make_durable_if_there_is_room};
use super::state::Shared;
use crate::epoch::{CommitLeader, Led};
use crate::error::MediumError;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl CommitLeader for Shared {
    fn lead(&self) -> Led {
        // A feed reads what an epoch has changed; that is the thread's work.
        if self.is_forked() || self.observer().is_some_and(|observer| observer.is_listening()) {
            return Led::Whole;
        }
        let mut state = self.commit_state();
        let ended = catch_unwind(AssertUnwindSafe(|| {
            self.refuse_if_failed()?;
            end_epoch(self, &mut state);
            make_durable_if_there_is_room(self, &mut state)
        }));
        match ended {
            Ok(Ok(true)) => return Led::Whole,
            Ok(Ok(false)) => {}
            Ok(Err(error)) => state.fail(error),
            Err(panic) => state.fail(MediumError::died("the leader of a commit", &*panic)),
        }
        Led::Left
    }
}
