//! Power cuts: whatever a command acknowledged is there after a cut at any later moment, and a retry goes on.
//!
//! A campaign is played once with a shim (`shim.c`) that records every write, name and sync. A cut is a moment of that
//! record; `disk.rs` gives the folder as a disk would have it then, strict, up to a moment, or torn. No command is run again
//! for a cut, except those that check it. 200 cuts here; `make powercut` sets ARMWISE_CUTS to 5,000.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

#[path = "../common/mod.rs"]
mod common;
mod disk;
#[path = "../random/mod.rs"]
mod random;

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Output},
    sync::OnceLock,
    thread,
};

use common::Folder;
use disk::{Cut, Disk, Event, events};
use random::{customers, draws};
use serde_json::Value;

fn run(folder: &Folder, arguments: &str) -> Output {
    folder.armwise(&words(arguments)).output().unwrap()
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

/// A command of the session, and what was there when it had ended.
struct Step {
    arguments: String,
    code: i32,
    /// How many events there were when it had ended.
    end: usize,
    /// What `status` said.
    status: Value,
    /// The files that commands wrote up to now.
    outputs: BTreeMap<String, Vec<u8>>,
}

/// A whole campaign, recorded.
struct Session {
    before: Disk,
    events: Vec<Event>,
    steps: Vec<Step>,
}

/// The files that commands write besides the campaign itself.
const OUTPUTS: [&str; 8] = [
    "campaign.toml",
    "first.csv",
    "sends.csv",
    "rejects.csv",
    "report.html",
    "results.parquet",
    "learner.json",
    "copy.armwise",
];
/// Those of them that say when they were made, so that a retry makes others.
const DATED: [&str; 2] = ["report.html", "copy.armwise"];

fn session() -> &'static Session {
    static SESSION: OnceLock<Session> = OnceLock::new();
    SESSION.get_or_init(record)
}

fn record() -> Session {
    let (folder, tools, looking) =
        (Folder::new("powercut-record"), Folder::new("powercut-tools"), Folder::new("powercut-looking"));
    let (shim, log) = (tools.path("shim.so"), tools.path("log"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/powercut/shim.c");
    let built = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&shim).arg(source).status();
    assert!(built.expect("a C compiler is needed: install gcc").success());

    folder.write("customers.csv", customers(60));
    // The tables of answers are there from the start, empty, so that only what the commands write is recorded.
    let tables = ["w1.csv", "w2.csv", "corrections.csv", "bounces.csv"];
    tables.iter().for_each(|table| folder.write(table, ""));
    let mut before = Disk::of(&folder.0);

    let mut steps: Vec<Step> = Vec::new();
    let mut play = |code: i32, arguments: &str| {
        let mut command = folder.armwise(&words(arguments));
        command.env("LD_PRELOAD", &shim).env("POWERCUT_LOG", &log).env("POWERCUT_ROOT", &folder.0);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        // Looked at in a copy, since a reader makes files, too.
        for name in folder.names() {
            fs::copy(folder.path(&name), looking.path(&name)).unwrap();
        }
        let status = status(&looking).unwrap();
        let read = |name: &&str| Some(((*name).to_owned(), fs::read(folder.path(name)).ok()?));
        let outputs = OUTPUTS.iter().filter_map(read).collect();
        let end = events(&fs::read(&log).unwrap()).len();
        steps.push(Step { arguments: arguments.to_owned(), code, end, status, outputs });
    };
    let table = |name: &str, head: &str, rows: &[String]| {
        folder.write(name, format!("{head}\n{}\n", rows.join("\n")));
    };
    let paid = |ids: &[String], reward: &str| ids.iter().map(|id| format!("{id},{reward}")).collect::<Vec<_>>();
    let reads = |disk: &mut Disk| tables.iter().for_each(|table| disk.rewrite(&folder.path(table)));

    play(0, "init c.armwise --from customers.csv --promotion mail=6 --promotion call=4");
    play(0, "choose c.armwise customers.csv --out first.csv --key one");
    let ids = folder.decisions("first.csv");
    let mut rows = paid(&ids[..5], "1");
    rows.extend(["nonsense,1".to_owned(), format!("{},many", ids[6])]);
    table("w1.csv", "decision,reward", &rows);
    play(3, "learn c.armwise w1.csv");
    play(0, "choose c.armwise customers.csv --out sends.csv --key two");
    let ids = folder.decisions("sends.csv");
    table("w2.csv", "decision,reward", &paid(&ids[..4], "0.5"));
    play(0, "learn c.armwise w2.csv");
    play(0, "close c.armwise --round 1");
    // The sends of another round under the same name.
    play(0, "choose c.armwise customers.csv --out sends.csv --key three");
    table("corrections.csv", "decision,reward", &paid(&ids[..2], "0.25"));
    play(0, "correct c.armwise corrections.csv");
    table("bounces.csv", "decision", &ids[5..7]);
    play(0, "undelivered c.armwise bounces.csv");
    play(0, "report c.armwise --html report.html");
    play(0, "export c.armwise results --out results.parquet");
    play(0, "export c.armwise learner --out learner.json");
    play(0, "backup c.armwise copy.armwise");
    play(0, "close c.armwise --round 2");
    reads(&mut before);
    Session { before, events: events(&fs::read(&log).unwrap()), steps }
}

/// What `status` says of the campaign, if it can be read.
fn status(folder: &Folder) -> Result<Value, String> {
    let output = run(folder, "status c.armwise --json");
    serde_json::from_slice(&output.stdout).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Cuts the power at a moment and says what is wrong afterwards.
fn check(session: &Session, moment: usize, cut: Cut, seed: u64, ignores_syncs: bool) -> Result<(), String> {
    let mut disk = session.before.clone();
    disk.ignores_syncs = ignores_syncs;
    session.events[..moment].iter().for_each(|event| disk.apply(event));
    let folder = Folder::new(&format!("powercut-{seed}-{ignores_syncs}"));
    disk.after(cut, &folder.0, draws(seed));

    let ended = session.steps.iter().take_while(|step| step.end <= moment).count();
    let (last, next) = (ended.checked_sub(1).map(|last| &session.steps[last]), session.steps.get(ended));
    // Files that commands wrote: complete, under their name, and the newest that was acknowledged.
    for name in OUTPUTS {
        let found = fs::read(folder.path(name)).ok();
        let acknowledged = last.and_then(|step| step.outputs.get(name));
        let under_way = next.and_then(|step| step.outputs.get(name));
        if found.as_ref() != acknowledged && (found.is_none() || found.as_ref() != under_way) {
            let size = found.map_or("gone".to_owned(), |bytes| format!("{} bytes", bytes.len()));
            return Err(format!("{name} is {size}, {:?} were acknowledged", acknowledged.map(Vec::len)));
        }
    }
    // The campaign: as after the last acknowledged command, or with the one that was under way.
    let found = status(&folder);
    let committed = match (&found, last) {
        (Err(_), None) => false,
        (Err(message), Some(_)) => return Err(format!("the campaign cannot be read: {message}")),
        (Ok(found), _) if last.is_some_and(|last| *found == last.status) => false,
        (Ok(found), _) if next.is_some_and(|next| *found == next.status) => true,
        (Ok(found), _) => return Err(format!("status is neither before nor after: {found}")),
    };
    let good = |when: &str| {
        let verified = run(&folder, "verify c.armwise");
        let said = String::from_utf8_lossy(&verified.stdout).into_owned() + &String::from_utf8_lossy(&verified.stderr);
        if verified.status.success() { Ok(()) } else { Err(format!("verify {when}: {said}")) }
    };
    if last.is_some() || committed {
        good("after the cut")?;
    }
    let Some(next) = next else { return Ok(()) };
    retry(&folder, next, committed, last.is_none())?;
    good("after the retry")
}

/// Gives the command that was under way again: it must end where it would have ended.
fn retry(folder: &Folder, step: &Step, committed: bool, first: bool) -> Result<(), String> {
    let given = words(&step.arguments);
    let command = given[0];
    // What is there already is not begun or copied again. A key makes a retry of choosing give the same round.
    let there = command == "init" && committed || command == "backup" && folder.path(given[2]).exists();
    if there {
        return Ok(());
    }
    let arguments = &step.arguments;
    let output = run(folder, arguments);
    if output.status.code() != Some(step.code) {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(format!("retry of {arguments}: {}: {message}", output.status));
    }
    let (found, expected) = (undated(status(folder)?), undated(step.status.clone()));
    for field in ["model", "observations", "rounds"] {
        if !first && found[field] != expected[field] {
            return Err(format!("{field} after the retry of {command}: {} {}", found[field], expected[field]));
        }
    }
    for (name, expected) in &step.outputs {
        if !DATED.contains(&name.as_str()) && fs::read(folder.path(name)).ok().as_ref() != Some(expected) {
            return Err(format!("{name} after the retry of {command} is not what it was"));
        }
    }
    let copied = run(folder, "verify copy.armwise");
    if command == "backup" && !copied.status.success() {
        return Err(format!("the copy: {}", String::from_utf8_lossy(&copied.stdout)));
    }
    Ok(())
}

/// What `status` said, without when a round was chosen: a retry is later.
fn undated(mut status: Value) -> Value {
    for round in status["rounds"].as_array_mut().unwrap() {
        round["at"] = Value::Null;
    }
    status
}

/// The moment of a cut: anywhere, or right after a command has ended, when nothing has been done to save it later.
fn moment(session: &Session, seed: u64) -> usize {
    let mut draw = draws(!seed);
    let anywhere = draw() as usize % (session.events.len() + 1);
    if seed & 1 == 0 { anywhere } else { session.steps[draw() as usize % session.steps.len()].end }
}

const CUTS: [Cut; 3] = [Cut::Strict, Cut::Prefix, Cut::Torn];

#[test]
fn nothing_acknowledged_is_lost_by_a_power_cut() {
    let cuts: u64 = std::env::var("ARMWISE_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(200);
    let session = session();
    let bad = thread::scope(|scope| {
        let part = |first: u64| {
            let one = move |seed: u64| {
                let (at, cut) = (moment(session, seed), CUTS[(seed / 2 % 3) as usize]);
                let found = check(session, at, cut, seed, false);
                found.err().map(|problem| format!("cut {seed}, {cut:?} after event {at}: {problem}"))
            };
            scope.spawn(move || (first..cuts).step_by(2).filter_map(one).collect::<Vec<_>>())
        };
        let parts = [part(0), part(1)];
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(bad.is_empty(), "{} of {cuts} cuts:\n{}", bad.len(), bad.join("\n"));
}

/// The checker can fail: if no sync counts, every acknowledged command but the looking ones is lost.
#[test]
fn without_syncs_the_promise_is_broken() {
    let session = session();
    for (number, step) in (1_u64 << 32..).zip(&session.steps) {
        let lost = check(session, step.end, Cut::Strict, number, true);
        assert!(lost.is_err(), "{:?} survived a disk that never wrote", step.arguments);
    }
}

/// The replay itself: with everything written, a cut after the last command leaves the folder as it is.
#[test]
fn a_cut_that_spares_everything_leaves_every_file() {
    let session = session();
    let last = session.steps.last().unwrap();
    let mut disk = session.before.clone();
    session.events.iter().for_each(|event| disk.apply(event));
    let folder = Folder::new("powercut-whole");
    disk.after(Cut::Prefix, &folder.0, || session.events.len() as u64);
    assert_eq!(status(&folder).unwrap(), last.status);
    for (name, bytes) in &last.outputs {
        assert!(fs::read(folder.path(name)).unwrap() == *bytes, "{name}");
    }
}
