//! Requests and answers of HTTP/1.1: one request for each connection, within limits of size and time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The most bytes of a request, and the most headers.
const MOST_BYTES: usize = 16 << 10;
const MOST_HEADERS: usize = 64;

/// How long a request may take to arrive, and how long the other side may take no byte of the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Sent with each answer. The page may load only what this server sends.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; style-src 'self'; script-src 'self'; connect-src \
                       'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\nCache-Control: \
                       no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: \
                       no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n";

/// A request, whose body is not read.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    headers: Vec<(String, String)>,
    pub(super) peer: SocketAddr,
}

impl Request {
    /// Returns the value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// An answer: its status, the type of its content, and the content.
#[derive(Debug)]
pub(super) struct Answer(pub(super) u16, pub(super) &'static str, pub(super) String);

impl Answer {
    /// Returns a line of text in place of what was asked for.
    pub(super) fn refused(status: u16, why: &str) -> Self {
        Answer(status, "text/plain; charset=utf-8", format!("{why}\n"))
    }

    fn reason(&self) -> &'static str {
        match self.0 {
            200 => "OK",
            400 => "Bad Request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            431 => "Request Header Fields Too Large",
            _ => "Internal Server Error",
        }
    }
}

/// Reads a request; `None` if none comes.
///
/// # Errors
/// The answer to what is no request.
pub(super) fn read(stream: &mut TcpStream, peer: SocketAddr) -> Result<Option<Request>, Answer> {
    let until = Instant::now() + PATIENCE;
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4_096]);
    while bytes.len() < MOST_BYTES {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return Ok(None);
        }
        match stream.read(&mut chunk) {
            Ok(0) => return Ok(None),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return Ok(None),
        }
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(&bytes) {
            Ok(httparse::Status::Partial) => {}
            Ok(httparse::Status::Complete(_)) => {
                let of = |header: &httparse::Header<'_>| {
                    (header.name.to_owned(), String::from_utf8_lossy(header.value).into_owned())
                };
                return Ok(Some(Request {
                    method: request.method.unwrap_or_default().to_owned(),
                    target: request.path.unwrap_or_default().to_owned(),
                    headers: request.headers.iter().map(of).collect(),
                    peer,
                }));
            }
            Err(httparse::Error::TooManyHeaders) => return Err(Answer::refused(431, "too many headers")),
            Err(error) => return Err(Answer::refused(400, &error.to_string())),
        }
    }
    Err(Answer::refused(431, "the request is too large"))
}

/// Sends an answer; without its content if only the head was asked for.
///
/// # Errors
/// The other side does not take it.
pub(super) fn write(stream: &mut TcpStream, answer: &Answer, is_head: bool) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let challenge = match answer.0 {
        401 => "WWW-Authenticate: Basic realm=\"holm-server\", charset=\"UTF-8\"\r\n",
        _ => "",
    };
    let Answer(status, content_type, content) = answer;
    let mut bytes = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n{HEADERS}{challenge}\r\n",
        answer.reason(),
        content.len()
    );
    if !is_head {
        bytes.push_str(content);
    }
    stream.write_all(bytes.as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)
}
