//! The constraint as data, its errors, and any input at all.

use armwise::oracle::{BlockQuotas, OnInfeasible, QuotaRange};
use armwise::{Arms, Assignment, Constraint, Error, Oracle, Quota, Round, Scores, Ties};
use proptest::prelude::*;

fn argmax(values: &[f64], blocks: usize, constraint: &Assignment) -> Result<armwise::Selection, Error> {
    let features = vec![0.0; values.len() / blocks];
    let arms = Arms::new(&features, 1)?;
    constraint.argmax(&Scores::new(values, blocks, arms, Ties::ById, Round::new(1, 1))?)
}

#[test]
fn quotas_read_as_they_are_written() {
    let read = |text: &str| toml::from_str::<Constraint>(text);
    let expected = |quotas: BlockQuotas| Constraint::Assignment(Assignment::new(quotas));
    assert_eq!(read("kind = 'assignment'\nquotas = [50, 20]").unwrap(), expected(vec![50, 20].into()));
    assert_eq!(read("kind = 'assignment'\nquotas = 50").unwrap(), expected(Quota::Exactly(50).into()));
    let range = |min, max| Quota::Between(QuotaRange { min, max });
    let mixed = vec![range(0, Some(9)), range(2, None), Quota::Exactly(4), range(1, Some(2))];
    let text = "kind = 'assignment'\nquotas = [{ max = 9 }, { min = 2 }, 4, { min = 1, max = 2 }]";
    assert_eq!(read(text).unwrap(), expected(mixed.into()));
    let full = "kind = 'assignment'\nquotas = 5\nper_row = 3\non_infeasible = 'fill'";
    let Constraint::Assignment(found) = read(full).unwrap() else { panic!("another kind") };
    assert_eq!((found.per_row, found.on_infeasible), (3, OnInfeasible::Fill));
    for wrong in ["quotas = -1", "quotas = [{ least = 1 }]", "quotas = 5\nper_raw = 2", "per_row = 1"] {
        assert!(read(&format!("kind = 'assignment'\n{wrong}")).is_err(), "{wrong}");
    }
    let json = serde_json::to_string(&read(text).unwrap()).unwrap();
    assert_eq!(serde_json::from_str::<Constraint>(&json).unwrap(), read(text).unwrap());
}

#[test]
fn bad_input_is_named() {
    let constraint = Assignment::new(vec![1, 1]);
    let bad = |value: f64| argmax(&[0.0, 1.0, value, 0.5], 2, &constraint).unwrap_err();
    assert!(matches!(bad(f64::NAN), Error::ScoreNotFinite { row: 1, block: 0, value } if value.is_nan()));
    assert_eq!(bad(f64::INFINITY), Error::ScoreNotFinite { row: 1, block: 0, value: f64::INFINITY });
    let wrong_length = argmax(&[0.0, 1.0, 2.0], 3, &constraint).unwrap_err();
    assert!(matches!(wrong_length, Error::Dimension { expected: 3, found: 2, .. }));
    let crossed = argmax(&[0.0], 1, &Assignment::new(Quota::between(3, 2))).unwrap_err();
    assert!(matches!(crossed, Error::Constraint(_)));
    let nowhere = argmax(&[0.0], 1, &Assignment { per_row: 0, ..Assignment::new(Quota::Exactly(1)) }).unwrap_err();
    assert!(matches!(nowhere, Error::Parameter { name: "per_row", .. }));
    let mut late = vec![0.5; 20_000];
    late[12_345] = f64::NAN;
    let late = argmax(&late, 2, &constraint).unwrap_err();
    assert!(matches!(late, Error::ScoreNotFinite { row: 6172, block: 1, .. }));
}

fn any_score() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => any::<f64>(),
        4 => -1.0..1.0,
        2 => (-3..3i8).prop_map(f64::from),
        1 => Just(f64::NEG_INFINITY),
        1 => Just(f64::MAX),
        1 => Just(f64::MIN),
        1 => Just(f64::MIN_POSITIVE),
    ]
}

fn any_quota() -> impl Strategy<Value = Quota> {
    let size = prop_oneof![6 => 0..6usize, 1 => 0..2000usize, 1 => any::<usize>()];
    let range = (size.clone(), proptest::option::of(size.clone()));
    prop_oneof![size.prop_map(Quota::Exactly), range.prop_map(|(min, max)| Quota::Between(QuotaRange { min, max }))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(
        blocks in 1..5usize,
        scores in proptest::collection::vec(any_score(), 1..120),
        repeat in prop_oneof![9 => Just(1usize), 1 => Just(40)],
        quotas in proptest::collection::vec(any_quota(), 4),
        per_row in prop_oneof![5 => 0..5usize, 1 => any::<usize>()],
        fill in any::<bool>(),
    ) {
        let rows = (scores.len() / blocks).max(1);
        let row_major: Vec<f64> = scores.iter().copied().cycle().take(rows * blocks).collect();
        let values = row_major.repeat(repeat);
        let on_infeasible = if fill { OnInfeasible::Fill } else { OnInfeasible::Error };
        let constraint = Assignment { per_row, on_infeasible, ..Assignment::new(quotas[..blocks].to_vec()) };
        if let Ok(found) = argmax(&values, blocks, &constraint) {
            for arm in &found.arms {
                prop_assert!(values[arm.row * blocks + arm.block].is_finite());
            }
        }
    }
}

/// A penalty such as -1e300 for "please do not" must not drown the scores that matter.
#[test]
fn penalties_do_not_drown_the_other_scores() {
    let solve = |values: &[f64], blocks: usize, constraint: &Assignment| {
        let features = vec![0.0; values.len() / blocks];
        let arms = Arms::new(&features, 1).expect("rows");
        let scores = Scores::new(values, blocks, arms, Ties::ById, Round::new(1, 1)).expect("scores");
        let found = constraint.argmax(&scores).expect("feasible");
        let whole = constraint.candidates(&scores).expect("good scores");
        assert!(found.arms.iter().all(|arm| whole.contains(&arm.row)));
        found
    };
    for penalty in [-1e30, -1e300] {
        assert_eq!(solve(&[0.1, 0.9, penalty], 1, &Assignment::new(vec![1])).objective, 0.9);
        let at_most = Assignment::new(vec![Quota::at_most(1)]);
        assert_eq!(solve(&[0.9, penalty], 1, &at_most).objective, 0.9);
        assert_eq!(solve(&[-0.2, -0.1, penalty, 0.0], 1, &Assignment::new(vec![2])).objective, -0.1);
        // Two promotions: the penalty forbids the diagonal, the small differences decide the rest.
        let values = [penalty, 0.3, 0.2, penalty, 0.25, 0.31];
        assert_eq!(solve(&values, 2, &Assignment::new(vec![1, 1])).objective, 0.25 + 0.3);
        // Where the quota demands it, the penalty is paid.
        assert_eq!(solve(&[0.5, penalty], 1, &Assignment::new(vec![2])).objective, 0.5 + penalty);
        assert_eq!(solve(&[0.5, penalty, -1e20, penalty], 1, &Assignment::new(vec![2])).objective, 0.5 - 1e20);
    }
}
