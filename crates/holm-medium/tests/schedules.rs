//! Schedules of the epoch clock: what it promises to writers, to batches, to waiters and to the one who ticks, under
//! every order of steps that a few seeds draw. Beside each promise stands a caller that breaks its side of the bargain,
//! and must be caught.
//!
//! `cargo xtask schedules` runs these; without `--cfg shuttle` there is nothing here.

#![cfg(shuttle)]
#![forbid(unsafe_code)]

#[path = "schedules/explore.rs"]
mod explore;

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

/// Some blocks of each area.
fn clock() -> Clock {
    Clock::new(FIRST_EPOCH, [1 << 14, 1 << 14])
}

/// What a model writes down beside the clock: std's lock, which is no step of a schedule.
fn note<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
