//! Beginning a campaign: what could not be used later is refused, deaths and races leave nothing in the way, and nothing
//! takes more memory than there is.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
#![cfg(unix)]

mod common;

use std::{
    fmt::Write as _,
    fs,
    process::Command,
    time::{Duration, Instant},
};

use common::{Folder, shim, wants};

#[test]
fn a_number_that_no_feature_can_be_made_of_is_refused_with_its_place() {
    for number in ["1e300", "-1.7e308", "1.0000001e100", "nan", "NaN", "inf", "-Infinity", "1e999"] {
        let folder = Folder::new("extreme");
        folder.write("customers.csv", format!("customer,age,income\na,1,2\nb,2,{number}\nc,3,4\n"));
        let said = folder.code(2, &["init", "c.armwise", "--from", "customers.csv", "--promotion", "mail=1"]);
        assert!(said.contains("customers.csv: row 2, column \"income\": "), "{said}");
        assert_eq!(folder.names(), ["customers.csv"], "nothing is left, so the mended table can be begun with");
    }
    // The same rule holds when a round is chosen.
    let folder = Folder::with_campaign("later");
    folder.write("next.csv", "customer,age\na,1\nb,1e300\nc,1\nd,1\ne,1\nf,1\n");
    let said = folder.code(2, &["choose", "c.armwise", "next.csv"]);
    assert!(said.contains("next.csv: row 2, column \"age\": 1e300 is too large"), "{said}");
    // What is just small enough works to the end.
    folder.write("next.csv", "customer,age\na,1\nb,1e100\nc,1\nd,-1e100\ne,1\nf,1\n");
    folder.code(0, &["choose", "c.armwise", "next.csv"]);
    folder.code(0, &["init", "d.armwise", "--from", "next.csv", "--config", "campaign.toml"]);
    folder.code(0, &["choose", "d.armwise", "next.csv"]);
    folder.code(0, &["verify", "d.armwise"]);
}

#[test]
fn a_value_that_hides_the_others_is_named() {
    let folder = Folder::new("sentinel");
    let mut table = String::from("customer,age,visits,income\n");
    for i in 0..400 {
        let (age, visits) = (if i == 37 { 999_999 } else { 18 + i % 60 }, if i % 50 == 0 { i / 50 } else { 0 });
        // Incomes have a long tail, which is nothing unusual.
        let _ = writeln!(table, "c{i},{age},{visits},{}", (f64::from(i) / 40.0).exp());
    }
    folder.write("customers.csv", table);
    let said = folder.code(0, &["init", "c.armwise", "--from", "customers.csv", "--promotion", "mail=5"]);
    assert!(said.contains("warning: column \"age\", row 38: 999999 is far from the other values"), "{said}");
    assert_eq!(said.matches("warning").count(), 1, "{said}");
}

#[test]
fn a_draft_writes_the_rules_and_nothing_else_and_asks_about_outcomes() {
    let folder = Folder::new("draft");
    let mut table = String::from("customer,age,mens,visit,spend\n");
    (0..50).for_each(|i| writeln!(table, "c{i},{},{},{},{}", 20 + i, i % 2, i % 2, i * 3).unwrap());
    folder.write("customers.csv", table);
    let init = ["init", "c.armwise", "--from", "customers.csv", "--promotion", "mail=5", "--promotion", "call=3"];
    let said = folder.code(0, &[&init[..], &["--draft"]].concat());
    assert_eq!(folder.names(), ["campaign.toml", "customers.csv"], "no campaign yet");
    for column in ["visit", "spend"] {
        assert!(said.contains(&format!("column \"{column}\" is left out: it looks like an outcome")), "{said}");
    }
    assert!(said.contains("armwise init c.armwise --from customers.csv --config campaign.toml"), "{said}");
    let draft = fs::read_to_string(folder.path("campaign.toml")).unwrap();
    assert!(draft.contains("name = \"call\"") && draft.contains("# Is \"visit\" known before a send?"), "{draft}");
    assert!(draft.contains("name = \"mens\"\nkind = \"categorical\""), "{draft}");
    folder.code(0, &["init", "c.armwise", "--from", "customers.csv", "--config", "campaign.toml"]);
    folder.code(0, &["choose", "c.armwise", "customers.csv"]);
    folder.code(2, &["init", "d.armwise", "--from", "customers.csv", "--config", "campaign.toml", "--draft"]);
}

/// The second init looks whether there is a campaign, waits for the lock while the first one begins and ends, and then
/// used to fail and remove the file of the first.
#[test]
fn an_init_that_loses_a_race_leaves_the_winners_file() {
    let folder = Folder::with_campaign("race");
    let shim = shim(&folder);
    let init = ["init", "new.armwise", "--from", "customers.csv", "--config", "campaign.toml"];
    let mut slow = folder.armwise(&init);
    let mut slow = slow.env("LD_PRELOAD", &shim).env("ARMWISE_SLOW_LOCK", "1500").spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    folder.code(0, &init);
    assert_eq!(slow.wait().unwrap().code(), Some(5));
    folder.code(0, &["verify", "new.armwise"]);
    folder.code(0, &["choose", "new.armwise", "customers.csv"]);
}

#[test]
fn a_killed_init_is_not_in_the_way_of_its_retry() {
    let folder = Folder::new("killed");
    folder.write("customers.csv", "customer,age\na,1\nb,2\nc,3\n");
    let init = ["init", "c.armwise", "--from", "customers.csv", "--promotion", "mail=1"];
    for point in ["begun", "entry-written", "init-before-commit", "committed", "init-before-publish"] {
        let died = folder.armwise(&init).env("ARMWISE_FAILPOINT", point).output().unwrap();
        assert!(!died.status.success(), "{point}");
        folder.code(4, &["status", "c.armwise"]);
    }
    folder.code(0, &init);
    folder.code(0, &["choose", "c.armwise", "customers.csv"]);
    folder.code(0, &["verify", "c.armwise"]);
    let left = folder.names().into_iter().filter(|name| name.contains("part")).count();
    assert_eq!(left, 0, "{:?}", folder.names());
    // Rules of another command are not written over.
    folder.code(5, &["init", "d.armwise", "--from", "customers.csv", "--promotion", "call=1"]);
}

/// Runs with 4 GB of memory; what asks for more is a death by a signal.
fn with_little_memory(folder: &Folder, code: i32, arguments: &[&str]) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v 4194304; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_armwise")]).args(arguments);
    let start = Instant::now();
    let said = wants(code, shell.current_dir(&folder.0));
    assert!(start.elapsed() < Duration::from_secs(30), "{arguments:?} took {:?}", start.elapsed());
    said
}

#[test]
fn bombs_are_refused_before_the_memory_is_gone() {
    let folder = Folder::new("bombs");
    folder.write("customers.csv", "customer,age\na,1\nb,2\nc,3\n");
    // Six hundred million commas in a small file, as the header and as a row.
    let commas = "yes , | tr -d '\\n' | head -c 600000000";
    let bomb = |name: &str, head: &str| {
        let script = format!("(printf '{head}'; {commas}) | gzip -1 > {name}");
        wants(0, Command::new("sh").args(["-c", &script]).current_dir(&folder.0));
    };
    bomb("header.csv.gz", "");
    bomb("row.csv.gz", "customer,age\\na,1\\n");
    for table in ["header.csv.gz", "row.csv.gz"] {
        let said = with_little_memory(
            &folder,
            2,
            &["init", "c.armwise", "--from", table, "--customer", "customer", "--promotion", "a=1"],
        );
        assert!(said.contains("more than 16,384 columns"), "{said}");
    }
    // One row of many long fields.
    let field = "x".repeat(1 << 20);
    folder.write("long.csv", format!("customer,a\nb,{}\n", [field.as_str(); 20].join(",")));
    let said = with_little_memory(&folder, 2, &["init", "c.armwise", "--from", "long.csv", "--promotion", "mail=1"]);
    assert!(said.contains("longer than 16 MB"), "{said}");
    for count in [20_000, 100_000] {
        let mut rules = String::from("customer = \"customer\"\n");
        for i in 0..count {
            let _ = write!(rules, "[[promotion]]\nname = \"p{i}\"\nquota = 0\n");
        }
        folder.write("rules.toml", rules);
        let said =
            with_little_memory(&folder, 2, &["init", "c.armwise", "--from", "customers.csv", "--config", "rules.toml"]);
        assert!(said.contains(&format!("there are {count} promotions; 1000 is the most")), "{said}");
    }
    // A model of 3,000 x 3,000 numbers for each of ten promotions.
    let vector = vec!["0.5"; 3000].join(" ");
    folder.write("wide.csv", format!("customer,x\na,{vector}\nb,{vector}\n"));
    let mut promotions = String::new();
    (0..10).for_each(|i| write!(promotions, "[[promotion]]\nname = \"p{i}\"\nquota = 0\n").unwrap());
    let features = "[[features.column]]\nname = \"x\"\nkind = \"vector\"\n";
    folder.write("wide.toml", format!("customer = \"customer\"\n{promotions}{features}"));
    let said = with_little_memory(&folder, 2, &["init", "c.armwise", "--from", "wide.csv", "--config", "wide.toml"]);
    assert!(said.contains("3000 features and 10 promotions"), "{said}");
    assert!(!folder.path("c.armwise").exists());
}

#[test]
fn as_many_promotions_as_are_allowed_fit_in_four_gigabytes() {
    let folder = Folder::new("most");
    let mut table = String::from("customer,age\n");
    (0..3000).for_each(|i| writeln!(table, "c{i},{}", i % 70).unwrap());
    folder.write("customers.csv", table);
    let mut rules = String::from("customer = \"customer\"\n");
    (0..1000).for_each(|i| write!(rules, "[[promotion]]\nname = \"p{i}\"\nquota = 2\n").unwrap());
    folder.write("rules.toml", rules);
    with_little_memory(&folder, 0, &["init", "c.armwise", "--from", "customers.csv", "--config", "rules.toml"]);
    with_little_memory(&folder, 0, &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"]);
    assert_eq!(fs::read_to_string(folder.path("sends.csv")).unwrap().lines().count(), 2001);
}
