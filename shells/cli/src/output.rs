//! Standard output: buffered, flushed with its errors seen, never through `println!`, which panics on a closed pipe.

use std::io::{self, BufWriter, StdoutLock, Write};

use anyhow::Context;

/// Bytes gathered before a write. A reader that leaves is noticed at most this many bytes late.
const BUFFER_BYTES: usize = 64 * 1024;

/// Standard output behind a buffer. Whoever takes it calls `finish`.
pub(crate) fn standard() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(BUFFER_BYTES, io::stdout().lock())
}

/// Writes what is buffered; a full disk or a closed pipe shows itself here at the latest.
pub(crate) fn finish(mut out: impl Write) -> anyhow::Result<()> {
    out.flush().context("writing the output")
}

/// A whole short answer.
pub(crate) fn print(text: impl AsRef<[u8]>) -> anyhow::Result<()> {
    let mut out = standard();
    out.write_all(text.as_ref()).context("writing the output")?;
    finish(out)
}
