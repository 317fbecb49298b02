//! "Which algorithm should I use?": the problem set, played with automatic, tuned and default parameters.
//!
//! Every problem has a world for tuning and one for measuring, which are the same problem on other trials (on ratings: on
//! other draws of the movies, too). All contenders meet the same trials, so ratios are paired.

use std::{
    collections::{BTreeMap, BTreeSet},
    f64::consts::PI,
};

use armwise::{Algorithm, Gamma, Ties};
use serde_json::Value;

use super::plan::Plan;
use crate::{
    Error,
    data::Customers,
    grid,
    play::{Detail, Feedback, Sample, Setting},
    results::{Contender, How, Way, Which, WhichProblem},
    session::{Job, Session},
    stats::Units,
    world::{Clustered, Order, Promotions, Purpose, Reading, Trial, Turn, TwoSets, World},
};

/// The problems of the set, and how each is played.
struct Case<'w> {
    label: String,
    about: String,
    generated: bool,
    tuning: Box<dyn World + 'w>,
    fresh: Box<dyn World + 'w>,
    /// Trials for tuning and for measuring, and how many draws of the data the latter are spread over.
    trials: (usize, usize),
    groups: usize,
    ties: Ties,
    feedback: Feedback,
    /// Whether its constraint can be filled one arm after another, as some algorithms do.
    in_turn: bool,
}

/// Regret is not divided by less than this share of what the oracle earns: a tuned setting may lose nothing but rounding.
const LEAST_REGRET: f64 = 1e-3;

/// Ratings with their splits: for tuning and for measuring.
pub(super) struct Ratings<'c> {
    pub(super) label: String,
    pub(super) generated: bool,
    pub(super) tuning: &'c [Customers],
    pub(super) fresh: &'c [Customers],
}

/// An algorithm, its variant, and the parameters that make it one.
pub(super) struct Player {
    algorithm: &'static str,
    variant: &'static str,
    fixed: Vec<(&'static str, Value)>,
    gamma: Gamma,
}

/// Everyone, or these algorithms as they are, in the order of the study.
pub(super) fn players(only: &[String]) -> Result<Vec<Player>, Error> {
    let mut all = everyone();
    for name in only {
        if !all.iter().any(|player| player.algorithm == name) {
            let known: BTreeSet<&str> = all.iter().map(|player| player.algorithm).collect();
            let must = format!("one of {}", known.into_iter().collect::<Vec<_>>().join(", "));
            return Err(Error::Parameter { name: "only", value: name.clone(), must });
        }
    }
    if !only.is_empty() {
        all.retain(|player| player.variant.is_empty() && only.iter().any(|name| name == player.algorithm));
    }
    Ok(all)
}

fn everyone() -> Vec<Player> {
    let of = |algorithm, variant, fixed| Player { algorithm, variant, fixed, gamma: Gamma::default() };
    vec![
        of("greedy", "", vec![]),
        of("c2ucb", "", vec![]),
        of("pc2ucb", "", vec![]),
        of("hallucinated-c2ucb", "", vec![]),
        of("round-wise-ts", "", vec![]),
        of("arm-wise-ts", "", vec![]),
        of("arm-wise-ts", "shared", vec![("scope", "shared".into())]),
        Player { gamma: Gamma::Auto, ..of("arm-wise-ts", "γ by evidence", vec![]) },
    ]
}

impl Player {
    fn algorithm(&self, params: &[(&str, Value)]) -> Result<Algorithm, Error> {
        let all: Vec<(&str, Value)> = self.fixed.iter().chain(params).cloned().collect();
        Ok(Algorithm::with(self.algorithm, &all)?)
    }

    /// With every tuned parameter left to the library; none where it does not set them.
    fn automatic(&self) -> Result<Option<Algorithm>, Error> {
        let tuned: Vec<(&str, Value)> =
            Algorithm::describe(self.algorithm)?.tuned().map(|parameter| (parameter.name, "auto".into())).collect();
        Ok(self.algorithm(&tuned).ok())
    }

    fn grid(&self, exponents: &[i32]) -> Result<Vec<Algorithm>, Error> {
        let names: Vec<&str> = Algorithm::describe(self.algorithm)?.tuned().map(|parameter| parameter.name).collect();
        let setting = |values: Vec<f64>| {
            let params: Vec<(&str, Value)> = names.iter().copied().zip(values.into_iter().map(Value::from)).collect();
            self.algorithm(&params)
        };
        grid::values(names.len(), exponents).into_iter().map(setting).collect()
    }
}

pub(super) fn run(
    plan: &Plan,
    players: &[Player],
    ratings: &[Ratings<'_>],
    seed: u64,
    session: &Session<'_>,
) -> Result<Which, Error> {
    let cases = cases(plan, ratings, seed)?;
    // Where nobody may play, there is nothing to compare.
    let played = cases.iter().filter(|case| players.iter().any(|player| case.fits(player)));
    let problems = played.map(|case| problem(plan, case, players, seed, session)).collect::<Result<Vec<_>, Error>>()?;
    Ok(Which { grid: plan.exponents.iter().map(|e| libm::pow(10.0, f64::from(*e))).collect(), problems })
}

fn cases<'c>(plan: &Plan, ratings: &'c [Ratings<'c>], seed: u64) -> Result<Vec<Case<'c>>, Error> {
    let clusters = |label: &str, about: &str, world: Clustered, ties, feedback| Case {
        label: label.to_owned(),
        about: format!(
            "{} clusters, {} of {} arms, {} rounds; {about}",
            world.clusters(),
            world.k,
            world.n,
            world.rounds
        ),
        generated: false,
        tuning: Box::new(world.clone()),
        fresh: Box::new(world),
        trials: (plan.which_tuning, plan.which_fresh),
        groups: 1,
        ties,
        feedback,
        in_turn: true,
    };
    let paper = |angle: f64, order, spread| Clustered::new(angle, 11, 2000, 100, 10, order, spread);
    let (by_id, random, now) = (Ties::ById, Ties::Random, Feedback::AT_ONCE);
    let batch = Feedback { delay: 0, batch: 10 };
    let small = || Clustered::new(PI / 2.0, 11, 2000, 10, 100, Order::ByCluster, 0.0);
    let turning = small()?.turning(Turn { round: 51, by: PI / 2.0 })?;
    let mut cases = vec![
        clusters("Clusters, π/8", "by id", paper(PI / 8.0, Order::ByCluster, 0.0)?, by_id, now),
        clusters("Clusters, π/4", "by id", paper(PI / 4.0, Order::ByCluster, 0.0)?, by_id, now),
        clusters("Clusters, π/2", "by id", paper(PI / 2.0, Order::ByCluster, 0.0)?, by_id, now),
        clusters(
            "Clusters, random ties",
            "at π/2, ties at random",
            paper(PI / 2.0, Order::ByCluster, 0.0)?,
            random,
            now,
        ),
        clusters(
            "Clusters, shuffled",
            "at π/2, rows in random order",
            paper(PI / 2.0, Order::Shuffled, 0.0)?,
            by_id,
            now,
        ),
        clusters("Clusters, spread", "at π/2, arms stray by 0.3", paper(PI / 2.0, Order::Shuffled, 0.3)?, by_id, now),
        clusters("Clusters, k = 10", "at π/2", small()?, by_id, now),
        clusters("Batched feedback", "at π/2, learned every 10 rounds", small()?, by_id, batch),
        clusters("Drift", "at π/2, θ turns by π/2 in round 51", turning, by_id, now),
    ];
    let sets = || TwoSets::new(plan.which_sets, 100).map(Box::new);
    cases.push(Case {
        label: "Two sets".to_owned(),
        about: format!("one of two sets of {} look-alikes, the worse one tried first, 100 rounds", plan.which_sets),
        generated: false,
        tuning: sets()?,
        fresh: sets()?,
        trials: (plan.which_tuning, plan.which_fresh.min(60)),
        groups: 1,
        ties: by_id,
        feedback: now,
        in_turn: false,
    });
    for Ratings { label, generated, tuning, fresh } in ratings {
        for &k in &plan.which_ks {
            let world = |splits| Promotions::new(splits, seed, Reading::Independent, k, 100 * k, 20).map(Box::new);
            cases.push(Case {
                label: format!("Promotions, k = {k}{}", if *generated { ", generated" } else { "" }),
                about: format!("10 promotions to {k} of {} customers each, 20 rounds; {label}", 100 * k),
                generated: *generated,
                tuning: world(*tuning)?,
                fresh: world(*fresh)?,
                trials: (plan.promotions_tuning(), plan.promotions_fresh),
                groups: fresh.len(),
                ties: by_id,
                feedback: now,
                in_turn: false,
            });
        }
    }
    Ok(cases)
}

impl Case<'_> {
    /// Whether an algorithm can play it.
    fn fits(&self, player: &Player) -> bool {
        Algorithm::describe(player.algorithm).is_ok_and(|of| self.in_turn || !of.in_turn)
    }
}

fn problem(
    plan: &Plan,
    case: &Case<'_>,
    everyone: &[Player],
    seed: u64,
    session: &Session<'_>,
) -> Result<WhichProblem, Error> {
    let players: Vec<&Player> = everyone.iter().filter(|player| case.fits(player)).collect();
    let setting = |algorithm: Algorithm, gamma: Gamma| Setting { algorithm, ties: case.ties, gamma };
    let play = |world: &dyn World, purpose, trials, settings: Vec<Setting>, stage: &str| {
        let trials = Trial::of(seed, purpose, trials);
        let job = Job { world, trials, settings, feedback: case.feedback, detail: Detail::Totals };
        Ok::<_, Error>(session.play(&format!("which: {}, {stage}", case.label), &[job])?.swap_remove(0))
    };
    let grids = players.iter().map(|player| player.grid(&plan.exponents)).collect::<Result<Vec<_>, Error>>()?;
    let of_player = |(grid, player): (&Vec<Algorithm>, &&Player)| {
        grid.iter().map(|&algorithm| setting(algorithm, player.gamma)).collect::<Vec<Setting>>()
    };
    let all = grids.iter().zip(&players).flat_map(of_player).collect();
    let tuned = play(&*case.tuning, Purpose::Tuning, case.trials.0, all, "grid")?;
    let total = |place: usize| tuned.iter().map(|sample| sample.played[place].total_reward()).sum::<f64>();
    let mut first = 0;
    let mut chosen = Vec::new();
    for grid in &grids {
        // The first among equals, as in the paper's grids.
        let better = |a: usize, b: usize| if total(b) > total(a) { b } else { a };
        let place = (first..first + grid.len()).reduce(better).unwrap_or(first);
        chosen.push((grid[place - first], total(place)));
        first += grid.len();
    }
    let best = (0..chosen.len()).reduce(|a, b| if chosen[b].1 > chosen[a].1 { b } else { a }).unwrap_or(0);
    let mut settings = vec![setting(Algorithm::new("random", &[])?, Gamma::default())];
    let mut automatic = Vec::new();
    for (player, (tuned, _)) in players.iter().zip(&chosen) {
        let default = player.algorithm(&[])?;
        let own = player.automatic()?;
        settings.extend([own.unwrap_or(default), *tuned, default].map(|algorithm| setting(algorithm, player.gamma)));
        automatic.push(own.is_some());
    }
    let fresh = play(&*case.fresh, Purpose::Evaluation, case.trials.1, settings.clone(), "fresh trials")?;
    let units =
        |value: &dyn Fn(&Sample) -> f64| Units::new(&fresh.iter().map(value).collect::<Vec<f64>>(), case.groups);
    let reward = |place: usize| units(&|sample| sample.played[place].total_reward());
    let regret = |place: usize| units(&|sample| sample.played[place].total_regret());
    let of = |contender: usize, how: How| 1 + 3 * contender + how as usize;
    let oracle = units(&Sample::total_best).mean();
    let least = LEAST_REGRET * oracle.mean;
    let base = regret(of(best, How::Tuned));
    let base = if base.mean().mean < least { units(&|_| least) } else { base };
    let way = |contender: usize, how: How| {
        let place = of(contender, how);
        Way {
            how,
            params: written(&settings[place].algorithm),
            reward: reward(place).mean(),
            regret: regret(place).mean(),
            relative: regret(place).ratio(&base),
            of_tuned: reward(place).ratio(&reward(of(contender, How::Tuned))),
        }
    };
    let ways = |place: usize| {
        let all = [How::Automatic, How::Tuned, How::Default].into_iter();
        all.filter(|how| *how != How::Automatic || automatic[place]).map(|how| way(place, how)).collect()
    };
    let place_of = |player: &Player| players.iter().position(|other| std::ptr::eq(*other, player));
    // Whoever cannot play has no ways, so that all problems list the same contenders.
    let contender = |player: &Player| Contender {
        algorithm: player.algorithm.to_owned(),
        variant: player.variant.to_owned(),
        ways: place_of(player).map_or_else(Vec::new, ways),
    };
    Ok(WhichProblem {
        label: case.label.clone(),
        about: case.about.clone(),
        generated: case.generated,
        tuning_trials: case.trials.0,
        trials: fresh.len(),
        oracle,
        random: reward(0).mean(),
        best: everyone.iter().position(|player| place_of(player) == Some(best)).unwrap_or(0),
        contenders: everyone.iter().map(contender).collect(),
    })
}

/// The parameters of an algorithm as it is written.
fn written(algorithm: &Algorithm) -> BTreeMap<String, Value> {
    let all = serde_json::to_value(algorithm).unwrap_or_default();
    let fields = all.as_object().into_iter().flatten();
    fields.filter(|(name, _)| *name != "name").map(|(name, value)| (name.clone(), value.clone())).collect()
}
