//! Never twice: the same request again, at once, after a restart, is carried out once and answered with the same bytes.

use crate::common::{Client, features, rules, slate, start};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Barrier, thread};

#[test]
fn the_same_key_gives_the_same_bytes_also_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let path = "/v1/campaigns/shop/decisions";
    let first = client.keyed("POST", path, "order-1", &slate(1, 3));
    first.expect(200);
    // Something is learned in between, which the answer must not show.
    let (decision, id) = (&first.json()["decision"], &first.json()["arms"][0]["id"]);
    let rewards = format!("{path}/{}/rewards", decision.as_str().unwrap());
    let rewarded = client.keyed("PUT", &rewards, "reward-1", &json!({"rewards": {id.as_str().unwrap(): 1.0}}));
    assert_eq!(rewarded.expect(200)["applied"], 1);
    let seq = rewarded.header("armwise-seq").unwrap().to_owned();
    client.send("GET", "/v1/campaigns/shop/model", &[("Armwise-Seq", &seq)], b"").expect(200);

    let same = |again: &crate::common::Answer, first: &crate::common::Answer| {
        assert_eq!((again.status, &again.body), (first.status, &first.body));
        assert_eq!(again.header("armwise-seq"), first.header("armwise-seq"));
    };
    same(&client.keyed("POST", path, "order-1", &slate(1, 3)), &first);
    server.stop();
    let (_server, client) = start(folder.path());
    same(&client.keyed("POST", path, "order-1", &slate(1, 3)), &first);
    same(&client.keyed("PUT", &rewards, "reward-1", &json!({"rewards": {id.as_str().unwrap(): 1.0}})), &rewarded);

    // Another body with the key is refused, and so is a key that is none.
    let other = client.keyed("POST", path, "order-1", &slate(2, 3)).expect(422);
    assert_eq!((&other["type"], &other["place"]), (&json!("urn:armwise:key-used"), &json!("Idempotency-Key")));
    assert_eq!(
        client.keyed("PUT", &rewards, "reward-1", &json!({"rewards": {"a1": 0}})).expect(422)["type"],
        "urn:armwise:key-used"
    );
    assert_eq!(client.keyed("POST", path, "two words", &slate(1, 3)).expect(400)["type"], "urn:armwise:bad-key");
    // Decisions without a key, or with another, are decisions of their own.
    let next = client.keyed("POST", path, "order-2", &slate(1, 3)).expect(200);
    assert_ne!(&next["decision"], decision);
}

#[test]
fn the_same_key_at_once_is_one_decision() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let (together, clients) = (Barrier::new(16), 16);
    let answers: Vec<crate::common::Answer> = thread::scope(|scope| {
        let asking: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| {
                    together.wait();
                    client.keyed("POST", "/v1/campaigns/shop/decisions", "one", &slate(1, 3))
                })
            })
            .collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    });
    let good: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert!(!good.is_empty() && good.iter().all(|answer| answer.body == good[0].body));
    for other in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(other.expect(409)["type"], "urn:armwise:in-flight");
    }
    let log = client.get("/v1/campaigns/shop/log").expect(200);
    assert_eq!(log["entries"].as_array().unwrap().iter().filter(|entry| entry["kind"] == "choose").count(), 1);
}

#[test]
fn the_same_reward_a_hundred_times_at_once_is_learned_once() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let decided = client.json("POST", "/v1/campaigns/shop/decisions", &slate(1, 3)).expect(200);
    let path = format!("/v1/campaigns/shop/decisions/{}/rewards", decided["decision"].as_str().unwrap());
    let body = json!({"rewards": {decided["arms"][0]["id"].as_str().unwrap(): 1.0}});
    let together = Barrier::new(100);
    let mut outcomes: BTreeMap<String, u32> = BTreeMap::new();
    thread::scope(|scope| {
        let sending: Vec<_> = (0..100)
            .map(|_| {
                scope.spawn(|| {
                    together.wait();
                    client.json("PUT", &path, &body).expect(200)["arms"][0]["outcome"].as_str().unwrap().to_owned()
                })
            })
            .collect();
        sending.into_iter().for_each(|sent| *outcomes.entry(sent.join().unwrap()).or_default() += 1);
    });
    assert_eq!(outcomes, BTreeMap::from([("applied".to_owned(), 1), ("known".to_owned(), 99)]));
    // The model has seen one observation.
    let seq = client.get("/v1/campaigns/shop/log").expect(200)["seq"].to_string();
    let model = client.send("GET", "/v1/campaigns/shop/model", &[("Armwise-Seq", &seq)], b"").expect(200);
    assert_eq!(count(&model), 1, "{model}");
}

/// The sum of all fields called `count` in a saved learner.
fn count(value: &Value) -> u64 {
    match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| if name == "count" { value.as_u64().unwrap_or(0) } else { count(value) })
            .sum(),
        Value::Array(list) => list.iter().map(count).sum(),
        _ => 0,
    }
}

const JSON: &str = "application/json";

/// A request with a key: method, path, content type, body.
type Sent = (&'static str, String, &'static str, String);

/// Before, a choice was tried before the key was looked up, and told that the arm is not there any more.
#[test]
fn a_decision_is_given_again_when_it_could_not_be_made_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let path = "/v1/campaigns/shop/decisions";
    let arms: Vec<Value> =
        ["a", "b", "c"].iter().enumerate().map(|(n, id)| json!({"id": id, "features": features(n, 0)})).collect();
    client.json("PUT", "/v1/campaigns/shop/arms", &json!({ "arms": arms })).expect(200);
    let asked = [json!({"k": 1, "eligible": ["c"]}), json!({"k": 3})];
    let first: Vec<_> = (0..2).map(|n| client.keyed("POST", path, &format!("v{n}"), &asked[n])).collect();
    first.iter().for_each(|answer| drop(answer.expect(200)));
    client.send("DELETE", "/v1/campaigns/shop/arms/c", &[], b"").expect(200);
    client.json("POST", path, &asked[0]).expect(404);
    client.json("POST", path, &asked[1]).expect(422);
    for (n, first) in first.iter().enumerate() {
        let again = client.keyed("POST", path, &format!("v{n}"), &asked[n]);
        assert_eq!((again.status, again.text()), (200, first.text()));
    }
    // Another request with the key is refused as such, and one that was never answered for what is wrong with it.
    assert_eq!(client.keyed("POST", path, "v0", &asked[1]).expect(422)["type"], "urn:armwise:key-used");
    assert_eq!(client.keyed("POST", path, "new", &asked[0]).expect(404)["value"], "c");
    client.keyed("POST", path, "new", &json!({"k": 2})).expect(200);
}

/// Before, most calls were answered with the journal's last entry, a second closing with no rounds, and a patch was merged
/// into rules that had changed since.
#[test]
fn every_call_with_a_key_repeats_its_bytes_after_other_commands_and_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let base = "/v1/campaigns/shop";
    let mut all: Vec<(Sent, crate::common::Answer)> = Vec::new();
    let send = |client: &Client, number: usize, (method, path, kind, body): &Sent| {
        let headers = [("Content-Type", *kind), ("Idempotency-Key", &*format!("key-{number}"))];
        client.send(method, &format!("{base}{path}"), &headers, body.as_bytes())
    };
    let mut call = |method: &'static str, path: &str, kind: &'static str, body: String| {
        let sent = (method, path.to_owned(), kind, body);
        let answer = send(&client, all.len(), &sent);
        let told = answer.expect(200);
        all.push((sent, answer));
        told
    };
    let arms = |range: std::ops::Range<usize>| {
        let arms: Vec<Value> = range.map(|n| json!({"id": format!("a{n}"), "features": features(n, 0)})).collect();
        json!({ "arms": arms }).to_string()
    };
    call("PUT", "/arms", JSON, arms(0..10));
    call("PATCH", "/arms", JSON, arms(8..20));
    call("DELETE", "/arms/a19", JSON, String::new());
    let mut decide = |hold: bool| {
        let told = call("POST", "/decisions", JSON, json!({"k": 4, "hold": hold}).to_string());
        let ids: Vec<String> =
            told["arms"].as_array().unwrap().iter().map(|arm| arm["id"].as_str().unwrap().to_owned()).collect();
        (told["decision"].as_str().unwrap().to_owned(), ids)
    };
    let ((one, ids), (held, _), (two, others), (three, _)) =
        (decide(false), decide(true), decide(false), decide(false));
    call("PATCH", "", JSON, json!({"reward": {"min": 0, "max": 1}}).to_string());
    call("POST", &format!("/decisions/{held}/activate"), JSON, String::new());
    call("PUT", &format!("/decisions/{one}/rewards"), JSON, json!({"rewards": {&ids[0]: 1.0, "no": 1}}).to_string());
    call("POST", &format!("/decisions/{one}/correct"), JSON, json!({"rewards": {&ids[0]: 0.5}}).to_string());
    call("POST", &format!("/decisions/{one}/undelivered"), JSON, json!({"arms": [ids[1]]}).to_string());
    let many = json!({"rewards": [{"decision": two, "id": others[0], "reward": 1}]}).to_string();
    call("POST", "/rewards", JSON, many);
    let line = json!({"decision": two, "id": others[1], "reward": 1}).to_string();
    call("POST", "/rewards", "application/x-ndjson", line);
    let table = format!("decision,id,reward\n{two},{},1\nr99,nobody,1\n", others[2]);
    call("POST", "/rewards", "text/csv", table);
    call("POST", &format!("/decisions/{three}/revoke"), JSON, String::new());
    call("POST", "/rounds/close", JSON, json!({ "decision": one }).to_string());
    let closed = call("POST", "/rounds/close", JSON, json!({ "through": three }).to_string());
    assert_eq!(closed["rounds"], 2, "{closed}");
    call("PATCH", "", JSON, json!({"reward": {"max": 2}, "ties": "random"}).to_string());

    // Everything that was answered changes once more.
    for (method, path, body) in [
        ("POST", format!("{base}/decisions"), json!({"k": 3})),
        ("POST", format!("{base}/decisions/{one}/correct"), json!({"rewards": {&ids[0]: 0.25, &ids[2]: 1}})),
        ("POST", format!("{base}/decisions/{two}/revoke"), Value::Null),
        ("PATCH", base.to_owned(), json!({"reward": {"min": -1, "max": 3}, "ties": "by-id"})),
        ("PATCH", format!("{base}/arms"), json!({"arms": [{"id": "a1", "features": [0, 0, 0]}]})),
        ("PUT", format!("{base}/arms"), json!({"arms": [{"id": "z", "features": [1, 0, 0]}]})),
    ] {
        client.json(method, &path, &body).expect(200);
    }
    let repeated = |client: &Client| {
        for (number, (sent, first)) in all.iter().enumerate() {
            let again = send(client, number, sent);
            assert_eq!((again.status, again.text()), (200, first.text()), "{sent:?}");
            assert_eq!(again.header("armwise-seq"), first.header("armwise-seq"), "{sent:?}");
        }
    };
    // What is learned in the background has entries too.
    let commands = |client: &Client| {
        let log = client.get(&format!("{base}/log")).expect(200);
        let is_command = |entry: &&Value| entry["kind"] != "fold" && entry["kind"] != "checkpoint";
        log["entries"].as_array().unwrap().iter().filter(is_command).count()
    };
    let done = commands(&client);
    repeated(&client);
    server.stop();
    let (_server, client) = start(folder.path());
    repeated(&client);
    assert_eq!(commands(&client), done, "nothing was done twice");
}
