//! What an answer says when a request fails: a status and a problem document (RFC 9457).
//!
//! One function, [`Fault::from`], turns the library's error into a fault: by its variant, never by its text. What helps at
//! this door, a field or a header, is added here.

use armwise_campaign::{
    Error,
    core::{Frozen, Refusal},
};
use axum::{
    body::Body,
    http::{HeaderValue, Response, StatusCode, header},
    response::IntoResponse,
};
use serde::Serialize;
use std::fmt;
use utoipa::ToSchema;

/// The media type of a problem document.
pub const PROBLEM: &str = "application/problem+json";

/// Why a request was not carried out. After one, nothing has changed unless `detail` says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Problem)]
pub struct Problem {
    /// The kind of problem, `urn:armwise:` and a word, which programs can rely on.
    #[serde(rename = "type")]
    pub kind: String,
    /// The status in words.
    pub title: String,
    /// The status.
    pub status: u16,
    /// What is wrong.
    pub detail: String,
    /// Where: a field of the body, a header, a row and column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The value that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// A request that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    status: StatusCode,
    kind: &'static str,
    detail: String,
    place: Option<String>,
    value: Option<String>,
    help: Option<&'static str>,
}

/// How long a value may be in an answer; the rest is left out.
const LONGEST_VALUE: usize = 200;

impl Fault {
    /// A fault of this status and kind.
    #[must_use]
    pub fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Self { status, kind, detail: detail.into(), place: None, value: None, help: None }
    }

    /// A body, a header or a parameter that cannot be read.
    #[must_use]
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", detail)
    }

    /// A request that can be read and makes no sense.
    #[must_use]
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail)
    }

    /// Something that was named does not exist.
    #[must_use]
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", detail)
    }

    /// A request that contradicts what is there.
    #[must_use]
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", detail)
    }

    /// Come again later: nothing was done.
    #[must_use]
    pub fn later(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, kind, detail)
    }

    /// Something that should not happen.
    #[must_use]
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// The same, with the place.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    /// The same, with the value that is wrong.
    #[must_use]
    pub fn value(self, value: impl AsRef<str>) -> Self {
        let value = value.as_ref();
        let short = value.char_indices().nth(LONGEST_VALUE).map_or(value.len(), |(end, _)| end);
        Self { value: Some(value[..short].to_owned()), ..self }
    }

    /// The same, with what to do.
    #[must_use]
    pub fn help(self, help: &'static str) -> Self {
        Self { help: Some(help), ..self }
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The kind, as metrics count it.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The document.
    #[must_use]
    pub fn problem(&self) -> Problem {
        Problem {
            kind: format!("urn:armwise:{}", self.kind),
            title: self.status.canonical_reason().unwrap_or_default().to_owned(),
            status: self.status.as_u16(),
            detail: self.detail.clone(),
            place: self.place.clone(),
            value: self.value.clone(),
            help: self.help.map(str::to_owned),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// What kind of problem an answer was, for the metrics and the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FaultKind(pub(crate) &'static str);

impl IntoResponse for Fault {
    fn into_response(self) -> Response<Body> {
        let body = serde_json::to_vec(&self.problem()).unwrap_or_default();
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
        if matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(FaultKind(self.kind));
        response
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let (status, kind) = of(&error);
        // What a file is called on this machine is nobody's business who asks over the network.
        let detail = match &error {
            Error::NoCampaign { .. } => "the campaign does not exist".to_owned(),
            Error::Exists { .. } => "the campaign exists already".to_owned(),
            Error::HeadMoved { .. } => "another process has written to the campaign".to_owned(),
            Error::KeyUsed { key, .. } => format!("the key {key:?} was used for another request"),
            Error::OldSchema { version, .. } => format!("the campaign has schema version {version}"),
            Error::Locked { holder, .. } => format!("the campaign is locked by {holder}"),
            Error::Linked { links, .. } => format!("the campaign's file has {links} names (hard links)"),
            Error::Storage { problem, .. } => problem.clone(),
            Error::Damaged { problem, .. } => format!("the campaign is damaged: {problem}"),
            Error::NotWrittenOut { done, .. } => format!("{done}, but not written out"),
            Error::Output { is, .. } => format!("a file cannot be written: it is {is}"),
            Error::DiskFull { .. } => "there is no room on the disk".to_owned(),
            Error::Stopped { .. } => "the campaign takes no more commands, since the server stops".to_owned(),
            Error::Unavailable { problem, .. } => format!("the database cannot be used now: {problem}"),
            Error::WentBack { seen, found, .. } => format!(
                "the database is older than what this server has seen: entry {seen} is gone, the last one is {found}"
            ),
            Error::NewerSchema { version, known, .. } => {
                format!("the tables have version {version}, and this server knows {known}")
            }
            Error::UnknownFormat { .. } => "the format of the table is not known".to_owned(),
            other => other.to_string(),
        };
        let fault = Self { help: help(&error), ..Self::new(status, kind, detail) };
        match &error {
            Error::Cell { row, column, .. } => fault.at(format!("row {row}, column {column}")),
            Error::DuplicateCustomer { customer, first, second, .. } => {
                fault.at(format!("rows {first} and {second}")).value(customer)
            }
            Error::Config { place, .. } => fault.at(place.clone()),
            Error::Refused(Refusal::Frozen(frozen)) => fault.at(frozen.field()),
            Error::Refused(Refusal::BadKey(key)) | Error::KeyUsed { key, .. } => fault.at("Idempotency-Key").value(key),
            Error::NeverChosen { customer } => fault.value(customer),
            Error::NotFound { name, .. } => fault.value(name),
            _ => fault,
        }
    }
}

/// The status and the kind of an error, one line for each of its variants.
fn of(error: &Error) -> (StatusCode, &'static str) {
    const UNPROCESSABLE: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
    match error {
        Error::NotFound { .. } | Error::NoCampaign { .. } => (StatusCode::NOT_FOUND, "not-found"),
        Error::NeverChosen { .. } => (StatusCode::NOT_FOUND, "never-chosen"),
        Error::Cell { .. }
        | Error::Table { .. }
        | Error::DuplicateCustomer { .. }
        | Error::NoRewards { .. }
        | Error::WhichRound { .. }
        | Error::UnknownFormat { .. } => (UNPROCESSABLE, "rows"),
        Error::NeedsTables { .. } | Error::OtherTable { .. } | Error::NothingToEvaluate { .. } | Error::NoAnswers => {
            (UNPROCESSABLE, "evaluation")
        }
        Error::Config { .. } => (UNPROCESSABLE, "rules"),
        Error::Usage(_) => (UNPROCESSABLE, "invalid"),
        Error::Exists { .. } => (StatusCode::CONFLICT, "exists"),
        Error::Refused(refusal) => refused(refusal),
        Error::HeadMoved { .. } => (StatusCode::SERVICE_UNAVAILABLE, "head-moved"),
        Error::KeyUsed { .. } => (UNPROCESSABLE, "key-used"),
        Error::OldSchema { .. } => (StatusCode::CONFLICT, "old-schema"),
        Error::Locked { .. } => (StatusCode::SERVICE_UNAVAILABLE, "locked"),
        Error::Linked { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "linked"),
        Error::Storage { .. } | Error::Output { .. } | Error::NotWrittenOut { .. } => {
            (StatusCode::INTERNAL_SERVER_ERROR, "storage")
        }
        Error::Damaged { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "damaged"),
        Error::Unavailable { .. } => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        Error::WentBack { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "went-back"),
        Error::NewerSchema { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "newer-schema"),
        Error::DiskFull { .. } => (StatusCode::INSUFFICIENT_STORAGE, "disk-full"),
        Error::QueueFull { .. } => (StatusCode::TOO_MANY_REQUESTS, "queue-full"),
        Error::InFlight { .. } => (StatusCode::CONFLICT, "in-flight"),
        Error::Stopped { .. } => (StatusCode::SERVICE_UNAVAILABLE, "stopped"),
        Error::NotYet { .. } => (StatusCode::SERVICE_UNAVAILABLE, "not-yet"),
        Error::TooManyArms { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too-many-arms"),
        Error::Library(error) => library(error),
        // The enum may grow; `tests/errors.rs` reads its source and fails until a new variant has its line here.
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
    }
}

#[allow(clippy::match_same_arms, reason = "the enum may grow; each variant of today is named")]
fn refused(refusal: &Refusal) -> (StatusCode, &'static str) {
    match refusal {
        Refusal::BadKey(_) => (StatusCode::BAD_REQUEST, "bad-key"),
        Refusal::BadRound(_) | Refusal::BadWorth(_) | Refusal::BadSegment(_) | Refusal::TooManyDecisions(_) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "invalid")
        }
        Refusal::Frozen(_) => (StatusCode::CONFLICT, "frozen"),
        Refusal::RoundExists { .. }
        | Refusal::RoundBefore { .. }
        | Refusal::NothingHeard(_)
        | Refusal::Revoked(_)
        | Refusal::NotKept { .. }
        | Refusal::BegunWithLearner
        | Refusal::LoggedLate
        | Refusal::LoggedBefore
        | Refusal::Held { .. }
        | Refusal::NotHeld(_)
        | Refusal::Compacted { .. } => (StatusCode::CONFLICT, "refused"),
        _ => (StatusCode::CONFLICT, "refused"),
    }
}

fn library(error: &armwise::Error) -> (StatusCode, &'static str) {
    match error {
        armwise::Error::Infeasible(_) => (StatusCode::UNPROCESSABLE_ENTITY, "infeasible"),
        armwise::Error::Solver(_) | armwise::Error::Damaged { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        armwise::Error::TimeLimit { .. } | armwise::Error::Cancelled => (StatusCode::SERVICE_UNAVAILABLE, "time-limit"),
        _ => (StatusCode::UNPROCESSABLE_ENTITY, "invalid"),
    }
}

/// What to do about an error, in fields and headers.
fn help(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::NoCampaign { .. } => "PUT it first",
        Error::KeyUsed { .. } => "give a new request a new Idempotency-Key",
        Error::WhichRound { .. } => "name the decision of each row",
        Error::NoRewards { .. } => "give each row a field reward",
        Error::UnknownFormat { .. } => {
            "send Content-Type application/json, text/csv, application/vnd.apache.arrow.stream or application/vnd.apache.parquet"
        }
        Error::Refused(Refusal::Frozen(Frozen::Seed | Frozen::Customer | Frozen::Features | Frozen::Gamma)) => {
            "make another campaign, or leave the field out"
        }
        Error::DiskFull { .. } => "send the same request again with the same Idempotency-Key once there is room",
        Error::InFlight { .. } | Error::QueueFull { .. } | Error::Stopped { .. } | Error::NotYet { .. } => {
            "send the same request again a little later"
        }
        Error::TooManyArms { .. } => "offer fewer arms, or keep them in the catalogue",
        Error::HeadMoved { .. } | Error::Locked { .. } | Error::Unavailable { .. } => {
            "send the same request again with the same Idempotency-Key"
        }
        Error::OldSchema { .. } => "migrate the file on the machine of the server",
        Error::WentBack { .. } => "restore the newest copy, or let every server forget what it has seen; see the docs",
        Error::NewerSchema { .. } => "replace this server by a newer version",
        Error::Damaged { .. } => "verify the file on the machine of the server",
        _ => return None,
    })
}
