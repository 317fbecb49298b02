//! Who gets in: every route of the document with no token, a wrong one, one that has expired, one of another scope and
//! one of another campaign.

use crate::common::{Client, rules, slate, start, token};
use armwise_server::{
    Options, Server,
    access::{Scope, Tokens},
};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};

/// A path of the campaign `shop`.
fn filled(path: &str) -> String {
    path.replace("{campaign}", "shop").replace("{decision}", "r1").replace("{id}", "a").replace("{name}", "nobody")
}

/// Every operation of the document: method, path, and what it needs.
fn operations(client: &Client) -> Vec<(String, String, Vec<String>)> {
    let document = client.get("/openapi.json").expect(200);
    let mut found = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let words = operation["security"][0]["token"].as_array().cloned().unwrap_or_default();
            let words = words.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            found.push((method.to_uppercase(), filled(path), words));
        }
    }
    found
}

#[test]
fn no_route_lets_anybody_in_who_may_not() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let admin = token(data, "root", &[Scope::Admin], None, None);
    let (_server, client) = start(data);
    client.with(Some(&admin)).json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    client.with(Some(&admin)).json("POST", "/v1/campaigns/shop/decisions", &slate(1, 2)).expect(200);
    let scopes = [Scope::Read, Scope::Decide, Scope::Reward, Scope::Admin];
    let expired = token(data, "expired", &scopes, None, Some(1));
    let elsewhere = token(data, "elsewhere", &scopes, Some(&["other"]), None);
    let each: Vec<(Scope, String)> =
        scopes.iter().map(|scope| (*scope, token(data, scope.name(), &[*scope], Some(&["shop"]), None))).collect();
    std::thread::sleep(std::time::Duration::from_millis(1100));

    let operations = operations(&client);
    let (mut guarded, mut open) = (0, Vec::new());
    for (method, path, words) in &operations {
        let send = |token: Option<&str>| client.with(token).send(method, path, &[], b"").status;
        let Some(needed) = words.iter().find_map(|word| word.parse::<Scope>().ok()) else {
            open.push(path.as_str());
            assert!(send(None) < 400, "{method} {path} is open");
            continue;
        };
        guarded += 1;
        for (what, sent) in
            [("none", None), ("wrong", Some("armwise_0")), ("empty", Some("")), ("expired", Some(expired.as_str()))]
        {
            assert_eq!(send(sent), 401, "{method} {path}: {what} token");
        }
        let everywhere = words.iter().any(|word| word == "all-campaigns");
        let in_a_campaign = path.contains("/shop");
        if in_a_campaign || everywhere {
            assert_eq!(send(Some(&elsewhere)), 403, "{method} {path}: a token of another campaign");
        }
        for (scope, own) in &each {
            let may = scope.covers(needed) && !everywhere;
            let status = send(Some(own));
            assert_eq!(
                status != 403 && status != 401,
                may,
                "{method} {path}: scope {scope} gives {status}, {needed} is needed"
            );
        }
    }
    assert_eq!(open, ["/healthz", "/openapi.json", "/readyz"]);
    assert!(guarded >= 22, "{guarded}");
    // What a token of another campaign sees of the list is its own.
    let listed = client.with(Some(&elsewhere)).get("/v1/campaigns").expect(200);
    assert_eq!(listed["campaigns"], serde_json::json!([]));
}

#[test]
fn other_ways_to_send_a_token_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let secret = token(folder.path(), "all", &[Scope::Admin], None, None);
    let (_server, client) = start(folder.path());
    let with = |name: &str, value: &str| client.send("GET", "/v1/campaigns", &[(name, value)], b"").status;
    assert_eq!(with("Authorization", &format!("Bearer {secret}")), 200);
    assert_eq!(with("Authorization", &format!("bearer {secret}")), 200, "the scheme's name has no case");
    for bad in [
        secret.clone(),
        format!("Basic {secret}"),
        format!("Bearer {}", secret.to_uppercase()),
        format!("Bearer {secret}x"),
    ] {
        assert_eq!(with("Authorization", &bad), 401, "{bad}");
    }
    assert_eq!(client.get(&format!("/v1/campaigns?token={secret}")).status, 401);
    let refused = client.get("/v1/campaigns");
    assert_eq!(
        (refused.header("www-authenticate"), refused.header("content-type")),
        (Some("Bearer"), Some("application/problem+json"))
    );
}

#[test]
fn a_revoked_token_ends_and_the_last_one_opens_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let secret = token(folder.path(), "only", &[Scope::Admin], None, None);
    let (_server, client) = start(folder.path());
    let client = client.with(Some(&secret));
    assert_eq!(client.get("/v1/campaigns").status, 200);
    // Another process revokes it.
    Tokens::of(folder.path()).revoke("only").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(client.get("/v1/campaigns").status, 401);
    assert_eq!(client.with(None).get("/v1/campaigns").status, 401);
    // A damaged file lets nobody in.
    std::fs::write(folder.path().join("tokens.json"), b"{").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(client.get("/v1/campaigns").status, 500);
}

#[test]
fn tokens_are_made_over_http_shown_once_and_kept_as_hashes() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    let new = serde_json::json!({"name": "page", "scopes": ["admin"]});
    let made = client.json("POST", "/v1/tokens", &new).expect(201);
    let secret = made["token"].as_str().unwrap();
    let file = folder.path().join("tokens.json");
    assert!(!std::fs::read_to_string(&file).unwrap().contains(&secret[8..]));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    let all = client.with(Some(secret));
    let listed = all.get("/v1/tokens");
    assert!(listed.status == 200 && !listed.text().contains("sha256") && !listed.text().contains(secret));
    all.json("POST", "/v1/tokens", &new).expect(409);
    all.send("DELETE", "/v1/tokens/nobody", &[], b"").expect(404);
    all.send("DELETE", "/v1/tokens/page", &[], b"").expect(409);
    let other = all.json("POST", "/v1/tokens", &serde_json::json!({"name": "x", "scopes": ["admin"]})).expect(201);
    let other = client.with(other["token"].as_str());
    assert_eq!(other.send("DELETE", "/v1/tokens/page", &[], b"").status, 204);
    assert_eq!(all.get("/v1/tokens").status, 401);
}

#[test]
fn without_tokens_only_this_machine_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let everywhere = Options::new(folder.path().to_owned(), "0.0.0.0:0".parse().unwrap());
    let refused = Server::start(everywhere.clone()).unwrap_err();
    assert!(refused.to_string().contains("tokens"), "{refused}");
    // A page of another site that a browser here shows is kept out.
    let (server, client) = start(folder.path());
    let with = |name: &str, value: &str| client.send("GET", "/v1/campaigns", &[(name, value)], b"").status;
    assert_eq!(with("Origin", "https://evil.example"), 403);
    assert_eq!(with("X-Plain", "1"), 200);
    server.stop();
    token(folder.path(), "one", &[Scope::Read], None, None);
    Server::start(everywhere).unwrap().stop();
}

/// Before, a stream was asked for its token once, and went on for as long as it was open.
#[test]
fn a_stream_ends_when_its_token_does() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let admin = token(data, "root", &[Scope::Admin], None, None);
    let reader = token(data, "reader", &[Scope::Read], Some(&["shop"]), None);
    let (_server, client) = start(data);
    let root = client.with(Some(&admin));
    root.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let stream = |path: &str, header: &str| {
        let mut stream = std::net::TcpStream::connect(client.address).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_mins(1))).unwrap();
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\nConnection: close\r\n{header}\r\n\r\n",
            client.address
        );
        stream.write_all(head.as_bytes()).unwrap();
        BufReader::new(stream).lines().map(Result::unwrap)
    };
    let mut log = stream("/v1/campaigns/shop/log", &format!("Authorization: Bearer {reader}"));
    let mut page = stream("/events", &format!("Cookie: armwise_token={reader}"));
    assert!(log.any(|line| line == "event: init"), "it is followed");
    assert!(page.any(|line| line == "event: changed"), "it is followed");
    root.send("DELETE", "/v1/tokens/reader", &[], b"").expect(204);
    // Nobody ends them but the server.
    let (rest, of_page): (Vec<String>, Vec<String>) = (log.collect(), page.collect());
    assert!(!rest.iter().chain(&of_page).any(|line| line.contains("choose")), "{rest:?} {of_page:?}");
}
