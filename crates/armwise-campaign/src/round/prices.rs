//! What the quotas are worth so far: scores below it are of no use any more.
//!
//! For quotas alone, the rows seen so far have prices, the scores from which a promotion is worth
//! having, and more rows only raise them. So once the quotas are filled, a row below all prices can never be chosen.

use super::constraint::block_of;
use armwise::{
    Assignment, Error, OnInfeasible, Oracle, Quota, Scores, Selection,
    oracle::{BlockQuotas, QuotaRange},
};
use std::sync::{Mutex, PoisonError};

/// An oracle that remembers the prices it met while rows were thinned out.
pub(super) struct Priced {
    oracle: Box<dyn Oracle>,
    /// The quotas, where there is nothing but quotas.
    quotas: Option<Assignment>,
    floors: Mutex<Option<Vec<f64>>>,
}

impl Priced {
    pub(super) fn new(oracle: Box<dyn Oracle>, quotas: Option<Assignment>) -> Self {
        let quotas = quotas.map(|quotas| Assignment { on_infeasible: OnInfeasible::Error, ..quotas });
        Self { oracle, quotas, floors: Mutex::new(None) }
    }

    /// Scores below these, in every promotion, are of no use any more; none while nothing is known.
    pub(super) fn floors(&self) -> Option<Vec<f64>> {
        self.floors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is certain after the best selection from the rows seen so far, where all quotas are filled.
    pub(super) fn settle(&self, best: &Selection) -> Option<Vec<f64>> {
        let quotas = self.quotas.as_ref().filter(|_| best.missing.is_empty())?;
        let floors = floors(quotas, best);
        *self.floors.lock().unwrap_or_else(PoisonError::into_inner) = Some(floors.clone());
        Some(floors)
    }

    /// Floors from a sample with this share of the rows: most probably below those of all rows, but not certain. None
    /// where the sample cannot tell.
    pub(super) fn guess(&self, sample: &Scores<'_>, share: f64) -> Result<Option<Vec<f64>>, Error> {
        let Some(quotas) = &self.quotas else { return Ok(None) };
        let each = ranges(quotas).map(|(min, max)| match max {
            Some(max) if max == min => Quota::Exactly(raised(max, share)),
            max => Quota::Between(QuotaRange { min: raised(min, share), max: max.map(|max| raised(max, share)) }),
        });
        let quotas = Assignment { quotas: BlockQuotas::Each(each.collect()), ..quotas.clone() };
        match quotas.argmax(sample) {
            Err(Error::Infeasible(_)) => Ok(None),
            best => Ok(Some(floors(&quotas, &best?)).filter(|floors| floors.iter().any(|floor| floor.is_finite()))),
        }
    }

    /// How many rows the quotas can take; none where there is no such number.
    pub(super) fn places(&self) -> Option<usize> {
        ranges(self.quotas.as_ref()?).map(|(_, max)| max).sum()
    }
}

/// The least and the most of each quota.
fn ranges(quotas: &Assignment) -> impl Iterator<Item = (usize, Option<usize>)> {
    let each = match &quotas.quotas {
        BlockQuotas::Each(each) => &each[..],
        BlockQuotas::All(_) => &[],
    };
    each.iter().map(|quota| match *quota {
        Quota::Exactly(count) => (count, Some(count)),
        Quota::Between(QuotaRange { min, max }) => (min, max),
    })
}

/// A sample's share of a count, and four standard errors more, so that prices come out too low rather than too high.
#[expect(clippy::cast_sign_loss, reason = "counts and shares are not negative")]
fn raised(count: usize, share: f64) -> usize {
    let mean = count as f64 * share;
    if count == 0 { 0 } else { (mean + 4.0 * mean.sqrt() + 2.0) as usize }
}

/// The prices of filled quotas as floors. A range whose minimum alone is filled may have had to take what is worth less
/// than nothing, which its price of 0 does not tell: it has no floor.
fn floors(quotas: &Assignment, best: &Selection) -> Vec<f64> {
    let mut prices: Vec<Option<f64>> = ranges(quotas).map(|_| None).collect();
    for price in &best.prices {
        if let Some(known) = block_of(&price.of).and_then(|block| prices.get_mut(block)) {
            *known = Some(price.value);
        }
    }
    let mut chosen = vec![0; prices.len()];
    best.arms.iter().for_each(|arm| chosen[arm.block] += 1);
    let told = |((min, max), chosen): ((usize, Option<usize>), usize), price: f64| {
        max == Some(min) || min == 0 || chosen > min || price > 0.0
    };
    let floor = |(quota, price): (_, Option<f64>)| match price {
        // A little lower, by more than rounding could be wrong.
        Some(price) if told(quota, price) => price - 1e-9 * (1.0 + price.abs()),
        _ => f64::NEG_INFINITY,
    };
    ranges(quotas).zip(chosen).zip(prices).map(floor).collect()
}

impl Oracle for Priced {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        self.oracle.argmax(scores)
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        let Some(quotas) = &self.quotas else { return self.oracle.candidates(part) };
        if self.places().is_some_and(|places| part.len() <= places) {
            return Ok((0..part.len()).collect());
        }
        // The rows of the part's own best filling suffice, as the library's candidates do; here its prices count too.
        let best = match quotas.argmax(part) {
            Err(Error::Infeasible(_)) => return quotas.candidates(part),
            best => best?,
        };
        *self.floors.lock().unwrap_or_else(PoisonError::into_inner) = Some(floors(quotas, &best));
        let mut rows: Vec<usize> = best.arms.into_iter().map(|arm| arm.row).collect();
        rows.sort_unstable();
        rows.dedup();
        Ok(rows)
    }
}
