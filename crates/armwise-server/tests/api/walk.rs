//! A walk through every route, as a shop would take it, with the statuses that the document promises.

use crate::common::{rules, slate, start};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    time::Duration,
};

fn ids(decided: &Value) -> Vec<String> {
    decided["arms"].as_array().unwrap().iter().map(|arm| arm["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_shop_makes_a_campaign_decides_rewards_and_looks() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = start(folder.path());
    assert_eq!(client.get("/healthz").expect(200)["status"], "ok");
    assert_eq!(client.get("/v1/campaigns").expect(200), json!({"campaigns": []}));
    assert_eq!(client.get("/v1/campaigns/shop").expect(404)["type"], "urn:armwise:not-found");

    // Made once; the same again is confirmed, another is refused.
    let made = client.json("PUT", "/v1/campaigns/shop", &rules());
    assert_eq!(made.expect(201)["features"], 3);
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(200);
    client.json("PUT", "/v1/campaigns/shop", &json!({"dim": 4, "seed": 7})).expect(409);
    client.json("PUT", "/v1/campaigns/..%2fshop", &rules()).expect(422);
    assert!(folder.path().join("shop.armwise").is_file());

    // Decided; every number is there, and the entry in the header is that of the body.
    let decided = client.json("POST", "/v1/campaigns/shop/decisions", &slate(1, 4));
    let first = decided.expect(200);
    assert_eq!(ids(&first).len(), 4);
    assert_eq!(decided.header("armwise-seq"), Some(first["seq"].to_string().as_str()));
    for arm in first["arms"].as_array().unwrap() {
        assert!(["mean", "width", "score", "probability"].iter().all(|field| arm[field].is_number()), "{arm}");
        assert_eq!(arm["promotion"], "show");
    }
    let decision = first["decision"].as_str().unwrap();
    let path = format!("/v1/campaigns/shop/decisions/{decision}");

    // Rewarded, in parts, again, in conflict, for an arm that was not chosen; a retry changes nothing.
    let chosen = ids(&first);
    let rewarded =
        client.json("PUT", &format!("{path}/rewards"), &json!({"rewards": {&chosen[0]: 1.0, &chosen[1]: 0.0}}));
    assert_eq!(rewarded.expect(200)["applied"], 2);
    let again = client
        .json("PUT", &format!("{path}/rewards"), &json!({"rewards": {&chosen[0]: 1.0, "nobody": 1.0}}))
        .expect(200);
    assert_eq!((&again["known"], &again["unknown"]), (&json!(1), &json!(1)));
    let list = json!({"rewards": [{"id": chosen[0], "promotion": "show", "reward": 0.5}]});
    assert_eq!(client.json("PUT", &format!("{path}/rewards"), &list).expect(200)["conflict"], 1);
    assert_eq!(client.json("POST", &format!("{path}/correct"), &list).expect(200)["applied"], 1);
    let bounced = json!({"arms": [chosen[2]]});
    assert_eq!(client.json("POST", &format!("{path}/undelivered"), &bounced).expect(200)["applied"], 1);

    // Read your writes: the entry of the last answer is seen.
    let seq =
        client.json("POST", "/v1/campaigns/shop/decisions", &slate(2, 2)).header("armwise-seq").unwrap().to_owned();
    let looked = client.send("GET", &path, &[("Armwise-Seq", &seq)], b"").expect(200);
    let fates: Vec<&str> = looked["arms"].as_array().unwrap().iter().map(|arm| arm["fate"].as_str().unwrap()).collect();
    assert_eq!(fates, ["answered", "answered", "undelivered", "pending"]);
    assert_eq!(client.send("GET", &path, &[("Armwise-Seq", "999999")], b"").expect(412)["place"], "Armwise-Seq");
    client.send("GET", &path, &[("Armwise-Seq", "-1")], b"").expect(400);

    // Many at once: JSON, lines, a table.
    let second = client.json("POST", "/v1/campaigns/shop/decisions", &slate(3, 3)).expect(200);
    let (name, arms) = (second["decision"].as_str().unwrap(), ids(&second));
    let many = json!({"rewards": [{"decision": name, "id": arms[0], "reward": 1}]});
    assert_eq!(client.json("POST", "/v1/campaigns/shop/rewards", &many).expect(200)["applied"], 1);
    let lines = format!("{{\"decision\":\"{name}\",\"id\":\"{}\",\"reward\":0}}\n\n", arms[1]);
    let sent = client.send(
        "POST",
        "/v1/campaigns/shop/rewards",
        &[("Content-Type", "application/x-ndjson")],
        lines.as_bytes(),
    );
    assert_eq!(sent.expect(200)["applied"], 1);
    let csv = "decision,reward\nr9-9-zzzzzz,1\n";
    let sent = client.send("POST", "/v1/campaigns/shop/rewards", &[("Content-Type", "text/csv")], csv.as_bytes());
    assert_eq!(sent.expect(200)["learned"]["rejected"], 1);

    // Arms as a table.
    let csv = "id,features\nx,\"0.1 0.2 0.3\"\ny,\"0.3 0.2 0.1\"\n";
    let sent = client.send("POST", "/v1/campaigns/shop/decisions?k=1", &[("Content-Type", "text/csv")], csv.as_bytes());
    assert_eq!(ids(&sent.expect(200)).len(), 1);

    // Looked at.
    let why = client.get(&format!("/v1/campaigns/shop/why?id={}&decision={decision}", chosen[0])).expect(200);
    assert_eq!(why["customer"], json!(chosen[0]));
    client.get("/v1/campaigns/shop/why?id=nobody").expect(404);
    client.get("/v1/campaigns/shop/report").expect(200);
    let page = client.send("GET", "/v1/campaigns/shop/report", &[("Accept", "text/html")], b"");
    assert!(page.status == 200 && page.text().to_lowercase().starts_with("<!doctype html>"), "{}", page.text());
    client.get("/v1/campaigns/shop/model").expect(200);
    let shown = client.get("/v1/campaigns/shop").expect(200);
    assert_eq!(shown["rules"]["seed"], 7);
    assert_eq!(client.get("/v1/campaigns").expect(200)["campaigns"][0]["name"], "shop");

    // Amended from here on; what may not change is named.
    client.json("PATCH", "/v1/campaigns/shop", &json!({"reward": {"max": 1.0}})).expect(200);
    assert_eq!(client.get("/v1/campaigns/shop").expect(200)["rules"]["reward"]["max"], 1.0);
    assert_eq!(client.json("PATCH", "/v1/campaigns/shop", &json!({"seed": 8})).expect(409)["place"], "seed");

    // Closed, taken back.
    client.json("POST", "/v1/campaigns/shop/rounds/close", &json!({"decision": name})).expect(200);
    let late =
        client.json("PUT", &format!("/v1/campaigns/shop/decisions/{name}/rewards"), &json!({"rewards": {&arms[2]: 1}}));
    assert_eq!(late.expect(200)["late"], 1);
    let third = client.json("POST", "/v1/campaigns/shop/decisions", &slate(4, 1)).expect(200);
    let path = format!("/v1/campaigns/shop/decisions/{}", third["decision"].as_str().unwrap());
    client.send("POST", &format!("{path}/revoke"), &[], b"").expect(200);
    assert_eq!(client.get(&path).expect(200)["arms"][0]["fate"], "revoked");

    // Metrics know routes and no arm.
    let metrics = client.get("/metrics");
    assert!(metrics.text().contains("armwise_http_requests_total{"), "{}", metrics.text());
    assert!(!metrics.text().contains("a1\"") && metrics.text().contains("/v1/campaigns/{campaign}/decisions"));
    server.stop();
}

/// What is held stays open, and the same key closes nothing more.
#[test]
fn all_decisions_up_to_one_are_closed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let decide = |more: Value| {
        let mut body = slate(5, 1);
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let decided = client.json("POST", "/v1/campaigns/shop/decisions", &body).expect(200);
        decided["decision"].as_str().unwrap().to_owned()
    };
    let (first, held, last, after) =
        (decide(json!({})), decide(json!({"hold": true})), decide(json!({})), decide(json!({})));
    let close = |body: &Value, status: u16| {
        let keyed = [("Content-Type", "application/json"), ("Idempotency-Key", "close-all")];
        client.send("POST", "/v1/campaigns/shop/rounds/close", &keyed, body.to_string().as_bytes()).expect(status)
    };
    let before = client.get(&format!("/v1/campaigns/shop/decisions/{first}")).expect(200);
    assert_eq!(before["arms"][0]["fate"], "pending");
    let closed = close(&json!({"through": last}), 200);
    assert_eq!(closed["rounds"], 2);
    assert_eq!(close(&json!({"through": last}), 200), closed);
    close(&json!({"through": after}), 422);
    for (decision, fate) in [(&first, "silent"), (&held, "pending"), (&last, "silent"), (&after, "pending")] {
        let told = client.get(&format!("/v1/campaigns/shop/decisions/{decision}")).expect(200);
        assert_eq!(told["arms"][0]["fate"], fate, "{told}");
    }
    for bad in [json!({}), json!({"decision": first, "through": last}), json!({"through": null}), json!({"to": last})] {
        let told = client.json("POST", "/v1/campaigns/shop/rounds/close", &bad);
        assert!((400..500).contains(&told.status), "{bad}: {}", told.status);
    }
}

#[test]
fn a_catalogue_is_kept_changed_and_chosen_from() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let arms: Vec<Value> = (0..20)
        .map(|arm| json!({"id": format!("a{arm}"), "brand": if arm < 10 { "x" } else { "y" }, "features": crate::common::features(arm, 0)}))
        .collect();
    client.json("PUT", "/v1/campaigns/shop/arms", &json!({ "arms": arms })).expect(200);
    let ask = |body: Value| client.json("POST", "/v1/campaigns/shop/decisions", &body);
    assert_eq!(ids(&ask(json!({"k": 5})).expect(200)).len(), 5);
    let of_y = ids(&ask(json!({"k": 3, "filter": {"brand": "y"}})).expect(200));
    assert!(of_y.iter().all(|id| id[1..].parse::<usize>().unwrap() >= 10), "{of_y:?}");
    assert_eq!(ids(&ask(json!({"k": 1, "eligible": ["a3"]})).expect(200)), ["a3"]);
    client.send("DELETE", "/v1/campaigns/shop/arms/a3", &[], b"").expect(200);
    client.send("DELETE", "/v1/campaigns/shop/arms/a3", &[], b"").expect(404);
    ask(json!({"k": 1, "eligible": ["a3"]})).expect(404);
    let new = json!({"arms": [{"id": "new", "brand": "z", "features": [0.5, 0.5, 0.5]}]});
    client.json("PATCH", "/v1/campaigns/shop/arms", &new).expect(200);
    assert_eq!(ids(&ask(json!({"k": 1, "filter": {"brand": "z"}})).expect(200)), ["new"]);
}

#[test]
fn parameters_may_choose_themselves_and_draws_may_be_shared() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    let algorithm =
        json!({"name": "arm-wise-ts", "lambda": "auto", "v": "auto", "scope": {"mixed": 0.5}, "noise": "estimated"});
    let rules = json!({"dim": 3, "seed": 7, "gamma": "auto", "algorithm": algorithm, "probabilities": "never", "keep_candidates": true});
    let made = client.json("PUT", "/v1/campaigns/auto", &rules).expect(201);
    assert_eq!(made["rules"]["algorithm"], algorithm);
    for request in 0..3 {
        let decided = client.json("POST", "/v1/campaigns/auto/decisions", &slate(request, 3)).expect(200);
        let path = format!("/v1/campaigns/auto/decisions/{}/rewards", decided["decision"].as_str().unwrap());
        let rewards: serde_json::Map<String, Value> =
            ids(&decided).into_iter().enumerate().map(|(arm, id)| (id, json!(arm + request))).collect();
        assert_eq!(client.json("PUT", &path, &json!({ "rewards": rewards })).expect(200)["applied"], 3);
    }
    let seq = client.get("/v1/campaigns/auto/log").expect(200)["seq"].to_string();
    let shown = client.send("GET", "/v1/campaigns/auto", &[("Armwise-Seq", &seq)], b"").expect(200);
    assert!(shown["status"]["auto"]["lambda"].as_f64().unwrap() > 0.0, "{shown}");
    // A decision is explained with the parameters that were used: those that the status had named for the next one.
    let decided = client.json("POST", "/v1/campaigns/auto/decisions", &slate(5, 3)).expect(200);
    let (decision, id) = (decided["decision"].as_str().unwrap(), &ids(&decided)[0]);
    let why = client.get(&format!("/v1/campaigns/auto/why?id={id}&decision={decision}")).expect(200);
    assert_eq!(why["auto"], shown["status"]["auto"]);
    client.json("PATCH", "/v1/campaigns/auto", &json!({"algorithm": {"scope": "shared"}})).expect(200);
    client.json("POST", "/v1/campaigns/auto/decisions", &slate(9, 3)).expect(200);
}

#[test]
fn a_held_decision_learns_nothing_before_it_is_activated() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let mut held = slate(1, 2);
    held["hold"] = json!(true);
    let held = client.json("POST", "/v1/campaigns/shop/decisions", &held).expect(200);
    assert_eq!(held["held"], true);
    let path = format!("/v1/campaigns/shop/decisions/{}", held["decision"].as_str().unwrap());
    let rewards = json!({"rewards": {held["arms"][0]["id"].as_str().unwrap(): 1.0}});
    assert_ne!(client.json("PUT", &format!("{path}/rewards"), &rewards).expect(200)["applied"], 1);
    client.send("POST", &format!("{path}/activate"), &[], b"").expect(200);
    assert_eq!(client.json("PUT", &format!("{path}/rewards"), &rewards).expect(200)["applied"], 1);
}

#[test]
fn the_log_can_be_listed_waited_for_and_streamed() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    client.json("POST", "/v1/campaigns/shop/decisions", &slate(1, 2)).expect(200);
    let all = client.get("/v1/campaigns/shop/log").expect(200);
    let kinds: Vec<&str> =
        all["entries"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds[..2], ["init", "choose"]);
    let last = all["seq"].as_u64().unwrap();
    assert_eq!(client.get(&format!("/v1/campaigns/shop/log?after={last}")).expect(200)["entries"], json!([]));
    assert_eq!(client.get("/v1/campaigns/shop/log?limit=1").expect(200)["seq"], 1);
    // An entry that was never written is not named by an answer, or the next request would ask to have seen it.
    let beyond = client.get("/v1/campaigns/shop/log?after=99999");
    assert_eq!(beyond.expect(200), json!({"seq": last, "entries": []}));
    assert_eq!(beyond.header("armwise-seq"), Some(last.to_string().as_str()));
    client.get("/v1/campaigns/shop/log?wait=31").expect(422);
    client.get("/v1/campaigns/shop/log?afetr=1").expect(400);

    // A poll that waits is answered by the next decision; a stream brings it as an event.
    let waiting = {
        let client = client.clone();
        std::thread::spawn(move || client.get(&format!("/v1/campaigns/shop/log?after={last}&wait=20")).expect(200))
    };
    let mut stream = TcpStream::connect(client.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let head = format!(
        "GET /v1/campaigns/shop/log?after={last} HTTP/1.1\r\nHost: {}\r\nAccept: text/event-stream\r\n\r\n",
        client.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut events = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(events.any(|line| line.eq_ignore_ascii_case("content-type: text/event-stream")));
    client.json("POST", "/v1/campaigns/shop/decisions", &slate(2, 2)).expect(200);
    assert_eq!(waiting.join().unwrap()["entries"][0]["kind"], "choose");
    assert!(events.any(|line| line == format!("id: {}", last + 1)));
    // A stop ends the stream, too.
    server.stop();
    assert!(events.count() < 100);
}
