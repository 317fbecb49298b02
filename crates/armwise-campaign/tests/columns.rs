//! Every column of every table is vouched for: whatever is changed in a row, `verify` finds it, or it only saved time
//! and says nothing.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    core::{Feedback, Head, Sha, close, learn_logged, model_hash},
    store::sqlite::verify,
};
use common::{Folder, begin, choose_round, customers, learn_asked, learn_text, open};
use rusqlite::{Connection, config::DbConfig, params_from_iter, types::Value};
use std::{
    fs,
    path::{Path, PathBuf},
};

const RULES: &str = "segment = \"region\"\n[limits]\nhold_out = 0.2\n[[promotion]]\nname = \"mail\"\nquota = 12\n\
    [[promotion]]\nname = \"call\"\nquota = 5\n";

/// A campaign in which every column has a value somewhere: a log of past sends, keys, a hold-out, segments,
/// bounces, arms that may not have been looked at, a checkpoint.
fn campaign(folder: &Folder) -> PathBuf {
    let table = folder.write("customers.csv", customers(80));
    let mut campaign = begin(folder, &table, RULES).unwrap();
    let mut log = customers(4).replace("may_call", "may_call,promotion,reward,examined,probability");
    for (line, rest) in [(1, ",mail,1,,0.5"), (2, ",call,0.25,0.75,0.125"), (3, ",mail,0,1,"), (4, ",mail,2,,1")] {
        let line = log.lines().nth(line).unwrap().to_owned();
        log = log.replace(&line, &format!("{line}{rest}"));
    }
    let log = folder.write("log.csv", log);
    assert_eq!(learn_logged(&mut campaign, &open(&log), None).unwrap().0.applied, 4);
    choose_round(&mut campaign, &table).unwrap();
    let first = "decision,reward,examined\nr1-1,1,\nr1-3,0.25,0.5\n";
    learn_asked(&mut campaign, folder, Feedback::Rewards, first, None, Some("k")).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    learn_text(&mut campaign, folder, Feedback::Undelivered, "decision\nr2-2\n").unwrap();
    close(&mut campaign, 1, None).unwrap();
    for reward in 0..70 {
        let feedback = if reward == 0 { Feedback::Rewards } else { Feedback::Corrections };
        learn_text(&mut campaign, folder, feedback, &format!("decision,reward\nr2-1,{reward}\nr2-4,{reward}\n"))
            .unwrap();
    }
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    campaign.path().to_owned()
}

/// A copy of a file that nobody writes to, without what SQLite or a reader left beside an earlier one.
fn copy(folder: &Folder, path: &Path) -> PathBuf {
    let copy = folder.path("copy.armwise");
    for end in ["-wal", "-shm", ".lock"] {
        let _ = fs::remove_file(folder.path(&format!("copy.armwise{end}")));
    }
    fs::copy(path, &copy).unwrap();
    copy
}

/// Changes rows although the triggers refuse it, as damage would.
fn change(path: &Path, sql: &str, values: Vec<Value>) -> bool {
    let db = Connection::open(path).unwrap();
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
    // A value that the schema's types do not allow cannot get in this way.
    let changed = db.execute(sql, params_from_iter(values)).is_ok_and(|rows| rows > 0);
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    changed
}

/// Other values of the same type, small changes and odd ones.
fn others(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => vec![Value::Integer(0), Value::Integer(1), Value::Real(0.0), text(""), text("x")],
        Value::Integer(i) => vec![Value::Integer(i + 1), Value::Integer(2), Value::Integer(i ^ 1 << 40), Value::Null],
        Value::Real(r) => vec![Value::Real(f64::from_bits(r.to_bits() ^ 1)), Value::Real(r + 1.0), Value::Null],
        Value::Text(t) => vec![text(&format!("{t} ")), text(""), text(&t.to_uppercase()), Value::Null],
        Value::Blob(bytes) => {
            let mut flipped = bytes.clone();
            *flipped.last_mut().unwrap() ^= 1;
            let longer = |more: usize| [&bytes[..], &vec![0; more]].concat();
            let shorter = |less: usize| bytes[..bytes.len() - less].to_vec();
            [flipped, longer(1), longer(4), shorter(1), shorter(4), Vec::new()].map(Value::Blob).to_vec()
        }
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn said(path: &Path) -> Result<(Head, Sha, Vec<u64>), Error> {
    let campaign = Campaign::read(path)?;
    Ok((campaign.head(), model_hash(&campaign.model()?), campaign.rounds().keys().copied().collect()))
}

#[test]
fn a_change_of_any_column_of_any_table_is_found() {
    let folder = Folder::new("columns");
    let path = campaign(&folder);
    let good = said(&path).unwrap();
    let db = Connection::open(&path).unwrap();
    let (mut tried, mut missed) = (0, Vec::new());
    for (table, keys, journal) in [
        ("entry", "seq = ?", true),
        ("decision", "id = ?", true),
        ("outcome", "seq = ? AND number = ?", true),
        ("original", "decision = ?", true),
        ("sums", "segment = ?", false),
        ("checkpoint", "seq = ?", false),
    ] {
        let names: Vec<String> = {
            let mut names = db.prepare("SELECT name FROM pragma_table_info(?)").unwrap();
            names.query_map([table], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let rows: Vec<Vec<Value>> = {
            let mut rows = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
            let read = |row: &rusqlite::Row<'_>| (0..names.len()).map(|place| row.get(place)).collect();
            rows.query_map([], read).unwrap().map(Result::unwrap).collect()
        };
        let mut picked = vec![0, 1, 2, 3, rows.len() / 2, rows.len() - 1];
        picked.retain(|&place| place < rows.len());
        picked.sort_unstable();
        picked.dedup();
        for row in picked.into_iter().map(|place| &rows[place]) {
            for (place, name) in names.iter().enumerate() {
                for other in others(&row[place]).into_iter().filter(|other| *other != row[place]) {
                    let copy = copy(&folder, &path);
                    let mut values = vec![other.clone()];
                    values.extend(row[..keys.matches('?').count()].iter().cloned());
                    if !change(&copy, &format!("UPDATE {table} SET {name} = ? WHERE {keys}"), values) {
                        continue;
                    }
                    tried += 1;
                    let found = !verify(&copy).is_ok_and(|checked| checked.good);
                    // Stored sums and checkpoints only save time: without a finding, nothing must be different.
                    let harmless = || !journal && said(&copy).unwrap() == good;
                    if !found && !harmless() {
                        missed.push(format!("{table}.{name}: {:?} as {other:?}", row[place]));
                    }
                    if !journal {
                        assert_eq!(said(&copy).unwrap(), good, "{table}.{name} as {other:?}");
                    }
                }
            }
        }
    }
    assert!(missed.is_empty() && tried > 300, "{tried} tried, not found:\n{}", missed.join("\n"));
}

/// Rows that were looked up by a damaged name were put aside as unknown, with exit code 3 as if they were wrong.
#[test]
fn damage_to_what_a_response_is_looked_up_in_is_reported_and_no_row_is_put_aside() {
    let folder = Folder::new("lookup");
    let path = campaign(&folder);
    let reader = Campaign::read(&path).unwrap();
    let sent = reader.sent(2).unwrap().into_iter().find(|sent| sent.id.number == 6).unwrap();
    let (id, customer, promotion) = (sent.id.key(), &sent.customer, &sent.promotion);
    let by_customer = format!("customer,promotion,round,reward\n{customer},{promotion},2,1\n");
    let by_decision = "decision,reward\nr2-6,1\n".to_owned();
    let both = format!("decision,customer,promotion,reward\nr2-6,{customer},{promotion},1\n");
    drop(reader);
    for damage in [
        format!("UPDATE decision SET customer = 'C9999' WHERE id = {id}"),
        format!("UPDATE decision SET promotion = 'call' WHERE id = {id}"),
        format!("UPDATE decision SET id = id + 1000 WHERE id = {id}"),
        format!("UPDATE decision SET seq = seq + 1 WHERE id = {id}"),
        "UPDATE outcome SET reward = 7 WHERE decision >> 32 = 2 AND seq = (SELECT max(seq) FROM outcome)".to_owned(),
        format!("DELETE FROM decision WHERE id = {id}"),
    ] {
        for responses in [&by_customer, &by_decision, &both] {
            let copy = copy(&folder, &path);
            assert!(change(&copy, &damage, Vec::new()), "{damage}");
            let mut campaign = Campaign::write(&copy, "test").unwrap();
            let head = campaign.head();
            let refused = learn_text(&mut campaign, &folder, Feedback::Rewards, responses);
            assert!(matches!(refused, Err(Error::Damaged { .. })), "{damage}: {refused:?}");
            assert_eq!(campaign.head(), head);
        }
    }
}
