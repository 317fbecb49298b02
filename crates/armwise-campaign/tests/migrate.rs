//! A campaign file of schema version 2, made by the program of that time (`schema2/`), lives on in a new file.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    core::{results, sends},
    round::{ChooseOptions, choose},
    store::sqlite::{migrate, verify},
};
use common::{Folder, below, open};
use std::{
    fs,
    path::{Path, PathBuf},
};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema2").join(name)
}

fn written(folder: &Folder, sheet: &armwise_campaign::table::Sheet) -> String {
    let path = folder.path("sheet.csv");
    sheet.write(&path).unwrap().publish().unwrap();
    fs::read_to_string(path).unwrap()
}

/// Without the campaign's tag, which the old program did not have.
fn plain(campaign: &Campaign, text: &str) -> String {
    let tag = format!("-{}", campaign.tag());
    assert!(text.contains(&tag), "{text}");
    text.replace(&tag, "")
}

#[test]
fn nothing_is_lost() {
    let folder = Folder::new("migrate");
    let (old, new) =
        (folder.write("old.armwise", fs::read(fixture("spring.armwise")).unwrap()), folder.path("new.armwise"));
    for error in
        [Campaign::read(&old).unwrap_err(), Campaign::write(&old, "test").unwrap_err(), verify(&old).unwrap_err()]
    {
        assert!(matches!(error, Error::OldSchema { version: 2, .. }), "{error}");
        assert!(error.to_string().ends_with("it has schema version 2; migrate it first"), "{error}");
    }
    let migrated = migrate(&old, &new).unwrap();
    assert_eq!((migrated.events, migrated.rounds, migrated.decisions, migrated.outcomes), (9, 3, 39, 7));
    assert!(matches!(migrate(&old, &new), Err(Error::Exists { .. })), "never over a file that is there");

    let campaign = Campaign::read(&new).unwrap();
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    // Sends, rewards and fates are those that the old program exported; so are the times. Only the hold-out's silence,
    // which the old program took for an outcome although nobody had asked, is pending: its outcomes may still come.
    let exported = fs::read_to_string(fixture("results.csv")).unwrap();
    let expected = |line: &str| match line.split(',').nth(4) {
        Some("1") => line.replace(",silent,0.125", ",pending,"),
        _ => line.to_owned(),
    };
    let expected: String = exported.lines().map(|line| expected(line) + "\n").collect();
    assert_ne!(expected, exported, "a customer of the hold-out is in a closed round");
    assert_eq!(plain(&campaign, &written(&folder, &results(&campaign, None).unwrap())), expected);
    let times = |path: &Path, table: &str| -> Vec<(String, String)> {
        let db = rusqlite::Connection::open(path).unwrap();
        let mut statement = db.prepare(&format!("SELECT at, kind FROM {table} ORDER BY seq")).unwrap();
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(times(&old, "event"), times(&new, "entry"));
    // The model to the bit: the old program's own file, number by number.
    let text = fs::read_to_string(fixture("learner.json")).unwrap();
    let learner = armwise::Learner::<armwise::Algorithm>::from_json(&text).unwrap();
    assert_eq!(learner.model(), &campaign.model().unwrap());
    // The old history is named in the first entry.
    let head = campaign.setup().migrated.as_ref().unwrap().head.to_string();
    let db = rusqlite::Connection::open(&old).unwrap();
    let hash: String = db.query_row("SELECT hash FROM event ORDER BY seq DESC LIMIT 1", [], |row| row.get(0)).unwrap();
    assert_eq!((head, migrated.old_head.to_string()), (hash.clone(), hash));
    // It goes on as the old one would have: the sends of the next round are those of the old program.
    let table = open(&fixture("customers.csv"));
    let choice = choose(&campaign, &table, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ()).unwrap();
    // What the old program did not know of, the probability of each, comes after its columns.
    let next = plain(&campaign, &written(&folder, &sends(campaign.tag(), &choice.sent)));
    let without = |line: &str| line.rsplit_once(',').unwrap().0.to_owned() + "\n";
    assert!(next.starts_with("customer,promotion,decision,estimated_reward,width,draw,score,rank,probability\n"));
    assert_eq!(next.lines().map(without).collect::<String>(), fs::read_to_string(fixture("next.csv")).unwrap());
    let left: Vec<_> = fs::read_dir(&folder.0).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("unfinished")), "{left:?}");
}

#[test]
fn a_damaged_file_is_refused_or_migrated_as_if_it_were_good() {
    let folder = Folder::new("migrate-damaged");
    let bytes = fs::read(fixture("spring.armwise")).unwrap();
    let (good, new) = (folder.path("good.armwise"), folder.path("new.armwise"));
    migrate(&folder.write("old.armwise", &bytes), &good).unwrap();
    let good = Campaign::read(&good).unwrap();
    let (mut refused, mut same) = (0, 0);
    for case in 0..120 {
        let mut damaged = bytes.clone();
        damaged[below(21, case, bytes.len())] ^= 1 << below(22, case, 8);
        let old = folder.write("damaged.armwise", &damaged);
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(folder.path(&format!("new.armwise{end}")));
            if !end.is_empty() {
                let _ = fs::remove_file(folder.path(&format!("damaged.armwise{end}")));
            }
        }
        if migrate(&old, &new).is_ok() {
            let campaign = Campaign::read(&new).unwrap();
            assert_eq!((campaign.head(), campaign.setup()), (good.head(), good.setup()), "case {case}");
            same += 1;
        } else {
            assert!(!new.exists(), "case {case}");
            refused += 1;
        }
    }
    assert!(refused > 20 && same > 0, "{refused} refused, {same} the same");
}
