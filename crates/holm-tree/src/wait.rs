//! How a thread waits for another one that holds a latch.

use crate::latch::{Latch, LatchGuard};
use crate::sync::{spin_loop, yield_now};

/// Waits a little longer each time: a loop that ends by another thread's progress calls this in each turn.
pub fn back_off(turn: &mut u32) {
    *turn += 1;
    if *turn < 32 { spin_loop() } else { yield_now() }
}

/// Waits for a latch however long it takes. The caller must hold no latch that the latch's holder may want.
pub(crate) fn wait(latch: &Latch) -> LatchGuard<'_> {
    let mut turn = 0;
    loop {
        match latch.read().and_then(|version| latch.try_lock(version)) {
            Some(held) => return held,
            None => back_off(&mut turn),
        }
    }
}
