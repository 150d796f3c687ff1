//! Which slots of a block counted at the ends of the latest epochs: what a crash may choose between.

use super::tagged::{State, Tagged};
use holm_medium::{Epoch, Medium, Persistent, Word, WriteHandle, persistent};

/// 24 bytes that say which slots count now, and which did at the ends of the two epochs before this one.
pub trait Versions: Persistent {
    /// Whether a crash must keep the stores to one line in order.
    const NEEDS_LINE_ORDER: bool;

    /// The words.
    fn words(&self) -> &[Word; 3];

    /// The present.
    fn now(&self) -> State;

    /// The state at the end of an epoch, which is one of the two before the active one, or the last that a crash has
    /// kept: then whatever of a change the crash has torn apart does not show.
    fn at(&self, recovery_epoch: Epoch) -> State;

    /// Slots that no change of this epoch may write: the states at the ends of the two epochs before name them.
    #[inline]
    fn pinned(&self, epoch: Epoch) -> u32 {
        self.at(epoch.saturating_sub(1)).bits | self.at(epoch.saturating_sub(2)).bits
    }

    /// Makes a state the present, in an epoch no earlier than the present's. The last store commits; the states at the
    /// ends of the two epochs before stand throughout. The caller flushes.
    fn put<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, state: State);

    /// A tag beyond any that can be here if a crash has cut history there.
    fn beyond(&self, recovery_epoch: Epoch) -> Option<Epoch>;

    /// Takes away what is later than the recovery point; tells whether there was anything. The caller flushes.
    fn scrub<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, recovery_epoch: Epoch) -> bool;

    /// In a copy of the words: which slots counted at the end of an epoch, and since which epoch as far as that is
    /// known. The epoch is the last that the log has: only two later ones can have brought changes. `None` where more
    /// have, so that slots of that state may have been used again.
    fn ended(words: &[u64; 3], epoch: Epoch) -> Option<State>;

    /// In a copy of the words: of the epochs after one, the first that a state is of and the last.
    fn after(words: &[u64; 3], epoch: Epoch) -> Option<(Epoch, Epoch)>;
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

    fn after(words: &[u64; 3], epoch: Epoch) -> Option<(Epoch, Epoch)> {
        Tagged::after(words, epoch)
    }
}
