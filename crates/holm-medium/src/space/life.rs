//! The life cycle of a leaf block, verified in debug builds: each step is a row of the table, and any other is a bug.
//!
//! ```text
//!            take, label f                      retire, epoch r >= f
//!   free ------------------> taken in f -----------------------------> retired in r
//!    ^                        |    a leaf, an overflow block of one,     |
//!    |     put back: unused   |    or a node above the leaves            |
//!    +------------------------+                                          |
//!    +-------------------------------------------------------------------+
//!                   an operation of label f' >= r + 2, and no floor at r or below
//! ```
//!
//! The tree decides what a taken block holds; space only knows that it is not free. An open finds each block free or
//! taken (in no epoch, since any retirement comes later).
//!
//! Each illegal step loses data. A block freed twice is allocated twice, and two leaves write to it. A block retired
//! while it is free may already be a new leaf. If a block is taken too early, a crash recovers a state that refers to
//! its old contents.

use crate::epoch::Epoch;
use crate::retention::may_reuse;

/// The state of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Life {
    #[default]
    Free,
    Taken(Epoch),
    Retired(Epoch),
}

/// The states of all blocks; in a release build, nothing.
#[derive(Default)]
pub(super) struct Lives {
    #[cfg(debug_assertions)]
    lives: Vec<Life>,
}

impl Lives {
    /// An open has found blocks below `frontier`; those in `free` are free.
    pub(super) fn found(&mut self, frontier: u32, free: &[u32]) {
        #[cfg(debug_assertions)]
        {
            self.lives = vec![Life::Taken(0); frontier as usize];
            free.iter().for_each(|block| *self.of(*block) = Life::Free);
        }
        let _ = (frontier, free);
    }

    /// An operation labelled `label` has found the block that was retired in `epoch` free.
    pub(super) fn reclaimed(&mut self, block: u32, label: Epoch) {
        self.step(block, Life::Free, |life| matches!(life, Life::Retired(epoch) if may_reuse(epoch, label)));
    }

    /// Taken by an operation labelled `label`.
    pub(super) fn taken(&mut self, block: u32, label: Epoch) {
        self.step(block, Life::Taken(label), |life| life == Life::Free);
    }

    /// Put back, unused.
    pub(super) fn put_back(&mut self, block: u32) {
        self.step(block, Life::Free, |life| matches!(life, Life::Taken(_)));
    }

    /// Retired in `epoch`.
    pub(super) fn retired(&mut self, block: u32, epoch: Epoch) {
        self.step(block, Life::Retired(epoch), |life| matches!(life, Life::Taken(label) if label <= epoch));
    }

    #[inline]
    fn step(&mut self, block: u32, next: Life, is_legal: impl Fn(Life) -> bool) {
        #[cfg(debug_assertions)]
        {
            let life = self.of(block);
            assert!(is_legal(*life), "block {block} is {life:?} and cannot become {next:?}");
            *life = next;
        }
        let _ = (block, next, is_legal);
    }

    #[cfg(debug_assertions)]
    fn of(&mut self, block: u32) -> &mut Life {
        let index = block as usize;
        if index >= self.lives.len() {
            self.lives.resize(index + 1, Life::Free);
        }
        &mut self.lives[index]
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn a_life_goes_around() {
        let mut lives = Lives::default();
        for label in [10, 14] {
            lives.taken(5, label);
            lives.put_back(5);
            lives.taken(5, label);
            lives.retired(5, label + 1);
            lives.reclaimed(5, label + 3);
        }
        lives.found(8, &[6]);
        lives.taken(6, 4);
        lives.retired(7, 4);
    }

    #[test]
    #[should_panic(expected = "block 5 is Free and cannot become Free")]
    fn given_back_twice() {
        let mut lives = Lives::default();
        lives.taken(5, 10);
        lives.put_back(5);
        lives.put_back(5);
    }

    #[test]
    #[should_panic(expected = "block 5 is Free and cannot become Retired(10)")]
    fn retired_while_free() {
        Lives::default().retired(5, 10);
    }

    #[test]
    #[should_panic(expected = "block 5 is Retired(10) and cannot become Retired(10)")]
    fn retired_twice() {
        let mut lives = Lives::default();
        lives.taken(5, 9);
        lives.retired(5, 10);
        lives.retired(5, 10);
    }

    #[test]
    #[should_panic(expected = "block 5 is Taken(10) and cannot become Taken(10)")]
    fn taken_twice() {
        let mut lives = Lives::default();
        lives.taken(5, 10);
        lives.taken(5, 10);
    }

    #[test]
    #[should_panic(expected = "block 5 is Retired(10) and cannot become Free")]
    fn used_again_an_epoch_early() {
        let mut lives = Lives::default();
        lives.taken(5, 10);
        lives.retired(5, 10);
        lives.reclaimed(5, 11);
    }
}
