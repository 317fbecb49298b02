//! Connections: accepts them, with TLS where there is a certificate, and serves HTTP/1.1 on each until it is told to stop.
//!
//! A stop closes the door first, then lets every request finish that has begun. Slow headers and handshakes end by a time
//! limit, so that they cannot take all the places.

use crate::{
    options::{Limits, TlsFiles},
    problem::Fault,
};
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
    service::TowerToHyperService,
};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
};
use tokio_rustls::TlsAcceptor;

/// How long the headers of a request and a handshake may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is needed to speak TLS, from the files.
///
/// # Errors
/// [`Fault`] for files that are not a certificate and its key.
pub(crate) fn tls(files: &TlsFiles) -> Result<TlsAcceptor, Fault> {
    let bad = |path: &Path, problem: &dyn std::fmt::Display| Fault::invalid(format!("{}: {problem}", path.display()));
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect)
        .map_err(|error| bad(&files.cert, &error))?;
    if chain.is_empty() {
        return Err(bad(&files.cert, &"there is no certificate in it"));
    }
    let key = PrivateKeyDer::from_pem_file(&files.key).map_err(|error| bad(&files.key, &error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
        .map_err(|error| bad(&files.key, &error))?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Serves until `stop` is true, then until every request is answered or the time for that is over.
pub(crate) async fn serve(
    listener: TcpListener,
    router: Router,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(limits.connections));
    loop {
        let place = tokio::select! {
            place = Arc::clone(&places).acquire_owned() => place,
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let stream = tokio::select! {
            accepted = listener.accept() => accepted.map(|(stream, _)| stream),
            _ = stop.wait_for(|stop| *stop) => break,
        };
        let stream = match stream {
            Ok(stream) => stream,
            Err(error) => {
                // Too many open files, or a connection that is gone already: neither ends the server.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (router, tls, watcher) = (router.clone(), tls.clone(), graceful.watcher());
        tokio::spawn(async move {
            let _place = place;
            connection(stream, router, tls, watcher).await;
        });
    }
    drop(listener);
    if tokio::time::timeout(limits.grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections were still open when the time for stopping was over");
    }
}

async fn connection(stream: TcpStream, router: Router, tls: Option<TlsAcceptor>, watcher: Watcher) {
    let _ = stream.set_nodelay(true);
    match tls {
        None => speak(stream, router, watcher).await,
        Some(tls) => {
            if let Ok(Ok(stream)) = tokio::time::timeout(PATIENCE, tls.accept(stream)).await {
                speak(stream, router, watcher).await;
            }
        }
    }
}

async fn speak<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S, router: Router, watcher: Watcher) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let serving = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A connection that breaks off is the client's affair.
    let _ = watcher.watch(serving).await;
}
