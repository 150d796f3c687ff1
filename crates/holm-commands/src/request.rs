//! The parser of requests: arrays of byte strings, and lines typed by a person.
//!
//! The parser looks at a buffer that only grows at its end, and remembers how far it is. It copies nothing: a command
//! is a list of places in the buffer. Words of a typed line are copied only where quotes or escapes change them.

use crate::arguments::{Arguments, Place};
use std::borrow::Cow;

/// How much a request may ask for.
#[derive(Clone, Copy, Debug)]
pub struct RequestLimits {
    /// Bytes of one argument.
    pub argument: usize,
    /// Arguments of one command.
    pub count: usize,
    /// Bytes of a typed line, and of each header.
    pub line: usize,
}

impl RequestLimits {
    /// What a client may send that has not said who it is.
    pub const UNAUTHENTICATED: RequestLimits = RequestLimits { argument: 16 << 10, count: 10, line: 64 << 10 };
}

impl Default for RequestLimits {
    fn default() -> Self {
        RequestLimits { argument: 512 << 20, count: 1 << 20, line: 64 << 10 }
    }
}

/// Bytes that are no request. The connection cannot be continued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolError(pub Cow<'static, str>);

impl ProtocolError {
    const fn of(text: &'static str) -> Self {
        ProtocolError(Cow::Borrowed(text))
    }
}

/// Where the parser is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Start,
    /// Within an array, of which some arguments are still to come.
    Header { left: usize },
    /// Within an argument of this length.
    Argument { left: usize, length: usize },
}

/// The parser of one connection.
#[derive(Debug, Default)]
pub struct RequestParser {
    stage: Stage,
    /// All before this is parsed.
    at: usize,
    /// Where to go on looking for the end of a line.
    searched: usize,
    places: Vec<Place>,
    /// The words of a typed line, without quotes.
    typed: Option<Vec<u8>>,
}

impl RequestParser {
    /// Looks for a whole command at the start of `input`, which begins with the bytes of the previous call unless
    /// [`RequestParser::next`] was called in between. Returns the number of bytes that belong to the command; it is in
    /// [`RequestParser::arguments`], and has no words if the line was empty.
    ///
    /// # Errors
    /// The bytes are no request, or ask for more than the limits.
    pub fn parse(&mut self, input: &[u8], limits: &RequestLimits) -> Result<Option<usize>, ProtocolError> {
        loop {
            match self.stage {
                Stage::Start => match input.first() {
                    None => return Ok(None),
                    Some(b'*') => {
                        if let Some(used) = self.whole(input, limits) {
                            return Ok(Some(used));
                        }
                        let Some(line) = self.line(input, limits)? else { return Ok(None) };
                        let count = length(&input[1..line]).filter(|count| *count <= limits.count as i64);
                        let count = count.ok_or(ProtocolError::of(if limits.count < 16 {
                            "unauthenticated multibulk length"
                        } else {
                            "invalid multibulk length"
                        }))?;
                        if count <= 0 {
                            return Ok(Some(self.at));
                        }
                        self.stage = Stage::Header { left: count as usize };
                    }
                    Some(_) => return self.typed_line(input, limits),
                },
                Stage::Header { left: 0 } => return Ok(Some(self.at)),
                Stage::Header { left } => {
                    match input.get(self.at) {
                        None => return Ok(None),
                        Some(b'$') => {}
                        Some(other) => {
                            let found = other.escape_ascii();
                            return Err(ProtocolError(Cow::Owned(format!("expected '$', got '{found}'"))));
                        }
                    }
                    let from = self.at + 1;
                    let Some(line) = self.line(input, limits)? else { return Ok(None) };
                    let length =
                        length(&input[from..line]).filter(|length| (0..=limits.argument as i64).contains(length));
                    let length = length.ok_or(ProtocolError::of(if limits.count < 16 {
                        "unauthenticated bulk length"
                    } else {
                        "invalid bulk length"
                    }))?;
                    self.stage = Stage::Argument { left, length: length as usize };
                }
                Stage::Argument { left, length } => {
                    let end = self.at + length;
                    if input.len() < end + 2 {
                        return Ok(None);
                    }
                    self.places.push((self.at, end));
                    (self.at, self.searched) = (end + 2, end + 2);
                    self.stage = Stage::Header { left: left - 1 };
                }
            }
        }
    }

    /// Looks for an array that is whole and whose lengths are short, as nearly all are. `None` leaves the parser at the
    /// start: the stages then find out what is to come, or what is wrong.
    fn whole(&mut self, input: &[u8], limits: &RequestLimits) -> Option<usize> {
        let used = places_of_whole(input, limits, &mut self.places);
        match used {
            Some(used) => (self.stage, self.at, self.searched) = (Stage::Header { left: 0 }, used, used),
            None => self.places.clear(),
        }
        used
    }

    /// Returns the command that was found in the same input.
    pub fn arguments<'a>(&'a self, input: &'a [u8]) -> Arguments<'a> {
        Arguments::new(self.typed.as_deref().unwrap_or(input), &self.places)
    }

    /// Returns where the words lie in the input; `None` of a typed line, whose words may lie elsewhere.
    pub fn places(&self) -> Option<&[Place]> {
        self.typed.is_none().then_some(&self.places)
    }

    /// Forgets the command. The next input begins behind it.
    pub fn next(&mut self) {
        (self.stage, self.at, self.searched, self.typed) = (Stage::Start, 0, 0, None);
        self.places.clear();
    }

    /// Returns how long the input must become until it can hold more than it does now, as far as is known.
    pub fn wanted(&self) -> usize {
        match self.stage {
            Stage::Argument { length, .. } => self.at + length + 2,
            _ => 0,
        }
    }

    /// Moves over a line that is whole, and returns where its text ends.
    fn line(&mut self, input: &[u8], limits: &RequestLimits) -> Result<Option<usize>, ProtocolError> {
        let from = self.searched.max(self.at);
        match input[from..].iter().position(|byte| *byte == b'\n') {
            Some(found) => {
                let end = from + found;
                let text = if end > self.at && input[end - 1] == b'\r' { end - 1 } else { end };
                (self.at, self.searched) = (end + 1, end + 1);
                Ok(Some(text))
            }
            None if input.len() - self.at > limits.line => Err(ProtocolError::of("too big mbulk count string")),
            None => {
                self.searched = input.len();
                Ok(None)
            }
        }
    }

    fn typed_line(&mut self, input: &[u8], limits: &RequestLimits) -> Result<Option<usize>, ProtocolError> {
        let end = match self.line(input, limits) {
            Ok(Some(end)) => end,
            Ok(None) => return Ok(None),
            Err(_) => return Err(ProtocolError::of("too big inline request")),
        };
        let mut words = Vec::new();
        split_words(&input[..end], &mut words, &mut self.places)
            .ok_or(ProtocolError::of("unbalanced quotes in request"))?;
        self.typed = Some(words);
        Ok(Some(self.at))
    }
}

/// Notes where the words of an array lie, and returns its length, if it is whole and all its lengths are short.
fn places_of_whole(input: &[u8], limits: &RequestLimits, places: &mut Vec<Place>) -> Option<usize> {
    let (count, mut at) = short_length(input, 1)?;
    if !(1..=limits.count).contains(&count) {
        return None;
    }
    for _ in 0..count {
        let (length, begin) = short_length(input, at + 1).filter(|_| input[at] == b'$')?;
        let end = begin + length;
        if length > limits.argument || input.len() < end + 2 {
            return None;
        }
        places.push((begin, end));
        at = end + 2;
    }
    Some(at)
}

/// Reads a length of up to three digits from a place on. Returns it, and where the next line begins; `None` if there is
/// something else, which need not be wrong.
#[inline]
fn short_length(input: &[u8], from: usize) -> Option<(usize, usize)> {
    let digit = |byte: u8| Some(usize::from(byte.wrapping_sub(b'0'))).filter(|digit| *digit < 10);
    match *input.get(from..)? {
        [a, b'\r', b'\n', ..] => Some((digit(a)?, from + 3)),
        [b'0', ..] => None,
        [a, b, b'\r', b'\n', ..] => Some((digit(a)? * 10 + digit(b)?, from + 4)),
        [a, b, c, b'\r', b'\n', ..] => Some((digit(a)? * 100 + digit(b)? * 10 + digit(c)?, from + 5)),
        _ => None,
    }
}

/// Reads a length of a header.
fn length(text: &[u8]) -> Option<i64> {
    crate::number::parse_integer(text)
}

/// Splits a typed line into words, as a shell does: quotes join, and escapes within double quotes give any byte.
/// `None` if a quotation does not end.
fn split_words(line: &[u8], words: &mut Vec<u8>, places: &mut Vec<Place>) -> Option<()> {
    let mut rest = line;
    loop {
        while let [first, tail @ ..] = rest {
            if !first.is_ascii_whitespace() && *first != 0 {
                break;
            }
            rest = tail;
        }
        if rest.is_empty() {
            return Some(());
        }
        let from = words.len();
        rest = word(rest, words)?;
        places.push((from, words.len()));
    }
}

/// Appends the word that a line begins with, and returns the line behind it.
fn word<'a>(mut rest: &'a [u8], words: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return Some(rest),
            [first, ..] if first.is_ascii_whitespace() || *first == 0 => return Some(rest),
            [b'"', tail @ ..] => rest = double_quoted(tail, words)?,
            [b'\'', tail @ ..] => rest = single_quoted(tail, words)?,
            [first, tail @ ..] => {
                words.push(*first);
                rest = tail;
                continue;
            }
        }
        // A quotation ends its word.
        return match rest.first() {
            Some(next) if !next.is_ascii_whitespace() => None,
            _ => Some(rest),
        };
    }
}

fn double_quoted<'a>(mut rest: &'a [u8], words: &mut Vec<u8>) -> Option<&'a [u8]> {
    let hex = |digit: u8| (digit as char).to_digit(16).map(|value| value as u8);
    loop {
        match rest {
            [] => return None,
            [b'"', tail @ ..] => return Some(tail),
            [b'\\', b'x', high, low, tail @ ..] if hex(*high).is_some() && hex(*low).is_some() => {
                words.push(hex(*high)? << 4 | hex(*low)?);
                rest = tail;
            }
            [b'\\', escaped, tail @ ..] => {
                words.push(match escaped {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'b' => 8,
                    b'a' => 7,
                    other => *other,
                });
                rest = tail;
            }
            [first, tail @ ..] => {
                words.push(*first);
                rest = tail;
            }
        }
    }
}

fn single_quoted<'a>(mut rest: &'a [u8], words: &mut Vec<u8>) -> Option<&'a [u8]> {
    loop {
        match rest {
            [] => return None,
            [b'\'', tail @ ..] => return Some(tail),
            [b'\\', b'\'', tail @ ..] => {
                words.push(b'\'');
                rest = tail;
            }
            [first, tail @ ..] => {
                words.push(*first);
                rest = tail;
            }
        }
    }
}

/// Returns whether a line is the first of a POST of HTTP, or a header that each request of HTTP has. A page of the web
/// can make a browser send both to any port, and commands in the body: none of them may run.
pub fn is_of_http(name: &[u8]) -> bool {
    [&b"post"[..], b"host:"].iter().any(|word| name.eq_ignore_ascii_case(word))
}
