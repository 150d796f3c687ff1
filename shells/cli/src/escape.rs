//! Converts bytes to text on one line without tabs, and back.
//!
//! | written | bytes                                       |
//! |---------|---------------------------------------------|
//! | `\t`    | tab                                         |
//! | `\n`    | line feed                                   |
//! | `\r`    | carriage return                             |
//! | `\\`    | backslash                                   |
//! | `\xHH`  | the byte HH, two hex digits of either case  |
//!
//! The writer escapes tab, line feed, carriage return, backslash, the other control characters, bytes that are not
//! UTF-8, and U+FEFF, which readers take for a byte order mark at the start of a file. It writes everything else
//! literally. So its output is UTF-8 without control characters, and the reader returns the same bytes. The reader
//! takes any byte except a backslash literally, and rejects every other escape: it does not guess what `\q` means.

use std::fmt;

/// A backslash that starts none of the escapes above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadEscape {
    /// The text found, made printable: the backslash and up to three bytes.
    pub(crate) found: String,
}

impl fmt::Display for BadEscape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found the escape {}, expected one of \\t \\n \\r \\\\ \\xHH", self.found)
    }
}

impl std::error::Error for BadEscape {}

/// Appends `bytes`, escaped.
pub(crate) fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for chunk in bytes.utf8_chunks() {
        escape_text(chunk.valid(), out);
        chunk.invalid().iter().for_each(|&byte| escape_byte(byte, out));
    }
}

/// Returns the escaped bytes as text.
pub(crate) fn escaped(bytes: &[u8]) -> String {
    let mut out = Vec::new();
    escape(bytes, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Copies runs of ordinary characters whole: most keys are one run.
fn escape_text(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_control() || c == '\\' || c == '\u{feff}') {
        let (run, special) = rest.split_at(at);
        out.extend_from_slice(run.as_bytes());
        let length = special.chars().next().map_or(0, char::len_utf8);
        let (special, after) = special.split_at(length);
        special.bytes().for_each(|byte| escape_byte(byte, out));
        rest = after;
    }
    out.extend_from_slice(rest.as_bytes());
}

fn escape_byte(byte: u8, out: &mut Vec<u8>) {
    match byte {
        b'\t' => out.extend_from_slice(b"\\t"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\\' => out.extend_from_slice(b"\\\\"),
        _ => {
            out.extend_from_slice(b"\\x");
            push_base16(byte, out);
        }
    }
}

/// Appends two lower-case hex digits.
pub(crate) fn push_base16(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

/// Returns the value of one hex digit of either case.
pub(crate) fn base16_digit(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// Appends the bytes that `text` denotes. After an error, `out` holds the bytes before the bad escape.
pub(crate) fn unescape(text: &[u8], out: &mut Vec<u8>) -> Result<(), BadEscape> {
    let mut rest = text;
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        out.extend_from_slice(&rest[..at]);
        let (byte, length) = match &rest[at + 1..] {
            [b't', ..] => (b'\t', 2),
            [b'n', ..] => (b'\n', 2),
            [b'r', ..] => (b'\r', 2),
            [b'\\', ..] => (b'\\', 2),
            [b'x', high, low, ..] => match (base16_digit(*high), base16_digit(*low)) {
                (Some(high), Some(low)) => (high << 4 | low, 4),
                _ => return Err(bad(&rest[at..])),
            },
            _ => return Err(bad(&rest[at..])),
        };
        out.push(byte);
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest);
    Ok(())
}

fn bad(rest: &[u8]) -> BadEscape {
    let length = if rest.get(1) == Some(&b'x') { 4 } else { 2 };
    let found = &rest[..length.min(rest.len())];
    BadEscape { found: found.escape_ascii().to_string().replace("\\\\", "\\") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back(text: &[u8]) -> Result<Vec<u8>, BadEscape> {
        let mut out = Vec::new();
        unescape(text, &mut out).map(|()| out)
    }

    #[test]
    fn every_pair_of_bytes_survives() {
        for first in 0..=255 {
            for second in 0..=255 {
                let bytes = [first, second];
                let text = escaped(&bytes);
                assert!(!text.contains(['\t', '\n', '\r', '\0']), "{bytes:?} became {text:?}");
                assert_eq!(back(text.as_bytes()).as_deref(), Ok(&bytes[..]), "{text:?}");
            }
        }
    }

    #[test]
    fn text_stands_as_it_is() {
        assert_eq!(escaped("\u{dc}bung \u{6d77} a b".as_bytes()), "\u{dc}bung \u{6d77} a b");
        assert_eq!(escaped(b"a\tb\\\xff\0"), "a\\tb\\\\\\xff\\x00");
        assert_eq!(escaped("\u{feff}a".as_bytes()), "\\xef\\xbb\\xbfa");
    }

    #[test]
    fn other_escapes_are_refused_by_name() {
        for (text, found) in [("a\\q", "\\q"), ("\\", "\\"), ("\\x4", "\\x4"), ("\\xg0z", "\\xg0")] {
            assert_eq!(back(text.as_bytes()), Err(BadEscape { found: found.into() }), "{text}");
        }
        assert_eq!(back(b"\\xfF").as_deref(), Ok(&b"\xff"[..]));
    }
}
