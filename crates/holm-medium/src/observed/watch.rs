//! The words that this thread watches, by their addresses, and the hooks that their accesses call.

#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Whether this build observes reads.
pub const SEES: bool = cfg!(debug_assertions);

/// Whether any thread of the process has ever observed: most test programs never do, and pay one load for each access.
static OBSERVED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The address of the first observed word, and the bytes from there on; none if nothing is observed. Apart from the
    /// rest, for every access asks for it.
    static RUN: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    static WATCH: RefCell<Watch> = const { RefCell::new(Watch::nothing()) };
}

/// Which words of a run are watched.
struct Watch {
    /// For each word, whether it is observed and its first access is still to come.
    fresh: Vec<bool>,
    /// Whether a word that is written before it is read counts too.
    covered: bool,
    reads: Vec<usize>,
}

impl Watch {
    const fn nothing() -> Self {
        Watch { fresh: Vec::new(), covered: false, reads: Vec::new() }
    }
}

/// Watches the words from address `base` on that `fresh` names.
pub(super) fn begin(base: usize, fresh: Vec<bool>, covered: bool) {
    if SEES {
        OBSERVED.store(true, Relaxed);
        RUN.set((base, fresh.len() * size_of::<AtomicU64>()));
        WATCH.set(Watch { fresh, covered, reads: vec![] });
    }
}

/// Stops watching, and returns what was read.
pub(super) fn end() -> Vec<usize> {
    RUN.set((0, 0));
    WATCH.with_borrow_mut(|watch| std::mem::take(&mut watch.reads))
}

/// Notes an access, and counts it if it is the first one to an observed word.
#[inline]
fn access(word: &AtomicU64, counts: impl FnOnce(&Watch) -> bool) {
    let (base, bytes) = RUN.get();
    let offset = (std::ptr::from_ref(word) as usize).wrapping_sub(base);
    if offset >= bytes {
        return;
    }
    let index = offset / size_of::<AtomicU64>();
    // A thread that ends may still read: there is then no place to record it.
    let _ = WATCH.try_with(|watch| {
        let mut watch = watch.borrow_mut();
        if std::mem::take(&mut watch.fresh[index]) && counts(&watch) {
            watch.reads.push(index);
        }
    });
}

// The access itself is called, not inlined: this crate is optimised in tests, and the crates that read are not.

#[inline(always)]
pub(crate) fn read(word: &AtomicU64) {
    if SEES && OBSERVED.load(Relaxed) {
        noted_read(word);
    }
}

#[inline(always)]
pub(crate) fn wrote(word: &AtomicU64) {
    if SEES && OBSERVED.load(Relaxed) {
        noted_write(word);
    }
}

#[inline(never)]
fn noted_read(word: &AtomicU64) {
    access(word, |_| true);
}

#[inline(never)]
fn noted_write(word: &AtomicU64) {
    access(word, |watch| watch.covered);
}
