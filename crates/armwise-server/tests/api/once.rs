//! Never twice: the same request again, at once, after a restart, is carried out once and answered with the same bytes.

use crate::common::{features, rules, slate, start};
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
