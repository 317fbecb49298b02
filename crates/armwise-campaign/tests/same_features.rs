//! Features that come again are kept once, and customers are found in every run of rounds: the file is another one, what
//! is read is the same.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign,
    config::Config,
    core::{Chosen, Command, DecisionId, Draft, Journal, Sent, Setup},
    recipe::Recipe,
    store::sqlite::{Sqlite, verify},
};
use common::{Folder, noise};
use rusqlite::{Connection, config::DbConfig};
use std::{
    fs,
    path::{Path, PathBuf},
};

const DIM: usize = 8;
const RULES: &str = "customer = \"id\"\nrounds_per_segment = 16\nkeep = \"none\"\n[[promotion]]\nname = \"show\"\n\
    [[features.column]]\nname = \"features\"\nkind = \"vector\"\n";

/// An arm whose features depend on itself and on `day`.
fn sent(round: u64, number: u32, arm: u64, day: u64) -> Sent {
    let x = (0..DIM as u64).map(|j| f64::from(noise(arm * 100 + day, j) as f32)).collect::<Vec<f64>>();
    Sent {
        id: DecisionId { round, number },
        customer: format!("a{arm}"),
        promotion: "show".to_owned(),
        hold_out: false,
        segment: None,
        mean: noise(round, 50),
        width: noise(round, 51),
        draw: None,
        score: noise(round, 52),
        rank: number,
        greedy: None,
        probability: None,
        features: x.into(),
    }
}

fn begin(path: &Path) -> Campaign {
    let config = Config::parse(RULES, Path::new("rules")).unwrap();
    Campaign::create(path, Setup::new(config, Recipe::of_dim(DIM))).unwrap()
}

fn append(campaign: &mut Campaign, sent: &[Sent]) {
    let chosen = Chosen { round: sent[0].id.round, seed: 1, model: Some(1), ..Chosen::default() };
    let head = campaign.head();
    let draft = Draft { decisions: sent, ..Draft::new(Command::Choose(chosen)) };
    campaign.append_all(&head, &[draft]).unwrap();
}

/// Twenty rounds of three of five arms; the first arm's features change in the middle.
fn rounds() -> Vec<Vec<Sent>> {
    let arms = |round: u64| (0..3).map(move |place| (round * 3 + place) % 5);
    let day = |round: u64, arm: u64| u64::from(arm == 0 && round > 10);
    let row = |round, (place, arm): (usize, u64)| sent(round, place as u32 + 1, arm, day(round, arm));
    (1..=20).map(|round| arms(round).enumerate().map(|one| row(round, one)).collect()).collect()
}

fn made(folder: &Folder) -> PathBuf {
    let path = folder.path("c.armwise");
    let mut campaign = begin(&path);
    rounds().iter().for_each(|sent| append(&mut campaign, sent));
    path
}

fn number(path: &Path, sql: &str) -> i64 {
    Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn features_are_kept_once_and_read_as_they_were() {
    let folder = Folder::new("same");
    let path = made(&folder);
    let campaign = Campaign::read(&path).unwrap();
    for sent in rounds() {
        assert_eq!(campaign.sent(sent[0].id.round).unwrap(), sent);
    }
    assert!(campaign.verify().unwrap().good);
    drop(campaign);
    // Five arms, one of them with other features later: the first time in the row, then once for all.
    assert_eq!(number(&path, "SELECT count(*) FROM features"), 6);
    assert_eq!(number(&path, "SELECT count(*) FROM decision WHERE length(features) > 0"), 6);
    // What a program remembers is gone with it, and the next one begins anew.
    let mut campaign = Campaign::write(&path, "test").unwrap();
    for round in 21..=23 {
        append(&mut campaign, &[sent(round, 1, 1, 0)]);
    }
    assert_eq!(campaign.sent(23).unwrap(), [sent(23, 1, 1, 0)]);
    drop(campaign);
    assert_eq!(number(&path, "SELECT count(*) FROM features"), 7);
    assert!(verify(&path).unwrap().findings.is_empty());
}

#[test]
fn whatever_is_changed_where_features_are_kept_is_found() {
    let folder = Folder::new("same-damage");
    let path = made(&folder);
    for (place, sql) in [
        "UPDATE features SET bytes = zeroblob(length(bytes)) WHERE id = (SELECT min(id) FROM features)",
        "UPDATE features SET bytes = x'00' WHERE id = (SELECT min(id) FROM features)",
        "DELETE FROM features WHERE id = (SELECT max(id) FROM features)",
        "UPDATE decision SET same = (SELECT max(id) FROM features) WHERE id = (SELECT min(id) FROM decision WHERE same IS NOT NULL)",
        "UPDATE decision SET same = 7 WHERE id = (SELECT min(id) FROM decision WHERE same IS NOT NULL)",
        "UPDATE decision SET same = NULL WHERE id = (SELECT min(id) FROM decision WHERE same IS NOT NULL)",
        "UPDATE decision SET same = (SELECT min(id) FROM features) WHERE id = (SELECT min(id) FROM decision WHERE same IS NULL)",
    ]
    .into_iter()
    .enumerate()
    {
        let copy = folder.path(&format!("copy-{place}.armwise"));
        fs::copy(&path, &copy).unwrap();
        let db = Connection::open(&copy).unwrap();
        assert!(db.execute(sql, []).is_err(), "the triggers let it pass: {sql}");
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).unwrap();
        assert_eq!(db.execute(sql, []).unwrap(), 1, "{sql}");
        drop(db);
        assert!(!verify(&copy).is_ok_and(|checked| checked.good), "{sql}");
    }
}

#[test]
fn a_customer_is_found_in_every_run_of_rounds() {
    let folder = Folder::new("runs");
    let path = folder.path("c.armwise");
    let mut campaign = begin(&path);
    let wanted = [1, 2, 1022, 1023, 1024, 1025, 70_000, 999_999_999, 1_000_000_000];
    for round in wanted {
        append(&mut campaign, &[sent(round, 1, 9, 0), sent(round, 2, round % 5, 0)]);
    }
    let found = |customer: &str| -> Vec<u64> {
        let journal = Sqlite::open(&path, None).unwrap();
        journal.decisions_of(customer).unwrap().into_iter().map(|named| named.id.round).collect()
    };
    assert_eq!(found("a9"), wanted);
    assert_eq!(found("a3"), [1023, 999_999_999].into_iter().filter(|round| round % 5 == 3).collect::<Vec<_>>());
    assert_eq!(found("a4"), [1024, 999_999_999].into_iter().filter(|round| round % 5 == 4).collect::<Vec<_>>());
    assert!(found("nobody").is_empty());
    let plan: String = Connection::open(&path)
        .unwrap()
        .prepare("EXPLAIN QUERY PLAN SELECT 1 FROM decision WHERE id >> 42 = 3 AND customer = 'a'")
        .unwrap()
        .query_row([], |row| row.get(3))
        .unwrap();
    assert!(plan.contains("decision_customer"), "{plan}");
}

/// A served campaign of schema version 6, made by the program of that time.
#[test]
fn a_file_of_schema_version_6_is_read_as_it_is_and_written_as_version_8() {
    let folder = Folder::new("schema6");
    let path = folder.path("served.armwise");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema6/served.armwise"), &path).unwrap();
    let told = |campaign: &Campaign| {
        let sent: Vec<Vec<Sent>> = (1..=12).map(|round| campaign.sent(round).unwrap()).collect();
        (campaign.head(), campaign.model_hash(), sent)
    };
    let found = || -> Vec<DecisionId> {
        let journal = Sqlite::open(&path, None).unwrap();
        journal.decisions_of("a6").unwrap().into_iter().map(|named| named.id).collect()
    };
    let (before, ids) = (told(&Campaign::read(&path).unwrap()), found());
    assert_eq!(before.0.hash.to_string(), "abf49e979c18cbf33f9fadc962de3f66b4735e354849b1c898e168f8962e082c");
    assert!(verify(&path).unwrap().good && ids.len() == 5);
    assert_eq!(number(&path, "PRAGMA user_version"), 6);
    let mut campaign = Campaign::write(&path, "test").unwrap();
    assert_eq!(number(&path, "PRAGMA user_version"), 8);
    assert_eq!((told(&campaign), found()), (before, ids));
    let last = campaign.sent(12).unwrap();
    let again: Vec<Sent> =
        last.iter().map(|sent| Sent { id: DecisionId { round: 13, ..sent.id }, ..sent.clone() }).collect();
    append(&mut campaign, &again);
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
}
