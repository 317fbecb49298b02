//! One core: the same decisions and rewards through the library and over HTTP give the same bits and the same model.

use crate::common::{rules, slate, start};
use armwise_campaign::{
    Campaign,
    config::Config,
    core::{Feedback, Line, model_hash},
    live::{DecideRequest, Features, JsonRows, Live, LiveOptions, RewardsRequest},
    store::sqlite::verify,
};
use serde_json::{Value, json};
use std::time::Duration;

/// The reward of an arm in a request, as both doors are told it.
fn reward(request: usize, id: &str) -> f64 {
    ((request * 31 + id.len() * 17 + id.bytes().map(usize::from).sum::<usize>()) % 5) as f64 / 4.0
}

#[test]
fn http_and_the_library_decide_and_learn_alike() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let config: Config = serde_json::from_value(
        json!({"customer": "id", "seed": 7, "rounds_per_segment": 256, "promotion": [{"name": "show"}]}),
    )
    .unwrap();
    let path = folder.path().join("twin-of-shop.armwise");
    let twin = Live::begin(&path, config, Features::Dim(3), LiveOptions::default()).unwrap();
    for request in 0..40 {
        let body = slate(request, 1 + request % 4);
        let over_http = client.json("POST", "/v1/campaigns/shop/decisions", &body).expect(200);
        let JsonRows(rows) = serde_json::from_value(body["arms"].clone()).unwrap();
        let decided = twin.decide(DecideRequest::k_of(rows, 1 + request % 4)).unwrap();
        assert_eq!(over_http["arms"], serde_json::to_value(&decided.arms).unwrap(), "request {request}");
        let lines: Vec<Line> = decided
            .arms
            .iter()
            .map(|arm| Line { id: Some(arm.id.clone()), reward: Some(reward(request, &arm.id)), ..Line::default() })
            .collect();
        let rewards: serde_json::Map<String, Value> =
            decided.arms.iter().map(|arm| (arm.id.clone(), json!(reward(request, &arm.id)))).collect();
        let told = client.json(
            "PUT",
            &format!("/v1/campaigns/shop/decisions/{}/rewards", over_http["decision"].as_str().unwrap()),
            &json!({ "rewards": rewards }),
        );
        told.expect(200);
        let asked = RewardsRequest { key: None, decision: Some(decided.decision), lines, feedback: Feedback::Rewards };
        let own = twin.rewards(asked).unwrap();
        // Both know what was told before the next decision is asked for.
        twin.wait_for(own.seq, Duration::from_mins(1)).unwrap();
        let seq = told.header("armwise-seq").unwrap();
        client.send("GET", "/v1/campaigns/shop/model", &[("Armwise-Seq", seq)], b"").expect(200);
    }
    server.stop();
    twin.stop();
    let hash = |name: &str| {
        let campaign = Campaign::read(&folder.path().join(name)).unwrap();
        let model = campaign.model().unwrap();
        assert!(model.blocks().iter().any(|block| block.count() > 50));
        model_hash(&model)
    };
    assert_eq!(hash("shop.armwise"), hash("twin-of-shop.armwise"));
    assert!(verify(&folder.path().join("shop.armwise")).unwrap().good);
}
