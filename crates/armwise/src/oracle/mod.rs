//! The argmax over S_t: a constraint described as data, solved for given scores.
//!
//! An oracle sees scores, keys and columns, never features or models, so any constraint works with any policy. What it
//! tells beyond the answer ([`Oracle::needs`], [`Oracle::candidates`], [`Selection::floors`]) makes it possible to
//! prune arms before they are scored exactly, and to choose from arms that come in parts.

mod assignment;
mod budget;
mod columns;
mod explicit;
mod linear;
mod quotas;
mod scores;
mod taking;
mod top_k;
mod warm;

pub use crate::{
    error::{Infeasible, Limit},
    input::Pick,
};
pub(crate) use assignment::pairs_above;
#[cfg(test)]
pub(crate) use assignment::sampled_rows;
pub use assignment::{Assignment, BlockQuotas, Quota, QuotaRange};
pub use budget::Budget;
pub use explicit::{Explicit, Member};
pub use linear::{Linear, LinearRow, Term};
pub(crate) use quotas::Separate;
pub use quotas::{Group, OneOrMany, Quotas};
pub use scores::{Scores, Ties};
pub use taking::Taking;
pub use top_k::TopK;
pub use warm::Warm;

use crate::{Algorithm, Error};
use serde::{Deserialize, Serialize};

/// Finds the best super arm for given scores.
///
/// Implement it for a constraint of your own; [`Constraint`] covers the ones that can be written as data.
///
/// # Example
/// ```
/// use armwise::{Arms, Error, Oracle, Pick, Round, Scores, Selection, Ties};
///
/// /// Exactly one arm of each block.
/// struct OneOfEach;
///
/// impl Oracle for OneOfEach {
///     fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
///         let best = |block| (0..scores.len()).map(|row| Pick { row, block }).min_by(|&a, &b| scores.rank(a, b));
///         Ok(Selection::optimal((0..scores.blocks()).filter_map(best).collect(), scores))
///     }
/// }
///
/// let arms = Arms::new(&[0.0, 0.0][..], 1)?;
/// let scores = Scores::new(&[0.1, 0.9, 0.3, 0.2], 2, arms, Ties::ById, Round::new(1, 1))?;
/// assert_eq!(OneOfEach.argmax(&scores)?.arms, [Pick { row: 1, block: 0 }, Pick { row: 0, block: 1 }]);
/// # Ok::<(), armwise::Error>(())
/// ```
pub trait Oracle: Sync {
    /// The super arm with the largest sum of scores.
    ///
    /// # Errors
    /// [`Error::Infeasible`] if no super arm exists, [`Error::ScoreNotFinite`] for a NaN or +infinity.
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error>;

    /// The same super arm, found faster if these prices are near the right ones, as those of the last round often are.
    /// They are a hint that never changes the answer: any prices will do, and the default does not look at them.
    /// [`Warm`] hands them on from round to round.
    ///
    /// # Errors
    /// As [`argmax`](Self::argmax).
    fn argmax_near(&self, scores: &Scores<'_>, prices: &[Price]) -> Result<Selection, Error> {
        let _ = prices;
        self.argmax(scores)
    }

    /// Which arms need exact scores; the others may be pruned by the bounds of their scores. The default is all arms.
    fn needs(&self) -> Needs {
        Needs::All
    }

    /// Floors, one per block, that the arms of the best super arm will most probably reach: a guess from the scores of
    /// a share of the rows, or from lower bounds of all scores (`share` = 1). None if it cannot tell; the default is
    /// none. A wrong guess costs time but never changes the answer, since [`Selection::floors`] proves or refutes it.
    ///
    /// # Errors
    /// [`Error::ScoreNotFinite`] for a NaN or +infinity.
    fn guess_floors(&self, sample: &Scores<'_>, share: f64) -> Result<Option<Vec<f64>>, Error> {
        let _ = (sample, share);
        Ok(None)
    }

    /// A super arm to be filled one arm after another, for policies whose scores change with every arm taken; none if
    /// the constraint does not allow that, which is the default. The scores are those of the first pick, or above them;
    /// -infinity marks an arm that may not be chosen.
    ///
    /// # Errors
    /// [`Error::Infeasible`] if no super arm exists.
    fn taking(&self, scores: &Scores<'_>) -> Result<Option<Box<dyn Taking>>, Error> {
        let _ = scores;
        Ok(None)
    }

    /// The candidates of a part, ascending: whatever the other parts hold, the super arm that `argmax` returns for the
    /// whole, ties included, uses no other rows of this part. The default is all rows.
    ///
    /// # Errors
    /// [`Error::ScoreNotFinite`] for a NaN or +infinity.
    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        Ok((0..part.len()).collect())
    }

    /// The constraint as data, where it is one of the library's: then the probability that an arm is chosen can be
    /// computed rather than counted. The default is none.
    fn data(&self) -> Option<Constraint> {
        None
    }
}

/// Which arms an oracle needs exact scores of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Needs {
    /// All of them.
    All,
    /// The k best arms, in the order of [`Scores::rank`]: `argmax` depends on no others, and does not fail if at least
    /// k arms may be chosen.
    Best(usize),
    /// Those that reach the floors of their blocks: see [`Selection::floors`] and [`Oracle::guess_floors`].
    Floors {
        /// With fewer rows than this there are no floors.
        from: usize,
    },
}

/// A set of super arms S_t described as data: the same names in TOML, JSON and Python.
///
/// # Example
/// ```
/// use armwise::Constraint;
/// let constraint: Constraint = serde_json::from_str(r#"{"kind": "top-k", "k": 100}"#)?;
/// assert_eq!(constraint, Constraint::top_k(100));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Constraint {
    /// The k best arms.
    TopK(TopK),
    /// A quota for each promotion, a limit for each customer.
    Assignment(Assignment),
    /// Least and most numbers per group of arms.
    Quotas(Quotas),
    /// A cost per arm and a budget.
    Budget(Budget),
    /// Arbitrary linear rows, by a general solver.
    Linear(Linear),
    /// One of a list of super arms.
    Explicit(Explicit),
}

impl Constraint {
    /// Exactly `k` arms.
    #[must_use]
    pub const fn top_k(k: usize) -> Self {
        Self::TopK(TopK::exactly(k))
    }

    /// The columns that it refers to by name, each once; the arms must have them. `block` is always there.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        let mut names: Vec<&str> = match self {
            Self::TopK(_) | Self::Explicit(_) => Vec::new(),
            Self::Assignment(Assignment { groups, cost, .. }) => {
                groups.iter().map(|group| &*group.column).chain(cost.as_deref()).collect()
            }
            Self::Quotas(quotas) => quotas.groups.iter().map(|group| &*group.column).collect(),
            Self::Budget(budget) => vec![&budget.cost],
            Self::Linear(linear) => linear.rows.iter().filter_map(|row| row.column.as_deref()).collect(),
        };
        names.retain(|name| *name != columns::BLOCK);
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What to know before this algorithm chooses under this constraint; nothing, as a rule.
    ///
    /// Independent draws of arms cancel out in a sum of arms that must be taken together, as under `explicit` and
    /// `linear`: then a better super arm may never be tried (docs/which-algorithm.md). So it is in the scope `own` and in
    /// those that equal it, `mixed` 0 and the best of 1; of a `group` only the arms tell.
    ///
    /// # Example
    /// ```
    /// use armwise::{Algorithm, Constraint};
    /// let sets: Constraint = serde_json::from_str(r#"{"kind": "explicit", "super_arms": [[0, 1], [2, 3]]}"#)?;
    /// let own = Algorithm::new("arm-wise-ts", &[])?;
    /// assert!(sets.caution(&own).is_some() && Constraint::top_k(2).caution(&own).is_none());
    /// let shared: Algorithm = serde_json::from_str(r#"{"name": "arm-wise-ts", "scope": "shared"}"#)?;
    /// assert!(sets.caution(&shared).is_none());
    /// let mixed: Algorithm = serde_json::from_str(r#"{"name": "arm-wise-ts", "scope": {"mixed": 0.0}}"#)?;
    /// assert!(sets.caution(&mixed).is_some()); // nothing is shared
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn caution(&self, algorithm: &Algorithm) -> Option<&'static str> {
        let no_substitutes = matches!(self, Self::Explicit(_) | Self::Linear(_));
        let own = matches!(algorithm, Algorithm::ArmWiseTs(policy) if policy.scope.draws_alone());
        (no_substitutes && own).then_some(
            "arm-wise TS with a draw for each arm may never try a better super arm under `explicit` or `linear`, where arms are taken \
             together and their draws cancel out: give it the scope \"shared\", \"mixed\" above 0, \"group\" or \"best-of\" above 1, or take PC2UCB",
        )
    }

    fn oracle(&self) -> &dyn Oracle {
        match self {
            Self::TopK(top_k) => top_k,
            Self::Assignment(assignment) => assignment,
            Self::Quotas(quotas) => quotas,
            Self::Budget(budget) => budget,
            Self::Linear(linear) => linear,
            Self::Explicit(explicit) => explicit,
        }
    }
}

impl Oracle for Constraint {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        self.oracle().argmax(scores)
    }

    fn argmax_near(&self, scores: &Scores<'_>, prices: &[Price]) -> Result<Selection, Error> {
        self.oracle().argmax_near(scores, prices)
    }

    fn needs(&self) -> Needs {
        self.oracle().needs()
    }

    fn guess_floors(&self, sample: &Scores<'_>, share: f64) -> Result<Option<Vec<f64>>, Error> {
        self.oracle().guess_floors(sample, share)
    }

    fn taking(&self, scores: &Scores<'_>) -> Result<Option<Box<dyn Taking>>, Error> {
        self.oracle().taking(scores)
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        self.oracle().candidates(part)
    }

    fn data(&self) -> Option<Constraint> {
        Some(self.clone())
    }
}

/// How good a selection is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// No super arm has a larger sum of scores.
    Optimal,
    /// The best sum of scores is at most the upper bound.
    Gap,
    /// The oracle does not tell; the upper bound, the sum of all positive scores, holds for any super arm.
    Unknown,
}

/// The answer of an oracle.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// The chosen arms: by block, then by falling score, then by the tie rule.
    pub arms: Vec<Pick>,
    /// The sum of their scores.
    pub objective: f64,
    /// No super arm has a larger sum than this.
    pub upper_bound: f64,
    /// Whether the objective is the best there is.
    pub quality: Quality,
    /// For each limit that has a price, the value of one more unit of it.
    pub prices: Vec<Price>,
    /// What `on_infeasible = "fill"` could not fill; empty unless it was asked for.
    pub missing: Vec<Missing>,
    /// One floor per block, if the oracle can prove them: an arm that scores below the floor of its block is in no best
    /// super arm, whichever arms are added to these; and the only candidates among these rows are the chosen ones.
    pub floors: Option<Vec<f64>>,
}

impl Selection {
    /// Refuses mistakes of an oracle outside this crate: arms that do not exist, may not be chosen, or appear twice.
    pub(crate) fn check(&self, scores: &Scores<'_>) -> Result<(), Error> {
        let bad = |arm: &Pick, why: &str| {
            Err(Error::Constraint(format!("the oracle chose row {}, block {}, {why}", arm.row, arm.block)))
        };
        if self.objective.is_nan() || self.upper_bound.is_nan() {
            return Err(Error::Constraint("the oracle's objective or upper bound is NaN".into()));
        }
        for arm in &self.arms {
            if arm.row >= scores.len() || arm.block >= scores.blocks() {
                return bad(arm, "which does not exist");
            }
            if !scores.get(*arm).is_finite() {
                return bad(arm, "which may not be chosen");
            }
        }
        let mut chosen = vec![0_u64; scores.values().len().div_ceil(64)];
        for arm in &self.arms {
            let place = scores.place(*arm);
            let (word, bit) = (&mut chosen[place / 64], 1 << (place % 64));
            if *word & bit != 0 {
                return bad(arm, "twice");
            }
            *word |= bit;
        }
        Ok(())
    }
}

/// The shadow price of a limit: what one more unit of it would add to the objective, to first order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// The limit.
    pub of: Limit,
    /// The gain per unit.
    pub value: f64,
}

/// A minimum that could not be met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Missing {
    /// The limit.
    pub of: Limit,
    /// How many it asks for.
    pub needed: usize,
    /// How many were chosen.
    pub chosen: usize,
}

/// What to do where no super arm meets the constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnInfeasible {
    /// Give the reason as an error.
    #[default]
    Error,
    /// Choose as many as can be chosen and say what is missing.
    Fill,
}

impl Selection {
    /// An optimal selection of these arms, put in order.
    #[must_use]
    pub fn optimal(mut arms: Vec<Pick>, scores: &Scores<'_>) -> Self {
        arms.sort_unstable_by(|&a, &b| a.block.cmp(&b.block).then_with(|| scores.rank(a, b)));
        Self::in_order(arms, scores)
    }

    /// A selection of these arms, put in order, by an oracle that does not tell how good it is.
    #[must_use]
    pub fn of_unknown_quality(arms: Vec<Pick>, scores: &Scores<'_>) -> Self {
        let positive = scores.values().iter().filter(|score| **score > 0.0);
        let upper_bound = positive.sum::<f64>().min(f64::MAX);
        Self { upper_bound, quality: Quality::Unknown, ..Self::optimal(arms, scores) }
    }

    /// An optimal selection of these arms, which are in order.
    fn in_order(arms: Vec<Pick>, scores: &Scores<'_>) -> Self {
        let objective = arms.iter().fold(0.0, |sum, &arm| sum + scores.get(arm));
        Self {
            arms,
            objective,
            upper_bound: objective,
            quality: Quality::Optimal,
            prices: Vec::new(),
            missing: Vec::new(),
            floors: None,
        }
    }
}

/// The rows of some arms, ascending.
pub(crate) fn rows_of<'a>(arms: impl IntoIterator<Item = &'a Pick>) -> Vec<usize> {
    let mut rows: Vec<usize> = arms.into_iter().map(|arm| arm.row).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

/// A sample's share of a count plus four standard errors, so that floors come out too low rather than too high.
#[expect(clippy::cast_sign_loss, reason = "counts and shares are not negative")]
fn raised(count: usize, share: f64) -> usize {
    let mean = count as f64 * share;
    if count == 0 { 0 } else { (mean + 4.0 * mean.sqrt() + 2.0) as usize }
}
