//! Groups beside quotas, against every super arm: nested ones are exact, ties included, and what cannot be met is
//! explained by numbers that are recounted here.

use crate::brute::{Best, best, bounds, is_in, limits};
use crate::{Problem, Rng, random, shuffled};
use armwise::oracle::{Group, Limit, OneOrMany};
use armwise::{Error, Infeasible, OnInfeasible, Pick, Quality};

/// Cities nest in regions; groups count over all blocks or in one of them.
pub(crate) fn with_groups(rng: &mut Rng, mut problem: Problem) -> Problem {
    let rows = problem.rows();
    let region: Vec<f64> = (0..rows).map(|_| rng.below(3) as f64).collect();
    let city: Vec<f64> = region.iter().map(|region| region * 2.0 + rng.below(2) as f64).collect();
    let count = 1 + rng.below(4);
    for _ in 0..count {
        let (column, value) = match rng.below(3) {
            0 => ("region", OneOrMany::One(rng.below(3) as f64)),
            1 => ("city", OneOrMany::One(rng.below(6) as f64)),
            _ => ("city", OneOrMany::Many(vec![2.0, 3.0])),
        };
        let block = Some(rng.below(problem.blocks)).filter(|_| rng.below(2) == 0);
        let (min, max) = (rng.below(3), rng.below(3));
        let mut group = Group { column: column.to_owned(), value: Some(value), block, ..Group::default() };
        match rng.below(5) {
            0 => group.exactly = Some(max),
            1 => group.min = Some(min),
            2 => (group.min, group.max) = (Some(min), Some(min + max)),
            _ => group.max = Some(max),
        }
        // Two limits of the same group have one name, so a reason would not tell which is meant.
        let same = |other: &Group| (&other.column, &other.value, other.block) == (&group.column, &group.value, block);
        if !problem.constraint.groups.iter().any(same) {
            problem.constraint.groups.push(group);
        }
    }
    problem.columns = vec![("region", region), ("city", city)];
    problem
}

fn small(rng: &mut Rng) -> Problem {
    let blocks = 1 + rng.below(3);
    let (rows, per_row) = (1 + rng.below(6), 1 + rng.below(blocks));
    let problem = random(rng, rows, blocks, per_row, 2);
    with_groups(rng, problem)
}

/// The arms that a limit counts.
fn counted(problem: &Problem, limit: &Limit) -> (Vec<bool>, (usize, usize)) {
    let (bounds, of_arms) = limits(problem, &bounds(problem));
    let number = match limit {
        Limit::Block(block) => *block,
        Limit::Group { column, values, block } => {
            let same = |group: &Group| {
                let given = match group.value.as_ref().unwrap() {
                    OneOrMany::One(value) => vec![*value],
                    OneOrMany::Many(values) => values.clone(),
                };
                group.column == *column && given == *values && group.block == *block
            };
            let place = problem.constraint.groups.iter().position(same).unwrap();
            problem.blocks + place
        }
        other => panic!("{other:?}"),
    };
    (of_arms.iter().map(|limits| limits.contains(&number)).collect(), bounds[number])
}

/// Whether the numbers of a reason are right and exclude every super arm.
fn recounts(problem: &Problem, reason: &Infeasible) -> bool {
    let (minima, needed, maxima, allowed, rows, places) = match reason {
        Infeasible::TooFewRows { blocks, needed, rows, places } => {
            (blocks.iter().map(|&block| Limit::Block(block)).collect(), *needed, Vec::new(), 0, *rows, *places)
        }
        Infeasible::Contradiction { minima, needed, maxima, allowed, rows, places } => {
            (minima.clone(), *needed, maxima.clone(), *allowed, *rows, *places)
        }
        other => panic!("{other:?}"),
    };
    let mut weight = vec![0_isize; problem.values.len()];
    let mut sums = [0; 2];
    for (side, limits) in [&minima, &maxima].into_iter().enumerate() {
        for limit in limits {
            let (arms, (min, max)) = counted(problem, limit);
            sums[side] += if side == 0 { min } else { max };
            for (weight, inside) in weight.iter_mut().zip(arms) {
                *weight += isize::from(inside) * (1 - 2 * side.cast_signed());
            }
        }
    }
    let (mut able, mut most) = (0, 0);
    for (row, weights) in weight.chunks(problem.blocks).enumerate() {
        let eligible = |block: &usize| problem.values[row * problem.blocks + block] > f64::NEG_INFINITY;
        let mut gains: Vec<isize> = (0..problem.blocks).filter(eligible).map(|block| weights[block].max(0)).collect();
        gains.sort_unstable_by(|a, b| b.cmp(a));
        let gain: isize = gains.iter().take(problem.constraint.per_row).sum();
        able += usize::from(gain > 0);
        most += gain.unsigned_abs();
    }
    (sums[0], sums[1], able, most) == (needed, allowed, rows, places) && needed > allowed + places
}

#[test]
fn nested_groups_are_exact_with_ties_broken_by_the_documented_order() {
    let mut rng = Rng::new(161);
    let (mut infeasible, mut contradictions, mut feasible) = (0, 0, 0);
    for case in 0..4_000 {
        let problem = small(&mut rng);
        let Best { mandatory, sum, arms } = best(&problem, &bounds(&problem));
        let (limits, of_arms) = limits(&problem, &bounds(&problem));
        let asked: usize = limits.iter().map(|limit| limit.0).sum();
        match problem.solve() {
            Ok(found) => {
                assert_eq!(mandatory, asked, "case {case}: {problem:?} {found:?}");
                assert_eq!(found.objective, sum, "case {case}: {problem:?} {found:?} {arms:?}");
                assert_eq!(problem.named(&found.arms), problem.named(&arms), "case {case}: {problem:?}");
                assert_eq!((found.quality, found.floors), (Quality::Optimal, None));
                feasible += 1;
            }
            Err(Error::Infeasible(reason)) => {
                assert!(mandatory < asked, "case {case}: {problem:?} {reason:?}");
                assert!(recounts(&problem, &reason), "case {case}: {problem:?} {reason:?}");
                contradictions += usize::from(matches!(reason, Infeasible::Contradiction { .. }));
                infeasible += 1;
            }
            Err(error) => panic!("case {case}: {problem:?} {error}"),
        }
        // As much as can be filled, if that is what was asked for.
        let fill = Problem {
            constraint: armwise::Assignment { on_infeasible: OnInfeasible::Fill, ..problem.constraint.clone() },
            ..problem.clone()
        };
        let found = fill.solve().unwrap();
        let counts = |limit: usize| {
            let place = |arm: &&Pick| of_arms[arm.row * problem.blocks + arm.block].contains(&limit);
            found.arms.iter().filter(place).count()
        };
        let filled: usize = (0..limits.len()).map(|limit| counts(limit).min(limits[limit].0)).sum();
        assert_eq!((filled, found.objective), (mandatory, sum), "case {case}: {problem:?} {found:?}");
        let short = (0..limits.len()).filter(|&limit| counts(limit) < limits[limit].0).count();
        assert_eq!(found.missing.len(), short, "case {case}: {found:?}");
    }
    assert!(feasible > 1_000 && infeasible > 500 && contradictions > 300, "{feasible} {infeasible} {contradictions}");
}

#[test]
fn the_order_of_the_rows_does_not_matter() {
    let mut rng = Rng::new(162);
    for case in 0..600 {
        let (rows, blocks) = (2 + rng.below(60), 1 + rng.below(4));
        let per_row = 1 + rng.below(blocks);
        let problem = random(&mut rng, rows, blocks, per_row, rows / 2);
        let problem = with_groups(&mut rng, problem);
        let order = shuffled(rows, &mut rng);
        let there = problem.on(&order);
        match (problem.solve(), there.solve()) {
            (Ok(a), Ok(b)) => {
                assert_eq!(problem.named(&a.arms), there.named(&b.arms), "case {case}: {problem:?}");
                assert_eq!((a.prices, a.quality), (b.prices, b.quality), "case {case}: {problem:?}");
            }
            (Err(a), Err(b)) => assert_eq!(a, b),
            (a, b) => panic!("case {case}: {a:?} but {b:?}: {problem:?}"),
        }
    }
}

/// What the prices say is a bound on every super arm, by arithmetic alone: no arm gains more than its row, and no limit
/// more than its bound.
#[test]
fn the_prices_of_large_problems_prove_the_optimum() {
    let mut rng = Rng::new(163);
    for case in 0..60 {
        let (rows, blocks) = ([700, 3_000, 9_000][case % 3], 1 + rng.below(5));
        let quota = rows / [4, 20][case % 2] / blocks;
        let mut problem = random(&mut rng, rows, blocks, 1, 3);
        problem.values = (0..rows * blocks).map(|_| rng.normal()).collect();
        problem.constraint = armwise::Assignment::new(vec![quota; blocks]);
        let region: Vec<f64> = (0..rows).map(|_| rng.below(7) as f64).collect();
        problem.columns = vec![("region", region)];
        let group = |value: f64, block, min, max| Group {
            column: "region".to_owned(),
            value: Some(OneOrMany::One(value)),
            block,
            min,
            max,
            exactly: None,
        };
        let all = quota * blocks;
        problem.constraint.groups = vec![
            group(0.0, None, None, Some(all / 20)),
            group(1.0, None, Some(all / 4), None),
            group(2.0, Some(0), None, Some(quota / 20)),
            group(3.0, Some(blocks - 1), Some(quota / 4), None),
            group(4.0, None, Some(all / 10), Some(all / 9)),
        ];
        let found = problem.solve().unwrap();
        let price = |arm: Pick| -> f64 {
            let of = |price: &armwise::oracle::Price| match &price.of {
                Limit::Block(block) => f64::from(u8::from(*block == arm.block)) * price.value,
                limit => {
                    let groups = &problem.constraint.groups;
                    let same = |group: &&Group| matches!((limit, group.value.as_ref()), (Limit::Group { values, block, .. }, Some(OneOrMany::One(value))) if values[..] == [*value] && *block == group.block);
                    let group = groups.iter().find(same).unwrap();
                    f64::from(u8::from(is_in(&problem, group, arm))) * price.value
                }
            };
            found.prices.iter().map(of).sum()
        };
        let mut bound = 0.0;
        for row in 0..rows {
            let gain = |block: usize| problem.values[row * blocks + block] - price(Pick { row, block });
            bound += (0..blocks).map(gain).fold(0.0, f64::max);
        }
        for of in &found.prices {
            let (_, (min, max)) = counted(&problem, &of.of);
            let units = if of.value > 0.0 { max } else { min };
            bound += if of.value == 0.0 { 0.0 } else { of.value * units as f64 };
        }
        assert!((bound - found.objective).abs() < 1e-9 * bound.abs(), "case {case}: {bound} {}", found.objective);
        let (limits, of_arms) = limits(&problem, &bounds(&problem));
        let mut counts = vec![0; limits.len()];
        found
            .arms
            .iter()
            .for_each(|arm| of_arms[arm.row * blocks + arm.block].iter().for_each(|&limit| counts[limit] += 1));
        assert!(counts.iter().zip(&limits).all(|(count, (min, max))| min <= count && count <= max), "{counts:?}");
    }
}

/// The same problem with groups of a second column, which cross the regions.
fn with_ages(rng: &mut Rng, mut problem: Problem, least: usize, most: usize) -> Problem {
    let ages: Vec<f64> = (0..problem.rows()).map(|_| rng.below(3) as f64).collect();
    for age in 0..3 {
        let (value, max) = (Some(OneOrMany::One(f64::from(age))), Some(most + rng.below(most + 1)));
        let min = Some(rng.below(least + 1)).filter(|_| age == 1);
        problem.constraint.groups.push(Group { column: "age".to_owned(), value, min, max, ..Group::default() });
    }
    problem.columns.push(("age", ages));
    problem
}

#[test]
fn few_arms_with_crossing_groups_are_exact() {
    let mut rng = Rng::new(164);
    let (mut feasible, mut infeasible) = (0, 0);
    for case in 0..400 {
        let problem = small(&mut rng);
        let problem = with_ages(&mut rng, problem, 1, 1);
        let Best { mandatory, sum, .. } = best(&problem, &bounds(&problem));
        let (limits, _) = limits(&problem, &bounds(&problem));
        let asked: usize = limits.iter().map(|limit| limit.0).sum();
        match problem.solve() {
            Ok(found) => {
                assert_eq!((mandatory, found.quality), (asked, Quality::Optimal), "case {case}: {problem:?} {found:?}");
                assert!((found.objective - sum).abs() < 1e-9, "case {case}: {problem:?} {found:?}");
                feasible += 1;
            }
            Err(Error::Infeasible(_)) => {
                assert!(mandatory < asked, "case {case}: {problem:?}");
                infeasible += 1;
            }
            Err(error) => panic!("case {case}: {problem:?} {error}"),
        }
    }
    assert!(feasible > 50 && infeasible > 50, "{feasible} {infeasible}");
}

/// Many arms, with ties and forbidden ones: all limits are met, the best lies within the stated gap, which is small for
/// scores that differ, and the order of the rows does not matter.
#[test]
fn many_arms_with_crossing_groups_have_a_certified_gap() {
    let mut rng = Rng::new(165);
    for case in 0..9 {
        let (rows, blocks) = ([400, 2_000, 6_000][case % 3], 2 + rng.below(3));
        let quota = rows / 8 / blocks;
        let mut problem = random(&mut rng, rows, blocks, 1, 3);
        let levels = [4.0, 16.0, 1e9][case / 3];
        let mut score =
            || if rng.below(20) == 0 { f64::NEG_INFINITY } else { (rng.normal() * levels).round() / levels };
        problem.values = (0..rows * blocks).map(|_| score()).collect();
        problem.constraint = armwise::Assignment::new(vec![quota; blocks]);
        problem.columns = vec![("region", (0..rows).map(|_| rng.below(5) as f64).collect())];
        let all = quota * blocks;
        let group = |value: f64, min, max| Group {
            column: "region".to_owned(),
            value: Some(OneOrMany::One(value)),
            min,
            max,
            ..Group::default()
        };
        problem.constraint.groups =
            vec![group(0.0, None, Some(all / 12)), group(1.0, Some(all / 3), None), group(2.0, None, Some(all / 8))];
        let problem = with_ages(&mut rng, problem, all / 3, 2 * all / 5);
        let found = problem.solve().unwrap();
        let (limits, of_arms) = limits(&problem, &bounds(&problem));
        let mut counts = vec![0; limits.len()];
        let places = found.arms.iter().map(|arm| arm.row * blocks + arm.block);
        places.for_each(|place| of_arms[place].iter().for_each(|&limit| counts[limit] += 1));
        assert!(
            counts.iter().zip(&limits).all(|(count, (min, max))| min <= count && count <= max),
            "{counts:?} {limits:?}"
        );
        let gap = (found.upper_bound - found.objective) / found.objective;
        // Where many scores are equal, prices alone do not tell how many of which rows to take.
        let most = [5e-2, 2e-2, if rows < 1_000 { 1e-2 } else { 1e-3 }][case / 3];
        assert!((0.0..most).contains(&gap), "case {case}: {gap}");
        let order = shuffled(rows, &mut rng);
        let there = problem.on(&order);
        let again = there.solve().unwrap();
        assert_eq!(problem.named(&found.arms), there.named(&again.arms), "case {case}");

        // With a budget, too.
        let costs: Vec<f64> = (0..rows).map(|_| 1.0 + rng.below(4) as f64).collect();
        let spent: f64 = found.arms.iter().map(|arm| costs[arm.row]).sum();
        let budget = (0.9 * spent).floor();
        let mut within = Problem { constraint: problem.constraint.clone().within("price", budget), ..problem.clone() };
        within.columns.push(("price", costs.clone()));
        let cheap = within.solve().unwrap();
        assert!(cheap.arms.iter().map(|arm| costs[arm.row]).sum::<f64>() <= budget, "case {case}");
        let gap = (cheap.upper_bound - cheap.objective) / cheap.objective;
        // Equal scores, whole costs and crossing groups together leave the widest gap.
        let most = [0.4, 0.1, 4.0 * most][case / 3];
        assert!((0.0..most).contains(&gap), "case {case}: {gap}");
        assert!(cheap.objective <= found.upper_bound);
    }
}

#[test]
fn crossing_groups_that_cannot_be_met_are_explained_or_filled() {
    let mut rng = Rng::new(166);
    let mut problem = random(&mut rng, 900, 2, 1, 3);
    problem.values = (0..1_800).map(|_| rng.normal()).collect();
    problem.constraint = armwise::Assignment::new(vec![100; 2]);
    problem.columns = vec![("region", (0..900).map(|_| rng.below(3) as f64).collect())];
    let group = |column: &str, value: f64, min, max| Group {
        column: column.to_owned(),
        value: Some(OneOrMany::One(value)),
        min,
        max,
        ..Group::default()
    };
    problem.columns.push(("age", (0..900).map(|_| rng.below(2) as f64).collect()));
    // 200 are asked for, but both ages together allow 100.
    problem.constraint.groups = vec![
        group("region", 0.0, None, Some(90)),
        group("age", 0.0, None, Some(50)),
        group("age", 1.0, None, Some(50)),
    ];
    let Err(Error::Infeasible(reason)) = problem.solve() else { panic!("it cannot be met") };
    assert!(matches!(reason, Infeasible::Contradiction { .. } | Infeasible::Crossing { .. }), "{reason:?}");
    problem.constraint.on_infeasible = OnInfeasible::Fill;
    let found = problem.solve().unwrap();
    let missing: usize = found.missing.iter().map(|missing| missing.needed - missing.chosen).sum();
    assert_eq!((found.arms.len(), missing), (100, 100), "{:?}", found.missing);
}
