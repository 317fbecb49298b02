//! A server in a folder of its own, and a client that says exactly what is sent: plain HTTP/1.1 over a socket.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use armwise_server::{
    Options, Server,
    access::{Scope, Token, Tokens},
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    time::{Duration, Instant},
};

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body, if the status is this one.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        if self.body.is_empty() { Value::Null } else { self.json() }
    }
}

/// Sends requests, each on a connection of its own.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    pub(crate) address: SocketAddr,
    pub(crate) token: Option<String>,
}

impl Client {
    pub(crate) fn with(&self, token: Option<&str>) -> Self {
        Self { address: self.address, token: token.map(str::to_owned) }
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.try_send(method, path, headers, body).unwrap()
    }

    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> std::io::Result<Answer> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_mins(2)))?;
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.address);
        if let Some(token) = &self.token {
            head = head + "Authorization: Bearer " + token + "\r\n";
        }
        if !body.is_empty() || matches!(method, "PUT" | "POST" | "PATCH") {
            head = head + "Content-Length: " + &body.len().to_string() + "\r\n";
        }
        for (name, value) in headers {
            head = head + name + ": " + value + "\r\n";
        }
        stream.write_all(head.as_bytes())?;
        stream.write_all(b"\r\n")?;
        stream.write_all(body)?;
        let mut all = Vec::new();
        stream.read_to_end(&mut all)?;
        parse(&all).ok_or_else(|| std::io::Error::other("no whole answer"))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> Answer {
        self.send(method, path, &[("Content-Type", "application/json")], body.to_string().as_bytes())
    }

    pub(crate) fn keyed(&self, method: &str, path: &str, key: &str, body: &Value) -> Answer {
        let headers = [("Content-Type", "application/json"), ("Idempotency-Key", key)];
        self.send(method, path, &headers, body.to_string().as_bytes())
    }
}

fn parse(all: &[u8]) -> Option<Answer> {
    let end = all.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&all[..end]);
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let is_chunked = headers.iter().any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = all[end + 4..].to_vec();
    Some(Answer { status, headers, body: if is_chunked { unchunked(&body) } else { body } })
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let Ok(length) = usize::from_str_radix(&String::from_utf8_lossy(&rest[..end]), 16) else { break };
        let Some(chunk) = rest.get(end + 2..end + 2 + length).filter(|_| length > 0) else { break };
        body.extend_from_slice(chunk);
        rest = &rest[end + 2 + length + 2..];
    }
    body
}

/// A server of this folder on a free port, ready.
pub(crate) fn start(data: &Path) -> (Server, Client) {
    start_with(Options::new(data.to_owned(), "127.0.0.1:0".parse().unwrap()))
}

pub(crate) fn start_with(options: Options) -> (Server, Client) {
    let server = Server::start(options).unwrap();
    let client = Client { address: server.address(), token: None };
    let until = Instant::now() + Duration::from_mins(2);
    while client.get("/readyz").status != 200 {
        assert!(Instant::now() < until, "the server is not ready");
        std::thread::sleep(Duration::from_millis(5));
    }
    (server, client)
}

/// Makes a token in the folder's file.
pub(crate) fn token(
    data: &Path,
    name: &str,
    scopes: &[Scope],
    campaigns: Option<&[&str]>,
    expires: Option<u64>,
) -> String {
    let campaigns: Option<Vec<String>> = campaigns.map(|own| own.iter().map(|name| (*name).to_owned()).collect());
    let (token, secret) = Token::new(name, scopes, campaigns.as_deref(), expires).unwrap();
    Tokens::of(data).add(token).unwrap();
    secret
}

/// Features of an arm, a function of its number and of the request.
pub(crate) fn features(arm: usize, request: usize) -> Vec<f64> {
    (0..3).map(|place| (((arm * 7 + place * 3 + request * 5) % 11) as f64 - 5.0) / 10.0).collect()
}

/// A request for `k` of ten arms.
pub(crate) fn slate(request: usize, k: usize) -> Value {
    let arms: Vec<Value> =
        (0..10).map(|arm| json!({"id": format!("a{arm}"), "features": features(arm, request)})).collect();
    json!({ "arms": arms, "k": k })
}

/// What a campaign with three features is made with.
pub(crate) fn rules() -> Value {
    json!({ "dim": 3, "seed": 7 })
}
