//! Whole transfers over files whose transfers may be short.

#![forbid(unsafe_code)]

use super::aligned::AlignedBytes;
use super::file_system::VfsFile;
use std::io;

/// Attempts without progress after which a transfer fails.
const STALLED_ATTEMPTS: u32 = 1000;

/// The largest single write of [`zero_fill`], in bytes.
const ZERO_CHUNK: u64 = 1 << 20;

/// Fills `buf` from `offset`. The end of the file before that is [`io::ErrorKind::UnexpectedEof`].
pub fn read_exact_at(file: &dyn VfsFile, buf: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    let mut stalled = 0;
    while done < buf.len() {
        match file.read_at(&mut buf[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => (done, stalled) = (done + read, 0),
            Err(error) => stalled = forgive(error, stalled)?,
        }
    }
    Ok(())
}

/// Writes all of `buf` at `offset`.
pub fn write_all_at(file: &dyn VfsFile, buf: &[u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    let mut stalled = 0;
    while done < buf.len() {
        match file.write_at(&buf[done..], offset + done as u64) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => (done, stalled) = (done + written, 0),
            Err(error) => stalled = forgive(error, stalled)?,
        }
    }
    Ok(())
}

/// Writes zeros over `from..to`, both multiples of [`super::FORMAT_PAGE`], from aligned memory. Not synced.
pub fn zero_fill(file: &dyn VfsFile, from: u64, to: u64) -> io::Result<()> {
    let zeros = AlignedBytes::zeroed(to.saturating_sub(from).min(ZERO_CHUNK) as usize);
    let mut at = from;
    while at < to {
        let count = (to - at).min(ZERO_CHUNK);
        write_all_at(file, &zeros.as_slice()[..count as usize], at)?;
        at += count;
    }
    Ok(())
}

/// The number of attempts without progress after `error`, or the error if it does not allow another attempt. Only a
/// transfer is retried, never a sync.
fn forgive(error: io::Error, stalled: u32) -> io::Result<u32> {
    match error.kind() {
        io::ErrorKind::Interrupted if stalled < STALLED_ATTEMPTS => Ok(stalled + 1),
        io::ErrorKind::WouldBlock if stalled < STALLED_ATTEMPTS => {
            crate::sync::yield_now();
            Ok(stalled + 1)
        }
        _ => Err(error),
    }
}
