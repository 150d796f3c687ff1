//! One record of the epoch log: how it is built in memory, and how its bytes are distinguished from garbage.
//!
//! ```text
//!  0  magic "Holm"                         4 bytes     all numbers little-endian
//!  4  reach: no record of this pass ends behind this page, unless a later one has said so before    4
//!  8  uuid of the database                16
//! 24  pass: rises with every switch of segments    8
//! 32  sequence: consecutive over all records     8
//! 40  epoch                                8
//! 48  bytes of the body                    4
//! 52  place: bit 31 and bits 28 to 30: the lowest and the other bits of the segment; the rest: the page in it   4
//! 56  the lowest 26 bits: runs in the body; the rest: the line in the page   4
//! 60  CRC32C of header (this field zero) and body      4
//! 64  body: runs of { location 8, lines 4, zero 4, lines * 64 bytes }
//!     zeros up to the next line
//! ```
//!
//! A record is valid only if its checksum is right. The checksum covers uuid, pass and place, so it rejects a stale
//! record, a record of another database, and one that was written to another place. The log owns the files.

#![forbid(unsafe_code)]

use super::position::Position;
use crate::vfs::{AlignedBytes, FORMAT_PAGE};

/// Bytes of a cache line, the unit of locations and lengths in a record.
pub const LINE: usize = 64;

/// Bytes of a record's header.
pub const HEADER: usize = 64;

/// Bytes of a run's header.
const RUN_HEADER: usize = 16;

/// The bits of a header that count runs. A body of 4 GiB has fewer: each takes 80 bytes at least.
const RUN_BITS: u32 = 26;

const MAGIC: u32 = u32::from_le_bytes(*b"Holm");

/// A record under construction, in memory aligned for direct writes; reused for the next epoch.
#[derive(Debug, Default)]
pub struct EpochRecord {
    bytes: AlignedBytes,
    /// Bytes in use, header included.
    used: usize,
    epoch: u64,
    runs: u32,
    /// Offset of the last run's header, and the location behind its last byte.
    last: Option<(usize, u64)>,
}

impl EpochRecord {
    /// An empty record of epoch 0. Memory is allocated as runs come and kept for later records.
    pub fn new() -> EpochRecord {
        let mut epoch_record = EpochRecord::default();
        epoch_record.begin(0);
        epoch_record
    }

    /// Drops all runs and begins the record of an epoch.
    pub fn begin(&mut self, epoch: u64) {
        self.bytes.grow(FORMAT_PAGE as usize);
        self.used = HEADER;
        self.epoch = epoch;
        self.runs = 0;
        self.last = None;
    }

    /// Adds the bytes of whole lines that belong at byte `location` of the image. A run that continues the last one is
    /// joined to it.
    ///
    /// # Panics
    ///
    /// If `location` or the length is not a multiple of [`LINE`]: segment a line cannot be replayed.
    pub fn push(&mut self, location: u64, lines: &[u8]) {
        self.push_with(location, lines.len(), |room| room.copy_from_slice(lines));
    }

    /// Like [`EpochRecord::push`], with `len` bytes to be filled in place.
    ///
    /// # Panics
    ///
    /// As [`EpochRecord::push`].
    pub fn push_with(&mut self, location: u64, len: usize, fill: impl FnOnce(&mut [u8])) {
        assert!(
            location.is_multiple_of(LINE as u64) && len.is_multiple_of(LINE),
            "{len} bytes at {location:#x} in a record: whole lines of {LINE} are expected"
        );
        if len == 0 {
            return;
        }
        let (header, old_lines) = match self.last {
            Some((header, end)) if end == location => (header, self.lines_at(header)),
            _ => (self.open_run(location), 0),
        };
        self.bytes.grow(self.used + len);
        let bytes = self.bytes.as_mut_slice();
        fill(&mut bytes[self.used..self.used + len]);
        bytes[header + 8..header + 12].copy_from_slice(&(old_lines + (len / LINE) as u32).to_le_bytes());
        self.used += len;
        self.last = Some((header, location + len as u64));
    }

    fn open_run(&mut self, location: u64) -> usize {
        let header = self.used;
        self.bytes.grow(header + RUN_HEADER);
        let run = &mut self.bytes.as_mut_slice()[header..header + RUN_HEADER];
        run[..8].copy_from_slice(&location.to_le_bytes());
        run[8..].fill(0);
        self.used += RUN_HEADER;
        self.runs += 1;
        header
    }

    fn lines_at(&self, header: usize) -> u32 {
        u32_at(self.bytes.as_slice(), header + 8)
    }

    /// The epoch passed to [`EpochRecord::begin`].
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The number of runs so far.
    pub fn runs(&self) -> u32 {
        self.runs
    }

    /// Whether nothing was pushed.
    pub fn is_empty(&self) -> bool {
        self.runs == 0
    }

    /// The runs: where each belongs in the image (byte location), and its length in bytes.
    pub fn places(&self) -> impl Iterator<Item = (u64, u64)> {
        let runs = Runs::new(&self.bytes.as_slice()[HEADER..self.used], self.runs);
        runs.flatten().map(|(location, bytes)| (location, bytes.len() as u64))
    }

    /// Bytes of memory that this buffer has allocated for its records so far.
    pub fn memory(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes that the record takes in the log: header, body, and padding to a line.
    pub fn padded_len(&self) -> u64 {
        padded(self.used as u64)
    }

    /// Seals the record for its place in the log of the database `uuid` and returns its bytes, with zeros up to the end
    /// of a page, and aligned to one. `reach` is in bytes and rounded up to pages. May be called again with another
    /// position. The body must be shorter than 4 GiB.
    ///
    /// # Panics
    ///
    /// If the body is longer, or the place is no line's: a replay would not find the record.
    pub fn finish(&mut self, uuid: &[u8; 16], at: &Position, reach: u64) -> &[u8] {
        let padded = (self.used as u64).next_multiple_of(FORMAT_PAGE) as usize;
        self.bytes.grow(padded);
        let (used, epoch, runs) = (self.used, self.epoch, self.runs);
        let body = u32::try_from(used - HEADER).unwrap_or_else(|_| panic!("a record of {used} bytes: below 4 GiB"));
        assert!(at.offset.is_multiple_of(LINE as u64), "a record at byte {}: a line's start is expected", at.offset);
        let bytes = &mut self.bytes.as_mut_slice()[..padded];
        bytes[used..].fill(0);
        let mut put = |offset: usize, field: &[u8]| bytes[offset..offset + field.len()].copy_from_slice(field);
        put(0, &MAGIC.to_le_bytes());
        put(4, &u32::try_from(reach.div_ceil(FORMAT_PAGE)).unwrap_or(u32::MAX).to_le_bytes());
        put(8, uuid);
        put(24, &at.pass.to_le_bytes());
        put(32, &at.sequence.to_le_bytes());
        put(40, &epoch.to_le_bytes());
        put(48, &body.to_le_bytes());
        put(52, &place(at.segment, at.offset).to_le_bytes());
        put(56, &(line_in_page(at.offset) << RUN_BITS | runs).to_le_bytes());
        put(60, &[0; 4]);
        let crc = crc32c::crc32c(&bytes[..used]);
        bytes[60..64].copy_from_slice(&crc.to_le_bytes());
        bytes
    }
}

/// A header as it was read: any bits, nothing checked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    raw: [u8; HEADER],
    /// In bytes.
    pub(super) reach: u64,
    pub(super) pass: u64,
    pub(super) sequence: u64,
    pub(super) epoch: u64,
    pub(super) body: u32,
    pub(super) runs: u32,
    pub(super) crc: u32,
}

impl Header {
    pub(super) fn parse(raw: [u8; HEADER]) -> Header {
        Header {
            raw,
            reach: u64::from(u32_at(&raw, 4)) * FORMAT_PAGE,
            pass: u64_at(&raw, 24),
            sequence: u64_at(&raw, 32),
            epoch: u64_at(&raw, 40),
            body: u32_at(&raw, 48),
            runs: u32_at(&raw, 56) & ((1 << RUN_BITS) - 1),
            crc: u32_at(&raw, 60),
        }
    }

    /// Whether this begins a record of the database `uuid` written for this place. The checksum is not checked here.
    pub(super) fn belongs(&self, uuid: &[u8; 16], segment: u8, offset: u64) -> bool {
        u32_at(&self.raw, 0) == MAGIC
            && self.raw[8..24] == *uuid
            && u32_at(&self.raw, 52) == place(segment, offset)
            && u32_at(&self.raw, 56) >> RUN_BITS == line_in_page(offset)
    }

    /// Whether bytes can be a header's. Cheap: most bytes are not.
    pub(super) fn may_begin(raw: &[u8; HEADER]) -> bool {
        u32_at(raw, 0) == MAGIC
    }

    /// Whether the header states a position's pass and sequence.
    pub(super) fn is_at(&self, at: &Position) -> bool {
        (self.pass, self.sequence) == (at.pass, at.sequence)
    }

    /// Bytes that the record takes in the log, if it is whole.
    pub(super) fn padded_len(&self) -> u64 {
        padded(HEADER as u64 + u64::from(self.body))
    }

    /// The database whose record for this place the header begins, if it begins one. The checksum is not checked here.
    pub(super) fn uuid_here(&self, segment: u8, offset: u64) -> Option<[u8; 16]> {
        let uuid: [u8; 16] = std::array::from_fn(|i| self.raw[8 + i]);
        self.belongs(&uuid, segment, offset).then_some(uuid)
    }

    pub(super) fn is_blank(&self) -> bool {
        self.raw.iter().all(|&byte| byte == 0)
    }

    /// The checksum that header and body must have.
    pub(super) fn checksum(&self, body: &[u8]) -> u32 {
        let mut raw = self.raw;
        raw[60..].fill(0);
        crc32c::crc32c_append(crc32c::crc32c(&raw), body)
    }
}

/// The runs of a body, each as location and bytes; an `Err` says why the body is malformed.
pub(super) struct Runs<'a> {
    body: &'a [u8],
    left: u32,
}

impl<'a> Runs<'a> {
    pub(super) fn new(body: &'a [u8], count: u32) -> Runs<'a> {
        Runs { body, left: count }
    }

    fn take(&mut self) -> Result<(u64, &'a [u8]), &'static str> {
        let (header, rest) = self.body.split_at_checked(RUN_HEADER).ok_or("a body shorter than its runs")?;
        let (location, lines) = (u64_at(header, 0), u32_at(header, 8));
        let (bytes, rest) = rest.split_at_checked(lines as usize * LINE).ok_or("a run longer than its body")?;
        if !location.is_multiple_of(LINE as u64) || location.checked_add(bytes.len() as u64).is_none() {
            return Err("a location that is no line's");
        }
        self.body = rest;
        Ok((location, bytes))
    }
}

impl<'a> Iterator for Runs<'a> {
    type Item = Result<(u64, &'a [u8]), &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            // Nothing may follow the last run. The error is returned once, then the body counts as consumed.
            return (!std::mem::take(&mut self.body).is_empty()).then_some(Err("bytes behind the last run"));
        }
        self.left -= 1;
        let run = self.take();
        if run.is_err() {
            (self.left, self.body) = (0, &[]);
        }
        Some(run)
    }
}

/// Records begin at lines.
fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(LINE as u64)
}

/// The line of a place within its page.
fn line_in_page(offset: u64) -> u32 {
    (offset % FORMAT_PAGE) as u32 / LINE as u32
}

/// Segment and page in 32 bits: the lowest bit of the segment is the highest one here. A segment of 1 TiB would wrap,
/// and the maximum of a segment stays below it.
fn place(segment: u8, offset: u64) -> u32 {
    let segment = u32::from(segment);
    (segment & 1) << 31 | (segment >> 1) << 28 | (offset / FORMAT_PAGE) as u32
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Position = Position { segment: 1, pass: 7, sequence: 9, offset: 8192 };
    const UUID: [u8; 16] = [3; 16];

    #[test]
    #[should_panic(expected = "32 bytes at 0x40 in a record: whole lines of 64 are expected")]
    fn half_a_line_is_refused() {
        EpochRecord::new().push(64, &[0; 32]);
    }

    #[test]
    #[should_panic(expected = "a record at byte 100: a line's start is expected")]
    fn a_place_within_a_line_is_refused() {
        EpochRecord::new().finish(&UUID, &Position { offset: 100, ..AT }, 5000);
    }

    fn sealed(epoch_record: &mut EpochRecord) -> (Header, Vec<u8>) {
        let bytes = epoch_record.finish(&UUID, &AT, 5000).to_vec();
        let header = Header::parse(std::array::from_fn(|i| bytes[i]));
        (header, bytes[HEADER..HEADER + header.body as usize].to_vec())
    }

    #[test]
    fn runs_come_back_and_neighbours_are_joined() {
        let mut epoch_record = EpochRecord::new();
        epoch_record.begin(5);
        epoch_record.push(640, &[1; 64]);
        epoch_record.push(704, &[2; 128]);
        epoch_record.push_with(64, 64, |room| room.fill(3));
        epoch_record.push(1024, &[]);
        let (header, body) = sealed(&mut epoch_record);
        assert_eq!(header.crc, header.checksum(&body));
        assert!(header.belongs(&UUID, 1, 8192));
        assert!(
            !header.belongs(&UUID, 0, 8192)
                && !header.belongs(&UUID, 1, 4096)
                && !header.belongs(&UUID, 1, 8256)
                && !header.belongs(&[4; 16], 1, 8192)
        );
        let runs: Vec<_> = Runs::new(&body, header.runs).map(|run| run.expect("a run as pushed")).collect();
        assert_eq!(runs, [(640, &[&[1; 64][..], &[2; 128]].concat()[..]), (64, &[3; 64])]);
        assert_eq!((header.pass, header.sequence, header.epoch, header.reach), (7, 9, 5, 8192));
    }

    #[test]
    fn a_buffer_used_again_holds_nothing_of_the_old_record() {
        let mut epoch_record = EpochRecord::new();
        epoch_record.push(0, &[9; 6400]);
        let long = epoch_record.finish(&UUID, &AT, 5000).len();
        epoch_record.begin(1);
        epoch_record.push(64, &[1; 64]);
        let bytes = epoch_record.finish(&UUID, &AT, 5000);
        assert!(bytes.len() < long);
        assert!(bytes[HEADER + RUN_HEADER + 64..].iter().all(|&byte| byte == 0));
        assert_eq!(bytes.as_ptr().addr() % FORMAT_PAGE as usize, 0);
    }

    #[test]
    fn every_flipped_bit_breaks_the_checksum() {
        let mut epoch_record = EpochRecord::new();
        epoch_record.push(64, &[1; 64]);
        let (header, body) = sealed(&mut epoch_record);
        let whole = [&header.raw[..], &body].concat();
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let header = Header::parse(std::array::from_fn(|i| bytes[i]));
            assert_ne!(header.crc, header.checksum(&bytes[HEADER..]), "bit {bit}");
        }
    }

    #[test]
    fn a_body_that_lies_is_an_error_and_ends() {
        let mut epoch_record = EpochRecord::new();
        epoch_record.push(64, &[1; 64]);
        let (header, body) = sealed(&mut epoch_record);
        let mut long = body.clone();
        long[8] = 200;
        let mut astray = body.clone();
        astray[0] = 1;
        for (body, runs) in [(&body, 2), (&body, 0), (&long, 1), (&astray, 1), (&body[..5].to_vec(), 1)] {
            let met: Vec<_> = Runs::new(body, runs).collect();
            assert!(met.iter().filter(|run| run.is_err()).count() == 1 && met.len() <= 2);
        }
        assert!(Runs::new(&body, header.runs).all(|run| run.is_ok()));
    }
}
