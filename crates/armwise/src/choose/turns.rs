//! Choosing one arm after another, for a policy whose widths shrink with every arm that is taken in the round.
//!
//! Taking x adds x x' to V for the rest of the round, as if its reward were known. Widths only shrink, so an earlier
//! score, or a bound of it, is an upper end of the present one: a queue by upper ends gives the exact greedy order. What
//! comes first in the queue gets a closer upper end (`shrinking.rs`: by steps) until that is of the present, and is then
//! scored in full; whoever may reach the best of those in full is scored, too, so that scores in full alone decide.
//! Computed widths may grow by rounding, which a slack covers; where V is so nearly singular that it would not, every arm
//! is scored after every pick.

use super::decide::chosen_arms;
use super::shrinking::{Known, Shrinking, Slack};
use super::{ChosenArm, Decision};
use crate::kernel;
use crate::policy::InTurn;
use crate::prune;
use crate::score::Scorer;
use crate::{Arms, Error, Missing, Needs, Oracle, Pick, Posterior, Quality, Scores, Ties};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, binary_heap::PeekMut};

/// About so many arms are put into the queue at first.
const PART: usize = 512;
/// So many upper ends are compared with the bar together, and most end there.
const SCANNED: usize = 64;

/// An arm in the queue.
#[derive(Clone, Copy)]
struct Waiting {
    /// Its score, or an upper end of it.
    upper: f64,
    place: usize,
    /// Its number among the arms that were scored in full before.
    seen: Option<usize>,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Self) -> Ordering {
        self.upper.total_cmp(&other.upper)
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

/// The arms that were scored in full at least once: what is known of them, and their features one after the other.
struct Seen {
    known: Vec<Known>,
    rows: Vec<f64>,
}

impl Seen {
    /// Adds an arm and gives its number.
    fn meet(&mut self, block: &Shrinking<'_>, arms: &Arms<'_>, row: usize, upper: f64) -> usize {
        let (number, from) = (self.known.len(), self.rows.len());
        arms.row_onto(row, &mut self.rows);
        self.known.push(block.meet(number, upper, &self.rows[from..]));
        number
    }
}

/// An arm with the width and the score by which it was taken.
struct Turn {
    arm: Pick,
    width: f64,
    score: f64,
}

/// Chooses for a policy that takes one arm after another.
pub(super) fn choose(
    scorer: &Scorer<'_>,
    turn: InTurn,
    (arms, ties): (&Arms<'_>, Ties),
    oracle: &dyn Oracle,
) -> Result<Decision, Error> {
    let (turns, missing) = turns(scorer, turn, arms, ties, oracle)?;
    let picks: Vec<Pick> = turns.iter().map(|turn| turn.arm).collect();
    let explained = chosen_arms(scorer, arms, &picks)?;
    let told = |(arm, turn): (ChosenArm, &Turn)| ChosenArm { width: turn.width, score: turn.score, ..arm };
    let chosen: Vec<ChosenArm> = explained.into_iter().zip(&turns).map(told).collect();
    let objective = chosen.iter().fold(0.0, |sum, arm| sum + arm.score);
    // No arm has a larger score than the first has, at any time.
    let largest = chosen.iter().map(|arm| arm.score).fold(0.0, f64::max);
    Ok(Decision {
        round: scorer.round,
        upper_bound: objective.max(largest * chosen.len() as f64),
        objective,
        arms: chosen,
        quality: Quality::Unknown,
        prices: Vec::new(),
        missing,
        auto: scorer.auto,
        method: None,
    })
}

/// The arms in the order of a decision, by block, then by falling score; and what could not be filled.
fn turns(
    scorer: &Scorer<'_>,
    turn: InTurn,
    arms: &Arms<'_>,
    ties: Ties,
    oracle: &dyn Oracle,
) -> Result<(Vec<Turn>, Vec<Missing>), Error> {
    scorer.check(arms)?;
    let (dim, blocks) = (scorer.dim, scorer.blocks.len());
    let mut shrinking: Vec<Shrinking<'_>> = (0..blocks).map(|block| Shrinking::new(scorer, block, turn)).collect();
    // Bounds of all scores, where that pays and the constraint asks for nothing but the best arms.
    let best = matches!(oracle.needs(), Needs::Best(_));
    let (uppers, norm) = match if best { prune::upper_ends(scorer, arms) } else { None } {
        Some(bounded) => bounded,
        None => (scorer.score(arms)?, longest(arms)),
    };
    let scores = Scores::new(&uppers, blocks, *arms, ties, scorer.round)?;
    let mut taking = oracle.taking(&scores)?.ok_or_else(|| {
        Error::Constraint("this algorithm takes one arm after another, which only top-k and quotas allow".into())
    })?;
    let rounding = Rounding::new(scorer, norm, turn);
    // What diversity may add to the uppers of any arm.
    let most_diverse = shrinking[0].diversity(norm * norm / turn.lambda);
    let (mut queue, mut others) = (BinaryHeap::new(), Others::new(&uppers));
    let mut seen = Seen { known: Vec::with_capacity(PART), rows: Vec::with_capacity(PART * dim) };
    // The arms scored in full in this turn, with their widths.
    let mut full: Vec<(Waiting, f64)> = Vec::new();
    let mut turns: Vec<Turn> = Vec::new();
    while !taking.is_full() {
        let slack = rounding.slack(turns.len());
        let mut reached = f64::NEG_INFINITY;
        loop {
            let first = queue.peek().map_or(f64::NEG_INFINITY, |first: &Waiting| first.upper);
            if others.count > 0 && reached.max(first) <= others.bar + most_diverse + slack {
                let waiting = |place: usize| Waiting { upper: uppers[place] + most_diverse, place, seen: None };
                queue.extend(others.next().into_iter().map(waiting));
                continue;
            }
            let Some(mut next) = queue.peek_mut().filter(|next| next.upper.is_nan() || next.upper + slack >= reached)
            else {
                break;
            };
            let arm = scores.pick(next.place);
            if taking.may(arm).is_none() {
                PeekMut::pop(next);
                continue;
            }
            let block = &mut shrinking[arm.block];
            let number = next.seen.unwrap_or_else(|| seen.meet(block, arms, arm.row, uppers[next.place]));
            let (known, x) = (&mut seen.known[number], &seen.rows[number * dim..(number + 1) * dim]);
            if block.follow(known, x) {
                // Its place in the queue follows.
                *next = Waiting { upper: block.upper(known, rounding.squares), seen: Some(number), ..*next };
                continue;
            }
            let mut next = PeekMut::pop(next);
            let (width, score) = block.score(known, x);
            if !score.is_finite() {
                return Err(Error::ScoreOverflow { row: arm.row, block: arm.block, value: score });
            }
            next.upper = score + 0.0;
            reached = reached.max(next.upper);
            full.push((next, width));
        }
        let order = |(a, _): &(Waiting, f64), (b, _): &(Waiting, f64)| {
            let tie = |place: usize| scores.tie_keys(scores.pick(place));
            b.upper.total_cmp(&a.upper).then_with(|| tie(a.place).cmp(&tie(b.place)))
        };
        full.sort_by(order);
        let mut rest = full.drain(..);
        let Some((best, width)) = rest.next() else { break };
        queue.extend(rest.map(|(waiting, _)| waiting));
        let arm = scores.pick(best.place);
        let demanded = taking.may(arm).unwrap_or(false);
        if best.upper <= 0.0 && !demanded {
            continue;
        }
        let number = best.seen.expect("what was scored in full has a number");
        shrinking[arm.block].take(number, &seen.rows[number * dim..(number + 1) * dim]);
        taking.take(arm);
        turns.push(Turn { arm, width, score: best.upper });
    }
    turns.sort_by(|a, b| a.arm.block.cmp(&b.arm.block).then_with(|| b.score.total_cmp(&a.score)));
    Ok((turns, taking.missing()))
}

/// The arms that are not in the queue.
struct Others<'u> {
    uppers: &'u [f64],
    /// They are those with upper ends below this.
    bar: f64,
    count: usize,
    /// About so many come next.
    wanted: usize,
}

impl<'u> Others<'u> {
    fn new(uppers: &'u [f64]) -> Self {
        let count = uppers.iter().filter(|upper| **upper > f64::NEG_INFINITY).count();
        Self { uppers, bar: f64::INFINITY, count, wanted: PART }
    }

    /// Some with the largest upper ends, and all of them where there are not many more.
    fn next(&mut self) -> Vec<usize> {
        let (bar, below) = (self.quantile(), self.bar);
        let now = |upper: f64| upper >= bar && upper < below && upper > f64::NEG_INFINITY;
        let mut next = Vec::with_capacity(2 * self.wanted);
        for (part, uppers) in self.uppers.chunks(SCANNED).enumerate() {
            if uppers.iter().fold(f64::NEG_INFINITY, |most: f64, upper| most.max(*upper)) >= bar {
                let places = uppers.iter().enumerate().filter(|(_, upper)| now(**upper));
                next.extend(places.map(|(place, _)| part * SCANNED + place));
            }
        }
        (self.bar, self.count, self.wanted) = (bar, self.count - next.len(), 4 * self.wanted);
        next
    }

    /// A number that about as many as are wanted reach, by a sample; all do where there are not many more.
    fn quantile(&self) -> f64 {
        const SAMPLE: usize = 512;
        if self.count <= 2 * self.wanted.max(SAMPLE) {
            return f64::NEG_INFINITY;
        }
        let step = self.uppers.len() / SAMPLE;
        let is_other = |upper: &f64| *upper < self.bar && *upper > f64::NEG_INFINITY;
        let mut sample: Vec<f64> = self.uppers.iter().step_by(step).copied().filter(is_other).collect();
        let rank = self.wanted * sample.len() / self.count;
        if rank >= sample.len() {
            return f64::NEG_INFINITY;
        }
        *sample.select_nth_unstable_by(rank, |a, b| b.total_cmp(a)).1
    }
}

/// How much a computed score may grow through rounding alone, though the exact one only falls.
struct Rounding {
    /// For each pick, relative to the largest bonus.
    eta: f64,
    bonus: f64,
    largest: f64,
    /// The same of squares by steps.
    squares: Slack,
}

impl Rounding {
    fn new(scorer: &Scorer<'_>, norm: f64, turn: InTurn) -> Self {
        let widths = scorer.posteriors.iter().map(Posterior::widths);
        let (eta, most) = widths.fold((0.0_f64, 0.0_f64), |(eta, most), own| (eta.max(own.eta), most.max(own.most)));
        let bonus = turn.alpha * most * norm + turn.diversity;
        // Where V is nearly singular nothing is known of rounding, and every arm is scored after every pick.
        let eta = if eta < 1e-3 { eta } else { f64::INFINITY };
        // eta is relative to widths, of which none is wider than most times norm.
        let (own, unit) = (4.0 * eta * (most * norm).powi(2), 8.0 * (scorer.dim as f64 + 2.0) * f64::EPSILON);
        let squares =
            Slack { own: if own.is_nan() { f64::INFINITY } else { own }, apart: unit * norm * norm / turn.lambda };
        let steepest =
            scorer.blocks.iter().map(|block| kernel::dot(&block.direction, &block.direction)).fold(0.0, f64::max);
        Self { eta, bonus, largest: steepest.sqrt() * norm + bonus, squares }
    }

    fn slack(&self, taken: usize) -> f64 {
        let slack = (8.0 + taken as f64) * self.eta * self.bonus + 1e-11 * self.largest;
        if slack.is_nan() { f64::INFINITY } else { slack }
    }
}

/// The largest norm of a row.
fn longest(arms: &Arms<'_>) -> f64 {
    let mut x = Vec::with_capacity(arms.dim());
    let square = |row: usize| {
        x.clear();
        arms.row_onto(row, &mut x);
        kernel::dot(&x, &x)
    };
    (0..arms.len()).map(square).fold(0.0, f64::max).sqrt()
}
