//! A server of a test, and a client that shows replies as text.

use holm_server::{Server, Settings};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

/// A server that stops with its test.
pub(crate) struct Served {
    server: Option<Server>,
    pub(crate) address: SocketAddr,
    folder: Option<tempfile::TempDir>,
}

impl Served {
    pub(crate) fn new(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut served = Served::at(&folder.path().join("test.holm"), options);
        served.folder = Some(folder);
        served
    }

    pub(crate) fn at(path: &Path, options: &[&str]) -> Self {
        let server = Server::start(Settings::for_folder(path, options).unwrap()).unwrap();
        Served { address: server.address(), server: Some(server), folder: None }
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address)
    }

    pub(crate) fn stop(mut self) {
        let server = self.server.take().unwrap();
        server.stop();
        server.join().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
            server.join().unwrap();
        }
    }
}

pub(crate) struct Client {
    pub(crate) stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream: BufReader::new(stream) }
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).unwrap();
    }

    /// Sends a command whose words are separated by spaces; `""` is an empty word.
    pub(crate) fn send(&mut self, line: &str) {
        let words: Vec<_> = line.split(' ').map(|word| if word == "\"\"" { "" } else { word }).collect();
        self.send_words(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>());
    }

    pub(crate) fn send_words(&mut self, words: &[&[u8]]) {
        self.send_bytes(&encode(words));
    }

    /// As [`Client::send`], to a server that may be gone.
    pub(crate) fn try_send(&mut self, line: &str) -> std::io::Result<()> {
        let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
        self.stream.get_mut().write_all(&encode(&words))
    }

    /// Sends a command and returns its reply.
    #[track_caller]
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.receive()
    }

    /// Asks each line, and compares the replies.
    #[track_caller]
    pub(crate) fn script(&mut self, lines: &[(&str, &str)]) {
        for (line, expected) in lines {
            assert_eq!(self.ask(line), *expected, "{line}");
        }
    }

    /// Returns the next line as it is.
    pub(crate) fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        self.stream.read_until(b'\n', &mut line).ok()?;
        let line = line.strip_suffix(b"\r\n")?;
        Some(line.escape_ascii().to_string().replace("\\'", "'"))
    }

    /// Returns the next reply as text: strings as they are, `nil`, arrays in brackets. `closed` if there is none.
    pub(crate) fn receive(&mut self) -> String {
        self.receive_one().unwrap_or_else(|| "closed".to_owned())
    }

    fn receive_one(&mut self) -> Option<String> {
        let line = self.line()?;
        let (kind, rest) = line.split_at_checked(1)?;
        let several = |count: usize, client: &mut Self| {
            let items: Option<Vec<_>> = (0..count).map(|_| client.receive_one()).collect();
            items.map(|items| items.join(" "))
        };
        Some(match kind {
            "_" => "nil".to_owned(),
            "$" | "*" if rest == "-1" => "nil".to_owned(),
            "$" | "=" => {
                let mut bytes = vec![0; rest.parse::<usize>().unwrap() + 2];
                self.stream.read_exact(&mut bytes).ok()?;
                bytes.truncate(bytes.len() - 2);
                bytes.escape_ascii().to_string()
            }
            "*" => format!("[{}]", several(rest.parse().unwrap(), self)?),
            "~" => format!("~[{}]", several(rest.parse().unwrap(), self)?),
            ">" => format!(">[{}]", several(rest.parse().unwrap(), self)?),
            "%" => format!("{{{}}}", several(2 * rest.parse::<usize>().unwrap(), self)?),
            "-" => format!("-{rest}"),
            _ => rest.to_owned(),
        })
    }
}

/// Returns the bytes of a command.
pub(crate) fn encode(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend(format!("${}\r\n", word.len()).bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
