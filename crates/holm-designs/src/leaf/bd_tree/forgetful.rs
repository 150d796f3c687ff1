//! Versions with a known bug, which the proof must catch: a slot is reused an epoch too early, while the state of two
//! epochs before still names it. No shipped build contains them.

use holm_medium::{Epoch, EpochSpan, Medium, Word, WriteHandle, persistent};
use holm_tree::leaf::buffered::tagged::State;
use holm_tree::leaf::buffered::versions::{Triple, Versions};

persistent! {
    /// Three tagged bitmaps, one of which is ignored.
    pub struct Forgetful {
        triple: Triple,
    }
}

impl Versions for Forgetful {
    const NEEDS_LINE_ORDER: bool = Triple::NEEDS_LINE_ORDER;

    fn words(&self) -> &[Word; 3] {
        self.triple.words()
    }

    fn now(&self) -> State {
        self.triple.now()
    }

    fn at(&self, recovery_epoch: Epoch) -> State {
        self.triple.at(recovery_epoch)
    }

    /// The bug.
    fn pinned(&self, epoch: Epoch) -> u32 {
        self.at(epoch.saturating_sub(1)).bits
    }

    fn put<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, state: State) {
        self.triple.put(handle, state);
    }

    fn beyond(&self, recovery_epoch: Epoch) -> Option<Epoch> {
        self.triple.beyond(recovery_epoch)
    }

    fn scrub<M: Medium>(&self, handle: &mut WriteHandle<'_, M>, recovery_epoch: Epoch) -> bool {
        self.triple.scrub(handle, recovery_epoch)
    }

    fn ended(words: &[u64; 3], epoch: Epoch) -> Option<State> {
        Triple::ended(words, epoch)
    }

    fn after(words: &[u64; 3], epoch: Epoch) -> Option<EpochSpan> {
        Triple::after(words, epoch)
    }
}
