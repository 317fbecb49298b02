//! `/v1/campaigns`: make one, list them, look at one, amend its rules.

use super::{
    common::{Body, Keyed, Served, answered, blocking, looked, name},
    faults::{ReadFaults, WriteFaults},
    service::json,
};
use crate::{
    access::{Caller, Scope},
    app::App,
    body::{self, Media},
    problem::Fault,
};
use armwise_campaign::{
    Error, Memory,
    config::Config,
    core::status,
    live::{Features, JsonRows, Live},
    recipe::Recipe,
};
use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, StatusCode, request::Parts},
    response::Response,
};
use serde_json::{Map, Value, json as value};
use std::sync::Arc;

/// What the rules are if the body says nothing of them.
const ID: &str = "id";
const SHOW: &str = "show";
const ROUNDS_PER_SEGMENT: u64 = 256;
/// The place of what is wrong with the rules as a whole.
const RULES: &str = "rules";

/// The name in the path, whether there is a campaign or not.
pub(crate) struct Named(crate::Name);

impl FromRequestParts<Arc<App>> for Named {
    type Rejection = Fault;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Self, Fault> {
        name(parts).await.map(Self)
    }
}

/// Makes a campaign, or confirms that it was made like this.
#[utoipa::path(put, path = "/v1/campaigns/{campaign}", operation_id = "makeCampaign", tag = "campaigns",
    security(("token" = ["admin"])),
    params(("campaign" = String, Path, description = "Its name", pattern = "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")),
    request_body(content = ref("#/components/schemas/Rules"), content_type = "application/json"),
    responses((status = 200, description = "It was there already, made like this", body = ref("#/components/schemas/Campaign")),
        (status = 201, description = "It is made", body = ref("#/components/schemas/Campaign")), WriteFaults))]
pub(crate) async fn make(
    State(app): State<Arc<App>>,
    Named(name): Named,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Fault> {
    Media::json(&headers)?;
    let (config, origin) = read_rules(&body)?;
    let (live, made) = blocking(move || {
        let rows;
        let features = match origin {
            Origin::Dim(dim) => Features::Dim(dim),
            Origin::Recipe(recipe) => Features::Recipe(*recipe),
            Origin::Rows(own) => {
                rows = own;
                Features::Rows(&rows)
            }
        };
        app.campaigns.make(&name, config, features).map(|(live, made)| ((name, live), made))
    })
    .await?;
    let (name, live) = live;
    let status = if made { StatusCode::CREATED } else { StatusCode::OK };
    Ok(answered(status, live.seq(), &shown(name.as_str(), &live)))
}

/// Where features come from.
pub(super) enum Origin {
    Dim(usize),
    Recipe(Box<Recipe>),
    Rows(Memory),
}

/// The rules and the origin of the features in a body.
pub(super) fn read_rules(body: &[u8]) -> Result<(Config, Origin), Fault> {
    let mut rules = body::json::<Map<String, Value>>(body)?;
    let (dim, recipe, rows) = (rules.remove("dim"), rules.remove("recipe"), rules.remove("rows"));
    rules.entry("customer").or_insert_with(|| ID.into());
    rules.entry("rounds_per_segment").or_insert_with(|| ROUNDS_PER_SEGMENT.into());
    rules.entry("promotion").or_insert_with(|| value!([{"name": SHOW}]));
    let config = body::value::<Config>(Value::Object(rules))?;
    let origin = match (dim, recipe, rows) {
        (Some(dim), None, None) => Origin::Dim(body::value::<usize>(dim).map_err(|fault| fault.at("dim"))?),
        (None, Some(recipe), None) => {
            Origin::Recipe(Box::new(body::value(recipe).map_err(|fault| fault.at("recipe"))?))
        }
        (None, None, Some(rows)) => {
            let JsonRows(batch) = body::value(rows).map_err(|fault| fault.at("rows"))?;
            Origin::Rows(Memory::new("rows", vec![batch])?)
        }
        _ => {
            return Err(Fault::invalid("one of dim, recipe and rows says where the features come from")
                .help("give dim, a number, if every arm brings its features"));
        }
    };
    Ok((config, origin))
}

/// A campaign as the list and its own route show it.
pub(crate) fn shown(name: &str, live: &Live) -> Value {
    let setup = live.setup();
    value!({
        "name": name,
        "seq": live.seq(),
        "tag": setup.tag,
        "features": setup.recipe.dim(),
        "rules": setup.config,
        "load": live.load(),
    })
}

/// All campaigns that the token may read.
#[utoipa::path(get, path = "/v1/campaigns", operation_id = "listCampaigns", tag = "campaigns",
    security(("token" = ["read"])),
    responses((status = 200, description = "The campaigns", body = ref("#/components/schemas/Campaigns")), ReadFaults))]
pub(crate) async fn list(State(app): State<Arc<App>>, caller: Caller) -> Result<Response, Fault> {
    let listed: Vec<Value> = app
        .campaigns
        .names()
        .iter()
        .filter(|name| caller.may(Scope::Read, Some(name.as_str())))
        .map(|name| match app.campaigns.open(name) {
            Some(live) => value!({"name": name.as_str(), "open": true, "load": live.load()}),
            None => value!({"name": name.as_str(), "open": false}),
        })
        .collect();
    Ok(json(&value!({ "campaigns": listed })))
}

/// Where a campaign stands.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}", operation_id = "campaign", tag = "campaigns",
    security(("token" = ["read"])),
    params(("campaign" = String, Path, description = "Its name")),
    responses((status = 200, description = "Its rules and where it stands", body = ref("#/components/schemas/Campaign")), ReadFaults))]
pub(crate) async fn look(Named(name): Named, Served(live): Served) -> Result<Response, Fault> {
    let mut shown = shown(name.as_str(), &live);
    looked(live, move |campaign| {
        shown["status"] = serde_json::to_value(status(campaign)?).unwrap_or_default();
        shown["seq"] = campaign.head().seq.into();
        Ok(shown)
    })
    .await
}

/// Changes the rules from the next decision on.
#[utoipa::path(patch, path = "/v1/campaigns/{campaign}", operation_id = "amendCampaign", tag = "campaigns",
    security(("token" = ["admin"])),
    params(("campaign" = String, Path, description = "Its name"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    request_body(content = ref("#/components/schemas/Amendment"), content_type = "application/json"),
    responses((status = 200, description = "What has changed", body = ref("#/components/schemas/Done")), WriteFaults))]
pub(crate) async fn amend(
    Served(live): Served,
    Keyed(key): Keyed,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Fault> {
    Media::json(&headers)?;
    let patch = Value::Object(body::json::<Map<String, Value>>(&body)?);
    let done = blocking(move || Ok(live.amend_with(move |before| patched(before, patch.clone()), key)?)).await?;
    Ok(answered(StatusCode::OK, done.seq, &done))
}

/// The rules that a patch makes of these.
fn patched(before: &Config, patch: Value) -> Result<Config, Error> {
    let bad = |place: String, problem: String| Error::Config { place, problem, cause: None };
    let mut rules = serde_json::to_value(before).map_err(|error| bad(RULES.to_owned(), error.to_string()))?;
    merge(&mut rules, patch);
    serde_path_to_error::deserialize(rules).map_err(|error| {
        let place = error.path().to_string();
        let place = if place == "." { RULES.to_owned() } else { place };
        bad(place, error.into_inner().to_string())
    })
}

/// A merge patch, as RFC 7396 has it.
fn merge(into: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *into = patch;
        return;
    };
    if !into.is_object() {
        *into = Value::Object(Map::new());
    }
    let Some(fields) = into.as_object_mut() else { return };
    for (name, value) in patch {
        if value.is_null() {
            fields.remove(&name);
        } else {
            merge(fields.entry(name).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_merge_as_the_rfc_says() {
        // The table of RFC 7396, appendix A, as far as rules can look like it.
        for (before, patch, after) in [
            (value!({"a": "b"}), value!({"a": "c"}), value!({"a": "c"})),
            (value!({"a": "b"}), value!({"b": "c"}), value!({"a": "b", "b": "c"})),
            (value!({"a": "b", "b": "c"}), value!({"a": null}), value!({"b": "c"})),
            (value!({"a": ["b"]}), value!({"a": "c"}), value!({"a": "c"})),
            (value!({"a": {"b": "c"}}), value!({"a": {"b": "d", "c": null}}), value!({"a": {"b": "d"}})),
            (value!({"a": [{"b": "c"}]}), value!({"a": [1]}), value!({"a": [1]})),
            (value!({"e": null}), value!({"a": 1}), value!({"e": null, "a": 1})),
            (value!([1, 2]), value!({"a": "b", "c": null}), value!({"a": "b"})),
            (value!({}), value!({"a": {"bb": {"ccc": null}}}), value!({"a": {"bb": {}}})),
        ] {
            let mut merged = before.clone();
            merge(&mut merged, patch.clone());
            assert_eq!(merged, after, "{before} {patch}");
        }
    }
}
