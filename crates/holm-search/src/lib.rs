//! Vector kernels over words that may race with a writer, with a portable reference.
//!
//! A reader of a tree node looks at `AtomicU64` words that a writer may be changing, and asks a version afterwards
//! whether what it saw was one state. So the kernels promise two things. On words that nobody changes, each answers
//! exactly what its portable reference answers. On words that race, the answer means nothing, but the call is
//! defined: it reads only the words it was lent, and what it returns lies in the range it documents.
//!
//! Rust has no vector load that may race. The kernels for x86-64 therefore do all of it, load, compare and the way to
//! a general register, within one `asm!` block, of whose loads the compiler assumes nothing. Such a block needs no
//! `#[target_feature]` on its function, so it inlines everywhere, also in a program built for the oldest x86-64.
//!
//! The kernels order nothing: they are relaxed loads. Whoever validates a version afterwards needs an acquire fence in
//! between, as after any relaxed load; no kernel moves across it.
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
//! Beside them stand kernels over plain numbers, for nodes that nobody else writes: [`LaneKernels`]; and, for either
//! kind of row, two ways to find the one line that a kernel is asked about: [`halve`] and [`interpolate`].

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
