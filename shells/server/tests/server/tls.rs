//! TLS: large pipelines through it, certificates on both sides, their replacement, and bytes that are no TLS.

use crate::client::{Served, encode};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An authority, and a folder with what it has signed.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.pem"), issuer.as_ref().pem()).unwrap();
        Authority { issuer, folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a certificate and its key.
    fn sign(&self, name: &str) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.file(&format!("{name}.pem")), certificate.pem()).unwrap();
        std::fs::write(self.file(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    fn serve(&self, more: &[&str]) -> Served {
        self.sign("server");
        let (certificate, key) = (self.file("server.pem"), self.file("server.key"));
        let mut options =
            vec!["--tls-listen", "127.0.0.1:0", "--tls-cert", text(&certificate), "--tls-key", text(&key)];
        options.extend(more);
        Served::new(&options)
    }

    fn connect(&self, address: SocketAddr, certificate: Option<&str>) -> Secure {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(self.file("ca.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        let config = match certificate {
            None => builder.with_no_client_auth(),
            Some(name) => {
                let chain = vec![CertificateDer::from_pem_file(self.file(&format!("{name}.pem"))).unwrap()];
                let key = PrivateKeyDer::from_pem_file(self.file(&format!("{name}.key"))).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        };
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::new(config), name).unwrap();
        Secure(BufReader::new(StreamOwned::new(session, TcpStream::connect(address).unwrap())))
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

struct Secure(BufReader<StreamOwned<ClientConnection, TcpStream>>);

impl Secure {
    fn send(&mut self, words: &[&[u8]]) -> std::io::Result<()> {
        self.0.get_mut().write_all(&encode(words))
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    fn ask(&mut self, words: &[&[u8]]) -> std::io::Result<String> {
        self.send(words)?;
        self.line()
    }
}

#[test]
fn large_values_and_pipelines_arrive_whole_through_tls() {
    let authority = Authority::new();
    let served = authority.serve(&[]);
    let mut client = authority.connect(served.server().tls_address().unwrap(), None);
    assert_eq!(client.ask(&[b"ping"]).unwrap(), "+PONG");
    let large: Vec<u8> = (0..6_u32 << 20).map(|index| (index % 251) as u8).collect();
    assert_eq!(client.ask(&[b"set", b"large", &large]).unwrap(), "+OK");
    // Replies of 24 MiB wait until they are read.
    (0..4).for_each(|_| client.send(&[b"get", b"large"]).unwrap());
    for _ in 0..4 {
        assert_eq!(client.line().unwrap(), format!("${}", large.len()));
        let mut bytes = vec![0; large.len() + 2];
        client.0.read_exact(&mut bytes).unwrap();
        assert!(bytes[..large.len()] == large[..]);
    }
    (0..5_000).for_each(|_| client.send(&[b"incr", b"sum"]).unwrap());
    assert_eq!((0..5_000).map(|_| client.line().unwrap()).last().unwrap(), ":5000");
    assert_eq!(client.ask(&[b"quit"]).unwrap(), "+OK");
    assert_eq!(client.line().unwrap(), "", "the server says farewell, and the end is clean");
    assert_eq!(served.client().ask("strlen large"), large.len().to_string());
}

#[test]
fn clients_without_a_certificate_are_refused_where_one_is_needed() {
    let authority = Authority::new();
    let served = authority.serve(&["--tls-client-ca", text(&authority.file("ca.pem"))]);
    let address = served.server().tls_address().unwrap();
    assert!(authority.connect(address, None).ask(&[b"ping"]).is_err());
    let other = Authority::new();
    other.sign("client");
    for name in ["client.pem", "client.key"] {
        std::fs::copy(other.file(name), authority.file(name)).unwrap();
    }
    assert!(authority.connect(address, Some("client")).ask(&[b"ping"]).is_err());
    authority.sign("client");
    assert_eq!(authority.connect(address, Some("client")).ask(&[b"ping"]).unwrap(), "+PONG");
}

#[test]
fn certificates_are_replaced_while_the_server_runs() {
    let authority = Authority::new();
    let served = authority.serve(&[]);
    let address = served.server().tls_address().unwrap();
    let shown = || {
        let mut client = authority.connect(address, None);
        assert_eq!(client.ask(&[b"ping"]).unwrap(), "+PONG");
        let chain = client.0.get_ref().conn.peer_certificates().unwrap();
        assert_eq!(chain.len(), 1);
        chain[0].to_vec()
    };
    let mut old = authority.connect(address, None);
    let (before, reload) = (shown(), served.server().reloader());
    authority.sign("server");
    assert_eq!(shown(), before, "nothing is read before it is asked for");
    reload();
    let after = shown();
    assert_ne!(after, before);
    std::fs::write(authority.file("server.pem"), "no certificate").unwrap();
    reload();
    assert_eq!(shown(), after, "what cannot be read replaces nothing");
    assert_eq!(old.ask(&[b"ping"]).unwrap(), "+PONG");
}

#[test]
fn bytes_that_are_no_tls_do_no_harm() {
    let authority = Authority::new();
    let served = authority.serve(&[]);
    let address = served.server().tls_address().unwrap();
    let seed = RandomState::new().hash_one(0);
    println!("seed {seed}");
    let mut state = seed | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    // What begins as a handshake goes further than chance does.
    let begins: &[&[u8]] = &[b"", b"PING\r\n", &[22, 3, 1], &[22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3], &[21, 3, 3, 0, 2]];
    for round in 0..150 {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut bytes = begins[round % begins.len()].to_vec();
        (0..next() % 600).for_each(|_| bytes.push(next() as u8));
        // The server may have closed the connection by now.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut taken = Vec::new();
        let _ = stream.read_to_end(&mut taken);
        assert!(!taken.starts_with(b"+PONG"));
    }
    assert_eq!(authority.connect(address, None).ask(&[b"ping"]).unwrap(), "+PONG");
    let mut client = served.client();
    while !client.ask("info clients").contains("connected_clients:1\\r") {}
}

#[test]
fn tls_needs_a_certificate_and_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let start = |options: &[&str]| {
        let settings = holm_server::Settings::for_folder(folder.path(), options)?;
        assert!(holm_server::Server::check(&settings).is_err());
        holm_server::Server::start(settings).map(drop)
    };
    let cases: &[(&[&str], &str)] = &[
        (&["--tls-listen", "127.0.0.1:0"], "needs --tls-cert and --tls-key"),
        (&["--tls-cert", "a.pem"], "need --tls-listen"),
        (&["--tls-listen", "127.0.0.1:0", "--tls-cert", "a.pem", "--tls-key", "a.key"], "reading a.pem"),
        (&["--tls-listen", "0.0.0.0:0"], "without a password"),
    ];
    for (options, expected) in cases {
        let refused = start(options).unwrap_err();
        assert!(format!("{refused:#}").contains(expected), "{refused:#}");
    }
}
