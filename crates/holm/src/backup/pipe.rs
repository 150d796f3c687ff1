//! A pipe between two threads. The operating system's would end a process that does not ignore its signal.

use holm_medium::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::io::{self, Read, Write};

/// The writes that wait in a pipe before the writer does.
const WAITING: usize = 16;

/// Returns the two ends of a pipe.
pub(super) fn pipe() -> (PipeReader, PipeWriter) {
    let (sender, receiver) = sync_channel(WAITING);
    (PipeReader { receiver, chunk: Vec::new(), at: 0 }, PipeWriter(sender))
}

/// The end that is written. Dropping it ends the pipe.
pub(super) struct PipeWriter(SyncSender<Vec<u8>>);

impl Write for PipeWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !bytes.is_empty() {
            self.0.send(bytes.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The end that is read. Once it is dropped, writes fail.
pub(super) struct PipeReader {
    receiver: Receiver<Vec<u8>>,
    /// What has arrived, and how much of it was read.
    chunk: Vec<u8>,
    at: usize,
}

impl Read for PipeReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            let Ok(chunk) = self.receiver.recv() else { return Ok(0) };
            (self.chunk, self.at) = (chunk, 0);
        }
        let read = buffer.len().min(self.chunk.len() - self.at);
        buffer[..read].copy_from_slice(&self.chunk[self.at..][..read]);
        self.at += read;
        Ok(read)
    }
}
