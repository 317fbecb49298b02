//! Linear rows.
#![cfg(feature = "linear")]

use crate::common::{Instance, Rng, instance, order_does_not_matter, parts_suffice};
use armwise::oracle::{LinearRow, Member, Term};
use armwise::{Error, Infeasible, Linear, Oracle, Pick, Quality, TopK};
use std::sync::atomic::{AtomicBool, Ordering};

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

/// "At most k" as a linear row is the k best, ties and all.
#[test]
fn arms_that_are_alike_follow_the_tie_rule() {
    let mut rng = Rng(43);
    for _ in 0..200 {
        let rows = 2 + rng.below(12);
        let mut instance = instance(&mut rng, 3, 1);
        instance.ids = (0..rows as u64).map(|row| row * 7 % 31 + 1).collect();
        rng.shuffle(&mut instance.ids);
        instance.values = (0..rows).map(|_| (1 + rng.below(3)) as f64 / 8.0).collect();
        let k = 1 + rng.below(rows);
        let row = LinearRow { every: 1.0, hi: Some(k as f64), ..LinearRow::default() };
        let linear = Linear { rows: vec![row], time_limit: 20.0 };
        let found = instance.with(|scores| linear.argmax(scores)).unwrap();
        let best = instance.with(|scores| TopK::at_most(k).argmax(scores)).unwrap();
        assert_eq!(instance.named(&found), instance.named(&best), "{instance:?}");
        order_does_not_matter(&linear, &instance, &mut rng);
    }
}

/// A knapsack with ten rows, which branch and bound does not finish within the limits of these tests.
fn hard() -> (Instance, Linear) {
    let (n, limits) = (150_usize, ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]);
    let mut rng = Rng(42);
    let mut instance = instance(&mut rng, 3, 1);
    instance.ids = (0..n as u64).collect();
    instance.values = (0..n).map(|_| 100.0 + rng.below(40) as f64).collect();
    let column = |name| (name, (0..n).map(|_| 100.0 + rng.below(900) as f64).collect::<Vec<f64>>(), 1);
    instance.columns = limits.into_iter().map(column).collect();
    let row = |(name, values, _): &(&'static str, Vec<f64>, usize)| LinearRow {
        column: Some((*name).to_owned()),
        hi: Some((values.iter().sum::<f64>() / 2.0).floor()),
        ..LinearRow::default()
    };
    let rows = instance.columns.iter().map(row).collect();
    (instance, Linear { rows, time_limit: 0.5 })
}

/// Takes what fits, by falling score: a lower bound on the best sum.
fn greedy(instance: &Instance, linear: &Linear) -> f64 {
    let mut order = instance.eligible();
    order.sort_by(|&a, &b| instance.score(b).total_cmp(&instance.score(a)));
    let mut set = Vec::new();
    for arm in order {
        set.push(arm);
        if !fits(instance, linear, &set) {
            set.pop();
        }
    }
    instance.sum(&set)
}

#[test]
fn a_time_limit_gives_a_bound_or_an_error() {
    let (instance, linear) = hard();
    let started = std::time::Instant::now();
    match instance.with(|scores| linear.argmax(scores)) {
        Ok(found) => {
            assert_eq!(found.quality, Quality::Gap, "solved within the limit: the problem is too easy");
            assert!(fits(&instance, &linear, &found.arms));
            assert!(found.upper_bound >= greedy(&instance, &linear) && found.upper_bound > found.objective);
            assert!(found.upper_bound <= instance.values.iter().sum::<f64>() * (1.0 + 1e-12));
        }
        Err(error) => assert_eq!(error, Error::TimeLimit { seconds: 0.5 }),
    }
    let seconds = started.elapsed().as_secs_f64();
    assert!((0.4..10.0).contains(&seconds), "{seconds}");
}

#[test]
fn a_cancelled_search_gives_control_back_at_once() {
    let (instance, linear) = hard();
    let linear = Linear { time_limit: 20.0, ..linear };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        let started = std::time::Instant::now();
        let stopped = instance.with(|scores| linear.argmax_until(scores, &stop));
        assert_eq!(stopped, Err(Error::Cancelled));
        let seconds = started.elapsed().as_secs_f64();
        assert!((0.25..3.0).contains(&seconds), "{seconds}");
    });
    // Cancelled before it began.
    let stopped = instance.with(|scores| linear.argmax_until(scores, &AtomicBool::new(true)));
    assert_eq!(stopped, Err(Error::Cancelled));
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
