//! `armwise simulate`.
//!
//! `--json` prints all results and nothing else.

use std::{path::PathBuf, time::Instant};

use armwise::{Algorithm, Description, Parameter};
use armwise_lab::{Error, simulate::simulate};
use clap::Args;

use crate::bars::Bars;

/// What a study may say, with the defaults.
const STUDY: &str = r#"The study; [problem] and [run] are shown with their defaults:

  [problem]
  kind = "clustered"        # required
  angle = 1.5708            # above 0 and at most pi/2
  d = 11                    # d - 1 clusters
  n = 2000
  k = 100
  rounds = 10
  order = "by-cluster"      # or "shuffled"
  spread = 0.0              # above 0: features stray from their centres
  turn = 0.5                # theta turns by this angle (radians); it stays if left out
  turn_round = 6            # from this round on; half of the rounds if left out
  # or
  kind = "promotions"
  ratings = "ratings.csv"   # a MovieLens file, found from the study's folder; generated if left out
  features = "svd"          # svd-normalised, als, als-normalised
  reading = "independent"   # or "disjoint": a customer gets at most one promotion in a round
  promotions = 10
  k = 50
  n = 5000                  # 100 k
  rounds = 20
  # or
  kind = "two-sets"         # k look-alikes that pay 0.5, tried first, and k others that pay 0.8
  k = 100
  theta = [0.5, 0.8]
  constraint = "explicit"   # one whole set; or "linear" (k of one kind), "top-k", "quotas", "assignment"
  spare = 0                 # arms of each kind beyond k
  rounds = 100

  [run]
  trials = 100
  seed = 1
  ties = "by-id"            # or "random"
  gamma = 1.0               # with every round, what was learned before counts gamma times as much; or "auto"
  threads = 2               # all processors if left out; the numbers do not depend on it
  delay = 0                 # rewards arrive that many rounds late
  batch = 1                 # the model is updated every so many rounds

  [[algorithm]]             # at least one; a list of values makes a grid
  name = "arm-wise-ts"
  v = [0.1, 1.0]"#;

/// The study, and as a comment below it the algorithms with their parameters.
fn study() -> String {
    let algorithm = |description: &&Description| {
        let value = |parameter: &Parameter| format!("{} = {}", parameter.name, parameter.default);
        let mut parameters: Vec<String> = description.parameters.iter().map(value).collect();
        let switches = description.switches.iter();
        parameters.extend(switches.map(|switch| format!("{} = {:?}", switch.name, switch.default)));
        format!("\n  #   {:<14} {:<33} {}", description.name, parameters.join(", "), description.about)
    };
    let algorithms: String = Algorithm::ALL.iter().map(algorithm).collect();
    format!("{STUDY}\n  # The algorithms, with the defaults of their parameters:{algorithms}")
}

/// Arguments of `simulate`.
#[derive(Args)]
#[command(after_long_help = study())]
pub(crate) struct Arguments {
    /// The study, a TOML file.
    experiment: PathBuf,
    /// Print JSON for machines.
    #[arg(long)]
    json: bool,
}

/// A mean and its standard error, which a single trial does not have.
fn with_se(mean: f64, se: Option<f64>) -> String {
    let se = se.map_or("n/a".to_owned(), |se| format!("{se:.1}"));
    format!("{mean:.1} +-{se}")
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Error> {
    let start = Instant::now();
    let found = simulate(&arguments.experiment, &Bars::default())?;
    if arguments.json {
        println!("{}", serde_json::to_string(&found).unwrap_or_default());
        return Ok(());
    }
    println!("{}", found.problem);
    println!("means +- standard errors");
    println!(
        "{:<16} {:<36} {:>7} {:>20} {:>20}  clusters in round 1",
        "algorithm", "parameters", "trials", "reward", "regret"
    );
    for entry in &found.results {
        let (reward, regret) = (entry.cumulative_reward, entry.regret);
        let clusters = entry.clusters_per_round.first().map_or(String::new(), |mean| format!("{mean:.2}"));
        println!(
            "{:<16} {:<36} {:>7} {:>20} {:>20}  {clusters}",
            entry.algorithm,
            entry.parameters().join(" "),
            entry.trials,
            with_se(reward.mean, reward.se),
            with_se(regret.mean, regret.se),
        );
    }
    println!("\npaired differences of cumulative reward +- standard error");
    if found.results.len() > found.settings_compared {
        println!("(of each grid the setting that was best on these same trials, which flatters larger grids)");
    }
    for pair in &found.paired {
        println!("{:>40} {:>16}", format!("{} - {}", pair.a, pair.b), with_se(pair.mean, pair.se));
    }
    let (played, kept) = found.rounds;
    let seconds = start.elapsed().as_secs_f64();
    println!("\n{seconds:.1} s, {:.0} rounds/s", played as f64 / seconds);
    if kept > 0 {
        println!("{kept} of {} rounds were taken over from an interrupted run", played + kept);
    }
    Ok(())
}
