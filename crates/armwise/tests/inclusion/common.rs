//! Learners whose arms have means and widths as wanted, and independent ways to a probability.

use armwise::{Algorithm, Arms, Draws, Learner, Model, Observation, Pick, Round, Stream};

pub(crate) fn draws(seed: u64) -> Draws {
    Round::new(seed, 1).draws(0, Stream(1000))
}

/// A learner that knows the first feature's weight, 1, almost exactly, and nothing of the second's: an arm (a, b) has
/// mean a and width |b|, nearly.
pub(crate) fn learner(name: &str, parameters: &[(&str, f64)], blocks: usize) -> Learner {
    let mut model = Model::new(2, blocks).unwrap();
    for block in 0..blocks as u32 {
        model.observe(&Observation { t: 1, block, x: &[1e6, 0.0], reward: 1e6 }).unwrap();
    }
    Learner::with_model(Algorithm::new(name, parameters).unwrap(), model).unwrap()
}

/// Mean and width of every arm, row-major, as the learner says.
pub(crate) fn laws(learner: &Learner, arms: &Arms<'_>, blocks: usize) -> Vec<[f64; 2]> {
    let picks: Vec<Pick> =
        (0..arms.len() * blocks).map(|place| Pick { row: place / blocks, block: place % blocks }).collect();
    // Explained block by block, as a decision is.
    let explained = |pick: &Pick| {
        let arm = &learner.explain(Round::new(1, 2), arms, &[*pick]).unwrap()[0];
        [arm.mean, arm.width]
    };
    picks.iter().map(explained).collect()
}

/// P(Z > z).
pub(crate) fn upper(z: f64) -> f64 {
    0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
}

/// The law of how many events happen, by convolution.
pub(crate) fn convolved(q: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut law = vec![1.0];
    for q in q {
        let mut next = vec![0.0; law.len() + 1];
        for (n, p) in law.iter().enumerate() {
            next[n] += p * (1.0 - q);
            next[n + 1] += p * q;
        }
        law = next;
    }
    law
}

/// A standard error's worth of agreement: `found` against `expected`, with what is allowed beyond rounding.
pub(crate) fn near(found: f64, expected: f64, allowed: f64, what: &str) {
    assert!((found - expected).abs() <= allowed, "{what}: {found}, not {expected}: off by {:e}", found - expected);
}
