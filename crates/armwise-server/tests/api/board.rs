//! The Grafana board that the documentation offers asks for what the server tells, by the names it has there.

use crate::common::{rules, slate, start};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::Path};

/// Every query of a board, wherever it stands.
fn queries(board: &Value, found: &mut Vec<String>) {
    match board {
        Value::Object(fields) => {
            found.extend(fields.get("expr").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|value| queries(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| queries(value, found)),
        _ => {}
    }
}

/// The words of a text that begin as our metrics do.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("armwise_")).map(str::to_owned).collect()
}

#[test]
fn every_metric_that_the_board_asks_for_is_told() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/assets/armwise-grafana.json");
    let board: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut asked = Vec::new();
    queries(&board, &mut asked);
    assert!(asked.len() >= 6, "{asked:?}");
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    client.json("PUT", "/v1/campaigns/shop", &rules()).expect(201);
    let decided = client.json("POST", "/v1/campaigns/shop/decisions", &slate(1, 1)).expect(200);
    let decision = decided["decision"].as_str().unwrap();
    let rewards = json!({"rewards": {decided["arms"][0]["id"].as_str().unwrap(): 1.0}});
    client.json("PUT", &format!("/v1/campaigns/shop/decisions/{decision}/rewards"), &rewards).expect(200);
    client.get("/v1/campaigns/nobody").expect(404);
    let told = client.get("/metrics").text();
    let lines = told.lines().filter(|line| !line.starts_with('#'));
    let told: BTreeSet<String> = lines.flat_map(|line| names(line.split(['{', ' ']).next().unwrap_or(""))).collect();
    for query in &asked {
        let wanted = names(query);
        assert!(!wanted.is_empty(), "{query} asks for nothing of ours");
        assert!(wanted.is_subset(&told), "{query} asks for what is not told: {told:?}");
    }
}
