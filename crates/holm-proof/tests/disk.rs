//! The log and the superblock on a disk that loses power, tears writes and fails calls.
//!
//! One small session (open, epochs, a checkpoint's switch, more epochs) runs against every fault at every call and
//! every image that a crash may leave. The check is short: recovery finds a prefix of what was attempted, with exactly
//! the bytes that were logged, and no shorter than what was acknowledged.

#[path = "disk/at_rest.rs"]
mod at_rest;
#[path = "disk/doubts.rs"]
mod doubts;
#[path = "disk/faulty.rs"]
mod faulty;
#[path = "disk/last_page.rs"]
mod last_page;
#[path = "disk/power.rs"]
mod power;
#[path = "disk/reach.rs"]
mod reach;
#[path = "disk/salvaged.rs"]
mod salvaged;
#[path = "disk/segments.rs"]
mod segments;
#[path = "disk/session.rs"]
mod session;
#[path = "disk/simulated.rs"]
mod simulated;
