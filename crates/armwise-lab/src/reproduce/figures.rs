//! Figures 1, 5 and 6: what policies see on clusters, how many clusters they touch, and regret against theory.
//!
//! Figures 1 and 5 use one fixed setting for all algorithms, lambda = 1 and alpha = v = 0.1 (in figure 1 0.5, to make
//! the effect visible), not tuned ones: they show how the algorithms behave, not how well they can do.

use std::f64::consts::FRAC_PI_2;

use armwise::{
    Algorithm, ArmWiseTs, Arms, C2ucb, Greedy, HallucinatedC2ucb, Learner, Pc2ucb, RoundWiseTs, Schedule, Theory, Ties,
    theory::Problem,
};

use super::plan::Plan;
use crate::{
    Error,
    play::{Detail, Feedback, Sample, Setting},
    results::{Curve, Estimated, Mean, Paired, Panel, Params, RegretLine, RegretStudy, Touched},
    session::{Job, Session},
    stats::Units,
    world::{Clustered, Order, Purpose, Trial, World},
};

/// Figure 1: the scores of C2UCB and of arm-wise TS from the same model, which has seen one arm-wise round.
pub(super) fn estimated(seed: u64) -> Result<Estimated, Error> {
    const SCALE: f64 = 0.5;
    let world = Clustered::paper(FRAC_PI_2);
    let trial = Trial::of(seed, Purpose::Evaluation, 1)[0];
    let game = world.open(trial);
    let scene = game.scene(1)?;
    let arms = Arms::new(&*scene.features, world.d)?;
    let arm_wise = Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, SCALE));
    let c2ucb = Algorithm::C2ucb(C2ucb::new(1.0, SCALE));
    let mut learner = Learner::new(arm_wise, world.d, 1)?;
    let first = learner.choose(trial.round(1), &arms, world.oracle(1))?;
    let rewards = first.rewards(|arm| (scene.pay)(arm.id as usize, 0).0);
    learner.learn(&first, &rewards)?;
    let panel = |algorithm: Algorithm, scale: &str| {
        let learner = Learner::with_model(algorithm, learner.model().clone())?;
        let decision = learner.choose(trial.round(2), &arms, world.oracle(2))?;
        let mut chosen = vec![false; world.n];
        decision.arms.iter().for_each(|arm| chosen[arm.id as usize] = true);
        let params = Params::from([("lambda".to_owned(), 1.0), (scale.to_owned(), SCALE)]);
        let estimate = learner.scores(trial.round(2), &arms)?;
        Ok::<_, Error>(Panel { algorithm: algorithm.name().to_owned(), params, estimate, chosen })
    };
    Ok(Estimated {
        angle: world.angle,
        round: 2,
        k: world.k,
        cluster: scene.cluster.iter().map(|&cluster| cluster as usize).collect(),
        expected: (0..world.n).map(|row| (scene.pay)(row, 0).1).collect(),
        panels: vec![panel(c2ucb, "alpha")?, panel(arm_wise, "v")?],
    })
}

/// The settings of figure 5; those of the reference values of the clustered case.
fn settings() -> Vec<(Setting, Params)> {
    let lambda = 1.0;
    let of = |algorithm, ties, pairs: &[(&str, f64)]| {
        let params = pairs.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        (Setting { ties, ..Setting::by_id(algorithm) }, params)
    };
    let c2ucb = Algorithm::C2ucb(C2ucb::new(lambda, 0.1));
    let pc2ucb = Algorithm::Pc2ucb(Pc2ucb::new(lambda, 0.1, 1.0));
    let (alpha, v) = ([("lambda", 1.0), ("alpha", 0.1)], [("lambda", 1.0), ("v", 0.1)]);
    vec![
        of(Algorithm::Greedy(Greedy::new(lambda)), Ties::ById, &alpha[..1]),
        of(c2ucb, Ties::ById, &alpha),
        of(c2ucb, Ties::Random, &alpha),
        of(pc2ucb, Ties::ById, &[("lambda", 1.0), ("alpha", 0.1), ("c", 1.0)]),
        of(Algorithm::HallucinatedC2ucb(HallucinatedC2ucb::new(lambda, 0.1)), Ties::ById, &alpha),
        of(Algorithm::RoundWiseTs(RoundWiseTs::new(lambda, 0.1)), Ties::ById, &v),
        of(Algorithm::ArmWiseTs(ArmWiseTs::new(lambda, 0.1)), Ties::ById, &v),
    ]
}

/// Figure 5: clusters touched, with rewards at once, batched and late.
///
/// The batched studies have as many choices and as many updates of the model as the paper's problem, in smaller
/// rounds: the paper's second application, a recommender system that learns from batches.
pub(super) fn touched(plan: &Plan, seed: u64, session: &Session<'_>) -> Result<Vec<Touched>, Error> {
    let paper = Clustered::paper(FRAC_PI_2);
    let small = Clustered::new(FRAC_PI_2, 11, 2000, 10, 100, Order::ByCluster, 0.0)?;
    let studies = [
        ("k = 100, T = 10, rewards at once", &paper, Feedback::AT_ONCE),
        ("k = 10, T = 100, rewards at once", &small, Feedback::AT_ONCE),
        ("k = 10, T = 100, the model is updated every 10 rounds", &small, Feedback { delay: 0, batch: 10 }),
        ("k = 10, T = 100, rewards arrive 10 rounds late", &small, Feedback { delay: 10, batch: 1 }),
    ];
    let settings = settings();
    let job = |(_, world, feedback): (&str, _, Feedback)| Job {
        world: world as &dyn World,
        trials: Trial::of(seed, Purpose::Evaluation, plan.touched_trials),
        settings: settings.iter().map(|(setting, _)| *setting).collect(),
        feedback,
        detail: Detail::Rounds,
    };
    let jobs: Vec<Job<'_>> = studies.iter().copied().map(job).collect();
    let samples = session.play("clustered: clusters touched", &jobs)?;
    let study = |((label, world, feedback), samples): (&(&str, &Clustered, Feedback), &Vec<Sample>)| {
        let curves = |value: &dyn Fn(&Sample, usize, usize) -> f64| -> Vec<Curve> {
            let curve = |(place, (setting, params)): (usize, &(Setting, Params))| Curve {
                algorithm: setting.algorithm.name().to_owned(),
                params: params.clone(),
                ties: if setting.ties == Ties::ById { "by-id" } else { "random" }.to_owned(),
                points: (0..world.rounds as usize).map(|t| mean(samples, |sample| value(sample, place, t))).collect(),
            };
            settings.iter().enumerate().map(curve).collect()
        };
        let so_far = |sample: &Sample, place: usize, t: usize| {
            sample.played[place].reward[..=t].iter().sum::<f64>() / (t + 1) as f64
        };
        Touched {
            label: (*label).to_owned(),
            angle: world.angle,
            clusters: world.clusters(),
            k: world.k,
            delay: feedback.delay,
            batch: feedback.batch,
            trials: samples.len(),
            clusters_per_round: curves(&|sample, place, t| f64::from(sample.played[place].clusters[t])),
            average_reward: curves(&so_far),
            oracle_per_round: mean(samples, Sample::total_best).mean / world.rounds as f64,
            paired: paired(&settings, samples),
        }
    };
    Ok(studies.iter().zip(&samples).map(study).collect())
}

/// Differences of cumulative reward of the two pairs, and of PC2UCB to C2UCB with random ties.
fn paired(settings: &[(Setting, Params)], samples: &[Sample]) -> Vec<Paired> {
    let named = |(place, (setting, _)): (usize, &(Setting, Params))| {
        let ties = if setting.ties == Ties::ById { "" } else { ", ties random" };
        let totals: Vec<f64> = samples.iter().map(|sample| sample.played[place].total_reward()).collect();
        (format!("{}{ties}", setting.algorithm.name()), Units::new(&totals, 1))
    };
    let units: Vec<(String, Units)> = settings.iter().enumerate().map(named).collect();
    let find = |name: &str| units.iter().find(|(known, _)| known == name).map(|(_, units)| units);
    let pair = |(a, b): (&str, &str)| {
        let (x, y) = (find(a)?, find(b)?);
        Some(Paired { a: a.to_owned(), b: b.to_owned(), difference: x.less(y).interval(), ratio: x.ratio(y) })
    };
    let wanted = [("pc2ucb", "c2ucb"), ("arm-wise-ts", "round-wise-ts"), ("pc2ucb", "c2ucb, ties random")];
    wanted.into_iter().filter_map(pair).collect()
}

fn mean(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> Mean {
    Units::new(&samples.iter().map(value).collect::<Vec<_>>(), 1).mean()
}

/// A theorem's bound on the regret after t rounds, by delta.
type Bound<'a> = &'a dyn Fn(u64, f64) -> Result<f64, armwise::Error>;

/// Figure 6: regret with the theory's schedules, lambda = k.
///
/// A bound for round t of a run of T rounds is the theorem's at t with delta t / T in place of delta: this keeps
/// delta / (4T) and delta / (4NT), and with them the schedule, what they are in the run.
pub(super) fn regret(plan: &Plan, seed: u64, session: &Session<'_>) -> Result<RegretStudy, Error> {
    const DELTA: f64 = 0.1;
    let rounds = plan.regret_rounds;
    let paper = Clustered::paper(FRAC_PI_2);
    let world = Clustered::new(paper.angle, paper.d, paper.n, paper.k, rounds, paper.order, paper.spread)?;
    let (lambda, r, s) = (world.k as f64, 1.0, 1.0);
    let schedule = Schedule::Theory(Theory { r, s, delta: DELTA, k: world.k, n: Some(world.n), rounds: Some(rounds) });
    let problem = Problem { d: world.d, k: world.k, lambda, r, s };
    let algorithms: [(Algorithm, &str, Bound<'_>); 4] = [
        (Algorithm::C2ucb(C2ucb::new(lambda, schedule)), "Theorem 4", &|t, _| problem.c2ucb_bound(t, DELTA)),
        (Algorithm::Pc2ucb(Pc2ucb::new(lambda, schedule, 1.0)), "Theorem 3", &|t, _| {
            problem.pc2ucb_bound(t, 1.0, DELTA)
        }),
        (Algorithm::RoundWiseTs(RoundWiseTs::new(lambda, schedule)), "Theorem 2", &|t, delta| {
            problem.round_wise_ts_bound(t, delta)
        }),
        (Algorithm::ArmWiseTs(ArmWiseTs::new(lambda, schedule)), "Theorem 1", &|t, delta| {
            problem.arm_wise_ts_bound(t, world.n, delta)
        }),
    ];
    let job = Job {
        world: &world,
        trials: Trial::of(seed, Purpose::Evaluation, plan.regret_trials),
        settings: algorithms.iter().map(|(algorithm, ..)| Setting::by_id(*algorithm)).collect(),
        feedback: Feedback::AT_ONCE,
        detail: Detail::Rounds,
    };
    let samples = session.play("clustered: regret", &[job])?.swap_remove(0);
    let steps = [1, 2, 5].into_iter();
    let mut t: Vec<u64> = (0..9).flat_map(|e| steps.clone().map(move |step| step * 10u64.pow(e))).collect();
    t.retain(|&t| t < rounds);
    t.push(rounds);
    let line = |(place, (algorithm, theorem, bound)): (usize, &(Algorithm, &str, Bound<'_>))| {
        let regret = |sample: &Sample, t: u64| sample.played[place].regret[..t as usize].iter().sum::<f64>();
        let bound = |&t: &u64| Ok(bound(t, DELTA * t as f64 / rounds as f64)?);
        Ok(RegretLine {
            algorithm: algorithm.name().to_owned(),
            theorem: (*theorem).to_owned(),
            measured: t.iter().map(|&t| mean(&samples, |sample| regret(sample, t))).collect(),
            worst: t.iter().map(|&t| samples.iter().map(|s| regret(s, t)).fold(f64::MIN, f64::max)).collect(),
            bound: t.iter().map(bound).collect::<Result<_, Error>>()?,
        })
    };
    let lines = algorithms.iter().enumerate().map(line).collect::<Result<Vec<_>, Error>>()?;
    let trivial = t.iter().map(|&t| 2.0 * (world.k as u64 * t) as f64).collect();
    Ok(RegretStudy { angle: world.angle, lambda, delta: DELTA, r, s, trials: plan.regret_trials, t, trivial, lines })
}
