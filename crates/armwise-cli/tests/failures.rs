//! What a command says when it fails: one line, with what to do in flags and commands, and the exit code of its kind.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use std::{
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

struct Folder(PathBuf);

impl Folder {
    /// A folder with a campaign of one round.
    fn new(name: &str) -> Self {
        let folder = Self(std::env::temp_dir().join(format!("armwise-cli-failures-{name}-{}", std::process::id())));
        let _ = fs::remove_dir_all(&folder.0);
        fs::create_dir_all(&folder.0).unwrap();
        let rows: Vec<String> = (0..60).map(|i| format!("c{i},{}", i * 7 % 13)).collect();
        folder.write("customers.csv", format!("customer,age\n{}\n", rows.join("\n")));
        for arguments in [
            &["init", "c.armwise", "--from", "customers.csv", "--promotion", "mail=5"][..],
            &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"],
        ] {
            assert!(folder.run(arguments, "").status.success(), "{arguments:?}");
        }
        folder
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), text).unwrap();
    }

    /// Runs with the text of a file as standard input; none for an empty name.
    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let input = match input {
            "" => Stdio::null(),
            name => fs::File::open(self.0.join(name)).unwrap().into(),
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_armwise"));
        command.args(arguments).stdin(input).current_dir(&self.0).output().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_failure_is_one_line_with_a_hint_and_an_exit_code() {
    let folder = Folder::new("hints");
    folder.write("responders.csv", "customer\nc1\n");
    folder.write("destroyed.armwise", vec![7; 4096]);
    folder.write("twice.csv", "customer,age\nc1,2\nc2,3\nc1,4\n");
    let cases: [(i32, &[&str], &str); 9] = [
        (4, &["status", "nowhere.armwise"], "nowhere.armwise does not exist; `armwise init` makes one"),
        (2, &["choose", "c.armwise", "customers.xls"], "--format parquet, csv, tsv, xlsx or arrow"),
        (2, &["choose", "c.armwise", "-"], "standard input needs --format"),
        (2, &["choose", "c.armwise", "twice.csv"], "customer \"c1\" appears in rows 1 and 3"),
        (5, &["choose", "c.armwise", "customers.csv", "--round", "1"], "`armwise export` writes its sends"),
        (2, &["learn", "c.armwise", "responders.csv"], "--only-responders"),
        (4, &["why", "c.armwise", "nobody"], "\"nobody\" was not chosen in any round"),
        (4, &["why", "c.armwise", "nobody"], "--table"),
        (6, &["status", "destroyed.armwise"], "`armwise verify` says what can be recovered"),
    ];
    for (code, arguments, part) in cases {
        let output = folder.run(arguments, "");
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        assert!(message.starts_with("error: ") && message.lines().count() == 1, "{message}");
        assert!(message.contains(part), "{arguments:?}: {message}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
    }
    // The hints lead on.
    assert!(
        folder.run(&["learn", "c.armwise", "responders.csv", "--only-responders"], "").stderr.starts_with(b"1 row")
    );
    assert!(folder.run(&["export", "c.armwise", "sends", "--round", "1"], "").status.success());
    assert_eq!(folder.run(&["verify", "destroyed.armwise"], "").status.code(), Some(6));
}

#[test]
fn every_table_may_come_from_standard_input_and_every_sheet_go_to_standard_output() {
    let folder = Folder::new("streams");
    let from_file = folder.run(&["why", "c.armwise", "c59", "--table", "customers.csv", "--json"], "");
    let arguments = ["why", "c.armwise", "c59", "--table", "-", "--format", "csv", "--json"];
    let from_input = folder.run(&arguments, "customers.csv");
    assert!(from_file.status.success(), "{}", String::from_utf8_lossy(&from_file.stderr));
    assert_eq!(from_input.stdout, from_file.stdout);
    let begun = ["init", "d.armwise", "--from", "-", "--format", "csv", "--config", "campaign.toml"];
    assert!(folder.run(&begun, "customers.csv").status.success());
    let again = folder.run(&["choose", "d.armwise", "-", "--format", "csv"], "customers.csv");
    // Each campaign has a tag of its own at the end of its decisions.
    let plain = |sends: Vec<u8>| -> Vec<String> {
        let cell =
            |cell: &str| if cell.starts_with("r1-") { cell[..cell.len() - 7].to_owned() } else { cell.to_owned() };
        String::from_utf8(sends).unwrap().lines().map(|line| line.split(',').map(cell).collect()).collect()
    };
    assert_eq!(plain(again.stdout), plain(fs::read(folder.0.join("sends.csv")).unwrap()));
    folder.write("answers.csv", "decision,reward\nr1-1,1\nnone,1\n");
    let learned = folder.run(&["learn", "c.armwise", "-", "--format", "csv", "--rejects", "-"], "answers.csv");
    assert_eq!(learned.status.code(), Some(3));
    let rejects = String::from_utf8(learned.stdout).unwrap();
    assert!(rejects.starts_with("line,decision,") && rejects.contains("\n3,none,"), "{rejects}");
}

/// Some damage makes the Arrow reader panic; the user sees which file is damaged, and nothing of the panic.
#[test]
fn a_panic_of_a_reader_is_an_error_like_any_other() {
    let folder = Folder::new("panic");
    let seed = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/table/file.arrow")).unwrap();
    for place in 672..680 {
        // The offset of a buffer of the first column.
        let mut damaged = seed[1..].to_vec();
        damaged[place] ^= 0x80;
        folder.write("t.arrow", damaged);
        let output = folder.run(&["init", "e.armwise", "--from", "t.arrow", "--customer", "customer"], "");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.starts_with("error: t.arrow: the file is damaged: the offset of"), "{message}");
        assert_eq!((output.status.code(), message.lines().count()), (Some(2), 1), "{message}");
    }
}
