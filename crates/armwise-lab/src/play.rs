//! Algorithms playing a trial: the loop of Algorithms 1 and 2 against a world.
//!
//! Many settings play in parallel, round by round, so that a round is made once for all of them. They share nothing
//! else, and each gets the numbers it would get alone.

use armwise::{Algorithm, Arms, Decision, Gamma, Learner, Model, Reward, Ties};
use serde::{Deserialize, Serialize};

use crate::{
    Error,
    world::{Scene, Trial, World},
};

/// An algorithm with its parameters, its tie rule and how it forgets.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Who wins among equal scores.
    pub ties: Ties,
    /// With every round, what was learned before counts gamma times as much.
    pub gamma: Gamma,
}

impl Setting {
    /// An algorithm with ties by id that forgets nothing.
    #[must_use]
    pub fn by_id(algorithm: Algorithm) -> Self {
        Self { algorithm, ties: Ties::ById, gamma: Gamma::default() }
    }
}

/// How rewards come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feedback {
    /// Rewards arrive that many rounds late: with 0, before the next round.
    pub delay: u64,
    /// How many rounds lie between updates of the model, each with the rewards that have arrived by then.
    pub batch: u64,
}

impl Feedback {
    /// Every reward is learned before the next round.
    pub const AT_ONCE: Self = Self { delay: 0, batch: 1 };
}

/// How much is kept of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Detail {
    /// One number for all rounds together.
    Totals,
    /// A number per round.
    Rounds,
}

/// What one setting did in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Played {
    /// Rewards, per round or all together.
    pub reward: Vec<f64>,
    /// Expected reward of the best super arm less that of the chosen one, per round or all together.
    pub regret: Vec<f64>,
    /// Clusters touched in each round; empty where there are none or only totals are kept.
    pub clusters: Vec<u32>,
}

impl Played {
    /// The cumulative reward.
    #[must_use]
    pub fn total_reward(&self) -> f64 {
        self.reward.iter().sum()
    }

    /// The regret of all rounds.
    #[must_use]
    pub fn total_regret(&self) -> f64 {
        self.regret.iter().sum()
    }
}

/// What all settings did in one trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Expected reward of the best super arms, per round or all together.
    pub best: Vec<f64>,
    /// One per setting, in their order.
    pub played: Vec<Played>,
}

impl Sample {
    /// What the oracle earns in the trial.
    #[must_use]
    pub fn total_best(&self) -> f64 {
        self.best.iter().sum()
    }
}

struct Player {
    learner: Learner,
    waiting: Vec<(Decision, Vec<Reward>)>,
    played: Played,
}

/// Plays a trial of a world with each setting.
///
/// # Errors
/// Where a parameter is out of range or the world's constraint cannot be met.
pub fn play(
    world: &dyn World,
    trial: Trial,
    settings: &[Setting],
    feedback: Feedback,
    detail: Detail,
) -> Result<Sample, Error> {
    let game = world.open(trial);
    let player = |setting: &Setting| {
        let model = Model::new(world.dim(), world.blocks())?.with_gamma(setting.gamma)?;
        let learner = Learner::with_model(setting.algorithm, model)?.with_ties(setting.ties);
        let played = Played { reward: Vec::new(), regret: Vec::new(), clusters: Vec::new() };
        Ok(Player { learner, waiting: Vec::new(), played })
    };
    let mut players = settings.iter().map(player).collect::<Result<Vec<_>, Error>>()?;
    let mut best = Vec::new();
    let mut touched = vec![0; world.clusters()];
    for t in 1..=world.rounds() {
        let scene = game.scene(t)?;
        best.push(scene.best);
        for player in &mut players {
            player.round(world, trial, t, &scene, &mut touched)?;
            if t.is_multiple_of(feedback.batch) {
                player.learn(t.saturating_sub(feedback.delay))?;
            }
        }
    }
    let mut played: Vec<Played> = players.into_iter().map(|player| player.played).collect();
    if detail == Detail::Totals {
        best = vec![best.iter().sum()];
        for played in &mut played {
            let (reward, regret) = (vec![played.total_reward()], vec![played.total_regret()]);
            *played = Played { reward, regret, clusters: Vec::new() };
        }
    }
    Ok(Sample { best, played })
}

impl Player {
    /// Chooses, collects, and keeps the rewards until they are due.
    fn round(
        &mut self,
        world: &dyn World,
        trial: Trial,
        t: u64,
        scene: &Scene<'_>,
        touched: &mut [u64],
    ) -> Result<(), Error> {
        let arms = Arms::new(&*scene.features, world.dim())?;
        let decision = self.learner.choose(trial.round(t), &arms, world.oracle(t))?;
        let (mut reward, mut expected) = (0.0, 0.0);
        let rewards = decision.rewards(|arm| {
            let (paid, mean) = (scene.pay)(arm.id as usize, arm.block as usize);
            reward += paid;
            expected += mean;
            paid
        });
        self.played.reward.push(reward);
        self.played.regret.push(scene.best - expected);
        if !scene.cluster.is_empty() {
            touched.fill(0);
            for arm in &decision.arms {
                touched[scene.cluster[arm.id as usize] as usize] += 1;
            }
            self.played.clusters.push(touched.iter().filter(|&&count| count > 0).count() as u32);
        }
        self.waiting.push((decision, rewards));
        Ok(())
    }

    /// Learns the rewards of rounds up to `t`, in the order of the rounds.
    fn learn(&mut self, t: u64) -> Result<(), Error> {
        let due = self.waiting.iter().take_while(|(decision, _)| decision.round.t <= t).count();
        for (decision, rewards) in self.waiting.drain(..due) {
            self.learner.learn(&decision, &rewards)?;
        }
        // No earlier rewards will come, so their ledger can be dropped.
        self.learner.close_before(t + 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_2;

    use armwise::{ArmWiseTs, C2ucb, Context, Policy};

    use super::*;
    use crate::world::{Clustered, Order, Purpose};

    fn world() -> Clustered {
        Clustered::new(1.0, 5, 80, 10, 12, Order::ByCluster, 0.0).unwrap()
    }

    fn settings() -> Vec<Setting> {
        let ts = |v: f64| Setting::by_id(Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, v)));
        let ucb = Setting::by_id(Algorithm::C2ucb(C2ucb::new(1.0, 1.0)));
        vec![ts(0.1), ucb, ts(1.0)]
    }

    #[test]
    fn side_by_side_is_the_same_as_alone() {
        let (world, trial) = (world(), Trial { seed: 4, number: 0 });
        let together = play(&world, trial, &settings(), Feedback::AT_ONCE, Detail::Rounds).unwrap();
        for (place, setting) in settings().iter().enumerate() {
            let alone = play(&world, trial, &[*setting], Feedback::AT_ONCE, Detail::Rounds).unwrap();
            assert_eq!(alone.played[0], together.played[place]);
        }
    }

    /// C2UCB is deterministic given its model, so the rounds in which its choice may change are the rounds after an
    /// update, and identical choices show as identical regret.
    #[test]
    fn late_and_batched_rewards_change_the_model_when_they_should() {
        let world = Clustered::new(FRAC_PI_2, 5, 80, 10, 12, Order::ByCluster, 0.0).unwrap();
        let ucb = [settings()[1]];
        let run = |feedback| play(&world, Trial { seed: 4, number: 0 }, &ucb, feedback, Detail::Rounds).unwrap();
        let changes = |regret: &[f64]| -> Vec<usize> {
            (1..regret.len()).filter(|&t| (regret[t] - regret[t - 1]).abs() > 1e-9).map(|t| t + 1).collect()
        };
        let batched = run(Feedback { delay: 0, batch: 4 });
        assert!(changes(&batched.played[0].regret).iter().all(|round| [5, 9].contains(round)));
        let late = run(Feedback { delay: 3, batch: 1 });
        // Rewards at once may first change the choice in round 2, those that are 3 rounds late in round 5. The late
        // learner sees the rewards of four rounds of the first choice, which differ; so only the earliest is sure.
        let at_once = run(Feedback::AT_ONCE);
        assert!((2..5).contains(&changes(&at_once.played[0].regret)[0]));
        assert!(changes(&late.played[0].regret)[0] >= 5);
    }

    /// The lab's own policy that knows theta*: what the regret is measured against.
    struct Knows {
        theta: Vec<f64>,
    }

    impl Policy for Knows {
        fn ridge(&self) -> f64 {
            1.0
        }

        fn direction(&self, _: &Context<'_>) -> Vec<f64> {
            self.theta.clone()
        }
    }

    #[test]
    fn the_policy_that_knows_theta_has_no_regret() {
        let world = Clustered::new(1.0, 5, 80, 10, 12, Order::Shuffled, 0.2).unwrap();
        for trial in Trial::of(2, Purpose::Evaluation, 20) {
            let learner = Learner::new(Knows { theta: world.theta(trial) }, 5, 1).unwrap();
            let game = world.open(trial);
            let scene = game.scene(3).unwrap();
            let arms = Arms::new(&*scene.features, 5).unwrap();
            let decision = learner.choose(trial.round(3), &arms, world.oracle(3)).unwrap();
            let expected: f64 = decision.arms.iter().map(|arm| (scene.pay)(arm.id as usize, 0).1).sum();
            assert!((expected - scene.best).abs() < 1e-9);
        }
    }

    /// A learner that is told to forget before each round is discounted least squares by another way.
    #[test]
    fn a_setting_that_forgets_plays_like_a_learner_that_is_made_to_forget() {
        let (world, trial, gamma) = (world(), Trial { seed: 4, number: 0 }, 0.5);
        let setting = settings()[1];
        let forgets = Setting { gamma: gamma.into(), ..setting };
        let played = play(&world, trial, &[forgets, setting], Feedback::AT_ONCE, Detail::Rounds).unwrap().played;
        assert_ne!(played[0].reward, played[1].reward);
        let game = world.open(trial);
        let mut learner = Learner::new(setting.algorithm, 5, 1).unwrap();
        for t in 1..=12 {
            let scene = game.scene(t).unwrap();
            if t > 2 {
                learner.forget(gamma).unwrap();
            }
            let arms = Arms::new(&*scene.features, 5).unwrap();
            let decision = learner.choose(trial.round(t), &arms, world.oracle(t)).unwrap();
            let rewards = decision.rewards(|arm| (scene.pay)(arm.id as usize, 0).0);
            let sum: f64 = rewards.iter().map(|reward| reward.reward).sum();
            assert!((sum - played[0].reward[t as usize - 1]).abs() < 1e-9, "round {t}");
            learner.learn(&decision, &rewards).unwrap();
        }
    }

    #[test]
    fn totals_are_sums_of_rounds() {
        let (world, trial) = (world(), Trial { seed: 4, number: 0 });
        let rounds = play(&world, trial, &settings(), Feedback::AT_ONCE, Detail::Rounds).unwrap();
        let totals = play(&world, trial, &settings(), Feedback::AT_ONCE, Detail::Totals).unwrap();
        assert!((rounds.total_best() - totals.total_best()).abs() < 1e-9);
        for (rounds, totals) in rounds.played.iter().zip(&totals.played) {
            assert!((rounds.total_reward() - totals.reward[0]).abs() < 1e-9 && totals.clusters.is_empty());
        }
    }
}
