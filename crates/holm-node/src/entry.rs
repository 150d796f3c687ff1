//! The bytes of an entry of the log, and of reads: parts, each with commands of one client as the client sent them.
//!
//! ```text
//! entry:  level 1 | kind 1 | time 8 | seed 8 | part*
//! part:   kind 1 | protocol 1 | watches 2 | (key length 4 | key | fingerprint 8)* | length 4 | requests
//! ```
//!
//! An entry that compares has no parts, but a mark and a hash. Numbers are little-endian. An entry carries what its
//! execution may not take from its surroundings: a time in milliseconds since 1970, and the seed of choices by chance.

use crate::fault::{Fault, Result};
use holm_commands::{Edition, Protocol, append_counted};

/// The highest level of entries that this version knows. Level 2 has [`EntryKind::Load`]. Level 3 has no other entries:
/// who knows it waits for the end of a former leader's lease. Nor has level 4: who knows it keeps the users of a
/// placement. At level 5 commands have their second edition.
pub const LEVEL: u8 = 5;

/// The first level whose RESTORE takes payloads of Redis.
pub(crate) const LEVEL_OF_PAYLOADS: u8 = 5;

/// What an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// Carries out the commands of its parts.
    Commands,
    /// Advances the time, and removes a bounded number of keys that have expired.
    Sweep,
    /// Removes all keys.
    Flush,
    /// Ends a replica whose hash at a mark is another than its proposer's. Its bytes are the mark, 8, and the hash, 8.
    Compare,
    /// Takes a step in the move of slots from one group to another. `slot_entry.rs` has its bytes.
    Slots,
    /// Takes a step in filling an empty group from a backup. `load.rs` has its bytes.
    Load,
}

impl EntryKind {
    /// Returns the first level that has the kind.
    pub fn least_level(self) -> u8 {
        if self == EntryKind::Load { 2 } else { 1 }
    }
}

/// An entry, whose parts are not looked at yet.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// What a node must know to apply it: the level that its cluster has when it is proposed.
    pub level: u8,
    /// What it does.
    pub kind: EntryKind,
    /// The proposer's time, in milliseconds since 1970.
    pub time: u64,
    /// What decides choices by chance.
    pub seed: u64,
    /// The bytes of its parts.
    pub parts: &'a [u8],
}

/// How the commands of a part belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// A pipeline: one reply after the other.
    Pipeline,
    /// A transaction: one array of replies, or no value if a watched key has changed.
    Transaction,
    /// One command whose words are keys: the answer has a byte 0, and 8 bytes for each key, its fingerprint; or a byte
    /// 1 and why the group does not answer for the slot.
    Fingerprints,
    /// 8 bytes, a time: the answer is one byte, 1 if something has expired by then or is garbage.
    Due,
    /// Keys of slots that are to go to another group. `export.rs` has its bytes and those of the answer.
    Export,
}

/// A key that a transaction watches, and the fingerprint that its client saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The fingerprint.
    pub fingerprint: u64,
}

/// Commands of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// How they belong together.
    pub kind: PartKind,
    /// How replies are encoded.
    pub protocol: Protocol,
    /// What must not have changed.
    pub watches: Vec<Watch<'a>>,
    /// The commands, as the client sent them.
    pub requests: &'a [u8],
}

impl<'a> Entry<'a> {
    /// Returns what its commands mean.
    pub(crate) fn edition(&self) -> Edition {
        if self.level < LEVEL_OF_PAYLOADS { Edition::First } else { Edition::Second }
    }

    /// Reads an entry, if its level is not above the one that is known.
    ///
    /// # Errors
    /// [`Fault::Level`]: it was written by a newer version. [`Fault::Malformed`].
    pub fn read(bytes: &'a [u8], known: u8) -> Result<Entry<'a>> {
        let mut input = Input(bytes);
        let level = input.byte()?;
        if level > known {
            return Err(Fault::Level { found: level, known });
        }
        let kind = match input.byte()? {
            0 => EntryKind::Commands,
            1 => EntryKind::Sweep,
            2 => EntryKind::Flush,
            3 => EntryKind::Compare,
            4 => EntryKind::Slots,
            5 => EntryKind::Load,
            other => return Err(Fault::malformed("the kind of an entry", other.to_string())),
        };
        if level < kind.least_level() {
            return Err(Fault::malformed("an entry of a level that has its kind", format!("level {level}")));
        }
        Ok(Entry { level, kind, time: input.number()?, seed: input.number()?, parts: input.0 })
    }

    /// Returns the bytes of an entry.
    pub fn to_bytes(&self) -> Vec<u8> {
        let kind = match self.kind {
            EntryKind::Commands => 0,
            EntryKind::Sweep => 1,
            EntryKind::Flush => 2,
            EntryKind::Compare => 3,
            EntryKind::Slots => 4,
            EntryKind::Load => 5,
        };
        let mut bytes = vec![self.level, kind];
        bytes.extend(self.time.to_le_bytes());
        bytes.extend(self.seed.to_le_bytes());
        bytes.extend_from_slice(self.parts);
        bytes
    }
}

impl<'a> Part<'a> {
    /// Reads all parts.
    ///
    /// # Errors
    /// [`Fault::Malformed`].
    pub fn read_all(bytes: &'a [u8]) -> Result<Vec<Part<'a>>> {
        let (mut input, mut parts) = (Input(bytes), Vec::new());
        while !input.0.is_empty() {
            parts.push(Part::read(&mut input)?);
        }
        Ok(parts)
    }

    fn read(input: &mut Input<'a>) -> Result<Part<'a>> {
        let kind = match input.byte()? {
            0 => PartKind::Pipeline,
            1 => PartKind::Transaction,
            2 => PartKind::Fingerprints,
            3 => PartKind::Due,
            4 => PartKind::Export,
            other => return Err(Fault::malformed("the kind of a part", other.to_string())),
        };
        let protocol = match input.byte()? {
            2 => Protocol::Resp2,
            3 => Protocol::Resp3,
            other => return Err(Fault::malformed("version 2 or 3 of the protocol", other.to_string())),
        };
        let count = u16::from_le_bytes([input.byte()?, input.byte()?]);
        let watches = (0..count).map(|_| Ok(Watch { key: input.bytes()?, fingerprint: input.number()? }));
        Ok(Part { kind, protocol, watches: watches.collect::<Result<_>>()?, requests: input.bytes()? })
    }

    /// Appends the bytes of the part. A part has at most 65,535 watches.
    pub fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.push(self.kind as u8);
        bytes.push(if self.protocol == Protocol::Resp3 { 3 } else { 2 });
        bytes.extend((self.watches.len() as u16).to_le_bytes());
        for watch in &self.watches {
            append_counted(watch.key, bytes);
            bytes.extend(watch.fingerprint.to_le_bytes());
        }
        append_counted(self.requests, bytes);
    }
}

/// Bytes that are read from the front.
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8]> {
        let short = || Fault::malformed("more bytes", format!("an end {} bytes early", length - self.0.len()));
        let (taken, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64> {
        Ok(self.take(8)?.first_chunk().copied().map_or(0, u64::from_le_bytes))
    }

    /// Takes a number of 4 bytes.
    pub(crate) fn count(&mut self) -> Result<u32> {
        Ok(self.take(4)?.first_chunk().copied().map_or(0, u32::from_le_bytes))
    }

    /// Takes bytes with their length before them.
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8]> {
        let length = self.count()?;
        self.take(length as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_entries_are_read_as_they_were_written_and_never_beyond_their_end() {
        let watches = vec![Watch { key: b"reef", fingerprint: 7 }, Watch { key: b"", fingerprint: u64::MAX }];
        let part = Part { kind: PartKind::Transaction, protocol: Protocol::Resp3, watches, requests: b"PING\r\n" };
        let mut bytes = Vec::new();
        part.append_to(&mut bytes);
        assert_eq!(Part::read_all(&bytes).unwrap(), std::slice::from_ref(&part));
        for length in 1..bytes.len() {
            assert!(Part::read_all(&bytes[..length]).is_err(), "{length}");
        }
        let entry = Entry { level: 1, kind: EntryKind::Sweep, time: 1 << 40, seed: 3, parts: &bytes }.to_bytes();
        let read = Entry::read(&entry, 1).unwrap();
        assert_eq!((read.kind, read.time, read.seed, read.parts), (EntryKind::Sweep, 1 << 40, 3, &bytes[..]));
        let newer = [&[2], &entry[1..]].concat();
        assert!(matches!(Entry::read(&newer, 1), Err(Fault::Level { found: 2, known: 1 })));
        assert_eq!(Entry::read(&newer, 2).unwrap().level, 2);
        assert!(matches!(Entry::read(&[&[0], &entry[1..]].concat(), 2), Err(Fault::Malformed { .. })));
        let early = Entry { level: 1, kind: EntryKind::Load, time: 0, seed: 0, parts: &[] }.to_bytes();
        assert!(matches!(Entry::read(&early, 2), Err(Fault::Malformed { .. })));
    }
}
