//! The problems of section VII as environments, and one for Theorem 1: what the arms of a round are and what they pay.
//!
//! A world is a pure function of (trial, round). Whoever plays meets the same arms and the
//! same potential rewards (common random numbers), so differences between algorithms are paired.

mod clustered;
mod promotions;
mod two_sets;

pub use clustered::{Clustered, Order, Turn};
pub use promotions::{Promotions, Reading};
pub use two_sets::{Choice, TwoSets};

use std::borrow::Cow;

use armwise::{Oracle, Round};
use serde::{Deserialize, Serialize};

use crate::{Error, streams};

/// What a trial is for; trials for different purposes share nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Parameters are chosen on it; under the paper's protocol it is also what is reported.
    Tuning,
    /// Chosen parameters are evaluated on it.
    Evaluation,
}

/// A trial: everything random in it follows from its seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trial {
    /// The seed of the trial: of the world and of the algorithms' draws.
    pub seed: u64,
    /// Its number, from 0; worlds with several splits of their data spread the trials over them by it.
    pub number: u64,
}

impl Trial {
    /// Trials 0 to `count` - 1 of a run.
    #[must_use]
    pub fn of(seed: u64, purpose: Purpose, count: usize) -> Vec<Self> {
        let draws = Round::new(seed, 0).draws(purpose as u32, streams::TRIALS);
        (0..count as u64).map(|number| Self { seed: draws.bits(number), number }).collect()
    }

    /// The round t of this trial.
    #[must_use]
    pub fn round(&self, t: u64) -> Round {
        Round::new(self.seed, t)
    }
}

/// A problem: what is chosen from, under which constraint, and what it pays.
pub trait World: Sync {
    /// Features per arm, d.
    fn dim(&self) -> usize;
    /// Blocks, M.
    fn blocks(&self) -> usize;
    /// Rows in a round, N.
    fn rows(&self) -> usize;
    /// Rounds of a trial, T.
    fn rounds(&self) -> u64;
    /// Clusters of arms, or 0 where it makes no sense to count them.
    fn clusters(&self) -> usize;
    /// The argmax over S_t of round t, from 1.
    fn oracle(&self, t: u64) -> &dyn Oracle;
    /// Everything that the world's numbers depend on, as text: the key under which finished trials are kept.
    fn key(&self) -> String;
    /// Sets up a trial.
    fn open(&self, trial: Trial) -> Box<dyn Game + '_>;
}

/// A trial of a world, under way.
pub trait Game {
    /// The round t, from 1.
    ///
    /// # Errors
    /// Where the best super arm cannot be found.
    fn scene(&self, t: u64) -> Result<Scene<'_>, Error>;
}

/// A row's reward in a block, and its expectation.
pub type Pay<'g> = Box<dyn Fn(usize, usize) -> (f64, f64) + 'g>;

/// A round as the world has it. The id of an arm is its row.
pub struct Scene<'g> {
    /// Features, row-major.
    pub features: Cow<'g, [f64]>,
    /// The cluster of each row; empty where there are none.
    pub cluster: &'g [u32],
    /// The expected reward of the best super arm.
    pub best: f64,
    /// The potential reward of (row, block), and its expectation.
    pub pay: Pay<'g>,
}
