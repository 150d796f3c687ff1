//! The words that this thread watches, by their addresses, and the hooks that their accesses call.

#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicU64;

/// Whether this build observes reads.
pub const SEES: bool = cfg!(debug_assertions);

thread_local! {
    static OBSERVING: Cell<bool> = const { Cell::new(false) };
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// A run of words, and which of them are watched.
struct Watch {
    base: usize,
    /// For each word, whether it is observed and its first access is still to come.
    fresh: Vec<bool>,
    /// Whether a word that is written before it is read counts too.
    covered: bool,
    reads: Vec<usize>,
}

impl Watch {
    fn take(&mut self, address: usize) -> Option<usize> {
        let index = address.checked_sub(self.base)? / size_of::<AtomicU64>();
        let fresh = self.fresh.get_mut(index)?;
        std::mem::take(fresh).then_some(index)
    }
}

/// Watches the words from address `base` on that `fresh` names.
pub(super) fn begin(base: usize, fresh: Vec<bool>, covered: bool) {
    WATCH.with(|it| *it.borrow_mut() = Some(Watch { base, fresh, covered, reads: vec![] }));
    OBSERVING.set(SEES);
}

/// Stops watching, and returns what was read.
pub(super) fn end() -> Vec<usize> {
    OBSERVING.set(false);
    WATCH.with(|it| it.take()).map_or(vec![], |watch| watch.reads)
}

/// A thread that ends may still read: there is then no place to record it.
fn with(note: impl FnOnce(&mut Watch)) {
    let _ = WATCH.try_with(|it| it.borrow_mut().as_mut().map(note));
}

#[inline]
pub(crate) fn read(word: &AtomicU64) {
    if SEES && OBSERVING.get() {
        let address = std::ptr::from_ref(word) as usize;
        with(|watch| {
            let index = watch.take(address);
            watch.reads.extend(index);
        });
    }
}

#[inline]
pub(crate) fn wrote(word: &AtomicU64) {
    if SEES && OBSERVING.get() {
        let address = std::ptr::from_ref(word) as usize;
        with(|watch| {
            let index = watch.take(address).filter(|_| watch.covered);
            watch.reads.extend(index);
        });
    }
}
