//! Versions: which slots of a block were live at the ends of the latest epochs. A crash chooses among these states.

use super::tagged::{State, Tagged};
use holm_medium::{Epoch, EpochSpan, Medium, Persistent, Word, WriteHandle, persistent};

/// 24 bytes with the slots that are live now, and those that were live at the ends of the two epochs before.
pub trait Versions: Persistent {
    /// Whether correctness needs the stores to one line to persist in order.
    const NEEDS_LINE_ORDER: bool;
    /// In a copy of the words: returns the latest state that began in an epoch or before. Only for versions whose words
    /// all say that by themselves.
    const AT: Option<fn(words: &[u64; 3], epoch: Epoch) -> State> = None;

    /// The words.
    fn words(&self) -> &[Word; 3];

    /// Returns the present state.
    fn now(&self) -> State;

    /// Returns the state at the end of an epoch: one of the two before the active one, or the last that a crash has
    /// kept. In the latter case, a torn change does not show.
    fn at(&self, recovery_epoch: Epoch) -> State;

    /// Returns the slots that no change of this epoch may overwrite: the states at the ends of the two epochs before
    /// name them.
    #[inline]
    fn pinned(&self, epoch: Epoch) -> u32 {
        self.at(epoch.saturating_sub(1)).bits | self.at(epoch.saturating_sub(2)).bits
    }

    /// Makes a state the present, in an epoch no earlier than the present's. The last store commits. The states at the
    /// ends of the two epochs before stay valid throughout. The caller flushes.
    fn put<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, state: State);

    /// Returns a tag later than any that a crash with this recovery point can leave, if there is one.
    fn beyond(&self, recovery_epoch: Epoch) -> Option<Epoch>;

    /// Removes every state later than the recovery point; returns whether there was any. The caller flushes.
    fn scrub<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, recovery_epoch: Epoch) -> bool;

    /// In a copy of the words: returns the slots that were live at the end of an epoch, and since which epoch as far as
    /// known. The epoch is the last one in the log, so only two later epochs can have brought changes. `None` if more
    /// have: slots of that state may have been reused.
    fn ended(words: &[u64; 3], epoch: Epoch) -> Option<State>;

    /// In a copy of the words, among the epochs after one: returns the first that a state belongs to, and the last.
    fn after(words: &[u64; 3], epoch: Epoch) -> Option<EpochSpan>;
}

persistent! {
    /// Three tagged bitmaps: see `Tagged`.
    pub struct Triple {
        words: [Word; 3],
    }
}

impl Triple {
    #[inline]
    fn tagged(&self) -> Tagged<'_> {
        Tagged(&self.words)
    }
}

impl Versions for Triple {
    const NEEDS_LINE_ORDER: bool = false;
    const AT: Option<fn(words: &[u64; 3], epoch: Epoch) -> State> = Some(Tagged::at_of);

    #[inline]
    fn words(&self) -> &[Word; 3] {
        &self.words
    }

    #[inline]
    fn now(&self) -> State {
        self.tagged().now()
    }

    #[inline]
    fn at(&self, recovery_epoch: Epoch) -> State {
        self.tagged().at(recovery_epoch)
    }

    #[inline]
    fn pinned(&self, epoch: Epoch) -> u32 {
        self.tagged().before(epoch)
    }

    #[inline]
    fn put<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, state: State) {
        self.tagged().put(handle, state);
    }

    fn beyond(&self, recovery_epoch: Epoch) -> Option<Epoch> {
        self.tagged().beyond(recovery_epoch)
    }

    fn scrub<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, recovery_epoch: Epoch) -> bool {
        self.tagged().scrub(handle, recovery_epoch)
    }

    fn ended(words: &[u64; 3], epoch: Epoch) -> Option<State> {
        Tagged::ended_of(words, epoch)
    }

    fn after(words: &[u64; 3], epoch: Epoch) -> Option<EpochSpan> {
        Tagged::after(words, epoch)
    }
}
