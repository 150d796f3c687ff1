//! `Search`: the level of kernels that a tree uses, and the calls that check arguments and dispatch.
//!
//! The level is a byte in the tree, so each call begins with a branch that is always predicted. A table of functions
//! would prevent inlining. For all levels, this file narrows nodes of more than 64 words to the eight lines that
//! contain the result.

use crate::LINE_WORDS;
use crate::kernels::{Kernels, Line, WINDOW_LINES};
use crate::lines::{GUESSES, Lines, halve, interpolate};
use crate::portable::Portable;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::x86_64::{Avx2, Avx512};
use std::hint::select_unpredictable;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The level of kernels that a tree uses. It is chosen once, when a tree is opened: [`Search::detect`] returns the
/// fastest of this CPU, [`Search::portable`] the reference. At most one byte.
///
/// No call panics or reads outside its arguments, whatever the words hold and whichever threads change them meanwhile.
/// The stated gains are ratios to [`Search::portable`], measured by `examples/price.rs` on one Intel server CPU
/// (Sapphire Rapids) in a build for plain x86-64. The first number is for calls in the cache that may overlap, the
/// second for calls over nodes beyond the caches. Calls that wait for one another gain less, because moving a vector's
/// result to a general register has a long latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Portable(Portable),
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx2(Avx2),
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    Avx512(Avx512),
}

/// Dispatches a call to the kernels of the level.
macro_rules! by_level {
    ($search:expr, $kernels:ident => $call:expr) => {
        match $search.0 {
            Level::Portable($kernels) => $call,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx2($kernels) => $call,
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx512($kernels) => $call,
        }
    };
}

/// The most numbers that [`Search::ranks`] takes.
pub const MOST_RANKED: usize = 32;

/// A node of at most this number of lines is narrowed to a window by reading every eighth line. A larger one is halved
/// first.
const STRIDE_LINES: usize = 64;

impl Search {
    /// Returns the fastest kernels that this CPU and its operating system can run.
    pub fn detect() -> Self {
        Self::all_available().pop().unwrap_or(Self::portable())
    }

    /// Returns the reference implementation in safe Rust, which runs everywhere.
    pub const fn portable() -> Self {
        Self(Level::Portable(Portable))
    }

    /// Returns every level that can run here, the slowest first, for tests and measurements.
    pub fn all_available() -> Vec<Self> {
        let levels = [
            Some(Level::Portable(Portable)),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Avx2::detect().map(Level::Avx2),
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Avx512::detect().map(Level::Avx512),
        ];
        levels.into_iter().flatten().map(Self).collect()
    }

    /// Returns the level's name, as reports print it.
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Portable(_) => "portable",
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx2(_) => "avx2",
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            Level::Avx512(_) => "avx512",
        }
    }

    /// Returns how many of the first `count` words of `sorted` are <= `key`, unsigned.
    ///
    /// `sorted` is whole lines: its length is a multiple of 8, and words after the last whole line are ignored. The
    /// first `count` words are in ascending order, with duplicates allowed; later words are ignored. `count` is clamped
    /// to the number of words. The result is at most the clamped `count`, even if the words race or are out of order.
    ///
    /// No branch depends on a word. Up to 64 words, all lines are compared. Up to 512 words, the first word of every
    /// eighth line selects eight lines to compare. Larger nodes are halved first: O(log(len)). Whole lines are read,
    /// even behind `count`.
    ///
    /// Gains with AVX-512: 8 words 3.1x and 1.4x, 38 words 3.9x and 3.0x, 60 words 4.2x and 3.4x, 256 words 2.8x and
    /// 2.9x; with AVX2: 1.8x and 1.4x, 1.8x and 1.5x, 1.9x and 2.0x, 1.5x and 1.8x. If each call waits for the previous
    /// one, a single line is a loss (0.7x to 0.9x), and 38 words gain 1.7x with AVX-512, 1.2x with AVX2.
    #[inline(always)]
    pub fn rank(self, sorted: &[AtomicU64], count: usize, key: u64) -> usize {
        let (lines, _) = sorted.as_chunks::<LINE_WORDS>();
        let count = count.min(lines.as_flattened().len());
        if lines.len() <= WINDOW_LINES {
            return by_level!(self, kernels => kernels.rank(lines, count, key));
        }
        let (before, window) = window(lines, count, key);
        let within = count.saturating_sub(before).min(WINDOW_LINES * LINE_WORDS);
        before + by_level!(self, kernels => kernels.rank(window, within, key))
    }

    /// Returns for each of the first `count` numbers how many of them are less. If no two are equal, this is its sorted
    /// position. Equal numbers get equal ranks. `count` is clamped to [`MOST_RANKED`]; results behind it are
    /// meaningless.
    ///
    /// No branch depends on a number: O(count) steps over all of them at once.
    #[inline]
    pub fn ranks(self, numbers: &[u64; MOST_RANKED], count: usize) -> [u64; MOST_RANKED] {
        by_level!(self, kernels => kernels.ranks(numbers, count.min(MOST_RANKED)))
    }

    /// Returns how many of the first `count` words of `sorted` are < `key`, unsigned. Otherwise as [`Search::rank`], at
    /// the same cost.
    #[inline(always)]
    pub fn rank_below(self, sorted: &[AtomicU64], count: usize, key: u64) -> usize {
        // The words below a key are those up to the key minus one. No word is below zero.
        key.checked_sub(1).map_or(0, |before| self.rank(sorted, count, before))
    }

    /// As [`Search::rank`], by halving over the lines: it compares one whole line, and reads the first word of
    /// O(log(len)) others.
    #[inline(always)]
    pub fn rank_halving(self, sorted: &[AtomicU64], count: usize, key: u64) -> usize {
        Row::new(self, sorted, count, key).map_or(0, |(row, lines)| halve(row, 0, lines))
    }

    /// As [`Search::rank`], by interpolating `key` between the first words of lines, and by halving after
    /// [`crate::GUESSES`] guesses.
    #[inline(always)]
    pub fn rank_interpolating(self, sorted: &[AtomicU64], count: usize, key: u64) -> usize {
        Row::new(self, sorted, count, key).map_or(0, |(row, lines)| interpolate(row, lines, GUESSES))
    }

    /// Bit i of the result is set if and only if byte i equals `byte`. Bytes are counted from the low end of each word.
    /// The caller masks the bits of bytes that it does not use.
    ///
    /// Gains: 5.1x and 2.5x with AVX-512, 4.2x and 2.5x with AVX2.
    #[inline(always)]
    pub fn bytes_equal(self, words: &[AtomicU64; 4], byte: u8) -> u32 {
        by_level!(self, kernels => kernels.bytes_equal(words, byte))
    }

    /// Bit i of the result is set if and only if `words[i] == key`.
    ///
    /// `words` is whole lines, at most eight of them. Words after the last whole line, and after the 64th word, are
    /// ignored and have no bit.
    ///
    /// Gains for 32 words: 5.9x and 6.1x with AVX-512, 3.2x and 4.1x with AVX2; for 64 words: 10x and 4.9x, 4.7x and
    /// 3.0x.
    #[inline(always)]
    pub fn words_equal(self, words: &[AtomicU64], key: u64) -> u64 {
        let (lines, _) = words.as_chunks::<LINE_WORDS>();
        let lines = &lines[..lines.len().min(WINDOW_LINES)];
        by_level!(self, kernels => kernels.words_equal(lines, key))
    }

    /// Copies words out of racing memory. If the slices differ in length, it copies as many words as the shorter one
    /// holds; the rest of `out` is unchanged.
    ///
    /// Each word is copied whole, but two words, even adjacent ones, may come from different moments.
    ///
    /// Gains, with AVX2 and so with AVX-512, which copies the same way: 4 words 1.2x and 1.3x, 13 words 1.3x and 1.8x,
    /// 120 words 1x to 1.4x and 2.3x. A copy of up to 13 words gains nothing if the next call waits for it.
    #[inline(always)]
    pub fn copy(self, from: &[AtomicU64], out: &mut [u64]) {
        by_level!(self, kernels => kernels.copy(from, out));
    }

    /// Returns whether `words` starts with the bytes `key`, counted from the low end of each word. Bytes behind the
    /// key, in its last word and after it, are ignored. Returns `false` if `words` is too short to hold the key.
    ///
    /// Gains for keys of 8, 23 and 100 bytes with AVX-512: 1.2x, 1.8x, 2.1x in the cache, 1.1x, 1.5x, 2.3x beyond. AVX2
    /// works word by word below 32 bytes; 100 bytes gain 1.4x and 2.1x. If the next call waits for the result, AVX-512
    /// loses on short keys: 0.7x for 8 and 23 bytes.
    #[inline(always)]
    pub fn starts_with(self, words: &[AtomicU64], key: &[u8]) -> bool {
        key.len() <= size_of_val(words) && by_level!(self, kernels => kernels.starts_with(words, key))
    }
}

/// Words in lines, the number of words that count, and a key: words up to the key precede.
#[derive(Clone, Copy)]
struct Row<'a> {
    search: Search,
    lines: &'a [Line],
    count: usize,
    key: u64,
}

impl<'a> Row<'a> {
    /// Also returns how many lines hold words that count; `None` if none does.
    #[inline(always)]
    fn new(search: Search, sorted: &'a [AtomicU64], count: usize, key: u64) -> Option<(Self, usize)> {
        let (lines, _) = sorted.as_chunks::<LINE_WORDS>();
        let count = count.min(lines.as_flattened().len());
        (count > 0).then_some((Row { search, lines, count, key }, count.div_ceil(LINE_WORDS)))
    }
}

impl Lines for Row<'_> {
    const PER_LINE: usize = LINE_WORDS;

    #[inline(always)]
    fn begins_before(self, line: usize) -> bool {
        self.lines[line][0].load(Relaxed) <= self.key
    }

    #[inline(always)]
    fn preceding(self, line: usize) -> usize {
        let count = (self.count - line * LINE_WORDS).min(LINE_WORDS);
        by_level!(self.search, kernels => kernels.rank(&self.lines[line..=line], count, self.key))
    }

    #[inline(always)]
    fn position(self, line: usize) -> f64 {
        self.lines[line][0].load(Relaxed) as f64
    }

    #[inline(always)]
    fn sought(self) -> f64 {
        self.key as f64
    }
}

/// Returns the eight of more than eight `lines` that contain the rank of `key`, and how many words precede them, all of
/// which count. It is branch-free except for the loops, whose lengths depend only on the number of lines.
#[inline(always)]
fn window(lines: &[Line], count: usize, key: u64) -> (usize, &[Line]) {
    // Lines without counted words are excluded, whatever their first words are.
    let counted = count.div_ceil(LINE_WORDS);
    let starts_at_most = |line: &Line| line[0].load(Relaxed) <= key;
    let (mut first, mut left) = (0, lines.len());
    while left > STRIDE_LINES {
        let middle = first + left / 2;
        first = select_unpredictable(starts_at_most(&lines[middle]) & (middle < counted), middle, first);
        left -= left / 2;
    }
    // These loads do not depend on one another, unlike those of the halving.
    let steps = lines[first..first + left].chunks(WINDOW_LINES).skip(1).enumerate();
    let at_most = steps.fold(0_u32, |mask, (step, lines)| mask | u32::from(starts_at_most(&lines[0])) << step);
    // First words behind the counted lines are arbitrary. So the count ends at the first word above the key, or at the
    // end of the counted lines.
    let steps_counted = counted.saturating_sub(first + 1) / WINDOW_LINES;
    let passed = (at_most.trailing_ones() as usize).min(steps_counted);
    // Fewer than eight lines may follow. All words before a line whose first word is <= `key` count, so an earlier
    // start of the window is correct.
    let first = (first + passed * WINDOW_LINES).min(lines.len() - WINDOW_LINES);
    (first * LINE_WORDS, &lines[first..first + WINDOW_LINES])
}
