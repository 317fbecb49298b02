//! What commands cost as a campaign grows: 1,000 rounds of 100 sends, ten tables of responses to each.
//!
//! ```text
//! campaign_growth [FOLDER] [ROUNDS]
//! ```
//! Every choose, learn and status opens the file anew, as a command does. The table shows the median over the 25 rounds
//! that end with the round named, and the last line how many times the time of round 100 the last round takes.

#![allow(clippy::print_stdout, reason = "an example prints what it measured")]

use armwise_campaign::{
    Campaign,
    config::Config,
    core::{Feedback, close, learn, status},
    init,
    round::{ChooseOptions, choose},
    store::sqlite::verify,
    table::Table,
};
use std::{
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

const SHOWN: [usize; 5] = [25, 100, 300, 600, 1000];
const OVER: usize = 25;
const RULES: &str = "customer = \"customer\"\n[limits]\nrest = 2\nhold_out = 0.05\n\
    [[promotion]]\nname = \"mail\"\nquota = 70\n[[promotion]]\nname = \"call\"\nquota = 30\n";

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(|| std::env::temp_dir().join("campaign_growth"), PathBuf::from);
    let rounds: usize = arguments.next().map_or(Ok(1000), |rounds| rounds.parse())?;
    fs::create_dir_all(&folder)?;
    let (path, customers) = (folder.join("growth.armwise"), folder.join("customers.csv"));
    for end in ["", "-wal", "-shm", ".lock"] {
        let _ = fs::remove_file(format!("{}{end}", path.display()));
    }
    let mut text = String::from("customer,age,visits,income,region\n");
    for i in 0..2000_u64 {
        let region = ["north", "south", "east", "west"][(i * 31 % 4) as usize];
        writeln!(text, "C{i:05},{},{},{},{region}", 18 + i * 7919 % 70, i * 104_729 % 13, i * 1_299_709 % 9973)?;
    }
    fs::write(&customers, text)?;
    drop(init(&path, &Table::open(&customers, None)?, Config::parse(RULES, Path::new("rules"))?)?);

    let mut times: Vec<[f64; 3]> = Vec::new();
    println!("{:>6} {:>12} {:>12} {:>12}", "round", "choose", "learn", "status");
    for round in 1..=rounds {
        times.push(play(&path, &customers, &folder, round)?);
        if SHOWN.contains(&round) || round == rounds {
            let [choose, learn, status] = medians(&times).map(|seconds| format!("{:.2} ms", 1e3 * seconds));
            println!("{round:>6} {choose:>12} {learn:>12} {status:>12}");
        }
    }
    if rounds > 100 {
        let (before, after) = (medians(&times[..100]), medians(&times));
        let ratio = |of: usize| after[of] / before[of];
        println!("{:>6} {:>12.2} {:>12.2} {:>12.2}", "ratio", ratio(0), ratio(1), ratio(2));
    }
    let start = Instant::now();
    let verified = verify(&path)?;
    let size = fs::metadata(&path)?.len() as f64 / 1e6;
    println!(
        "{} entries, {size:.0} MB; verify {:.1} s: {}",
        verified.entries,
        start.elapsed().as_secs_f64(),
        if verified.good { "good" } else { "NOT good" }
    );
    Ok(())
}

/// One round; the seconds of choose, of a learn in the mean, and of status.
fn play(path: &Path, customers: &Path, folder: &Path, round: usize) -> Result<[f64; 3], Box<dyn Error>> {
    let start = Instant::now();
    let mut campaign = Campaign::write(path, "choose")?;
    let choice = choose(&campaign, &Table::open(customers, None)?, ChooseOptions::default(), &|_| ())?;
    choice.commit(&mut campaign, Some(&folder.join("sends.csv")))?;
    drop(campaign);
    let chosen = start.elapsed().as_secs_f64();
    let mut learned = 0.0;
    for part in 0..10 {
        let mut text = String::from("decision,reward\n");
        for number in 10 * part + 1..=10 * part + 10 {
            writeln!(text, "r{round}-{number},{}", (round * 7 + number * 13) % 5 / 4)?;
        }
        let responses = folder.join("responses.csv");
        fs::write(&responses, text)?;
        let start = Instant::now();
        let mut campaign = Campaign::write(path, "learn")?;
        learn(&mut campaign, &Table::open(&responses, None)?, Feedback::Rewards, None)?;
        drop(campaign);
        learned += start.elapsed().as_secs_f64() / 10.0;
    }
    let start = Instant::now();
    status(&Campaign::read(path)?)?;
    let told = start.elapsed().as_secs_f64();
    close(&mut Campaign::write(path, "close")?, round as u64)?;
    Ok([chosen, learned, told])
}

/// The medians over the last rounds.
fn medians(times: &[[f64; 3]]) -> [f64; 3] {
    let last = &times[times.len().saturating_sub(OVER)..];
    [0, 1, 2].map(|of| {
        let mut values: Vec<f64> = last.iter().map(|times| times[of]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}
