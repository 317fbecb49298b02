//! Which algorithm, for these customers and these answers: candidates compete in worlds fitted to the campaign.
//!
//! Off-policy evaluation tells what a policy would have earned in a round with what was known then. It cannot tell what a
//! policy gains by learning. A fitted world can, but only as well as its model is; so both stand side by side, and what
//! neither can know is said.

mod world;

use crate::{
    Campaign, Error,
    core::Sha,
    evaluate::{Evaluated, Tables, described, evaluate},
    input::Source,
    round::Offer,
};
use armwise::{
    Algorithm, Round, Stream,
    evaluate::{Confidence, Interval},
};
use rayon::prelude::*;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use world::World;

/// The seeds of trials.
const TRIALS: Stream = Stream(263);

/// How candidates compete.
#[derive(Debug, Clone, PartialEq)]
pub struct AdviseOptions {
    /// The candidates; the usual ones if there are none. The campaign's own algorithm always competes.
    pub candidates: Vec<Algorithm>,
    /// For how many rounds.
    pub rounds: u64,
    /// In how many worlds.
    pub trials: usize,
}

impl Default for AdviseOptions {
    fn default() -> Self {
        Self { candidates: Vec::new(), rounds: 8, trials: 32 }
    }
}

/// A candidate's line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CandidateLine {
    /// The policy with its parameters, in words.
    pub policy: String,
    /// The policy.
    pub algorithm: Algorithm,
    /// Whether it is the one that the campaign has now.
    pub current: bool,
    /// What it earns per round in the fitted worlds.
    pub value: f64,
    /// By how much it falls short of the best one, world by world.
    pub behind: f64,
    /// The interval of that.
    pub behind_interval: Option<Interval>,
    /// The share of worlds in which it is the best.
    pub best_in: f64,
}

/// What to choose with.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// The campaign's file.
    pub campaign: String,
    /// The hash of the journal's last entry.
    pub head: Sha,
    /// What values are in: `reward`, `profit`, or either beyond what happens without a send.
    pub unit: String,
    /// How many rounds the candidates played, and in how many worlds.
    pub rounds: u64,
    /// In how many worlds.
    pub trials: usize,
    /// How many customers a world has.
    pub customers: usize,
    /// The share of the table's customers that this is.
    pub share: f64,
    /// How many answers the worlds are fitted to.
    pub answers: u64,
    /// How much an answer scatters.
    pub noise: f64,
    /// The candidates, the best first.
    pub candidates: Vec<CandidateLine>,
    /// The policy to take.
    pub recommended: Algorithm,
    /// The same, in words.
    pub recommendation: String,
    /// Why.
    pub reason: String,
    /// What this cannot know.
    pub unknown: Vec<String>,
    /// The candidates on the past rounds, where their tables were given or their candidates kept.
    pub evaluated: Option<Evaluated>,
    /// Why there is no evaluation on past rounds.
    pub not_evaluated: Option<String>,
}

/// A campaign that changes its algorithm for less than this share of what it earns gains nothing but a change.
const WORTH_A_CHANGE: f64 = 0.005;

/// Says which algorithm to choose with, from a table of customers and the answers so far, those of past sends included.
///
/// # Errors
/// [`Error::NoAnswers`], [`Error::Usage`] for no trials or rounds, errors of the table.
pub fn advise(
    campaign: &Campaign,
    table: &dyn Source,
    options: &AdviseOptions,
    tables: &Tables<'_>,
) -> Result<Advice, Error> {
    if options.trials < 2 || options.rounds == 0 {
        return Err(Error::Usage("candidates need at least 1 round and 2 worlds to compete in".to_owned()));
    }
    let offer = Offer::read(campaign, campaign.setup(), campaign.next_round(), true, table)?;
    let world = World::fit(campaign, offer)?;
    let current = campaign.config().algorithm;
    let mut candidates =
        if options.candidates.is_empty() { usual(&current, world.noise)? } else { options.candidates.clone() };
    if !candidates.contains(&current) {
        candidates.insert(0, current);
    }
    let model = campaign.model()?;
    let learner =
        |algorithm: &Algorithm| campaign.learner_by(*algorithm, &model, (campaign.config(), campaign.recipe()));
    let learners = candidates.iter().map(learner).collect::<Result<Vec<_>, _>>()?;
    let seeds = Round::new(campaign.config().seed, campaign.next_round()).draws(0, TRIALS);
    let played: Vec<Result<Vec<f64>, Error>> = (0..options.trials as u64)
        .into_par_iter()
        .map(|trial| world.play(seeds.bits(trial), options.rounds, &learners))
        .collect();
    let played = played.into_iter().collect::<Result<Vec<_>, _>>()?;
    let lines = lines(&candidates, &played, &current);
    let (recommended, reason) = recommend(&lines);
    let (evaluated, not_evaluated) = match evaluate(campaign, &candidates, tables, &Confidence::default()) {
        Ok(evaluated) => (Some(evaluated), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let config = campaign.config();
    let unit = if config.is_profit() { "profit" } else { "reward" };
    let beyond = config.objective == crate::config::Objective::Uplift;
    let answers = model.blocks().iter().map(armwise::Block::count).sum();
    Ok(Advice {
        campaign: campaign.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        head: campaign.head().hash,
        unit: if beyond { format!("{unit} beyond what happens without a send") } else { unit.to_owned() },
        rounds: options.rounds,
        trials: options.trials,
        customers: world.customers,
        share: world.share,
        answers,
        noise: world.noise,
        recommended,
        recommendation: described(&recommended),
        reason,
        unknown: unknown(campaign, &world, answers),
        candidates: lines,
        evaluated,
        not_evaluated,
    })
}

/// The usual candidates: parameters are multiples of how much an answer scatters, which is what they stand for.
fn usual(current: &Algorithm, noise: f64) -> Result<Vec<Algorithm>, Error> {
    let round = |value: f64| {
        let scale = 10.0_f64.powf(1.0 - value.abs().log10().floor());
        (value * scale).round() / scale
    };
    let (lambda, auto) = (armwise::Policy::ridge(current), serde_json::Value::from("auto"));
    let mut all = vec![
        Algorithm::new("greedy", &[("lambda", lambda)])?,
        Algorithm::with("arm-wise-ts", &[("lambda", auto.clone()), ("v", auto)])?,
    ];
    for times in [0.3, 1.0, 3.0] {
        all.push(Algorithm::new("arm-wise-ts", &[("lambda", lambda), ("v", round(times * noise))])?);
    }
    for times in [0.3, 1.0] {
        all.push(Algorithm::new("c2ucb", &[("lambda", lambda), ("alpha", round(times * noise))])?);
    }
    all.push(Algorithm::new("pc2ucb", &[("lambda", lambda), ("alpha", round(0.3 * noise))])?);
    Ok(all)
}

/// The candidates by falling value.
fn lines(candidates: &[Algorithm], played: &[Vec<f64>], current: &Algorithm) -> Vec<CandidateLine> {
    let count = played.len() as f64;
    let means: Vec<f64> =
        (0..candidates.len()).map(|place| played.iter().map(|trial| trial[place]).sum::<f64>() / count).collect();
    let best = (0..means.len()).max_by(|&a, &b| means[a].total_cmp(&means[b]).then(b.cmp(&a))).unwrap_or_default();
    let wins = |place: usize| {
        let won = played.iter().filter(|trial| trial.iter().all(|other| *other <= trial[place]));
        won.count() as f64 / count
    };
    let mut lines: Vec<CandidateLine> = (candidates.iter().enumerate())
        .map(|(place, algorithm)| {
            let behind: Vec<f64> = played.iter().map(|trial| trial[best] - trial[place]).collect();
            let mean = behind.iter().sum::<f64>() / count;
            let squares: f64 = behind.iter().map(|own| (own - mean) * (own - mean)).sum();
            let half = (squares / (count - 1.0) / count).sqrt() * student(count - 1.0);
            CandidateLine {
                policy: described(algorithm),
                algorithm: *algorithm,
                current: algorithm == current,
                value: means[place],
                behind: mean,
                behind_interval: (place != best).then_some(Interval { low: mean - half, high: mean + half }),
                best_in: wins(place),
            }
        })
        .collect();
    lines.sort_by(|a, b| b.value.total_cmp(&a.value));
    lines
}

/// 97.5 % of Student's distribution lie below.
fn student(freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::INFINITY, |student| student.inverse_cdf(0.975))
}

/// The policy to take, and why.
fn recommend(lines: &[CandidateLine]) -> (Algorithm, String) {
    let best = &lines[0];
    let share = |amount: f64| 100.0 * amount / best.value.abs().max(f64::MIN_POSITIVE);
    let current = lines.iter().find(|line| line.current);
    match current {
        Some(current) if current.algorithm == best.algorithm => (
            best.algorithm,
            format!("{} is what the campaign has, and no candidate earned more in the fitted worlds", best.policy),
        ),
        Some(current) if current.behind <= WORTH_A_CHANGE * best.value.abs() => (
            current.algorithm,
            format!(
                "keep {}: the best candidate, {}, earned only {:.1} % more in the fitted worlds, which is not worth a change",
                current.policy,
                best.policy,
                share(current.behind)
            ),
        ),
        Some(current) => {
            let interval = current.behind_interval.map_or(String::new(), |interval| {
                format!(" (95 % interval {:.1} to {:.1})", share(interval.low), share(interval.high))
            });
            let sure = current.behind_interval.is_some_and(|interval| interval.low > 0.0);
            let doubt = if sure { "" } else { "; more worlds would tell whether that is luck" };
            let reason = format!(
                "{} earned {:.1} %{interval} more than {}, which the campaign has, in the fitted worlds{doubt}",
                best.policy,
                share(current.behind),
                current.policy
            );
            (best.algorithm, reason)
        }
        None => (best.algorithm, format!("{} earned the most in the fitted worlds", best.policy)),
    }
}

/// What a fitted world cannot know.
fn unknown(campaign: &Campaign, world: &World, answers: u64) -> Vec<String> {
    let mut all = vec![
        format!(
            "effects that are not linear in the features, and changes over time: the worlds are as good as a linear model of {answers} answers"
        ),
        "customers who are not in the table, and customers who answer differently because of earlier sends".to_owned(),
    ];
    if world.binary {
        all.push("answers other than yes and no, since there were none".to_owned());
    }
    if world.share < 1.0 {
        all.push(format!(
            "the whole market: a world has {} customers, {:.1} % of the table, and limits in proportion",
            world.customers,
            100.0 * world.share
        ));
    }
    if campaign.config().limits.hold_out > 0.0 {
        all.push("what the hold-out would still teach: it is left as it is".to_owned());
    }
    all
}
