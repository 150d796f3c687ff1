//! A connection to a server, and its replies as values that can be compared.

use anyhow::{Result, bail};
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A command: its name and its arguments.
pub(super) type Words = Vec<Vec<u8>>;

/// A reply of either version of the protocol. `kind` is the byte that it begins with.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reply {
    Line { kind: u8, text: Vec<u8> },
    Bulk(Vec<u8>),
    Null,
    Array { kind: u8, items: Vec<Reply> },
}

impl fmt::Debug for Reply {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Line { kind, text } => write!(to, "{}{}", char::from(*kind), text.escape_ascii()),
            Reply::Bulk(bytes) => write!(to, "\"{}\"", bytes.escape_ascii()),
            Reply::Null => to.write_str("null"),
            Reply::Array { kind, items } => {
                write!(to, "{}", char::from(*kind))?;
                to.debug_list().entries(items).finish()
            }
        }
    }
}

/// A connection. A reply that takes longer than ten seconds is an error.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(super) fn connect(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Client { stream: BufReader::new(stream) })
    }

    pub(super) fn send(&mut self, words: &[Vec<u8>]) -> Result<()> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend(format!("${}\r\n", word.len()).bytes());
            bytes.extend(word);
            bytes.extend(b"\r\n");
        }
        Ok(self.stream.get_mut().write_all(&bytes)?)
    }

    pub(super) fn ask(&mut self, words: &[Vec<u8>]) -> Result<Reply> {
        self.send(words)?;
        self.reply()
    }

    pub(super) fn reply(&mut self) -> Result<Reply> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line)?;
        let Some((&kind, [text @ .., b'\r', b'\n'])) = line.split_first() else {
            bail!("the server has closed the connection")
        };
        let count = || anyhow::Ok(std::str::from_utf8(text)?.parse::<i64>()?);
        match kind {
            b'$' | b'=' | b'!' => {
                let Ok(length) = usize::try_from(count()?) else { return Ok(Reply::Null) };
                let mut bytes = vec![0; length + 2];
                self.stream.read_exact(&mut bytes)?;
                bytes.truncate(length);
                Ok(Reply::Bulk(bytes))
            }
            b'*' | b'~' | b'>' | b'%' => {
                let Ok(count) = usize::try_from(count()?) else { return Ok(Reply::Null) };
                let items = if kind == b'%' { 2 * count } else { count };
                let items = (0..items).map(|_| self.reply()).collect::<Result<_>>()?;
                Ok(Reply::Array { kind, items })
            }
            b'_' => Ok(Reply::Null),
            b'+' | b'-' | b':' | b',' | b'#' | b'(' => Ok(Reply::Line { kind, text: text.to_vec() }),
            _ => bail!("the server has answered {:?}", line.escape_ascii().to_string()),
        }
    }
}
