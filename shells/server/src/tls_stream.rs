//! A socket with TLS, which behaves as one that does not block.

use mio::net::TcpStream;
use rustls::ServerConnection;
use std::io::{self, ErrorKind, Read, Write};

/// A connection with TLS.
#[derive(Debug)]
pub(crate) struct TlsStream {
    pub(crate) socket: TcpStream,
    session: ServerConnection,
}

impl TlsStream {
    pub(crate) fn new(socket: TcpStream, session: ServerConnection) -> Self {
        TlsStream { socket, session }
    }

    /// Returns whether encrypted bytes wait for the socket.
    pub(crate) fn has_unsent(&self) -> bool {
        self.session.wants_write()
    }

    /// Sends what the socket takes.
    fn send(&mut self) -> io::Result<()> {
        while self.session.wants_write() {
            match self.session.write_tls(&mut self.socket) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => drop(other?),
            }
        }
        Ok(())
    }
}

impl Read for TlsStream {
    /// Fills the buffer as far as the socket has bytes: after a read that leaves room, the socket is empty, as the
    /// worker expects it of any socket.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        loop {
            match self.session.reader().read(&mut into[filled..]) {
                Ok(count) => {
                    filled += count;
                    if count == 0 || filled == into.len() {
                        return Ok(filled);
                    }
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The other side is gone without a farewell.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(filled),
                Err(error) => return Err(error),
            }
            match self.session.read_tls(&mut self.socket) {
                Err(error) if error.kind() == ErrorKind::WouldBlock && filled > 0 => return Ok(filled),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                other => drop(other?),
            }
            if let Err(error) = self.session.process_new_packets() {
                // The alert says what was wrong; nobody need take it.
                let _ = self.send();
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
            self.send()?;
        }
    }
}

impl Write for TlsStream {
    /// Takes bytes only while nothing waits for the socket, so that a client that reads nothing holds little memory.
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.flush()?;
        let count = self.session.writer().write(from)?;
        self.send()?;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()?;
        if self.has_unsent() { Err(ErrorKind::WouldBlock.into()) } else { Ok(()) }
    }
}

impl Drop for TlsStream {
    fn drop(&mut self) {
        self.session.send_close_notify();
        // The socket closes in any case.
        let _ = self.send();
    }
}
