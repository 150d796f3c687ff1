//! Writing a backup stream.

use super::format::{Header, Kind, MOST_BODY, STREAM, Totals, frame_checksum, lengths};
use crate::error::{Error, Result};
use std::io::Write;
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// Pairs and ranges gather in a body until it has this many bytes.
const FULL: usize = 256 << 10;

/// Writes a stream, frame by frame.
pub(super) struct StreamWriter<'a> {
    out: &'a mut dyn Write,
    /// Of all bytes so far.
    hash: Box<Xxh3>,
    written: u64,
    /// The body that gathers, and what it holds.
    body: Vec<u8>,
    gathering: Kind,
    totals: Totals,
}

impl<'a> StreamWriter<'a> {
    /// Begins a stream.
    ///
    /// # Errors
    /// `Io`: the writer refuses a call. So for all other functions.
    pub(super) fn begin(out: &'a mut dyn Write, header: &Header) -> Result<Self> {
        let (hash, totals) = (Box::new(Xxh3::new()), Totals::default());
        let mut writer = StreamWriter { out, hash, written: 0, body: Vec::new(), gathering: Kind::Pairs, totals };
        writer.put(&header.encode())?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.hash.update(bytes);
        self.written += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|error| Error::io("writing", STREAM.into(), Arc::new(error)))
    }

    fn frame(&mut self, kind: Kind, body: &[u8]) -> Result<()> {
        let len = body.len() as u32;
        let checksum = frame_checksum(len, kind as u8, body);
        self.put(&[&len.to_le_bytes()[..], &[kind as u8], &checksum.to_le_bytes()].concat())?;
        self.put(body)
    }

    /// Writes what has gathered.
    fn flush(&mut self) -> Result<()> {
        if self.body.is_empty() {
            return Ok(());
        }
        let mut body = std::mem::take(&mut self.body);
        let written = self.frame(self.gathering, &body);
        body.clear();
        self.body = body;
        written
    }

    /// Makes room for an entry of some kind and length.
    fn gather(&mut self, kind: Kind, len: usize) -> Result<&mut Vec<u8>> {
        if self.gathering != kind || self.body.len() + len > FULL {
            self.flush()?;
        }
        self.gathering = kind;
        Ok(&mut self.body)
    }

    /// Begins a keyspace.
    pub(super) fn keyspace(&mut self, name: &str, flags: u8) -> Result<()> {
        self.flush()?;
        self.totals.keyspaces += 1;
        self.frame(Kind::Keyspace, &[&[flags], name.as_bytes()].concat())
    }

    /// Gives a pair of the keyspace. Keys ascend.
    pub(super) fn pair(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.totals.records += 1;
        let lengths = lengths(key.len(), value.len());
        let len = lengths.len() + key.len() + value.len();
        if len > MOST_BODY {
            self.flush()?;
            self.frame(Kind::Large, &[&lengths[..], key].concat())?;
            return value.chunks(MOST_BODY).try_for_each(|part| self.frame(Kind::Part, part));
        }
        let body = self.gather(Kind::Pairs, len)?;
        body.extend_from_slice(&lengths);
        body.extend_from_slice(key);
        body.extend_from_slice(value);
        Ok(())
    }

    /// States that the base has, from one key to another, these many pairs as they are now.
    pub(super) fn keep(&mut self, count: u64, least: &[u8], greatest: &[u8]) -> Result<()> {
        self.totals.kept += count;
        let lengths = lengths(least.len(), greatest.len());
        let body = self.gather(Kind::Keep, 16 + least.len() + greatest.len())?;
        body.extend_from_slice(&count.to_le_bytes());
        body.extend_from_slice(&lengths);
        body.extend_from_slice(least);
        body.extend_from_slice(greatest);
        Ok(())
    }

    /// Gives the mark.
    pub(super) fn mark(&mut self, mark: u64) -> Result<()> {
        self.flush()?;
        self.frame(Kind::Mark, &mark.to_le_bytes())
    }

    /// Ends the stream. Returns its counts, and its length in bytes.
    pub(super) fn end(mut self) -> Result<(Totals, u64)> {
        self.flush()?;
        let hash = self.hash.digest128();
        self.frame(Kind::End, &self.totals.encode(hash))?;
        self.out.flush().map_err(|error| Error::io("writing", STREAM.into(), Arc::new(error)))?;
        Ok((self.totals, self.written))
    }
}
