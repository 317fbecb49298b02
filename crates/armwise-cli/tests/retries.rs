//! Commands that are sent again: killed at every step of a commit and repeated with their key, and what keys, lists and
//! ids of other campaigns mean for exit codes and messages.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use std::fs;

use common::Folder;

/// The steps at which a process can be made to die.
const POINTS: [&str; 6] = ["begun", "rows-written", "entry-written", "before-commit", "committed", "before-publish"];

#[test]
fn a_killed_command_that_is_sent_again_with_its_key_is_carried_out_once() {
    let folder = Folder::with_campaign("keys");
    for (place, point) in POINTS.into_iter().enumerate() {
        let round = place + 1;
        let key = format!("week-{round}");
        let choose = ["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv", "--key", &key];
        let _ = fs::remove_file(folder.path("sends.csv"));
        assert!(!folder.armwise(&choose).env("ARMWISE_FAILPOINT", point).output().unwrap().status.success(), "{point}");
        folder.code(0, &choose);
        let summary = folder.json(&choose);
        assert_eq!(summary["round"], round, "{point}");
        folder.code(0, &["export", "c.armwise", "sends", "--round", &round.to_string(), "--out", "again.csv"]);
        assert_eq!(folder.read("sends.csv"), folder.read("again.csv"), "{point}");
        let status = folder.json(&["status", "c.armwise"]);
        assert_eq!(status["rounds"].as_array().unwrap().len(), round, "{point}");

        let ids = folder.decisions("sends.csv");
        folder.write("r.csv", format!("decision,reward\n{},1\n{},0.5\nr99-1,1\n{},many\n", ids[0], ids[1], ids[2]));
        let key = format!("answers-{round}");
        let learn = ["learn", "c.armwise", "r.csv", "--key", &key, "--rejects", &format!("rejects-of-{point}.csv")];
        let killed = folder.armwise(&learn).env("ARMWISE_FAILPOINT", point).output().unwrap().status.code();
        assert_eq!(killed, if point == "before-publish" { Some(3) } else { None }, "{point}");
        let again = folder.json(&[&learn[..5], &["--rejects", "other.csv"]].concat());
        assert_eq!((again["applied"].as_u64(), again["rejected"].as_u64()), (Some(2), Some(2)), "{point}");
        assert_eq!(folder.read("other.csv").lines().count(), 3, "{point}");
        fs::remove_file(folder.path("other.csv")).unwrap();
        folder.code(0, &["verify", "c.armwise"]);
        let status = folder.json(&["status", "c.armwise"]);
        assert_eq!(status["rounds"][place]["answered"].as_u64(), Some(2), "{point}");
    }
}

#[test]
fn keys_and_lists_have_their_exit_codes() {
    let folder = Folder::with_campaign("codes");
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv", "--key", "one"]);
    folder.write("list.csv", "customer\nC001\n");
    for (code, arguments) in [
        (5, &["choose", "c.armwise", "customers.csv", "--again", "--key", "one", "--seed", "2"][..]),
        (5, &["learn", "c.armwise", "list.csv", "--only-responders", "--key", "one"]),
        (5, &["close", "c.armwise", "--round", "1", "--key", "one"]),
        (2, &["close", "c.armwise", "--round", "1", "--key", ""]),
        (2, &["close", "c.armwise", "--round", "1", "--key", "two words"]),
        (2, &["learn", "c.armwise", "list.csv", "--only-responders=nan"]),
        (2, &["learn", "c.armwise", "list.csv", "--only-responders=inf"]),
        (2, &["choose", "c.armwise", "customers.csv", "--again", "--round", "2147483647"]),
        (2, &["choose", "c.armwise", "customers.csv", "--again", "--round", "0"]),
    ] {
        folder.code(code, arguments);
        assert_eq!(folder.entries(), 2, "{arguments:?}");
    }
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends2.csv"]);
    let said = folder.code(2, &["learn", "c.armwise", "list.csv", "--only-responders"]);
    assert!(said.contains("it can be 1, 2; say it with --round"), "{said}");
    // The sends of one campaign are no answers of another.
    folder.code(0, &["init", "d.armwise", "--from", "customers.csv", "--config", "campaign.toml"]);
    folder.code(0, &["choose", "d.armwise", "customers.csv", "--again", "--out", "other.csv"]);
    folder.code(3, &["learn", "c.armwise", "other.csv", "--only-responders", "--rejects", "foreign.csv"]);
    assert!(folder.read("foreign.csv").contains("is one of another campaign"));
    folder.code(0, &["learn", "c.armwise", "sends.csv", "--only-responders=-0"]);
    assert_eq!(folder.entries(), 4);
    let told = folder.armwise(&["status", "c.armwise"]).output().unwrap().stdout;
    let tag = folder.decisions("sends.csv")[0].rsplit_once('-').unwrap().1.to_owned();
    assert!(String::from_utf8(told).unwrap().contains(&format!("decisions end in -{tag}")));
}

#[test]
fn a_backup_is_a_campaign_and_a_second_name_is_not_written_to() {
    let folder = Folder::with_campaign("backup");
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
    assert_eq!(folder.json(&["backup", "c.armwise", "copy.armwise"])["head"]["seq"], 2);
    folder.code(0, &["verify", "copy.armwise"]);
    assert_eq!(folder.json(&["status", "copy.armwise"]), folder.json(&["status", "c.armwise"]));
    folder.code(5, &["backup", "c.armwise", "copy.armwise"]);
    folder.code(5, &["backup", "c.armwise", "c.armwise"]);
    folder.code(4, &["backup", "none.armwise", "new.armwise"]);
    folder.code(4, &["backup", "c.armwise", "no/such/folder.armwise"]);
    fs::hard_link(folder.path("c.armwise"), folder.path("second.armwise")).unwrap();
    let said = folder.code(6, &["choose", "second.armwise", "customers.csv", "--again"]);
    assert!(said.contains("2 names (hard links)"), "{said}");
    folder.code(0, &["status", "second.armwise"]);
}
