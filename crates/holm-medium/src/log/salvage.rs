//! Salvage: every whole record that is left in the log of a damaged database, wherever the log begins.
//!
//! A replay follows the log from the superblock's start and refuses it at the first damage. A salvage needs no start,
//! and no superblock: it looks at every line of all segments for a record of this place whose checksum holds. The
//! caller chooses among the records by pass and sequence.
//!
//! No length is trusted beyond the length of the file. A segment whose lines all claim long records is read a bounded
//! number of times.

#![forbid(unsafe_code)]

use super::epoch_record::{HEADER, Header, LINE, Runs};
use super::position::MOST_SEGMENTS;
use super::replay::MOST_READS;
use super::segment::segment_path;
use crate::error::{MediumError, Result};
use crate::vfs::{FORMAT_PAGE, How, Vfs, VfsFile, read_exact_at};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of one read while a checksum is computed.
const CHUNK: usize = 1 << 20;

/// A whole record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SalvagedRecord {
    /// The database that it belongs to.
    pub uuid: [u8; 16],
    /// Its pass.
    pub pass: u64,
    /// Its sequence.
    pub sequence: u64,
    /// Its epoch.
    pub epoch: u64,
    /// The segment that it lies in.
    pub segment: u8,
    /// Where it begins in the segment, in bytes.
    pub offset: u64,
    body: u32,
    runs: u32,
}

/// A header of a record of its place, without the bytes that its checksum is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenRecord {
    /// The database that its header names.
    pub uuid: [u8; 16],
    /// The pass that its header states.
    pub pass: u64,
    /// The sequence that its header states.
    pub sequence: u64,
}

/// Where a line lies in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinePlace {
    segment: u8,
    offset: u64,
}

/// A segment that is there, and its length.
struct SegmentFile {
    path: PathBuf,
    file: Box<dyn VfsFile>,
    len: u64,
}

/// What is left of a log.
pub struct SalvagedLog {
    segments: Vec<Option<SegmentFile>>,
    /// The whole records, in no order.
    pub records: Vec<SalvagedRecord>,
    /// The headers of records that are not whole, in no order.
    pub broken: Vec<BrokenRecord>,
    /// The names of the segments that should be there and are missing or empty.
    pub missing: Vec<String>,
    bytes_read: u64,
}

impl SalvagedLog {
    /// Reads all segments in `dir`, of which `expected` should be there. A segment that is missing, or shorter than a
    /// page, is not an error. O(bytes of the log), and memory for one record's headers.
    ///
    /// # Errors
    ///
    /// [`MediumError::Io`].
    pub fn read(vfs: &dyn Vfs, dir: &Path, expected: u8) -> Result<SalvagedLog> {
        let mut salvaged = SalvagedLog {
            segments: Vec::new(),
            records: Vec::new(),
            broken: Vec::new(),
            missing: Vec::new(),
            bytes_read: 0,
        };
        for segment in 0..MOST_SEGMENTS {
            let path = segment_path(dir, segment);
            let found = match vfs.open(&path, How::READ) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                opened => {
                    let file = opened.map_err(|e| MediumError::io("opening a log segment", &path, e))?;
                    let len = file.len().map_err(|e| MediumError::io("measuring a log segment", &path, e))?;
                    Some(SegmentFile { path, file, len })
                }
            };
            if segment < expected && found.as_ref().is_none_or(|found| found.len < FORMAT_PAGE) {
                salvaged.missing.push(format!("log.{segment}"));
            }
            salvaged.segments.push(found);
            salvaged.read_segment(segment)?;
        }
        Ok(salvaged)
    }

    fn read_segment(&mut self, segment: u8) -> Result<()> {
        let Some(SegmentFile { path, file, len }) = &self.segments[usize::from(segment)] else { return Ok(()) };
        let io = |e: io::Error| MediumError::io("reading a log record", path, e);
        let mut budget = len.saturating_mul(MOST_READS);
        let mut offset = 0;
        let (mut buffer, mut read) = (vec![0; CHUNK], 0..0);
        while offset + HEADER as u64 <= *len {
            if !read.contains(&offset) {
                read = offset..(offset + CHUNK as u64).min(*len / LINE as u64 * LINE as u64);
                read_exact_at(&**file, &mut buffer[..(read.end - offset) as usize], offset).map_err(io)?;
            }
            let raw: [u8; HEADER] = std::array::from_fn(|index| buffer[(offset - read.start) as usize + index]);
            let header = Header::parse(raw);
            let mut next = offset + LINE as u64;
            if let Some(uuid) = header.uuid_here(segment, offset) {
                let body = u64::from(header.body);
                let fits = body <= *len - offset - HEADER as u64 && body <= budget;
                self.bytes_read += if fits { body } else { 0 };
                let Header { pass, sequence, epoch, body, runs, .. } = header;
                if fits && is_whole(&**file, offset, &header).map_err(io)? {
                    self.records.push(SalvagedRecord { uuid, pass, sequence, epoch, segment, offset, body, runs });
                    next = offset + header.padded_len();
                } else {
                    budget -= if fits { u64::from(body) } else { 0 };
                    self.broken.push(BrokenRecord { uuid, pass, sequence });
                }
            }
            offset = next;
        }
        Ok(())
    }

    /// Whether any segment is there, and has a page.
    pub fn has_files(&self) -> bool {
        self.segments.iter().flatten().any(|segment| segment.len >= FORMAT_PAGE)
    }

    /// Bytes of bodies whose checksums were computed.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read
    }

    fn file(&self, segment: u8) -> Result<(&Path, &dyn VfsFile)> {
        match self.segments.get(usize::from(segment)).and_then(Option::as_ref) {
            Some(SegmentFile { path, file, .. }) => Ok((path, &**file)),
            None => Err(MediumError::Unsupported { what: "a place in a segment of the log that is missing" }),
        }
    }

    /// Passes each line of a record to `visit`: its location in the image, and where the log has it. Returns `false`
    /// if the runs do not fill the body; then it has passed none. Needs memory for the record.
    ///
    /// # Errors
    ///
    /// [`MediumError::Io`].
    pub fn lines(&self, record: &SalvagedRecord, mut visit: impl FnMut(u64, LinePlace)) -> Result<bool> {
        let (path, file) = self.file(record.segment)?;
        // The checksum of this length held.
        let mut body = vec![0; record.body as usize];
        let start = record.offset + HEADER as u64;
        read_exact_at(file, &mut body, start).map_err(|e| MediumError::io("reading a log record", path, e))?;
        if Runs::new(&body, record.runs).any(|run| run.is_err()) {
            return Ok(false);
        }
        let base = body.as_ptr().addr();
        for (location, bytes) in Runs::new(&body, record.runs).flatten() {
            let at = start + (bytes.as_ptr().addr() - base) as u64;
            for line in 0..bytes.len() / LINE {
                let more = (line * LINE) as u64;
                visit(location + more, LinePlace { segment: record.segment, offset: at + more });
            }
        }
        Ok(true)
    }

    /// Reads a line.
    ///
    /// # Errors
    ///
    /// [`MediumError::Io`].
    pub fn line(&self, place: LinePlace) -> Result<[u8; LINE]> {
        let (path, file) = self.file(place.segment)?;
        let mut line = [0; LINE];
        read_exact_at(file, &mut line, place.offset).map_err(|e| MediumError::io("reading a log record", path, e))?;
        Ok(line)
    }
}

/// Whether the body behind a header has the header's checksum. The body lies in the file.
fn is_whole(file: &dyn VfsFile, offset: u64, header: &Header) -> io::Result<bool> {
    let mut crc = header.checksum(&[]);
    let mut left = header.body as usize;
    let mut buffer = vec![0; left.min(CHUNK)];
    let mut at = offset + HEADER as u64;
    while left > 0 {
        let chunk = &mut buffer[..left.min(CHUNK)];
        read_exact_at(file, chunk, at)?;
        crc = crc32c::crc32c_append(crc, chunk);
        at += chunk.len() as u64;
        left -= chunk.len();
    }
    Ok(crc == header.crc)
}
