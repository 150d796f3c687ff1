//! Whether an incremental backup is being applied: one at a time, and the sweeper asks.
//!
//! The sweeper leaves a copy alone to which the next backup will be applied. It must not decide that by a half applied
//! one, and its question must not keep anybody from applying one.

use holm_medium::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Counts the beginnings and the ends: odd while a backup is being applied.
#[derive(Default)]
pub(crate) struct Increments(AtomicU64);

/// While it lives, a backup is being applied.
pub(crate) struct Applying<'a>(&'a Increments);

impl Increments {
    /// Begins to apply a backup; `None` if another one is being applied. Does not wait: the reader of that stream may
    /// itself have called this.
    pub(crate) fn begin(&self) -> Option<Applying<'_>> {
        let begun = self.0.fetch_update(SeqCst, SeqCst, |turn| turn.is_multiple_of(2).then_some(turn + 1));
        begun.is_ok().then(|| Applying(self))
    }

    /// Returns a number that changes when a backup begins to be applied, and when that ends.
    pub(crate) fn turn(&self) -> u64 {
        self.0.load(SeqCst)
    }

    /// Asks something about the database; `None` if a backup was being applied meanwhile.
    pub(crate) fn outside<T>(&self, ask: impl FnOnce() -> T) -> Option<T> {
        let turn = self.turn();
        if !turn.is_multiple_of(2) {
            return None;
        }
        let answer = ask();
        (self.turn() == turn).then_some(answer)
    }
}

impl Drop for Applying<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found by the simulation: the sweeper's question held a lock, and a backup was refused as if another one was
    /// being applied.
    #[test]
    fn a_question_keeps_no_backup_from_being_applied() {
        let increments = Increments::default();
        assert_eq!(increments.outside(|| 7), Some(7));
        let answer = increments.outside(|| drop(increments.begin().expect("only the sweeper asks")));
        assert_eq!(answer, None, "a backup was applied meanwhile");
        let applying = increments.begin();
        assert!(applying.is_some() && increments.begin().is_none());
        assert_eq!(increments.outside(|| 7), None);
        drop(applying);
        assert_eq!(increments.outside(|| 7), Some(7));
    }
}
