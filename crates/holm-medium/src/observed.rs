//! Observes which words a thread reads, for the crash explorer: two images that differ only in words that no thread
//! read are equal to it.
//!
//! A medium takes no part in reads, and a word's read is one load. This file is therefore compiled only with the
//! feature `observed`, which only the explorer enables, and acts only with debug assertions. Cargo unites the features
//! of what it builds at once, and a release build of the whole workspace must not pay for the explorer.
//!
//! What is recorded is the *first* access to each word by the observed thread, in order: a read, unless the thread
//! wrote the word before. With `covered`, such a write counts too: if a crash may lose it, the value below it matters.
//! Reads by other threads are not seen.

mod watch;

pub use watch::SEES;
pub(crate) use watch::{read, wrote};

use crate::word::Word;

/// Observes some words of a run of words, and records which of them were read.
pub struct ReadObserver;

impl ReadObserver {
    /// Starts observing the words with the given indices, on this thread. With `covered`, a word that the thread
    /// writes before it reads it counts too.
    pub fn begin(words: &[Word], indices: impl Iterator<Item = usize>, covered: bool) {
        let mut fresh = vec![false; words.len()];
        indices.for_each(|index| fresh[index] = true);
        watch::begin(words.as_ptr() as usize, fresh, covered);
    }

    /// Stops observing: returns the indices of the words that were read, in the order of their first reads.
    pub fn end() -> Vec<usize> {
        watch::end()
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
        let _ = (beside[0].read(), crate::persistent::atomics(&words[5..7]));
        std::thread::scope(|scope| scope.spawn(|| words[7].read()).join()).expect("a read");
        assert_eq!(ReadObserver::end(), [3, 1, 5, 6]);
        assert_eq!(ReadObserver::end(), [0; 0]);
        ReadObserver::begin(words, [1, 2, 3].into_iter(), true);
        words[2].set(1);
        let _ = (words[1].read(), words[2].read());
        assert_eq!(ReadObserver::end(), [2, 1]);
    }
}
