//! TLS to the database, with rustls.
//!
//! `sslmode=disable` speaks plainly, `require` encrypts and does not ask who answers, `verify-full` (the default but on this
//! machine) checks the certificate and the name against the system's roots or `sslrootcert`. There is no mode that falls
//! back to plain text.

use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use std::{
    future::Future,
    io,
    path::Path,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

/// Where systems keep the certificates that they trust.
const SYSTEM: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// How a connection is secured.
#[derive(Debug, Clone)]
pub(super) enum Security {
    Plain,
    Tls(Arc<ClientConfig>),
}

impl Security {
    pub(super) fn new(mode: Option<&str>, root: Option<&Path>, is_local: bool) -> Result<Self, String> {
        match mode {
            None if is_local && root.is_none() => Ok(Self::Plain),
            Some("disable") => Ok(Self::Plain),
            Some("require") => Ok(Self::Tls(unchecked()?)),
            None | Some("verify-full") => Ok(Self::Tls(checked(root)?)),
            Some(other) => Err(format!("sslmode is {other:?}; it can be disable, require or verify-full")),
        }
    }

    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Self::Plain)
    }
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, String> {
    let begun = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    begun.with_safe_default_protocol_versions().map_err(|error| error.to_string())
}

fn checked(root: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let file = match root {
        Some(file) => file,
        None => SYSTEM
            .iter()
            .map(Path::new)
            .find(|file| file.exists())
            .ok_or("no trusted certificates; give sslrootcert")?,
    };
    let bad = |problem: &dyn std::fmt::Display| format!("{}: {problem}", file.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| bad(&error))? {
        // A root that nobody can use any more is no reason to trust none of the others.
        let _ = roots.add(certificate.map_err(|error| bad(&error))?);
    }
    if roots.is_empty() {
        return Err(bad(&"it has no certificate"));
    }
    Ok(Arc::new(builder()?.with_root_certificates(roots).with_no_client_auth()))
}

fn unchecked() -> Result<Arc<ClientConfig>, String> {
    let anyone = Arc::new(Anyone(ring::default_provider()));
    Ok(Arc::new(builder()?.dangerous().with_custom_certificate_verifier(anyone).with_no_client_auth()))
}

/// Takes any certificate: `sslmode=require`, as everywhere with PostgreSQL.
#[derive(Debug)]
struct Anyone(CryptoProvider);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// What tokio-postgres makes connections with.
#[derive(Clone)]
pub(super) struct Maker(pub(super) Arc<ClientConfig>);

pub(super) struct Connector {
    tls: TlsConnector,
    name: ServerName<'static>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Maker {
    type Stream = Secured<S>;
    type TlsConnect = Connector;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Connector, Self::Error> {
        let name = ServerName::try_from(domain)?.to_owned();
        Ok(Connector { tls: TlsConnector::from(Arc::clone(&self.0)), name })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connector {
    type Stream = Secured<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Secured<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move { Ok(Secured(Box::new(self.tls.connect(self.name, stream).await?))) })
    }
}

/// A secured connection.
pub(super) struct Secured<S>(Box<client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Secured<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Secured<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Secured<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
