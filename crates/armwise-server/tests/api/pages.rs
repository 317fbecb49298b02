//! Who sees which page, and what a cookie is good for; that the demo runs. How pages look and behave is in `tests/browser`.

use crate::common::{Client, start};
use armwise_campaign::Campaign;
use armwise_server::{
    access::{Scope, Token, Tokens},
    demo::{Demo, DemoOptions},
};
use serde_json::json;
use std::{path::Path, time::Duration};

const PAGES: [&str; 6] = ["/", "/campaigns/spring", "/campaigns/spring/why?q=a", "/operator", "/tokens", "/events"];

fn token(data: &Path, name: &str, scope: Scope, campaigns: Option<&[String]>) -> String {
    let (token, secret) = Token::new(name, &[scope], campaigns, None).unwrap();
    Tokens::of(data).add(token).unwrap();
    secret
}

fn by_cookie(client: &Client, method: &str, path: &str, secret: &str, site: &str, body: &[u8]) -> (u16, String) {
    let cookie = format!("other=1; armwise_token={secret}");
    let headers = [("Cookie", cookie.as_str()), ("Sec-Fetch-Site", site), ("Content-Type", "application/json")];
    let answer = client.send(method, path, &headers, body);
    (answer.status, answer.text())
}

#[test]
fn a_page_tells_nothing_without_a_token_and_only_of_campaigns_that_the_token_is_for() {
    let folder = tempfile::tempdir().unwrap();
    let admin = token(folder.path(), "boss", Scope::Admin, None);
    let other = token(folder.path(), "other", Scope::Read, Some(&["autumn".to_owned()]));
    let (server, client) = start(folder.path());
    let boss = client.with(Some(&admin));
    boss.json("PUT", "/v1/campaigns/spring", &json!({"dim": 1})).expect(201);
    let arms = json!({"k": 1, "arms": [{"id": "a", "features": [1]}]});
    boss.json("POST", "/v1/campaigns/spring/decisions", &arms).expect(200);
    for path in PAGES {
        for secret in [None, Some("armwise_nonsense")] {
            let cookie = format!("armwise_token={}", secret.unwrap_or_default());
            let answer = client.send("GET", path, &[("Cookie", cookie.as_str())], b"");
            assert!(answer.status == 401 && !answer.text().contains("spring"), "{path}: {}", answer.text());
            assert!(answer.text().contains("/sign-in"), "the page asks for a token");
        }
        // An open stream of events would not end.
        if path != "/events" {
            let (status, text) = by_cookie(&client, "GET", path, &other, "none", b"");
            let hidden = if path == "/operator" { 403 } else { 404 };
            assert_eq!(status, if path == "/" || path == "/tokens" { 200 } else { hidden }, "{path}");
            assert!(!text.contains(">spring<") && !text.contains(">boss<"), "{path}: {text}");
            let (status, text) = by_cookie(&client, "GET", path, &admin, "none", b"");
            assert!(status == 200 && text.contains("<main"), "{path}: {text}");
        }
    }
    server.stop();
}

#[test]
fn the_api_believes_a_cookie_only_of_this_servers_own_pages() {
    let folder = tempfile::tempdir().unwrap();
    let admin = token(folder.path(), "boss", Scope::Admin, None);
    let (server, client) = start(folder.path());
    for site in ["cross-site", "same-site", "none"] {
        let (status, text) = by_cookie(&client, "PUT", "/v1/campaigns/spring", &admin, site, b"{\"dim\": 1}");
        assert_eq!(status, 401, "{site}: {text}");
    }
    let (status, text) = by_cookie(&client, "PUT", "/v1/campaigns/spring", &admin, "same-origin", b"{\"dim\": 1}");
    assert_eq!(status, 201, "{text}");
    server.stop();
}

#[test]
fn signing_in_gives_a_cookie_that_neither_scripts_nor_other_sites_get() {
    let folder = tempfile::tempdir().unwrap();
    let admin = token(folder.path(), "boss", Scope::Admin, None);
    let (server, client) = start(folder.path());
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let bad = client.send("POST", "/sign-in", &form, b"token=armwise_x");
    assert!(bad.status == 401 && bad.header("set-cookie").is_none());
    // Another site's page could sign somebody in with a token of its own, and see what they do.
    for from in [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"), ("Origin", "https://evil.example")]
    {
        let other = client.send("POST", "/sign-in", &[form[0], from], format!("token={admin}").as_bytes());
        assert!(other.status == 403 && other.header("set-cookie").is_none(), "{from:?}");
        assert_eq!(client.send("POST", "/sign-out", &[from], b"").status, 403, "{from:?}");
    }
    let good = client.send("POST", "/sign-in", &form, format!("token={admin}").as_bytes());
    let cookie = good.header("set-cookie").unwrap();
    assert!(good.status == 303 && cookie.starts_with(&format!("armwise_token={admin};")), "{cookie}");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let out = client.send("POST", "/sign-out", &[], b"");
    assert!(out.header("set-cookie").is_some_and(|cookie| cookie.contains("Max-Age=0")));
    server.stop();
}

#[test]
fn the_demo_decides_and_learns_over_the_api_and_ends_when_it_should() {
    let folder = tempfile::tempdir().unwrap();
    let options = DemoOptions { data: folder.path().to_owned(), seed: 3, rate: 50.0, port: 0 };
    let demo = Demo::start(&options).unwrap();
    let client = Client { address: demo.address(), token: None };
    let running = std::thread::spawn(move || demo.stop_after(Some(Duration::from_secs(3))));
    let page = client.get("/campaigns/shop");
    assert!(page.status == 200 && page.text().contains("Reward over time"));
    running.join().unwrap().unwrap();
    let learned = Campaign::read(&folder.path().join("shop.armwise")).unwrap().model().unwrap();
    assert!(learned.blocks()[0].count() > 20, "{}", learned.blocks()[0].count());
    // The same folder again: the same campaigns go on.
    Demo::start(&options).unwrap().stop_after(Some(Duration::ZERO)).unwrap();
}
