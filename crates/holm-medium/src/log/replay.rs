//! Reading the log back: every whole record from the checkpoint's start to the torn tail, and nothing else.
//!
//! A torn tail is normal: power was lost while a record was written. The same bytes in the middle are damage, and
//! taking them for the tail would silently drop what was acknowledged after them. Each record is durable before the
//! next is begun, so a later whole record of this database proves damage. Replay therefore accepts the end only after
//! it has searched both segments for such a record, as far as records may reach.
//!
//! Guarantees: nothing is visited before its checksum and its runs were found to be right. No length field is trusted
//! beyond the length of the file, and that length bounds every loop. The visitor applies the runs, and checks whether
//! their locations lie in the image.

#![forbid(unsafe_code)]

use super::epoch_record::{HEADER, Header, LINE, Runs};
use super::last_page::next_page;
use super::position::{FIRST_REACH, LogStart, Position};
use super::segment::{segment_path, too_short};
use crate::epoch::LAST_EPOCH;
use crate::error::{MediumError, Result};
use crate::vfs::{FORMAT_PAGE, How, Vfs, VfsFile, read_exact_at};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The files of a log.
#[derive(Clone, Copy, Debug)]
pub struct LogFiles<'a> {
    /// The folder of the database.
    pub dir: &'a Path,
    /// The database.
    pub uuid: [u8; 16],
    /// How many segments the superblock counts.
    pub segments: u8,
}

/// What a replay found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Epoch of the last whole record; `None` if there was no record.
    pub last_epoch: Option<u64>,
    /// Where the next record would have been. Recovery continues at [`Position::fresh_start`] instead.
    pub next: Position,
    /// The number of whole records.
    pub records: u64,
    /// Bytes of the image in them.
    pub bytes: u64,
    /// Offset, in the segment of `next`, of bytes that are neither blank nor left from an older pass: most likely the
    /// record during which power was lost.
    pub torn: Option<u64>,
    /// The epoch of that record, if its header says that it is the next one. Otherwise the bytes may as well be the
    /// middle of a record that an older pass has left.
    pub torn_epoch: Option<u64>,
}

/// Reads the log from `start`. Passes every run of every whole record to `visit`, as
/// epoch, byte location in the image, and bytes (whole lines), in the order in which they were logged. An error of the
/// visitor ends the replay. Needs memory for the largest record.
///
/// # Errors
///
/// [`MediumError::Corrupt`] if a record is damaged or missing although a later one is whole, if epochs do not rise or
/// exceed [`LAST_EPOCH`], or a segment is too short; [`MediumError::Io`]; and what the visitor returns.
pub fn replay(
    vfs: &dyn Vfs,
    files: LogFiles<'_>,
    start: LogStart,
    visit: impl FnMut(u64, u64, &[u8]) -> Result<()>,
) -> Result<Replayed> {
    read_on(vfs, files, start, None, visit)
}

/// Like [`replay`], but for the records before `end` only, all of which must be whole: for a log that is being written
/// from `end` on meanwhile. A search for the end of such a log would race with its writer.
///
/// # Errors
///
/// As [`replay`].
pub fn replay_until(
    vfs: &dyn Vfs,
    files: LogFiles<'_>,
    start: LogStart,
    end: LogStart,
    visit: impl FnMut(u64, u64, &[u8]) -> Result<()>,
) -> Result<Replayed> {
    read_on(vfs, files, start, Some(end.sequence), visit)
}

fn read_on(
    vfs: &dyn Vfs,
    files: LogFiles<'_>,
    start: LogStart,
    end: Option<u64>,
    mut visit: impl FnMut(u64, u64, &[u8]) -> Result<()>,
) -> Result<Replayed> {
    let mut reader = Reader::open(vfs, files)?;
    reader.refuse_start(&start)?;
    if end.is_none() {
        // All of this will be read, so the disk starts now.
        reader.segments[usize::from(start.segment)].1.expect_reading(0, FIRST_REACH);
    }
    let mut seen =
        Replayed { last_epoch: None, next: start.position(), records: 0, bytes: 0, torn: None, torn_epoch: None };
    loop {
        if end == Some(seen.next.sequence) {
            return Ok(seen);
        }
        let at = seen.next;
        let (begin, met) = reader.read_next(&at)?;
        if let Met::Whole(header) = met
            && header.is_at(&at)
        {
            if end.is_none() && header.reach > reader.reach {
                let (_, file, len) = &reader.segments[usize::from(at.segment)];
                file.expect_reading(reader.reach, header.reach.min(*len).saturating_sub(reader.reach));
            }
            reader.reach = reader.reach.max(header.reach);
            // A record without runs exists for its reach only.
            if header.runs > 0 {
                let at = Position { offset: begin, ..at };
                reader.refuse_epoch(&at, header.epoch, seen.last_epoch)?;
                seen.bytes += reader.visit(&at, &header, &mut visit)?;
                seen.last_epoch = Some(header.epoch);
                seen.records += 1;
            }
            seen.next.offset = begin + header.padded_len();
            seen.next.sequence += 1;
        } else if let Some(next) = reader.continuation(&at)? {
            if end.is_none() {
                reader.segments[usize::from(next.segment)].1.expect_reading(0, FIRST_REACH);
            }
            reader.passed.push((at.segment, at.offset..reader.reach));
            reader.reach = FIRST_REACH;
            seen.next = next;
        } else if let Some(end) = end {
            return Err(MediumError::Corrupt {
                path: reader.path(at.segment).to_path_buf(),
                offset: begin,
                what: "a log record before the last",
                found: met.describe(),
                expected: format!("record {} of pass {}, of those before {end}", at.sequence, at.pass),
            });
        } else {
            reader.refuse_a_gap(&at, begin, &met)?;
            seen.torn = met.is_begun(at.pass).then_some(begin);
            seen.torn_epoch = met.epoch_of(&at);
            return Ok(seen);
        }
    }
}

/// Checks that all segments exist and are long enough: for a database whose log holds nothing that is needed.
///
/// # Errors
///
/// [`MediumError::Corrupt`], [`MediumError::Io`].
pub fn check_segments(vfs: &dyn Vfs, files: LogFiles<'_>) -> Result<()> {
    Reader::open(vfs, files).map(drop)
}

/// Like [`replay`], without a visitor: for checking a database at rest.
///
/// # Errors
///
/// As [`replay`].
pub fn verify(vfs: &dyn Vfs, files: LogFiles<'_>, start: LogStart) -> Result<Replayed> {
    replay(vfs, files, start, |_, _, _| Ok(()))
}

/// What lies at one place of the log.
#[derive(Clone, Copy, Debug)]
enum Met {
    /// The file ends before a header would.
    End,
    /// Not the header of a record of this database made for this place.
    Other(Header),
    /// A header whose body would reach behind the end of the file.
    TooLong(Header),
    /// A header or a body that is not what was written, with the checksum that it should have.
    Broken(Header, u32),
    /// A whole record. Its body is in the reader's buffer.
    Whole(Header),
}

impl Met {
    /// Whether a record of this pass seems to have been begun here.
    fn is_begun(&self, pass: u64) -> bool {
        match self {
            Met::End => false,
            Met::Other(header) => !header.is_blank(),
            Met::TooLong(header) | Met::Broken(header, _) => header.pass >= pass,
            Met::Whole(header) => header.pass == pass,
        }
    }

    /// Whether this is the whole record of a position.
    fn is_record(&self, at: &Position) -> bool {
        matches!(self, Met::Whole(header) if header.is_at(at))
    }

    /// The epoch that an incomplete record states, if the record is the next one at a position.
    fn epoch_of(&self, at: &Position) -> Option<u64> {
        match self {
            Met::TooLong(header) | Met::Broken(header, _) | Met::Other(header) => {
                header.is_at(at).then_some(header.epoch)
            }
            Met::End | Met::Whole(_) => None,
        }
    }

    fn describe(&self) -> String {
        match self {
            Met::End => "the end of the file".into(),
            Met::Other(header) if header.is_blank() => "zeros".into(),
            Met::Other(_) => "something that is no record of this place".into(),
            Met::TooLong(header) => format!("a record of {} bytes, which reach behind the file's end", header.body),
            Met::Broken(header, right) => format!("checksum {:08x} over bytes that have {right:08x}", header.crc),
            Met::Whole(header) => format!("record {} of pass {}", header.sequence, header.pass),
        }
    }
}

/// The segments, open for reading, and the body of one record.
struct Reader {
    uuid: [u8; 16],
    segments: Vec<(PathBuf, Box<dyn VfsFile>, u64)>,
    body: Vec<u8>,
    /// No record of the segment being read ends behind this.
    reach: u64,
    /// The segments that the replay has moved on from: where their records end, and how far they might have reached.
    passed: Vec<(u8, Range<u64>)>,
}

/// How often the bytes of a segment are read at most for records that turn out not to be whole.
pub(super) const MOST_READS: u64 = 4;

/// Bytes of one read where only the beginnings of lines are checked.
const READ_AHEAD: usize = 1 << 20;

impl Reader {
    fn open(vfs: &dyn Vfs, files: LogFiles<'_>) -> Result<Reader> {
        let open = |segment: u8| {
            let path = segment_path(files.dir, segment);
            let file = vfs.open(&path, How::READ).map_err(|e| MediumError::io("opening a log segment", &path, e))?;
            let len = file.len().map_err(|e| MediumError::io("measuring a log segment", &path, e))?;
            if len < FORMAT_PAGE {
                return Err(too_short(&path, len));
            }
            Ok((path, file, len))
        };
        let segments = (0..files.segments).map(open).collect::<Result<_>>()?;
        Ok(Reader { uuid: files.uuid, segments, body: Vec::new(), reach: FIRST_REACH, passed: Vec::new() })
    }

    fn numbers(&self) -> Range<u8> {
        0..self.segments.len() as u8
    }

    fn refuse_start(&self, start: &LogStart) -> Result<()> {
        if self.numbers().contains(&start.segment) {
            return Ok(());
        }
        Err(MediumError::Corrupt {
            path: self.path(0).to_path_buf(),
            offset: 0,
            what: "the segment where the log begins",
            found: start.segment.to_string(),
            expected: format!("less than {}", self.segments.len()),
        })
    }

    fn path(&self, segment: u8) -> &Path {
        &self.segments[usize::from(segment)].0
    }

    /// Returns an error for an epoch that no record can have here. A later one would be taken for the recovery point,
    /// and one behind the last epoch leaves no room for any that follow.
    fn refuse_epoch(&self, at: &Position, epoch: u64, before: Option<u64>) -> Result<()> {
        let first = before.map_or(0, |before| before + 1);
        if (first..=LAST_EPOCH).contains(&epoch) {
            return Ok(());
        }
        Err(MediumError::Corrupt {
            path: self.path(at.segment).to_path_buf(),
            offset: at.offset,
            what: "the epoch of a log record",
            found: epoch.to_string(),
            expected: format!("from {first} to {LAST_EPOCH}"),
        })
    }

    fn header(&self, segment: u8, offset: u64) -> Result<Option<Header>> {
        let (path, file, len) = &self.segments[usize::from(segment)];
        if offset.saturating_add(HEADER as u64) > *len {
            return Ok(None);
        }
        let mut raw = [0; HEADER];
        read_exact_at(&**file, &mut raw, offset).map_err(|e| MediumError::io("reading a log record", path, e))?;
        Ok(Some(Header::parse(raw)))
    }

    /// Reads the next record, and returns where it lies or was begun: behind the one before, or at the next page.
    fn read_next(&mut self, next: &Position) -> Result<(u64, Met)> {
        let near = self.read(next.segment, next.offset)?;
        let far = next_page(next.offset);
        if far == next.offset || near.is_record(next) {
            return Ok((next.offset, near));
        }
        let behind = self.read(next.segment, far)?;
        // Other bytes there may be the middle of a record that an older pass has left.
        let is_far = behind.is_record(next) || (behind.epoch_of(next).is_some() && !near.is_begun(next.pass));
        Ok(if is_far { (far, behind) } else { (next.offset, near) })
    }

    fn read(&mut self, segment: u8, offset: u64) -> Result<Met> {
        let Some(header) = self.header(segment, offset)? else { return Ok(Met::End) };
        if !header.belongs(&self.uuid, segment, offset) {
            return Ok(Met::Other(header));
        }
        let (path, file, len) = &self.segments[usize::from(segment)];
        let begin = offset + HEADER as u64;
        if u64::from(header.body) > len - begin {
            return Ok(Met::TooLong(header));
        }
        // Bounded by the length of the file, which was compared just above.
        self.body.resize(header.body as usize, 0);
        read_exact_at(&**file, &mut self.body, begin).map_err(|e| MediumError::io("reading a log record", path, e))?;
        let right = header.checksum(&self.body);
        Ok(if header.crc == right { Met::Whole(header) } else { Met::Broken(header, right) })
    }

    /// Passes the runs of the body just read to `visit`, after all of them were found to be well-formed.
    fn visit(
        &self,
        at: &Position,
        header: &Header,
        visit: &mut impl FnMut(u64, u64, &[u8]) -> Result<()>,
    ) -> Result<u64> {
        let malformed = |what: &str| MediumError::Corrupt {
            path: self.path(at.segment).to_path_buf(),
            offset: at.offset,
            what: "a log record",
            found: what.into(),
            expected: "runs that fill the body".into(),
        };
        let runs = || Runs::new(&self.body, header.runs);
        if let Some(what) = runs().find_map(|run| run.err()) {
            return Err(malformed(what));
        }
        let mut bytes = 0;
        for (location, run) in runs().flatten() {
            visit(header.epoch, location, run)?;
            bytes += run.len() as u64;
        }
        Ok(bytes)
    }

    /// The beginning of another segment, if the log continues there. Each segment has one part of it at most: one is
    /// overwritten only after a checkpoint has moved the start out of it.
    fn continuation(&mut self, at: &Position) -> Result<Option<Position>> {
        for segment in self.numbers() {
            if segment == at.segment || self.passed.iter().any(|(passed, _)| *passed == segment) {
                continue;
            }
            let next = at.next_pass_in(segment).position();
            let is_next = |header: &Header| (header.pass, header.sequence) == (next.pass, next.sequence);
            // The body only of what can be the next record: most segments begin with what an older pass has left.
            if self.header(segment, 0)?.is_some_and(|header| is_next(&header))
                && matches!(self.read(segment, 0)?, Met::Whole(_))
            {
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    /// Returns an error if a later record is whole anywhere, because then the bytes at `at` are damage and not the
    /// tail. In a segment that the log has left, everything before its end has been read and is whole. The next record
    /// should `begin` where nothing was `met`.
    fn refuse_a_gap(&mut self, at: &Position, begin: u64, met: &Met) -> Result<()> {
        // A log of many segments has small ones.
        let others = FIRST_REACH / (self.segments.len() as u64 - 1).max(1);
        for segment in self.numbers() {
            let range = match self.passed.iter().find(|(passed, _)| *passed == segment) {
                _ if segment == at.segment => at.offset..self.reach,
                Some((_, left)) => left.clone(),
                None => 0..others,
            };
            let mut budget = self.segments[usize::from(segment)].2.saturating_mul(MOST_READS);
            for (offset, header) in self.later(segment, range, at)? {
                // Where each line claims a long record, somebody has made them.
                let is_spent = budget < u64::from(header.body);
                budget = budget.saturating_sub(u64::from(header.body));
                // A record that the end of the file cuts off was whole before the file was cut.
                if is_spent || matches!(self.read(segment, offset)?, Met::Whole(_) | Met::TooLong(_)) {
                    return Err(MediumError::Corrupt {
                        path: self.path(at.segment).to_path_buf(),
                        offset: begin,
                        what: "a log record before the last",
                        found: met.describe(),
                        expected: format!(
                            "record {} of pass {}, because record {} lies in log.{segment} at byte {offset}",
                            at.sequence, at.pass, header.sequence
                        ),
                    });
                }
            }
        }
        Ok(())
    }

    /// The lines between two offsets of a segment that begin like a record later than `at`.
    fn later(&self, segment: u8, range: Range<u64>, at: &Position) -> Result<Vec<(u64, Header)>> {
        let (path, file, len) = &self.segments[usize::from(segment)];
        let mut later = Vec::new();
        let mut buffer = vec![0; READ_AHEAD];
        let mut offset = range.start;
        let upto = range.end.min(*len);
        while offset < upto {
            let count = (upto - offset).min(READ_AHEAD as u64) as usize;
            let lines = &mut buffer[..count];
            read_exact_at(&**file, lines, offset).map_err(|e| MediumError::io("reading a log record", path, e))?;
            let headers = lines.as_chunks::<HEADER>().0.iter();
            for (place, raw) in (offset..).step_by(LINE).zip(headers).filter(|(_, raw)| Header::may_begin(raw)) {
                let header = Header::parse(*raw);
                let is_later = header.pass >= at.pass && header.sequence > at.sequence;
                if is_later && header.belongs(&self.uuid, segment, place) {
                    later.push((place, header));
                }
            }
            offset += READ_AHEAD as u64;
        }
        Ok(later)
    }
}
