//! A plain client of the API, for the demo: one connection, one request after the other, JSON both ways.
//!
//! It talks to a server of the same process over the loopback, so it knows neither TLS nor tokens, and it does not try again: the
//! demo ends with its server.

use axum::body::{Body, to_bytes};
use hyper::{Method, Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::net::SocketAddr;
use tokio::net::TcpStream;

/// The most bytes of an answer that are read.
const MOST: usize = 16 << 20;

/// A connection.
pub(super) struct Client {
    address: SocketAddr,
    sender: http1::SendRequest<Body>,
}

impl Client {
    pub(super) async fn connect(address: SocketAddr) -> Result<Self, String> {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        // It ends with the sender.
        tokio::spawn(async move {
            let _ = connection.await;
        });
        Ok(Self { address, sender })
    }

    /// Sends a request, and gives the answer if it is a good one.
    pub(super) async fn send(
        &mut self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: &Value,
    ) -> Result<Value, String> {
        let mut request = Request::builder()
            .method(method.clone())
            .uri(path)
            .header("host", self.address.to_string())
            .header("content-type", "application/json");
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let request = request.body(Body::from(body.to_string())).map_err(|error| error.to_string())?;
        self.sender.ready().await.map_err(|error| error.to_string())?;
        let response = self.sender.send_request(request).await.map_err(|error| error.to_string())?;
        let status = response.status();
        let bytes = to_bytes(Body::new(response.into_body()), MOST).await.map_err(|error| error.to_string())?;
        if status.is_success() {
            return Ok(serde_json::from_slice(&bytes).unwrap_or(Value::Null));
        }
        Err(format!("{method} {path}: {status}: {}", String::from_utf8_lossy(&bytes)))
    }
}
