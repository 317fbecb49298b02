//! `/v1/campaigns/{campaign}/decisions`: decide, look at a decision, activate or take it back.

use super::{
    common::{Body, Keyed, Params, Places, Served, answered, blocking, looked, replied},
    faults::{ReadFaults, WriteFaults},
};
use crate::{
    body::{self, Media},
    problem::Fault,
};
use armwise::Constraint;
use armwise_campaign::{
    Memory, Source,
    core::fates,
    live::{Among, DecideRequest, JsonFilter, JsonRow, JsonRows, Live, Offered},
    round::Asked,
};
use arrow_array::RecordBatch;
use axum::{
    http::{HeaderMap, StatusCode},
    response::Response,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

/// From so many bytes on, a body is read beside the threads that answer.
const LARGE: usize = 1 << 18;

/// An id: a text, or a whole number, which is taken as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id(pub(crate) String);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "an id is a text or a whole number")]
        enum Written {
            Text(String),
            Whole(i64),
            Large(u64),
        }
        Ok(Self(match Written::deserialize(deserializer)? {
            Written::Text(text) => text,
            Written::Whole(number) => number.to_string(),
            Written::Large(number) => number.to_string(),
        }))
    }
}

/// The body of a decision's request.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asking {
    arms: Option<JsonRows>,
    k: Option<usize>,
    context: Option<JsonRow>,
    eligible: Option<Vec<Id>>,
    filter: Option<JsonFilter>,
    constraint: Option<Constraint>,
    #[serde(default)]
    hold: bool,
}

/// What is asked for beside a table of arms.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedBeside {
    k: Option<usize>,
    #[serde(default)]
    hold: bool,
}

/// Decides: which arms to show. The answer is on the disk, and the same key gives the same bytes for good.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/decisions", operation_id = "decide", tag = "decisions",
    security(("token" = ["decide"])),
    params(("campaign" = String, Path, description = "The campaign"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$"),
        ("k" = Option<u32>, Query, description = "Beside a table of arms: how many", minimum = 1),
        ("hold" = Option<bool>, Query, description = "Beside a table of arms: whether it is not shown yet")),
    request_body(content((ref("#/components/schemas/DecisionRequest") = "application/json"), ("text/csv"),
        ("application/vnd.apache.arrow.stream"), ("application/vnd.apache.parquet"))),
    responses((status = 200, description = "The decision", body = ref("#/components/schemas/Decided"),
        links(("look" = (operation_id = "decision", parameters(("decision" = "$response.body#/decision"), ("campaign" = "$request.path.campaign")))),
            ("reward" = (operation_id = "reward", parameters(("decision" = "$response.body#/decision"), ("campaign" = "$request.path.campaign")))),
            ("correct" = (operation_id = "correct", parameters(("decision" = "$response.body#/decision"), ("campaign" = "$request.path.campaign")))),
            ("undelivered" = (operation_id = "undelivered", parameters(("decision" = "$response.body#/decision"), ("campaign" = "$request.path.campaign")))),
            ("activate" = (operation_id = "activate", parameters(("decision" = "$response.body#/decision"), ("campaign" = "$request.path.campaign")))),
            ("revoke" = (operation_id = "revoke", parameters(("decision" = "$response.body#/decision"), ("campaign" = "$request.path.campaign")))))),
        WriteFaults))]
pub(crate) async fn decide(
    Served(live): Served,
    Keyed(key): Keyed,
    Params(beside): Params<AskedBeside>,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<Response, Fault> {
    let media = Media::of(&headers)?;
    let ask = |live: Live| {
        let mut request = read(&live, media, &beside, &body)?;
        request.key = key;
        let is_large = match &request.arms {
            Offered::Rows(rows) => rows.num_rows() > 1000,
            Offered::Catalogue(_) => true,
        };
        Ok::<_, Fault>((request, is_large))
    };
    let (request, is_large) =
        if body.len() > LARGE { tokio::task::block_in_place(|| ask(live.clone()))? } else { ask(live.clone())? };
    let decided = replied(|reply| {
        if is_large {
            tokio::task::block_in_place(|| live.decide_then(request, reply));
        } else {
            live.decide_then(request, reply);
        }
    })
    .await?;
    Ok(answered(StatusCode::OK, decided.seq, &decided))
}

/// The request in a body.
pub(super) fn read(live: &Live, media: Media, beside: &AskedBeside, body: &[u8]) -> Result<DecideRequest, Fault> {
    match media {
        Media::Json if beside.k.is_some() || beside.hold => {
            Err(Fault::invalid("k and hold stand in the body, if it is JSON").at("query"))
        }
        Media::Json => {
            let Asking { arms, k, context, eligible, filter, constraint, hold } = body::json(body)?;
            let arms = match (arms, eligible, filter) {
                (Some(JsonRows(rows)), None, None) => Offered::Rows(rows),
                (Some(_), ..) => {
                    return Err(
                        Fault::invalid("eligible and filter choose from the catalogue, and arms are given").at("arms")
                    );
                }
                (None, eligible, filter) => Offered::Catalogue(Among {
                    filter: filter.unwrap_or_default().0,
                    eligible: eligible.map(|ids| ids.into_iter().map(|id| id.0).collect()),
                }),
            };
            let asked = match (k, constraint) {
                (Some(_), Some(_)) => return Err(Fault::invalid("either k or a constraint says how much").at("k")),
                (Some(k), None) => Asked::K(k),
                (None, Some(constraint)) => Asked::Constraint(Box::new(constraint)),
                (None, None) => Asked::Rules,
            };
            Ok(DecideRequest { key: None, arms, context: context.map(|JsonRow(row)| row), asked, hold })
        }
        Media::JsonLines => {
            Err(Fault::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "content-type", "arms do not come as JSON lines"))
        }
        Media::Table(format) => {
            let table = body::table(body, format, &live.setup().config.tables)?;
            let rows = batch(&table)?;
            let asked = beside.k.map_or(Asked::Rules, Asked::K);
            Ok(DecideRequest { key: None, arms: Offered::Rows(rows), context: None, asked, hold: beside.hold })
        }
    }
}

/// All rows of a table in one batch.
pub(crate) fn batch(table: &dyn Source) -> Result<RecordBatch, Fault> {
    let batches = Memory::copy(table)?.into_batches();
    batches.into_iter().next().ok_or_else(|| Fault::invalid("the table has no rows"))
}

/// A decision with what became of its arms.
#[utoipa::path(get, path = "/v1/campaigns/{campaign}/decisions/{decision}", operation_id = "decision", tag = "decisions",
    security(("token" = ["read"])),
    params(("campaign" = String, Path, description = "The campaign"), ("decision" = String, Path, description = "The decision")),
    responses((status = 200, description = "The decision", body = ref("#/components/schemas/Decision")), ReadFaults))]
pub(crate) async fn look(
    Served(live): Served,
    Places((_, decision)): Places<(String, String)>,
) -> Result<Response, Fault> {
    let round = live.round_of(&decision)?;
    looked(live, move |campaign| {
        let info = campaign.round(round)?;
        let (entry, at) = (info.seq, info.at.clone());
        let arms: Vec<Value> = fates(campaign, round)?
            .into_iter()
            .filter(|(sent, _)| !sent.hold_out)
            .map(|(sent, fate)| {
                json!({"id": sent.customer, "promotion": sent.promotion, "rank": sent.rank, "mean": sent.mean,
                    "width": sent.width, "draw": sent.draw, "score": sent.score, "probability": sent.probability,
                    "fate": fate.name(), "reward": fate.reward(), "examined": fate.examined()})
            })
            .collect();
        Ok(json!({"decision": campaign.tag().name_round(round), "seq": entry, "at": at, "arms": arms}))
    })
    .await
}

/// Says that a held decision is shown now: from here on its rewards are learned, and its window runs.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/decisions/{decision}/activate", operation_id = "activate", tag = "decisions",
    security(("token" = ["decide"])),
    params(("campaign" = String, Path, description = "The campaign"), ("decision" = String, Path, description = "The decision"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    responses((status = 200, description = "It is active", body = ref("#/components/schemas/Done")), WriteFaults))]
pub(crate) async fn activate(
    Served(live): Served,
    Places((_, decision)): Places<(String, String)>,
    Keyed(key): Keyed,
) -> Result<Response, Fault> {
    let done = blocking(move || Ok(live.activate(&decision, key)?)).await?;
    Ok(answered(StatusCode::OK, done.seq, &done))
}

/// Takes back a decision that was never shown.
#[utoipa::path(post, path = "/v1/campaigns/{campaign}/decisions/{decision}/revoke", operation_id = "revoke", tag = "decisions",
    security(("token" = ["decide"])),
    params(("campaign" = String, Path, description = "The campaign"), ("decision" = String, Path, description = "The decision"),
        ("Idempotency-Key" = Option<String>, Header, description = "The caller's own name for the request", pattern = "^[!-~]{1,200}$")),
    responses((status = 200, description = "It is taken back", body = ref("#/components/schemas/Done")), WriteFaults))]
pub(crate) async fn revoke(
    Served(live): Served,
    Places((_, decision)): Places<(String, String)>,
    Keyed(key): Keyed,
) -> Result<Response, Fault> {
    let done = blocking(move || Ok(live.revoke(&decision, key)?)).await?;
    Ok(answered(StatusCode::OK, done.seq, &done))
}
