//! Standard output: buffered, flushed with error checks, and never through `println!`, which panics on a closed pipe.

use std::fs::{self, File};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

use anyhow::{Context, bail};
use rustix::fs::{OFlags, fcntl_getfl};

use crate::escape::escape;
use crate::exit::reader_left;
use crate::input::is_null;

/// Bytes collected before a write. The program notices that its reader has left at most this number of bytes late.
const BUFFER_BYTES: usize = 64 * 1024;

/// Returns buffered standard output. The caller must call `finish`.
pub(crate) fn standard() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock())
}

/// Returns standard output for what is lost, or believed to be somewhere, if it is not written: refuses an output that
/// is closed.
///
/// A program that starts with its standard output closed cannot see that: the runtime opens `/dev/null` in its place,
/// for reading and writing. That which a shell opens is for writing alone; some programs open theirs for both, which
/// looks the same.
pub(crate) fn needed() -> anyhow::Result<BufWriter<StdoutLock<'static>>> {
    let stdout = io::stdout();
    let access = fcntl_getfl(&stdout).context("writing the output")? & OFlags::ACCMODE;
    if access == OFlags::RDWR && is_null(&stdout).context("writing the output")? {
        bail!("writing the output: standard output is closed, or /dev/null that is open for reading, too");
    }
    Ok(standard())
}

/// Writes what is buffered. A full disk or a closed pipe is reported here at the latest.
pub(crate) fn finish(mut out: impl Write) -> anyhow::Result<()> {
    out.flush().context("writing the output")
}

/// Writes a complete short answer. If its reader has left, the exit code still says what the command has done.
pub(crate) fn print(text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let mut out = standard();
    let written = out.write_all(text.as_ref()).context("writing the output").and_then(|()| finish(out));
    written.or_else(|error| if reader_left(&error) { Ok(()) } else { Err(error) })
}

/// Passes on the result of writing an output that is of no use unless it is whole: a reader that has left before its
/// end is an error here.
pub(crate) fn whole<T>(written: anyhow::Result<T>) -> anyhow::Result<T> {
    match written {
        Err(error) if reader_left(&error) => bail!("the reader of the output has left before its end"),
        other => other,
    }
}

/// Creates a file, which is synced to disk when this returns. A file that cannot be written is removed: cut off, it
/// would pass for the whole. What is left of a damaged database stays in it.
pub(crate) fn to_new_file<T>(path: &Path, write: impl FnOnce(&File) -> anyhow::Result<T>) -> anyhow::Result<T> {
    let file = File::create_new(path).with_context(|| format!("cannot create {}", path.display()))?;
    let durable = || file.sync_all().with_context(|| format!("cannot make {} durable", path.display()));
    let written = write(&file).and_then(|written| durable().map(|()| written));
    written.inspect_err(|error| {
        if error.root_cause().is::<io::Error>() {
            drop(fs::remove_file(path));
        }
    })
}

/// `1 record`, `2 records`.
pub(crate) fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Writes a value, escaped or literally, and a line feed if one is wanted.
pub(crate) fn print_value(value: &[u8], escaped: bool, newline: bool) -> anyhow::Result<()> {
    let mut text = Vec::new();
    if escaped {
        escape(value, &mut text);
    } else {
        text.extend_from_slice(value);
    }
    if newline {
        text.push(b'\n');
    }
    print(text)
}
