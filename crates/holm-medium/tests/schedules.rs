//! Schedules of the epoch clock: its guarantees to writers, batches, waiters and the thread that ends epochs, under
//! every order of steps that a few seeds draw. Beside each guarantee stands a caller that breaks its obligations, and
//! the test must catch it.
//!
//! `cargo xtask schedules` runs these; without `--cfg shuttle` this program is empty.

#![cfg(shuttle)]
#![forbid(unsafe_code)]

#[path = "schedules/explore.rs"]
mod explore;

#[path = "schedules/boundaries.rs"]
mod boundaries;
#[path = "schedules/gate.rs"]
mod gate;
#[path = "schedules/labels.rs"]
mod labels;
#[path = "schedules/stops.rs"]
mod stops;
#[path = "schedules/waiters.rs"]
mod waiters;

use holm_medium::{Clock, FIRST_EPOCH};
use std::sync::{Mutex, MutexGuard};

/// A clock with some blocks of each area.
fn clock() -> Clock {
    Clock::new(FIRST_EPOCH, [1 << 14, 1 << 14])
}

/// What a model records beside the clock: std's lock, which is no step of a schedule.
fn note<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
