//! Files of Python as streams of the store. An exception that the file raises ends the stream, and the call raises it.

use crate::bytes::{Bytes, give};
use crate::failure::Failure;
use pyo3::prelude::*;
use std::io::{self, BufWriter, Read, Write};

/// The bytes that are handed to a file of Python at once.
const BUFFER: usize = 256 << 10;

/// Whatever has `write` and `read`, and the exception that one of them raised.
struct File {
    object: Py<PyAny>,
    raised: Option<PyErr>,
}

impl File {
    /// Calls a step with the interpreter, and keeps the exception.
    fn attached<T>(&mut self, step: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> io::Result<T> {
        Python::attach(|py| step(self.object.bind(py))).map_err(|error| {
            self.raised = Some(error);
            io::Error::other("the file of Python has raised an exception")
        })
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attached(|file| {
            let written = file.call_method1("write", (give(file.py(), bytes),))?;
            // A file that is not raw takes all, and some say nothing.
            Ok(written.extract::<Option<usize>>()?.unwrap_or(bytes.len()).min(bytes.len()))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attached(|file| if file.hasattr("flush")? { file.call_method0("flush").map(drop) } else { Ok(()) })
    }
}

impl Read for File {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.attached(|file| {
            let read = file.call_method1("read", (into.len(),))?;
            let Some(bytes) = read.extract::<Option<Bytes<'_>>>()? else { return Ok(None) };
            Ok(Some(bytes.as_ref().to_vec()))
        })
        .and_then(|bytes| {
            let bytes = bytes.ok_or(io::ErrorKind::WouldBlock)?;
            let room = into.get_mut(..bytes.len()).ok_or_else(|| io::Error::other("the file gave more than asked"))?;
            room.copy_from_slice(&bytes);
            Ok(bytes.len())
        })
    }
}

/// Returns the exception that ended a stream, or else the error of the store.
fn result<T>(raised: Option<PyErr>, done: holm::Result<T>) -> PyResult<T> {
    match raised {
        Some(error) => Err(error),
        None => Ok(done.map_err(Failure::from)?),
    }
}

/// A stream to a file of Python.
pub(crate) struct Writer(BufWriter<File>);

impl Writer {
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        Writer(BufWriter::with_capacity(BUFFER, File { object, raised: None }))
    }

    /// Writes what is left in the buffer, and returns what the call returns.
    pub(crate) fn finish<T, R: From<T>>(mut self, py: Python<'_>, done: holm::Result<T>) -> PyResult<R> {
        let flushed = if done.is_ok() { py.detach(|| self.0.flush()) } else { Ok(()) };
        let (mut file, _) = self.0.into_parts();
        let done = result(file.raised.take(), done)?;
        flushed?;
        Ok(done.into())
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A file of Python that a stream is read from. Without a buffer: what follows the stream stays in the file, so streams
/// may come one behind the other. A frame takes two calls, and has hundreds of kilobytes.
pub(crate) struct Reader(File);

impl Reader {
    pub(crate) fn new(object: Py<PyAny>) -> Self {
        Reader(File { object, raised: None })
    }

    /// Returns what a call has returned, or raises what the file has raised.
    pub(crate) fn finish<T, R: From<T>>(self, done: holm::Result<T>) -> PyResult<R> {
        Ok(result(self.0.raised, done)?.into())
    }
}

impl Read for Reader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}
