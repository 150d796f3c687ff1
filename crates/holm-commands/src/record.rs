//! The record of a key: its kind, when it expires, and its content or where that lies.
//!
//! ```text
//! kind 1 | flags 1 | [expiry 8, big-endian milliseconds] | body
//! ```
//!
//! The body of a string is the string. A small collection lies whole in its body. The body of a large one has 24 bytes:
//! its version, a count of its changes, and a count of its members; that of a list also has the position of its first
//! element. The members of a large collection are rows of their own, under the version: see `rows.rs`.

use crate::context::Millis;
use crate::refusal::{Outcome, Refusal};
use holm::Slice;

/// The type of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    String = 1,
    Hash = 2,
    Set = 3,
    SortedSet = 4,
    List = 5,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Self> {
        [Kind::String, Kind::Hash, Kind::Set, Kind::SortedSet, Kind::List].into_iter().find(|kind| *kind as u8 == byte)
    }

    /// The name that the command TYPE answers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
            Kind::Hash => "hash",
            Kind::Set => "set",
            Kind::SortedSet => "zset",
            Kind::List => "list",
        }
    }
}

const EXPIRES: u8 = 1;
const IN_ROWS: u8 = 2;

const NOT_OURS: Refusal =
    Refusal::text("ERR the key's record was not written by this server: its first bytes are unknown");

/// A record as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    bytes: Slice,
    pub(crate) kind: Kind,
    /// The members are rows of their own.
    pub(crate) in_rows: bool,
    pub(crate) expiry: Option<Millis>,
    body: usize,
}

impl Record {
    /// Reads a record.
    ///
    /// # Errors
    /// The bytes are none: another program has written to the server's keyspaces.
    pub(crate) fn decode(bytes: Slice) -> Outcome<Record> {
        let (kind, flags, expiry, body) = header(&bytes).ok_or(NOT_OURS)?;
        Ok(Record { kind, in_rows: flags & IN_ROWS != 0, expiry, body, bytes })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.bytes[self.body..]
    }

    /// Returns the bytes and where the body begins in them.
    pub(crate) fn into_parts(self) -> (Slice, usize) {
        (self.bytes, self.body)
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the version of a collection whose members are rows.
    pub(crate) fn version(&self) -> Option<u64> {
        let version = self.in_rows.then(|| self.body().first_chunk::<8>())??;
        Some(u64::from_be_bytes(*version))
    }
}

/// Reads the kind, the flags, the expiry and the length of the header.
fn header(bytes: &[u8]) -> Option<(Kind, u8, Option<Millis>, usize)> {
    let [kind, flags, rest @ ..] = bytes else { return None };
    let kind = Kind::from_byte(*kind).filter(|_| flags & !(EXPIRES | IN_ROWS) == 0)?;
    if flags & EXPIRES == 0 {
        return Some((kind, *flags, None, 2));
    }
    Some((kind, *flags, Some(u64::from_be_bytes(*rest.first_chunk()?)), 10))
}

/// Returns the kind of a record, when it expires, and its body.
///
/// # Errors
/// As [`Record::decode`].
pub(crate) fn parts(bytes: &[u8]) -> Outcome<(Kind, Option<Millis>, &[u8])> {
    let (kind, _, expiry, body) = header(bytes).ok_or(NOT_OURS)?;
    Ok((kind, expiry, &bytes[body..]))
}

/// Returns the kind of a record and when it expires, without a copy of it.
pub(crate) fn glance(bytes: &[u8]) -> Option<(Kind, Option<Millis>)> {
    header(bytes).map(|(kind, _, expiry, _)| (kind, expiry))
}

/// Returns the type of a stored record as TYPE answers it, and the string if it is one; `None` for other bytes.
pub fn describe_record(bytes: &[u8]) -> Option<(&'static str, Option<&[u8]>)> {
    let (kind, _, _, body) = header(bytes)?;
    Some((kind.name(), (kind == Kind::String).then(|| &bytes[body..])))
}

/// Returns whether a record is that of a collection whose members are rows.
pub(crate) fn is_in_rows(bytes: &[u8]) -> bool {
    bytes.get(1).is_some_and(|flags| flags & IN_ROWS != 0)
}

/// What a key is to have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewRecord<'a> {
    pub(crate) kind: Kind,
    pub(crate) in_rows: bool,
    pub(crate) expiry: Option<Millis>,
    pub(crate) body: &'a [u8],
}

impl NewRecord<'_> {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(10 + self.body.len());
        let expires = if self.expiry.is_some() { EXPIRES } else { 0 };
        bytes.extend([self.kind as u8, expires | if self.in_rows { IN_ROWS } else { 0 }]);
        bytes.extend(self.expiry.iter().flat_map(|expiry| expiry.to_be_bytes()));
        bytes.extend_from_slice(self.body);
        bytes
    }
}
