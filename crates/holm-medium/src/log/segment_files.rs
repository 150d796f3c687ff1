//! The files of the segments, for measuring beside the thread that writes them.

#![forbid(unsafe_code)]

use super::segment::Segment;
use crate::error::{MediumError, Result};
use crate::sync::Mutex;
use crate::vfs::VfsFile;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

/// The files of a log's segments. Its lock is held over no call to a file, so that none waits for a write.
#[derive(Default)]
pub struct SegmentFiles(Mutex<Vec<(PathBuf, Arc<dyn VfsFile>)>>);

impl SegmentFiles {
    pub(super) fn add(&self, segment: &Segment) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.push((segment.path.clone(), segment.file.clone()));
    }

    /// Bytes that all segments occupy on the disk.
    ///
    /// # Errors
    ///
    /// [`MediumError::Io`].
    pub fn disk_bytes(&self) -> Result<u64> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let io = |path: &PathBuf, error| MediumError::io("measuring a log segment", path, error);
        files.iter().map(|(path, file)| file.disk_bytes().map_err(|error| io(path, error))).sum()
    }
}
