//! Linear rows.
#![cfg(feature = "linear")]

use crate::common::{Instance, Rng, instance, order_does_not_matter, parts_suffice};
use armwise::oracle::{LinearRow, Member, Term};
use armwise::{Error, Infeasible, Linear, Oracle, Pick, Quality};
use std::sync::atomic::AtomicBool;

fn random(rng: &mut Rng) -> (Instance, Linear) {
    let blocks = 1 + rng.below(2);
    let rows = 1 + rng.below(9 / blocks);
    let mut instance = instance(rng, rows, blocks);
    instance.columns.push(("w", (0..rows).map(|_| rng.below(9) as f64 - 3.0).collect(), 1));
    let row = |rng: &mut Rng| {
        let lo = rng.below(8) as f64 - 4.0;
        let kind = rng.below(4);
        LinearRow {
            lo: (kind != 0).then_some(lo),
            hi: (kind != 1).then_some(lo + if kind == 2 { 0.0 } else { rng.below(6) as f64 }),
            column: (rng.below(2) == 0).then(|| "w".to_owned()),
            every: rng.below(2) as f64,
            terms: (0..rng.below(3))
                .map(|_| Term {
                    arm: Member::IdInBlock { id: instance.ids[rng.below(rows)], block: rng.below(blocks) },
                    coefficient: rng.below(5) as f64 - 2.0,
                })
                .collect(),
            block: (rng.below(4) == 0).then(|| rng.below(blocks)),
            ..LinearRow::default()
        }
    };
    let mut all: Vec<LinearRow> = (0..=rng.below(3)).map(|_| row(rng)).collect();
    if rng.below(3) == 0 {
        all.push(LinearRow { every: 1.0, per_row: true, hi: Some(1.0), ..LinearRow::default() });
    }
    (instance, Linear { rows: all, time_limit: 20.0 })
}

fn coefficient(instance: &Instance, row: &LinearRow, arm: Pick) -> f64 {
    let mut sum = 0.0;
    if row.block.is_none_or(|block| block == arm.block) {
        sum += row.every + row.column.as_ref().map_or(0.0, |name| instance.column(name, arm));
    }
    for term in &row.terms {
        if term.arm == (Member::IdInBlock { id: instance.ids[arm.row], block: arm.block }) {
            sum += term.coefficient;
        }
    }
    sum
}

fn fits(instance: &Instance, linear: &Linear, set: &[Pick]) -> bool {
    linear.rows.iter().all(|row| {
        let inside = |sum: f64| row.lo.is_none_or(|lo| sum >= lo) && row.hi.is_none_or(|hi| sum <= hi);
        let sum = |of: Option<usize>| {
            let arms = set.iter().filter(|arm| of.is_none_or(|row| row == arm.row));
            arms.map(|&arm| coefficient(instance, row, arm)).sum::<f64>()
        };
        if row.per_row { (0..instance.ids.len()).all(|r| inside(sum(Some(r)))) } else { inside(sum(None)) }
    })
}

#[test]
fn linear_rows_are_exact_on_random_instances() {
    let mut rng = Rng(41);
    let (mut solved, mut infeasible) = (0, 0);
    for round in 0..1_500 {
        let (instance, linear) = random(&mut rng);
        let best = instance.best(|set| fits(&instance, &linear, set));
        match instance.with(|scores| linear.argmax(scores)) {
            Ok(found) => {
                solved += 1;
                assert!(fits(&instance, &linear, &found.arms), "{instance:?} {linear:?} {found:?}");
                assert_eq!(Some(found.objective), best, "{instance:?} {linear:?} {found:?}");
                assert_eq!(found.quality, Quality::Optimal);
            }
            Err(Error::Infeasible(reason)) => {
                infeasible += 1;
                assert_eq!(best, None, "{instance:?} {linear:?} {reason}");
                recount(&instance, &linear, &reason);
            }
            Err(error) => panic!("{error}: {instance:?} {linear:?}"),
        }
        if round % 3 == 0 {
            order_does_not_matter(&linear, &instance, &mut rng);
            parts_suffice(&linear, &instance, &mut rng);
        }
    }
    assert!(solved > 400 && infeasible > 200, "{solved} {infeasible}");
}

fn recount(instance: &Instance, linear: &Linear, reason: &Infeasible) {
    match reason {
        Infeasible::LinearRow { row, least, most, .. } => {
            let number = row.trim_start_matches("row ").split(',').next().unwrap();
            let row = &linear.rows[number.parse::<usize>().unwrap()];
            let all = instance.eligible();
            let sum = |sign: f64| {
                all.iter().map(|&arm| (sign * coefficient(instance, row, arm)).max(0.0)).sum::<f64>() * sign
            };
            assert_eq!((sum(-1.0), sum(1.0)), (*least, *most), "{reason}");
        }
        Infeasible::LinearRows { rows } => assert!(*rows >= linear.rows.len() - 1),
        reason => panic!("{reason}"),
    }
}

/// Equal costs and one odd budget: branch and bound needs exponential time, so a limit must end it.
fn hard(n: usize) -> (Instance, Linear) {
    let mut rng = Rng(42);
    let mut instance = instance(&mut rng, 3, 1);
    instance.ids = (0..n as u64).collect();
    instance.values = (0..n).map(|_| 100.0 + rng.below(40) as f64).collect();
    let column = |rng: &mut Rng| (0..n).map(|_| 100.0 + 2.0 * rng.below(20) as f64).collect::<Vec<f64>>();
    instance.columns = vec![("a", column(&mut rng), 1), ("b", column(&mut rng), 1), ("c", column(&mut rng), 1)];
    let row = |name: &str| LinearRow {
        column: Some(name.to_owned()),
        hi: Some(n as f64 * 40.0 + 1.0),
        ..LinearRow::default()
    };
    (instance, Linear { rows: vec![row("a"), row("b"), row("c")], time_limit: 0.3 })
}

#[test]
fn a_time_limit_gives_a_bound_or_an_error() {
    let (instance, linear) = hard(60);
    let started = std::time::Instant::now();
    match instance.with(|scores| linear.argmax(scores)) {
        Ok(found) => assert!(found.upper_bound >= found.objective),
        Err(error) => assert!(matches!(error, Error::TimeLimit { .. }), "{error}"),
    }
    assert!(started.elapsed().as_secs_f64() < 5.0);
}

#[test]
fn a_cancelled_search_gives_control_back_at_once() {
    let (instance, linear) = hard(200);
    let linear = Linear { time_limit: 3.0, ..linear };
    let started = std::time::Instant::now();
    let stopped = instance.with(|scores| linear.argmax_until(scores, &AtomicBool::new(true)));
    if let Err(error) = stopped {
        assert_eq!(error, Error::Cancelled);
    }
    assert!(started.elapsed().as_secs_f64() < 1.5);
}

/// A row of the scores without an eligible arm cannot give what is asked of every row.
#[test]
fn what_is_asked_of_every_row_is_asked_of_rows_without_arms_too() {
    let solve = |values: &[f64], row: LinearRow| {
        let features = vec![0.0; values.len()];
        let arms = armwise::Arms::new(&features, 1).expect("rows");
        let round = armwise::Round::new(1, 1);
        let scores = armwise::Scores::new(values, 1, arms, armwise::Ties::ById, round).expect("scores");
        Linear { rows: vec![row], time_limit: 20.0 }.argmax(&scores)
    };
    let row = LinearRow { every: 1.0, per_row: true, lo: Some(1.0), ..LinearRow::default() };
    assert_eq!(solve(&[1.0, -2.0], row.clone()).expect("both").arms.len(), 2);
    let error = solve(&[1.0, f64::NEG_INFINITY], row).expect_err("row 1 has nothing");
    assert!(matches!(error, Error::Infeasible(Infeasible::LinearRow { .. })), "{error}");
}
