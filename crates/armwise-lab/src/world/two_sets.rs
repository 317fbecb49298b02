//! Two sets of look-alikes that must be taken together: the problem on which independent draws fail.
//!
//! Round 1 plays the worse set, whoever plays (S_1 holds nothing else), so that the question is whether a policy ever
//! tries the other. The super arms of later rounds are the world's [`Choice`]: from two whole sets, which have no
//! substitutes, to any k arms, which have plenty. The oracle adds up scores itself, since a list of 10,000 members is slow to
//! search anew in every round; tests compare it with the library's constraints.

use std::{borrow::Cow, cmp::Ordering};

use armwise::{Algorithm, Assignment, Constraint, Explicit, Oracle, Pick, Scores, Selection};
use serde::{Deserialize, Serialize};

use super::{Game, Scene, Trial, World};
use crate::{Error, streams};

/// Which super arms there are from round 2 on, by the library's constraint that says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Choice {
    /// One of the two sets, whole: two super arms in a list.
    #[default]
    Explicit,
    /// Any k arms of one kind: with `spare` arms more than k of each, a few substitutes.
    Linear,
    /// Any k arms.
    TopK,
    /// Any k / 2 arms with an even id and k / 2 with an odd one, rounded up and down.
    Quotas,
    /// Each arm is a customer and gets one of two promotions, k of them the first, which is what pays: quotas without slack.
    Assignment,
}

impl Choice {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Explicit, Self::Linear, Self::TopK, Self::Quotas, Self::Assignment];

    /// What to know before this algorithm plays it: [`Constraint::caution`].
    #[must_use]
    pub fn caution(self, algorithm: &Algorithm) -> Option<&'static str> {
        // The kind alone matters, and lists may be long.
        let together = matches!(self, Self::Explicit | Self::Linear);
        together.then(|| Constraint::Explicit(Explicit { super_arms: Vec::new() }).caution(algorithm)).flatten()
    }

    /// The name on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        ["explicit", "linear", "top-k", "quotas", "assignment"][self as usize]
    }
}

/// k copies of e_1 and k copies of e_2, of which the second pay more; the first are played first.
///
/// # Formula
/// ```text
/// x(i) = e_1 for the first k + spare arms, e_2 for the others
/// S_1 = {the first k arms},   S_t as [`Choice`] says
/// r_t(i) = 1 with probability (1 + theta*' x(i)) / 2, else -1
/// ```
/// # Reference
/// The proof of Theorem 1, where Lemma 8 is used for independent draws (docs/paper-map.md).
#[derive(Debug, Clone, PartialEq)]
pub struct TwoSets {
    /// Arms chosen in a round.
    pub k: usize,
    /// What an arm of the first and of the second kind pays on average.
    pub theta: [f64; 2],
    /// Rounds T.
    pub rounds: u64,
    /// Which super arms there are.
    pub choice: Choice,
    /// Arms of each kind beyond k.
    pub spare: usize,
    features: Vec<f64>,
    kind: Vec<u32>,
    first: Sets,
    later: Sets,
    assignment: Assignment,
}

/// The lab's oracle: which arms may be chosen together, and whether this is round 1.
#[derive(Debug, Clone, PartialEq)]
struct Sets {
    k: usize,
    /// Arms of each kind.
    kinds: usize,
    choice: Choice,
    first: bool,
}

impl TwoSets {
    /// theta* = (0.5, 0.8).
    pub const THETA: [f64; 2] = [0.5, 0.8];

    /// Two sets of k arms, theta* = (0.5, 0.8).
    ///
    /// # Errors
    /// [`Error::Parameter`] that names the value outside its range.
    pub fn new(k: usize, rounds: u64) -> Result<Self, Error> {
        Self::with(k, Self::THETA, rounds, Choice::Explicit, 0)
    }

    /// A problem with other rewards and super arms.
    ///
    /// # Errors
    /// [`Error::Parameter`] that names the value outside its range.
    pub fn with(k: usize, theta: [f64; 2], rounds: u64, choice: Choice, spare: usize) -> Result<Self, Error> {
        let check = |name, value: String, ok: bool, must: &str| {
            if ok { Ok(()) } else { Err(Error::Parameter { name, value, must: must.to_owned() }) }
        };
        check("k", k.to_string(), (1..=1_000_000).contains(&k), "from 1 to 1000000")?;
        check("rounds", rounds.to_string(), rounds > 0, "at least 1")?;
        let within = -1.0 <= theta[0] && theta[0] < theta[1] && theta[1] <= 1.0;
        check("theta", format!("{theta:?}"), within, "from -1 to 1, the second larger than the first")?;
        let fixed = matches!(choice, Choice::Explicit | Choice::Assignment);
        let must = "0 where the constraint is explicit or assignment, otherwise at most 1000000";
        check("spare", spare.to_string(), spare == 0 || !fixed && spare <= 1_000_000, must)?;
        let kinds = k + spare;
        let features = (0..2 * kinds).flat_map(|row| if row < kinds { [1.0, 0.0] } else { [0.0, 1.0] }).collect();
        let kind = (0..2 * kinds).map(|row| u32::from(row >= kinds)).collect();
        let sets = |first| Sets { k, kinds, choice, first };
        let assignment = Assignment::new(vec![k, k]);
        Ok(Self { k, theta, rounds, choice, spare, features, kind, first: sets(true), later: sets(false), assignment })
    }

    /// What a round loses that chooses the first kind only.
    #[must_use]
    pub fn gap(&self) -> f64 {
        self.k as f64 * (self.theta[1] - self.theta[0])
    }

    /// Whether a trial with these regrets per round ever tried the better kind: some round has more than half of it.
    #[must_use]
    pub fn tried(&self, regret: &[f64]) -> bool {
        regret.iter().any(|&regret| regret < 0.5 * self.gap())
    }
}

impl Oracle for Sets {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, armwise::Error> {
        let first = |row| Pick { row, block: 0 };
        // Of rows in some order, the k best; ties by the rule of the scores.
        let best = |rows: &mut dyn Iterator<Item = usize>, count: usize| -> Vec<Pick> {
            let mut arms: Vec<Pick> = rows.map(first).collect();
            if count < arms.len() {
                arms.select_nth_unstable_by(count, |&a, &b| scores.rank(a, b));
                arms.truncate(count);
            }
            arms
        };
        let rows = 2 * self.kinds;
        let sum = |arms: &[Pick]| arms.iter().fold(0.0, |sum, &arm| sum + scores.get(arm));
        let arms = match self.choice {
            _ if self.first => {
                let others = (self.k..rows).filter(|_| self.choice == Choice::Assignment);
                (0..self.k).map(first).chain(others.map(|row| Pick { row, block: 1 })).collect()
            }
            Choice::Explicit | Choice::Linear => {
                let (one, two) = (best(&mut (0..self.kinds), self.k), best(&mut (self.kinds..rows), self.k));
                if sum(&two).total_cmp(&sum(&one)) == Ordering::Greater { two } else { one }
            }
            Choice::TopK => best(&mut (0..rows), self.k),
            Choice::Quotas => {
                let mut arms = best(&mut (0..rows).step_by(2), self.k.div_ceil(2));
                arms.extend(best(&mut (1..rows).step_by(2), self.k / 2));
                arms
            }
            Choice::Assignment => unreachable!("the library's oracle chooses these"),
        };
        Ok(Selection::optimal(arms, scores))
    }
}

impl World for TwoSets {
    fn dim(&self) -> usize {
        2
    }

    fn blocks(&self) -> usize {
        if self.choice == Choice::Assignment { 2 } else { 1 }
    }

    fn rows(&self) -> usize {
        self.kind.len()
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn clusters(&self) -> usize {
        2
    }

    fn oracle(&self, t: u64) -> &dyn Oracle {
        match self.choice {
            _ if t == 1 => &self.first,
            Choice::Assignment => &self.assignment,
            _ => &self.later,
        }
    }

    fn key(&self) -> String {
        let Self { k, theta, rounds, choice, spare, .. } = self;
        format!("two-sets k={k} theta={theta:?} rounds={rounds} {} spare={spare}", choice.name())
    }

    fn open(&self, trial: Trial) -> Box<dyn Game + '_> {
        Box::new(Opened { world: self, trial })
    }
}

struct Opened<'w> {
    world: &'w TwoSets,
    trial: Trial,
}

impl Game for Opened<'_> {
    fn scene(&self, t: u64) -> Result<Scene<'_>, Error> {
        let world = self.world;
        let draws = [0, 1].map(|block| self.trial.round(t).draws(block, streams::REWARDS));
        let pay = move |row: usize, block: usize| {
            // The second promotion of an assignment pays nothing on average.
            let expected = if block == 0 { world.theta[world.kind[row] as usize] } else { 0.0 };
            let up = draws[block].uniform(row as u64) < 0.5 * (1.0 + expected);
            (if up { 1.0 } else { -1.0 }, expected)
        };
        // Round 1 has one super arm, which is then the best.
        let best = world.k as f64 * world.theta[usize::from(t > 1)];
        Ok(Scene { features: Cow::Borrowed(&world.features), cluster: &world.kind, best, pay: Box::new(pay) })
    }
}

#[cfg(test)]
mod tests {
    use armwise::{Arms, Column, Round, Stream, Ties, oracle::Member};

    use serde_json::json;

    use super::*;

    fn arms(world: &TwoSets, scores: &[f64], oracle: &dyn Oracle) -> Vec<Pick> {
        let parity: Vec<f64> = (0..world.rows()).map(|row| (row % 2) as f64).collect();
        let columns = [Column { name: "parity", values: &parity }];
        let arms = Arms::new(&*world.features, 2).unwrap().with_columns(&columns).unwrap();
        let scores = Scores::new(scores, world.blocks(), arms, Ties::ById, Round::new(1, 2)).unwrap();
        let mut arms = oracle.argmax(&scores).unwrap().arms;
        arms.sort_unstable();
        arms
    }

    /// 300 random scores, rounded so that arms tie: whole sets as the library's list, any k as its top-k, even and odd ids
    /// as its quotas. Any k of one kind are no linear rows of arms alone: they are compared with the better of two top-k.
    #[test]
    fn the_labs_oracle_is_the_librarys() {
        for case in 0..300u64 {
            let draws = Round::new(5, case).draws(0, Stream(999));
            let (k, spare) = (1 + case as usize % 4, case as usize % 3);
            let of = |choice, spare| TwoSets::with(k, TwoSets::THETA, 2, choice, spare).unwrap();
            let scores = |world: &TwoSets| -> Vec<f64> {
                (0..world.rows() as u64).map(|row| (4.0 * draws.normal(row)).round() / 4.0).collect()
            };
            let world = of(Choice::Explicit, 0);
            let set = |rows: std::ops::Range<usize>| rows.map(|row| Member::Id(row as u64)).collect::<Vec<_>>();
            let listed = Explicit { super_arms: vec![set(0..k), set(k..2 * k)] };
            let values = scores(&world);
            assert_eq!(arms(&world, &values, world.oracle(2)), arms(&world, &values, &listed), "case {case}");
            let world = of(Choice::TopK, spare);
            let values = scores(&world);
            assert_eq!(arms(&world, &values, world.oracle(2)), arms(&world, &values, &Constraint::top_k(k)));
            let world = of(Choice::Quotas, spare);
            let values = scores(&world);
            let (even, odd) = (k.div_ceil(2), k / 2);
            let group =
                |value: u32, count: usize| json!({ "column": "parity", "value": value, "min": count, "max": count });
            let quotas = json!({ "kind": "quotas", "k": k, "min": k, "groups": [group(0, even), group(1, odd)] });
            let quotas: Constraint = serde_json::from_value(quotas).unwrap();
            assert_eq!(arms(&world, &values, world.oracle(2)), arms(&world, &values, &quotas), "case {case}");
            // Any k of one kind: the better of two top-k, each among its own.
            let world = of(Choice::Linear, spare);
            let values = scores(&world);
            let kinds = k + spare;
            let of_kind = |kind: usize| {
                let barred: Vec<f64> = (0..2 * kinds)
                    .map(|row| if row / kinds == kind { values[row] } else { f64::NEG_INFINITY })
                    .collect();
                arms(&world, &barred, &Constraint::top_k(k))
            };
            let sum = |arms: &[Pick]| arms.iter().map(|arm| values[arm.row]).sum::<f64>();
            let (one, two) = (of_kind(0), of_kind(1));
            let expected = if sum(&two) > sum(&one) { two } else { one };
            assert_eq!(arms(&world, &values, world.oracle(2)), expected, "case {case}");
        }
    }

    #[test]
    fn round_1_plays_the_worse_set_and_later_rounds_may_choose() {
        for choice in Choice::ALL {
            let world = TwoSets::with(4, TwoSets::THETA, 5, choice, 0).unwrap();
            let blocks = world.blocks();
            // Scores that prefer the second kind, in the first block.
            let of = |place: usize| if place.is_multiple_of(blocks) { (place / blocks) as f64 } else { -100.0 };
            let values: Vec<f64> = (0..8 * blocks).map(of).collect();
            let paying = |t| -> Vec<usize> {
                arms(&world, &values, world.oracle(t)).iter().filter(|arm| arm.block == 0).map(|arm| arm.row).collect()
            };
            assert_eq!(paying(1), [0, 1, 2, 3], "{choice:?}");
            assert_eq!(paying(2), [4, 5, 6, 7], "{choice:?}");
            let game = world.open(Trial { seed: 1, number: 0 });
            assert!((game.scene(1).unwrap().best - 2.0).abs() < 1e-12);
            assert!((game.scene(2).unwrap().best - 3.2).abs() < 1e-12);
        }
    }

    #[test]
    fn values_outside_their_range_are_refused() {
        let message = |k, theta, choice, spare| TwoSets::with(k, theta, 5, choice, spare).unwrap_err().to_string();
        assert_eq!(message(0, TwoSets::THETA, Choice::TopK, 0), "k = 0: must be from 1 to 1000000");
        assert!(message(2, [0.8, 0.5], Choice::TopK, 0).starts_with("theta = [0.8, 0.5]: must be from -1 to 1"));
        assert!(message(2, TwoSets::THETA, Choice::Explicit, 3).starts_with("spare = 3: must be 0 where"));
    }
}
