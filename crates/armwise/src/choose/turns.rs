//! Choosing one arm after another, for a policy whose widths shrink with every arm that is taken in the round.
//!
//! Taking x adds x x' to V for the rest of the round, as if its reward were known. Widths only shrink, so an earlier
//! score, or a bound of it, is an upper end of the present one: a queue by upper ends gives the exact greedy order. What
//! comes first in the queue gets a closer upper end (`shrinking.rs`: by steps) until that is of the present, and is then
//! scored in full; whoever may reach the best of those in full is scored, too, so that scores in full alone decide.
//! Computed widths may grow by rounding, which a slack covers; where V is so nearly singular that it would not, every arm
//! is scored after every pick. Before that, arms that reach a floor in no turn are pruned: the turns prove the floor.

use super::decide::chosen_arms;
use super::shrinking::{Known, Shrinking, Slack};
use super::{ChosenArm, Decision};
use crate::kernel::{self, sum_of};
use crate::policy::InTurn;
use crate::prune::{self, Kept};
use crate::score::Scorer;
use crate::{Arms, Error, Features, Missing, Needs, Oracle, Pick, Posterior, Quality, Scores, Ties};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, binary_heap::PeekMut};

/// Room for so many arms that come first is made at once.
const SEEN: usize = 512;

/// An arm in the queue.
#[derive(Clone, Copy)]
struct Waiting {
    /// Its score, or an upper end of it.
    upper: f64,
    place: usize,
    /// Its number among the arms that came first before.
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

/// The arms that came first in the queue at least once: what is known of them, and their features one after the other.
struct Seen {
    known: Vec<Known>,
    rows: Vec<f64>,
}

impl Seen {
    /// Adds an arm and gives its number.
    fn meet(&mut self, block: &Shrinking<'_>, arms: &Arms<'_>, row: usize, ends: [f64; 2], square: f64) -> usize {
        let (number, from) = (self.known.len(), self.rows.len());
        arms.row_onto(row, &mut self.rows);
        self.known.push(block.meet(number, &self.rows[from..], ends, square));
        number
    }
}

/// An arm with the width and the score by which it was taken.
struct Turn {
    arm: Pick,
    width: f64,
    score: f64,
}

/// The arms that were taken, and what could not be filled.
type Turns = (Vec<Turn>, Vec<Missing>);

/// Chooses for a policy that takes one arm after another.
pub(super) fn choose(
    scorer: &Scorer<'_>,
    turn: InTurn,
    (arms, ties): (&Arms<'_>, Ties),
    oracle: &dyn Oracle,
) -> Result<Decision, Error> {
    let among = |arms: &Arms<'_>, floor: f64| choose_among(scorer, turn, (arms, ties), oracle, floor);
    if let Needs::Best(k) = oracle.needs() {
        for stays in [1.0, 0.0] {
            let Some(Kept { rows, floor }) = prune::best_in_turns(scorer, turn, arms, k, stays) else { continue };
            if let Some(decision) = arms.gather(&rows).with_arms(|arms| among(arms, floor))? {
                return Ok(decision);
            }
        }
    }
    Ok(among(arms, f64::NEG_INFINITY)?.expect("every score reaches -infinity"))
}

/// As [`choose`], from arms of which others were left out whose scores do not reach the floor: none if in some turn the
/// best one does not either.
fn choose_among(
    scorer: &Scorer<'_>,
    turn: InTurn,
    (arms, ties): (&Arms<'_>, Ties),
    oracle: &dyn Oracle,
    floor: f64,
) -> Result<Option<Decision>, Error> {
    let Some((turns, missing)) = turns(scorer, turn, (arms, ties), oracle, floor)? else { return Ok(None) };
    let picks: Vec<Pick> = turns.iter().map(|turn| turn.arm).collect();
    let explained = chosen_arms(scorer, arms, &picks)?;
    let told = |(arm, turn): (ChosenArm, &Turn)| ChosenArm { width: turn.width, score: turn.score, ..arm };
    let chosen: Vec<ChosenArm> = explained.into_iter().zip(&turns).map(told).collect();
    let objective = chosen.iter().fold(0.0, |sum, arm| sum + arm.score);
    // No arm has a larger score than the first has, at any time.
    let largest = chosen.iter().map(|arm| arm.score).fold(0.0, f64::max);
    Ok(Some(Decision {
        round: scorer.round,
        upper_bound: objective.max(largest * chosen.len() as f64),
        objective,
        arms: chosen,
        quality: Quality::Unknown,
        prices: Vec::new(),
        missing,
        auto: scorer.auto,
        method: None,
    }))
}

/// The arms in the order of a decision, by block, then by falling score; and what could not be filled. None if the best one
/// of a turn does not reach the floor.
fn turns(
    scorer: &Scorer<'_>,
    turn: InTurn,
    (arms, ties): (&Arms<'_>, Ties),
    oracle: &dyn Oracle,
    floor: f64,
) -> Result<Option<Turns>, Error> {
    let (dim, blocks) = (scorer.dim, scorer.blocks.len());
    let mut shrinking: Vec<Shrinking<'_>> = (0..blocks).map(|block| Shrinking::new(scorer, block, turn)).collect();
    // Those of the first turn, but for diversity.
    let at_first = scorer.score(arms)?;
    let scores = Scores::new(&at_first, blocks, *arms, ties, scorer.round)?;
    let mut taking = oracle.taking(&scores)?.ok_or_else(|| {
        Error::Constraint("this algorithm takes one arm after another, which only top-k and quotas allow".into())
    })?;
    let squares = squared_norms(arms);
    let norm = squares.iter().fold(0.0, |most: f64, square| most.max(*square)).sqrt();
    let rounding = Rounding::new(scorer, norm, turn);
    let [offset, slope] = turn.diversity_line((squares.iter().sum::<f64>() / arms.len() as f64).sqrt());
    let diverse = |place: usize| if slope > 0.0 { offset + slope * squares[place / blocks].sqrt() } else { 0.0 };
    let waiting = |(place, score): (usize, &f64)| Waiting { upper: score + diverse(place), place, seen: None };
    let eligible = at_first.iter().enumerate().filter(|(_, score)| **score > f64::NEG_INFINITY);
    let mut queue: BinaryHeap<Waiting> = eligible.map(waiting).collect();
    let mut seen = Seen { known: Vec::with_capacity(SEEN), rows: Vec::with_capacity(SEEN * dim) };
    // The arms scored in full in this turn, with their widths.
    let mut full: Vec<(Waiting, f64)> = Vec::new();
    let mut turns: Vec<Turn> = Vec::new();
    while !taking.is_full() {
        let slack = rounding.slack(turns.len());
        let mut reached = f64::NEG_INFINITY;
        loop {
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
            let number = next.seen.unwrap_or_else(|| {
                let ends = [at_first[next.place], diverse(next.place)];
                seen.meet(block, arms, arm.row, ends, squares[arm.row])
            });
            let (known, x) = (&mut seen.known[number], &seen.rows[number * dim..(number + 1) * dim]);
            if block.follow(known, x, rounding.squares) {
                // Its place in the queue follows.
                *next = Waiting { upper: known.upper(), seen: Some(number), ..*next };
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
        if reached < floor {
            return Ok(None);
        }
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
    Ok(Some((turns, taking.missing())))
}

/// How much a computed score may grow through rounding alone, though the exact one only falls.
struct Rounding {
    /// After 0, 1, ... arms were taken: this, and so much for each.
    scores: [f64; 2],
    /// The same of squares by steps.
    squares: Slack,
}

impl Rounding {
    fn new(scorer: &Scorer<'_>, norm: f64, turn: InTurn) -> Self {
        let of_blocks = |of: &dyn Fn(&Posterior) -> f64| {
            // A NaN is an infinity, which leaves every arm to be scored after every pick.
            let most = |most: f64, own: f64| if own.is_nan() { f64::INFINITY } else { most.max(own) };
            scorer.posteriors.iter().map(of).fold(0.0, most)
        };
        let after = |taken: usize| of_blocks(&|posterior| norm * turn.rounding(posterior, taken));
        let bonus = turn.alpha * norm * of_blocks(&|posterior| posterior.widths().most)
            + turn.diversity(norm * norm / turn.lambda);
        let steepest =
            scorer.blocks.iter().map(|block| kernel::dot(&block.direction, &block.direction)).fold(0.0, f64::max);
        let largest = steepest.sqrt() * norm + bonus;
        // eta is relative to widths, of which none is wider than most times norm.
        let own = of_blocks(&|posterior| 4.0 * posterior.widths().eta * (posterior.widths().most * norm).powi(2));
        let d = scorer.dim as f64;
        let squares = Slack { own, apart: 64.0 * d * (d + 2.0) * f64::EPSILON * norm * norm / turn.lambda };
        Self { scores: [after(0) + 1e-11 * largest, after(1) - after(0)], squares }
    }

    fn slack(&self, taken: usize) -> f64 {
        let slack = self.scores[0] + taken as f64 * self.scores[1];
        if slack.is_nan() { f64::INFINITY } else { slack }
    }
}

/// Upper ends of |x|^2, row by row.
fn squared_norms(arms: &Arms<'_>) -> Vec<f64> {
    fn of<T: Copy + Into<f64>>(features: &[T], dim: usize) -> Vec<f64> {
        let square = |x: &[T]| {
            let (eights, rest) = x.as_chunks::<8>();
            let (mut sums, mut last) = ([0.0; 8], 0.0);
            for eight in eights {
                (0..8).for_each(|lane| sums[lane] += eight[lane].into() * eight[lane].into());
            }
            rest.iter().for_each(|&x| last += x.into() * x.into());
            (sum_of(sums) + last) * (1.0 + 1e-9)
        };
        features.chunks_exact(dim).map(square).collect()
    }
    match arms.features() {
        Features::F32(x) => of(x, arms.dim()),
        Features::F64(x) => of(x, arms.dim()),
    }
}
