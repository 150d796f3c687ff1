//! Keys carried from one store to another: with their records, their expiries and their members, in chunks.
//!
//! ```text
//! chunk:    item*
//! item:     1 | key | record                  the key has this record; rows follow
//!           2 | key                           the key is absent
//!           3 | key                           more rows follow for a key of an earlier chunk
//!           4 | family 1 | member | value     a row of the key before
//! ```
//!
//! A key, a record, a member and a value each have their length, of 4 bytes, before them. Numbers are little-endian.
//! The store that takes a chunk gives each large collection a version of its own.

use crate::context::Context;
use crate::counted::{append_counted, take_counted};
use crate::record::{self, NewRecord, Record};
use crate::refusal::{Outcome, Refusal};
use crate::rows;
use crate::store::{Area, Range};
use std::ops::{Bound, ControlFlow};

const KEY: u8 = 1;
const ABSENT: u8 = 2;
const MORE: u8 = 3;
const ROW: u8 = 4;

/// What a chunk that is not one says.
const NO_CHUNK: Refusal = Refusal::text("ERR the bytes are no chunk of keys");

/// Where a walk that was broken off goes on: behind a key, or, with a row, within its members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CarryPosition {
    /// The last key.
    pub key: Vec<u8>,
    /// Its last row, without its version; empty if the key is complete.
    pub row: Vec<u8>,
}

/// A chunk that is being filled.
#[derive(Debug, Default)]
pub struct Chunk {
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Chunk {
    /// Reads all items of a chunk. What the store makes of them is not known then: a name may be too long for it.
    ///
    /// # Errors
    /// The bytes are no chunk.
    pub fn check(bytes: &[u8]) -> Outcome<()> {
        items(bytes).try_for_each(|item| item.map(drop))
    }

    fn item(&mut self, kind: u8, parts: &[&[u8]]) {
        self.bytes.push(kind);
        for part in parts {
            append_counted(part, &mut self.bytes);
        }
    }
}

impl Context<'_> {
    /// Appends a key with what it has, or that it is absent, until the chunk has about `most` bytes. Returns where to
    /// go on if the key has more; `from` is empty, or what the call before has returned.
    ///
    /// # Errors
    /// Those of the store.
    pub fn carry_key(&self, key: &[u8], from: &[u8], most: usize, chunk: &mut Chunk) -> Outcome<Option<Vec<u8>>> {
        let entry = self.entry(key)?;
        // One that has expired is carried too: the other store's time decides.
        let Some(record) = entry.stored() else {
            chunk.item(ABSENT, &[key]);
            return Ok(None);
        };
        if from.is_empty() {
            chunk.item(KEY, &[key, record.bytes()]);
        } else {
            chunk.item(MORE, &[key]);
        }
        let Some(version) = record.version() else { return Ok(None) };
        self.carry_rows(version, from, most, chunk)
    }

    fn carry_rows(&self, version: u64, from: &[u8], most: usize, chunk: &mut Chunk) -> Outcome<Option<Vec<u8>>> {
        let first = from.first().copied().unwrap_or(*rows::OF_VERSIONS.start());
        let mut stopped = None;
        for family in first..=*rows::OF_VERSIONS.end() {
            let low = rows::key(family, version, &[]);
            let end = rows::beyond(&low);
            let after = from.get(1..).filter(|_| family == first).map(|member| rows::key(family, version, member));
            let low = after.as_deref().map_or(Bound::Included(&low[..]), Bound::Excluded);
            let high = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let range = Range { low, high, reverse: false };
            self.scan(self.database.get(), Area::Rows, range, &mut |row, value| {
                chunk.bytes.extend([ROW, family]);
                append_counted(&row[rows::PREFIX..], &mut chunk.bytes);
                append_counted(value, &mut chunk.bytes);
                if chunk.bytes.len() < most {
                    return ControlFlow::Continue(());
                }
                stopped = Some([&[family], &row[rows::PREFIX..]].concat());
                ControlFlow::Break(())
            })?;
            if stopped.is_some() {
                break;
            }
        }
        Ok(stopped)
    }

    /// Appends the keys that `wants`, in their order from a position on, until the chunk has about `most` bytes or that
    /// number of keys was looked at. Returns where to go on; `None` after the last key.
    ///
    /// # Errors
    /// Those of the store.
    pub fn carry_out(
        &self,
        from: &CarryPosition,
        wants: &dyn Fn(&[u8]) -> bool,
        (most, looks): (usize, usize),
        chunk: &mut Chunk,
    ) -> Outcome<Option<CarryPosition>> {
        let mut at = from.clone();
        if !at.row.is_empty() {
            match self.carry_key(&at.key, &at.row, most, chunk)? {
                Some(row) => return Ok(Some(CarryPosition { row, ..at })),
                None => at.row.clear(),
            }
        }
        let mut looked = 0;
        while chunk.bytes.len() < most && looked < looks {
            let Some((key, count)) = self.next_wanted(&at.key, wants, looks - looked)? else { return Ok(None) };
            looked += count;
            at.key = key;
            if !wants(&at.key) {
                continue;
            }
            if let Some(row) = self.carry_key(&at.key, &[], most, chunk)? {
                return Ok(Some(CarryPosition { row, ..at }));
            }
        }
        Ok(Some(at))
    }

    /// Returns the next key that is wanted, or the last one that was looked at, and how many were; `None` after the
    /// last key.
    fn next_wanted(
        &self,
        after: &[u8],
        wants: &dyn Fn(&[u8]) -> bool,
        looks: usize,
    ) -> Outcome<Option<(Vec<u8>, usize)>> {
        let (mut found, mut count) = (None, 0);
        let low = if after.is_empty() { Bound::Unbounded } else { Bound::Excluded(after) };
        let range = Range { low, high: Bound::Unbounded, reverse: false };
        self.scan(self.database.get(), Area::Keys, range, &mut |key, _| {
            count += 1;
            if wants(key) || count == looks {
                found = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(found.map(|key| (key, count)))
    }

    /// Stores the keys of a chunk in place of what is under their names. Before an error, a part of them may be stored:
    /// [`Chunk::check`] says whether the chunk can be read.
    ///
    /// # Errors
    /// The bytes are no chunk; those of the store.
    pub fn carry_in(&self, chunk: &[u8]) -> Outcome<()> {
        let mut version = None;
        for item in items(chunk) {
            match item? {
                Item::Key(key, record) => version = self.carry_record(key, record)?,
                Item::Absent(key) => {
                    self.replace(&self.entry(key)?, None)?;
                    version = None;
                }
                Item::More(key) => version = self.entry(key)?.stored().and_then(Record::version),
                Item::Row(family, member, value) => {
                    // Without a version, the key has expired here meanwhile.
                    if let Some(version) = version {
                        let row = rows::key(family, version, member);
                        self.store.insert(self.database.get(), Area::Rows, &row, value)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Stores a record that was carried, and returns its version here.
    fn carry_record(&self, key: &[u8], record: &[u8]) -> Outcome<Option<u64>> {
        let record = Record::decode(record.into())?;
        let version = record.version().map(|_| self.store.next_version());
        let mut body = record.body().to_vec();
        if let Some(version) = version {
            body[..8].copy_from_slice(&version.to_be_bytes());
        }
        let new = NewRecord { kind: record.kind, in_rows: record.in_rows, expiry: record.expiry, body: &body };
        self.replace(&self.entry(key)?, Some(new))?;
        Ok(version)
    }

    /// Removes the keys that `wants`, at most `most` of them, looking at a bounded number, from behind a key on.
    /// Returns the last key that was looked at; `None` after the last one.
    ///
    /// # Errors
    /// Those of the store.
    pub fn carry_away(
        &self,
        after: &[u8],
        wants: &dyn Fn(&[u8]) -> bool,
        (most, looks): (usize, usize),
    ) -> Outcome<Option<Vec<u8>>> {
        let (mut at, mut removed, mut looked) = (after.to_vec(), 0, 0);
        while removed < most && looked < looks {
            let Some((key, count)) = self.next_wanted(&at, wants, looks - looked)? else { return Ok(None) };
            looked += count;
            if wants(&key) {
                self.replace(&self.entry(&key)?, None)?;
                removed += 1;
            }
            at = key;
        }
        Ok(Some(at))
    }
}

/// An item of a chunk.
enum Item<'a> {
    /// A key and its record.
    Key(&'a [u8], &'a [u8]),
    Absent(&'a [u8]),
    More(&'a [u8]),
    /// The family of a row, its member and its value.
    Row(u8, &'a [u8], &'a [u8]),
}

/// Reads the items of a chunk, one after the other, up to an error.
fn items(mut input: &[u8]) -> impl Iterator<Item = Outcome<Item<'_>>> {
    std::iter::from_fn(move || (!input.is_empty()).then(|| item(&mut input)))
}

fn item<'a>(input: &mut &'a [u8]) -> Outcome<Item<'a>> {
    match byte(input)? {
        KEY => {
            let (key, record) = (part(input)?, part(input)?);
            record::parts(record)?;
            Ok(Item::Key(key, record))
        }
        ABSENT => Ok(Item::Absent(part(input)?)),
        MORE => Ok(Item::More(part(input)?)),
        ROW => {
            let family = Some(byte(input)?).filter(|family| rows::OF_VERSIONS.contains(family)).ok_or(NO_CHUNK)?;
            Ok(Item::Row(family, part(input)?, part(input)?))
        }
        _ => Err(NO_CHUNK),
    }
}

fn byte(input: &mut &[u8]) -> Outcome<u8> {
    let (first, rest) = input.split_first().ok_or(NO_CHUNK)?;
    *input = rest;
    Ok(*first)
}

/// Takes bytes with their length before them.
fn part<'a>(input: &mut &'a [u8]) -> Outcome<&'a [u8]> {
    take_counted(input).ok_or(NO_CHUNK)
}
