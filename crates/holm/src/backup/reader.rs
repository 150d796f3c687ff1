//! Reading a backup stream. Nothing in it is believed: lengths, order, checksums and counts are verified as it is read.

use super::BackupInfo;
use super::format::{
    Body, END, FRAME_HEAD, HEADER, Header, Kind, MAGIC, MOST_BODY, STREAM, Totals, damaged, frame_checksum,
};
use crate::catalog::is_name;
use crate::error::{Error, Result};
use crate::keyspace_options::KeyspaceOptions;
use std::io::{self, Read};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// An item of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item<'a> {
    Keyspace {
        name: &'a str,
        options: KeyspaceOptions,
    },
    Pair {
        key: &'a [u8],
        value: &'a [u8],
    },
    /// The base has this many pairs from one key to another, and they stay.
    Keep {
        count: u64,
        least: &'a [u8],
        greatest: &'a [u8],
    },
    Mark(u64),
}

/// What is known once a stream has been read to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct EndOfStream {
    pub(super) header: Header,
    /// The hash of all bytes before the end frame.
    pub(super) hash: u128,
    pub(super) info: BackupInfo,
}

/// The last key that was read. Keys of a keyspace ascend.
#[derive(Default)]
struct LastKey {
    key: Vec<u8>,
    /// Whether there was one since the keyspace began.
    any: bool,
}

impl LastKey {
    fn advance(&mut self, key: &[u8], offset: u64) -> Result<()> {
        if self.any && key <= &self.key[..] {
            return Err(damaged(offset, "a key", format!("\"{}\"", key.escape_ascii()), "one above the last"));
        }
        self.key.clear();
        self.key.extend_from_slice(key);
        self.any = true;
        Ok(())
    }
}

/// Reads a stream, item by item.
pub(super) struct StreamReader<'a> {
    input: &'a mut dyn Read,
    header: Header,
    /// Of all bytes so far, except for those of the frame that was read last.
    hash: Box<Xxh3>,
    /// Bytes read.
    read: u64,
    /// The frame that was read last: head and body.
    frame: Vec<u8>,
    kind: Kind,
    /// Where the body goes on.
    at: usize,
    /// The value of the last large pair.
    large: Vec<u8>,
    name: Option<String>,
    last_key: LastKey,
    totals: Totals,
}

impl<'a> StreamReader<'a> {
    /// Reads the header.
    ///
    /// # Errors
    /// `Foreign`: this is no stream of Holm's. `Version`, `Corrupt`, `Io`.
    pub(super) fn begin(input: &'a mut dyn Read) -> Result<Self> {
        let mut bytes = [0; HEADER];
        let read = fill(input, &mut bytes)?;
        if read < HEADER {
            let begins = read > 0 && bytes[..read.min(8)] == MAGIC[..read.min(8)];
            return Err(if begins {
                damaged(0, "the header", format!("{read} bytes"), format!("{HEADER} bytes"))
            } else {
                let found = format!("{read} bytes");
                Error::Foreign { path: STREAM.into(), found, expected: "\"HolmFlow\" and more".into() }
            });
        }
        let header = Header::decode(&bytes)?;
        let mut hash = Box::new(Xxh3::new());
        hash.update(&bytes);
        Ok(StreamReader {
            input,
            header,
            hash,
            read: HEADER as u64,
            frame: Vec::new(),
            kind: Kind::Mark,
            at: 0,
            large: Vec::new(),
            name: None,
            last_key: LastKey::default(),
            totals: Totals::default(),
        })
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// Reads what is left of the stream.
    ///
    /// # Errors
    /// As [`StreamReader::next`].
    pub(super) fn finish(mut self) -> Result<EndOfStream> {
        while self.next()?.is_some() {}
        let info = BackupInfo::new(&self.header, &self.totals, self.read);
        Ok(EndOfStream { header: self.header, hash: self.hash.digest128(), info })
    }

    /// Reads the next frame. The end of the input is damage: an end frame comes first.
    fn next_frame(&mut self) -> Result<()> {
        self.hash.update(&self.frame);
        let offset = self.read;
        self.frame.resize(FRAME_HEAD, 0);
        let read = fill(self.input, &mut self.frame)?;
        if read < FRAME_HEAD {
            return Err(damaged(offset, "a frame", format!("the end, after {read} bytes"), "a frame, or an end frame"));
        }
        let number = |at: usize| u32::from_le_bytes(self.frame[at..at + 4].try_into().expect("four bytes"));
        let (len, kind, expected) = (number(0), self.frame[4], number(5));
        if len as usize > MOST_BODY {
            return Err(damaged(offset, "a frame's length", len, format!("at most {MOST_BODY}")));
        }
        self.frame.resize(FRAME_HEAD + len as usize, 0);
        let read = fill(self.input, &mut self.frame[FRAME_HEAD..])?;
        if read < len as usize {
            return Err(damaged(offset, "a frame", format!("the end, after {read} bytes"), format!("{len} bytes")));
        }
        let found = frame_checksum(len, kind, &self.frame[FRAME_HEAD..]);
        if found != expected {
            let (found, expected) = (format!("{found:#x}"), format!("{expected:#x}"));
            return Err(damaged(offset, "a frame's checksum", found, expected));
        }
        self.kind = Kind::of(kind).ok_or_else(|| damaged(offset, "a frame's kind", kind, "1 to 7"))?;
        (self.read, self.at) = (offset + self.frame.len() as u64, 0);
        Ok(())
    }

    /// Where the body of the last frame begins in the stream.
    fn body_offset(&self) -> u64 {
        self.read - (self.frame.len() - FRAME_HEAD) as u64
    }

    /// Returns the next item; `None` from the end frame on, when counts and hash have proved right.
    ///
    /// # Errors
    /// `Corrupt`: the stream is damaged or ends early. `Io`.
    pub(super) fn next(&mut self) -> Result<Option<Item<'_>>> {
        if self.kind == Kind::End {
            return Ok(None);
        }
        let gathered = matches!(self.kind, Kind::Pairs | Kind::Keep) && self.at < self.frame.len() - FRAME_HEAD;
        if !gathered {
            self.next_frame()?;
        }
        match self.kind {
            Kind::Keyspace => self.keyspace().map(Some),
            Kind::Pairs => self.pair().map(Some),
            Kind::Large => self.large_pair().map(Some),
            Kind::Keep => self.keep().map(Some),
            Kind::Mark => {
                let offset = self.body_offset();
                let mark = Body::new(&self.frame[FRAME_HEAD..], &mut self.at, offset).number()?;
                self.whole_body().map(|()| Some(Item::Mark(mark)))
            }
            Kind::Part => Err(damaged(self.body_offset(), "a frame", "a part of no value", "another kind")),
            Kind::End => self.end().map(|()| None),
        }
    }

    /// Refuses a frame of one item that has more bytes.
    fn whole_body(&self) -> Result<()> {
        let rest = self.frame.len() - FRAME_HEAD - self.at;
        if rest > 0 {
            return Err(damaged(self.body_offset(), "a frame's body", format!("{rest} bytes more"), "its end"));
        }
        Ok(())
    }

    fn within_keyspace(&self) -> Result<()> {
        if self.name.is_none() {
            return Err(damaged(self.body_offset(), "a frame", "pairs of no keyspace", "a keyspace first"));
        }
        Ok(())
    }

    fn keyspace(&mut self) -> Result<Item<'_>> {
        let offset = self.body_offset();
        let mut body = Body::new(&self.frame[FRAME_HEAD..], &mut self.at, offset);
        let flags = body.take(1)?[0];
        let bytes = body.take(self.frame.len() - FRAME_HEAD - 1)?;
        // Before anything is stored: an opening could not create the keyspace, either.
        let name = std::str::from_utf8(bytes).ok().filter(|name| is_name(name));
        let expected = "UTF-8, 1 to 255 bytes, the first one not zero";
        let name = name.ok_or_else(|| damaged(offset, "a name", format!("\"{}\"", bytes.escape_ascii()), expected))?;
        if self.name.as_ref().is_some_and(|last| name <= &last[..]) {
            return Err(damaged(offset, "a name", format!("{name:?}"), "one above the last"));
        }
        self.last_key.any = false;
        self.totals.keyspaces += 1;
        let options = KeyspaceOptions::known(flags, name)?;
        Ok(Item::Keyspace { name: self.name.insert(name.into()), options })
    }

    fn pair(&mut self) -> Result<Item<'_>> {
        self.within_keyspace()?;
        let offset = self.body_offset();
        let mut body = Body::new(&self.frame[FRAME_HEAD..], &mut self.at, offset);
        let (key_len, value_len) = body.lengths_of_pair()?;
        let (key, value) = (body.take(key_len)?, body.take(value_len)?);
        self.last_key.advance(key, offset)?;
        self.totals.records += 1;
        Ok(Item::Pair { key, value })
    }

    fn large_pair(&mut self) -> Result<Item<'_>> {
        self.within_keyspace()?;
        let offset = self.body_offset();
        let mut body = Body::new(&self.frame[FRAME_HEAD..], &mut self.at, offset);
        let (key_len, value_len) = body.lengths_of_pair()?;
        self.last_key.advance(body.take(key_len)?, offset)?;
        self.whole_body()?;
        self.large.clear();
        while self.large.len() < value_len {
            self.next_frame()?;
            let part = &self.frame[FRAME_HEAD..];
            if self.kind != Kind::Part || part.is_empty() || self.large.len() + part.len() > value_len {
                let expected = format!("the rest of a value of {value_len} bytes");
                return Err(damaged(self.body_offset(), "a frame", format!("{:?}", self.kind), expected));
            }
            self.large.extend_from_slice(part);
        }
        self.totals.records += 1;
        Ok(Item::Pair { key: &self.last_key.key, value: &self.large })
    }

    fn keep(&mut self) -> Result<Item<'_>> {
        self.within_keyspace()?;
        let offset = self.body_offset();
        if self.header.base == 0 {
            return Err(damaged(offset, "a frame", "pairs to keep", "none in a whole backup"));
        }
        let mut body = Body::new(&self.frame[FRAME_HEAD..], &mut self.at, offset);
        let count = body.number()?;
        let (least_len, greatest_len) = body.lengths_of_keys()?;
        let (least, greatest) = (body.take(least_len)?, body.take(greatest_len)?);
        self.last_key.advance(least, offset)?;
        if greatest != least {
            self.last_key.advance(greatest, offset)?;
        }
        self.totals.kept = self.totals.kept.saturating_add(count);
        Ok(Item::Keep { count, least, greatest })
    }

    fn end(&mut self) -> Result<()> {
        let offset = self.body_offset();
        let mut body = Body::new(&self.frame[FRAME_HEAD..], &mut self.at, offset);
        let (totals, hash) = Totals::decode(body.take(END)?.try_into().expect("as many bytes"));
        self.whole_body()?;
        if totals != self.totals {
            return Err(damaged(offset, "the counts", format!("{:?}", self.totals), format!("{totals:?}")));
        }
        let found = self.hash.digest128();
        if found != hash {
            return Err(damaged(offset, "the hash", format!("{found:#x}"), format!("{hash:#x}")));
        }
        Ok(())
    }
}

/// Fills a buffer as far as the input goes. Returns the bytes read.
fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match input.read(&mut buffer[done..]) {
            Ok(0) => break,
            Ok(read) => done += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("reading", STREAM.into(), Arc::new(error))),
        }
    }
    Ok(done)
}
