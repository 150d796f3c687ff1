//! Reading the log back: every whole record from the checkpoint's start to the torn tail, and nothing else.
//!
//! The tail of a log is legitimately torn: power went while a record was written. The same bytes in the middle are
//! damage, and taking them for the tail would silently drop what was acknowledged after them. Since every record is
//! durable before the next is begun, a later record of this database that is whole proves the difference, and so the
//! end is believed only after both halves were searched for one, as far as records may reach. Promises: nothing is
//! visited before its checksum and its runs were seen to be right, no length field is trusted beyond the file's length,
//! and every loop is bounded by it. Applying the runs, and whether their locations lie in the image, is left to the
//! visitor.

#![forbid(unsafe_code)]

use super::epoch_record::{HEADER, Header, Runs};
use super::half::{half_path, too_short};
use super::{FIRST_REACH, HALVES, LogStart, Position};
use crate::error::{MediumError, Result};
use crate::vfs::{How, PAGE, Vfs, VfsFile, read_exact_at};
use std::path::{Path, PathBuf};

/// What a replay found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Epoch of the last whole record; `None` if there was no record.
    pub last_epoch: Option<u64>,
    /// Where the next record would have been. Recovery does not go on there but at [`Position::fresh_start`].
    pub next: Position,
    /// Whole records.
    pub records: u64,
    /// Bytes of the image in them.
    pub bytes: u64,
    /// Where, in the half of `next`, lies something that is neither blank nor left from an older pass: most likely the
    /// record during which power went.
    pub torn: Option<u64>,
    /// The epoch of that record, if its header says that it is the one that would have come next. Otherwise it may as
    /// well be the middle of a record that an older pass has left.
    pub torn_epoch: Option<u64>,
}

/// Reads the log in `dir` of the database `uuid` from `start`, and gives every run of every whole record to `visit`
/// as epoch, byte location in the image, and bytes (whole lines), in the order in which they were logged. A visitor's
/// error ends the replay.
///
/// # Errors
///
/// [`MediumError::Corrupt`] if a record is damaged or missing although a later one is whole, or a half is too short to
/// be one; [`MediumError::Io`]; and what the visitor returns.
pub fn replay(
    vfs: &dyn Vfs,
    dir: &Path,
    uuid: &[u8; 16],
    start: LogStart,
    visit: impl FnMut(u64, u64, &[u8]) -> Result<()>,
) -> Result<Replayed> {
    read_on(vfs, dir, uuid, start, None, visit)
}

/// Like [`replay`], but of the records before `end` alone, all of which must be whole: for a log that is being written
/// from `end` on meanwhile. To look for the end of such a log would be to race with its writer.
///
/// # Errors
///
/// As [`replay`].
pub fn replay_until(
    vfs: &dyn Vfs,
    dir: &Path,
    uuid: &[u8; 16],
    start: LogStart,
    end: LogStart,
    visit: impl FnMut(u64, u64, &[u8]) -> Result<()>,
) -> Result<Replayed> {
    read_on(vfs, dir, uuid, start, Some(end.sequence), visit)
}

fn read_on(
    vfs: &dyn Vfs,
    dir: &Path,
    uuid: &[u8; 16],
    start: LogStart,
    end: Option<u64>,
    mut visit: impl FnMut(u64, u64, &[u8]) -> Result<()>,
) -> Result<Replayed> {
    let mut reader = Reader::open(vfs, dir, *uuid)?;
    if end.is_none() {
        // All of this will be read, and the disk had better begin now.
        reader.halves.iter().for_each(|(_, file, _)| file.expect_reading(0, FIRST_REACH));
    }
    let mut seen =
        Replayed { last_epoch: None, next: start.position(), records: 0, bytes: 0, torn: None, torn_epoch: None };
    loop {
        let at = seen.next;
        if end == Some(at.sequence) {
            return Ok(seen);
        }
        let met = reader.read(at.half, at.offset)?;
        if let Met::Whole(header) = met
            && (header.pass, header.sequence) == (at.pass, at.sequence)
        {
            if end.is_none() && header.reach > reader.reach {
                let (_, file, len) = &reader.halves[usize::from(at.half)];
                file.expect_reading(reader.reach, header.reach.min(*len).saturating_sub(reader.reach));
            }
            reader.reach = reader.reach.max(header.reach);
            // A record without runs is there for its reach alone.
            if header.runs > 0 {
                seen.bytes += reader.visit(&at, &header, &mut visit)?;
                seen.last_epoch = Some(header.epoch);
                seen.records += 1;
            }
            seen.next.offset += (HEADER as u64 + u64::from(header.body)).next_multiple_of(PAGE);
            seen.next.sequence += 1;
        } else if let Some(end) = end {
            return Err(MediumError::Corrupt {
                path: reader.path(at.half).to_path_buf(),
                offset: at.offset,
                what: "a log record before the last",
                found: met.describe(),
                expected: format!("record {} of pass {}, of those before {end}", at.sequence, at.pass),
            });
        } else if let Some(next) = reader.continuation(&start, &at)? {
            reader.left = Some((at.offset, reader.reach));
            reader.reach = FIRST_REACH;
            seen.next = next;
        } else {
            reader.refuse_a_gap(&start, &at, &met)?;
            seen.torn = met.is_begun(at.pass).then_some(at.offset);
            seen.torn_epoch = met.epoch_of(&at);
            return Ok(seen);
        }
    }
}

/// Sees that both halves are there and long enough to be some: for a database whose log holds nothing that is needed.
///
/// # Errors
///
/// [`MediumError::Corrupt`], [`MediumError::Io`].
pub fn check_halves(vfs: &dyn Vfs, dir: &Path) -> Result<()> {
    Reader::open(vfs, dir, [0; 16]).map(drop)
}

/// Like [`replay`], but only looks: for checking a database at rest.
///
/// # Errors
///
/// As [`replay`].
pub fn verify(vfs: &dyn Vfs, dir: &Path, uuid: &[u8; 16], start: LogStart) -> Result<Replayed> {
    replay(vfs, dir, uuid, start, |_, _, _| Ok(()))
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
    /// A header or a body that is not what was written; the checksum that it ought to carry.
    Broken(Header, u32),
    /// A record. Its body is in the reader's buffer.
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

    /// The epoch that a record says which is not whole, if it is the one that would come at a position.
    fn epoch_of(&self, at: &Position) -> Option<u64> {
        match self {
            Met::TooLong(header) | Met::Broken(header, _) | Met::Other(header) => {
                ((header.pass, header.sequence) == (at.pass, at.sequence)).then_some(header.epoch)
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

/// Both halves, open for reading, and one record's body.
struct Reader {
    uuid: [u8; 16],
    halves: [(PathBuf, Box<dyn VfsFile>, u64); HALVES],
    body: Vec<u8>,
    /// Behind this no record of the half being read ends.
    reach: u64,
    /// Where the records of the first half end and how far they might have reached, once the other half has been gone
    /// on to.
    left: Option<(u64, u64)>,
}

/// Bytes that are read at once where only the beginnings of pages are looked at.
const READ_AHEAD: usize = 1 << 20;

impl Reader {
    fn open(vfs: &dyn Vfs, dir: &Path, uuid: [u8; 16]) -> Result<Reader> {
        let open = |half: u8| {
            let path = half_path(dir, half);
            let file = vfs.open(&path, How::READ).map_err(|e| MediumError::io("opening a log half", &path, e))?;
            let len = file.len().map_err(|e| MediumError::io("measuring a log half", &path, e))?;
            if len < PAGE {
                return Err(too_short(&path, len));
            }
            Ok((path, file, len))
        };
        Ok(Reader { uuid, halves: [open(0)?, open(1)?], body: Vec::new(), reach: FIRST_REACH, left: None })
    }

    fn path(&self, half: u8) -> &Path {
        &self.halves[usize::from(half)].0
    }

    fn header(&self, half: u8, offset: u64) -> Result<Option<Header>> {
        let (path, file, len) = &self.halves[usize::from(half)];
        if offset.saturating_add(HEADER as u64) > *len {
            return Ok(None);
        }
        let mut raw = [0; HEADER];
        read_exact_at(&**file, &mut raw, offset).map_err(|e| MediumError::io("reading a log record", path, e))?;
        Ok(Some(Header::parse(raw)))
    }

    fn read(&mut self, half: u8, offset: u64) -> Result<Met> {
        let Some(header) = self.header(half, offset)? else { return Ok(Met::End) };
        if !header.belongs(&self.uuid, half, offset) {
            return Ok(Met::Other(header));
        }
        let (path, file, len) = &self.halves[usize::from(half)];
        let begin = offset + HEADER as u64;
        if u64::from(header.body) > len - begin {
            return Ok(Met::TooLong(header));
        }
        // Bounded by the file's length, which was compared just above.
        self.body.resize(header.body as usize, 0);
        read_exact_at(&**file, &mut self.body, begin).map_err(|e| MediumError::io("reading a log record", path, e))?;
        let right = header.checksum(&self.body);
        Ok(if header.crc == right { Met::Whole(header) } else { Met::Broken(header, right) })
    }

    /// Gives the runs of the body just read to `visit`, after all of them were seen to be well-formed.
    fn visit(
        &self,
        at: &Position,
        header: &Header,
        visit: &mut impl FnMut(u64, u64, &[u8]) -> Result<()>,
    ) -> Result<u64> {
        let malformed = |what: &str| MediumError::Corrupt {
            path: self.path(at.half).to_path_buf(),
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

    /// The beginning of the other half, if the log went on there. Only once: a half is overwritten only after a
    /// checkpoint moved the start out of it.
    fn continuation(&mut self, start: &LogStart, at: &Position) -> Result<Option<Position>> {
        if at.half != start.half {
            return Ok(None);
        }
        let next = Position { half: 1 - at.half, pass: at.pass.wrapping_add(1), offset: 0, ..*at };
        let met = self.read(next.half, 0)?;
        let goes_on = matches!(met, Met::Whole(h) if (h.pass, h.sequence) == (next.pass, next.sequence));
        Ok(goes_on.then_some(next))
    }

    /// An error if a later record is whole anywhere, because then what lies at `at` is damage and not the tail. Of the
    /// half that was left for the other one, what lies before its end has been read and is whole.
    fn refuse_a_gap(&mut self, start: &LogStart, at: &Position, met: &Met) -> Result<()> {
        for half in 0..HALVES as u8 {
            let range = match self.left {
                _ if half == at.half => (at.offset, self.reach),
                Some(left) if half == start.half => left,
                _ => (0, FIRST_REACH),
            };
            for (offset, header) in self.later(half, range, at)? {
                // One that the end of the file cuts off was whole before somebody cut it.
                if let Met::Whole(_) | Met::TooLong(_) = self.read(half, offset)? {
                    return Err(MediumError::Corrupt {
                        path: self.path(at.half).to_path_buf(),
                        offset: at.offset,
                        what: "a log record before the last",
                        found: met.describe(),
                        expected: format!(
                            "record {} of pass {}, because record {} lies in log.{half} at byte {offset}",
                            at.sequence, at.pass, header.sequence
                        ),
                    });
                }
            }
        }
        Ok(())
    }

    /// The pages between two offsets of a half that begin as a record later than `at` would.
    fn later(&self, half: u8, (from, upto): (u64, u64), at: &Position) -> Result<Vec<(u64, Header)>> {
        let (path, file, len) = &self.halves[usize::from(half)];
        let mut later = Vec::new();
        let mut buffer = vec![0; READ_AHEAD];
        let mut offset = from;
        let upto = upto.min(*len);
        while offset < upto {
            let count = (upto - offset).min(READ_AHEAD as u64) as usize;
            let pages = &mut buffer[..count];
            read_exact_at(&**file, pages, offset).map_err(|e| MediumError::io("reading a log record", path, e))?;
            for (place, page) in (offset..).step_by(PAGE as usize).zip(pages.chunks(PAGE as usize)) {
                let Some(header) = page.first_chunk::<HEADER>().map(|raw| Header::parse(*raw)) else { continue };
                let is_later = header.pass >= at.pass && header.sequence > at.sequence;
                if is_later && header.belongs(&self.uuid, half, place) {
                    later.push((place, header));
                }
            }
            offset += READ_AHEAD as u64;
        }
        Ok(later)
    }
}
