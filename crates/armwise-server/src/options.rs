//! How a server runs: where its data lie, where it listens, what it takes at most.

use armwise_campaign::{live::LiveOptions, store::postgres::Address};
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// How a server runs.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder with the campaigns' files and the tokens; made if it is not there.
    pub data: PathBuf,
    /// The database with the campaigns and the tokens, which other servers may use too; then the folder has only what this
    /// server has seen of it.
    pub store: Option<Address>,
    /// Where to listen. Without a file of tokens only an address of this machine will do.
    pub listen: SocketAddr,
    /// The certificate and the key for TLS, as PEM files.
    pub tls: Option<TlsFiles>,
    /// What is taken at most.
    pub limits: Limits,
    /// How each campaign is served; `most_arms` is taken from the limits.
    pub live: LiveOptions,
}

/// The files for TLS.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The chain of certificates, that of the server first.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// What a server takes at most; beyond, it refuses with a status that says so and drops nothing that it accepted.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a body.
    pub body: usize,
    /// Arms of a decision's body.
    pub arms: usize,
    /// How long an answer may take.
    pub time: Duration,
    /// Requests in flight.
    pub requests: usize,
    /// Open connections.
    pub connections: usize,
    /// How long a stop waits for what is in flight.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 64 << 20,
            arms: 100_000,
            time: Duration::from_mins(1),
            requests: 1024,
            connections: 4096,
            grace: Duration::from_secs(30),
        }
    }
}

impl Options {
    /// A server of this folder at this address, with everything else as it is unless said otherwise.
    #[must_use]
    pub fn new(data: PathBuf, listen: SocketAddr) -> Self {
        Self { data, store: None, listen, tls: None, limits: Limits::default(), live: LiveOptions::default() }
    }
}
