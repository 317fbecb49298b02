//! Larger problems, certified from outside: with exact quotas the reported prices are a dual solution, so
//! primal = dual can be recomputed from the scores alone, in integers.

use crate::{Problem, Rng, random, shuffled};
use armwise::{Assignment, Ties};

/// Sum of quota times price plus what every row gains at these prices, all multiples of 1/2^20.
fn dual(problem: &Problem, quotas: &[usize], prices: &[f64]) -> f64 {
    let fixed = |x: f64| (x * f64::from(1 << 20)) as i128;
    let of_quotas: i128 = quotas.iter().zip(prices).map(|(&quota, &price)| quota as i128 * fixed(price)).sum();
    let of_rows: i128 = (problem.values.chunks(problem.blocks))
        .map(|row| {
            let allowed = row.iter().zip(prices).filter(|(score, _)| score.is_finite());
            let mut gains: Vec<i128> = allowed.map(|(&score, &price)| fixed(score) - fixed(price)).collect();
            gains.sort_unstable_by(|a, b| b.cmp(a));
            gains.iter().take(problem.constraint.per_row).filter(|&&gain| gain > 0).sum::<i128>()
        })
        .sum();
    (of_quotas + of_rows) as f64 / f64::from(1 << 20)
}

fn certify(problem: &Problem, quotas: &[usize]) {
    let found = problem.solve().unwrap();
    let prices: Vec<f64> = found.prices.iter().map(|price| price.value).collect();
    assert_eq!(prices.len(), problem.blocks, "room for one more unit everywhere");
    assert_eq!(dual(problem, quotas, &prices).to_bits(), found.objective.to_bits());
    let mut counts = vec![0; problem.blocks];
    let mut used = vec![0; problem.rows()];
    for arm in &found.arms {
        counts[arm.block] += 1;
        used[arm.row] += 1;
        assert!(problem.values[arm.row * problem.blocks + arm.block].is_finite());
    }
    assert_eq!(counts, quotas);
    assert!(used.iter().all(|&used| used <= problem.constraint.per_row));
}

/// Scores like a bandit's: a customer effect, a promotion effect and noise, on a grid of 2^-20.
fn bandit(rows: usize, blocks: usize, rng: &mut Rng) -> Vec<f64> {
    let promotion: Vec<f64> = (0..blocks).map(|_| 0.3 * rng.normal()).collect();
    let mut values = Vec::with_capacity(rows * blocks);
    for _ in 0..rows {
        let customer = rng.normal();
        for effect in &promotion {
            let score = customer + effect + 0.5 * rng.normal();
            values.push((score * f64::from(1 << 20)).round() / f64::from(1 << 20));
        }
    }
    values
}

#[test]
fn primal_equals_dual_on_filtered_problems() {
    let mut rng = Rng::new(11);
    for (rows, blocks, quota) in [(700, 3, 20), (5_000, 10, 50), (20_000, 10, 200), (20_000, 30, 40), (6_000, 5, 1_100)]
    {
        for per_row in [1, 2] {
            let values = bandit(rows, blocks, &mut rng);
            let quotas = vec![quota; blocks];
            let constraint = Assignment { per_row, ..Assignment::new(quotas.clone()) };
            let ids = (0..rows as u64).collect();
            certify(&Problem { values, blocks, ids, ties: Ties::ById, columns: Vec::new(), constraint }, &quotas);
        }
    }
}

#[test]
fn primal_equals_dual_with_ties_and_zero_quotas() {
    let mut rng = Rng::new(12);
    for case in 0..12 {
        let (rows, blocks) = (3_000, 2 + rng.below(6));
        let per_row = 1 + rng.below(2);
        let mut problem = random(&mut rng, rows, blocks, per_row, 0);
        let quotas: Vec<usize> = (0..blocks).map(|block| if block == 1 { 0 } else { rng.below(150) }).collect();
        problem.constraint = Assignment { per_row, ..Assignment::new(quotas.clone()) };
        certify(&problem, &quotas);
        let other = problem.on(&shuffled(rows, &mut rng));
        let (a, b) = (problem.solve().unwrap(), other.solve().unwrap());
        assert_eq!(problem.named(&a.arms), other.named(&b.arms), "case {case}");
    }
}

#[test]
fn clusters_are_solved_exactly_in_any_order() {
    let mut rng = Rng::new(13);
    let (rows, blocks, quota) = (20_000, 10, 150);
    let centres = bandit(40, blocks, &mut rng);
    let values = (0..rows).flat_map(|row| centres[row % 40 * blocks..][..blocks].to_vec()).collect();
    let quotas = vec![quota; blocks];
    let ids = (0..rows as u64).map(|id| id * 11).collect();
    let constraint = Assignment::new(quotas.clone());
    let mut problem = Problem { values, blocks, ids, ties: Ties::ById, columns: Vec::new(), constraint };
    for ties in [Ties::ById, Ties::Random] {
        problem.ties = ties;
        certify(&problem, &quotas);
        let other = problem.on(&shuffled(rows, &mut rng));
        let (a, b) = (problem.solve().unwrap(), other.solve().unwrap());
        assert_eq!(problem.named(&a.arms), other.named(&b.arms));
    }
}
