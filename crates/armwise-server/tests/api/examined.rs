//! Rewards of arms that were looked at with a known probability, and warnings beside a decision.

use crate::common::{Answer, Client, rules, slate, start};
use armwise_campaign::{Campaign, core::fold, store::sqlite::verify};
use serde_json::{Value, json};

const DECISIONS: &str = "/v1/campaigns/shop/decisions";

fn decided(client: &Client) -> (String, Vec<String>) {
    let told = client.json("POST", DECISIONS, &slate(1, 3)).expect(200);
    let ids = told["arms"].as_array().unwrap().iter().map(|arm| arm["id"].as_str().unwrap().to_owned());
    (told["decision"].as_str().unwrap().to_owned(), ids.collect())
}

#[test]
fn a_reward_says_how_probable_it_was_that_its_arm_was_looked_at_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let many = "/v1/campaigns/shop/rewards";
    let mut known: Vec<(String, Value)> = Vec::new();
    for form in 0..4 {
        let (decision, ids) = decided(&client);
        let lines: Vec<Value> = ids
            .iter()
            .zip([json!(0.5), json!(1.0), Value::Null])
            .map(|(id, examined)| json!({"decision": decision, "id": id, "reward": 1.0, "examined": examined}))
            .collect();
        let send = |media: &str, body: String| client.send("POST", many, &[("Content-Type", media)], body.as_bytes());
        let text = |line: &Value| line.to_string() + "\n";
        match form {
            0 => {
                let mut own = lines.clone();
                own.iter_mut().for_each(|line| drop(line.as_object_mut().unwrap().remove("decision")));
                let path = format!("{DECISIONS}/{decision}/rewards");
                assert_eq!(client.json("PUT", &path, &json!({ "rewards": own })).expect(200)["applied"], 3);
            }
            1 => assert_eq!(client.json("POST", many, &json!({ "rewards": lines })).expect(200)["applied"], 3),
            2 => {
                let body: String = lines.iter().map(text).collect();
                assert_eq!(send("application/x-ndjson", body).expect(200)["applied"], 3);
            }
            _ => {
                // A table names the arms' own decisions.
                let look = client.get(&format!("{DECISIONS}/{decision}")).expect(200);
                let (round, tag) = decision.split_once('-').unwrap();
                let number = |id: &String| {
                    1 + look["arms"].as_array().unwrap().iter().position(|arm| arm["id"] == id.as_str()).unwrap()
                };
                let rows = ids
                    .iter()
                    .zip(["0.5", "1.0", ""])
                    .map(|(id, examined)| format!("{round}-{}-{tag},1,{examined}\n", number(id)));
                let body = format!("decision,reward,examined\n{}", rows.collect::<String>());
                assert_eq!(send("text/csv", body).expect(200)["learned"]["applied"], 3);
            }
        }
        let look = client.get(&format!("{DECISIONS}/{decision}")).expect(200);
        let shown = |id: &String| {
            let arms = look["arms"].as_array().unwrap();
            let arm = arms.iter().find(|arm| arm["id"] == id.as_str()).unwrap();
            (arm["reward"].clone(), arm["examined"].clone())
        };
        assert_eq!(shown(&ids[0]), (json!(1.0), json!(0.5)), "form {form}");
        assert_eq!(shown(&ids[1]), (json!(1.0), Value::Null), "form {form}: looked at for certain");
        assert_eq!(shown(&ids[2]), (json!(1.0), Value::Null), "form {form}");
        known.push((decision, json!(ids[0])));
    }
    server.stop();
    // Each form is learned alike: q x x' q of the first arm, x x' of the others.
    let path = folder.path().join("shop.armwise");
    let mut campaign = Campaign::write(&path, "test").unwrap();
    fold(&mut campaign).unwrap();
    let mut expected = 0.0;
    for round in 1..=4_u64 {
        for sent in campaign.sent(round).unwrap() {
            let q = if known[round as usize - 1].1 == sent.customer.as_str() { 0.5 } else { 1.0 };
            expected += (q * sent.features[0]) * (q * sent.features[0]);
        }
    }
    let found = campaign.model().unwrap().blocks()[0].g()[0];
    assert!(expected > 0.0 && (found - expected).abs() < 1e-12, "{found} and {expected}");
    assert!(verify(&path).unwrap().good);
}

#[test]
fn what_is_no_probability_is_invalid_and_another_one_is_a_conflict_until_it_is_corrected() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let (decision, ids) = decided(&client);
    let path = |what: &str| format!("{DECISIONS}/{decision}/{what}");
    let body = |examined: Value| json!({"rewards": [{"id": ids[0], "reward": 1.0, "examined": examined}]});
    for bad in [json!(0), json!(1.5), json!(-0.5)] {
        let told = client.json("PUT", &path("rewards"), &body(bad.clone())).expect(200);
        assert_eq!(told["invalid"], 1, "{told}");
        let reason = told["arms"][0]["reason"].as_str().unwrap();
        assert!(reason.contains("not a number above 0 and at most 1"), "{bad}: {reason}");
    }
    assert_eq!(client.json("PUT", &path("rewards"), &body(json!("half"))).expect(422)["type"], "urn:armwise:invalid");
    let first = client.keyed("PUT", &path("rewards"), "first", &body(json!(0.5)));
    assert_eq!(first.expect(200)["applied"], 1);
    assert_eq!(client.json("PUT", &path("rewards"), &body(json!(0.25))).expect(200)["conflict"], 1);
    assert_eq!(client.json("POST", &path("correct"), &body(json!(0.25))).expect(200)["applied"], 1);
    let same = |a: &Answer, b: &Answer| assert_eq!((a.status, &a.body), (b.status, &b.body));
    same(&client.keyed("PUT", &path("rewards"), "first", &body(json!(0.5))), &first);
    let other = client.keyed("PUT", &path("rewards"), "first", &body(json!(0.25))).expect(422);
    assert_eq!(other["type"], "urn:armwise:key-used");
    let look = client.get(&format!("{DECISIONS}/{decision}")).expect(200);
    let arms = look["arms"].as_array().unwrap();
    assert_eq!(arms.iter().find(|arm| arm["id"] == ids[0].as_str()).unwrap()["examined"], 0.25);
}

/// Before, only Python and `simulate` warned.
#[test]
fn draws_that_cancel_out_are_warned_of_with_the_same_bytes_for_the_same_key() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let scope = json!({"dim": 3, "seed": 7, "algorithm": {"name": "arm-wise-ts", "scope": "shared"}});
    client.json("PUT", "/v1/campaigns/shared", &scope).expect(201);
    let mut asked = slate(1, 1);
    let own = asked.as_object_mut().unwrap();
    own.remove("k");
    let sets = json!([["a1", "a2"], ["a3", "a4"]]);
    own.insert("constraint".to_owned(), json!({"kind": "explicit", "super_arms": sets}));
    let first = client.keyed("POST", DECISIONS, "sets", &asked);
    assert_eq!(first.expect(200)["warnings"], json!([{"warning": "no-substitutes"}]));
    assert!(client.json("POST", DECISIONS, &slate(1, 3)).expect(200).get("warnings").is_none());
    let shared = client.keyed("POST", "/v1/campaigns/shared/decisions", "sets", &asked);
    assert!(shared.expect(200).get("warnings").is_none());
    // The rules of then are what counts.
    let amended = client.json("PATCH", "/v1/campaigns/shop", &json!({"algorithm": {"scope": "shared"}}));
    assert_eq!(amended.status, 200, "{}", amended.text());
    server.stop();
    let (_server, client) = start(folder.path());
    let again = client.keyed("POST", DECISIONS, "sets", &asked);
    assert_eq!((again.status, &again.body), (first.status, &first.body));
    assert!(client.keyed("POST", DECISIONS, "later", &asked).expect(200).get("warnings").is_none());
}
