//! Replies as values, and their bytes in both versions of the protocol.

use crate::number::format_float;
use holm::Slice;
use std::borrow::Cow;

/// The version of the protocol that a connection speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// The version that every connection begins with.
    #[default]
    Resp2,
    /// The version with maps, sets, floats and pushed messages.
    Resp3,
}

/// A byte string of a reply.
#[derive(Clone, Debug)]
pub enum Bytes {
    /// What the store returned, from an offset on.
    Stored(Slice, usize),
    /// Bytes made for the reply.
    Made(Vec<u8>),
    /// A fixed text.
    Fixed(&'static str),
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Bytes::Stored(slice, from) => slice.get(*from..).unwrap_or_default(),
            Bytes::Made(bytes) => bytes,
            Bytes::Fixed(text) => text.as_bytes(),
        }
    }
}

/// Byte strings in order. They lie one after the other in one buffer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bulks {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Bulks {
    /// Appends a byte string.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.ends.is_empty() {
            // Mostly there are some, of similar lengths.
            self.ends.reserve(16);
            self.bytes.reserve(bytes.len().min(64) * 16);
        }
        self.bytes.extend_from_slice(bytes);
        self.ends.push(self.bytes.len());
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Iterates over them.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.bytes[begin..*end])
    }
}

impl<B: AsRef<[u8]>> Extend<B> for Bulks {
    fn extend<I: IntoIterator<Item = B>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item.as_ref()));
    }
}

/// What a command answers.
#[derive(Clone, Debug)]
pub enum Reply {
    /// A line such as `OK`.
    Status(Cow<'static, str>),
    /// An error: its code, and what was found.
    Error(Cow<'static, str>),
    /// An integer.
    Integer(i64),
    /// A float; in the older protocol a byte string.
    Double(f64),
    /// A truth value; in the older protocol 1 or 0.
    Boolean(bool),
    /// A byte string.
    Bulk(Bytes),
    /// A text for people; in the older protocol a byte string.
    Verbatim(String),
    /// No value.
    Null,
    /// No value where the older protocol has an array.
    NullArray,
    /// Replies in order.
    Array(Vec<Reply>),
    /// Byte strings in order.
    Bulks(Bulks),
    /// Replies without order; in the older protocol an array.
    Set(Vec<Reply>),
    /// Pairs; in the older protocol an array of twice as many.
    Map(Vec<(Reply, Reply)>),
    /// Pairs in order; in the older protocol one array of twice as many.
    Pairs(Vec<(Reply, Reply)>),
    /// A message that nobody asked for; in the older protocol an array.
    Push(Vec<Reply>),
    /// Several replies, one after the other.
    Several(Vec<Reply>),
    /// The command waits until one of its keys has elements, or for some milliseconds; 0 is for ever.
    Wait(u64),
}

impl Reply {
    /// The reply of most commands that change something.
    pub const OK: Reply = Reply::Status(Cow::Borrowed("OK"));

    /// Returns a byte string.
    pub fn bulk(bytes: impl Into<Vec<u8>>) -> Self {
        Reply::Bulk(Bytes::Made(bytes.into()))
    }

    /// Returns a fixed byte string.
    pub const fn fixed(text: &'static str) -> Self {
        Reply::Bulk(Bytes::Fixed(text))
    }

    /// Returns a byte string, or no value.
    pub fn bulk_or_null(bytes: Option<impl Into<Vec<u8>>>) -> Self {
        bytes.map_or(Reply::Null, Reply::bulk)
    }

    /// Returns an error.
    pub fn error(text: impl Into<Cow<'static, str>>) -> Self {
        Reply::Error(text.into())
    }

    /// Returns a count.
    pub fn count(count: usize) -> Self {
        Reply::Integer(count as i64)
    }

    /// Returns 1 or 0.
    pub fn flag(flag: bool) -> Self {
        Reply::Integer(i64::from(flag))
    }

    /// Returns byte strings in order.
    pub fn bulks<B: AsRef<[u8]>>(items: impl IntoIterator<Item = B>) -> Self {
        let mut bulks = Bulks::default();
        bulks.extend(items);
        Reply::Bulks(bulks)
    }

    /// Returns whether it is an error.
    pub fn is_error(&self) -> bool {
        matches!(self, Reply::Error(_))
    }

    /// Appends the bytes of the reply.
    pub fn encode(&self, protocol: Protocol, out: &mut Vec<u8>) {
        let new = protocol == Protocol::Resp3;
        match self {
            Reply::Status(text) => line(b'+', text.as_bytes(), out),
            Reply::Error(text) => line(b'-', text.as_bytes(), out),
            Reply::Integer(number) => header(b':', *number, out),
            Reply::Double(float) if new => line(b',', format_float(*float).as_bytes(), out),
            Reply::Double(float) => bulk(format_float(*float).as_bytes(), out),
            Reply::Boolean(truth) if new => line(b'#', if *truth { b"t" } else { b"f" }, out),
            Reply::Boolean(truth) => header(b':', i64::from(*truth), out),
            Reply::Bulk(bytes) => bulk(bytes.as_ref(), out),
            Reply::Verbatim(text) if new => {
                header(b'=', text.len() as i64 + 4, out);
                out.extend_from_slice(b"txt:");
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(b"\r\n");
            }
            Reply::Verbatim(text) => bulk(text.as_bytes(), out),
            Reply::Null | Reply::NullArray if new => out.extend_from_slice(b"_\r\n"),
            Reply::Null => out.extend_from_slice(b"$-1\r\n"),
            Reply::NullArray | Reply::Wait(_) => out.extend_from_slice(b"*-1\r\n"),
            Reply::Array(items) => several(b'*', items, protocol, out),
            Reply::Bulks(bulks) => {
                header(b'*', bulks.len() as i64, out);
                out.reserve(bulks.bytes.len() + bulks.len() * 8);
                bulks.iter().for_each(|bytes| bulk(bytes, out));
            }
            Reply::Set(items) => several(if new { b'~' } else { b'*' }, items, protocol, out),
            Reply::Push(items) => several(if new { b'>' } else { b'*' }, items, protocol, out),
            Reply::Map(pairs) => {
                let (kind, len) = if new { (b'%', pairs.len()) } else { (b'*', pairs.len() * 2) };
                header(kind, len as i64, out);
                for (key, value) in pairs {
                    key.encode(protocol, out);
                    value.encode(protocol, out);
                }
            }
            Reply::Pairs(pairs) => {
                header(b'*', (if new { pairs.len() } else { pairs.len() * 2 }) as i64, out);
                for (one, other) in pairs {
                    if new {
                        header(b'*', 2, out);
                    }
                    one.encode(protocol, out);
                    other.encode(protocol, out);
                }
            }
            Reply::Several(replies) => replies.iter().for_each(|reply| reply.encode(protocol, out)),
        }
    }
}

fn several(kind: u8, items: &[Reply], protocol: Protocol, out: &mut Vec<u8>) {
    header(kind, items.len() as i64, out);
    items.iter().for_each(|item| item.encode(protocol, out));
}

/// Appends a line. A line break within it would begin another reply, so it becomes a space.
fn line(kind: u8, text: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend(text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }));
    out.extend_from_slice(b"\r\n");
}

/// The bytes of the longest line with a number: its kind, a sign, digits and the end of the line.
const LONGEST_HEADER: usize = 24;

/// Appends a line with a number.
#[inline]
fn header(kind: u8, number: i64, out: &mut Vec<u8>) {
    // Most are lengths and counts, of one or two digits.
    match number {
        0..10 => out.extend_from_slice(&[kind, b'0' + number as u8, b'\r', b'\n']),
        10..100 => {
            let [tens, ones] = [number as u8 / 10, number as u8 % 10];
            out.extend_from_slice(&[kind, b'0' + tens, b'0' + ones, b'\r', b'\n']);
        }
        _ => long_header(kind, number, out),
    }
}

fn long_header(kind: u8, number: i64, out: &mut Vec<u8>) {
    let mut line = [0; LONGEST_HEADER];
    line[LONGEST_HEADER - 2..].copy_from_slice(b"\r\n");
    let (mut at, mut rest) = (LONGEST_HEADER - 2, number.unsigned_abs());
    while rest > 0 {
        at -= 1;
        line[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if number < 0 {
        at -= 1;
        line[at] = b'-';
    }
    line[at - 1] = kind;
    out.extend_from_slice(&line[at - 1..]);
}

/// Appends a byte string.
pub fn bulk(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(LONGEST_HEADER + bytes.len() + 2);
    header(b'$', bytes.len() as i64, out);
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_every_digit_of_its_number() {
        let numbers = [0, 1, 9, 10, 11, 99, 100, 101, 12_345, i64::MAX, -1, -9, -10, -99, -100, i64::MIN];
        for number in numbers {
            let mut out = b"before".to_vec();
            header(b':', number, &mut out);
            assert_eq!(String::from_utf8_lossy(&out), format!("before:{number}\r\n"));
        }
    }

    fn bytes(reply: &Reply, protocol: Protocol) -> String {
        let mut out = Vec::new();
        reply.encode(protocol, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn replies_have_their_forms_in_both_versions() {
        let map = Reply::Map(vec![(Reply::fixed("a"), Reply::Double(1.5))]);
        assert_eq!(bytes(&map, Protocol::Resp2), "*2\r\n$1\r\na\r\n$3\r\n1.5\r\n");
        assert_eq!(bytes(&map, Protocol::Resp3), "%1\r\n$1\r\na\r\n,1.5\r\n");
        assert_eq!(bytes(&Reply::Null, Protocol::Resp2), "$-1\r\n");
        assert_eq!(bytes(&Reply::NullArray, Protocol::Resp2), "*-1\r\n");
        assert_eq!(bytes(&Reply::NullArray, Protocol::Resp3), "_\r\n");
        assert_eq!(bytes(&Reply::Integer(i64::MIN), Protocol::Resp2), ":-9223372036854775808\r\n");
        assert_eq!(bytes(&Reply::Boolean(true), Protocol::Resp2), ":1\r\n");
        assert_eq!(bytes(&Reply::Set(vec![Reply::Integer(0)]), Protocol::Resp3), "~1\r\n:0\r\n");
    }

    #[test]
    fn a_line_never_holds_a_second_reply() {
        assert_eq!(bytes(&Reply::error("ERR a\r\n+OK"), Protocol::Resp2), "-ERR a  +OK\r\n");
    }
}
