//! One half of the log: its file, and how it is created and opened.

#![forbid(unsafe_code)]

use super::options::LogOptions;
use crate::error::{MediumError, Result};
use crate::vfs::{FORMAT_PAGE, How, Vfs, VfsFile, zero_fill};
use std::io;
use std::path::{Path, PathBuf};

/// A half, open for records.
pub(super) struct Half {
    pub(super) path: PathBuf,
    pub(super) file: Box<dyn VfsFile>,
    /// Whether `file` bypasses the page cache, so that a write is durable when it returns.
    pub(super) direct: bool,
    /// Bytes that were written with zeros or records, in whole pages.
    pub(super) capacity: u64,
}

impl Half {
    pub(super) fn open(vfs: &dyn Vfs, path: PathBuf, options: &LogOptions) -> Result<Half> {
        let (file, direct) = open_for_records(vfs, &path, options.direct)
            .map_err(|e| MediumError::opening_to_write("opening a log half", &path, e))?;
        let len = file.len().map_err(|e| MediumError::io("measuring a log half", &path, e))?;
        if len < FORMAT_PAGE {
            return Err(too_short(&path, len));
        }
        Ok(Half { path, file, direct, capacity: len / FORMAT_PAGE * FORMAT_PAGE })
    }
}

/// Opens a half, bypassing the page cache if `direct` asks for it and the file system can; returns whether it does.
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

/// Creates a half of zeros; all but its name is durable.
pub(super) fn make_half(vfs: &dyn Vfs, path: &Path, bytes: u64) -> io::Result<()> {
    assert!(bytes > 0 && bytes.is_multiple_of(FORMAT_PAGE), "a half of {bytes} bytes, not of pages of {FORMAT_PAGE}");
    let file = vfs.open(path, How::CREATE)?;
    file.set_len(0)?;
    file.allocate(0, bytes)?;
    zero_fill(&*file, 0, bytes)?;
    file.sync_all()
}

/// The file of a half.
pub fn half_path(dir: &Path, half: u8) -> PathBuf {
    dir.join(if half == 0 { "log.0" } else { "log.1" })
}

/// The error for a file that is too short to be a half.
pub(super) fn too_short(path: &Path, len: u64) -> MediumError {
    MediumError::Corrupt {
        path: path.to_path_buf(),
        offset: len,
        what: "the length of a log half",
        found: format!("{len} bytes"),
        expected: format!("{FORMAT_PAGE} bytes at least"),
    }
}
