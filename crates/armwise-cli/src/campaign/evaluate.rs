//! `armwise evaluate` and `armwise advise`: they only read.

use std::{fmt::Write, path::PathBuf};

use armwise::{
    Algorithm,
    evaluate::{Confidence, Estimator, Interval},
};
use armwise_campaign::{
    Campaign as File,
    advise::{Advice, AdviseOptions, advise as make_advice},
    evaluate::{Evaluated, PolicyLine, Tables, disagree, evaluate as make, html, notes, share},
    output::{Existing, Pending},
};
use clap::Args;

use crate::visible::on_one_line;

use super::{Campaign, Failure, Reading, TableArguments, policies::Policies, print, protected, say};

/// Arguments of `evaluate`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    campaign: Campaign,
    #[command(flatten)]
    policies: Policies,
    /// The tables that the rounds were chosen from: a folder in which the last number of a file's name is its round
    /// (customers-3.csv), or one file that served every round.
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,
    #[command(flatten)]
    reading: Reading,
    /// How often intervals hold, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 95.0)]
    level: f64,
    /// Write a page, too.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// Arguments of `advise`.
#[derive(Args)]
pub(crate) struct AdviseArguments {
    #[command(flatten)]
    campaign: Campaign,
    #[command(flatten)]
    table: TableArguments,
    #[command(flatten)]
    policies: Policies,
    /// The tables of past rounds, as for evaluate: then the candidates are evaluated on them, too.
    #[arg(long, value_name = "DIR")]
    tables: Option<PathBuf>,
    /// For how many rounds the candidates compete.
    #[arg(long, default_value_t = AdviseOptions::default().rounds)]
    rounds: u64,
    /// In how many fitted worlds.
    #[arg(long, default_value_t = AdviseOptions::default().trials)]
    trials: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let campaign = File::read(&arguments.campaign.campaign)?;
    let protected = protected(&arguments.campaign.campaign, &arguments.tables);
    let begin = |path: &PathBuf| Pending::begin(path, Existing::Replace, &protected);
    let page = arguments.html.as_ref().map(begin).transpose()?;
    let mut policies = arguments.policies.algorithms()?;
    if policies.is_empty() {
        policies = usual(&campaign);
    }
    let tables = match &arguments.tables {
        Some(path) => Tables::at(path, &arguments.reading.or(&campaign.config().tables))?,
        None => Tables::None,
    };
    let confidence = Confidence { level: arguments.level / 100.0, ..Confidence::default() };
    let evaluated = make(&campaign, &policies, &tables, &confidence)?;
    if let Some(mut page) = page {
        page.write(html(&evaluated).as_bytes())?;
        let path = page.path().display().to_string();
        page.publish()?;
        say(&format!("the page is in {path}\n"));
    }
    print(arguments.campaign.json, &evaluated, || text(&evaluated));
    Ok(0)
}

pub(crate) fn advise(arguments: &AdviseArguments) -> Result<u8, Failure> {
    let campaign = File::read(&arguments.campaign.campaign)?;
    let rules = arguments.table.reading.or(&campaign.config().tables);
    let table = arguments.table.open()?.with(rules.clone());
    let tables = match &arguments.tables {
        Some(path) => Tables::at(path, &rules)?,
        None => Tables::None,
    };
    let AdviseArguments { rounds, trials, .. } = *arguments;
    let options = AdviseOptions { candidates: arguments.policies.algorithms()?, rounds, trials };
    let advice = make_advice(&campaign, &table, &options, &tables)?;
    print(arguments.campaign.json, &advice, || advised(&advice));
    Ok(0)
}

/// The campaign's own policy, and its estimate alone.
fn usual(campaign: &File) -> Vec<Algorithm> {
    let greedy = Algorithm::new("greedy", &[]).ok();
    [campaign.config().algorithm].into_iter().chain(greedy).collect()
}

fn around(value: f64, interval: Option<Interval>) -> String {
    interval.map_or(format!("{value:.3}"), |interval| format!("{value:.3} ± {:.3}", interval.length() / 2.0))
}

fn text(evaluated: &Evaluated) -> String {
    let mut text = format!(
        "{} rounds, chosen by {}: a {} of {} a round was earned\n",
        evaluated.rounds.len(),
        evaluated.logging,
        evaluated.unit,
        around(evaluated.logged, evaluated.logged_interval)
    );
    let _ = writeln!(
        text,
        "{:<32} {:>20} {:>20} {:>10} {:>12} {:>15}",
        "policy", "a round", "more than earned", "tell sends", "weight up to", "without support"
    );
    for line in &evaluated.policies {
        let of = &line.evaluation;
        let _ = writeln!(
            text,
            "{:<32} {:>20} {:>20} {:>10.0} {:>12.1} {:>15}",
            on_one_line(&line.policy),
            value(line),
            of.gain.map_or("-".to_owned(), |gain| around(gain, of.gain_interval)),
            of.effective,
            of.largest_weight,
            share(of.unsupported + of.unseen)
        );
    }
    if evaluated.policies.iter().any(|line| !line.evaluation.identified) {
        text += "not identified: the policy wants customers who could not have been chosen, so the log does not tell its value\n";
    }
    for note in notes(evaluated) {
        text = text + &on_one_line(&note) + "\n";
    }
    for of in &evaluated.sampled {
        let _ = writeln!(
            text,
            "of round {} one in {} of those who were not chosen was kept and stands for all of them",
            of.round, of.one_in
        );
    }
    if !evaluated.disagreements.is_empty() {
        text = text + &on_one_line(&disagree(evaluated)) + "\n";
    }
    for left in &evaluated.left_out {
        let _ = writeln!(text, "round {} is left out: {}", left.round, left.why);
    }
    if let Some((uplift, half)) = evaluated.hold_out.last().and_then(|all| all.uplift.zip(all.half_width)) {
        let _ = writeln!(text, "a send brought {uplift:.4} ± {half:.4} more than the hold-out");
    }
    text += "values are of a round with what was known before it; what a policy would have learned no log tells\n";
    text
}

fn value(line: &PolicyLine) -> String {
    let of = &line.evaluation;
    let estimate = of.by(Estimator::Dr);
    match estimate.value {
        Some(value) if of.identified => around(value, estimate.interval),
        _ => "not identified".to_owned(),
    }
}

fn advised(advice: &Advice) -> String {
    let mut text = format!(
        "{} worlds of {} customers, fitted to {} answers; {} rounds in each; {} a round\n",
        advice.trials, advice.customers, advice.answers, advice.rounds, advice.unit
    );
    let _ = writeln!(text, "{:<34} {:>14} {:>24} {:>9}", "policy", "a round", "behind the best", "best in");
    for line in &advice.candidates {
        let behind = match line.behind_interval {
            Some(interval) => format!("{:.3} ({:.3} to {:.3})", line.behind, interval.low, interval.high),
            None => "-".to_owned(),
        };
        let now = if line.current { " (now)" } else { "" };
        let _ = writeln!(
            text,
            "{:<34} {:>14.3} {behind:>24} {:>8.0}%",
            format!("{}{now}", on_one_line(&line.policy)),
            line.value,
            100.0 * line.best_in
        );
    }
    let _ = writeln!(text, "take {}: {}", advice.recommendation, advice.reason);
    match (&advice.evaluated, &advice.not_evaluated) {
        (Some(evaluated), _) => text = text + "on past rounds:\n" + &self::text(evaluated),
        (None, Some(why)) => {
            let _ = writeln!(text, "not evaluated on past rounds: {why}");
        }
        (None, None) => {}
    }
    text += "this cannot know:\n";
    for unknown in &advice.unknown {
        let _ = writeln!(text, "  {unknown}");
    }
    text
}
