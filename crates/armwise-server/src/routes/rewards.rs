//! Rewards: of one decision, of many, corrections, what did not arrive; and the end of windows.

use super::{
    common::{Body, Keyed, Places, Served, answered, blocking, replied},
    decisions::Id,
    faults::WriteFaults,
};
use crate::{
    body::{self, Media},
    problem::Fault,
};
use armwise_campaign::{
    Memory,
    core::{Feedback, Key, LearnOptions, Line},
    live::{Live, RewardsRequest},
};
use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;

/// Rewards of one decision: by id, or as a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfOne {
    rewards: Written,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "rewards are an object from id to reward, or a list of objects with id and reward")]
enum Written {
    ById(BTreeMap<String, f64>),
    List(Vec<Own>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    id: Id,
    promotion: Option<String>,
    reward: f64,
    examined: Option<f64>,
}

impl Own {
    fn line(self) -> Line {
        let Self { id, promotion, reward, examined } = self;
        Line { decision: None, id: Some(id.0), promotion, reward: Some(reward), examined }
    }
}

/// Rewards of many decisions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfMany {
    rewards: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    decision: String,
    id: Option<Id>,
    promotion: Option<String>,
    reward: f64,
    examined: Option<f64>,
}

impl Named {
    fn line(self) -> Line {
        let Self { decision, id, promotion, reward, examined } = self;
        Line { decision: Some(decision), id: id.map(|id| id.0), promotion, reward: Some(reward), examined }
    }
}

fn of_one(headers: &HeaderMap, body: &[u8]) -> Result<Vec<Line>, Fault> {
    Media::json(headers)?;
    let line = |(id, reward)| Line { id: Some(id), reward: Some(reward), ..Line::default() };
    let lines: Vec<Line> = match body::json::<OfOne>(body)?.rewards {
        Written::ById(rewards) => rewards.into_iter().map(line).collect(),
        Written::List(list) => list.into_iter().map(Own::line).collect(),
    };
    some(lines)
}

/// All kinds of rewards in a body, for the fuzzer.
pub(super) fn read(headers: &HeaderMap, body: &[u8]) -> Result<Vec<Line>, Fault> {
    let one = of_one(headers, body);
    let many = if Media::of(headers)? == Media::JsonLines { of_lines(body) } else { of_many(body) };
    one.or(many)
}

fn of_many(body: &[u8]) -> Result<Vec<Line>, Fault> {
    let OfMany { rewards } = body::json(body)?;
    some(rewards.into_iter().map(Named::line).collect())
}

fn of_lines(body: &[u8]) -> Result<Vec<Line>, Fault> {
    let mut lines = Vec::new();
    for (number, line) in body.split(|byte| *byte == b'\n').enumerate() {
        if !line.iter().all(u8::is_ascii_whitespace) {
            let named: Named = body::json(line).map_err(|fault| fault.at(format!("line {}", number + 1)))?;
            lines.push(named.line());
        }
    }
    some(lines)
}

/// Refuses an empty list, which says nothing.
fn some(lines: Vec<Line>) -> Result<Vec<Line>, Fault> {
    if lines.is_empty() { Err(Fault::invalid("there is nothing in it").at("rewards")) } else { Ok(lines) }
}

async fn told(
    live: &Live,
    key: Option<Key>,
    decision: Option<String>,
    lines: Vec<Line>,
    feedback: Feedback,
) -> Result<Response, Fault> {
    if let Some(decision) = &decision {
        // A decision that was never made is the path's fault, not a line's.
        live.round_of(decision)?;
    }
    let request = RewardsRequest { key, decision, lines, feedback };
    let done = replied(|reply| live.rewards_then(request, reply)).await?;
    Ok(answered(StatusCode::OK, done.seq, &done))
}

/// Gives rewards of a decision: any of its arms, late, in any order, again; each is counted once.
#[utoipa::path(put, path = "/v1/campaigns/{campaign}/decisions/{decision}/rewards", operation_id = "reward", tag = "rewards",
    security(("token" = ["reward"])),
    params(("campaign" = String, Path, description = "The campaign"), ("decision" = String, Path, description = "The decision"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    request_body(content = ref("#/components/schemas/RewardsRequest"), content_type = "application/json"),
    responses((status = 200, description = "What was done with each", body = ref("#/components/schemas/Rewarded")), WriteFaults))]
pub(crate) async fn reward(
    Served(live): Served,
    Places((_, decision)): Places<(String, String)>,
    Keyed(key): Keyed,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Fault> {
    let lines = of_one(&headers, &body)?;
    told(&live, key, Some(decision), lines, Feedback::Rewards).await
}

/// Changes rewards of a decision that were given before.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/decisions/{decision}/correct", operation_id = "correct", tag = "rewards",
    security(("token" = ["reward"])),
    params(("campaign" = String, Path, description = "The campaign"), ("decision" = String, Path, description = "The decision"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    request_body(content = ref("#/components/schemas/RewardsRequest"), content_type = "application/json"),
    responses((status = 200, description = "What was done with each", body = ref("#/components/schemas/Rewarded")), WriteFaults))]
pub(crate) async fn correct(
    Served(live): Served,
    Places((_, decision)): Places<(String, String)>,
    Keyed(key): Keyed,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Fault> {
    let lines = of_one(&headers, &body)?;
    told(&live, key, Some(decision), lines, Feedback::Corrections).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NotArrived {
    arms: Vec<Id>,
}

/// Says which arms of a decision did not arrive: they are never learned as silence.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/decisions/{decision}/undelivered", operation_id = "undelivered", tag = "rewards",
    security(("token" = ["reward"])),
    params(("campaign" = String, Path, description = "The campaign"), ("decision" = String, Path, description = "The decision"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    request_body(content = ref("#/components/schemas/Undelivered"), content_type = "application/json"),
    responses((status = 200, description = "What was done with each", body = ref("#/components/schemas/Rewarded")), WriteFaults))]
pub(crate) async fn undelivered(
    Served(live): Served,
    Places((_, decision)): Places<(String, String)>,
    Keyed(key): Keyed,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Fault> {
    Media::json(&headers)?;
    let NotArrived { arms } = body::json(&body)?;
    let lines = arms.into_iter().map(|id| Line { id: Some(id.0), ..Line::default() }).collect();
    told(&live, key, Some(decision), some(lines)?, Feedback::Undelivered).await
}

/// Gives rewards of many decisions at once: JSON, JSON lines, or a table with the columns `decision`, `id`, `reward` and, if need be, `examined`.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/rewards", operation_id = "rewardMany", tag = "rewards",
    security(("token" = ["reward"])),
    params(("campaign" = String, Path, description = "The campaign"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    request_body(content((ref("#/components/schemas/ManyRewards") = "application/json"), ("application/x-ndjson"), ("text/csv"),
        ("application/vnd.apache.arrow.stream"), ("application/vnd.apache.parquet"))),
    responses((status = 200, description = "What was done", body = ref("#/components/schemas/Object")), WriteFaults))]
pub(crate) async fn reward_many(
    Served(live): Served,
    Keyed(key): Keyed,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Fault> {
    match Media::of(&headers)? {
        Media::Json => told(&live, key, None, of_many(&body)?, Feedback::Rewards).await,
        Media::JsonLines => told(&live, key, None, of_lines(&body)?, Feedback::Rewards).await,
        Media::Table(format) => {
            let table = body::table(&body, format, &live.setup().config.tables)?;
            let done = blocking(move || {
                let options = LearnOptions { key, ..LearnOptions::default() };
                Ok(live.learn(Memory::copy(&table)?, Feedback::Rewards, options)?)
            })
            .await?;
            let (learned, put_aside) = done.done;
            let mut rejects = Vec::new();
            put_aside.csv(&mut rejects).map_err(|error| Fault::internal(error.to_string()))?;
            let value = json!({"seq": done.seq, "learned": learned, "rejects": String::from_utf8_lossy(&rejects)});
            Ok(answered(StatusCode::OK, done.seq, &value))
        }
    }
}

/// Whose windows end: one of the two.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ending {
    Decision(String),
    Through(String),
}

/// Ends the window of a decision, or of every open one up to `through`: silence becomes the default reward. Decisions that are held stay open. Windows also end by the clock, where the rules say so.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/rounds/close", operation_id = "close", tag = "rewards",
    security(("token" = ["admin"])),
    params(("campaign" = String, Path, description = "The campaign"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    request_body(content = ref("#/components/schemas/Close"), content_type = "application/json"),
    responses((status = 200, description = "They are closed", body = ref("#/components/schemas/Done")), WriteFaults))]
pub(crate) async fn close(
    Served(live): Served,
    Keyed(key): Keyed,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Fault> {
    Media::json(&headers)?;
    match body::json(&body)? {
        Ending::Decision(decision) => {
            let done = blocking(move || Ok(live.close(&decision, key)?)).await?;
            Ok(answered(StatusCode::OK, done.seq, &done))
        }
        Ending::Through(through) => {
            let done = blocking(move || Ok(live.close_up_to(&through, key)?)).await?;
            Ok(answered(StatusCode::OK, done.seq, &done.done))
        }
    }
}
