//! A folder with a campaign, and the command run in it.

#![allow(dead_code, clippy::unwrap_used, reason = "every test file uses a part; a test that unwraps says what it met")]

use std::{
    fmt::Write,
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// A folder of its own, removed in the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("armwise-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A folder with 100 customers and a campaign that sends five mails a round.
    pub(crate) fn with_campaign(name: &str) -> Self {
        let folder = Self::new(name);
        let mut text = String::from("customer,age\n");
        for i in 0..100 {
            let _ = writeln!(text, "C{i:03},{}", 18 + i * 7919 % 70);
        }
        folder.write("customers.csv", text);
        folder.code(0, &["init", "c.armwise", "--from", "customers.csv", "--promotion", "mail=5"]);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// The names of the files, in alphabetical order.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    pub(crate) fn armwise(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_armwise"));
        command.args(arguments).stdin(Stdio::null()).current_dir(&self.0);
        command
    }

    /// Runs, wants this exit code, and gives what was said on stderr.
    pub(crate) fn code(&self, code: i32, arguments: &[&str]) -> String {
        wants(code, &mut self.armwise(arguments))
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let output = self.armwise(&[arguments, &["--json"]].concat()).output().unwrap();
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// How many entries the journal has, in a file that is good.
    pub(crate) fn entries(&self) -> u64 {
        self.code(0, &["verify", "c.armwise"]);
        self.json(&["status", "c.armwise"])["entries"].as_u64().unwrap()
    }

    /// The ids of the decisions in a file of sends, in its order.
    pub(crate) fn decisions(&self, sends: &str) -> Vec<String> {
        let text = self.read(sends);
        let place = text.lines().next().unwrap().split(',').position(|name| name == "decision").unwrap();
        text.lines().skip(1).map(|line| line.split(',').nth(place).unwrap().to_owned()).collect()
    }
}

/// A library that is loaded into the command to watch and delay what it asks of the system; see `shim.c`.
pub(crate) fn shim(folder: &Folder) -> PathBuf {
    let library = folder.path("shim.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/shim.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
    wants(0, &mut compiler);
    library
}

/// Runs, wants this exit code and no panic, and gives what was said on stderr.
pub(crate) fn wants(code: i32, command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{command:?}: {said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
