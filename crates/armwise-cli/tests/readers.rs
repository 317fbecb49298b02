//! Readers who may not write: they leave nothing that locks the owner out, and a folder that cannot be written can be
//! read.
//!
//! The other account needs the rights to become one (root); without them only the folder is tested.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
#![cfg(unix)]

mod common;

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    process::Command,
};

use common::{Folder, wants};

/// The account of nobody.
const NOBODY: u32 = 65534;

fn mode(folder: &Folder, name: &str, mode: u32) {
    fs::set_permissions(folder.path(name), fs::Permissions::from_mode(mode)).unwrap();
}

/// The command as another account runs it, if this one may become another.
fn as_nobody(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = folder.armwise(arguments);
    if is_root(folder) {
        // Others may not reach where the program was built.
        let program = folder.path("armwise");
        if !program.exists() {
            fs::copy(env!("CARGO_BIN_EXE_armwise"), &program).unwrap();
            mode(folder, "armwise", 0o755);
        }
        command = Command::new(program);
        command.args(arguments).current_dir(&folder.0).uid(NOBODY).gid(NOBODY);
    }
    command
}

fn is_root(folder: &Folder) -> bool {
    fs::metadata(folder.path("c.armwise")).unwrap().uid() == 0
}

fn beside(folder: &Folder) -> Vec<String> {
    folder.names().into_iter().filter(|name| name.starts_with("c.armwise-")).collect()
}

#[test]
fn a_reader_with_another_account_leaves_nothing_behind() {
    let folder = Folder::with_campaign("other-account");
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
    if !is_root(&folder) {
        return;
    }
    mode(&folder, "", 0o777);
    let looks: [&[&str]; 4] = [
        &["status", "c.armwise"],
        &["verify", "c.armwise"],
        &["export", "c.armwise", "results"],
        &["replay", "c.armwise"],
    ];
    for arguments in looks {
        wants(0, &mut as_nobody(&folder, arguments));
        assert!(beside(&folder).is_empty(), "{arguments:?}: {:?}", beside(&folder));
    }
    // A writer dies and leaves its own files: they are read, and stay the owner's.
    let choose = ["choose", "c.armwise", "customers.csv", "--again", "--out", "next.csv"];
    assert!(!folder.armwise(&choose).env("ARMWISE_FAILPOINT", "committed").status().unwrap().success());
    assert_eq!(beside(&folder), ["c.armwise-shm", "c.armwise-wal"]);
    let status = as_nobody(&folder, &["status", "c.armwise", "--json"]).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["rounds"].as_array().unwrap().len(), 2, "what was committed is seen");
    for name in beside(&folder) {
        assert_eq!(fs::metadata(folder.path(&name)).unwrap().uid(), 0, "{name}");
    }
    assert_eq!(folder.entries(), 3);
    folder.code(0, &choose);
}

#[test]
fn a_folder_that_cannot_be_written_can_be_read() {
    let folder = Folder::with_campaign("read-only");
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--again", "--out", "sends.csv"]);
    as_nobody(&folder, &[]);
    let expected = folder.json(&["status", "c.armwise"]);
    mode(&folder, "", 0o555);
    let looks: [&[&str]; 4] = [
        &["status", "c.armwise", "--json"],
        &["verify", "c.armwise"],
        &["export", "c.armwise", "sends", "--round", "1"],
        &["choose", "c.armwise", "customers.csv", "--again", "--dry-run"],
    ];
    for arguments in looks {
        let output = as_nobody(&folder, arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        if arguments[0] == "status" {
            assert_eq!(serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap(), expected);
        }
    }
    // Who may not write is told so.
    let said = wants(6, &mut as_nobody(&folder, &["choose", "c.armwise", "customers.csv", "--again"]));
    assert!(said.contains("c.armwise"), "{said}");
    mode(&folder, "", 0o755);
}
