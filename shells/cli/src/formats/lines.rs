//! Counted lines of an input. Memory holds no more of a line than the caller requested.

use std::io::{self, BufRead, Read};

/// The result of appending to the caller's buffer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line to its end. The last line of an input may lack the line feed.
    Whole,
    /// A part of a line, up to the limit; more follows.
    Part,
    /// Nothing: the input has ended.
    End,
}

/// A mark that some editors write before the text. It is not part of the text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads and counts lines.
pub(crate) struct Lines<R> {
    input: R,
    number: u64,
    midway: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, number: 0, midway: false }
    }

    /// Returns the number of the last line, counted from 1; 0 before the first.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Appends the rest of a partly read line, or the next line, including its line feed, until `buffer` holds `limit`
    /// bytes.
    pub(crate) fn read(&mut self, buffer: &mut Vec<u8>, limit: usize) -> io::Result<Line> {
        let held = buffer.len();
        let room = limit.saturating_sub(held) as u64;
        if room == 0 {
            return Ok(Line::Part);
        }
        let length = (&mut self.input).take(room).read_until(b'\n', buffer)?;
        if !self.midway && length > 0 {
            self.number += 1;
            if self.number == 1 && buffer[held..].starts_with(BYTE_ORDER_MARK) {
                buffer.drain(held..held + BYTE_ORDER_MARK.len());
            }
        }
        let ended = length > 0 && buffer.last() == Some(&b'\n');
        if !ended && length as u64 == room {
            self.midway = true;
            return Ok(Line::Part);
        }
        let line = if length > 0 || self.midway { Line::Whole } else { Line::End };
        self.midway = false;
        Ok(line)
    }

    /// Skips the rest of a line that was read in part.
    pub(crate) fn skip(&mut self) -> io::Result<()> {
        let mut passed = Vec::new();
        while self.midway {
            passed.clear();
            self.read(&mut passed, 64 << 10)?;
        }
        Ok(())
    }
}

/// Returns a line without its line feed.
pub(crate) fn without_line_feed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Returns a line without its line feed or its carriage return and line feed.
pub(crate) fn without_line_end(line: &[u8]) -> &[u8] {
    match line.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_lines_are_counted() {
        let mut lines = Lines::new(&b"abc\n\nlonger\nend"[..]);
        let mut buffer = Vec::new();
        let mut seen = Vec::new();
        loop {
            buffer.clear();
            let line = lines.read(&mut buffer, 4).unwrap();
            seen.push((lines.number(), String::from_utf8_lossy(&buffer).into_owned()));
            match line {
                Line::Whole => {}
                Line::Part => lines.skip().unwrap(),
                Line::End => break,
            }
        }
        let expected = [(1, "abc\n"), (2, "\n"), (3, "long"), (4, "end"), (4, "")];
        assert_eq!(seen, expected.map(|(number, text)| (number, text.to_owned())));
    }

    #[test]
    fn a_line_cut_exactly_at_the_limit_goes_on() {
        let mut lines = Lines::new(&b"abcd"[..]);
        let mut buffer = Vec::new();
        assert_eq!(lines.read(&mut buffer, 4).unwrap(), Line::Part);
        assert_eq!(lines.read(&mut buffer, 8).unwrap(), Line::Whole);
        assert_eq!(lines.read(&mut buffer, 8).unwrap(), Line::End);
        assert_eq!((buffer.as_slice(), lines.number()), (&b"abcd"[..], 1));
    }

    #[test]
    fn line_ends() {
        assert_eq!(without_line_end(b"a\r\n"), b"a");
        assert_eq!(without_line_end(b"a\r"), b"a\r");
        assert_eq!(without_line_feed(b"a\r\n"), b"a\r");
    }
}
