//! Comma-separated records as in RFC 4180. A field that contains a comma, a quote or a line end is quoted, and a quote
//! inside quotes is doubled. Every other byte is literal. There are two fields, and no header unless requested.
//!
//! The reader is strict, and written here for three reasons. It numbers a record's first line exactly, including blank
//! lines, CR LF and quoted line ends. An input that ends inside quotes is an error and not a last record. The memory of
//! a record is bounded.

use std::io::{self, BufRead};

use super::lines::{Line, Lines, without_line_end};
use super::{Fault, Limits, Next, Pair, Records};

/// Appends a record or a key alone, with a line feed.
pub(crate) fn append(key: &[u8], value: Option<&[u8]>, out: &mut Vec<u8>) {
    match value {
        Some(value) => {
            append_field(key, out);
            out.push(b',');
            append_field(value, out);
        }
        // An empty key alone would be a blank line, which is no record.
        None if key.is_empty() => out.extend_from_slice(b"\"\""),
        None => append_field(key, out),
    }
    out.push(b'\n');
}

fn append_field(field: &[u8], out: &mut Vec<u8>) {
    // A field that begins with a byte order mark would lose it at the start of a file.
    let special =
        field.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) || field.starts_with(b"\xef\xbb\xbf");
    if !special {
        return out.extend_from_slice(field);
    }
    out.push(b'"');
    for &byte in field {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Reads comma-separated records.
pub(crate) struct Csv<R> {
    lines: Lines<R>,
    limits: Limits,
    text: Vec<u8>,
}

/// Why a record could not be read: a fault of the record, or an error of the input.
enum Stop {
    Fault(Fault),
    Input(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Input(error)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<R: BufRead> Csv<R> {
    pub(crate) fn new(input: R, limits: Limits) -> Self {
        Self { lines: Lines::new(input), limits, text: Vec::new() }
    }

    /// Appends one more line of the record. It stops early if there is no comma where the longest key would have ended,
    /// and if the line is longer than the longest record with every byte a doubled quote.
    fn line(&mut self) -> Result<Line, Stop> {
        let key_limit = 2 * self.limits.key + 3;
        let limit = key_limit + 2 * self.limits.value + 4;
        let first = if self.text.len() < key_limit { key_limit } else { limit };
        let mut line = self.lines.read(&mut self.text, first)?;
        if line == Line::Part && self.text.contains(&b',') {
            line = self.lines.read(&mut self.text, limit)?;
        }
        if line != Line::Part {
            return Ok(line);
        }
        self.lines.skip()?;
        let limit = self.text.len();
        Err(match (self.text.contains(&b'"'), self.text.contains(&b',')) {
            (true, _) => Fault::EndlessQuote { limit },
            (false, true) => Fault::LineTooLong { limit },
            (false, false) => Fault::KeyTooLong { limit: self.limits.key },
        }
        .into())
    }

    /// Returns the end of the text that was read, without its line end.
    fn end(&self) -> usize {
        without_line_end(&self.text).len()
    }

    /// Reads the field that starts at `at` into `field`, and returns its end.
    fn field(&mut self, at: usize, field: &mut Vec<u8>) -> Result<usize, Stop> {
        field.clear();
        if self.text.get(at) == Some(&b'"') {
            return self.quoted(at + 1, field);
        }
        let rest = &self.text[at..self.end()];
        let length = rest.iter().position(|&byte| byte == b',').unwrap_or(rest.len());
        field.extend_from_slice(&rest[..length]);
        if field.contains(&b'"') {
            return Err(Fault::StrayQuote.into());
        }
        if field.contains(&b'\r') {
            return Err(Fault::StrayReturn.into());
        }
        Ok(at + length)
    }

    /// Reads the rest of a quoted field; reads more lines until it finds the closing quote.
    fn quoted(&mut self, mut at: usize, field: &mut Vec<u8>) -> Result<usize, Stop> {
        loop {
            let rest = &self.text[at..];
            let Some(length) = rest.iter().position(|&byte| byte == b'"') else {
                field.extend_from_slice(rest);
                at = self.text.len();
                if self.line()? == Line::End {
                    return Err(Fault::UnclosedQuote.into());
                }
                continue;
            };
            field.extend_from_slice(&rest[..length]);
            at += length + 1;
            if self.text.get(at) != Some(&b'"') {
                break;
            }
            field.push(b'"');
            at += 1;
        }
        match self.text.get(at) {
            Some(b',') => Ok(at),
            _ if at == self.end() => Ok(at),
            _ => Err(Fault::AfterQuote.into()),
        }
    }

    /// Parses the record whose first line is in `text`.
    fn record(&mut self, pair: &mut Pair) -> Result<(), Stop> {
        let at = self.field(0, &mut pair.key)?;
        if at == self.end() {
            return Err(Fault::Fields { found: 1, separator: "comma" }.into());
        }
        let mut at = self.field(at + 1, &mut pair.value)?;
        let mut found = 2;
        let mut surplus = Vec::new();
        while at < self.end() {
            at = self.field(at + 1, &mut surplus)?;
            found += 1;
        }
        if found > 2 {
            return Err(Fault::Fields { found, separator: "comma" }.into());
        }
        Ok(self.limits.allow(&pair.key, &pair.value)?)
    }
}

impl<R: BufRead> Records for Csv<R> {
    fn next(&mut self, pair: &mut Pair) -> io::Result<Next> {
        self.text.clear();
        let line = self.lines.number() + 1;
        let read = match self.line() {
            Ok(Line::End) => return Ok(Next::End),
            Ok(_) => self.record(pair),
            Err(stop) => Err(stop),
        };
        match read {
            Ok(()) => Ok(Next::Pair { line }),
            Err(Stop::Fault(fault)) => Ok(Next::Bad { line, fault }),
            Err(Stop::Input(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::super::{Format, LIMITS};
    use super::*;

    #[test]
    fn quotes_hold_commas_quotes_and_line_ends() {
        let text = b"a,\"x,y\"\r\n\"say \"\"hi\"\"\",\"two\r\nlines\n\"\n,\n\"\",\"\"\nlast, b ";
        let pairs = [("a", "x,y"), ("say \"hi\"", "two\r\nlines\n"), ("", ""), ("", ""), ("last", " b ")];
        assert_eq!(read(Format::Csv, text, LIMITS), pairs.map(|(key, value)| Ok((key.into(), value.into()))));
    }

    #[test]
    fn bad_records_are_numbered_by_their_first_line() {
        let text = b"a,\"1\r\n2\"\r\n\r\nb,c\"d\ne\nf,g,h\n\"i\"j,k\nl\r,m\nn,\"o\np,q\n";
        let fields = |found| Fault::Fields { found, separator: "comma" };
        assert_eq!(
            read(Format::Csv, text, LIMITS),
            [
                Ok((b"a".to_vec(), b"1\r\n2".to_vec())),
                Err((3, fields(1))),
                Err((4, Fault::StrayQuote)),
                Err((5, fields(1))),
                Err((6, fields(3))),
                Err((7, Fault::AfterQuote)),
                Err((8, Fault::StrayReturn)),
                Err((9, Fault::UnclosedQuote)),
            ]
        );
    }

    #[test]
    fn what_follows_an_endless_quote_is_not_taken_for_records() {
        let limits = Limits { key: 4, value: 6 };
        let text = format!("a,b\nc,\"{}\nd,e\n", "x".repeat(100));
        let mut records = Csv::new(text.as_bytes(), limits);
        let mut pair = Pair::default();
        assert_eq!(records.next(&mut pair).unwrap(), Next::Pair { line: 1 });
        let Next::Bad { line: 2, fault } = records.next(&mut pair).unwrap() else { panic!("line 2 was taken") };
        assert!(fault.ends_the_input(), "{fault}");
    }

    #[test]
    fn a_key_alone_is_never_a_blank_line() {
        let mut out = Vec::new();
        append(b"", None, &mut out);
        append(b"a,b", None, &mut out);
        assert_eq!(out, b"\"\"\n\"a,b\"\n");
    }
}
