//! The OpenAPI document: the descriptions of the routes, the bodies of `schemas.json`, and what is the same everywhere.
//!
//! What the library knows by a list, its algorithms, is made from that list. The other bodies belong to types of the
//! library, which knows nothing of documents; tests compare them with its keys and words.

use crate::app::described;
use armwise::{Algorithm, Kind, Parameter, Range};
use serde_json::{Map, Value, json};

/// The header with an entry.
const SEQ: &str = "Armwise-Seq";
/// The route whose campaign need not be there yet, so that no entry can have been seen.
const MAKES: &str = "makeCampaign";

/// The OpenAPI document of the API.
///
/// # Panics
/// Never: the schemas are compiled in, and tests read them.
#[must_use]
pub fn document() -> Value {
    let mut document = serde_json::to_value(described().into_openapi()).expect("a document is JSON");
    let mut schemas: Map<String, Value> = serde_json::from_str(include_str!("schemas.json")).expect("schemas are JSON");
    schemas.insert("Algorithm".to_owned(), algorithms());
    let own = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut);
    own.expect("problems have a schema").extend(schemas);
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for (path, operations) in paths.into_iter().flatten() {
        for (_, operation) in operations.as_object_mut().into_iter().flatten() {
            if path.contains("{campaign}") {
                name_entries(operation);
            }
            said_once(operation);
        }
    }
    document
}

/// Every answer about a campaign names its entry, and a request may name one that must have been seen.
fn name_entries(operation: &mut Value) {
    if operation["operationId"] != MAKES
        && let Some(parameters) = operation.get_mut("parameters").and_then(Value::as_array_mut)
    {
        parameters.push(json!({
            "name": SEQ, "in": "header", "required": false, "schema": {"type": "integer", "format": "int64", "minimum": 0},
            "description": "An entry that the answer must have seen; what was told by then counts in a decision",
        }));
    }
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut);
    for (_, response) in responses.into_iter().flatten().filter(|(status, _)| status.starts_with('2')) {
        let description = "The entry that holds what was done, or the last one that was read";
        response["headers"][SEQ] =
            json!({"description": description, "schema": {"type": "integer", "format": "int64", "minimum": 0}});
    }
}

/// What the generator of the document writes in another way than clients read it.
fn said_once(operation: &mut Value) {
    if let Some(body) = operation.get_mut("requestBody").and_then(Value::as_object_mut) {
        body.insert("required".to_owned(), true.into());
    }
    // A parameter may be left out, but there is no way to write that it is nothing.
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for types in parameters.into_iter().flatten().filter_map(|own| own.pointer_mut("/schema/type")) {
        if let Some(one) = types.as_array().and_then(|all| all.iter().find(|one| *one != "null")).cloned() {
            *types = one;
        }
    }
}

/// The algorithms that a campaign can have, each with its parameters.
fn algorithms() -> Value {
    // Those that take one arm after another are not for campaigns.
    let all = Algorithm::ALL.iter().filter(|algorithm| !algorithm.in_turn).map(|algorithm| {
        let mut properties = Map::from_iter([("name".to_owned(), json!({"const": algorithm.name}))]);
        for own in algorithm.parameters {
            properties.insert(own.name.to_owned(), parameter(own));
        }
        for own in algorithm.switches {
            let switch = json!({"type": ["string", "object"], "default": own.default, "description": own.about});
            properties.insert(own.name.to_owned(), switch);
        }
        json!({"type": "object", "description": algorithm.about, "required": ["name"], "properties": properties,
            "additionalProperties": false})
    });
    json!({"description": "The algorithm and its parameters.", "oneOf": all.collect::<Vec<_>>()})
}

fn parameter(own: &Parameter) -> Value {
    let number = match own.range {
        Range::Positive => json!({"type": "number", "exclusiveMinimum": 0}),
        Range::NonNegative => json!({"type": "number", "minimum": 0}),
    };
    let auto = json!({"const": "auto", "description": "Chosen by what the rewards show"});
    let kinds = match own.kind {
        Kind::Number => vec![number],
        Kind::Lambda => vec![number, auto],
        Kind::Schedule { .. } => {
            vec![number, auto, json!({"type": "object", "description": "What the theory needs to know"})]
        }
    };
    json!({"anyOf": kinds, "default": own.default, "description": own.symbol})
}
