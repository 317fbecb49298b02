//! A journal whose chain is good but whose entries do not say what its rows say: `verify` finds it.
//!
//! Each case forges one entry and hashes the chain anew from there, as somebody would who wants to hide it.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign,
    config::Config,
    core::{Changes, Entry, Feedback, Head, Journal, Kind, Record, Rows, Setup, Sha, Verified},
    recipe::fit,
    store::memory::Memory,
};
use common::{Folder, TWO, choose_round, customers, learn_text, open};
use std::path::Path;

type Forge<'a> = Box<dyn Fn(&mut Entry) + 'a>;

/// A campaign of two rounds, with a checkpoint and some entries after it.
fn campaign(folder: &Folder) -> Memory {
    let table = folder.write("customers.csv", customers(60));
    let config = Config::parse(&format!("customer = \"customer\"\n{TWO}"), Path::new("rules")).unwrap();
    let recipe = fit(&config, &open(&table)).unwrap();
    let memory = Memory::default();
    let mut campaign = Campaign::begin(Box::new(memory.clone()), Setup::new(config, recipe)).unwrap();
    for round in 1..=2 {
        choose_round(&mut campaign, &table).unwrap();
        for change in 0..35 {
            let feedback = if change == 0 { Feedback::Rewards } else { Feedback::Corrections };
            let text = format!("decision,reward\nr{round}-1,{change}\n");
            assert_eq!(learn_text(&mut campaign, folder, feedback, &text).unwrap().0.applied, 1);
        }
    }
    memory
}

/// The journal once more, with entries changed and hashed anew.
fn forged(journal: &Memory, forge: impl Fn(&mut Entry)) -> Memory {
    let mut copy = Memory::default();
    let (mut head, kept) = (Head::none(), journal.kept().unwrap().unwrap());
    for mut entry in journal.entries(0).unwrap() {
        forge(&mut entry);
        entry.hash = entry.chained(&head);
        let decisions = entry.round.map_or(Vec::new(), |round| journal.decisions(round).unwrap());
        let outcomes = journal.outcomes(entry.seq).unwrap();
        let rows = [Rows { seq: entry.seq, decisions: &decisions, outcomes: &outcomes }];
        let sums = [1, 2].into_iter().filter_map(|segment| Some((segment, journal.sums(segment).unwrap()?))).collect();
        let kept = (entry.seq == kept.seq).then(|| kept.clone());
        let record = Record { entry, sums, kept };
        head = copy.append(&head, &rows, &mut || Ok(vec![record.clone()])).unwrap()[0].head();
    }
    copy
}

fn verified(journal: &Memory) -> Verified {
    Verified::of(Campaign::open(Box::new(journal.clone()))).unwrap()
}

#[test]
fn entries_that_contradict_their_rows_are_found() {
    let folder = Folder::new("verify");
    let journal = campaign(&folder);
    assert!(verified(&journal).good, "{:?}", verified(&journal).findings);
    let copy = verified(&forged(&journal, |_| ()));
    assert!(copy.good && copy.head == verified(&journal).head, "the copy itself is good");
    let last = journal.entries(0).unwrap().last().unwrap().seq;
    let checkpoint = journal.kept().unwrap().unwrap().seq;
    assert!(checkpoint < last, "some entries come after it");
    let changed = |entry: &mut Entry, change: &dyn Fn(&mut Changes)| {
        let mut changes: Changes = serde_json::from_str(&entry.changes).unwrap();
        change(&mut changes);
        entry.changes = serde_json::to_string(&changes).unwrap();
    };
    let at = |seq: u64, change: &'static dyn Fn(&mut Changes)| -> Forge<'_> {
        Box::new(move |entry| {
            if entry.seq == seq {
                changed(entry, change);
            }
        })
    };
    let cases: Vec<(Forge<'_>, &str)> = vec![
        // The last entry about round 1, before the checkpoint.
        (at(37, &|changes| changes.rounds[0].counts.answered += 1), "checkpoint"),
        (at(last, &|changes| changes.rounds[0].counts.answered += 1), "the counts of round 2"),
        (at(last, &|changes| changes.rounds[0].counts.rewards += 1e-9), "the counts of round 2"),
        (at(last, &|changes| changes.rounds[0].heard = Sha::of("else")), "the 35 outcomes of round 2"),
        (at(last, &|changes| changes.sums[0].hash = Sha::of("else")), "the sums of segment 2"),
        (
            Box::new(|entry| {
                if entry.seq == last {
                    entry.model = Sha::of("else");
                }
            }),
            "the model summed from the rows",
        ),
        (
            Box::new(|entry| {
                if entry.seq == last {
                    entry.digest = Sha::of("else");
                }
            }),
            "the 1 rows of entry",
        ),
        (
            Box::new(|entry| {
                if entry.kind == Kind::Checkpoint {
                    let mut body: serde_json::Value = serde_json::from_str(&entry.body).unwrap();
                    body["model"] = Sha::of("else").to_string().into();
                    entry.body = body.to_string();
                }
            }),
            "has not the model of its rows",
        ),
    ];
    for (forge, expected) in cases {
        let found = verified(&forged(&journal, forge));
        assert!(
            !found.good && found.findings.iter().any(|finding| finding.damaged.contains(expected)),
            "{expected}: {:?}",
            found.findings
        );
    }
}
