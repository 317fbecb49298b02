//! `armwise evaluate` and `advise` as typed: what they print, what they need, and that they change nothing.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use std::{fmt::Write, fs};

use common::Folder;

/// Three weeks of a small campaign, all answered and closed, with the tables of the weeks in a folder.
fn campaign(name: &str) -> Folder {
    let folder = Folder::with_campaign(name);
    folder.write(
        "rules.toml",
        "customer = \"customer\"\n[algorithm]\nname = \"arm-wise-ts\"\nv = 1.0\n[[promotion]]\nname = \"mail\"\nquota = 10\n",
    );
    folder.code(0, &["amend", "c.armwise", "--config", "rules.toml"]);
    fs::create_dir(folder.path("weeks")).unwrap();
    for round in 1..=3 {
        let sends = format!("sends-{round}.csv");
        folder.code(0, &["choose", "c.armwise", "customers.csv", "--out", &sends]);
        let mut answers = "decision,reward\n".to_owned();
        for (place, decision) in folder.decisions(&sends).into_iter().enumerate() {
            let _ = writeln!(answers, "{decision},{}", u8::from((place + round) % 3 == 0));
        }
        folder.write("answers.csv", answers);
        folder.code(0, &["learn", "c.armwise", "answers.csv"]);
        folder.code(0, &["close", "c.armwise", "--round", &round.to_string()]);
        folder.write(&format!("weeks/week-{round}.csv"), folder.read("customers.csv"));
    }
    folder
}

#[test]
fn policies_are_ranked_beside_what_was_earned() {
    let folder = campaign("ranked");
    let entries = folder.entries();
    let grid = ["--policy", "arm-wise-ts", "--param", "v=0.5,2", "--policy", "c2ucb", "--param", "alpha=1"];
    let command = [&["evaluate", "c.armwise", "--tables", "weeks"], &grid[..]].concat();
    let found = folder.json(&command);
    let names: Vec<&str> =
        found["policies"].as_array().unwrap().iter().map(|line| line["policy"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 3);
    assert!(names.contains(&"arm-wise-ts v=0.5") && names.contains(&"c2ucb alpha=1.0"), "{names:?}");
    assert_eq!(found["rounds"].as_array().unwrap().len(), 3);
    let output = folder.armwise(&[&command[..], &["--html", "page.html"]].concat()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("3 rounds, chosen by arm-wise-ts v=1") && text.contains("more than earned"), "{text}");
    assert!(folder.read("page.html").contains("What they would have earned"));
    let advice =
        folder.json(&["advise", "c.armwise", "customers.csv", "--trials", "4", "--rounds", "2", "--tables", "weeks"]);
    assert!(advice["evaluated"]["rounds"].is_array() && advice["reason"].is_string(), "{advice}");
    let output = folder.armwise(&["advise", "c.armwise", "customers.csv", "--trials", "4", "--rounds", "2"]).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(text.contains("\ntake ") && text.contains("this cannot know:"), "{text}");
    assert_eq!(folder.entries(), entries, "both only read");
}

#[test]
fn what_is_missing_is_said_with_its_exit_code() {
    let folder = campaign("missing");
    let needs = folder.code(2, &["evaluate", "c.armwise", "--policy", "greedy"]);
    assert!(needs.contains("tables of rounds 1, 2, 3 are needed") && needs.contains("--tables"), "{needs}");
    let other = folder.code(2, &["evaluate", "c.armwise", "--tables", "sends-1.csv", "--policy", "greedy"]);
    assert!(other.contains("sends-1.csv"), "{other}");
    let half: Vec<String> = folder.read("customers.csv").lines().take(51).map(str::to_owned).collect();
    folder.write("weeks/week-2.csv", half.join("\n"));
    let wrong = folder.code(2, &["evaluate", "c.armwise", "--tables", "weeks"]);
    assert!(wrong.contains("round 2 was not chosen from this table"), "{wrong}");
    folder.code(4, &["evaluate", "c.armwise", "--tables", "nowhere"]);
    folder.code(2, &["evaluate", "c.armwise", "--tables", "weeks", "--policy", "thompson"]);
    folder.code(2, &["evaluate", "c.armwise", "--tables", "weeks", "--param", "v=1"]);
    let fresh = Folder::with_campaign("fresh");
    fresh.code(5, &["evaluate", "c.armwise", "--tables", "customers.csv"]);
    let none = fresh.code(5, &["advise", "c.armwise", "customers.csv"]);
    assert!(none.contains("learn --logged"), "{none}");
}
