//! Tab-separated records: key, tab, value, one per line, escaped as `escape` says.
//!
//! The reader accepts lines of this program's writer, and also any list of keys and values without backslashes. A
//! carriage return before the line feed belongs to the line end. The raw reader has no escapes: the key ends at the
//! first tab, and the value is every other byte before the line feed.

use std::io::{self, BufRead};

use super::lines::{Line, Lines, without_line_end, without_line_feed};
use super::{ByLine, Fault, Limits, Pair};
use crate::escape::{escape, unescape};

/// The most bytes that one byte takes when escaped: `\xHH`.
const ESCAPED_BYTES: usize = 4;

/// Appends a record or a key alone, with a line feed.
pub(crate) fn append(key: &[u8], value: Option<&[u8]>, out: &mut Vec<u8>) {
    escape(key, out);
    if let Some(value) = value {
        out.push(b'\t');
        escape(value, out);
    }
    out.push(b'\n');
}

/// Reads tab-separated records.
pub(crate) struct Tsv<R> {
    lines: Lines<R>,
    limits: Limits,
    raw: bool,
    line: Vec<u8>,
}

impl<R: BufRead> Tsv<R> {
    pub(crate) fn new(input: R, limits: Limits) -> Self {
        Self { lines: Lines::new(input), limits, raw: false, line: Vec::new() }
    }

    /// Returns a reader without escapes.
    pub(crate) fn raw(input: R, limits: Limits) -> Self {
        Self { raw: true, ..Self::new(input, limits) }
    }
}

impl<R: BufRead> ByLine for Tsv<R> {
    fn number(&self) -> u64 {
        self.lines.number()
    }

    /// Reads a line, its start first: if no key ends within the limit, the rest is never held.
    fn line(&mut self) -> io::Result<Result<Line, Fault>> {
        let key_limit = self.limits.key * ESCAPED_BYTES + 1;
        let line_limit = key_limit + self.limits.value * ESCAPED_BYTES + 2;
        self.line.clear();
        let line = self.lines.read(&mut self.line, key_limit)?;
        if line != Line::Part {
            return Ok(Ok(line));
        }
        if !self.line.contains(&b'\t') {
            self.lines.skip()?;
            return Ok(Err(Fault::KeyTooLong { limit: self.limits.key }));
        }
        if self.lines.read(&mut self.line, line_limit)? == Line::Part {
            self.lines.skip()?;
            return Ok(Err(Fault::ValueTooLong { limit: self.limits.value }));
        }
        Ok(Ok(Line::Whole))
    }

    fn parse(&self, pair: &mut Pair) -> Result<(), Fault> {
        let line = if self.raw { without_line_feed(&self.line) } else { without_line_end(&self.line) };
        let Some(tab) = line.iter().position(|&byte| byte == b'\t') else {
            return Err(Fault::Fields { found: 1, separator: "tab" });
        };
        let (key, value) = (&line[..tab], &line[tab + 1..]);
        pair.key.clear();
        pair.value.clear();
        if self.raw {
            self.limits.allow(key, value)?;
            pair.key.extend_from_slice(key);
            pair.value.extend_from_slice(value);
            return Ok(());
        }
        if value.contains(&b'\t') {
            let found = line.iter().filter(|&&byte| byte == b'\t').count() + 1;
            return Err(Fault::Fields { found, separator: "tab" });
        }
        unescape(key, &mut pair.key)?;
        unescape(value, &mut pair.value)?;
        self.limits.allow(&pair.key, &pair.value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::super::{Format, LIMITS, Next, Records};
    use super::*;
    use crate::escape::BadEscape;

    #[test]
    fn lines_as_people_write_them() {
        let found = read(Format::Tsv, b"a\tb\r\n\t\nc\td", LIMITS);
        let pairs = [("a", "b"), ("", ""), ("c", "d")];
        assert_eq!(found, pairs.map(|(key, value)| Ok((key.into(), value.into()))));
    }

    #[test]
    fn bad_lines_are_numbered_and_passed_over() {
        let found = read(Format::Tsv, b"a\tb\nnone\n1\t2\t3\n\\q\tv\n\nz\t\\x41\n", LIMITS);
        let fields = |found| Fault::Fields { found, separator: "tab" };
        assert_eq!(
            found,
            [
                Ok((b"a".to_vec(), b"b".to_vec())),
                Err((2, fields(1))),
                Err((3, fields(3))),
                Err((4, Fault::Escape(BadEscape { found: "\\q".into() }))),
                Err((5, fields(1))),
                Ok((b"z".to_vec(), b"A".to_vec())),
            ]
        );
    }

    #[test]
    fn raw_takes_every_byte() {
        let mut reader = Tsv::raw(&b"\\q\ta\tb\\x41\r\n"[..], LIMITS);
        let mut pair = Pair::default();
        assert_eq!(reader.next(&mut pair).unwrap(), Next::Pair { line: 1 });
        assert_eq!((pair.key.as_slice(), pair.value.as_slice()), (&b"\\q"[..], &b"a\tb\\x41\r"[..]));
    }
}
