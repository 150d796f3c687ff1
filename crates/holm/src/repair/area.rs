//! The bytes of one area of a damaged database: what its file has, and what the log has in its place.
//!
//! Neither source is right by itself. Callers name the source that they want, and compare what each of them gives.

use crate::error::Result;
use holm_medium::log::{LinePlace, SalvagedLog};
use holm_medium::vfs::{VfsFile, read_exact_at};
use holm_medium::{Area, LINE, MediumError, parts};
use std::collections::HashMap;
use std::path::PathBuf;

/// Where bytes are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The area's file.
    File,
    /// The area's file, with the lines that the log has in the place of the file's.
    Log,
}

impl Source {
    /// Returns the other source.
    pub(super) fn other(self) -> Self {
        match self {
            Source::File => Source::Log,
            Source::Log => Source::File,
        }
    }
}

/// The lines of both areas that the log has, each as it was last logged, by line number.
#[derive(Default)]
pub(super) struct LoggedLines(HashMap<u64, LinePlace>);

impl LoggedLines {
    /// Adds a line; a later call replaces it.
    pub(super) fn add(&mut self, location: u64, place: LinePlace) {
        self.0.insert(location / LINE, place);
    }

    /// Removes all lines of an area.
    pub(super) fn forget(&mut self, area: Area) {
        self.0.retain(|line, _| parts(line * LINE).0 != area);
    }

    /// Returns the places of an area, in blocks of this many bytes, that have a line, in order.
    pub(super) fn blocks(&self, area: Area, block_bytes: u64) -> Vec<u64> {
        let of_area = self.0.keys().map(|line| parts(line * LINE)).filter(|(of, _)| *of == area);
        let mut blocks: Vec<u64> = of_area.map(|(_, offset)| offset / block_bytes).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks
    }
}

/// An area: its file, if there is one.
pub(super) struct AreaBytes {
    area: Area,
    path: PathBuf,
    file: Option<Box<dyn VfsFile>>,
    /// Bytes of the file that mean something.
    len: u64,
}

impl AreaBytes {
    /// Takes the first `len` bytes of a file.
    pub(super) fn new(area: Area, path: PathBuf, file: Option<Box<dyn VfsFile>>, len: u64) -> Self {
        AreaBytes { area, path, file, len }
    }

    /// Returns the length of the file, in bytes; 0 if there is none.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Reads bytes from the file. Returns whether it has them all; what it does not have becomes zeros.
    fn read_file(&self, offset: u64, bytes: &mut [u8]) -> Result<bool> {
        let there = self.len.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let (read, rest) = bytes.split_at_mut(there);
        rest.fill(0);
        if let Some(file) = self.file.as_ref().filter(|_| there > 0) {
            read_exact_at(&**file, read, offset).map_err(|e| MediumError::io("reading", &self.path, e))?;
        }
        Ok(rest.is_empty())
    }

    /// Reads bytes at an offset, both multiples of eight. Returns whether the source has them all; what it does not
    /// have becomes zeros.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn read(
        &self,
        source: Source,
        (log, lines): (&SalvagedLog, &LoggedLines),
        offset: u64,
        bytes: &mut [u8],
    ) -> Result<bool> {
        let complete = self.read_file(offset, bytes)?;
        if source == Source::File || lines.0.is_empty() {
            return Ok(complete);
        }
        let end = offset + bytes.len() as u64;
        let mut has_all = true;
        for line in offset / LINE..end.div_ceil(LINE) {
            let start = line * LINE;
            let Some(place) = lines.0.get(&(self.area.at(start) / LINE)) else {
                has_all &= end.min(start + LINE) <= self.len;
                continue;
            };
            let logged = log.line(*place)?;
            let (from, upto) = (start.max(offset), (start + LINE).min(end));
            bytes[(from - offset) as usize..(upto - offset) as usize]
                .copy_from_slice(&logged[(from - start) as usize..(upto - start) as usize]);
        }
        Ok(has_all)
    }

    /// Returns whether a source may have all bytes of a range. What it answers costs no more than what there is: the
    /// length can be any number.
    pub(super) fn may_have(&self, source: Source, lines: &LoggedLines, offset: u64, len: u64) -> bool {
        let behind = offset.saturating_add(len).saturating_sub(self.len.max(offset));
        behind == 0 || (source == Source::Log && behind / LINE <= lines.0.len() as u64)
    }

    /// Returns whether the log has a line of a range that a source may have.
    pub(super) fn is_logged(&self, lines: &LoggedLines, offset: u64, len: u64) -> bool {
        if lines.0.is_empty() || !self.may_have(Source::Log, lines, offset, len) {
            return false;
        }
        let mut all = offset / LINE..(offset + len).div_ceil(LINE);
        all.any(|line| lines.0.contains_key(&(self.area.at(line * LINE) / LINE)))
    }
}
