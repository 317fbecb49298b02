//! Candidates for the k best of a small round: one guess of the floor, one pass over the means, and draws for the few arms
//! that may reach it, with what is large in buffers that the thread keeps.
//!
//! With few features a draw costs as much as a width, and allocating as much as either.

use super::best::rank_of_guess;
use super::source::Room;
use super::{WORTHWHILE, has_widths, means_for};
use crate::score::{PARALLEL, Scorer};
use crate::{Arms, tasks};
use std::cell::Cell;

/// Fewer arms are all scored, which costs less than a guess.
const LEAST: usize = 512;
/// The floor is guessed from at most so many arms, and at most from one in so many.
const SAMPLE: usize = 256;
const SHARE: usize = 16;
/// The standard deviations by which the guess is on the safe side. Fewer than one guess in a hundred is too high, by the
/// hypergeometric law; those rounds are scored in full, which costs less than a lower guess does in all the others.
const SAFE: usize = 2;
/// The thread keeps its buffers after rounds of so many arms.
const MOST: usize = 1 << 16;

thread_local! {
    static ROOM: Cell<Room> = Cell::default();
}

/// Whether sharing the round out among threads would cost more than it saves.
pub(super) fn is_small(scorer: &Scorer<'_>, arms: &Arms<'_>) -> bool {
    let multiplications = (arms.len() * scorer.blocks.len()).saturating_mul(scorer.dim * scorer.dim);
    multiplications < PARALLEL || (multiplications < WORTHWHILE && tasks::threads() == 1)
}

/// The rows that can be among the k best arms, ascending. None where that saves nothing, where the guess was too high, or
/// if the bounds fail.
pub(super) fn best(scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize) -> Option<Vec<usize>> {
    let ([block], n) = (&scorer.blocks[..], arms.len()) else { return None };
    let bounded = block.constant().unwrap_or(block.bonus.most) < f64::INFINITY;
    if n < LEAST || k > n || !bounded || !has_widths(scorer) || scorer.check(arms).is_err() {
        return None;
    }
    let mut room = ROOM.take();
    let rows = candidates(scorer, arms, k, &mut room);
    if n <= MOST {
        ROOM.set(room);
    }
    rows
}

fn candidates(scorer: &Scorer<'_>, arms: &Arms<'_>, k: usize, room: &mut Room) -> Option<Vec<usize>> {
    let n = arms.len();
    let sample = SAMPLE.min(n / SHARE);
    let (rank, bounds) = (rank_of_guess(sample, k, n, SAFE)?, means_for(scorer, n)?);
    bounds.multiply(scorer, arms, &mut room.products);
    let all = arms.eligible().is_none();
    let sampled = (0..sample).map(|place| place * (n / sample)).filter(|&row| all || arms.is_eligible(row, 0));
    let guess = rank_th(bounds.lowers(scorer, arms, sampled, room)?, rank)?;
    if !bounds.each_known_reaching(scorer, arms, room, |_| guess, |_, _, _| {}) {
        return None;
    }
    // At least k scores reach this floor. If it is not below the guess, no arm is missing.
    let floor = rank_th(&mut room.lower, k - 1).filter(|floor| *floor >= guess)?;
    // Without a branch, which would be guessed wrong as often as not.
    let (mut rows, mut count) = (vec![0; room.upper.len() + 1], 0);
    for (row, &upper) in room.few.rows().zip(&room.upper) {
        rows[count] = row;
        count += usize::from(upper >= floor);
    }
    rows.truncate(count);
    (2 * count <= n).then_some(rows)
}

/// The number at this place from the largest, which reorders them.
fn rank_th(numbers: &mut [f64], place: usize) -> Option<f64> {
    (place < numbers.len()).then(|| *numbers.select_nth_unstable_by(place, |a, b| b.total_cmp(a)).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Algorithm, ArmWiseTs, C2ucb, Learner, Model, Observation, Round, Stream};

    const N: usize = 2_000;
    const D: usize = 11;

    fn numbers(id: u64) -> f64 {
        Round::new(1, 1).draws(0, Stream(300)).normal(id)
    }

    /// Rows that are kept of those of a learner that has seen some.
    fn kept(algorithm: Algorithm, x: &[f64], k: usize) -> Option<Vec<usize>> {
        let mut model = Model::new(D, 1).expect("shape");
        for row in 0..20 * D as u64 {
            let seen: Vec<f64> = (0..D as u64).map(|at| numbers((1 << 40) + (row << 8 | at))).collect();
            model.observe(&Observation { t: 1, block: 0, x: &seen, reward: seen[0] }).expect("finite");
        }
        let learner = Learner::with_model(algorithm, model).expect("parameters");
        let (scorer, arms) = (learner.scorer(Round::new(1, 2)).expect("directions"), Arms::new(x, D).expect("rows"));
        assert!(is_small(&scorer, &arms));
        let rows = best(&scorer, &arms, k)?;
        let scores = scorer.score(&arms).expect("finite");
        let mut order: Vec<usize> = (0..N).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        assert!(order[..k].iter().all(|row| rows.binary_search(row).is_ok()), "one of the best is missing");
        Some(rows)
    }

    /// If everything were kept, the exactness tests would not test pruning.
    #[test]
    fn hardly_more_than_the_best_are_kept() {
        let x: Vec<f64> = (0..(N * D) as u64).map(numbers).collect();
        for algorithm in [Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.1)), Algorithm::C2ucb(C2ucb::new(1.0, 0.1))] {
            for k in [1, 20, 100, 300] {
                let kept = kept(algorithm, &x, k).expect("the means tell").len();
                assert!((k..=k + 20 + k / 5).contains(&kept), "{kept} for {k}, {algorithm:?}");
            }
            assert_eq!(kept(algorithm, &x, N / 2), None, "so many are as fast to be scored");
        }
    }

    /// All good arms stand in the sample.
    #[test]
    fn a_guess_that_is_too_high_is_noticed() {
        let mut x: Vec<f64> = (0..(N * D) as u64).map(numbers).collect();
        (0..N).step_by(N / (N / SHARE)).for_each(|row| x[row * D] += 20.0);
        assert_eq!(kept(Algorithm::C2ucb(C2ucb::new(1.0, 0.1)), &x, N / SHARE + 1), None);
    }
}
