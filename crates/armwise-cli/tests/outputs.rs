//! What a command writes never takes the place of what it reads, is refused before anything is done, and is cleaned up
//! after a death.
//!
//! On the program before these tests, `report c.armwise --html c.armwise` destroyed the campaign with exit code 0, and a
//! choice whose sends could not be written left a round that nobody was sent.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
#![cfg(unix)]

mod common;

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    process::Command,
};

use common::{Folder, shim, wants};

#[test]
fn an_output_never_takes_the_place_of_a_campaign_or_an_input() {
    let folder = Folder::with_campaign("instead");
    folder.code(0, &["init", "other.armwise", "--from", "customers.csv", "--config", "campaign.toml"]);
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
    folder.write("answers.csv", "decision,reward\nnobody,1\n");
    fs::create_dir(folder.path("folder.csv")).unwrap();
    symlink("c.armwise", folder.path("link.csv")).unwrap();
    symlink("customers.csv", folder.path("table.csv")).unwrap();
    fs::hard_link(folder.path("customers.csv"), folder.path("second-name.csv")).unwrap();
    let before = folder.json(&["status", "c.armwise"]);
    let (customers, names) = (folder.read("customers.csv"), folder.names());
    let choose = ["choose", "c.armwise", "customers.csv", "--again", "--out"];
    let cases: [(&[&str], &[&str]); 6] = [
        (&choose, &["customers.csv", "./customers.csv", "table.csv", "second-name.csv", "link.csv", "folder.csv"]),
        (&["choose", "c.armwise", "customers.csv", "--again", "--dry-run", "--out"], &["customers.csv", "link.csv"]),
        (&["report", "c.armwise", "--html"], &["c.armwise", "c.armwise.lock", "c.armwise-wal", "other.armwise", "."]),
        (&["export", "c.armwise", "learner", "--out"], &["c.armwise", "link.csv", "c.armwise-shm", "other.armwise"]),
        (&["export", "c.armwise", "results", "--out"], &["link.csv", "folder.csv"]),
        (&["learn", "c.armwise", "answers.csv", "--rejects"], &["answers.csv", "link.csv", "folder.csv"]),
    ];
    for (arguments, outs) in cases {
        for out in outs {
            let said = folder.code(2, &[arguments, &[*out]].concat());
            assert!(said.contains("cannot be written to: it is ") && said.lines().count() == 1, "{said}");
        }
    }
    // Under a second name the campaign itself is the same file, too.
    fs::hard_link(folder.path("c.armwise"), folder.path("hard.html")).unwrap();
    folder.code(2, &["report", "c.armwise", "--html", "hard.html"]);
    fs::remove_file(folder.path("hard.html")).unwrap();
    assert_eq!(folder.json(&["status", "c.armwise"]), before);
    assert_eq!(folder.read("customers.csv"), customers);
    assert_eq!(folder.names(), names, "nothing is left");
    folder.code(0, &["verify", "c.armwise"]);
    folder.code(0, &["verify", "other.armwise"]);
}

#[test]
fn a_choice_whose_sends_cannot_be_written_leaves_no_round() {
    let folder = Folder::with_campaign("no-round");
    fs::create_dir(folder.path("folder.csv")).unwrap();
    for (code, out) in [(2, "folder.csv"), (4, "nowhere/sends.csv"), (2, "sends.xls"), (2, "sends.arrow")] {
        folder.code(code, &["choose", "c.armwise", "customers.csv", "--again", "--out", out]);
        assert_eq!(folder.entries(), 1, "{out}");
    }
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
    assert_eq!(folder.decisions("sends.csv").len(), 5);
    assert_eq!(folder.entries(), 2, "the first round that was chosen");
}

#[test]
fn rows_put_aside_take_the_place_of_nothing_and_are_opened_before_anything_is_learned() {
    let folder = Folder::with_campaign("rejects");
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
    let decision = &folder.decisions("sends.csv")[0];
    folder.write("first.csv", format!("decision,reward\n{decision},1\nfirst,1\n"));
    folder.write("old.csv", "who was put aside last week\n");
    let before = folder.entries();
    for (code, rejects) in [(4, "nowhere/r.csv"), (5, "old.csv"), (2, "r.xls"), (2, "first.csv")] {
        folder.code(code, &["learn", "c.armwise", "first.csv", "--rejects", rejects]);
        assert_eq!(folder.entries(), before, "{rejects}: nothing was learned");
    }
    assert_eq!(folder.read("old.csv"), "who was put aside last week\n");
    // The first free name.
    assert_eq!(folder.json(&["learn", "c.armwise", "first.csv"])["rejects"], "rejects.csv");
    folder.write("second.csv", "decision,reward\nsecond,1\n");
    assert_eq!(folder.json(&["learn", "c.armwise", "second.csv"])["rejects"], "rejects-2.csv");
    assert!(folder.read("rejects.csv").contains("first") && folder.read("rejects-2.csv").contains("second"));
    // The rows put aside, looked through and learned again: the input stays.
    let input = folder.read("rejects.csv");
    assert!(folder.code(3, &["learn", "c.armwise", "rejects.csv"]).contains("rejects-3.csv"));
    assert_eq!(folder.read("rejects.csv"), input);
    // Nothing put aside, no file.
    folder.write("good.csv", format!("decision,reward\n{decision},1\n"));
    assert!(folder.json(&["learn", "c.armwise", "good.csv"])["rejects"].is_null());
    assert!(!folder.path("rejects-4.csv").exists());
}

#[test]
fn what_a_dead_process_left_is_removed_and_what_a_living_one_writes_is_not() {
    let folder = Folder::with_campaign("abandoned");
    let parts = || folder.names().into_iter().filter(|name| name.contains("part")).collect::<Vec<_>>();
    for _ in 0..2 {
        let mut choose = folder.armwise(&["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
        assert!(!choose.env("ARMWISE_FAILPOINT", "before-publish").status().unwrap().success());
        assert_eq!(parts().len(), 1, "the sends of the process that died; those of the one before are gone");
    }
    let living = File::create(folder.path(".armwise-4000000000-0.part")).unwrap();
    living.try_lock().unwrap();
    folder.write("mine.part", "not ours");
    folder.code(0, &["report", "c.armwise", "--html", "report.html"]);
    assert_eq!(parts(), [".armwise-4000000000-0.part", "mine.part"]);
    drop(living);
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
    assert_eq!(parts(), ["mine.part"]);
}

#[test]
fn every_rename_is_followed_by_a_sync_of_its_folder() {
    let folder = Folder::with_campaign("sync");
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
    folder.write("answers.csv", "decision,reward\nnobody,1\n");
    let commands: [(i32, &[&str]); 5] = [
        (0, &["init", "d.armwise", "--from", "customers.csv", "--config", "campaign.toml"]),
        (0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "next.csv"]),
        (3, &["learn", "c.armwise", "answers.csv"]),
        (0, &["report", "c.armwise", "--html", "report.html"]),
        (0, &["export", "c.armwise", "learner", "--out", "learner.json"]),
    ];
    let (shim, of_folder) = (shim(&folder), format!("sync {}", folder.0.canonicalize().unwrap().display()));
    for (code, arguments) in commands {
        let trace = folder.path("trace");
        let _ = fs::remove_file(&trace);
        wants(code, folder.armwise(arguments).env("LD_PRELOAD", &shim).env("ARMWISE_TRACE", &trace));
        let trace = folder.read("trace");
        let calls: Vec<&str> = trace.lines().collect();
        let renames: Vec<usize> = (0..calls.len()).filter(|&place| calls[place].starts_with("rename")).collect();
        assert!(!renames.is_empty(), "{arguments:?}: {trace}");
        for place in renames {
            assert!(calls[place + 1..].contains(&of_folder.as_str()), "{arguments:?}: {trace}");
            let own = calls[..place].iter().any(|call| call.starts_with("sync") && call.contains("/.armwise-"));
            assert!(own, "{arguments:?}: the file itself is synced before: {trace}");
        }
    }
}

#[test]
fn a_name_with_gz_is_compressed_and_reads_back() {
    let folder = Folder::with_campaign("gz");
    let said = folder.armwise(&["choose", "c.armwise", "customers.csv", "--again", "--dry-run"]).output().unwrap();
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv.gz"]);
    let packed = fs::read(folder.path("sends.csv.gz")).unwrap();
    assert_eq!(packed[..2], [0x1f, 0x8b]);
    let unpacked = Command::new("gzip").args(["-dc", "sends.csv.gz"]).current_dir(&folder.0).output().unwrap();
    assert_eq!(unpacked.stdout, said.stdout);
    folder.code(0, &["learn", "c.armwise", "sends.csv.gz", "--only-responders"]);
}

#[test]
fn names_do_not_steer_the_terminal() {
    let folder = Folder::new("escape");
    let evil = "\u{1b}[2J\u{9b}31m\u{202e}x";
    folder.write("customers.csv", format!("customer,age,{evil}\nA{evil},1,{evil}\nB{evil},3,b\nC,5,b\n"));
    let promotion = format!("mail{evil}=2");
    let region = format!("segment = {}\n", serde_json::to_string(evil).unwrap().replace('\u{9b}', "\\u009b"));
    folder.code(0, &["init", "c.armwise", "--from", "customers.csv", "--promotion", &promotion]);
    folder.write("c.toml", region + &folder.read("campaign.toml"));
    folder.code(0, &["init", "d.armwise", "--from", "customers.csv", "--config", "c.toml"]);
    let customer = format!("A{evil}");
    let commands: [&[&str]; 7] = [
        &["choose", "d.armwise", "customers.csv", "--again", "--out", "sends.csv"],
        &["status", "d.armwise"],
        &["why", "d.armwise", &customer, "--table", "customers.csv"],
        &["why", "d.armwise", evil],
        &["status", evil],
        &["learn", "d.armwise", evil, "--format", "csv"],
        &["why", "d.armwise", &customer, "--table", "customers.csv", "--json"],
    ];
    for arguments in commands {
        let output = folder.armwise(arguments).output().unwrap();
        for text in [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()) {
            assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{arguments:?}: {text:?}");
        }
    }
    let why = folder.json(&["why", "d.armwise", &customer, "--table", "customers.csv"]);
    assert_eq!(why["customer"], customer, "a program reads the name as it is");
    assert!(folder.read("sends.csv").contains(evil), "a file has the name as it is");
}

/// Ids must read back, so formulas are left as they are unless asked for.
#[test]
fn formulas_are_disarmed_where_a_spreadsheet_is_to_open_the_sends() {
    let folder = Folder::new("formula");
    folder.write("customers.csv", "customer,age\n=cmd()|x,1\n-5,2\n+49 30 1,3\n@me,5\nplain,8\n");
    folder.code(0, &["init", "c.armwise", "--from", "customers.csv", "--promotion", "mail=5"]);
    let said = folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
    assert!(said.contains("4 sends have a name that a spreadsheet takes for a formula; --for-spreadsheets"), "{said}");
    let sends = folder.read("sends.csv");
    for name in ["=cmd()|x", "-5", "+49 30 1", "@me", "plain"] {
        assert!(sends.contains(&format!("\n{name},")), "{sends}");
    }
    folder.code(0, &["export", "c.armwise", "sends", "--round", "1", "--out", "safe.csv", "--for-spreadsheets"]);
    let safe = folder.read("safe.csv");
    for name in ["'=cmd()|x", "'-5", "'+49 30 1", "'@me", "plain"] {
        assert!(safe.contains(&format!("\n{name},")), "{safe}");
    }
    // Numbers below zero are numbers in both.
    let numbers =
        |text: &str| text.lines().skip(1).map(|line| line.split(',').skip(3).collect::<String>()).collect::<Vec<_>>();
    assert_eq!(numbers(&safe), numbers(&sends));
    // What was changed is not guessed back; what was not reads back.
    assert!(folder.code(3, &["learn", "c.armwise", "safe.csv", "--only-responders"]).contains("1 applied"));
    assert!(folder.code(0, &["learn", "c.armwise", "sends.csv", "--only-responders"]).contains("4 applied"));
}

#[test]
fn standard_input_is_not_copied_through_somebody_elses_link() {
    let folder = Folder::with_campaign("spool");
    fs::create_dir(folder.path("tmp")).unwrap();
    folder.write("victim", "precious");
    // The shell keeps its number when it becomes the command.
    let script = "ln -s ../victim tmp/armwise-stdin-$$; exec \"$0\" choose c.armwise - --format csv --dry-run";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, env!("CARGO_BIN_EXE_armwise")]).current_dir(&folder.0);
    shell.env("TMPDIR", folder.path("tmp")).stdin(File::open(folder.path("customers.csv")).unwrap());
    wants(0, &mut shell);
    assert_eq!(folder.read("victim"), "precious");
}
