//! One of seven small cases, for `bench/instructions.py`, which counts the instructions of [`measured`] and of nothing else.
//!
//! ```text
//! instructions normals | small | few | draws | means | catalogue | groups
//! ```

use armwise::{
    Algorithm, ArmWiseTs, Arms, C2ucb, Catalogue, Constraint, Learner, Model, Observation, Pc2ucb, Round, Stream, tasks,
};
use std::{env, error::Error, hint::black_box, num::NonZeroUsize};

/// What is counted: the counter is told this name.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
}

fn numbers(count: usize) -> Vec<f64> {
    let ids: Vec<u64> = (0..count as u64).collect();
    let mut numbers = vec![0.0; count];
    Round::new(1, 1).draws(0, Stream(256)).normals(&ids, &mut numbers);
    numbers
}

/// Rows in 100 balls.
fn balls(n: usize, d: usize) -> Vec<f64> {
    let x = numbers(n * d);
    (0..n * d).map(|place| x[place / d % 100 * d + place % d] + 0.1 * x[place]).collect()
}

fn learner(algorithm: Algorithm, x: &[f64], d: usize) -> Result<Learner, armwise::Error> {
    let mut model = Model::new(d, 1)?;
    for x in x.chunks_exact(d).take(20 * d) {
        model.observe(&Observation { t: 1, block: 0, x, reward: x[0] })?;
    }
    Learner::with_model(algorithm, model)
}

/// The k best of n arms, after a round that fills what is kept between rounds.
fn choose(algorithm: Algorithm, x: &[f64], d: usize, k: usize, catalogue: bool) -> Result<(), armwise::Error> {
    let mut learner = learner(algorithm, x, d)?;
    let (arms, constraint) = (Arms::new(x, d)?, Constraint::top_k(k));
    let kept = if catalogue { Some(Catalogue::new(&arms)?) } else { None };
    let round = |learner: &Learner, t: u64| match &kept {
        Some(kept) => learner.choose_from(kept, Round::new(1, t), &kept.arms(), &constraint),
        None => learner.choose(Round::new(1, t), &arms, &constraint),
    };
    let first = round(&learner, 2)?;
    learner.learn(&first, &first.rewards(|arm| arm.features[0]))?;
    if !catalogue {
        round(&learner, 3)?;
    }
    measured(&mut || drop(black_box(round(&learner, 4))));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    tasks::set_most(NonZeroUsize::MIN);
    let (sampling, bound) = (Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.1)), Algorithm::C2ucb(C2ucb::new(1.0, 0.1)));
    let uniform = Algorithm::Pc2ucb(Pc2ucb::new(1.0, 0.1, 1.0));
    match env::args().nth(1).as_deref() {
        Some("normals") => {
            let ids: Vec<u64> = (0..10_000).collect();
            let mut out = vec![0.0; ids.len()];
            let draws = Round::new(1, 1).draws(0, Stream::BONUS);
            measured(&mut || draws.normals(black_box(&ids), black_box(&mut out)));
        }
        Some("small") => choose(sampling, &numbers(100 * 11), 11, 5, false)?,
        Some("few") => choose(sampling, &numbers(2_000 * 11), 11, 100, false)?,
        Some("draws") => choose(sampling, &numbers(20_000 * 51), 51, 200, false)?,
        Some("means") => choose(bound, &numbers(20_000 * 51), 51, 200, false)?,
        Some("catalogue") => choose(bound, &numbers(20_000 * 51), 51, 200, true)?,
        Some("groups") => choose(uniform, &balls(20_000, 51), 51, 200, true)?,
        _ => return Err("one of: normals, small, few, draws, means, catalogue, groups".into()),
    }
    Ok(())
}
