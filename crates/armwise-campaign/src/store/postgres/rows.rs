//! Entries, decisions, outcomes and what is stored beside them, to and from rows of the tables.
//!
//! Many rows are one statement: each column goes as an array. Rows go in parts of a few thousand, so that no message is
//! large and none takes long.

use super::link::Asked;
use crate::core::{Answer, DecisionId, Entry, Heard, Kind, Named, Original, Outcome, Rows, Sent, Sha, feature_bytes};
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

/// The most rows in one statement.
const MANY: usize = 4000;

/// The columns of an entry.
pub(super) const ENTRY: &str = "seq, at, kind, round, key, body, changes, rows, digest, model, hash";
/// The columns of a decision.
pub(super) const DECISION: &str =
    "id, seq, customer, promotion, hold_out, segment, mean, width, draw, score, rank, greedy, features, probability";

/// A statement with columns of its own.
pub(super) struct Insert {
    pub(super) sql: String,
    columns: Vec<(Box<dyn ToSql + Sync>, Type)>,
}

impl Insert {
    /// A statement with these values.
    pub(super) fn new(sql: impl Into<String>) -> Self {
        Self { sql: sql.into(), columns: Vec::new() }
    }

    pub(super) fn with(mut self, value: impl ToSql + Sync + 'static, of: Type) -> Self {
        self.columns.push((Box::new(value), of));
        self
    }

    pub(super) fn asked(&self) -> Asked<'_> {
        Asked { sql: &self.sql, values: self.columns.iter().map(|(value, of)| (&**value, of.clone())).collect() }
    }
}

/// What to add at the end of an insertion of rows that nobody may have written before.
fn ending() -> &'static str {
    if super::is_fenced() { "" } else { " ON CONFLICT DO NOTHING" }
}

/// A text that PostgreSQL cannot keep, if there is one among these.
pub(super) fn has_nul<'a>(mut texts: impl Iterator<Item = &'a str>) -> bool {
    texts.any(|text| text.contains('\0'))
}

/// The rows of entries.
pub(super) fn inserts(campaign: i32, rows: &[Rows<'_>]) -> Result<Vec<Insert>, String> {
    let mut all = Vec::new();
    let decisions: Vec<(i64, &Sent)> =
        rows.iter().flat_map(|own| own.decisions.iter().map(|sent| (own.seq.cast_signed(), sent))).collect();
    for part in decisions.chunks(MANY) {
        all.push(insert_decisions(campaign, part)?);
    }
    let outcomes: Vec<(i64, i64, Outcome)> = rows
        .iter()
        .flat_map(|own| (1_i64..).zip(own.outcomes).map(|(number, outcome)| (own.seq.cast_signed(), number, *outcome)))
        .collect();
    for part in outcomes.chunks(MANY) {
        all.push(insert_outcomes(campaign, part));
    }
    let examined = outcomes.iter().any(|(_, _, outcome)| outcome.answer.is_some_and(|own| own.examined.is_some()));
    all.extend(examined.then(super::schema::needs_examined));
    let originals: Vec<(i64, &Original)> =
        rows.iter().flat_map(|own| own.originals.iter().map(|original| (own.seq.cast_signed(), original))).collect();
    for part in originals.chunks(MANY) {
        all.push(insert_originals(campaign, part)?);
    }
    for own in rows {
        if let Some(arms) = own.arms {
            let sql = format!("INSERT INTO armwise.arms VALUES ($1, $2, $3){}", ending());
            let insert = Insert::new(sql).with(campaign, Type::INT4).with(own.seq.cast_signed(), Type::INT8);
            all.push(insert.with(arms.to_vec(), Type::BYTEA));
        }
    }
    Ok(all)
}

fn insert_decisions(campaign: i32, part: &[(i64, &Sent)]) -> Result<Insert, String> {
    let texts = |sent: &'_ Sent| [Some(sent.customer.clone()), Some(sent.promotion.clone()), sent.segment.clone()];
    if part.iter().flat_map(|(_, sent)| texts(sent)).flatten().any(|text| text.contains('\0')) {
        return Err(NUL.to_owned());
    }
    let sql = format!(
        "INSERT INTO armwise.decision (campaign, {DECISION}) SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], \
         $4::text[], $5::text[], $6::boolean[], $7::text[], $8::float8[], $9::float8[], $10::float8[], $11::float8[], \
         $12::bigint[], $13::boolean[], $14::bytea[], $15::float8[]){}",
        ending()
    );
    let mut insert = Insert::new(sql).with(campaign, Type::INT4);
    macro_rules! column {
        ($of:expr, $value:expr) => {
            insert = insert.with(part.iter().map($value).collect::<Vec<_>>(), $of)
        };
    }
    column!(Type::INT8_ARRAY, |(_, sent)| sent.id.key());
    column!(Type::INT8_ARRAY, |(seq, _)| *seq);
    column!(Type::TEXT_ARRAY, |(_, sent)| sent.customer.clone());
    column!(Type::TEXT_ARRAY, |(_, sent)| sent.promotion.clone());
    column!(Type::BOOL_ARRAY, |(_, sent)| sent.hold_out);
    column!(Type::TEXT_ARRAY, |(_, sent)| sent.segment.clone());
    column!(Type::FLOAT8_ARRAY, |(_, sent)| sent.mean);
    column!(Type::FLOAT8_ARRAY, |(_, sent)| sent.width);
    column!(Type::FLOAT8_ARRAY, |(_, sent)| sent.draw);
    column!(Type::FLOAT8_ARRAY, |(_, sent)| sent.score);
    column!(Type::INT8_ARRAY, |(_, sent)| i64::from(sent.rank));
    column!(Type::BOOL_ARRAY, |(_, sent)| sent.greedy);
    column!(Type::BYTEA_ARRAY, |(_, sent)| {
        let mut bytes = Vec::new();
        feature_bytes(&sent.features, &mut bytes);
        bytes
    });
    column!(Type::FLOAT8_ARRAY, |(_, sent)| sent.probability);
    Ok(insert)
}

/// Why a text cannot be kept.
pub(super) const NUL: &str = "a text has the character U+0000, which PostgreSQL cannot keep";

fn insert_outcomes(campaign: i32, part: &[(i64, i64, Outcome)]) -> Insert {
    let sql = format!(
        "INSERT INTO armwise.outcome (campaign, seq, number, decision, reward, examined) SELECT $1, * \
         FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::float8[], $6::float8[]){}",
        ending()
    );
    let answer = |of: fn(Answer) -> Option<f64>| -> Vec<Option<f64>> {
        part.iter().map(|(_, _, outcome)| outcome.answer.and_then(of)).collect()
    };
    Insert::new(sql)
        .with(campaign, Type::INT4)
        .with(part.iter().map(|(seq, _, _)| *seq).collect::<Vec<_>>(), Type::INT8_ARRAY)
        .with(part.iter().map(|(_, number, _)| *number).collect::<Vec<_>>(), Type::INT8_ARRAY)
        .with(part.iter().map(|(_, _, outcome)| outcome.decision.key()).collect::<Vec<_>>(), Type::INT8_ARRAY)
        .with(answer(|answer| Some(answer.reward)), Type::FLOAT8_ARRAY)
        .with(answer(|answer| answer.examined), Type::FLOAT8_ARRAY)
}

fn insert_originals(campaign: i32, part: &[(i64, &Original)]) -> Result<Insert, String> {
    let texts: Result<Vec<String>, _> = part.iter().map(|(_, own)| serde_json::to_string(&own.values)).collect();
    let texts = texts.map_err(|error| error.to_string())?;
    let sql = format!(
        "INSERT INTO armwise.original SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::float8[]){}",
        ending()
    );
    Ok(Insert::new(sql)
        .with(campaign, Type::INT4)
        .with(part.iter().map(|(_, own)| own.decision.key()).collect::<Vec<_>>(), Type::INT8_ARRAY)
        .with(part.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(), Type::INT8_ARRAY)
        .with(texts, Type::TEXT_ARRAY)
        .with(part.iter().map(|(_, own)| own.probability).collect::<Vec<_>>(), Type::FLOAT8_ARRAY))
}

pub(super) fn insert_entries(campaign: i32, entries: &[Entry]) -> Insert {
    let sql = format!(
        "INSERT INTO armwise.entry (campaign, {ENTRY}) SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[], \
         $5::bigint[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::text[], $11::text[], $12::text[]){}",
        ending()
    );
    let mut insert = Insert::new(sql).with(campaign, Type::INT4);
    macro_rules! column {
        ($of:expr, $value:expr) => {
            insert = insert.with(entries.iter().map($value).collect::<Vec<_>>(), $of)
        };
    }
    column!(Type::INT8_ARRAY, |entry| entry.seq.cast_signed());
    column!(Type::TEXT_ARRAY, |entry| entry.at.clone());
    column!(Type::TEXT_ARRAY, |entry| entry.kind.name());
    column!(Type::INT8_ARRAY, |entry| entry.round.map(u64::cast_signed));
    column!(Type::TEXT_ARRAY, |entry| entry.key.clone());
    column!(Type::TEXT_ARRAY, |entry| entry.body.clone());
    column!(Type::TEXT_ARRAY, |entry| entry.changes.clone());
    column!(Type::INT8_ARRAY, |entry| entry.rows.cast_signed());
    column!(Type::TEXT_ARRAY, |entry| entry.digest.to_string());
    column!(Type::TEXT_ARRAY, |entry| entry.model.to_string());
    column!(Type::TEXT_ARRAY, |entry| entry.hash.to_string());
    insert
}

/// Bytes by segment, in place of those before.
pub(super) fn replace_bytes(campaign: i32, table: &str, all: &[(u64, Vec<u8>)]) -> Option<Insert> {
    // Of several for one segment, the last counts; one statement may not touch a row twice.
    let last: std::collections::BTreeMap<u64, &Vec<u8>> =
        all.iter().map(|(segment, bytes)| (*segment, bytes)).collect();
    if last.is_empty() {
        return None;
    }
    let sql = format!(
        "INSERT INTO armwise.{table} SELECT $1, * FROM unnest($2::bigint[], $3::bytea[]) \
         ON CONFLICT (campaign, segment) DO UPDATE SET bytes = excluded.bytes"
    );
    let insert = Insert::new(sql)
        .with(campaign, Type::INT4)
        .with(last.keys().map(|segment| segment.cast_signed()).collect::<Vec<_>>(), Type::INT8_ARRAY);
    Some(insert.with(last.into_values().cloned().collect::<Vec<_>>(), Type::BYTEA_ARRAY))
}

/// What does not fit in a row.
pub(super) type Bad = String;

fn get<'a, T: tokio_postgres::types::FromSql<'a>>(row: &'a Row, place: usize) -> Result<T, Bad> {
    row.try_get(place).map_err(|error| error.to_string())
}

fn whole(row: &Row, place: usize) -> Result<u64, Bad> {
    get::<i64>(row, place).map(i64::cast_unsigned)
}

pub(super) fn hash(text: &str) -> Result<Sha, Bad> {
    text.parse().map_err(|()| format!("{text:?} is not a SHA-256"))
}

fn kind(row: &Row, place: usize) -> Result<Kind, Bad> {
    let name: &str = get(row, place)?;
    Kind::named(name).ok_or_else(|| format!("{name:?} is not a kind of entry"))
}

/// From a row of [`ENTRY`].
pub(super) fn read_entry(row: &Row) -> Result<Entry, Bad> {
    let key: Option<String> = get(row, 4)?;
    if key.as_deref() == Some("") {
        return Err("the key is empty".to_owned());
    }
    Ok(Entry {
        seq: whole(row, 0)?,
        at: get(row, 1)?,
        kind: kind(row, 2)?,
        round: get::<Option<i64>>(row, 3)?.map(i64::cast_unsigned),
        key,
        body: get(row, 5)?,
        changes: get(row, 6)?,
        rows: whole(row, 7)?,
        digest: hash(get(row, 8)?)?,
        model: hash(get(row, 9)?)?,
        hash: hash(get(row, 10)?)?,
    })
}

/// A decision and its entry, from a row of [`DECISION`].
pub(super) fn read_decision(row: &Row) -> Result<(u64, Sent), Bad> {
    let bytes: &[u8] = get(row, 12)?;
    let (features, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(format!("features have {} bytes too many", rest.len()));
    }
    let features: Vec<f64> = features.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect();
    let rank = get::<i64>(row, 10)?;
    let sent = Sent {
        id: DecisionId::of(get(row, 0)?),
        customer: get(row, 2)?,
        promotion: get(row, 3)?,
        hold_out: get(row, 4)?,
        segment: get(row, 5)?,
        mean: get(row, 6)?,
        width: get(row, 7)?,
        draw: get(row, 8)?,
        score: get(row, 9)?,
        rank: u32::try_from(rank).map_err(|_| format!("{rank} is no rank"))?,
        greedy: get(row, 11)?,
        probability: get(row, 13)?,
        features: features.into(),
    };
    Ok((whole(row, 1)?, sent))
}

/// From id, customer, promotion.
pub(super) fn read_named(row: &Row) -> Result<Named, Bad> {
    Ok(Named { id: DecisionId::of(get(row, 0)?), customer: get(row, 1)?, promotion: get(row, 2)? })
}

/// An outcome with its entry and its number there, from seq, number, decision, reward, examined.
pub(super) fn read_outcome(row: &Row) -> Result<(u64, i64, Outcome), Bad> {
    Ok((whole(row, 0)?, get(row, 1)?, outcome(row)?))
}

/// From seq, kind, decision, reward, examined.
pub(super) fn read_heard(row: &Row) -> Result<Heard, Bad> {
    Ok(Heard { seq: whole(row, 0)?, kind: kind(row, 1)?, outcome: outcome(row)? })
}

/// From decision, reward, examined, which come third.
fn outcome(row: &Row) -> Result<Outcome, Bad> {
    Ok(Outcome { decision: DecisionId::of(get(row, 2)?), answer: Answer::stored(get(row, 3)?, get(row, 4)?)? })
}

/// From decision, seq, columns, probability.
pub(super) fn read_original(row: &Row) -> Result<(u64, Original), Bad> {
    let text: &str = get(row, 2)?;
    let values: Vec<Option<String>> = serde_json::from_str(text).map_err(|error| format!("columns: {error}"))?;
    // What is hashed are the values, so they must be written in one way only.
    if serde_json::to_string(&values).ok().as_deref() != Some(text) {
        return Err("columns are not written as they were".to_owned());
    }
    Ok((whole(row, 1)?, Original { decision: DecisionId::of(get(row, 0)?), values, probability: get(row, 3)? }))
}

/// Bytes by a number, from number, bytes.
pub(super) fn read_bytes(row: &Row) -> Result<(u64, Vec<u8>), Bad> {
    Ok((whole(row, 0)?, get(row, 1)?))
}
