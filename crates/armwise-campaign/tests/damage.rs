//! A campaign file that was damaged: found or recovered, never silently another one.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    core::{Feedback, Head, Kind, Outcome, Sent, Setup, Sha, close, model_hash},
    store::sqlite::verify,
};
use common::{Folder, TWO, begin, below, choose_round, customers, learn_text};
use std::fs;

/// Everything that a campaign says.
#[derive(Debug, PartialEq)]
struct Said {
    head: Head,
    model: Sha,
    sent: Vec<Vec<Sent>>,
    outcomes: Vec<Vec<Outcome>>,
    setup: Setup,
}

fn said(campaign: &Campaign) -> Result<Said, Error> {
    let rounds: Vec<u64> = campaign.rounds().keys().copied().collect();
    Ok(Said {
        head: campaign.head(),
        model: model_hash(&campaign.model()?),
        sent: rounds.iter().map(|&round| campaign.sent(round)).collect::<Result<_, _>>()?,
        outcomes: campaign
            .entries()?
            .iter()
            .filter(|entry| entry.kind == Kind::Learn)
            .map(|entry| campaign.outcomes(entry.seq))
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
        learn_text(&mut campaign, folder, Feedback::Rewards, &text).unwrap();
    }
    close(&mut campaign, 1, None).unwrap();
    campaign.path().to_owned()
}

/// The same with so many entries that it is opened from a checkpoint.
fn long_campaign(folder: &Folder) -> std::path::PathBuf {
    let path = campaign(folder);
    let mut campaign = Campaign::write(&path, "test").unwrap();
    for number in 4..=12 {
        for reward in 0..8 {
            let text = format!("decision,reward\nr2-{number},{}\n", f64::from(reward) / 4.0);
            let feedback = if reward == 0 { Feedback::Rewards } else { Feedback::Corrections };
            assert_eq!(learn_text(&mut campaign, folder, feedback, &text).unwrap().0.applied, 1);
        }
    }
    assert!(campaign.entries().unwrap().iter().any(|entry| entry.kind == Kind::Checkpoint));
    path
}

#[test]
fn byte_flips_and_truncations_are_found_or_change_nothing() {
    let folder = Folder::new("flips");
    let path = campaign(&folder);
    // More rounds, so that the pages of the file are not mostly empty.
    let mut campaign = Campaign::write(&path, "test").unwrap();
    for _ in 0..8 {
        choose_round(&mut campaign, &folder.path("customers.csv")).unwrap();
    }
    drop(campaign);
    flip(&folder, &path, 1000);
}

#[test]
fn byte_flips_and_truncations_behind_a_checkpoint_are_found_or_change_nothing() {
    let folder = Folder::new("long-flips");
    let path = long_campaign(&folder);
    flip(&folder, &path, 400);
}

/// A checkpoint whose bytes are not those of the chain is passed over, and the next entry makes another.
#[test]
fn a_damaged_checkpoint_is_made_anew() {
    let folder = Folder::new("checkpoint");
    let path = long_campaign(&folder);
    let good = said(&Campaign::read(&path).unwrap()).unwrap();
    for damage in
        ["UPDATE checkpoint SET state = zeroblob(100)", "UPDATE checkpoint SET model = state", "DELETE FROM checkpoint"]
    {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.execute(damage, []).unwrap();
        drop(db);
        let campaign = Campaign::read(&path).unwrap();
        assert_eq!(said(&campaign).unwrap(), good, "{damage}");
        let checked = campaign.verify().unwrap();
        assert_eq!((checked.good, checked.findings.len()), (false, 1), "{damage}: {:?}", checked.findings);
    }
    let mut campaign = Campaign::write(&path, "test").unwrap();
    close(&mut campaign, 2, None).unwrap();
    drop(campaign);
    let campaign = Campaign::read(&path).unwrap();
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    assert_eq!(campaign.entries().unwrap().last().unwrap().kind, Kind::Checkpoint);
}

fn flip(folder: &Folder, path: &std::path::Path, cases: u64) {
    let good = said(&Campaign::read(path).unwrap()).unwrap();
    let bytes = fs::read(path).unwrap();
    let copy = folder.path("copy.armwise");
    let (mut found, mut recovered, mut harmless) = (0, 0, 0);
    for case in 0..cases {
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
    assert!(found * 1000 > 300 * cases && recovered > 0, "{found} found, {recovered} recovered, {harmless} harmless");
}

#[test]
fn damaged_sums_are_made_anew() {
    let folder = Folder::new("sums");
    let path = campaign(&folder);
    let good = said(&Campaign::read(&path).unwrap()).unwrap();
    let db = rusqlite::Connection::open(&path).unwrap();
    // Other sums in the right form: only the chain tells that they are not the right ones.
    db.execute("UPDATE sums SET bytes = (SELECT bytes FROM sums WHERE segment = 2) WHERE segment = 1", []).unwrap();
    db.execute("DELETE FROM sums WHERE segment = 2", []).unwrap();
    assert!(db.execute("UPDATE entry SET at = ''", []).is_err(), "the journal only grows");
    assert!(db.execute("DELETE FROM outcome", []).is_err(), "the journal only grows");
    drop(db);
    assert_eq!(said(&Campaign::read(&path).unwrap()).unwrap(), good);
    let checked = verify(&path).unwrap();
    assert_eq!((checked.good, checked.findings.len(), checked.replayed), (false, 2, Some(good.model)));
    // The next entries write them again.
    let mut campaign = Campaign::write(&path, "test").unwrap();
    close(&mut campaign, 2, None).unwrap();
    learn_text(&mut campaign, &folder, Feedback::Corrections, "decision,reward\nr1-1,0.5\n").unwrap();
    assert!(campaign.verify().unwrap().good);
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
    let status = armwise_campaign::core::status(&campaign).unwrap();
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
