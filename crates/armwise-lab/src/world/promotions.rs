//! The sending promotion problem (section VII-A2): every round other customers, M promotions, k sends of each.
//!
//! A round's customers are drawn from all users, each at most once; only where N exceeds the
//! users are they drawn with replacement. Rewards are the ratings, so they are certain once the customer is known.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt,
    str::FromStr,
    sync::{Mutex, PoisonError},
};

use armwise::{Arms, Assignment, Oracle, Scores, Ties};
use serde::{Deserialize, Serialize};

use super::{Game, Scene, Trial, World};
use crate::{
    Error,
    data::{Customers, Features},
    streams,
};

/// Which super arms there are; the paper's formula and its text differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// As the formula of S has it: the k best customers of every promotion, whatever the other promotions do.
    #[default]
    Independent,
    /// As the text has it: a customer gets at most one promotion in a round.
    Disjoint,
}

impl Reading {
    /// Both readings.
    pub const ALL: [Self; 2] = [Self::Independent, Self::Disjoint];
    const NAMES: [&'static str; 2] = ["independent", "disjoint"];

    /// The name on every surface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Reading {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownName { what: "reading", name: name.to_owned(), known: &Self::NAMES };
        Self::ALL.into_iter().find(|reading| reading.name() == name).ok_or_else(unknown)
    }
}

/// The sending promotion problem on some splits of a set of ratings; trial i is on split i modulo their number.
pub struct Promotions<'c> {
    splits: &'c [Customers],
    reading: Reading,
    k: usize,
    n: usize,
    rounds: u64,
    seed: u64,
    oracle: Assignment,
    /// What the best super arm earns, by (trial's seed, round): many settings meet the same rounds.
    best: Mutex<BTreeMap<(u64, u64), f64>>,
}

impl<'c> Promotions<'c> {
    /// Sends each promotion to `k` of `n` customers in every round; `seed` is the one that the splits were made with.
    ///
    /// # Errors
    /// [`Error::Parameter`] that names the value outside its range.
    ///
    /// # Panics
    /// Without a split.
    pub fn new(
        splits: &'c [Customers],
        seed: u64,
        reading: Reading,
        k: usize,
        n: usize,
        rounds: u64,
    ) -> Result<Self, Error> {
        let check = |name, value: String, ok: bool, must: String| {
            if ok { Ok(()) } else { Err(Error::Parameter { name, value, must }) }
        };
        let promotions = splits[0].promotions();
        check("rounds", rounds.to_string(), rounds > 0, "at least 1".to_owned())?;
        check("k", k.to_string(), k > 0 && k <= n, format!("from 1 to n = {n}"))?;
        let per_row = match reading {
            Reading::Independent => promotions,
            Reading::Disjoint => {
                let most = n / promotions;
                let must = format!("at most n / promotions = {most} where a customer gets at most one promotion");
                check("k", k.to_string(), k <= most, must)?;
                1
            }
        };
        let oracle = Assignment { per_row, ..Assignment::new(vec![k; promotions]) };
        Ok(Self { splits, reading, k, n, rounds, seed, oracle, best: Mutex::default() })
    }

    /// How a round's customers are drawn.
    #[must_use]
    pub fn sampling(&self) -> &'static str {
        if self.n <= self.splits[0].users() { "distinct" } else { "with replacement" }
    }

    fn customers(&self, trial: Trial, t: u64) -> Vec<u32> {
        let users = self.splits[0].users();
        let draws = trial.round(t).draws(0, streams::CUSTOMERS);
        if self.n > users {
            #[expect(clippy::cast_sign_loss, reason = "a uniform number is not negative")]
            return (0..self.n as u64).map(|row| (draws.uniform(row) * users as f64) as u32).collect();
        }
        let mut keys: Vec<(u64, u32)> = (0..users as u32).map(|user| (draws.bits(u64::from(user)), user)).collect();
        if self.n < users {
            keys.select_nth_unstable(self.n);
            keys.truncate(self.n);
        }
        keys.sort_unstable();
        keys.into_iter().map(|(_, user)| user).collect()
    }
}

impl World for Promotions<'_> {
    fn dim(&self) -> usize {
        Features::DIMENSION
    }

    fn blocks(&self) -> usize {
        self.splits[0].promotions()
    }

    fn rows(&self) -> usize {
        self.n
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn clusters(&self) -> usize {
        0
    }

    fn oracle(&self, _: u64) -> &dyn Oracle {
        &self.oracle
    }

    fn key(&self) -> String {
        let Self { splits, reading, k, n, rounds, seed, .. } = self;
        let movies: Vec<&[u32]> = splits.iter().map(Customers::movies).collect();
        let (print, features) = (splits[0].fingerprint(), splits[0].features().variant());
        format!(
            "promotions {print:016x} {features} seed={seed} movies={movies:?} {reading} k={k} n={n} rounds={rounds}"
        )
    }

    fn open(&self, trial: Trial) -> Box<dyn Game + '_> {
        let customers = &self.splits[(trial.number % self.splits.len() as u64) as usize];
        Box::new(Opened { world: self, trial, customers })
    }
}

struct Opened<'w> {
    world: &'w Promotions<'w>,
    trial: Trial,
    customers: &'w Customers,
}

impl Opened<'_> {
    /// What the best super arm of round t earns.
    fn best(&self, t: u64, features: &[f64], rewards: &[f64]) -> Result<f64, Error> {
        let known = || self.world.best.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.trial.seed, t);
        if let Some(&best) = known().get(&key) {
            return Ok(best);
        }
        let arms = Arms::new(features, Features::DIMENSION)?;
        let scores = Scores::new(rewards, self.customers.promotions(), arms, Ties::ById, self.trial.round(t))?;
        let best = self.world.oracle.argmax(&scores)?.objective;
        known().insert(key, best);
        Ok(best)
    }
}

impl Game for Opened<'_> {
    fn scene(&self, t: u64) -> Result<Scene<'_>, Error> {
        let users = self.world.customers(self.trial, t);
        let mut features = Vec::with_capacity(users.len() * Features::DIMENSION);
        let mut rewards = Vec::with_capacity(users.len() * self.customers.promotions());
        for &user in &users {
            features.extend_from_slice(self.customers.features().of(user as usize));
            rewards.extend((0..self.customers.promotions()).map(|block| self.customers.reward(user as usize, block)));
        }
        let blocks = self.customers.promotions();
        let best = self.best(t, &features, &rewards)?;
        let pay = move |row: usize, block: usize| {
            let reward = rewards[row * blocks + block];
            (reward, reward)
        };
        Ok(Scene { features: Cow::Owned(features), cluster: &[], best, pay: Box::new(pay) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Generated, Ratings, Variant};

    fn customers() -> Vec<Customers> {
        let ratings = Ratings::generate(&Generated { users: 500, movies: 300, ratings: 10_000 }, 7).unwrap();
        vec![Customers::new(&ratings, Variant::Svd, 4, 7, 0).unwrap()]
    }

    #[test]
    fn rounds_draw_distinct_customers_evenly_and_pay_their_ratings() {
        let splits = customers();
        let world = Promotions::new(&splits, 7, Reading::Independent, 3, 100, 50).unwrap();
        assert_eq!(world.sampling(), "distinct");
        let mut seen = vec![0u32; 500];
        for number in 0..40 {
            let trial = Trial { seed: 77 + number, number };
            for t in 1..=5 {
                let users = world.customers(trial, t);
                let mut sorted = users.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), 100);
                users.iter().for_each(|&user| seen[user as usize] += 1);
            }
        }
        // 200 rounds take a user with probability 1/5 each: 40 +- 5.7, here within 5 standard deviations.
        assert!(seen.iter().all(|&count| (12..=68).contains(&count)), "{seen:?}");
        let game = world.open(Trial { seed: 5, number: 0 });
        let scene = game.scene(1).unwrap();
        let users = world.customers(Trial { seed: 5, number: 0 }, 1);
        let mut best = 0.0;
        for block in 0..4 {
            let mut rewards: Vec<f64> = (0..100).map(|row| (scene.pay)(row, block).0).collect();
            for (row, reward) in rewards.iter().enumerate() {
                assert!((reward - splits[0].reward(users[row] as usize, block)).abs() < 1e-12);
            }
            rewards.sort_by(|a, b| b.total_cmp(a));
            best += rewards[..3].iter().sum::<f64>();
        }
        assert!((scene.best - best).abs() < 1e-9);
    }

    #[test]
    fn more_customers_than_users_are_drawn_with_replacement() {
        let splits = customers();
        let world = Promotions::new(&splits, 7, Reading::Independent, 3, 1000, 5).unwrap();
        assert_eq!(
            (world.sampling(), world.customers(Trial { seed: 1, number: 0 }, 1).len()),
            ("with replacement", 1000)
        );
    }
}
