//! Which words a thread reads, for the proof: two images that differ only in words that nobody read are one image.
//!
//! The medium is never asked about reads, and a word's read is one load. So this is compiled only with the feature
//! `observed`, which the proof alone turns on, and even then acts only where debug assertions are kept: Cargo unites
//! the features of what it builds at once, and a release build of the whole workspace must not pay for the proof. What
//! is noted is each word's *first* access by the watched thread, in order: a read, unless the thread wrote it before.
//! Who may lose such a write again must know what lay under it, and has it noted as well. Reads by other threads are
//! not seen.

use crate::word::Word;
use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicU64;

/// Whether reads are seen in this build.
pub const SEES: bool = cfg!(debug_assertions);

thread_local! {
    static OBSERVING: Cell<bool> = const { Cell::new(false) };
    static OBSERVER: RefCell<Option<ReadObserver>> = const { RefCell::new(None) };
}

/// Some words of a run of words, and which of them were read.
pub struct ReadObserver {
    base: usize,
    /// Of each word whether its first access is still to come, and is of interest.
    fresh: Vec<bool>,
    /// Whether a word that is written before it is read counts too.
    covered: bool,
    reads: Vec<usize>,
}

impl ReadObserver {
    /// Watches those of the words whose indices are given, by this thread, from now on; `covered`: those that it writes
    /// before it reads them, too.
    pub fn begin(words: &[Word], indices: impl Iterator<Item = usize>, covered: bool) {
        let mut fresh = vec![false; words.len()];
        indices.for_each(|index| fresh[index] = true);
        let observer = ReadObserver { base: words.as_ptr() as usize, fresh, covered, reads: vec![] };
        OBSERVER.with(|it| *it.borrow_mut() = Some(observer));
        OBSERVING.set(SEES);
    }

    /// Ends it: the indices of the words that were read, in the order of their first reads.
    pub fn end() -> Vec<usize> {
        OBSERVING.set(false);
        OBSERVER.with(|it| it.take()).map_or(vec![], |observer| observer.reads)
    }

    fn take(&mut self, address: usize) -> Option<usize> {
        let index = address.checked_sub(self.base)? / size_of::<Word>();
        let fresh = self.fresh.get_mut(index)?;
        std::mem::take(fresh).then_some(index)
    }
}

/// A thread that ends may still read: then there is nothing to note it in.
fn with(note: impl FnOnce(&mut ReadObserver)) {
    let _ = OBSERVER.try_with(|it| it.borrow_mut().as_mut().map(note));
}

#[inline]
pub(crate) fn read(word: &AtomicU64) {
    if SEES && OBSERVING.get() {
        let address = std::ptr::from_ref(word) as usize;
        with(|observer| {
            let index = observer.take(address);
            observer.reads.extend(index);
        });
    }
}

#[inline]
pub(crate) fn wrote(word: &AtomicU64) {
    if SEES && OBSERVING.get() {
        let address = std::ptr::from_ref(word) as usize;
        with(|observer| {
            let index = observer.take(address).filter(|_| observer.covered);
            observer.reads.extend(index);
        });
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use crate::image::Image;
    use crate::loc::Area;

    #[test]
    fn the_first_read_of_a_word_is_noted_unless_it_was_written_before() {
        let image = Image::heap(128, 64);
        let words = image.words(Area::Leaves.at(0), 16).expect("words");
        let beside = image.words(Area::Records.at(0), 8).expect("words");
        let _ = words[1].read();
        ReadObserver::begin(words, [1, 2, 3, 5, 6].into_iter(), false);
        words[2].set(1);
        for index in [3, 2, 1, 3, 4] {
            let _ = words[index].read();
        }
        words[1].set(7);
        let _ = (beside[0].read(), crate::word::atomics(&words[5..7]));
        std::thread::scope(|scope| scope.spawn(|| words[7].read()).join()).expect("a read");
        assert_eq!(ReadObserver::end(), [3, 1, 5, 6]);
        assert_eq!(ReadObserver::end(), [0; 0]);
        ReadObserver::begin(words, [1, 2, 3].into_iter(), true);
        words[2].set(1);
        let _ = (words[1].read(), words[2].read());
        assert_eq!(ReadObserver::end(), [2, 1]);
    }
}
