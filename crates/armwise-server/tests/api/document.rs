//! The OpenAPI document is what is served: nothing more, nothing less.

use crate::{common::start, errors::variants};
use armwise::Algorithm;
use armwise_campaign::config::SECTIONS;
use armwise_server::document;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

const METHODS: [&str; 7] = ["get", "put", "post", "patch", "delete", "options", "trace"];

/// A path with something in its places.
fn filled(path: &str) -> String {
    path.replace("{campaign}", "nobody").replace("{decision}", "r1").replace("{id}", "a").replace("{name}", "nobody")
}

#[test]
fn every_route_of_the_document_is_served_with_its_methods_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, client) = start(folder.path());
    let document = client.get("/openapi.json").expect(200);
    assert_eq!(document, armwise_server::document());
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() >= 20, "{}", paths.len());
    for (path, operations) in paths {
        for method in METHODS {
            let answer = client.send(&method.to_uppercase(), &filled(path), &[], b"");
            let told = answer.text();
            if operations.get(method).is_some() {
                let documented = operations[method]["responses"].get(answer.status.to_string()).is_some();
                assert!(
                    documented && !told.contains("there is no such route"),
                    "{method} {path}: {} {told}",
                    answer.status
                );
            } else {
                assert_eq!(answer.status, 405, "{method} {path}: {told}");
                assert!(answer.header("allow").is_some(), "{method} {path}");
            }
        }
    }
    client.get("/v1/nothing").expect(404);
}

#[test]
fn every_operation_says_who_may_and_has_a_name_of_its_own() {
    let document = document();
    let mut names = std::collections::BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            assert!(operation["security"].is_array(), "{method} {path}");
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
            if path.starts_with("/v1") {
                assert!(operation["security"][0]["token"].is_array(), "{method} {path} needs a token");
            }
        }
    }
}

/// All references in a document.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| match value.as_str() {
            Some(text) if name == "$ref" => found.push(text),
            _ => references(value, found),
        }),
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 50);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

/// The names of an object's fields.
fn names(value: &Value) -> BTreeSet<String> {
    value.as_object().unwrap().keys().cloned().collect()
}

fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// Before, the document forbade keys that are taken.
#[test]
fn the_rules_of_the_document_are_the_keys_of_a_campaign() {
    let document = document();
    let schema = |name: &str| names(&document["components"]["schemas"][name]["properties"]);
    let keys = |section: &str| {
        let section = SECTIONS.iter().find(|own| own.name == section).unwrap();
        of(section.keys.iter().map(|key| key.name))
    };
    let features = of(["dim", "rows", "recipe"]);
    assert_eq!(schema("Rules"), keys("").union(&features).cloned().collect());
    assert_eq!(schema("Promotion"), keys("promotion"));
    // What earlier rounds depend on stays.
    let frozen = of(["customer", "seed", "gamma", "features", "rounds_per_segment"]);
    assert_eq!(schema("Amendment"), keys("").difference(&frozen).cloned().collect());
}

#[test]
fn the_algorithms_of_the_document_are_those_of_the_library() {
    let document = document();
    let shown = document["components"]["schemas"]["Algorithm"]["oneOf"].as_array().unwrap();
    let shown: BTreeMap<&str, BTreeSet<String>> = shown
        .iter()
        .map(|one| (one["properties"]["name"]["const"].as_str().unwrap(), names(&one["properties"])))
        .collect();
    let own: BTreeMap<&str, BTreeSet<String>> = Algorithm::ALL
        .iter()
        .filter(|one| !one.in_turn)
        .map(|one| (one.name, of(one.names().chain(["name"]))))
        .collect();
    assert_eq!(shown, own);
}

#[test]
fn the_words_of_answers_are_those_of_the_library() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let words = |value: &Value| of(value["enum"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()));
    let read = |file: &str, name: &str| -> BTreeSet<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../armwise-campaign/src/core").join(file);
        let variants = variants(&std::fs::read_to_string(path).unwrap(), name);
        variants.into_iter().map(|word| word.to_lowercase()).collect()
    };
    let arm = |schema: &str| &schemas[schema]["properties"]["arms"]["items"]["properties"];
    let outcomes = read("tell.rs", "LineOutcome");
    assert_eq!(words(&arm("Rewarded")["outcome"]), outcomes);
    assert!(outcomes.is_subset(&names(&schemas["Rewarded"]["properties"])));
    assert_eq!(words(&arm("Decision")["fate"]), read("fate.rs", "Fate"));
}

#[test]
fn every_route_of_a_campaign_names_its_entry() {
    let document = document();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let asked = operation["parameters"].as_array().into_iter().flatten();
            let asked = asked.filter(|own| own["name"] == "Armwise-Seq").count();
            let in_a_campaign = path.contains("{campaign}");
            let made = operation["operationId"] == "makeCampaign";
            assert_eq!(asked, usize::from(in_a_campaign && !made), "{method} {path}");
            let good = operation["responses"].as_object().unwrap().iter().filter(|(status, _)| status.starts_with('2'));
            for (status, response) in good {
                assert_eq!(
                    response["headers"]["Armwise-Seq"].is_object(),
                    in_a_campaign,
                    "{method} {path} answers {status}"
                );
            }
        }
    }
}
