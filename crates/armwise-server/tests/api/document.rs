//! The OpenAPI document is what is served: nothing more, nothing less.

use crate::common::start;
use armwise_server::document;
use serde_json::Value;

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
