//! One segment of the log: its file, and how it is created and opened.

#![forbid(unsafe_code)]

use super::options::LogOptions;
use super::position::MOST_SEGMENTS;
use crate::error::{MediumError, Result};
use crate::vfs::{FORMAT_PAGE, How, Vfs, VfsFile, zero_fill};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A segment, open for records.
pub(super) struct Segment {
    pub(super) path: PathBuf,
    pub(super) file: Arc<dyn VfsFile>,
    /// Whether `file` bypasses the page cache, so that a write is durable when it returns.
    pub(super) direct: bool,
    /// Bytes that were written with zeros or records, in whole pages.
    pub(super) capacity: u64,
}

impl Segment {
    pub(super) fn open(vfs: &dyn Vfs, path: PathBuf, options: &LogOptions) -> Result<Segment> {
        let (file, direct) = open_for_records(vfs, &path, options.direct)
            .map_err(|e| MediumError::opening_to_write("opening a log segment", &path, e))?;
        let len = file.len().map_err(|e| MediumError::io("measuring a log segment", &path, e))?;
        if len < FORMAT_PAGE {
            return Err(too_short(&path, len));
        }
        Ok(Segment { path, file: file.into(), direct, capacity: len / FORMAT_PAGE * FORMAT_PAGE })
    }
}

/// Opens a segment, bypassing the page cache if `direct` asks for it and the file system can; returns whether it does.
fn open_for_records(vfs: &dyn Vfs, path: &Path, direct: bool) -> io::Result<(Box<dyn VfsFile>, bool)> {
    if direct {
        match vfs.open(path, How { direct: true, ..How::WRITE }) {
            // The errors of file systems that cannot do it.
            Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {}
            other => return other.map(|file| (file, true)),
        }
    }
    vfs.open(path, How::WRITE).map(|file| (file, false))
}

/// Creates a segment of zeros; all but its name is durable.
pub(super) fn make_segment(vfs: &dyn Vfs, path: &Path, bytes: u64) -> io::Result<()> {
    assert!(
        bytes > 0 && bytes.is_multiple_of(FORMAT_PAGE),
        "a segment of {bytes} bytes, not of pages of {FORMAT_PAGE}"
    );
    let file = vfs.open(path, How::CREATE)?;
    file.set_len(0)?;
    file.allocate(0, bytes)?;
    zero_fill(&*file, 0, bytes)?;
    file.sync_all()
}

/// The file of a segment.
pub fn segment_path(dir: &Path, segment: u8) -> PathBuf {
    dir.join(format!("log.{segment}"))
}

/// Whether a file of this name can be a segment.
pub fn is_segment_name(name: &str) -> bool {
    (0..MOST_SEGMENTS).any(|segment| name.strip_prefix("log.").is_some_and(|rest| rest == segment.to_string()))
}

/// The error for a file that is too short to be a segment.
pub(super) fn too_short(path: &Path, len: u64) -> MediumError {
    MediumError::Corrupt {
        path: path.to_path_buf(),
        offset: len,
        what: "the length of a log segment",
        found: format!("{len} bytes"),
        expected: format!("{FORMAT_PAGE} bytes at least"),
    }
}
