//! Machines whose flush instructions are not supported: media that need none work, others are refused.

use super::instruction::Flush;
use std::sync::atomic::{Ordering, fence as order};
use std::time::Instant;

pub(super) fn detect() -> Flush {
    Flush::Nothing
}

pub(super) fn flush(_: Flush, _: *const u8) {}

pub(super) fn fence() {
    order(Ordering::SeqCst);
}

pub(super) fn spin(ns: u32) {
    let start = Instant::now();
    while start.elapsed().as_nanos() < u128::from(ns) {}
}
