//! A campaign as a service writes it: many small decisions, several to a commit, rewards soon after, folds.
//!
//! ```text
//! campaign_served [FOLDER] [DECISIONS] [ARMS] [DIM] [BATCH] [ITEMS]
//! ```
//! 100,000 decisions of 10 arms with 51 features, 64 to a commit, unless given. The arms come with features of their own
//! each time; with ITEMS they are of a catalogue of so many, whose features stay. Says what a decision, a reward and a fold
//! cost in processor time, then opens the file anew and says how long that takes and how much memory. Linux only, since
//! it reads its own figures from /proc.

#![allow(clippy::print_stdout, reason = "an example prints what it measured")]

use armwise_campaign::{
    Campaign,
    config::Config,
    core::{Answer, Chosen, Command, DecisionId, Draft, Outcome, Responses, Sent, Setup, Sha, fold, status, why},
    recipe::Recipe,
};
use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

const RULES: &str = "customer = \"id\"\nrounds_per_segment = 256\nkeep = \"none\"\n\
    [[promotion]]\nname = \"show\"\nquota = 10\n[[features.column]]\nname = \"features\"\nkind = \"vector\"\n";

/// Processor time so far, of all threads, in seconds.
fn cpu() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

/// The most memory so far, and the memory now, in MB.
fn memory() -> (f64, f64) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or("");
        line.split_whitespace().nth(1).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
    };
    (line("VmHWM"), line("VmRSS"))
}

fn mixed(a: u64, b: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^= x >> 31;
    x.wrapping_mul(0x94d0_49bb_1331_11eb) >> 11
}

fn sent(round: u64, number: u32, dim: usize, items: u64) -> Sent {
    let draw = |of: u64, j: u64| f64::from((mixed(of, j) as f64 / (1_u64 << 53) as f64) as f32);
    let unit = |j: u64| draw(round * 64 + u64::from(number), j);
    // No item comes twice in a round.
    let item = if items == 0 {
        mixed(round, u64::from(number)) % 100_000
    } else {
        (mixed(round, 0) + u64::from(number) * (items / 64 + 1)) % items
    };
    let of = if items == 0 { round * 64 + u64::from(number) } else { u64::MAX / 2 + item };
    Sent {
        id: DecisionId { round, number },
        customer: format!("item-{item}"),
        promotion: "show".to_owned(),
        hold_out: false,
        segment: None,
        mean: unit(100),
        width: unit(101),
        draw: Some(unit(102)),
        score: unit(103),
        rank: number,
        greedy: None,
        probability: None,
        features: (0..dim as u64).map(|j| draw(of, j)).collect::<Vec<f64>>().into(),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(|| std::env::temp_dir().join("campaign_served"), PathBuf::from);
    let mut number = |default: u64| arguments.next().map_or(Ok(default), |text| text.parse::<u64>());
    let (decisions, arms, dim, batch) = (number(100_000)?, number(10)?, number(51)? as usize, number(64)?);
    let items = number(0)?;
    fs::create_dir_all(&folder)?;
    let path = folder.join("served.armwise");
    for end in ["", "-wal", "-shm", ".lock"] {
        let _ = fs::remove_file(format!("{}{end}", path.display()));
    }
    let config = Config::parse(RULES, Path::new("rules"))?;
    let mut campaign = Campaign::create(&path, Setup::new(config, Recipe::of_dim(dim)))?;
    let [mut chose, mut learned, mut folded] = [0.0; 3];
    let (mut rewards, mut folds, mut worst) = (0_u64, 0_u64, Duration::ZERO);
    let begun = Instant::now();
    for first in (1..=decisions).step_by(batch as usize) {
        let rounds: Vec<u64> = (first..u64::min(first + batch, decisions + 1)).collect();
        let rows: Vec<Vec<Sent>> = rounds
            .iter()
            .map(|&round| (1..=arms as u32).map(|place| sent(round, place, dim, items)).collect())
            .collect();
        let chosen = |round: u64| Chosen { round, seed: 1, model: Some(campaign.model_seq()), ..Chosen::default() };
        let drafts: Vec<Draft<'_>> = rounds
            .iter()
            .zip(&rows)
            .map(|(&round, rows)| Draft { decisions: rows, ..Draft::new(Command::Choose(chosen(round))) })
            .collect();
        let (before, head) = (cpu(), campaign.head());
        campaign.append_all(&head, &drafts)?;
        chose += cpu() - before;
        // Of seven in ten decisions two rewards, up to 2,000 rounds later, one decision to a command.
        let late = |round: &u64| round.saturating_sub(mixed(*round, 9) % 2000).max(1);
        let outcomes: Vec<[Outcome; 2]> = rounds
            .iter()
            .filter(|round| mixed(**round, 8) % 10 < 7)
            .map(|round| {
                let answer = Some(Answer::of((mixed(*round, 7) % 2) as f64));
                let place = (mixed(*round, 6) % (arms - 1)) as u32 + 1;
                [place, place + 1].map(|number| Outcome { decision: DecisionId { round: late(round), number }, answer })
            })
            .collect();
        let told = |outcomes: &[Outcome; 2]| Responses {
            table: "lines".to_owned(),
            digest: Sha::of("lines"),
            rounds: vec![outcomes[0].decision.round],
            read: 2,
            repeated: 0,
            rejected: 0,
            aside: Vec::new(),
        };
        let drafts: Vec<Draft<'_>> =
            outcomes.iter().map(|own| Draft { outcomes: own, ..Draft::new(Command::Learn(told(own))) }).collect();
        let (before, head) = (cpu(), campaign.head());
        campaign.append_all(&head, &drafts)?;
        learned += cpu() - before;
        rewards += drafts.len() as u64;
        if (first / batch).is_multiple_of(16) {
            let (before, began) = (cpu(), Instant::now());
            fold(&mut campaign)?;
            folded += cpu() - before;
            folds += 1;
            worst = worst.max(began.elapsed());
        }
    }
    fold(&mut campaign)?;
    let micro = |seconds: f64, count: u64| 1e6 * seconds / count.max(1) as f64;
    println!(
        "{decisions} decisions of {arms} arms, d = {dim}, {batch} to a commit: {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    println!("processor time of a decision      {:8.1} us", micro(chose, decisions));
    println!("processor time of a reward command {:7.1} us", micro(learned, rewards));
    println!("processor time of a fold          {:8.1} ms, the slowest took {worst:?}", micro(folded, folds) / 1e3);
    println!("rounds in the state {}, of {}", campaign.rounds().len(), campaign.count_rounds());
    println!("memory: {:.0} MB at most, {:.0} MB now", memory().0, memory().1);
    let (hash, head) = (campaign.model_hash(), campaign.head());
    drop(campaign);
    let size = fs::metadata(&path)?.len();
    println!("file: {:.1} MB, {} bytes a decision; {} entries", size as f64 / 1e6, size / decisions, head.seq);
    reopen(&path, hash, decisions)
}

/// Opens the file anew, in which nothing is at hand.
fn reopen(path: &Path, hash: Sha, decisions: u64) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let campaign = Campaign::write(path, "example")?;
    let opened = began.elapsed();
    let model = campaign.model()?;
    println!("opened in {opened:?}, with the model in {:?}", began.elapsed());
    assert_eq!((campaign.model_hash(), armwise_campaign::core::model_hash(&model)), (hash, hash));
    println!("memory after opening: {:.0} MB", memory().1);
    let began = Instant::now();
    let lines = status(&campaign)?.rounds.len();
    println!("status: {lines} lines in {:?}", began.elapsed());
    let customer = campaign.sent(decisions / 2)?[0].customer.clone();
    let began = Instant::now();
    why(&campaign, &customer, Some(decisions / 2), None)?;
    println!("why of a decision in the middle: {:?}", began.elapsed());
    Ok(())
}
