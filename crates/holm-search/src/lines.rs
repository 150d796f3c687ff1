//! Which line of a sorted row to compare: found by halving, or by guessing from where a number lies between others.
//!
//! Written once, for words that race as for lanes that nobody else writes: what a line holds is asked of the row. On a
//! row that changes meanwhile both end, ask for lines of the row alone, and their answer means nothing.

use std::hint::select_unpredictable;

/// A sorted row in whole lines, and a number sought there. A line's numbers *precede* it or do not; those that do stand
/// before those that do not.
pub trait Lines: Copy {
    /// Numbers of a line.
    const PER_LINE: usize;
    /// Whether the first number of a line precedes.
    fn begins_before(self, line: usize) -> bool;
    /// How many of a line's numbers precede; at most [`Lines::PER_LINE`].
    fn preceding(self, line: usize) -> usize;
    /// Where the first number of a line lies, up to rounding and a constant.
    fn position(self, line: usize) -> f64;
    /// Where the number sought lies, as [`Lines::position`].
    fn sought(self) -> f64;
}

/// How many numbers precede, if all before line `first` do and those `count` lines further on do not; `count` is not
/// zero. No branch depends on a number, but for those of the row's own.
#[inline(always)]
pub fn halve<R: Lines>(row: R, mut first: usize, mut count: usize) -> usize {
    while count > 1 {
        let middle = first + count / 2;
        // A line before one whose first number precedes does so as a whole.
        first = select_unpredictable(row.begins_before(middle), middle, first);
        count -= count / 2;
    }
    first * R::PER_LINE + row.preceding(first)
}

/// How many numbers of `count` lines, of which there is one at least, precede. The line is guessed from where the
/// number lies between the ends of what is left; after so many guesses, what is left is halved.
#[inline(always)]
pub fn interpolate<R: Lines>(row: R, mut count: usize, most_guesses: usize) -> usize {
    let (mut first, mut guesses) = (0, 0);
    while count > 1 && guesses < most_guesses {
        guesses += 1;
        let low = row.position(first);
        let span = row.position(first + count - 1) - low;
        // Of an empty, infinite or senseless span the quotient is no number, and a cast makes zero of that.
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

/// Guesses after which keys of whatever distribution cost little more than halving does.
pub const GUESSES: usize = 3;
