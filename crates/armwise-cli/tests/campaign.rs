//! The campaign commands as an analyst and a cron job meet them: exit codes, streams, kills, a full disk.
//!
//! Every test has a folder of its own and runs the built binary. The number of kills is small
//! here; `make soak` sets ARMWISE_KILLS to 200.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use std::{
    fmt::Write,
    fs,
    path::PathBuf,
    process::{Command, Output, Stdio},
    thread::sleep,
    time::Instant,
};

use serde_json::Value;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("armwise-cli-campaign-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    fn armwise(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_armwise"));
        command.args(arguments).stdin(Stdio::null()).current_dir(&self.0);
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.armwise(arguments).output().unwrap()
    }

    /// Runs, and wants this exit code.
    fn code(&self, code: i32, arguments: &[&str]) -> Output {
        let output = self.run(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {message}");
        output
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// A campaign with two promotions over a table of customers.
    fn begin(&self, customers: usize, quota: usize) {
        let mut text = String::from("customer,age,region\n");
        for i in 0..customers {
            let _ = writeln!(text, "C{i:06},{},{}", 18 + i * 7919 % 70, ["north", "south", "east"][i * 31 % 3]);
        }
        self.write("customers.csv", &text);
        let (mail, call) = (format!("mail={quota}"), format!("call={quota}"));
        self.code(0, &["init", "c.armwise", "--from", "customers.csv", "--promotion", &mail, "--promotion", &call]);
    }

    /// What must hold after anything: the file is good and its model is the replay of its log.
    fn check(&self) -> Value {
        self.code(0, &["verify", "c.armwise"]);
        self.code(0, &["replay", "c.armwise"]);
        self.json(&["status", "c.armwise"])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Sends without the tag of their campaign, which is another one for each.
fn plain(sends: &[u8]) -> String {
    let text = String::from_utf8(sends.to_vec()).unwrap();
    let decision =
        text.lines().nth(1).unwrap().split(',').find(|cell| cell.starts_with("r1-") || cell.starts_with("r2-"));
    let tag = decision.unwrap().rsplit_once('-').unwrap().1;
    text.replace(&format!("-{tag},"), ",")
}

#[test]
fn a_campaign_from_begin_to_end_with_every_exit_code() {
    let folder = Folder::new("end");
    folder.begin(400, 20);
    assert!(
        fs::read_to_string(folder.0.join("campaign.toml")).unwrap().contains("# the column with the customer's id")
    );
    folder.code(5, &["init", "c.armwise", "--from", "customers.csv", "--config", "campaign.toml"]);
    folder.code(0, &["init", "again.armwise", "--from", "customers.csv", "--config", "campaign.toml"]);

    // A dry run writes nothing and shows what the real one does.
    let dry = folder.code(0, &["choose", "c.armwise", "customers.csv", "--dry-run"]);
    assert_eq!(folder.json(&["status", "c.armwise"])["entries"], 1);
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"]);
    let sends = fs::read(folder.0.join("sends.csv")).unwrap();
    assert_eq!(dry.stdout, sends);
    let one = folder.code(0, &["choose", "again.armwise", "customers.csv", "--threads", "1"]);
    assert_eq!(plain(&one.stdout), plain(&sends), "one thread, standard output, a campaign from the written rules");
    folder.code(5, &["choose", "c.armwise", "customers.csv", "--round", "1"]);
    folder.code(0, &["export", "c.armwise", "sends", "--round", "1", "--out", "again.csv"]);
    assert_eq!(fs::read(folder.0.join("again.csv")).unwrap(), sends);

    folder.write("responses.csv", "decision,reward\nr1-1,1\nr1-2,0\nr1-99,1\nr1-3,many\n");
    folder.code(3, &["learn", "c.armwise", "responses.csv"]);
    let rejects = fs::read_to_string(folder.0.join("rejects.csv")).unwrap();
    assert_eq!(rejects.lines().count(), 3);
    assert!(rejects.contains("\n4,r1-99,") && rejects.contains("\n5,r1-3,"), "{rejects}");
    let again = folder.json(&["learn", "c.armwise", "responses.csv"]);
    assert_eq!((again["applied"].as_u64(), again["repeated"].as_u64()), (Some(0), Some(2)));
    folder.write("answered.csv", "decision\nr1-5\n");
    folder.code(2, &["learn", "c.armwise", "answered.csv"]);
    folder.code(0, &["learn", "c.armwise", "answered.csv", "--only-responders"]);
    folder.write("bounces.csv", "decision\nr1-7\n");
    folder.code(0, &["undelivered", "c.armwise", "bounces.csv"]);
    folder.code(4, &["close", "c.armwise", "--round", "9"]);
    folder.code(0, &["close", "c.armwise", "--round", "1"]);
    assert_eq!(folder.json(&["close", "c.armwise", "--round", "1"])["already"], true);
    folder.write("corrections.csv", "decision,reward\nr1-2,0.5\n");
    folder.code(0, &["correct", "c.armwise", "corrections.csv"]);

    let line = &folder.check()["rounds"][0];
    let counts = ["sends", "answered", "silent", "pending", "undelivered"].map(|name| line[name].as_u64().unwrap());
    // The one with the reward "many" answered, so it waits for its row to be mended instead of counting as silent.
    assert_eq!(counts, [40, 3, 35, 1, 1]);
    assert_eq!(line["aside"]["bad-reward"], 1);
    assert!((line["mean_reward"].as_f64().unwrap() - 2.5 / 38.0).abs() < 1e-12);
    let why = folder.json(&["why", "c.armwise", "C000017", "--table", "customers.csv"]);
    assert_eq!(why["promotions"].as_array().unwrap().len(), 2);
    folder.code(4, &["why", "c.armwise", "nobody"]);
    folder.code(0, &["report", "c.armwise", "--html", "report.html"]);
    let page = fs::read_to_string(folder.0.join("report.html")).unwrap();
    assert!(page.contains("<svg") && !page.contains("http"), "self-contained");
    let results = folder.code(0, &["export", "c.armwise", "results"]);
    assert_eq!(String::from_utf8_lossy(&results.stdout).lines().count(), 41);
    assert!(
        String::from_utf8_lossy(&folder.code(0, &["export", "c.armwise", "learner"]).stdout)
            .contains("armwise-learner")
    );
    assert_eq!(folder.json(&["replay", "c.armwise", "--until", "2"])["same"], true);
    folder.code(4, &["replay", "c.armwise", "--until", "99"]);
    folder.code(4, &["status", "nowhere.armwise"]);
    folder.code(2, &["choose", "c.armwise", "customers.xls"]);
    folder.code(6, &["status", "customers.csv"]);
    assert!(!folder.code(0, &["completions", "bash"]).stdout.is_empty());
    for command in [
        "init",
        "choose",
        "learn",
        "close",
        "status",
        "why",
        "report",
        "export",
        "verify",
        "replay",
        "correct",
        "undelivered",
        "revoke",
        "amend",
        "migrate",
    ] {
        let help = folder.code(0, &[command, "--help"]);
        assert!(String::from_utf8_lossy(&help.stdout).contains("Example: armwise"), "{command}");
    }
}

#[test]
fn a_table_may_come_from_standard_input() {
    let folder = Folder::new("stdin");
    folder.begin(100, 5);
    let table = fs::File::open(folder.0.join("customers.csv")).unwrap();
    let output = folder.armwise(&["choose", "c.armwise", "-", "--format", "csv"]).stdin(table).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 11);
    folder.code(2, &["choose", "c.armwise", "-"]);
}

/// Dies at every step of a commit: what was acknowledged is there, what was not is not half there.
#[test]
fn failpoints_leave_a_good_file_at_every_step() {
    let folder = Folder::new("failpoints");
    folder.begin(300, 10);
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"]);
    let mut rounds = 1;
    let points = ["begun", "entry-written", "rows-written", "before-commit", "committed", "before-publish"];
    for (place, point) in points.into_iter().enumerate() {
        let before = folder.check();
        let _ = fs::remove_file(folder.0.join("next.csv"));
        let mut choose = folder.armwise(&["choose", "c.armwise", "customers.csv", "--out", "next.csv"]);
        assert!(!choose.env("ARMWISE_FAILPOINT", point).output().unwrap().status.success(), "{point}");
        let after = folder.check();
        assert!(!folder.0.join("next.csv").exists(), "{point}: the sends have no name before they are published");
        if ["committed", "before-publish"].contains(&point) {
            rounds += 1;
            let round = rounds.to_string();
            folder.code(0, &["export", "c.armwise", "sends", "--round", &round, "--out", "next.csv"]);
        } else {
            assert_eq!(before, after, "{point}");
        }
        assert_eq!(after["rounds"].as_array().unwrap().len(), rounds, "{point}");

        let (first, second) = (2 * place + 1, 2 * place + 2);
        folder.write("responses.csv", &format!("decision,reward\nr1-{first},1\nr1-{second},0.5\n"));
        let before = folder.check();
        let mut learn = folder.armwise(&["learn", "c.armwise", "responses.csv"]);
        let died = !learn.env("ARMWISE_FAILPOINT", point).output().unwrap().status.success();
        assert_eq!(died, point != "before-publish", "{point}");
        let after = folder.check();
        if !["committed", "before-publish"].contains(&point) {
            assert_eq!(before, after, "{point}");
        }
        let again = folder.json(&["learn", "c.armwise", "responses.csv"]);
        assert_eq!(again["applied"].as_u64().unwrap() + again["repeated"].as_u64().unwrap(), 2, "{point}");
        // Counted once, whichever attempt it came by.
        assert_eq!(folder.check()["rounds"][0]["answered"].as_u64(), Some(second as u64), "{point}");
    }
    let mut init = folder.armwise(&["init", "new.armwise", "--from", "customers.csv", "--config", "campaign.toml"]);
    assert!(!init.env("ARMWISE_FAILPOINT", "init-before-commit").output().unwrap().status.success());
    // Nothing of it is in the way.
    folder.code(4, &["choose", "new.armwise", "customers.csv"]);
    folder.code(0, &["init", "new.armwise", "--from", "customers.csv", "--config", "campaign.toml"]);
}

/// kill -9 at random moments of choose and learn.
#[test]
fn kill_nine_loses_nothing_acknowledged_and_counts_nothing_twice() {
    let kills: u64 = std::env::var("ARMWISE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(20);
    let folder = Folder::new("kill");
    folder.begin(4000, 400);
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"]);
    // How long the two take when nobody disturbs them.
    let start = Instant::now();
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"]);
    let whole = start.elapsed();
    let (mut rounds, mut answered) = (2_u64, 0_u64);
    let mut killed = 0;
    for kill in 0..kills {
        // Spread over the whole command by a fixed rule (the golden ratio), a little beyond its end too.
        let share = (kill as f64 * 0.618_033_988_749).fract();
        let delay = whole.mul_f64(1.1 * share);
        let learning = kill % 2 == 1;
        let first = answered % 800 + 1;
        let round = answered / 800 + 1;
        let rows: Vec<String> = (first..first + 20).map(|n| format!("r{round}-{n},1\n")).collect();
        folder.write("responses.csv", &format!("decision,reward\n{}", rows.concat()));
        let arguments = if learning {
            &["learn", "c.armwise", "responses.csv"][..]
        } else {
            &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"][..]
        };
        let mut command = folder.armwise(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        sleep(delay);
        child.kill().unwrap();
        let acknowledged = child.wait().unwrap().success();
        killed += u64::from(!acknowledged);
        let status = folder.check();
        let found = status["rounds"].as_array().unwrap();
        let sum = |name: &str| found.iter().map(|line| line[name].as_u64().unwrap()).sum::<u64>();
        if learning {
            let now = sum("answered");
            assert!(now == answered + 20 || (now == answered && !acknowledged), "{now} after {answered}");
            // Read again: each is counted once.
            folder.code(0, &["learn", "c.armwise", "responses.csv"]);
            answered += 20;
            let status = folder.json(&["status", "c.armwise"]);
            assert_eq!(
                status["observations"][0].as_u64().unwrap() + status["observations"][1].as_u64().unwrap(),
                answered
            );
        } else {
            let now = found.len() as u64;
            assert!(now == rounds + 1 || (now == rounds && !acknowledged), "{now} after {rounds}");
            rounds = now;
        }
        assert_eq!(sum("sends"), 800 * rounds);
    }
    assert!(killed * 3 > kills, "{killed} of {kills} were killed in time");
}

/// A customer who was not chosen hears why: it rests, is in the hold-out, or may not get it.
#[test]
fn why_says_who_rests_is_in_the_hold_out_or_is_not_eligible() {
    let folder = Folder::new("why");
    let flag = |i: usize| if i.is_multiple_of(4) { "no" } else { "yes" };
    let mut text = String::from("customer,age,may_call\n");
    (0..200).for_each(|i| writeln!(text, "C{i},{},{}", i % 37, flag(i)).unwrap());
    folder.write("customers.csv", &text);
    folder.write(
        "rules.toml",
        "customer = \"customer\"\n[limits]\nrest = 1\nhold_out = 0.2\n[[promotion]]\nname = \"call\"\nquota = 30\n\
         eligible = \"may_call\"\n[[features.column]]\nname = \"age\"\nkind = \"numeric\"\n",
    );
    folder.code(0, &["init", "c.armwise", "--from", "customers.csv", "--config", "rules.toml"]);
    let sends = |round: &str| {
        folder.code(0, &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"]);
        let sent = folder.code(0, &["export", "c.armwise", "results", "--round", round]).stdout;
        let lines: Vec<Vec<String>> = String::from_utf8(sent)
            .unwrap()
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(str::to_owned).collect())
            .collect();
        let of = |hold_out: &str| lines.iter().find(|line| line[4] == hold_out).unwrap()[2].clone();
        (of("0"), of("1"))
    };
    let (sent, hold_out) = sends("1");
    sends("2");
    let why = |arguments: &[&str]| {
        let output = folder.code(0, &[&["why", "c.armwise"], arguments].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(why(&[&sent]).contains("chosen, rank"));
    assert!(why(&[&sent, "--round", "2"]).contains("rested after an earlier send"));
    let told = why(&[&hold_out, "--round", "1"]);
    assert!(told.contains("hold-out") && told.contains("in the hold-out, rank"), "{told}");
    assert!(why(&["C0", "--table", "customers.csv"]).contains("call: not eligible"));
    folder.code(4, &["why", "c.armwise", "nobody", "--table", "customers.csv"]);
}

/// A round is taken back, rules change, an old file is taken over: exit codes and what people read.
#[test]
fn revoke_amend_and_migrate() {
    let folder = Folder::new("revoke");
    folder.begin(200, 10);
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"]);
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"]);
    folder.code(4, &["revoke", "c.armwise", "--round", "9"]);
    assert_eq!(folder.json(&["revoke", "c.armwise", "--round", "2"])["already"], false);
    assert_eq!(folder.json(&["revoke", "c.armwise", "--round", "2"])["already"], true);
    folder.code(5, &["close", "c.armwise", "--round", "2"]);
    folder.write("responses.csv", "decision,reward\nr2-1,1\nr1-1,1\n");
    let learned = folder.json(&["learn", "c.armwise", "responses.csv"]);
    assert_eq!((learned["applied"].as_u64(), learned["reasons"]["revoked"].as_u64()), (Some(1), Some(1)));
    assert!(fs::read_to_string(folder.0.join("rejects.csv")).unwrap().contains("round 2 was revoked"));
    let told = folder.code(0, &["status", "c.armwise"]).stdout;
    assert!(String::from_utf8_lossy(&told).lines().any(|line| line.contains("revoked")));

    let rules = fs::read_to_string(folder.0.join("campaign.toml")).unwrap();
    folder.write("new.toml", &rules.replace("quota = 10 ", "quota = 7 "));
    let amended = folder.json(&["amend", "c.armwise", "--config", "new.toml"]);
    assert_eq!((amended["changed"][0].as_str(), amended["from"].as_u64()), (Some("promotion"), Some(3)));
    assert_eq!(folder.json(&["choose", "c.armwise", "customers.csv"])["sends"], 14);
    folder.write("seed.toml", &rules.replace("seed = 1 ", "seed = 2 "));
    let refused = folder.code(5, &["amend", "c.armwise", "--config", "seed.toml"]).stderr;
    assert!(String::from_utf8_lossy(&refused).contains("seed"));
    folder.code(4, &["amend", "c.armwise", "--config", "none.toml"]);
    folder.check();

    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../armwise-campaign/tests/schema2/spring.armwise");
    fs::copy(fixture, folder.0.join("old.armwise")).unwrap();
    let refused = folder.code(6, &["status", "old.armwise"]).stderr;
    assert!(String::from_utf8_lossy(&refused).contains("migrate it first; `armwise migrate OLD NEW`"));
    folder.code(0, &["migrate", "old.armwise", "new.armwise"]);
    folder.code(5, &["migrate", "old.armwise", "new.armwise"]);
    folder.code(0, &["verify", "new.armwise"]);
    assert_eq!(folder.json(&["status", "new.armwise"])["rounds"].as_array().unwrap().len(), 3);
}

/// Fields may span lines and empty lines are passed over, but a line in rejects.csv is the line of an editor.
#[test]
fn rejected_rows_are_named_by_their_line() {
    let folder = Folder::new("lines");
    folder.begin(100, 5);
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"]);
    folder.write(
        "r.csv",
        "decision,note,reward\nr1-1,\"two\nlines\",1\n\nr1-77,,1\r\n\r\n\"r1-78\",\"a\n\nb\",0\nr1-79,,1",
    );
    folder.code(3, &["learn", "c.armwise", "r.csv"]);
    let rejects = fs::read_to_string(folder.0.join("rejects.csv")).unwrap();
    let lines: Vec<&str> = rejects.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(lines, ["5", "7", "10"], "{rejects}");
}

/// A learner goes out of a campaign and into another one, bit for bit, and the other one's replay begins with it.
#[test]
fn a_saved_learner_goes_from_campaign_to_campaign() {
    let folder = Folder::new("learner");
    folder.begin(300, 20);
    folder.code(0, &["choose", "c.armwise", "customers.csv", "--out", "sends.csv"]);
    folder.write("responses.csv", "decision,reward\nr1-1,1\nr1-2,0.5\nr1-23,0.25\n");
    folder.code(0, &["learn", "c.armwise", "responses.csv"]);
    folder.code(0, &["export", "c.armwise", "learner", "--out", "p.json"]);
    let rules = ["--from", "customers.csv", "--config", "campaign.toml"];
    let begin = |name: &str, learner: &str| [&["init", name], &rules[..], &["--learner", learner]].concat().join("|");
    let begin =
        |code: i32, name: &str, learner: &str| folder.code(code, &begin(name, learner).split('|').collect::<Vec<_>>());
    begin(0, "b.armwise", "p.json");
    folder.code(0, &["export", "b.armwise", "learner", "--out", "q.json"]);
    assert_eq!(fs::read(folder.0.join("p.json")).unwrap(), fs::read(folder.0.join("q.json")).unwrap());
    let model = |name: &str| folder.json(&["status", name])["model"].clone();
    assert_eq!(model("b.armwise"), model("c.armwise"));
    // The same model, seed and round: the same sends.
    let sends = folder.code(0, &["choose", "c.armwise", "customers.csv"]).stdout;
    assert_eq!(plain(&folder.code(0, &["choose", "b.armwise", "customers.csv"]).stdout), plain(&sends));
    for name in ["b.armwise", "c.armwise"] {
        folder.write("responses.csv", "decision,reward\nr2-1,1\nr2-2,0.5\n");
        folder.code(0, &["learn", name, "responses.csv"]);
        folder.code(0, &["verify", name]);
        folder.code(0, &["replay", name]);
    }
    assert_ne!(model("b.armwise"), serde_json::Value::Null);
    let said = fs::read_to_string(folder.0.join("p.json")).unwrap();
    folder.write("damaged.json", &said.replacen("\"count\":2", "\"count\":3", 1));
    folder.write("text.json", "{}");
    let narrow = fs::read_to_string(folder.0.join("campaign.toml")).unwrap();
    for (learner, problem) in [("damaged.json", "checksum"), ("text.json", "format"), ("none.json", "does not exist")] {
        let code = if learner == "none.json" { 4 } else { 2 };
        let message = begin(code, "d.armwise", learner).stderr;
        let message = String::from_utf8_lossy(&message).into_owned();
        assert!(message.contains(problem), "{message}");
    }
    folder.write("campaign.toml", &narrow.replace("bias = true", "bias = false"));
    let message = String::from_utf8(begin(2, "d.armwise", "p.json").stderr).unwrap();
    assert!(message.contains("the learner has learned from other features than the rules list"), "{message}");
    folder.write("campaign.toml", &format!("gamma = 0.9\n{narrow}"));
    let message = String::from_utf8(begin(2, "d.armwise", "p.json").stderr).unwrap();
    assert!(message.contains("gamma = 1") && !folder.0.join("d.armwise").exists(), "{message}");
}

#[test]
fn a_second_writer_is_told_who_holds_the_lock() {
    let folder = Folder::new("locked");
    folder.begin(200, 5);
    let lock = fs::File::options().read(true).write(true).open(folder.0.join("c.armwise.lock")).unwrap();
    lock.lock().unwrap();
    std::io::Write::write_all(&mut &lock, b"armwise choose, process 1, since today").unwrap();
    let output = folder.code(75, &["choose", "c.armwise", "customers.csv"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("locked by armwise choose, process 1"));
    folder.code(0, &["status", "c.armwise"]);
    drop(lock);
    folder.code(0, &["choose", "c.armwise", "customers.csv"]);
}

#[test]
fn a_full_disk_and_a_read_only_file_are_storage_errors_and_change_nothing() {
    let folder = Folder::new("full");
    folder.begin(3000, 300);
    let before = folder.check();
    let bytes = fs::read(folder.0.join("c.armwise")).unwrap();
    // The largest file that may be written is a little more than what is there: the next commit does not fit.
    let limit = bytes.len() / 1024 + 16;
    let script = format!(
        "trap '' XFSZ; ulimit -f {limit}; exec {} choose c.armwise customers.csv --out sends.csv",
        env!("CARGO_BIN_EXE_armwise")
    );
    let output = Command::new("bash").args(["-c", &script]).current_dir(&folder.0).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(6), "{message}");
    assert_eq!(folder.check(), before, "{message}");
    assert!(!folder.0.join("sends.csv").exists());

    let path = folder.0.join("c.armwise");
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions).unwrap();
    folder.code(6, &["choose", "c.armwise", "customers.csv"]);
    folder.code(0, &["status", "c.armwise"]);
    assert_eq!(folder.check(), before);
}
