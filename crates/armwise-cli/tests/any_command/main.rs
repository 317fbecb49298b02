//! A fuzzer of commands: whatever is typed, the exit code is a documented one, and what was refused left no trace.
//!
//! Commands are made from good ones by changing words, numbers, tables and rules, all as a function of a seed. After each,
//! `verify` must be content, and unless the command says that it has done something (0 or 3), the campaign must have the
//! rows that it had. Names lie in the test's folder only, since a command that writes where it should not is what is
//! looked for. 1,000 commands here; `make soak` sets ARMWISE_COMMANDS to 10,000.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

#[path = "../common/mod.rs"]
mod common;
mod fuzzer;
#[path = "../random/mod.rs"]
mod random;

use std::{
    fs,
    process::{Output, Stdio},
    thread,
    time::{Duration, Instant},
};

use common::Folder;
use fuzzer::Fuzzer;
use random::{customers, draws};
use rusqlite::{Connection, types::ValueRef};

/// 0 done, 1 failure, 2 usage or bad input, 3 some rows put aside, 4 not found, 5 conflict, 6 storage, 75 locked.
const CODES: [i32; 8] = [0, 1, 2, 3, 4, 5, 6, 75];
/// Exit codes of commands that may have changed the campaign.
const DONE: [i32; 2] = [0, 3];

/// Commands that only look, whatever their exit code.
const LOOKING: [&str; 7] = ["status", "why", "report", "export", "verify", "replay", "backup"];

/// Runs with a limit of time, so that a command that hangs is found, too.
fn run(folder: &Folder, words: &[String]) -> Result<Output, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut child = folder.armwise(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |from: &mut dyn std::io::Read| {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    };
    let start = Instant::now();
    thread::scope(|scope| {
        let (out, err) = (scope.spawn(move || read(&mut stdout)), scope.spawn(move || read(&mut stderr)));
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > Duration::from_mins(1) {
                child.kill().unwrap();
                child.wait().unwrap();
                return Err("did not end within a minute".to_owned());
            }
            thread::sleep(Duration::from_millis(2));
        };
        Ok(Output { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() })
    })
}

/// All rows of all tables, read from a copy: looking makes files.
fn content(folder: &Folder, scratch: &Folder) -> Result<Vec<String>, String> {
    for end in ["", "-wal", "-shm"] {
        let copy = scratch.path(&format!("c.armwise{end}"));
        let _ = fs::remove_file(&copy);
        if end != "-shm" {
            let _ = fs::copy(folder.path(&format!("c.armwise{end}")), copy);
        }
    }
    let rows = |file: Connection| -> rusqlite::Result<Vec<String>> {
        let mut all = Vec::new();
        let mut tables = file.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
        let names: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        for name in names {
            let mut query = file.prepare(&format!("SELECT * FROM \"{name}\""))?;
            let columns = query.column_count();
            let mut found = query.query([])?;
            while let Some(row) = found.next()? {
                let cell = |at| match row.get_ref(at) {
                    Ok(ValueRef::Real(number)) => format!("{:x}", number.to_bits()),
                    other => format!("{other:?}"),
                };
                all.push(format!("{name}: {}", (0..columns).map(cell).collect::<Vec<_>>().join(", ")));
            }
        }
        all.sort();
        Ok(all)
    };
    Connection::open(scratch.path("c.armwise")).and_then(rows).map_err(|error| error.to_string())
}

/// A campaign of two rounds, of which one has rewards, with all that commands refer to.
fn begin(folder: &Folder) -> Vec<String> {
    folder.write("customers.csv", customers(40));
    let good = |text: &str| folder.code(0, &text.split(' ').collect::<Vec<_>>());
    good("init c.armwise --from customers.csv --promotion mail=4 --promotion call=3");
    good("choose c.armwise customers.csv --out sends.csv");
    good("choose c.armwise customers.csv --again --out more.csv");
    let decisions = [folder.decisions("sends.csv"), folder.decisions("more.csv")].concat();
    folder.write("responses.csv", format!("decision,reward\n{},1\n{},0.5\n", decisions[0], decisions[4]));
    good("learn c.armwise responses.csv");
    good("export c.armwise learner --out learner.json");
    fs::copy(folder.path("campaign.toml"), folder.path("rules.toml")).unwrap();
    folder.write("other.armwise", "not a campaign");
    decisions
}

/// What a command did wrong, if anything.
fn judge(folder: &Folder, scratch: &Folder, words: &[String], before: &[String]) -> Result<i32, String> {
    let output = run(folder, words)?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let Some(code) = output.status.code() else { return Err(format!("ended by a signal: {}", output.status)) };
    if !CODES.contains(&code) || said.contains("panicked") {
        return Err(format!("exit code {code}: {said}"));
    }
    if code != 0 && code != 3 && said.is_empty() && output.stdout.is_empty() {
        return Err(format!("exit code {code} and not a word"));
    }
    let after =
        content(folder, scratch).map_err(|error| format!("exit code {code}, and the campaign is gone: {error}"))?;
    let looks = words.first().is_some_and(|word| LOOKING.contains(&word.as_str()));
    if (!DONE.contains(&code) || looks || words.iter().any(|word| word == "--dry-run")) && after != before {
        return Err(format!("exit code {code}, but the campaign has other rows: {said}"));
    }
    let verify = |name: &str| {
        let verified = run(folder, &["verify".to_owned(), name.to_owned()])?;
        let found = String::from_utf8_lossy(&verified.stdout).into_owned() + &String::from_utf8_lossy(&verified.stderr);
        if verified.status.success() { Ok(()) } else { Err(format!("exit code {code}, then verify {name}: {found}")) }
    };
    verify("c.armwise")?;
    // A campaign that was begun is one that can be chosen from.
    if let [init, name, ..] = words
        && init == "init"
        && code == 0
        && name.starts_with("new")
        && folder.path(name).exists()
    {
        verify(name)?;
        let output = run(folder, &["choose", name, "good.csv", "--dry-run"].map(str::to_owned))?;
        let found = output.status.code();
        if found.is_none_or(|found| ![0, 1, 2, 5].contains(&found)) {
            return Err(format!("choose then: {found:?}: {}", String::from_utf8_lossy(&output.stderr)));
        }
    }
    Ok(code)
}

/// The folder as it was at the start.
fn restore(from: &Folder, to: &Folder) {
    let _ = fs::remove_dir_all(&to.0);
    fs::create_dir_all(to.path("folder")).unwrap();
    for name in from.names() {
        fs::copy(from.path(&name), to.path(&name)).unwrap();
    }
    std::os::unix::fs::symlink("c.armwise", to.path("link.armwise")).unwrap();
}

#[test]
fn no_command_panics_and_what_is_refused_leaves_no_trace() {
    let commands: usize = std::env::var("ARMWISE_COMMANDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000);
    let start = Folder::new("commands-start");
    let decisions = begin(&start);
    let rules = start.read("rules.toml");
    let worker = |first: usize| {
        let (folder, scratch) =
            (Folder::new(&format!("commands-{first}")), Folder::new(&format!("commands-copy-{first}")));
        let (mut problems, mut codes) = (Vec::new(), Vec::new());
        let mut fresh = true;
        for number in (first..commands).step_by(2) {
            if fresh || number % 30 < 2 {
                restore(&start, &folder);
                fresh = false;
            }
            let mut fuzzer = Fuzzer { draw: draws(number as u64) };
            let command = fuzzer.command(number);
            folder.write("responses.csv", fuzzer.answers(&decisions));
            folder.write("rules.toml", fuzzer.rules(&rules));
            folder.write("customers.csv", fuzzer.customers());
            folder.write("good.csv", customers(40));
            let before = content(&folder, &scratch).unwrap();
            match judge(&folder, &scratch, &command, &before) {
                Ok(code) => codes.push(code),
                Err(problem) => {
                    problems.push(format!("command {number}, {command:?}: {problem}"));
                    fresh = true;
                }
            }
        }
        (problems, codes)
    };
    let (problems, codes): (Vec<_>, Vec<_>) = thread::scope(|scope| {
        let workers = [0, 1].map(|first| scope.spawn(move || worker(first)));
        workers.into_iter().map(|worker| worker.join().unwrap()).unzip()
    });
    let (problems, codes) = (problems.concat(), codes.concat());
    assert!(problems.is_empty(), "{} of {commands}:\n{}", problems.len(), problems.join("\n"));
    // The commands are neither all good nor all nonsense.
    for (code, least) in [(0, 10), (2, 10), (3, 2), (4, 2), (5, 1)] {
        let found = codes.iter().filter(|found| **found == code).count();
        assert!(100 * found >= least * commands, "exit code {code} came {found} times in {commands}");
    }
}
