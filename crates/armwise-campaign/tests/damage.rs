//! A campaign file that was damaged: found or recovered, never silently another one.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    file::{EventKind, Outcome, Sent, model_hash, verify},
    learn::close,
};
use common::{Folder, TWO, begin, below, choose_round, customers, learn_text};
use std::fs;

/// Everything that a campaign says.
#[derive(Debug, PartialEq)]
struct Said {
    head: String,
    model: String,
    sent: Vec<Vec<Sent>>,
    outcomes: Vec<Vec<Outcome>>,
    setup: armwise_campaign::file::Setup,
}

fn said(campaign: &Campaign) -> Result<Said, Error> {
    let rounds: Vec<u64> = campaign.rounds().into_keys().collect();
    Ok(Said {
        head: campaign.head().to_owned(),
        model: model_hash(&campaign.model()?),
        sent: rounds.iter().map(|&round| campaign.sent(round)).collect::<Result<_, _>>()?,
        outcomes: (1..=campaign.events().len() as u64)
            .filter(|&seq| campaign.events()[seq as usize - 1].kind == EventKind::Learn)
            .map(|seq| campaign.outcomes(seq))
            .collect::<Result<_, _>>()?,
        setup: campaign.setup().clone(),
    })
}

/// The file is damaged or cannot be read; nothing else is wrong.
fn is_storage(error: &Error) -> bool {
    matches!(error, Error::Damaged { .. } | Error::Storage { .. })
}

fn campaign(folder: &Folder) -> std::path::PathBuf {
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(folder, &table, TWO).unwrap();
    for round in 1..=2 {
        choose_round(&mut campaign, &table).unwrap();
        let text = format!("decision,reward\nr{round}-1,1\nr{round}-3,0.25\nr{round}-16,0.5\n");
        learn_text(&mut campaign, folder, EventKind::Learn, &text).unwrap();
    }
    close(&mut campaign, 1).unwrap();
    campaign.path().to_owned()
}

#[test]
fn byte_flips_and_truncations_are_found_or_change_nothing() {
    let folder = Folder::new("flips");
    let path = campaign(&folder);
    let good = said(&Campaign::read(&path).unwrap()).unwrap();
    let bytes = fs::read(&path).unwrap();
    let copy = folder.path("copy.armwise");
    let (mut found, mut recovered, mut harmless) = (0, 0, 0);
    for case in 0..1000 {
        let place = below(11, case, bytes.len());
        let mut damaged = bytes.clone();
        if case % 10 == 9 {
            damaged.truncate(place);
        } else {
            damaged[place] ^= 1 << below(12, case, 8);
        }
        for leftover in ["copy.armwise-wal", "copy.armwise-shm"] {
            let _ = fs::remove_file(folder.path(leftover));
        }
        fs::write(&copy, &damaged).unwrap();
        // What a command would see, without a check first: an error or the truth.
        let seen = Campaign::read(&copy).and_then(|campaign| said(&campaign));
        let checked = verify(&copy);
        match (&seen, &checked) {
            (Ok(seen), Ok(checked)) => {
                assert_eq!(seen, &good, "case {case}, byte {place}");
                if checked.good { harmless += 1 } else { recovered += 1 }
            }
            (Err(error), Ok(checked)) => {
                assert!(!checked.good, "case {case}, byte {place}: {error}");
                assert!(is_storage(error), "case {case}, byte {place}: {error}");
                found += 1;
            }
            (_, Err(error)) => {
                assert!(is_storage(error), "case {case}, byte {place}: {error}");
                found += 1;
            }
        }
    }
    assert!(found > 300 && recovered > 0, "{found} found, {recovered} recovered, {harmless} harmless");
}

#[test]
fn a_damaged_snapshot_is_made_anew() {
    let folder = Folder::new("snapshot");
    let path = campaign(&folder);
    let good = said(&Campaign::read(&path).unwrap()).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE snapshot SET model = replace(model, '1', '2') WHERE round = 1", []).unwrap();
    db.execute("DELETE FROM snapshot WHERE round = 2", []).unwrap();
    assert!(db.execute("UPDATE event SET at = ''", []).is_err(), "the log only grows");
    assert!(db.execute("DELETE FROM outcome", []).is_err(), "the log only grows");
    drop(db);
    assert_eq!(said(&Campaign::read(&path).unwrap()).unwrap(), good);
    let checked = verify(&path).unwrap();
    assert_eq!((checked.good, checked.findings.len(), checked.replayed), (false, 2, Some(good.model.clone())));
    // The next event writes it again.
    let mut campaign = Campaign::write(&path, "test").unwrap();
    close(&mut campaign, 2).unwrap();
    learn_text(&mut campaign, &folder, EventKind::Correct, "decision,reward\nr1-1,0.5\n").unwrap();
    assert!(campaign.verify().good);
}

#[test]
fn one_writer_at_a_time_and_the_lock_names_it() {
    let folder = Folder::new("lock");
    let path = campaign(&folder);
    let writer = Campaign::write(&path, "choose").unwrap();
    match Campaign::write(&path, "learn") {
        Err(error @ Error::Locked { .. }) => {
            assert!(error.to_string().contains(&format!("armwise choose, process {}", std::process::id())), "{error}");
        }
        other => panic!("{other:?}"),
    }
    assert!(Campaign::read(&path).is_ok(), "readers are not kept out");
    drop(writer);
    assert!(Campaign::write(&path, "learn").is_ok());
}

#[test]
fn the_view_for_analysts_says_what_the_campaign_says() {
    let folder = Folder::new("view");
    let path = campaign(&folder);
    let campaign = Campaign::read(&path).unwrap();
    let status = armwise_campaign::look::status(&campaign).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().cast_unsigned();
    for line in &status.rounds {
        for (fate, expected) in [("answered", line.answered), ("silent", line.silent), ("pending", line.pending)] {
            let sql = format!("SELECT count(*) FROM result WHERE round = {} AND fate = '{fate}'", line.round);
            assert_eq!(count(&sql), expected);
        }
    }
    let sum: f64 = db.query_row("SELECT sum(reward) FROM result", [], |row| row.get(0)).unwrap();
    assert!((sum - 3.5).abs() < 1e-12);
}
