//! Sifting a large table: rows that cannot be chosen are dropped right after scoring.
//!
//! The decision to know: for quotas alone, the rows seen so far have prices, the scores from which a promotion is worth
//! having, and more rows only raise them. So once the quotas are filled, a row below all prices can never be chosen, and
//! most parts end with one comparison per score; without prices, or with other limits, every row goes on.

use super::part::Part;
use armwise::{
    Arms, Assignment, Choosing, Decision, Error, Learner, Names, OnInfeasible, Oracle, Policy, Quota, Round, Scores,
    Selection,
    oracle::{BlockQuotas, QuotaRange},
};
use std::sync::{Mutex, PoisonError};

/// An oracle that remembers the prices it met while rows were thinned out.
pub(super) struct Priced {
    oracle: Box<dyn Oracle>,
    /// The quotas, where there is nothing but quotas.
    quotas: Option<Assignment>,
    prices: Mutex<Option<Vec<f64>>>,
}

impl Priced {
    pub(super) fn new(oracle: Box<dyn Oracle>, quotas: Option<Assignment>) -> Self {
        let quotas = quotas.map(|quotas| Assignment { on_infeasible: OnInfeasible::Fill, ..quotas });
        Self { oracle, quotas, prices: Mutex::new(None) }
    }

    /// Scores below these, in every promotion, are of no use any more.
    fn floors(&self) -> Option<Vec<f64>> {
        let prices = self.prices.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        // A little lower, by more than rounding could be wrong.
        Some(prices.into_iter().map(|price| price - 1e-9 * (1.0 + price.abs())).collect())
    }
}

/// The most that the quotas take; none where one has no upper bound.
fn places(quotas: &Assignment) -> Option<usize> {
    let most = |quota: &Quota| match quota {
        Quota::Exactly(count) => Some(*count),
        Quota::Between(QuotaRange { max, .. }) => *max,
    };
    match &quotas.quotas {
        BlockQuotas::Each(each) => each.iter().map(most).sum(),
        BlockQuotas::All(_) => None,
    }
}

impl Oracle for Priced {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        self.oracle.argmax(scores)
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        let Some(quotas) = &self.quotas else { return self.oracle.candidates(part) };
        if places(quotas).is_none_or(|places| part.len() <= places) {
            return Ok((0..part.len()).collect());
        }
        // The rows of the part's own best filling suffice, as the library's candidates do; here its prices count too.
        let best = quotas.argmax(part)?;
        if best.missing.is_empty() {
            let mut prices = vec![f64::NEG_INFINITY; part.blocks()];
            for price in &best.prices {
                let block = price.of.strip_prefix("block ").and_then(|block| block.parse::<usize>().ok());
                if let Some(known) = block.and_then(|block| prices.get_mut(block)) {
                    *known = price.value;
                }
            }
            *self.prices.lock().unwrap_or_else(PoisonError::into_inner) = Some(prices);
        }
        let mut rows: Vec<usize> = best.arms.into_iter().map(|arm| arm.row).collect();
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }
}

/// A choice under way that sifts its parts.
pub(super) struct Sieve<'a, P> {
    learner: &'a Learner<P>,
    round: Round,
    oracle: &'a Priced,
    choosing: Choosing<'a, 'a, P>,
    any: bool,
}

impl<'a, P: Policy> Sieve<'a, P> {
    pub(super) fn new(learner: &'a Learner<P>, round: Round, oracle: &'a Priced) -> Result<Self, Error> {
        Ok(Self { learner, round, oracle, choosing: learner.choosing(round, oracle)?, any: false })
    }

    /// Whether a part has been taken.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Takes the next part.
    pub(super) fn add(&mut self, part: &Part) -> Result<(), Error> {
        self.any = true;
        let Some(floors) = self.oracle.floors() else { return self.take(part) };
        let scores = match part.with_arms(None, |arms: &Arms<'_>| self.learner.scores(self.round, arms)) {
            Ok(scores) => scores,
            // Two names with one hash, or one customer twice: names tell which.
            Err(Error::DuplicateId { .. }) => return self.take(part),
            Err(error) => return Err(error),
        };
        let worth = |scores: &[f64]| scores.iter().zip(&floors).any(|(score, floor)| score >= floor);
        let rows = scores.chunks_exact(floors.len()).enumerate().filter(|(_, scores)| worth(scores));
        let rows: Vec<usize> = rows.map(|(row, _)| row).collect();
        if rows.is_empty() { Ok(()) } else { self.take(&part.pick(&rows)) }
    }

    fn take(&mut self, part: &Part) -> Result<(), Error> {
        let names = Names::new(part.names())?;
        part.with_arms(Some(&names), |arms| self.choosing.add(arms))
    }

    /// The decision over all parts.
    pub(super) fn finish(self) -> Result<Decision, Error> {
        self.choosing.finish()
    }
}
