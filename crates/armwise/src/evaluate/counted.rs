//! Probabilities by counting: how often fresh rounds choose an arm.
//!
//! It works for every policy and every oracle and is without bias, but says little about rare arms: an arm of
//! probability pi has the standard error sqrt(pi (1 - pi) / replicates). The fresh rounds have seeds of their own stream,
//! so that the draws of the round itself, which decided what is in the log, are never among them.

use super::{Inclusion, Rows};
use crate::{Arms, Error, Learner, Method, Oracle, Pick, Policy, Round, Stream};
use std::collections::HashMap;

/// The fresh rounds of a round: its number, other seeds.
pub(super) fn fresh(round: Round) -> impl Fn(usize) -> Round {
    let draws = round.draws(0, Stream::REPLICATE);
    move |number| Round::new(draws.bits(number as u64), round.t)
}

/// The standard error of a share of `count` trials.
pub(super) fn of_share(share: f64, count: usize) -> f64 {
    (share * (1.0 - share) / count as f64).max(0.0).sqrt()
}

impl<P: Policy> Learner<P> {
    /// Counts how often each pick is chosen.
    pub(super) fn count(
        &self,
        round: Round,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
        picks: &[Pick],
        replicates: usize,
    ) -> Result<Inclusion, Error> {
        let (fresh, rows) = (fresh(round), Rows::of(arms));
        let mut counts: HashMap<Pick, usize> = HashMap::new();
        for number in 0..replicates {
            let decision = self.choose(fresh(number), arms, oracle)?;
            rows.picks(&decision, arms)?.into_iter().for_each(|pick| *counts.entry(pick).or_default() += 1);
        }
        let share = |pick: &Pick| counts.get(pick).copied().unwrap_or(0) as f64 / replicates as f64;
        let probabilities: Vec<f64> = picks.iter().map(share).collect();
        let standard_errors = probabilities.iter().map(|&share| of_share(share, replicates)).collect();
        Ok(Inclusion { method: Method::Counted, probabilities, standard_errors, replicates, laws: Vec::new() })
    }
}
