//! One JSON object per line: `{"key":"..","value":".."}`. JSON strings are Unicode, so bytes that are not UTF-8 become
//! hex digits in `key_base16` or `value_base16` instead, separately for each of the two fields. A record that expires
//! has `expires_ms`, in milliseconds since 1970.
//!
//! The reader accepts the members in any order, no other members, and keys and values only as strings. It rejects a
//! number or an object as a value: it does not guess which of its spellings to store.

use std::io::{self, BufRead};

use serde::Deserialize;

use super::lines::{Line, Lines, without_line_end};
use super::{ByLine, Fault, Limits, Pair};
use crate::escape::{base16_digit, push_base16};

/// The most bytes that one byte takes in a JSON string: `\u0000`.
const ESCAPED_BYTES: usize = 6;

/// Bytes apart from the two strings: braces, names, quotes, and some blanks.
const FRAME_BYTES: usize = 1024;

/// Appends a record or a key alone, with a line feed.
pub(crate) fn append(key: &[u8], value: Option<&[u8]>, expires_ms: Option<u64>, out: &mut Vec<u8>) {
    out.push(b'{');
    append_member("key", key, out);
    if let Some(value) = value {
        out.push(b',');
        append_member("value", value, out);
    }
    if let Some(millis) = expires_ms {
        out.extend_from_slice(format!(",\"expires_ms\":{millis}").as_bytes());
    }
    out.extend_from_slice(b"}\n");
}

fn append_member(name: &str, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    if let Ok(text) = std::str::from_utf8(bytes) {
        out.extend_from_slice(b"\":");
        serde_json::to_writer(out, text).expect("a string is JSON and a vector takes every byte");
    } else {
        out.extend_from_slice(b"_base16\":\"");
        bytes.iter().for_each(|&byte| push_base16(byte, out));
        out.push(b'"');
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Object {
    key: Option<String>,
    key_base16: Option<String>,
    value: Option<String>,
    value_base16: Option<String>,
    expires_ms: Option<u64>,
}

/// Reads JSON objects, one per line.
pub(crate) struct Jsonl<R> {
    lines: Lines<R>,
    limits: Limits,
    line: Vec<u8>,
}

impl<R: BufRead> Jsonl<R> {
    pub(crate) fn new(input: R, limits: Limits) -> Self {
        Self { lines: Lines::new(input), limits, line: Vec::new() }
    }
}

impl<R: BufRead> ByLine for Jsonl<R> {
    fn number(&self) -> u64 {
        self.lines.number()
    }

    /// Reads a line, its start first: a line that does not begin as an object is never held whole.
    fn line(&mut self) -> io::Result<Result<Line, Fault>> {
        let limit = (self.limits.key + self.limits.value) * ESCAPED_BYTES + FRAME_BYTES;
        self.line.clear();
        let mut line = self.lines.read(&mut self.line, FRAME_BYTES)?;
        if line == Line::Part && self.line.trim_ascii_start().first() == Some(&b'{') {
            line = self.lines.read(&mut self.line, limit)?;
            if line == Line::Part {
                self.lines.skip()?;
                return Ok(Err(Fault::LineTooLong { limit }));
            }
        }
        if line == Line::Part {
            self.lines.skip()?;
            return Ok(Err(Fault::Json { column: 1, what: "expected an object".into() }));
        }
        Ok(Ok(line))
    }

    fn parse(&self, pair: &mut Pair) -> Result<(), Fault> {
        parse(&self.line, self.limits, pair)
    }
}

/// Parses the record of a line.
pub(crate) fn parse(line: &[u8], limits: Limits, pair: &mut Pair) -> Result<(), Fault> {
    let object: Object = serde_json::from_slice(without_line_end(line)).map_err(|error| json_fault(&error))?;
    pair.key = member("key", object.key, object.key_base16)?;
    pair.value = member("value", object.value, object.value_base16)?;
    pair.expires_ms = object.expires_ms;
    limits.allow(&pair.key, &pair.value)
}

/// Returns the fault without serde's "at line 1", because the true line number is printed beside it.
fn json_fault(error: &serde_json::Error) -> Fault {
    let what = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    Fault::Json { column: error.column(), what: what.strip_suffix(&place).unwrap_or(&what).to_owned() }
}

fn member(name: &'static str, text: Option<String>, base16: Option<String>) -> Result<Vec<u8>, Fault> {
    match (text, base16) {
        (Some(text), None) => Ok(text.into_bytes()),
        (None, Some(digits)) => from_base16(digits.as_bytes()).ok_or(Fault::Base16 { name }),
        (None, None) => Err(Fault::Member { name, found: 0 }),
        (Some(_), Some(_)) => Err(Fault::Member { name, found: 2 }),
    }
}

fn from_base16(digits: &[u8]) -> Option<Vec<u8>> {
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|&[high, low]| Some(base16_digit(high)? << 4 | base16_digit(low)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::super::{Format, LIMITS, Next};
    use super::*;

    #[test]
    fn members_in_any_order_and_either_form() {
        let text =
            b" { \"value\" : \"v\\u00e9\\n\" , \"key_base16\":\"00fF\" } \r\n{\"key\":\"\",\"value_base16\":\"\"}";
        let expected = [Ok((vec![0, 255], "v\u{e9}\n".into())), Ok((vec![], vec![]))];
        assert_eq!(read(Format::Jsonl, text, LIMITS), expected);
    }

    #[test]
    fn what_is_not_utf8_stands_in_hex_digits() {
        let mut out = Vec::new();
        append(b"k\xff", Some("\u{e9}\u{1}\"".as_bytes()), None, &mut out);
        append(b"k", None, None, &mut out);
        let expected = "{\"key_base16\":\"6bff\",\"value\":\"\u{e9}\\u0001\\\"\"}\n{\"key\":\"k\"}\n";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }

    #[test]
    fn the_time_of_a_record_is_its_own() {
        let mut out = Vec::new();
        append(b"a", Some(b"1"), Some(u64::MAX), &mut out);
        append(b"b", Some(b"2"), None, &mut out);
        assert!(out.starts_with(b"{\"key\":\"a\",\"value\":\"1\",\"expires_ms\":18446744073709551615}\n"));
        out.extend_from_slice(b"{\"key\":\"c\",\"value\":\"3\",\"expires_ms\":\"4\"}\n");
        let mut records = Format::Jsonl.records(&out[..], LIMITS);
        let mut pair = Pair::default();
        for (line, expires_ms) in [(1, Some(u64::MAX)), (2, None)] {
            assert_eq!(records.next(&mut pair).unwrap(), Next::Pair { line });
            assert_eq!(pair.expires_ms, expires_ms);
        }
        assert!(matches!(records.next(&mut pair).unwrap(), Next::Bad { line: 3, .. }));
    }

    #[test]
    fn bad_lines_say_what_they_lack() {
        let text = br#"{"key":"a"}
{"key":"a","value":1}
{"key":"a","key_base16":"00","value":""}
{"key_base16":"0","value":""}
{"key_base16":"0g","value":""}
{"key":"a","value":"","more":1}

nonsense
{"key":"a","value":"b"}"#;
        let found = read(Format::Jsonl, text, LIMITS);
        assert_eq!(found[0], Err((1, Fault::Member { name: "value", found: 0 })));
        assert!(matches!(&found[1], Err((2, Fault::Json { column: 20, what })) if what.contains("expected a string")));
        assert_eq!(found[2], Err((3, Fault::Member { name: "key", found: 2 })));
        assert_eq!(found[3], Err((4, Fault::Base16 { name: "key" })));
        assert_eq!(found[4], Err((5, Fault::Base16 { name: "key" })));
        assert!(matches!(&found[5], Err((6, Fault::Json { what, .. })) if what.contains("more")));
        assert!(matches!(&found[6], Err((7, Fault::Json { .. }))));
        assert!(matches!(&found[7], Err((8, Fault::Json { what, .. })) if !what.contains("line 1")));
        assert_eq!(found[8], Ok((b"a".to_vec(), b"b".to_vec())));
        assert_eq!(found.len(), 9);
    }
}
