//! Copies of words out of persistent memory.
//!
//! Here nothing writes to persistent memory, so these stores may be of any width.

use crate::word::Word;
use holm_search::Search;

/// Copies words, each of them whole, as the vector kernel does. Where schedules are explored, another thread may come
/// between any two of them. If the slices differ in length, the shorter one decides.
#[inline]
pub fn copy_words(search: Search, from: &[Word], out: &mut [u64]) {
    #[cfg(not(shuttle))]
    search.copy(crate::persistent::atomics(from), out);
    #[cfg(shuttle)]
    {
        let _ = search;
        from.iter().zip(out).for_each(|(word, out)| *out = word.read());
    }
}
