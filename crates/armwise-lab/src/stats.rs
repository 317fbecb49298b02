//! Means, standard errors, paired differences and ratios.
//!
//! Trials on the same split of the data are not independent, so where there are several splits
//! the numbers are first averaged within each, and the splits are the sample. Intervals are 95% with Student's
//! quantile.

use statrs::distribution::{Beta, ContinuousCDF, StudentsT};

use crate::results::{Interval, Mean};

/// Values of the independent units of a sample: trials, or splits of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Units(Vec<f64>);

impl Units {
    /// One value per trial; trial i belongs to group i modulo `groups`. With one group, each trial stands for itself.
    #[must_use]
    pub fn new(trials: &[f64], groups: usize) -> Self {
        if groups <= 1 || trials.len() <= groups {
            return Self(trials.to_vec());
        }
        let group = |group: usize| {
            let (mut sum, mut count) = (0.0, 0.0);
            for value in trials.iter().skip(group).step_by(groups) {
                sum += value;
                count += 1.0;
            }
            sum / count
        };
        Self((0..groups).map(group).collect())
    }

    /// The mean with its standard error and 95% margin, which a single unit does not have.
    #[must_use]
    pub fn mean(&self) -> Mean {
        let (count, n) = (self.0.len(), self.0.len() as f64);
        let mean = self.0.iter().sum::<f64>() / n;
        let squares: f64 = self.0.iter().map(|x| (x - mean) * (x - mean)).sum();
        let se = (count > 1).then(|| (squares / (n - 1.0) / n).sqrt());
        Mean { mean, se, margin: se.map(|se| quantile(count - 1) * se) }
    }

    /// The mean with its 95% confidence interval; a single unit has one without bounds (the largest numbers, since JSON has no infinity).
    #[must_use]
    pub fn interval(&self) -> Interval {
        let Mean { mean, margin, .. } = self.mean();
        around(mean, margin)
    }

    /// The mean of the paired differences self - other.
    #[must_use]
    pub fn less(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a - b).collect())
    }

    /// The ratio of the means self / other with its 95% confidence interval, by the delta method on the pairs.
    ///
    /// # Formula
    /// ```text
    /// r = mean(a) / mean(b),   se(r) = se(a - r b) / mean(b)
    /// ```
    #[must_use]
    pub fn ratio(&self, other: &Self) -> Interval {
        let base = other.mean().mean;
        let ratio = self.mean().mean / base;
        let rest = Self(self.0.iter().zip(&other.0).map(|(a, b)| a - ratio * b).collect());
        around(ratio, rest.mean().margin.map(|margin| margin / base.abs()))
    }
}

/// The interval of an estimate with this margin.
fn around(value: f64, margin: Option<f64>) -> Interval {
    let half = margin.unwrap_or(f64::MAX);
    Interval { value, low: value - half, high: value + half }
}

/// The share of `count` in `n` with its exact 95% interval (Clopper and Pearson).
#[must_use]
pub fn share(count: usize, n: usize) -> Interval {
    let (x, rest) = (count as f64, n.saturating_sub(count) as f64);
    let quantile = |a: f64, b: f64, level: f64| Beta::new(a, b).map_or(f64::NAN, |beta| beta.inverse_cdf(level));
    let low = if count == 0 { 0.0 } else { quantile(x, rest + 1.0, 0.025) };
    let high = if rest <= 0.0 { 1.0 } else { quantile(x + 1.0, rest, 0.975) };
    Interval { value: x / (n.max(1)) as f64, low, high }
}

/// The 97.5% quantile of Student's t.
fn quantile(freedom: usize) -> f64 {
    StudentsT::new(0.0, 1.0, freedom as f64).map_or(f64::INFINITY, |t| t.inverse_cdf(0.975))
}

#[cfg(test)]
mod tests {
    use armwise::{Round, Stream};

    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [(1, 12.706), (4, 2.776), (9, 2.262), (19, 2.093), (99, 1.984)] {
            assert!((quantile(freedom) - expected).abs() < 5e-4, "{freedom}");
        }
    }

    /// By tables; with none of n the upper end is 1 - 0.025^(1/n).
    #[test]
    fn shares_have_exact_intervals() {
        let (five, none, all) = (share(5, 20), share(0, 60), share(60, 60));
        assert!((five.low - 0.0866).abs() < 1e-3 && (five.high - 0.4910).abs() < 1e-3, "{five:?}");
        let end = 1.0 - libm::pow(0.025, 1.0 / 60.0);
        assert!(none.low.abs() < 1e-12 && (none.high - end).abs() < 1e-6, "{none:?}");
        assert!((all.low - (1.0 - end)).abs() < 1e-6 && (all.high - 1.0).abs() < 1e-12, "{all:?}");
    }

    #[test]
    fn means_and_groups_by_hand() {
        let mean = Units::new(&[1.0, 2.0, 3.0, 6.0], 1).mean();
        assert!((mean.mean - 3.0).abs() < 1e-12 && (mean.se.unwrap() - (14.0f64 / 3.0 / 4.0).sqrt()).abs() < 1e-12);
        // Groups {1, 3} and {2, 6}: means 2 and 4.
        let mean = Units::new(&[1.0, 2.0, 3.0, 6.0], 2).mean();
        assert!((mean.mean - 3.0).abs() < 1e-12 && (mean.se.unwrap() - 1.0).abs() < 1e-12);
        // Two units: one degree of freedom.
        assert!((mean.margin.unwrap() - 12.706).abs() < 5e-4);
    }

    #[test]
    fn margins_are_those_of_the_intervals_and_a_single_unit_has_none() {
        let units = Units::new(&[1.0, 2.0, 3.0, 6.0, 4.0], 1);
        let (mean, interval) = (units.mean(), units.interval());
        assert!((mean.margin.unwrap() - 0.5 * (interval.high - interval.low)).abs() < 1e-12);
        assert!((mean.margin.unwrap() - 2.776 * mean.se.unwrap()).abs() < 1e-3);
        let one = Units::new(&[7.0], 1).mean();
        assert_eq!((one.se, one.margin), (None, None));
    }

    /// 2,000 samples: the intervals cover the truth in 95% +- 4 standard errors of 0.5%.
    #[test]
    fn intervals_cover_what_they_say() {
        let draws = Round::new(11, 1).draws(0, Stream(998));
        let (mut differences, mut ratios) = (0, 0);
        for sample in 0..2_000u64 {
            let z = |i: u64| draws.normal(100 * sample + i);
            let a: Vec<f64> = (0..10).map(|i| 10.0 + z(i) + 0.5 * z(20 + i)).collect();
            let b: Vec<f64> = (0..10).map(|i| 8.0 + z(i) + 0.5 * z(40 + i)).collect();
            let (a, b) = (Units::new(&a, 1), Units::new(&b, 1));
            let difference = a.less(&b).interval();
            differences += usize::from(difference.low <= 2.0 && 2.0 <= difference.high);
            let ratio = a.ratio(&b);
            ratios += usize::from(ratio.low <= 1.25 && 1.25 <= ratio.high);
        }
        for covered in [differences, ratios] {
            assert!((1860..=1940).contains(&covered), "{covered}");
        }
    }
}
