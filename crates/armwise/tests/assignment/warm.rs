//! Prices from another round are a hint: with any prices at all the answer is the same, to the bit.

use crate::{Problem, Rng, random};
use armwise::oracle::OnInfeasible;
use armwise::{Assignment, Limit, Oracle, Price, Quota, Ties, Warm};

fn named(values: impl IntoIterator<Item = f64>) -> Vec<Price> {
    values.into_iter().enumerate().map(|(block, value)| Price { of: Limit::Block(block), value }).collect()
}

/// Right, nearly right, far off, and no prices at all.
fn hints(problem: &Problem, rng: &mut Rng) -> Vec<Vec<Price>> {
    let blocks = problem.blocks;
    let right = problem.solve().map_or_else(|_| Vec::new(), |found| found.prices);
    let near = right.iter().map(|price| Price { value: price.value + 0.1 * rng.normal(), ..price.clone() }).collect();
    let same = |value: f64| named(vec![value; blocks]);
    vec![
        near,
        named((0..blocks).map(|_| 3.0 * rng.normal())),
        named((0..blocks).map(|block| if block == 0 { 1e300 } else { -1e300 })),
        same(f64::MAX),
        same(-f64::MAX),
        same(f64::NAN),
        same(f64::INFINITY),
        same(0.0),
        named(vec![0.5; blocks + 1]),
        named(vec![0.5; blocks.saturating_sub(1)]),
        vec![Price { of: Limit::K, value: 1.0 }],
        right,
    ]
}

fn hold(problem: &Problem, rng: &mut Rng) {
    let cold = problem.solve();
    for hint in hints(problem, rng) {
        let warm = problem.with(|scores| problem.constraint.argmax_near(scores, &hint));
        // As text too, which tells 0 from -0.
        assert_eq!(format!("{warm:?}"), format!("{cold:?}"), "{hint:?}");
    }
}

#[test]
fn any_prices_give_the_same_answer_on_small_problems() {
    let mut rng = Rng::new(71);
    for case in 0..400 {
        let (rows, blocks) = (2 + rng.below(80), 1 + rng.below(4));
        let (per_row, quota) = (1 + rng.below(blocks), 1 + rng.below(8));
        let mut problem = random(&mut rng, rows, blocks, per_row, quota);
        if case % 2 == 0 {
            problem.constraint.on_infeasible = OnInfeasible::Fill;
        }
        hold(&problem, &mut rng);
    }
}

/// Large enough that the prices are used, with scores on grids from coarse to fine, so that most cases have ties at the
/// prices; forbidden pairs, ranges, and penalties among them.
#[test]
fn any_prices_give_the_same_answer_where_they_are_used() {
    let mut rng = Rng::new(72);
    for case in 0..36 {
        let (rows, blocks) = (1_300 + rng.below(3_000), 2 + rng.below(4));
        let grid = [2.0, 8.0, 1e3, 1e9][case % 4];
        let score = |rng: &mut Rng, place: usize| match rng.below(12) {
            0 => f64::NEG_INFINITY,
            1 if case % 5 == 0 => -1e30,
            _ => ((rng.normal() + (place % blocks) as f64 / 4.0) * grid).round() / grid,
        };
        let values = (0..rows * blocks).map(|place| score(&mut rng, place)).collect();
        let quota = 1 + rng.below(rows / blocks / 4);
        let quotas = |block: usize| match (case + block) % 3 {
            0 => Quota::between(quota / 2, quota),
            1 => Quota::at_most(quota),
            _ => Quota::Exactly(quota),
        };
        let quotas: Vec<Quota> =
            if case % 2 == 0 { vec![Quota::Exactly(quota); blocks] } else { (0..blocks).map(quotas).collect() };
        let ties = if case % 3 == 0 { Ties::Random } else { Ties::ById };
        let ids = (0..rows as u64).map(|row| row * 7_919 % 1_000_003).collect();
        let constraint = Assignment::new(quotas);
        hold(&Problem { values, blocks, ids, ties, columns: Vec::new(), constraint }, &mut rng);
    }
}

#[test]
fn an_oracle_that_remembers_answers_like_one_that_does_not() {
    let mut rng = Rng::new(73);
    let oracle = Warm::new(Assignment::new(vec![60; 3]));
    for round in 0..12 {
        let values = (0..2_000 * 3).map(|_| (64.0 * (rng.normal() + f64::from(round) / 8.0)).round() / 64.0).collect();
        let (ids, ties, columns) = ((0..2_000).collect(), Ties::ById, Vec::new());
        let problem = Problem { values, blocks: 3, ids, ties, columns, constraint: oracle.oracle().clone() };
        assert_eq!(problem.with(|scores| oracle.argmax(scores)), problem.solve());
        assert_eq!(oracle.prices(), problem.solve().unwrap().prices);
    }
    assert_eq!(oracle.data(), oracle.oracle().data());
}
