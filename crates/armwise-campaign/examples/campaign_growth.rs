//! What commands cost as a campaign grows: 1,000 rounds of 100 sends, ten tables of responses to each.
//!
//! ```text
//! campaign_growth [FOLDER] [ROUNDS]
//! ```
//! First the campaign is played, and its file is copied after 25, 100, 300, 600 and 1,000 rounds. Then each copy goes on by a
//! few rounds, the copies in turns, so that whatever else the machine does meets all of them alike. Every choose, learn and
//! status opens the file anew, as a command does. The table shows medians, and how many times those of round 100 they are.

#![allow(clippy::print_stdout, reason = "an example prints what it measured")]

use armwise_campaign::{
    Campaign,
    config::Config,
    core::{Feedback, close, learn, status},
    init,
    output::Existing,
    round::{ChoiceFiles, ChooseOptions, choose},
    store::sqlite::verify,
    table::{SheetFile, Table},
};
use std::{
    error::Error,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

const SHOWN: [usize; 5] = [25, 100, 300, 600, 1000];
/// How many rounds each copy goes on.
const TURNS: usize = 15;
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

    let shown: Vec<usize> = SHOWN.into_iter().filter(|&round| round <= rounds).collect();
    let copy = |round: usize| folder.join(format!("growth-{round}.armwise"));
    for round in 1..=rounds {
        play(&path, &customers, &folder, round)?;
        if shown.contains(&round) {
            fs::copy(&path, copy(round))?;
        }
    }
    let mut times: Vec<Vec<[f64; 3]>> = vec![Vec::new(); shown.len()];
    for turn in 1..=TURNS {
        for (&round, times) in shown.iter().zip(&mut times) {
            times.push(play(&copy(round), &customers, &folder, round + turn)?);
        }
    }
    let medians: Vec<[f64; 3]> = times.iter().map(|times| medians(times)).collect();
    let base = shown.iter().position(|&round| round == 100).unwrap_or(0);
    println!("{:>6} {:>18} {:>18} {:>18}", "round", "choose", "learn", "status");
    for (round, own) in shown.iter().zip(&medians) {
        let cell = |of: usize| format!("{:.2} ms ({:.2} x)", 1e3 * own[of], own[of] / medians[base][of]);
        println!("{round:>6} {:>18} {:>18} {:>18}", cell(0), cell(1), cell(2));
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
    let choice = choose(
        &campaign,
        &Table::open(customers, None)?,
        ChooseOptions { again: true, ..ChooseOptions::default() },
        &|_| (),
    )?;
    let file = SheetFile::begin(&folder.join("sends.csv"), Existing::Replace, &[])?;
    choice.commit(&mut campaign, Some(ChoiceFiles { sends: Some(file), hold_out: None }))?;
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
        learn(&mut campaign, &Table::open(&responses, None)?, Feedback::Rewards, None, None)?;
        drop(campaign);
        learned += start.elapsed().as_secs_f64() / 10.0;
    }
    let start = Instant::now();
    status(&Campaign::read(path)?)?;
    let told = start.elapsed().as_secs_f64();
    close(&mut Campaign::write(path, "close")?, round as u64, None)?;
    Ok([chosen, learned, told])
}

fn medians(times: &[[f64; 3]]) -> [f64; 3] {
    [0, 1, 2].map(|of| {
        let mut values: Vec<f64> = times.iter().map(|times| times[of]).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    })
}
