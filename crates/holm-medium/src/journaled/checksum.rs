//! The checksum of the leaves of a closed database.

#![forbid(unsafe_code)]

use super::data_files::area_path;
use crate::error::{MediumError, Result};
use crate::loc::Area;
use crate::vfs::{VfsFile, read_exact_at};
use std::path::Path;

/// CRC32C of the first `len` bytes of the leaves, while no thread changes them.
pub(super) fn sum_leaves(dir: &Path, files: &[Box<dyn VfsFile>; 2], len: u64) -> Result<u32> {
    let path = area_path(dir, Area::Leaves);
    checksum(&*files[Area::Leaves as usize], len).map_err(|error| MediumError::io("reading", &path, error))
}

fn checksum(file: &dyn VfsFile, len: u64) -> std::io::Result<u32> {
    file.expect_reading(0, len);
    let mut buffer = vec![0; len.min(1 << 20) as usize];
    let mut sum = 0;
    let mut at = 0;
    while at < len {
        let count = (len - at).min(buffer.len() as u64) as usize;
        read_exact_at(file, &mut buffer[..count], at)?;
        sum = crc32c::crc32c_append(sum, &buffer[..count]);
        at += count as u64;
    }
    Ok(sum)
}
