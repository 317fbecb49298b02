//! How good off-policy evaluation is: the estimates of a log beside the truth, which a world knows.
//!
//! A run logs rounds of a world with one policy, which learns as it goes, and evaluates others on its log. The truth is
//! what a target earns in expectation in the very rounds of the run, with what was known before each of them; it differs
//! from run to run, so bias is the mean of estimate less truth, and coverage is counted run by run.

use armwise::{
    Algorithm, Arms, Decision, Inclusion, Learner, Pick, Policy, Random, Randomness, Round, Scope,
    evaluate::{Confidence, Design, Estimator, Evaluation, Log, LoggedArm, LoggedRound, THIN, Wanted},
};
use rayon::prelude::*;
use serde::Serialize;

use crate::{
    Error, streams,
    world::{Scene, Trial, World},
};

/// Who chooses what is logged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum Logging {
    /// An algorithm.
    By(Algorithm),
    /// An algorithm, and with this probability a random super arm instead, in a whole round: so that a policy without
    /// draws of its own leaves a log with support everywhere.
    Mixed {
        /// The algorithm.
        algorithm: Algorithm,
        /// How often the super arm is random.
        epsilon: f64,
    },
}

impl Logging {
    fn algorithm(&self) -> Algorithm {
        match *self {
            Self::By(algorithm) | Self::Mixed { algorithm, .. } => algorithm,
        }
    }

    fn design(&self) -> Design {
        match self {
            Self::By(algorithm)
                if algorithm.description().randomness == Randomness::PerArm
                    && matches!(algorithm.scope(), Scope::Own | Scope::BestOf(_)) =>
            {
                Design::FixedCounts
            }
            _ => Design::Shared,
        }
    }

    /// In words.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::By(algorithm) => algorithm.name().to_owned(),
            Self::Mixed { algorithm, epsilon } => format!("{} with epsilon {epsilon}", algorithm.name()),
        }
    }
}

/// What a run's log says about a target, and what is true.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judged {
    /// What the target earns per round, in expectation.
    pub truth: f64,
    /// What the log says.
    pub evaluation: Evaluation,
}

/// How good an estimator was over many runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Quality {
    /// Who logged.
    pub logging: String,
    /// The place of the target among those given.
    pub target: usize,
    /// The estimator.
    pub estimator: Estimator,
    /// How many runs there were, and in how many of them the log told the target's value.
    pub runs: usize,
    /// In how many of them the log told the target's value.
    pub identified: usize,
    /// The mean of the truth.
    pub truth: f64,
    /// The mean of estimate less truth, and its standard error.
    pub bias: f64,
    /// The standard error of the bias.
    pub bias_se: f64,
    /// The root of the mean squared error.
    pub rmse: f64,
    /// The share of intervals that hold the truth; none for an estimator without intervals.
    pub coverage: Option<f64>,
    /// The same for intervals that hold at all times.
    pub anytime_coverage: Option<f64>,
    /// The mean length of the intervals.
    pub length: Option<f64>,
}

/// From how many fresh rounds the truth comes where a target's probabilities are sampled.
const TRUTH: usize = 200;

/// Logs a trial of a world and evaluates targets on it.
///
/// # Errors
/// Where a parameter is out of range or the world's constraint cannot be met.
pub fn run(
    world: &dyn World,
    trial: Trial,
    logging: &Logging,
    targets: &[Algorithm],
    confidence: &Confidence,
) -> Result<Vec<Judged>, Error> {
    let game = world.open(trial);
    let mut learner = Learner::new(logging.algorithm(), world.dim(), world.blocks())?;
    let mut rounds: Vec<Vec<LoggedRound>> = vec![Vec::new(); targets.len()];
    let mut truths = vec![0.0; targets.len()];
    for t in 1..=world.rounds() {
        let scene = game.scene(t)?;
        let arms = Arms::new(&*scene.features, world.dim())?;
        let (decision, probability, sampled) = choose(world, trial, t, logging, &learner, &arms)?;
        let picks: Vec<Pick> = picks(&decision);
        let rewards = decision.rewards(|arm| (scene.pay)(arm.id as usize, arm.block as usize).0);
        let mean = means(world, &scene, &learner)?;
        for ((target, rounds), truth) in targets.iter().zip(&mut rounds).zip(&mut truths) {
            let other = Learner::with_model(*target, learner.model().clone())?;
            let found = other.inclusion_around(trial.round(t), &arms, world.oracle(t), &picks)?;
            // What is sampled is not the truth: that comes from many rounds, fresh ones again.
            let exact = if found.replicates == 0 {
                found.probabilities.clone()
            } else {
                let again = Round::new(trial.round(t).draws(0, streams::TRUTH).bits(0), t);
                other.inclusion(again, &arms, world.oracle(t), Some(TRUTH))?.probabilities
            };
            let wants = found.probabilities;
            let paid = decision.arms.iter().zip(&rewards).map(|(arm, reward)| {
                let place = arm.id as usize * world.blocks() + arm.block as usize;
                LoggedArm {
                    id: arm.id,
                    block: arm.block,
                    segment: 0,
                    reward: reward.reward,
                    probability: probability[place],
                    target: wants[place].min(1.0),
                    mean: mean[place],
                }
            });
            let mut wanted = Wanted::default();
            for (place, &own) in wants.iter().enumerate() {
                wanted.count += own;
                wanted.reward += own * mean[place];
                if probability[place] <= 1e-12 {
                    *(if sampled { &mut wanted.unseen } else { &mut wanted.unsupported }) += own;
                }
                wanted.thin += if probability[place] < THIN { own } else { 0.0 };
                *truth += exact[place] * (scene.pay)(place / world.blocks(), place % world.blocks()).1;
            }
            rounds.push(LoggedRound { t, arms: paid.collect(), wanted: vec![wanted] });
        }
        learner.learn(&decision, &rewards)?;
    }
    let count = world.rounds() as f64;
    let judged = rounds.into_iter().zip(truths).map(|(rounds, truth)| {
        let evaluation = Log::new(rounds, logging.design())?.evaluate(confidence)?;
        Ok(Judged { truth: truth / count, evaluation })
    });
    judged.collect()
}

/// The arms of a decision, whose ids are rows.
fn picks(decision: &Decision) -> Vec<Pick> {
    decision.arms.iter().map(|arm| Pick { row: arm.id as usize, block: arm.block as usize }).collect()
}

/// A choice of the logging policy, the probability of each arm, and whether it was sampled.
fn choose(
    world: &dyn World,
    trial: Trial,
    t: u64,
    logging: &Logging,
    learner: &Learner,
    arms: &Arms<'_>,
) -> Result<(Decision, Vec<f64>, bool), Error> {
    let (round, oracle) = (trial.round(t), world.oracle(t));
    let sampled = |found: &Inclusion| found.replicates > 0;
    let Logging::Mixed { epsilon, .. } = *logging else {
        let decision = learner.choose(round, arms, oracle)?;
        let own = learner.inclusion_around(round, arms, oracle, &picks(&decision))?;
        let sampled = sampled(&own);
        return Ok((decision, own.probabilities, sampled));
    };
    let random = Learner::with_model(Random { lambda: learner.policy().ridge().into() }, learner.model().clone())?;
    let explores = round.draws(0, streams::EXPLORES).uniform(0) < epsilon;
    let decision = if explores { random.choose(round, arms, oracle)? } else { learner.choose(round, arms, oracle)? };
    let own = learner.inclusion_around(round, arms, oracle, &picks(&decision))?;
    let by_chance = random.inclusion_around(round, arms, oracle, &picks(&decision))?;
    let sampled = sampled(&own) || sampled(&by_chance);
    let both = own.probabilities.iter().zip(by_chance.probabilities);
    Ok((decision, both.map(|(own, chance)| (1.0 - epsilon) * own + epsilon * chance).collect(), sampled))
}

/// What the model before the round expects of each arm.
fn means(world: &dyn World, scene: &Scene<'_>, learner: &Learner) -> Result<Vec<f64>, Error> {
    let blocks = (0..world.blocks() as u32).map(|block| learner.posterior(block)).collect::<Result<Vec<_>, _>>()?;
    let rows = scene.features.chunks_exact(world.dim());
    Ok(rows.flat_map(|x| blocks.iter().map(|block| block.mean(x))).collect())
}

/// Runs many trials, in parallel, and says how good each estimator was for each target.
///
/// # Errors
/// As [`run`].
pub fn quality(
    world: &dyn World,
    trials: &[Trial],
    logging: &Logging,
    targets: &[Algorithm],
) -> Result<Vec<Quality>, Error> {
    let confidence = Confidence::default();
    let runs: Vec<Result<Vec<Judged>, Error>> =
        trials.par_iter().map(|trial| run(world, *trial, logging, targets, &confidence)).collect();
    let runs = runs.into_iter().collect::<Result<Vec<_>, _>>()?;
    let mut all = Vec::new();
    for target in 0..targets.len() {
        let judged: Vec<&Judged> = runs.iter().map(|run| &run[target]).collect();
        all.extend(Estimator::ALL.into_iter().map(|estimator| judge(logging, target, estimator, &judged)));
    }
    Ok(all)
}

fn judge(logging: &Logging, target: usize, estimator: Estimator, judged: &[&Judged]) -> Quality {
    let known: Vec<_> = (judged.iter())
        .filter(|judged| judged.evaluation.identified)
        .filter_map(|judged| {
            let estimate = judged.evaluation.by(estimator);
            Some((judged.truth, estimate.value?, estimate))
        })
        .collect();
    let count = known.len() as f64;
    let mean =
        |of: &dyn Fn(f64, f64) -> f64| known.iter().map(|(truth, value, _)| of(*truth, *value)).sum::<f64>() / count;
    let bias = mean(&|truth, value| value - truth);
    let squares = mean(&|truth, value| (value - truth - bias).powi(2));
    let share = |covers: &dyn Fn(&armwise::evaluate::Estimate, f64) -> Option<bool>| {
        let held: Option<Vec<bool>> = known.iter().map(|(truth, _, estimate)| covers(estimate, *truth)).collect();
        held.filter(|held| !held.is_empty()).map(|held| held.iter().filter(|held| **held).count() as f64 / count)
    };
    let lengths: Option<Vec<f64>> = known.iter().map(|(_, _, own)| own.interval.map(|own| own.length())).collect();
    Quality {
        logging: logging.name(),
        target,
        estimator,
        runs: judged.len(),
        identified: known.len(),
        truth: mean(&|truth, _| truth),
        bias,
        bias_se: (squares / (count - 1.0).max(1.0)).sqrt(),
        rmse: mean(&|truth, value| (value - truth).powi(2)).sqrt(),
        coverage: share(&|estimate, truth| estimate.interval.map(|interval| interval.covers(truth))),
        anytime_coverage: share(&|estimate, truth| estimate.anytime.map(|interval| interval.covers(truth))),
        length: lengths.filter(|all| !all.is_empty()).map(|all| all.iter().sum::<f64>() / count),
    }
}
