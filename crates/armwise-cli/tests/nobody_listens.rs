//! Commands whose messages cannot be written do their work all the same.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use std::{
    fs::{self, File},
    process::{Command, Stdio},
};

/// On /dev/full every write fails, as on a pipe that nobody reads any more.
#[test]
fn messages_that_cannot_be_written_are_no_failure() {
    let folder = std::env::temp_dir().join(format!("armwise-cli-nobody-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("rules")).unwrap();
    let rows: Vec<String> = (0..60).map(|i| format!("c{i},{},x", i * 7 % 13)).collect();
    fs::write(folder.join("customers.csv"), format!("customer,age,name\n{}\n", rows.join("\n"))).unwrap();
    fs::write(folder.join("responses.csv"), "decision,reward\nr1-1,1\nnone,1\n").unwrap();
    let run = |code: i32, arguments: &[&str]| {
        let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_armwise"));
        command.args(arguments).stdin(Stdio::null()).stdout(full()).stderr(full()).current_dir(&folder);
        assert_eq!(command.status().unwrap().code(), Some(code), "{arguments:?}");
    };
    run(0, &["init", "rules/r.armwise", "--from", "customers.csv"]);
    run(0, &["init", "c.armwise", "--from", "customers.csv", "--promotion", "mail=5"]);
    run(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
    run(3, &["learn", "c.armwise", "responses.csv"]);
    run(0, &["close", "c.armwise", "--round", "1"]);
    run(0, &["close", "c.armwise", "--round", "1"]);
    run(0, &["export", "c.armwise", "sends", "--round", "1", "--out", "again.csv"]);
    run(0, &["export", "c.armwise", "learner", "--out", "-"]);
    run(0, &["report", "c.armwise", "--html", "report.html"]);
    run(0, &["status", "c.armwise"]);
    run(4, &["status", "none.armwise"]);
    assert_eq!(fs::read(folder.join("sends.csv")).unwrap(), fs::read(folder.join("again.csv")).unwrap());
    fs::remove_dir_all(&folder).unwrap();
}
