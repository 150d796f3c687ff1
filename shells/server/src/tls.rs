//! TLS: the certificates of the server and of its clients, which can be read again while the server runs.

use crate::settings::Settings;
use crate::tls_stream::TlsStream;
use anyhow::{Context, bail};
use mio::net::TcpStream;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// What TLS connections begin with.
pub(crate) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the certificates of the settings; none if there is no address for TLS.
    ///
    /// # Errors
    /// An option is absent, or a file cannot be used.
    pub(crate) fn open(settings: &Settings) -> anyhow::Result<Option<Self>> {
        if settings.tls_listen.is_none() {
            return Ok(None);
        }
        let (Some(certificate), Some(key)) = (&settings.tls_cert, &settings.tls_key) else {
            bail!("--tls-listen needs --tls-cert and --tls-key");
        };
        let config = config(certificate, key, settings.tls_client_ca.as_deref())?;
        Ok(Some(Tls {
            certificate: certificate.clone(),
            key: key.clone(),
            client_ca: settings.tls_client_ca.clone(),
            config: RwLock::new(config),
        }))
    }

    /// Reads the certificates again, for connections that begin from now on.
    ///
    /// # Errors
    /// A file cannot be used; the old certificates stay.
    pub(crate) fn reload(&self) -> anyhow::Result<()> {
        let config = config(&self.certificate, &self.key, self.client_ca.as_deref())?;
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    /// Begins a connection.
    pub(crate) fn begin(&self, socket: TcpStream) -> Result<TlsStream, rustls::Error> {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(TlsStream::new(socket, ServerConnection::new(config)?))
    }
}

fn certificates(path: &Path) -> anyhow::Result<Vec<CertificateDer<'static>>> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let all = all.map_err(|error| anyhow::anyhow!("{error}")).with_context(|| format!("reading {}", path.display()))?;
    if all.is_empty() {
        bail!("{} has no certificate", path.display());
    }
    Ok(all)
}

fn config(certificate: &Path, key: &Path, client_ca: Option<&Path>) -> anyhow::Result<Arc<ServerConfig>> {
    let chain = certificates(certificate)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| anyhow::anyhow!("{error}"));
    let private = private.with_context(|| format!("reading {}", key.display()))?;
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let mut roots = RootCertStore::empty();
            for root in certificates(path)? {
                roots.add(root).with_context(|| format!("reading {}", path.display()))?;
            }
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let config = builder.with_single_cert(chain, private);
    Ok(Arc::new(config.with_context(|| format!("using {} and {}", certificate.display(), key.display()))?))
}
