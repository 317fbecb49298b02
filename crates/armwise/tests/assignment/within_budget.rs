//! Quotas with a budget against every subset: what is chosen fits, and the best lies between the objective and the bound.

use crate::brute::{bounds, limits};
use crate::{Problem, Rng, groups::with_groups, random, shuffled};
use armwise::oracle::{Group, OneOrMany};
use armwise::{Arms, Assignment, Column, Error, Infeasible, Oracle, Pick, Quality, Round, Scores};

fn costs(rng: &mut Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| rng.below(9) as f64 / 4.0).collect()
}

/// The best sum of all subsets that meet the quotas, the groups, the limit per row and the budget.
fn best(problem: &Problem, costs: &[f64], budget: f64) -> Option<f64> {
    let (blocks, count) = (problem.blocks, problem.values.len());
    let (bounds, of_arms) = limits(problem, &bounds(problem));
    let mut best: Option<f64> = None;
    for set in 0_u32..1 << count {
        let chosen = || (0..count).filter(move |place| set >> place & 1 == 1);
        let of_limit = |limit: usize| chosen().filter(|&place| of_arms[place].contains(&limit)).count();
        let of_row = |row: usize| chosen().filter(|place| place / blocks == row).count();
        let fits = chosen().all(|place| problem.values[place].is_finite())
            && (0..bounds.len()).all(|limit| (bounds[limit].0..=bounds[limit].1).contains(&of_limit(limit)))
            && (0..problem.rows()).all(|row| of_row(row) <= problem.constraint.per_row)
            && chosen().map(|place| costs[place]).sum::<f64>() <= budget;
        if fits {
            let sum = chosen().map(|place| problem.values[place]).sum::<f64>();
            best = Some(best.map_or(sum, |best| best.max(sum)));
        }
    }
    best
}

fn solve(problem: &Problem, constraint: &Assignment, costs: &[f64]) -> Result<armwise::oracle::Selection, Error> {
    let columns = [Column { name: "price", values: costs }];
    let features = vec![0.0; problem.rows()];
    let columns: Vec<Column<'_>> =
        columns.into_iter().chain(problem.columns.iter().map(|(name, values)| Column { name, values })).collect();
    let arms = Arms::new(&features, 1)?.with_ids(&problem.ids)?.with_columns(&columns)?;
    constraint.argmax(&Scores::new(&problem.values, problem.blocks, arms, problem.ties, Round::new(1, 1))?)
}

#[test]
fn the_best_lies_between_the_objective_and_the_bound() {
    let mut rng = Rng::new(91);
    let (mut tight, mut optimal, mut infeasible) = (0, 0, 0);
    for _ in 0..2_000 {
        let blocks = 1 + rng.below(3);
        let (rows, per_row) = (1 + rng.below(4), 1 + rng.below(blocks));
        let mut problem = random(&mut rng, rows, blocks, per_row, 2);
        if rng.below(2) == 0 {
            problem = with_groups(&mut rng, problem);
        }
        let costs = costs(&mut rng, rows * blocks);
        let budget = rng.below(13) as f64 / 4.0;
        let constraint = problem.constraint.clone().within("price", budget);
        match (solve(&problem, &constraint, &costs), best(&problem, &costs, budget)) {
            (Ok(found), Some(best)) => {
                let place = |arm: &Pick| arm.row * blocks + arm.block;
                let spent: f64 = found.arms.iter().map(|arm| costs[place(arm)]).sum();
                assert!(spent <= budget * (1.0 + 1e-12), "{problem:?} {found:?}");
                assert!(
                    found.objective <= best + 1e-9 && best <= found.upper_bound + 1e-9,
                    "{problem:?} {found:?} {best}"
                );
                if found.quality == Quality::Optimal {
                    assert!((found.objective - best).abs() < 1e-8, "{problem:?} {found:?} {best}");
                    optimal += 1;
                }
                let free = problem.solve().expect("feasible without a budget");
                tight += usize::from(free.objective > best + 1e-9);
            }
            (Err(Error::Infeasible(reason)), None) => {
                infeasible += usize::from(matches!(reason, Infeasible::QuotasCost { .. }));
            }
            (found, best) => panic!("{problem:?} {costs:?} {budget}: {found:?}, but {best:?}"),
        }
    }
    assert!(tight > 100 && optimal > 300 && infeasible > 50, "{tight} {optimal} {infeasible}");
}

#[test]
fn a_budget_without_costs_and_costs_that_make_no_sense_are_errors() {
    let mut rng = Rng::new(92);
    let problem = Problem { values: vec![1.0, 2.0], ids: vec![1, 2], blocks: 1, ..random(&mut rng, 2, 1, 1, 1) };
    let plain = Assignment::new(vec![1]);
    let alone = Assignment { budget: Some(1.0), ..plain.clone() };
    assert!(matches!(solve(&problem, &alone, &[1.0, 1.0]), Err(Error::Constraint(_))));
    assert!(matches!(
        solve(&problem, &plain.clone().within("cost", 1.0), &[1.0, 1.0]),
        Err(Error::UnknownColumn { .. })
    ));
    assert!(matches!(
        solve(&problem, &plain.clone().within("price", 1.0), &[1.0, -1.0]),
        Err(Error::ColumnValue { row: 1, .. })
    ));
    assert!(matches!(solve(&problem, &plain.within("price", f64::NAN), &[1.0, 1.0]), Err(Error::Parameter { .. })));
}

/// Rows with equal scores and costs change by the thousand at one price: exchanges between the two answers at that price
/// use the budget up.
#[test]
fn equal_rows_leave_a_gap_of_about_one_exchange() {
    let mut rng = Rng::new(93);
    let (rows, blocks) = (3_000, 3);
    for case in 0..6 {
        let mut problem = random(&mut rng, rows, blocks, 1, 3);
        let kinds: Vec<(f64, f64)> =
            (0..10 * blocks).map(|_| (rng.below(64) as f64 / 16.0, 1.0 + rng.below(4) as f64)).collect();
        let kind: Vec<usize> = (0..rows).map(|_| rng.below(10)).collect();
        let of = |place: usize| kinds[kind[place / blocks] * blocks + place % blocks];
        problem.values = (0..rows * blocks).map(|place| of(place).0).collect();
        let costs: Vec<f64> = (0..rows * blocks).map(|place| of(place).1).collect();
        problem.columns = vec![("region", (0..rows).map(|_| rng.below(4) as f64).collect())];
        problem.constraint = Assignment::new(vec![200; blocks]);
        let group = |value: f64, max| Group {
            column: "region".to_owned(),
            value: Some(OneOrMany::One(value)),
            max: Some(max),
            ..Group::default()
        };
        problem.constraint.groups = vec![group(0.0, 60), group(1.0, 100)];
        let free = solve(&problem, &problem.constraint, &costs).unwrap();
        let place = |arm: &Pick| arm.row * blocks + arm.block;
        let spent = |arms: &[Pick]| arms.iter().map(|arm| costs[place(arm)]).sum::<f64>();
        let budget = (0.9 * spent(&free.arms)).floor();
        let within = problem.constraint.clone().within("price", budget);
        let found = solve(&problem, &within, &costs).unwrap();
        assert!(spent(&found.arms) <= budget, "case {case}");
        // An exchange moves no more than four rows, each between scores below 4.
        assert!(found.upper_bound - found.objective <= 16.0, "case {case}: {} {}", found.objective, found.upper_bound);
        let order = shuffled(rows, &mut rng);
        let there = problem.on(&order);
        let costs: Vec<f64> = order.iter().flat_map(|row| costs[row * blocks..(row + 1) * blocks].to_vec()).collect();
        assert_eq!(
            problem.named(&found.arms),
            there.named(&solve(&there, &within, &costs).unwrap().arms),
            "case {case}"
        );
    }
}
