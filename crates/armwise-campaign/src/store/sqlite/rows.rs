//! Entries, decisions, outcomes and what is stored beside them, to and from rows of the schema.

use super::same::{self, Kept, Same};
use crate::core::{
    Answer, DecisionId, Entry, Head, Heard, Kind, Named, Original, Outcome, Record, Sent, Sha, feature_bytes,
};
use rusqlite::{
    Connection, OptionalExtension, Row, Transaction, params,
    types::{Type, ValueRef},
};

/// The last entry.
pub(super) fn head(db: &Connection) -> rusqlite::Result<Head> {
    let read = |row: &Row<'_>| Ok(Head { seq: whole(row, "seq")?, hash: hash(row, "hash")? });
    let mut head = db.prepare_cached("SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1")?;
    Ok(head.query_row([], read).optional()?.unwrap_or_else(Head::none))
}

pub(super) fn has_key(db: &Connection, key: &str) -> rusqlite::Result<bool> {
    db.prepare_cached("SELECT EXISTS (SELECT 1 FROM entry WHERE key = ?)")?.query_row([key], |row| row.get(0))
}

/// Writes an entry and what is stored beside it; of checkpoints only the newest is kept.
pub(super) fn insert_record(transaction: &Transaction<'_>, record: &Record) -> rusqlite::Result<()> {
    let Record { entry, sums, kept, settled } = record;
    let mut insert = transaction.prepare_cached(
        "INSERT INTO entry (seq, at, kind, round, key, body, changes, rows, digest, model, hash) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?;
    insert.execute(params![
        entry.seq.cast_signed(),
        entry.at,
        entry.kind.name(),
        entry.round.map(u64::cast_signed),
        entry.key,
        entry.body,
        entry.changes,
        entry.rows.cast_signed(),
        entry.digest.to_string(),
        entry.model.to_string(),
        entry.hash.to_string(),
    ])?;
    for (segment, bytes) in sums {
        let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO sums VALUES (?, ?)")?;
        insert.execute(params![segment.cast_signed(), bytes])?;
    }
    for (segment, bytes) in settled {
        let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO settled VALUES (?, ?)")?;
        insert.execute(params![segment.cast_signed(), bytes])?;
    }
    if let (Kind::Compact, Some(round)) = (entry.kind, entry.round) {
        // From the first round on: round 0 is what was learned before it, and stays.
        let given_up = params![1_i64 << 32, (round.cast_signed() + 1) << 32];
        transaction.execute("DELETE FROM decision WHERE id >= ? AND id < ?", given_up)?;
        transaction.execute("DELETE FROM outcome WHERE decision >= ? AND decision < ?", given_up)?;
        transaction.execute("DELETE FROM original WHERE decision >= ? AND decision < ?", given_up)?;
        transaction.execute("DELETE FROM features WHERE id < ?", [same::given_up(round)])?;
    }
    if let Some(kept) = kept {
        transaction.execute("DELETE FROM checkpoint", [])?;
        let row = params![kept.seq.cast_signed(), kept.state, kept.model];
        transaction.execute("INSERT INTO checkpoint VALUES (?, ?, ?)", row)?;
    }
    Ok(())
}

/// Writes decisions; features that came before are referred to.
pub(super) fn insert_decisions(
    transaction: &Transaction<'_>,
    seq: u64,
    decisions: &[Sent],
    same: &mut Same,
) -> rusqlite::Result<()> {
    if decisions.is_empty() {
        return Ok(());
    }
    let mut insert =
        transaction.prepare_cached("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    let mut bytes = Vec::new();
    for row in decisions {
        feature_bytes(&row.features, &mut bytes);
        let Sent { customer, promotion, hold_out, segment, mean, width, draw, score, rank, greedy, .. } = row;
        let (id, seq, probability) = (row.id.key(), seq.cast_signed(), row.probability);
        let kept = if decisions.len() > same::MANY { Kept::Here } else { same.kept(row, &bytes) };
        let (features, same) = match kept {
            Kept::Here => (&bytes[..], None),
            Kept::New => {
                transaction.prepare_cached("INSERT INTO features VALUES (?, ?)")?.execute(params![id, bytes])?;
                (&[][..], Some(id))
            }
            Kept::There(place) => (&[][..], Some(place)),
        };
        insert.execute(params![
            id,
            seq,
            customer,
            promotion,
            hold_out,
            segment,
            mean,
            width,
            draw,
            score,
            rank,
            greedy,
            features,
            probability,
            same
        ])?;
    }
    Ok(())
}

pub(super) fn insert_outcomes(transaction: &Transaction<'_>, seq: u64, outcomes: &[Outcome]) -> rusqlite::Result<()> {
    if outcomes.is_empty() {
        return Ok(());
    }
    let mut insert = transaction.prepare_cached("INSERT INTO outcome VALUES (?, ?, ?, ?, ?)")?;
    for (number, outcome) in (1_i64..).zip(outcomes) {
        let (reward, examined) = outcome.answer.map_or((None, None), |own| (Some(own.reward), own.examined));
        insert.execute(params![seq.cast_signed(), number, outcome.decision.key(), reward, examined])?;
    }
    Ok(())
}

pub(super) fn insert_originals(
    transaction: &Transaction<'_>,
    seq: u64,
    originals: &[Original],
) -> rusqlite::Result<()> {
    if originals.is_empty() {
        return Ok(());
    }
    let mut insert = transaction.prepare_cached("INSERT INTO original VALUES (?, ?, ?, ?)")?;
    for Original { decision, values, probability } in originals {
        let values = serde_json::to_string(values).map_err(|error| bad(error.to_string()))?;
        insert.execute(params![decision.key(), seq.cast_signed(), values, probability])?;
    }
    Ok(())
}

pub(super) fn insert_arms(transaction: &Transaction<'_>, seq: u64, arms: Option<&[u8]>) -> rusqlite::Result<()> {
    if let Some(arms) = arms {
        transaction.execute("INSERT INTO arms VALUES (?, ?)", params![seq.cast_signed(), arms])?;
    }
    Ok(())
}

/// The columns of a decision with its entry.
pub(super) fn read_original(row: &Row<'_>) -> rusqlite::Result<(u64, Original)> {
    let text: String = row.get(2)?;
    let values: Vec<Option<String>> = serde_json::from_str(&text).map_err(|error| bad(format!("columns: {error}")))?;
    // What is hashed are the values, so they must be written in one way only.
    if serde_json::to_string(&values).ok().as_ref() != Some(&text) {
        return Err(bad("columns are not written as they were".to_owned()));
    }
    let original = Original { decision: DecisionId::of(row.get(0)?), values, probability: row.get(3)? };
    Ok((row.get::<_, i64>(1)?.cast_unsigned(), original))
}

fn whole(row: &Row<'_>, name: &str) -> rusqlite::Result<u64> {
    row.get::<_, i64>(name).map(i64::cast_unsigned)
}

/// A text that is not what it should be.
fn bad(problem: String) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Text, problem.into())
}

pub(super) fn hash(row: &Row<'_>, name: &str) -> rusqlite::Result<Sha> {
    hash_at(row, row.as_ref().column_index(name)?)
}

fn hash_at(row: &Row<'_>, place: usize) -> rusqlite::Result<Sha> {
    let text = row.get_ref(place)?.as_str()?;
    text.parse().map_err(|()| bad(format!("column {place} is not a SHA-256")))
}

pub(super) fn kind(row: &Row<'_>) -> rusqlite::Result<Kind> {
    kind_at(row, row.as_ref().column_index("kind")?)
}

/// As [`kind`], by place: looking a column up by its name costs more than reading it.
fn kind_at(row: &Row<'_>, place: usize) -> rusqlite::Result<Kind> {
    let name = row.get_ref(place)?.as_str()?;
    Kind::named(name).ok_or_else(|| bad(format!("{name:?} is not a kind of entry")))
}

/// 0 or 1; SQLite would take any other number for true.
fn flag(row: &Row<'_>, place: usize) -> rusqlite::Result<Option<bool>> {
    match row.get::<_, Option<i64>>(place)? {
        None => Ok(None),
        Some(0) => Ok(Some(false)),
        Some(1) => Ok(Some(true)),
        Some(other) => Err(bad(format!("hold_out or greedy is {other}, neither 0 nor 1"))),
    }
}

/// The key of an entry. The chain does not tell an empty one from none, so there is no empty one.
fn key_at(row: &Row<'_>, place: usize) -> rusqlite::Result<Option<String>> {
    match row.get::<_, Option<String>>(place)? {
        Some(key) if key.is_empty() => Err(bad("the key is empty".to_owned())),
        key => Ok(key),
    }
}

/// An entry, from a row with all columns in the order of the schema.
pub(super) fn read_entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        seq: row.get::<_, i64>(0)?.cast_unsigned(),
        at: row.get(1)?,
        kind: kind_at(row, 2)?,
        round: row.get::<_, Option<i64>>(3)?.map(i64::cast_unsigned),
        key: key_at(row, 4)?,
        body: row.get(5)?,
        changes: row.get(6)?,
        rows: row.get::<_, i64>(7)?.cast_unsigned(),
        digest: hash_at(row, 8)?,
        model: hash_at(row, 9)?,
        hash: hash_at(row, 10)?,
    })
}

/// A decision and the entry that it belongs to, from a row of [`Version::decisions`](super::schema::Version::decisions).
pub(super) fn read_decision(row: &Row<'_>) -> rusqlite::Result<(u64, Sent)> {
    let (own, same) = (row.get_ref(12)?.as_blob()?, row.get_ref(14)?);
    let features = match (own, same) {
        (own, ValueRef::Null) => own,
        ([], _) => row.get_ref(15)?.as_blob_or_null()?.ok_or_else(|| bad("its features are not there".to_owned()))?,
        _ => return Err(bad("features are in two places".to_owned())),
    };
    let (features, rest) = features.as_chunks();
    if !rest.is_empty() {
        return Err(bad(format!("features have {} bytes too many", rest.len())));
    }
    let features: Vec<f64> = features.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect();
    let sent = Sent {
        id: DecisionId::of(row.get(0)?),
        customer: row.get(2)?,
        promotion: row.get(3)?,
        hold_out: flag(row, 4)?.ok_or_else(|| bad("hold_out is missing".to_owned()))?,
        segment: row.get(5)?,
        mean: row.get(6)?,
        width: row.get(7)?,
        draw: row.get(8)?,
        score: row.get(9)?,
        rank: row.get(10)?,
        greedy: flag(row, 11)?,
        probability: row.get(13)?,
        features: features.into(),
    };
    Ok((row.get::<_, i64>(1)?.cast_unsigned(), sent))
}

pub(super) fn read_named(row: &Row<'_>) -> rusqlite::Result<Named> {
    Ok(Named { id: DecisionId::of(row.get("id")?), customer: row.get("customer")?, promotion: row.get("promotion")? })
}

pub(super) fn read_outcome(row: &Row<'_>) -> rusqlite::Result<Outcome> {
    outcome_at(row, 0)
}

/// An outcome whose columns begin at a place.
fn outcome_at(row: &Row<'_>, first: usize) -> rusqlite::Result<Outcome> {
    let answer = Answer::stored(row.get(first + 1)?, row.get(first + 2)?).map_err(bad)?;
    Ok(Outcome { decision: DecisionId::of(row.get(first)?), answer })
}

/// An outcome and its number in its entry.
pub(super) fn read_numbered(row: &Row<'_>) -> rusqlite::Result<(i64, Outcome)> {
    Ok((row.get(0)?, outcome_at(row, 1)?))
}

pub(super) fn read_heard(row: &Row<'_>) -> rusqlite::Result<Heard> {
    Ok(Heard { seq: row.get::<_, i64>(3)?.cast_unsigned(), kind: kind_at(row, 4)?, outcome: outcome_at(row, 0)? })
}
