//! The bytes of a backup stream: a header, and frames behind it. `docs/format.md` has the tables.

use crate::error::{Error, Result};
use crate::expiry::DEADLINE_BYTES;
use crate::{MAX_KEY, MAX_VALUE};

/// The first bytes of a stream.
pub(super) const MAGIC: &[u8; 8] = b"HolmFlow";

/// The version of streams that this crate writes and reads.
const VERSION: u32 = 1;

/// The bytes of a header.
pub(super) const HEADER: usize = 64;

/// The bytes before a frame's body: length, kind and checksum.
pub(super) const FRAME_HEAD: usize = 9;

/// The most bytes of a frame's body.
pub(super) const MOST_BODY: usize = 1 << 20;

/// What an error names in place of a path.
pub(super) const STREAM: &str = "backup stream";

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A keyspace: what follows, up to the next one, belongs to it.
    Keyspace = 1,
    /// Pairs, in the order of their keys.
    Pairs = 2,
    /// A pair whose value follows in parts.
    Large = 3,
    /// A part of a large value.
    Part = 4,
    /// Ranges in which the base has what it should.
    Keep = 5,
    /// The mark.
    Mark = 6,
    /// The end, with counts and the hash of all bytes before.
    End = 7,
}

impl Kind {
    pub(super) fn of(byte: u8) -> Option<Kind> {
        let all = [Kind::Keyspace, Kind::Pairs, Kind::Large, Kind::Part, Kind::Keep, Kind::Mark, Kind::End];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// What a stream begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Identifies the database that the stream is of.
    pub(super) uuid: [u8; 16],
    /// The epoch of the state that the stream is to be applied to; 0 for a whole backup.
    pub(super) base: u64,
    /// The epoch up to which the stream is complete.
    pub(super) epoch: u64,
}

/// Reports damage at an offset of the stream.
#[cold]
pub(super) fn damaged(
    offset: u64,
    what: &'static str,
    found: impl std::fmt::Display,
    expected: impl std::fmt::Display,
) -> Error {
    Error::Corrupt { path: STREAM.into(), offset, what, found: found.to_string(), expected: expected.to_string() }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl Header {
    pub(super) fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.uuid);
        bytes[32..40].copy_from_slice(&self.base.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.epoch.to_le_bytes());
        let checksum = crc32c::crc32c(&bytes[..60]);
        bytes[60..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// # Errors
    /// `Foreign`, `Version` or `Corrupt`.
    pub(super) fn decode(bytes: &[u8; HEADER]) -> Result<Self> {
        if &bytes[..8] != MAGIC {
            let found = format!("the bytes \"{}\"", bytes[..8].escape_ascii());
            return Err(Error::Foreign { path: STREAM.into(), found, expected: "\"HolmFlow\"".into() });
        }
        let (found, expected) = (crc32c::crc32c(&bytes[..60]), u32_at(bytes, 60));
        if found != expected {
            return Err(damaged(0, "the header's checksum", format!("{found:#x}"), format!("{expected:#x}")));
        }
        let version = u32_at(bytes, 8);
        if version != VERSION {
            return Err(Error::Version { found: version, expected: VERSION });
        }
        let uuid = bytes[16..32].try_into().expect("sixteen bytes");
        Ok(Header { uuid, base: u64_at(bytes, 32), epoch: u64_at(bytes, 40) })
    }
}

/// The checksum of a frame: of its length, its kind and its body.
pub(super) fn frame_checksum(len: u32, kind: u8, body: &[u8]) -> u32 {
    let head = [&len.to_le_bytes()[..], &[kind]].concat();
    crc32c::crc32c_append(crc32c::crc32c(&head), body)
}

/// What an end frame says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    pub(super) keyspaces: u64,
    /// Records that the stream gives.
    pub(super) records: u64,
    /// Records that it keeps.
    pub(super) kept: u64,
}

/// The bytes of an end frame's body.
pub(super) const END: usize = 40;

impl Totals {
    pub(super) fn encode(&self, hash: u128) -> [u8; END] {
        let mut bytes = [0; END];
        bytes[..8].copy_from_slice(&self.keyspaces.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.records.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.kept.to_le_bytes());
        bytes[24..].copy_from_slice(&hash.to_le_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8; END]) -> (Self, u128) {
        let totals = Totals { keyspaces: u64_at(bytes, 0), records: u64_at(bytes, 8), kept: u64_at(bytes, 16) };
        (totals, u128::from_le_bytes(bytes[24..].try_into().expect("sixteen bytes")))
    }
}

/// The lengths before a pair's key and value, or before the two keys of a range.
pub(super) fn lengths(one: usize, other: usize) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&(one as u32).to_le_bytes());
    bytes[4..].copy_from_slice(&(other as u32).to_le_bytes());
    bytes
}

/// A cursor over the body of a frame.
pub(super) struct Body<'a> {
    bytes: &'a [u8],
    at: &'a mut usize,
    /// Where the body begins in the stream.
    offset: u64,
}

impl<'a> Body<'a> {
    pub(super) fn new(bytes: &'a [u8], at: &'a mut usize, offset: u64) -> Self {
        Body { bytes, at, offset }
    }

    /// Takes bytes off the front.
    ///
    /// # Errors
    /// `Corrupt`: there are fewer.
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[*self.at..];
        let Some((taken, _)) = rest.split_at_checked(len) else {
            let found = format!("{} bytes", rest.len());
            return Err(damaged(self.offset + *self.at as u64, "a frame's body", found, format!("{len} bytes")));
        };
        *self.at += len;
        Ok(taken)
    }

    pub(super) fn number(&mut self) -> Result<u64> {
        Ok(u64_at(self.take(8)?, 0))
    }

    /// Takes the lengths of a key and of a value.
    ///
    /// # Errors
    /// `Corrupt`: one exceeds its limit.
    pub(super) fn lengths_of_pair(&mut self) -> Result<(usize, usize)> {
        // The value of a keyspace with expiry follows its deadline.
        self.lengths(MAX_VALUE + DEADLINE_BYTES)
    }

    /// Takes the lengths of two keys.
    ///
    /// # Errors
    /// As [`Body::lengths_of_pair`].
    pub(super) fn lengths_of_keys(&mut self) -> Result<(usize, usize)> {
        self.lengths(MAX_KEY)
    }

    fn lengths(&mut self, most: usize) -> Result<(usize, usize)> {
        let offset = self.offset + *self.at as u64;
        let bytes = self.take(8)?;
        let (key, other) = (u32_at(bytes, 0) as usize, u32_at(bytes, 4) as usize);
        if key > MAX_KEY || other > most {
            return Err(damaged(offset, "lengths", format!("{key} and {other}"), format!("{MAX_KEY} and {most}")));
        }
        Ok((key, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_the_documented_bytes() {
        let header = Header { uuid: *b"0123456789abcdef", base: 7, epoch: 9 };
        let bytes = header.encode();
        assert_eq!(&bytes[..16], b"HolmFlow\x01\0\0\0\0\0\0\0");
        assert_eq!((&bytes[16..32], bytes[32], bytes[40]), (&b"0123456789abcdef"[..], 7, 9));
        assert_eq!(Header::decode(&bytes).expect("its own"), header);
    }

    #[test]
    fn every_flipped_bit_of_a_header_is_found() {
        let bytes = Header { uuid: [3; 16], base: 0, epoch: 9 }.encode();
        for bit in 0..HEADER * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::decode(&flipped).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn each_of_two_lengths_has_a_limit_of_its_own() {
        let most = [MAX_KEY, MAX_VALUE + DEADLINE_BYTES];
        for (key, value) in [(most[0], most[1]), (most[0] + 1, 0), (0, most[1] + 1), (most[0] + 1, most[1] + 1)] {
            let found = Body::new(&lengths(key, value), &mut 0, 0).lengths_of_pair();
            assert_eq!(found.ok(), (key <= most[0] && value <= most[1]).then_some((key, value)));
        }
        assert!(Body::new(&lengths(0, MAX_KEY + 1), &mut 0, 0).lengths_of_keys().is_err());
    }
}
