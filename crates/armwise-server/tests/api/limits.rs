//! Limits, headers and hostile requests: each is refused with its status, and the server goes on.

use crate::common::{Client, rules, slate, start, start_with};
use armwise_server::{Limits, Options, TlsFiles};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    pki_types::{CertificateDer, pem::PemObject},
};
use serde_json::json;
use std::{
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

fn options(data: &Path, limits: Limits) -> Options {
    Options { limits, ..Options::new(data.to_owned(), "127.0.0.1:0".parse().unwrap()) }
}

#[test]
fn what_is_too_large_or_of_another_type_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { body: 4000, arms: 5, ..Limits::default() };
    let (_server, client) = start_with(options(folder.path(), limits));
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let path = "/v1/campaigns/shop/decisions";
    assert_eq!(client.json("POST", path, &slate(1, 1)).expect(413)["type"], "urn:armwise:too-many-arms");
    let large = json!({"k": 1, "context": {"text": "x".repeat(5000)}});
    assert_eq!(client.json("POST", path, &large).expect(413)["type"], "urn:armwise:too-large");
    // A length that is not true changes nothing: what comes is counted.
    let chunked = format!("1388\r\n{}\r\n0\r\n\r\n", "x".repeat(5000));
    let head = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")];
    let mut stream = TcpStream::connect(client.address).unwrap();
    write!(stream, "POST {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", client.address).unwrap();
    head.iter().for_each(|(name, value)| write!(stream, "{name}: {value}\r\n").unwrap());
    write!(stream, "\r\n{chunked}").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");

    let typed = |kind: &str, body: &[u8]| client.send("POST", path, &[("Content-Type", kind)], body);
    assert_eq!(typed("text/html", b"<p>").expect(415)["place"], "Content-Type");
    assert_eq!(typed("application/json", b"{").expect(400)["type"], "urn:armwise:malformed");
    let wrong = typed("application/json", br#"{"arms":[{"id":"a","features":[1,"x"]}],"k":1}"#).expect(422);
    assert!(wrong["place"].as_str().unwrap().starts_with("arms"), "{wrong}");
    assert_eq!(typed("application/json", br#"{"K":1}"#).status, 422);
    for damaged in [&b"PAR1\0\0\0\0"[..], b"ARROW1\0\0", b"\xff\xfe", b"id\n\"a", b""] {
        for kind in ["application/vnd.apache.parquet", "application/vnd.apache.arrow.stream", "text/csv"] {
            assert_eq!(typed(kind, damaged).status, 422, "{kind} {damaged:?}");
        }
    }
    client.get("/healthz").expect(200);
}

#[test]
fn every_answer_has_the_headers_that_protect_it() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    for path in ["/", "/healthz", "/v1/campaigns", "/v1/campaigns/nobody", "/nothing", "/metrics"] {
        let answer = client.send("GET", path, &[("X-Request-Id", "mine-1")], b"");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.contains("default-src 'none'") || policy.contains("default-src 'self'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe-eval") && !policy.contains("http"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("x-request-id"), Some("mine-1"), "{path}");
    }
    let odd = client.send("GET", "/healthz", &[("X-Request-Id", "a b<script>")], b"");
    assert!(!odd.header("x-request-id").unwrap().contains("script"));
}

#[test]
fn hostile_paths_and_requests_find_nothing_and_break_nothing() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("secret.armwise"), b"not a campaign").unwrap();
    let (_server, client) = start(folder.path());
    for name in
        ["..", ".", "%2e%2e", "..%2f..%2fetc%2fpasswd", "a%00b", "a%2fb", "%ff", "tokens.json", &"x".repeat(5000)]
    {
        let status = client.get(&format!("/v1/campaigns/{name}")).status;
        assert!([400, 404, 414, 422].contains(&status), "{name}: {status}");
    }
    // A file that is no campaign fails by itself.
    let damaged = client.get("/v1/campaigns/secret");
    assert!(damaged.status == 500 && !damaged.text().contains(&*folder.path().to_string_lossy()), "{}", damaged.text());
    for raw in
        ["\0\0\0", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "POST /v1/campaigns HTTP/1.1\r\nContent-Length: -5\r\n\r\n"]
    {
        let mut stream = TcpStream::connect(client.address).unwrap();
        stream.write_all(raw.as_bytes()).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"), "{raw:?}");
    }
    client.get("/healthz").expect(200);
}

#[test]
fn too_many_requests_are_told_to_come_again_and_a_stop_finishes_what_was_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { requests: 1, ..Limits::default() };
    let (server, client) = start_with(options(folder.path(), limits));
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    // A poll that waits takes the only place, once nobody else has it.
    let waiting = {
        let client = client.clone();
        thread::spawn(move || {
            loop {
                let answer = client.get("/v1/campaigns/shop/log?after=1&wait=30");
                if answer.status != 429 {
                    break answer;
                }
            }
        })
    };
    let until = Instant::now() + Duration::from_mins(1);
    let refused = loop {
        let answer = client.get("/v1/campaigns");
        if answer.status != 200 {
            break answer;
        }
        assert!(Instant::now() < until);
        thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(refused.expect(429)["type"], "urn:armwise:too-many-requests");
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Whoever watches over the server is answered all the same.
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(client.get(path).status, 200, "{path}");
    }
    // The stop lets it end with an answer, at once.
    let began = Instant::now();
    server.stop();
    assert_eq!(waiting.join().unwrap().status, 200);
    assert!(began.elapsed() < Duration::from_secs(25));
    assert!(Client { address: client.address, token: None }.try_send("GET", "/healthz", &[], b"").is_err());
}

#[test]
fn a_certificate_makes_it_speak_tls() {
    let folder = tempfile::tempdir().unwrap();
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let (cert, key) = (files.join("localhost.pem"), files.join("localhost.key"));
    let mut options = options(folder.path(), Limits::default());
    options.tls = Some(TlsFiles { cert: key.clone(), key: cert.clone() });
    assert!(armwise_server::Server::start(options.clone()).is_err(), "the files are mixed up");
    options.tls = Some(TlsFiles { cert: cert.clone(), key });
    let server = armwise_server::Server::start(options).unwrap();

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(&cert).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(server.address()).unwrap());
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("strict-transport-security"), "{answer}");
    // Whoever does not speak it gets nothing.
    let plain = Client { address: server.address(), token: None }.try_send("GET", "/healthz", &[], b"");
    assert!(plain.is_err());
    server.stop();
}

#[test]
fn a_full_disk_is_said_and_everything_acknowledged_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    server.stop();
    let room = std::fs::metadata(folder.path().join("shop.armwise")).unwrap().len() + 60_000;
    let mut small = options(folder.path(), Limits::default());
    small.live.most_bytes = Some(room);
    let (server, client) = start_with(small);
    let mut acknowledged = Vec::new();
    let full = loop {
        let answer = client.json("POST", "/v1/campaigns/shop/decisions", &slate(acknowledged.len(), 3));
        if answer.status != 200 {
            break answer;
        }
        acknowledged.push(answer.json()["decision"].as_str().unwrap().to_owned());
        assert!(acknowledged.len() < 5000, "the disk is never full");
    };
    assert_eq!(full.expect(507)["type"], "urn:armwise:disk-full");
    assert!(!acknowledged.is_empty());
    server.stop();
    // There is room again: it goes on, and nothing is missing.
    let (_server, client) = start(folder.path());
    client.json("POST", "/v1/campaigns/shop/decisions", &slate(0, 3)).expect(200);
    for decision in &acknowledged {
        client.get(&format!("/v1/campaigns/shop/decisions/{decision}")).expect(200);
    }
}

#[test]
fn rows_with_a_great_many_columns_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let path = "/v1/campaigns/shop/decisions";
    let wide: serde_json::Map<String, serde_json::Value> = (0..20_000).map(|i| (format!("c{i}"), json!(1))).collect();
    assert_eq!(client.json("POST", path, &json!({"k": 1, "arms": [wide]})).expect(422)["type"], "urn:armwise:invalid");
    // A new column in each row: few bytes, and a table of 25 million values.
    let sparse: Vec<_> = (0..5_000).map(|i| json!({ format!("c{i}"): 1 })).collect();
    assert_eq!(client.json("POST", path, &json!({"k": 1, "arms": sparse})).expect(422)["type"], "urn:armwise:invalid");
}
