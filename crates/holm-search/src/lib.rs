//! Vector kernels over words that may race with a writer, with a portable reference.
//!
//! A reader of a tree node reads `AtomicU64` words that a writer may be changing. Afterwards it checks a version to
//! find out whether it saw one consistent state. So the kernels make two guarantees. On words that do not change, each
//! kernel returns exactly what its portable reference returns. On words that race, the result is meaningless, but the
//! call is defined: it reads only the words in its arguments, and its result lies in the documented range.
//!
//! Rust has no vector load that may race. The kernels for x86-64 therefore load, compare and move the result to a
//! general register within one `asm!` block. The compiler makes no assumption about the loads in such a block. The
//! block needs no `#[target_feature]` on its function, so it inlines everywhere, even in a program built for the oldest
//! x86-64.
//!
//! The kernels do not order memory: they are relaxed loads. A caller that validates a version afterwards needs an
//! acquire fence in between, as after any relaxed load. No kernel moves across it.
//!
//! ```
//! use holm_search::Search;
//! use std::sync::atomic::AtomicU64;
//!
//! let search = Search::detect();
//! let node = [3, 5, 5, 9, 0, 0, 0, 0].map(AtomicU64::new);
//! assert_eq!(search.rank(&node, 4, 5), 3);
//! assert_eq!(search.rank_below(&node, 4, 5), 1);
//! assert_eq!(search.words_equal(&node, 5) & 0b1111, 0b0110);
//! ```
//!
//! The crate also has kernels over plain numbers, for nodes without a concurrent writer: [`LaneKernels`]. For both
//! kinds of node there are two ways to find the one line that a kernel then searches: [`halve`] and [`interpolate`].

#![deny(unsafe_code)]

mod kernels;
mod lanes;
mod lines;
mod portable;
mod prefetch;
mod search;
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[allow(unsafe_code, reason = "vector loads of racing words exist only in `asm!`, which is unsafe")]
mod x86_64;

pub use lanes::{Lane, LaneKernels, MASK_LANES, Vectors};
pub use lines::{GUESSES, Lines, halve, interpolate};
pub use portable::Portable;
pub use prefetch::{
    Hint, prefetch, prefetch_address, prefetch_address_as, prefetch_address_write, prefetch_lines, prefetch_lines_as,
    prefetch_write,
};
pub use search::{MOST_RANKED, Search};

/// Words in a cache line: the unit in which nodes are searched.
pub const LINE_WORDS: usize = 8;

/// Bytes in a cache line.
pub const LINE_BYTES: usize = 64;
