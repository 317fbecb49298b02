//! How much is run, in a quick run, in one of middle size and in the full evaluation.
//!
//! `quick` shows that everything works. Its verdicts come from few trials, which their wide intervals show.

use std::f64::consts::PI;

use crate::{
    data::{Generated, Ratings},
    grid::PAPER,
    results::Scale,
};

/// Sizes of all studies.
pub(super) struct Plan {
    /// Exponents of the grid's values.
    pub(super) exponents: Vec<i32>,
    /// Angles of figure 2 in sixteenths of pi.
    pub(super) sixteenths: Vec<u32>,
    /// Trials of the paper's protocol.
    pub(super) paper_trials: usize,
    /// Tuning trials of the clustered case under `fresh`; the paper's trials are the first of them.
    pub(super) clustered_tuning: usize,
    /// Evaluation trials of the clustered case.
    pub(super) clustered_fresh: usize,
    /// Trials of figure 5.
    pub(super) touched_trials: usize,
    /// Rounds and trials of figure 6.
    pub(super) regret_rounds: u64,
    pub(super) regret_trials: usize,
    /// The two-set problem: sizes of the sets, rounds, runs, and the k with substitutes.
    pub(super) two_sets_ks: Vec<usize>,
    pub(super) two_sets_rounds: u64,
    pub(super) two_sets_trials: usize,
    pub(super) between_k: usize,
    /// Which algorithm: trials for tuning and measuring (other than on ratings), the size of two sets, the k of promotions.
    pub(super) which_tuning: usize,
    pub(super) which_fresh: usize,
    pub(super) which_sets: usize,
    pub(super) which_ks: Vec<usize>,
    /// The k of Table I.
    pub(super) ks: Vec<usize>,
    /// Evaluation trials of promotions.
    pub(super) promotions_fresh: usize,
    /// Splits for tuning, and for evaluation of small and of large sets.
    tuning_splits: usize,
    fresh_splits: [usize; 2],
    /// Sizes of the generated ratings.
    pub(super) generated: Generated,
    /// Users whose cosines figure 3 shows.
    pub(super) cosine_users: usize,
}

/// Sets with more ratings than this get fewer splits, since each needs a decomposition.
const LARGE: usize = 5_000_000;

impl Plan {
    pub(super) fn of(scale: Scale) -> Self {
        match scale {
            Scale::Full => Self {
                exponents: PAPER.to_vec(),
                sixteenths: (1..=8).collect(),
                paper_trials: 5,
                clustered_tuning: 20,
                clustered_fresh: 100,
                touched_trials: 100,
                regret_rounds: 1000,
                regret_trials: 20,
                two_sets_ks: vec![10, 30, 100, 300, 1000, 3000, 10_000],
                two_sets_rounds: 100,
                two_sets_trials: 60,
                between_k: 300,
                which_tuning: 20,
                which_fresh: 200,
                which_sets: 100,
                which_ks: vec![50, 100, 200],
                ks: vec![50, 100, 150, 200],
                promotions_fresh: 20,
                tuning_splits: 5,
                fresh_splits: [10, 4],
                generated: Generated::default(),
                cosine_users: 10_000,
            },
            // The sizes of a quick run where they cost most, the grid of the full one.
            Scale::Middle => Self {
                exponents: PAPER.to_vec(),
                clustered_tuning: 10,
                clustered_fresh: 60,
                which_tuning: 5,
                which_fresh: 60,
                which_sets: 100,
                which_ks: vec![50],
                promotions_fresh: 8,
                ..Self::of(Scale::Quick)
            },
            Scale::Quick => Self {
                exponents: vec![-2, 0, 2],
                sixteenths: vec![2, 4, 8],
                paper_trials: 5,
                clustered_tuning: 5,
                clustered_fresh: 40,
                touched_trials: 20,
                regret_rounds: 200,
                regret_trials: 5,
                two_sets_ks: vec![10, 100, 1000],
                two_sets_rounds: 30,
                two_sets_trials: 20,
                between_k: 300,
                which_tuning: 3,
                which_fresh: 10,
                which_sets: 30,
                which_ks: vec![10],
                ks: vec![50],
                promotions_fresh: 4,
                tuning_splits: 1,
                fresh_splits: [4, 2],
                generated: Generated { users: 10_000, movies: 3_000, ratings: 700_000 },
                cosine_users: 4_000,
            },
        }
    }

    /// How many splits are for tuning and how many for evaluation.
    pub(super) fn splits(&self, ratings: &Ratings) -> (usize, usize) {
        (self.tuning_splits, self.fresh_splits[usize::from(ratings.len() > LARGE)])
    }

    /// Tuning trials of promotions: those of the paper's protocol, or fewer in a quick run.
    pub(super) fn promotions_tuning(&self) -> usize {
        if self.tuning_splits == 1 { 2 } else { self.paper_trials }
    }
}

/// An angle and its name.
pub(super) fn angle(sixteenths: u32) -> (f64, String) {
    let mut parts = (sixteenths, 16);
    while parts.0.is_multiple_of(2) {
        parts = (parts.0 / 2, parts.1 / 2);
    }
    let label = match parts {
        (1, below) => format!("pi/{below}"),
        (above, below) => format!("{above}pi/{below}"),
    };
    (f64::from(sixteenths) / 16.0 * PI, label)
}

#[cfg(test)]
mod tests {
    #[test]
    fn angles_have_short_names() {
        let names: Vec<String> = (1..=8).map(|s| super::angle(s).1).collect();
        assert_eq!(names, ["pi/16", "pi/8", "3pi/16", "pi/4", "5pi/16", "3pi/8", "7pi/16", "pi/2"]);
    }
}
