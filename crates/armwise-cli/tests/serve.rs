//! `armwise serve` and `armwise token` as a user runs them: the binary, a folder, a free port.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
#![cfg(all(feature = "serve", unix))]

#[path = "../../armwise-server/tests/api/common.rs"]
mod http;

use http::Client;
use serde_json::json;
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

fn armwise(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_armwise")).args(arguments).current_dir(folder).output().unwrap()
}

#[track_caller]
fn done(arguments: &[&str], folder: &Path) -> String {
    let output = armwise(arguments, folder);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A server of the folder `data`, on a port of its own choice; killed when dropped.
struct Running(Child, Client);

impl Running {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_armwise"))
            .args(["serve", "--data", "data", "--listen", "127.0.0.1:0", "--quiet"])
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit('/').next().unwrap().parse().unwrap_or_else(|_| panic!("{line:?}"));
        let client = Client { address, token: None };
        let until = Instant::now() + Duration::from_mins(2);
        while client.try_send("GET", "/readyz", &[], b"").map_or(0, |answer| answer.status) != 200 {
            assert!(Instant::now() < until, "the server is not ready");
            std::thread::sleep(Duration::from_millis(10));
        }
        Self(child, client)
    }

    /// Stops as an init system does, and gives the exit code.
    fn stop(mut self) -> Option<i32> {
        Command::new("kill").args(["-TERM", &self.0.id().to_string()]).status().unwrap();
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_campaign_of_the_command_line_is_served_and_a_served_one_is_read_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::create_dir(folder.join("data")).unwrap();
    let row = |i: usize| format!("C{i},{},{}", i % 7, ["a", "b", "c"][i % 3]);
    let rows: Vec<String> = (0..60).map(row).collect();
    std::fs::write(folder.join("customers.csv"), format!("customer,age,town\n{}\n", rows.join("\n"))).unwrap();
    done(&["init", "data/spring.armwise", "--from", "customers.csv", "--promotion", "mail=5"], folder);
    done(&["choose", "data/spring.armwise", "customers.csv", "--out", "sends.csv"], folder);

    let server = Running::start(folder);
    let client = &server.1;
    assert_eq!(client.get("/v1/campaigns/spring").expect(200)["rules"]["customer"], "customer");
    // Its sends are answered over HTTP, by the ids in the file.
    let sends = std::fs::read_to_string(folder.join("sends.csv")).unwrap();
    let line: Vec<&str> = sends.lines().nth(1).unwrap().split(',').collect();
    let rewards = json!({"rewards": [{"decision": line[2], "reward": 1.0}]});
    assert_eq!(client.json("POST", "/v1/campaigns/spring/rewards", &rewards).expect(200)["applied"], 1);
    let arms: Vec<_> = (60..80).map(|i| json!({"customer": format!("C{i}"), "age": i % 7, "town": "b"})).collect();
    client.json("POST", "/v1/campaigns/spring/decisions", &json!({ "arms": arms })).expect(200);
    // Nobody else writes to it meanwhile, and everybody may read.
    assert_eq!(armwise(&["close", "data/spring.armwise", "--round", "1"], folder).status.code(), Some(75));
    assert!(done(&["status", "data/spring.armwise", "--json"], folder).contains("\"rounds\""));

    // A campaign of the service, read by the commands.
    client.json("PUT", "/v1/campaigns/shop", &http::rules()).expect(201);
    let decided = client.json("POST", "/v1/campaigns/shop/decisions", &http::slate(1, 3)).expect(200);
    let id = decided["arms"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/campaigns/shop/decisions/{}/rewards", decided["decision"].as_str().unwrap());
    client.json("PUT", &path, &json!({"rewards": {id.clone(): 1.0}})).expect(200);
    done(&["verify", "data/shop.armwise"], folder);
    assert_eq!(server.stop(), Some(0));
    done(&["verify", "data/shop.armwise"], folder);
    done(&["report", "data/shop.armwise", "--html", "report.html"], folder);
    assert!(done(&["why", "data/shop.armwise", &id], folder).contains("show"));
    assert!(done(&["replay", "data/shop.armwise"], folder).contains("as the journal says"));
}

#[test]
fn tokens_are_made_listed_and_revoked_from_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let secret =
        done(&["token", "add", "shop", "--scope", "read,decide", "--campaign", "shop", "--data", "data"], folder);
    assert_eq!(done(&["token", "list", "--data", "data"], folder), "shop: read, decide of shop\n");
    assert_eq!(armwise(&["token", "add", "shop", "--scope", "read", "--data", "data"], folder).status.code(), Some(5));
    assert_eq!(armwise(&["token", "add", "x", "--scope", "write", "--data", "data"], folder).status.code(), Some(2));
    assert_eq!(armwise(&["token", "add", "../x", "--scope", "read", "--data", "data"], folder).status.code(), Some(2));
    assert_eq!(armwise(&["token", "revoke", "nobody", "--data", "data"], folder).status.code(), Some(4));
    let server = Running::start(folder);
    assert_eq!(server.1.get("/v1/campaigns").status, 401);
    assert_eq!(server.1.with(Some(secret.trim())).get("/v1/campaigns").status, 200);
    done(&["token", "revoke", "shop", "--data", "data"], folder);
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(server.1.with(Some(secret.trim())).get("/v1/campaigns").status, 401);
}

#[test]
fn others_are_not_listened_to_without_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let refused = armwise(&["serve", "--data", "data", "--listen", "0.0.0.0:0"], folder.path());
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("armwise token add"), "{refused:?}");
    let no_key = armwise(&["serve", "--tls-cert", "x.pem"], folder.path());
    assert_eq!(no_key.status.code(), Some(2));
}

/// The block of README's section on the service, as it stands there, on a port that is free.
#[test]
fn the_examples_of_readme_run() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let section = readme.split("## A service\n").nth(1).unwrap();
    let block = section.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let script = block.replace("8080", &port.to_string()).replace("curl -s", "curl -sS --fail-with-body");
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_armwise")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let script = format!("set -e\ntrap 'kill %1; wait' EXIT\n{script}");
    let done =
        Command::new("bash").args(["-c", &script]).current_dir(folder.path()).env("PATH", path).output().unwrap();
    let (said, errors) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{said}\n{errors}");
    assert!(said.contains("\"decision\":\"r1-") && said.contains("\"arms\":["), "{said}");
}
