//! Small problems against brute force.

use crate::brute::{Best, best, bounds};
use crate::{Problem, Rng, random, shuffled};
use armwise::oracle::{OnInfeasible, Price};
use armwise::{Assignment, Constraint, Error, Infeasible, Limit, Oracle, Quality, Quota, TopK};

fn small(rng: &mut Rng) -> Problem {
    let blocks = 1 + rng.below(3);
    let per_row = 1 + rng.below(blocks);
    let rows = 1 + rng.below(if per_row > 1 { 4 } else { 6 });
    random(rng, rows, blocks, per_row, 3)
}

/// What one more unit of each quota does to the best filling; none where it could not be filled.
fn prices(problem: &Problem, best_now: &Best, fill: bool) -> Vec<Price> {
    let now = bounds(problem);
    let price = |block: usize| {
        let mut more = now.clone();
        let exact = more[block].0 == more[block].1;
        more[block] = (more[block].0 + usize::from(exact), more[block].1 + 1);
        let then = best(problem, &more);
        let unfilled = exact && then.mandatory == best_now.mandatory;
        (fill || !unfilled).then_some(Price { of: Limit::Block(block), value: then.sum - best_now.sum })
    };
    (0..problem.blocks).filter_map(price).collect()
}

/// Recounts a Hall set from the scores alone.
fn recount(problem: &Problem, reason: &Infeasible) {
    let Infeasible::TooFewRows { blocks, needed, rows, places } = reason else { panic!("{reason:?}") };
    let bounds = bounds(problem);
    assert_eq!(*needed, blocks.iter().map(|&block| bounds[block].0).sum::<usize>());
    let eligible: Vec<usize> = (problem.values.chunks(problem.blocks))
        .map(|row| blocks.iter().filter(|&&block| row[block] > f64::NEG_INFINITY).count())
        .collect();
    assert_eq!(*rows, eligible.iter().filter(|&&count| count > 0).count());
    assert_eq!(*places, eligible.iter().map(|&count| count.min(problem.constraint.per_row)).sum::<usize>());
    assert!(places < needed, "{reason}");
}

#[test]
fn three_thousand_small_problems_match_brute_force() {
    let mut rng = Rng::new(1);
    let (mut infeasible, mut filled, mut several, mut tied) = (0, 0, 0, 0);
    for case in 0..3000 {
        let mut problem = small(&mut rng);
        let expected = best(&problem, &bounds(&problem));
        let short = expected.mandatory < bounds(&problem).iter().map(|bounds| bounds.0).sum();
        several += usize::from(problem.constraint.per_row > 1);
        tied += usize::from(problem.values.iter().filter(|value| **value == problem.values[0]).count() > 2);
        match problem.solve() {
            Err(Error::Infeasible(reason)) if short => {
                recount(&problem, &reason);
                infeasible += 1;
            }
            Ok(found) if !short => {
                assert_eq!(problem.named(&found.arms), problem.named(&expected.arms), "case {case}: {problem:?}");
                assert_eq!((found.objective, found.upper_bound), (expected.sum, expected.sum));
                assert_eq!(found.quality, Quality::Optimal);
                assert_eq!(found.prices, prices(&problem, &expected, false), "case {case}: {problem:?}");
                assert_eq!(found.missing, []);
            }
            other => panic!("case {case}: {other:?} for {problem:?}"),
        }
        problem.constraint.on_infeasible = OnInfeasible::Fill;
        let found = problem.solve().unwrap();
        assert_eq!(problem.named(&found.arms), problem.named(&expected.arms), "filling case {case}: {problem:?}");
        assert_eq!(found.prices, prices(&problem, &expected, true), "filling case {case}: {problem:?}");
        let missing: usize = found.missing.iter().map(|missing| missing.needed - missing.chosen).sum();
        assert_eq!(missing + expected.mandatory, bounds(&problem).iter().map(|bounds| bounds.0).sum::<usize>());
        filled += usize::from(missing > 0);
    }
    assert!(infeasible > 300 && filled == infeasible && several > 500 && tied > 500, "{infeasible} {several} {tied}");
}

#[test]
fn row_order_does_not_matter() {
    let mut rng = Rng::new(2);
    for case in 0..500 {
        let (rows, blocks) = (1 + rng.below(60), 1 + rng.below(5));
        let per_row = 1 + rng.below(blocks);
        let mut problem = random(&mut rng, rows, blocks, per_row, 20);
        problem.constraint.on_infeasible = OnInfeasible::Fill;
        let other = problem.on(&shuffled(problem.rows(), &mut rng));
        let (a, b) = (problem.solve().unwrap(), other.solve().unwrap());
        assert_eq!(problem.named(&a.arms), other.named(&b.arms), "case {case}");
        assert_eq!((a.objective, a.prices, a.missing), (b.objective, b.prices, b.missing));
    }
}

#[test]
fn one_promotion_is_top_k() {
    let mut rng = Rng::new(3);
    for case in 0..500 {
        let rows = 1 + rng.below(40);
        let mut problem = random(&mut rng, rows, 1, 1, 0);
        let k = 1 + rng.below(rows);
        for at_most in [false, true] {
            let quota = if at_most { Quota::at_most(k) } else { Quota::Exactly(k) };
            problem.constraint = Assignment::new(quota);
            let top_k = problem.with(|scores| Constraint::TopK(TopK { at_most, ..TopK::exactly(k) }).argmax(scores));
            match (problem.solve(), top_k) {
                (Ok(ours), Ok(top_k)) => assert_eq!((ours.arms, ours.objective), (top_k.arms, top_k.objective)),
                (Err(Error::Infeasible(_)), Err(Error::Infeasible(_))) => {}
                (ours, top_k) => panic!("case {case}: {ours:?} but top-k {top_k:?}"),
            }
        }
    }
}
