//! The command as a user meets it: exit codes, messages, folders, and a real kill in the middle.
//!
//! Every test has a folder of its own and runs the built binary.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use serde_json::Value;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("armwise-cli-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn armwise(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_armwise"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    armwise(arguments).output().unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Exit code 2, one line on stderr with the place, nothing on stdout.
fn refused(output: &Output, place: &str) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    assert!(message.contains(place), "{message}");
    assert!(output.stdout.is_empty());
}

#[test]
fn bad_ratings_are_refused_with_their_place_and_leave_no_report() {
    let folder = folder("ratings");
    let header = "userId,movieId,rating,timestamp\n";
    let cases = [
        ("missing.csv", None, "missing.csv"),
        ("columns.csv", Some("movieId,title\n1,Heat\n".to_owned()), "columns.csv:1"),
        ("range.csv", Some(format!("{header}1,2,3.0,4\n1,3,7.5,4\n")), "range.csv:3"),
        ("empty.csv", Some(header.to_owned()), "empty.csv"),
        ("few.csv", Some(format!("{header}1,2,3.0,4\n2,3,3.5,4\n")), "few.csv"),
    ];
    for (name, content, place) in cases {
        let file = folder.join(name);
        if let Some(content) = content {
            fs::write(&file, content).unwrap();
        }
        let out = folder.join("report");
        refused(&run(&["reproduce", "promotions", "--quick", "--ratings", text(&file), "--out", text(&out)]), place);
        assert!(!out.exists(), "{name}");
        // Also when the clustered case would come first: nothing is run or written before the data are known good.
        refused(&run(&["reproduce", "--quick", "--ratings", text(&file), "--out", text(&out)]), place);
        assert!(!out.exists(), "{name}");
        let study = folder.join("study.toml");
        fs::write(
            &study,
            format!("[problem]\nkind = \"promotions\"\nratings = {file:?}\n[[algorithm]]\nname = \"greedy\"\n"),
        )
        .unwrap();
        refused(&run(&["simulate", text(&study)]), place);
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn what_the_clustered_case_does_not_use_is_refused() {
    let folder = folder("unused");
    let out = folder.join("report");
    let clustered = ["reproduce", "clustered", "--quick", "--out", text(&out)];
    refused(&run(&[&clustered[..], &["--ratings", "missing.csv"]].concat()), "--ratings = missing.csv");
    refused(&run(&[&clustered[..], &["--features", "svd"]].concat()), "--features = svd");
    assert!(!out.exists());
    fs::remove_dir_all(folder).unwrap();
}

/// What `make automatic` runs, in small.
#[test]
fn some_algorithms_only_are_compared_with_their_tuned_selves() {
    let folder = folder("only");
    let out = folder.join("report");
    let which = ["reproduce", "which", "--quick", "--out", text(&out), "--only"];
    refused(&run(&[&which[..], &["pc2ucb,pc3ucb"]].concat()), "only = pc3ucb");
    refused(&run(&["reproduce", "promotions", "--quick", "--only", "pc2ucb", "--out", text(&out)]), "--only = pc2ucb");
    assert!(!out.exists());
    let output = run(&[&which[..], &["arm-wise-ts,hallucinated-c2ucb"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(!shown.contains("pc2ucb") && !shown.contains("shared"), "{shown}");
    let found: Value = serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    let problems = found["which"]["problems"].as_array().unwrap();
    let of_tuned = shown.split("Automatic or tuned").nth(1).unwrap();
    for problem in problems {
        let contenders = problem["contenders"].as_array().unwrap();
        let names: Vec<&str> = contenders.iter().map(|contender| contender["algorithm"].as_str().unwrap()).collect();
        assert_eq!(names, ["hallucinated-c2ucb", "arm-wise-ts"]);
        let [automatic, default] = [0, 2].map(|way| {
            let share = contenders[1]["ways"][way]["of_tuned"].clone();
            let [value, low, high] = ["value", "low", "high"].map(|name| share[name].as_f64().unwrap());
            format!("{value:.3} [{low:.3}, {high:.3}]")
        });
        let label = problem["label"].as_str().unwrap();
        let arm_wise = of_tuned.split("  arm-wise-ts").nth(1).unwrap();
        let line = arm_wise.lines().find(|line| line.starts_with(&format!("  {label}  "))).unwrap();
        assert!(line.contains(&automatic) && line.contains(&default), "{line}: {automatic}, {default}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The study in the researcher's tutorial, with fewer trials.
#[test]
fn the_tutorial_s_study_runs() {
    let folder = folder("tutorial");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorials/researcher.md");
    let page = fs::read_to_string(page).unwrap();
    let study = page.split("```toml title=\"study.toml\"\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(study.contains("angle = 1.5708") && study.contains("trials = 200"), "{study}");
    let file = folder.join("experiment.toml");
    fs::write(&file, study.replace("trials = 200", "trials = 3")).unwrap();
    let output = run(&["simulate", text(&file)]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains("arm-wise-ts") && shown.contains("best on these same trials"), "{shown}");
    // A single trial has no standard error.
    fs::write(&file, study.replace("trials = 200", "trials = 1")).unwrap();
    assert!(String::from_utf8_lossy(&run(&["simulate", text(&file)]).stdout).contains("+-n/a"));
    let found: Value = serde_json::from_slice(&run(&["simulate", text(&file), "--json"]).stdout).unwrap();
    assert!(found["results"][0]["cumulative_reward"]["se"].is_null() && found["paired"][0]["se"].is_null());
    fs::remove_dir_all(folder).unwrap();
}

/// Every name that the help of `simulate` shows is one that a study may have.
#[test]
fn the_help_s_studies_run() {
    let folder = folder("help");
    let file = folder.join("e.toml");
    let help = String::from_utf8(run(&["simulate", "--help"]).stdout).unwrap();
    assert!(armwise::Algorithm::NAMES.iter().all(|name| help.contains(&format!("#   {name} "))), "{help}");
    let study = help.split("their defaults:").nth(1).unwrap().replace("trials = 100", "trials = 1");
    let (problems, rest) = study.split_once("[run]").unwrap();
    let problems: Vec<&str> = problems.split("# or\n").collect();
    assert_eq!(problems.len(), 3);
    for problem in problems {
        let problem = problem.replace("[problem]", "").replace("ratings = ", "# ");
        let problem = problem.replace("k = 50", "k = 3").replace("n = 5000", "n = 100");
        let problem = format!("[problem]\n{problem}");
        fs::write(&file, format!("{problem}[run]{rest}")).unwrap();
        let output = run(&["simulate", text(&file)]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn bad_studies_are_refused_with_line_and_column() {
    let folder = folder("studies");
    let file = folder.join("e.toml");
    let head = "[problem]\nkind = \"clustered\"\n";
    let cases = [
        (format!("{head}[[algorithm]]\nname = \"ucb\"\n"), "e.toml:4:8"),
        (format!("{head}[[algorithm]]\nname = \"c2ucb\"\nlambda = -1.0\n"), "e.toml:5:10"),
        (format!("{head}n = 100\nk = 101\n[[algorithm]]\nname = \"c2ucb\"\n"), "e.toml:4:5"),
        (format!("{head}kk = 101\n[[algorithm]]\nname = \"c2ucb\"\n"), "e.toml:3:1"),
        (format!("{head}[run]\nties = \"by-name\"\n[[algorithm]]\nname = \"c2ucb\"\n"), "e.toml:4:8"),
        ("[problem]\nkind = 3\n".to_owned(), "e.toml:2:8"),
    ];
    for (content, place) in cases {
        fs::write(&file, content).unwrap();
        refused(&run(&["simulate", text(&file), "--json"]), place);
    }
    refused(&run(&["simulate", text(&folder.join("none.toml"))]), "none.toml");
    for arguments in [&["reproduce", "everything"][..], &["reproduce", "--threads", "0"], &["reproduce", "--seed", "x"]]
    {
        assert_eq!(run(arguments).status.code(), Some(2), "{arguments:?}");
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn simulate_prints_the_documented_json() {
    let folder = folder("simulate");
    let file = folder.join("e.toml");
    let study = "[problem]\nkind = \"clustered\"\nangle = 1.0\nd = 5\nn = 80\nk = 10\nrounds = 6\norder = \"shuffled\"\nspread = 0.1\n\
        [run]\ntrials = 12\nseed = 3\nties = \"random\"\nthreads = 2\ndelay = 1\nbatch = 2\n\
        [[algorithm]]\nname = \"arm-wise-ts\"\nlambda = 1.0\nv = [0.1, 1.0]\n[[algorithm]]\nname = \"random\"\n";
    fs::write(&file, study).unwrap();
    let output = run(&["simulate", text(&file), "--json"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&found), ["paired", "problem", "results"]);
    assert_eq!(found["results"].as_array().unwrap().len(), 3);
    let entry = &found["results"][0];
    assert_eq!(keys(entry), ["algorithm", "clusters_per_round", "cumulative_reward", "params", "regret", "trials"]);
    assert_eq!(entry["params"], serde_json::json!({"lambda": 1.0, "v": 0.1}));
    assert_eq!((entry["trials"].as_u64(), entry["clusters_per_round"].as_array().unwrap().len()), (Some(12), 6));
    assert_eq!(keys(&entry["regret"]), ["mean", "se"]);
    assert_eq!(keys(&found["paired"][0]), ["a", "b", "mean", "se"]);
    // The same study on one thread gives the same bytes.
    fs::write(&file, study.replace("threads = 2", "threads = 1")).unwrap();
    assert_eq!(run(&["simulate", text(&file), "--json"]).stdout, output.stdout);
    fs::remove_dir_all(folder).unwrap();
}

/// Everything in results.json that must not depend on threads or interruptions.
fn numbers(out: &Path) -> Value {
    let mut results: Value = serde_json::from_str(&fs::read_to_string(out.join("results.json")).unwrap()).unwrap();
    assert!(results["run"]["version"].is_string() && results["run"]["wall_seconds"].is_number());
    results.as_object_mut().unwrap().remove("run");
    results
}

/// Waits until at least `count` units are kept in a folder, then kills the run that keeps them.
fn kill_after(child: &mut Child, kept: &Path, count: usize) {
    let begun = Instant::now();
    while units(kept) < count {
        assert!(begun.elapsed() < Duration::from_mins(2) && child.try_wait().unwrap().is_none());
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(units(kept) >= count);
}

/// Finished units in a folder.
fn units(kept: &Path) -> usize {
    let finished = |file: &fs::DirEntry| file.path().extension().is_some_and(|extension| extension == "json");
    fs::read_dir(kept).map_or(0, |files| files.flatten().filter(finished).count())
}

#[test]
fn a_killed_study_goes_on_and_prints_the_same_bytes() {
    let folder = folder("kill-study");
    let (cut, whole) = (folder.join("cut.toml"), folder.join("whole.toml"));
    let study = "[problem]\nkind = \"clustered\"\n[run]\ntrials = 600\nseed = 3\nthreads = 2\n\
        [[algorithm]]\nname = \"arm-wise-ts\"\nv = [0.1, 0.3, 1.0]\n[[algorithm]]\nname = \"c2ucb\"\n";
    fs::write(&cut, study).unwrap();
    fs::write(&whole, study).unwrap();
    let kept = folder.join(".cut.toml.unfinished");
    let mut child = armwise(&["simulate", text(&cut), "--json"]).stdout(Stdio::null()).spawn().unwrap();
    kill_after(&mut child, &kept, 1);
    // What the tables say of it, on a copy; and another seed takes over nothing.
    let (copy, other) = (folder.join("copy.toml"), folder.join("other.toml"));
    for (file, seed) in [(&copy, "seed = 3"), (&other, "seed = 4")] {
        fs::write(file, study.replace("seed = 3", seed)).unwrap();
        let beside = file.with_file_name(format!(".{}.unfinished", file.file_name().unwrap().to_str().unwrap()));
        fs::create_dir(&beside).unwrap();
        for unit in fs::read_dir(&kept).unwrap().flatten() {
            fs::copy(unit.path(), beside.join(unit.file_name())).unwrap();
        }
        let shown = String::from_utf8(run(&["simulate", text(file)]).stdout).unwrap();
        assert_eq!(shown.contains("of 24000 rounds were taken over"), seed == "seed = 3", "{shown}");
        assert!(!beside.exists(), "a finished study keeps nothing");
    }
    let again = run(&["simulate", text(&cut), "--json"]);
    assert!(again.status.success() && !kept.exists());
    assert_eq!(again.stdout, run(&["simulate", text(&whole), "--json"]).stdout);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_killed_run_goes_on_and_gives_the_same_numbers_on_any_number_of_threads() {
    let folder = folder("kill");
    let (whole, cut) = (folder.join("whole"), folder.join("cut"));
    let arguments = |out: &'_ Path, threads: &'_ str| -> Vec<String> {
        ["reproduce", "clustered", "--quick", "--seed", "5", "--threads", threads, "--out", text(out)]
            .map(str::to_owned)
            .to_vec()
    };
    let start = |out: &Path, threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_armwise"));
        command.args(arguments(out, threads)).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let mut child = start(&cut, "2").spawn().unwrap();
    let kept = cut.join(".unfinished");
    // As soon as some units are finished, long before the end.
    kill_after(&mut child, &kept, 5);
    assert!(!cut.join("results.json").exists(), "no partial report");

    assert!(start(&cut, "2").status().unwrap().success());
    assert!(start(&whole, "1").status().unwrap().success());
    assert!(!kept.exists(), "a finished run keeps only its report");
    let again: Value = serde_json::from_str(&fs::read_to_string(cut.join("results.json")).unwrap()).unwrap();
    assert!(again["run"]["rounds_kept"].as_u64() > Some(0));
    assert_eq!(numbers(&cut), numbers(&whole));
    for name in ["figure1.csv", "figure2.csv", "figure5.csv", "figure6.csv", "figure7.csv", "verdicts.csv"] {
        assert_eq!(fs::read(cut.join(name)).unwrap(), fs::read(whole.join(name)).unwrap(), "{name}");
    }
    fs::remove_dir_all(folder).unwrap();
}
