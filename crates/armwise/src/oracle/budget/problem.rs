//! The arms worth choosing and the limits on them.
//!
//! An arm uses at most two limits, the total and its block's, both by its cost; everything else
//! (how many arms, how many of a row) is a count.

use super::Budget;
use super::fixed::Grid;
use crate::{Error, Limit, Pick, Scores};
use std::cmp::Ordering;
use std::ops::Range;

/// The share of a budget by which rounding may exceed it.
const TOLERANCE: f64 = 1e-12;
/// What a unit of cost may be worth, so that no price overflows or vanishes.
const RATES: std::ops::Range<f64> = 1e-200..1e200;
/// How many times a budget the costs under other budgets may be: a unit of the grid is then 2^-60 of the budget, so
/// the sum over a million arms stays within the tolerance.
const SPREAD: f64 = (1 << 20) as f64;

/// An arm with a score above zero that fits every limit alone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arm {
    pub(super) pick: Pick,
    pub(super) score: f64,
    pub(super) cost: f64,
}

/// A budget.
#[derive(Debug, Clone)]
pub(super) struct Cap {
    /// With the tolerance.
    pub(super) amount: f64,
    /// The block it is for; all blocks if none.
    pub(super) block: Option<usize>,
}

impl Cap {
    /// The limit that its price is for.
    pub(super) fn of(&self) -> Limit {
        self.block.map_or(Limit::Budget, Limit::Block)
    }

    #[inline]
    pub(super) fn concerns(&self, arm: &Arm) -> bool {
        self.block.is_none_or(|block| block == arm.pick.block)
    }
}

/// A round's arms under a [`Budget`].
#[derive(Debug, Clone)]
pub(super) struct Problem {
    /// In the order of the scores, so the arms of a row are next to each other.
    pub(super) arms: Vec<Arm>,
    pub(super) limits: Vec<Cap>,
    /// The limit of all arms, and that of each block.
    of_all: Option<usize>,
    of_block: Vec<Option<usize>>,
    pub(super) k: Option<usize>,
    /// The largest number of arms of a row; none if arms of a row do not exclude each other.
    pub(super) per_row: Option<usize>,
    pub(super) largest_score: f64,
    pub(super) largest_cost: f64,
    least_score: f64,
    /// The least cost above zero.
    least_cost: f64,
}

impl Problem {
    pub(super) fn new(budget: &Budget, blocks: usize) -> Self {
        let mut limits = Vec::new();
        if let Some(amount) = budget.budget {
            limits.push(Cap { amount: amount * (1.0 + TOLERANCE), block: None });
        }
        for (block, &amount) in budget.budgets.iter().flatten().enumerate() {
            if amount < f64::INFINITY {
                limits.push(Cap { amount: amount * (1.0 + TOLERANCE), block: Some(block) });
            }
        }
        let per_row = budget.per_row.filter(|&per_row| per_row < blocks);
        Self::empty(limits, blocks, budget.k, per_row)
    }

    fn empty(limits: Vec<Cap>, blocks: usize, k: Option<usize>, per_row: Option<usize>) -> Self {
        let mut of_block = vec![None; blocks];
        let mut of_all = None;
        for (at, limit) in limits.iter().enumerate() {
            *limit.block.map_or(&mut of_all, |block| &mut of_block[block]) = Some(at);
        }
        Self {
            arms: Vec::new(),
            limits,
            of_all,
            of_block,
            k,
            per_row,
            largest_score: 0.0,
            largest_cost: 0.0,
            least_score: f64::INFINITY,
            least_cost: f64::INFINITY,
        }
    }

    /// A problem with some of these arms and other limits.
    pub(super) fn part(&self, arms: impl IntoIterator<Item = Arm>, limits: Vec<Cap>) -> Self {
        let mut part = Self::empty(limits, self.of_block.len(), self.k, self.per_row);
        arms.into_iter().for_each(|arm| part.push(arm));
        part
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self) -> usize {
        self.of_block.len()
    }

    /// The limits that an arm of this block draws on: that of all arms, then that of the block.
    #[inline]
    pub(super) fn limits_of(&self, block: usize) -> impl Iterator<Item = usize> + use<> {
        [self.of_all, self.of_block[block]].into_iter().flatten()
    }

    /// Adds an arm if it can be chosen.
    #[inline]
    pub(super) fn offer(&mut self, pick: Pick, score: f64, cost: f64) {
        if score > 0.0 && self.limits_of(pick.block).all(|at| cost <= self.limits[at].amount) {
            // A cost that no budget counts must not set the scale of those that matter.
            let counts = self.limits_of(pick.block).next().is_some();
            self.push(Arm { pick, score, cost: if counts { cost } else { 0.0 } });
        }
    }

    #[inline]
    fn push(&mut self, arm: Arm) {
        self.largest_score = self.largest_score.max(arm.score);
        self.least_score = self.least_score.min(arm.score);
        self.largest_cost = self.largest_cost.max(arm.cost);
        if arm.cost > 0.0 {
            self.least_cost = self.least_cost.min(arm.cost);
        }
        self.arms.push(arm);
    }

    /// Refuses costs so large that a budget would vanish beside them: all sums are taken on one grid.
    pub(super) fn check_scale(&self) -> Result<(), Error> {
        let surely = self.largest_score / self.least_cost < RATES.end
            && self.least_score / self.largest_cost.max(f64::MIN_POSITIVE) >= RATES.start;
        let wrong = |arm: &&Arm| arm.cost > 0.0 && !RATES.contains(&(arm.score / arm.cost));
        if !surely && let Some(Arm { score, cost, .. }) = self.arms.iter().find(wrong) {
            let text =
                format!("a score of {score} for a cost of {cost}: scale them, score / cost must lie in {RATES:?}");
            return Err(Error::Constraint(text));
        }
        let most = self.largest_cost;
        let small = |limit: &&Cap| limit.amount > 0.0 && most > SPREAD * limit.amount;
        match self.limits.iter().find(small) {
            None => Ok(()),
            Some(limit) => Err(Error::Constraint(format!(
                "a cost of {most} beside a budget of {} ({}): the most is 2^20 times as much; scale the costs and budgets of the blocks",
                limit.amount,
                limit.of()
            ))),
        }
    }

    /// What an arm takes from all its limits together.
    pub(super) fn used(&self, arm: &Arm) -> f64 {
        arm.cost * self.limits_of(arm.pick.block).count() as f64
    }

    /// The ranges of arms that share a row, or single arms.
    pub(super) fn rows(&self) -> impl Iterator<Item = Range<usize>> {
        let mut start = 0;
        let single = self.per_row.is_none();
        std::iter::from_fn(move || {
            let first = self.arms.get(start)?;
            let same = |arm: &&Arm| arm.pick.row == first.pick.row;
            let len = if single { 1 } else { self.arms[start..].iter().take_while(same).count() };
            let range = start..start + len;
            start += len;
            Some(range)
        })
    }

    /// How many arms of a row may be chosen.
    pub(super) fn per_row(&self) -> usize {
        self.per_row.unwrap_or(1)
    }

    pub(super) fn score_grid(&self) -> Grid {
        Grid::for_largest(self.largest_score)
    }

    pub(super) fn cost_grid(&self) -> Grid {
        Grid::for_largest(self.largest_cost)
    }

    /// The order of two arms that compete for a place: score, use of budgets, tie rule.
    pub(super) fn order(&self, a: &Arm, b: &Arm, scores: &Scores<'_>) -> Ordering {
        let by_use = || self.used(a).total_cmp(&self.used(b));
        b.score.total_cmp(&a.score).then_with(by_use).then_with(|| tie(a.pick, b.pick, scores))
    }
}

/// The order of two arms with equal scores and costs.
pub(super) fn tie(a: Pick, b: Pick, scores: &Scores<'_>) -> Ordering {
    tie_keys(a, scores).cmp(&tie_keys(b, scores)).then_with(|| scores.tie_order(a, b))
}

/// The tie key of an arm and a hash of its id and block; sums of these decide between equal super arms.
pub(super) fn tie_keys(arm: Pick, scores: &Scores<'_>) -> [i128; 2] {
    let id = scores.keys().id(arm.row);
    [i128::from(scores.tie_key(arm)), i128::from(mix(id ^ mix(arm.block as u64)))]
}

/// The finaliser of SplitMix64.
pub(super) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}
