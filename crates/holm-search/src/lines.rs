//! Finds the line of a sorted row to compare, by halving or by interpolation.
//!
//! The code is shared by racing words and by lanes without a concurrent writer: a trait reads the lines. On a row that
//! changes meanwhile, both functions terminate and read only lines of the row, and their result is meaningless.

use std::hint::select_unpredictable;

/// A sorted row in whole lines, and a number that is searched for. Each number of a line *precedes* the searched number
/// or not. The numbers that precede come first.
pub trait Lines: Copy {
    /// Numbers per line.
    const PER_LINE: usize;
    /// Returns whether the first number of a line precedes.
    fn begins_before(self, line: usize) -> bool;
    /// Returns how many of a line's numbers precede; at most [`Lines::PER_LINE`].
    fn preceding(self, line: usize) -> usize;
    /// Returns the position of a line's first number on the number line, up to rounding and a constant.
    fn position(self, line: usize) -> f64;
    /// Returns the position of the searched number, on the same scale as [`Lines::position`].
    fn sought(self) -> f64;
}

/// Returns how many numbers precede, by halving. All numbers before line `first` precede, and none from line
/// `first + count` on does. `count` is not zero. No branch depends on a number, except in the row's own methods. Reads
/// O(log count) lines.
#[inline(always)]
pub fn halve<R: Lines>(row: R, mut first: usize, mut count: usize) -> usize {
    while count > 1 {
        let middle = first + count / 2;
        // If the first number of a line precedes, all lines before it precede as a whole.
        first = select_unpredictable(row.begins_before(middle), middle, first);
        count -= count / 2;
    }
    first * R::PER_LINE + row.preceding(first)
}

/// Returns how many numbers of `count` lines precede; `count` is at least 1. Each guess interpolates the line between
/// the ends of the remaining range. After `most_guesses` guesses, it halves the rest.
#[inline(always)]
pub fn interpolate<R: Lines>(row: R, mut count: usize, most_guesses: usize) -> usize {
    let (mut first, mut guesses) = (0, 0);
    while count > 1 && guesses < most_guesses {
        guesses += 1;
        let low = row.position(first);
        let span = row.position(first + count - 1) - low;
        // If the span is zero, infinite or NaN, the quotient is NaN or infinite, and the cast turns NaN into zero.
        let guess = ((row.sought() - low) / span * (count - 1) as f64) as usize;
        let line = first + guess.min(count - 1);
        let preceding = row.preceding(line);
        let left = preceding == 0 && line > first;
        let right = preceding == R::PER_LINE && line + 1 < first + count;
        if !left && !right {
            return line * R::PER_LINE + preceding;
        }
        (first, count) = if left { (first, line - first) } else { (line + 1, first + count - line - 1) };
    }
    halve(row, first, count)
}

/// Guesses after which keys of any distribution cost little more than halving.
pub const GUESSES: usize = 3;
