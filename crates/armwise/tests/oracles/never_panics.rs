//! No panic for any scores, columns and constraints, and nothing but super arms that fit.

use crate::common::{Instance, Rng};
use armwise::oracle::{Group, LinearRow, Member, OnInfeasible, OneOrMany, Term};
use armwise::{Budget, Constraint, Error, Explicit, Linear, Oracle, Quotas, Ties, TopK};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (-8_i32..24).prop_map(|n| f64::from(n) / 8.0),
        2 => -1e3..1e3_f64,
        1 => any::<f64>(),
        1 => prop_oneof![Just(f64::MAX), Just(f64::MIN), Just(5e-324), Just(f64::NEG_INFINITY), Just(-0.0)],
    ]
}

fn count() -> impl Strategy<Value = usize> {
    prop_oneof![4 => 0..6_usize, 1 => Just(usize::MAX), 1 => any::<usize>()]
}

fn constraint() -> impl Strategy<Value = Constraint> {
    let column =
        || prop_oneof![Just("a".to_owned()), Just("b".to_owned()), Just("block".to_owned()), Just("?".to_owned())];
    let value = prop_oneof![
        Just(None),
        number().prop_map(|n| Some(OneOrMany::One(n))),
        prop::collection::vec(number(), 0..3).prop_map(|n| Some(OneOrMany::Many(n))),
    ];
    let some = || prop::option::of(count());
    let group = (column(), value, some(), some(), prop::option::weighted(0.2, count()))
        .prop_map(|(column, value, min, max, exactly)| Group { column, value, min, max, exactly });
    let fill = prop_oneof![Just(OnInfeasible::Error), Just(OnInfeasible::Fill)];
    let quotas = (some(), count(), prop::collection::vec(group, 0..4), fill)
        .prop_map(|(k, min, groups, on_infeasible)| Constraint::Quotas(Quotas { k, min, groups, on_infeasible }));
    let maybe = || prop::option::of(number());
    let budgets = prop::option::of(prop::collection::vec(number(), 0..3));
    let budget = (column(), maybe(), budgets, some(), some()).prop_map(|(cost, budget, budgets, k, per_row)| {
        Constraint::Budget(Budget { cost, budget, budgets, k, per_row })
    });
    let member = || (0..12_u64, 0..3_usize).prop_map(|(id, block)| Member::IdInBlock { id, block });
    let explicit = prop::collection::vec(prop::collection::vec(member(), 0..4), 0..4)
        .prop_map(|super_arms| Constraint::Explicit(Explicit { super_arms }));
    let term = (member(), number()).prop_map(|(arm, coefficient)| Term { arm, coefficient });
    let row =
        (maybe(), maybe(), prop::option::of(column()), number(), prop::collection::vec(term, 0..3), any::<bool>())
            .prop_map(|(lo, hi, column, every, terms, per_row)| LinearRow {
                lo,
                hi,
                column,
                every,
                terms,
                per_row,
                ..LinearRow::default()
            });
    let linear = prop::collection::vec(row, 0..3).prop_map(|rows| Constraint::Linear(Linear { rows, time_limit: 0.5 }));
    let top_k =
        (count(), any::<bool>()).prop_map(|(k, at_most)| Constraint::TopK(TopK { at_most, ..TopK::exactly(k) }));
    prop_oneof![3 => quotas, 3 => budget, 1 => explicit, 1 => linear, 1 => top_k]
}

fn instances() -> impl Strategy<Value = Instance> {
    (1..7_usize, 1..3_usize, any::<u64>(), any::<bool>()).prop_flat_map(|(rows, blocks, seed, by_id)| {
        let column = || prop::collection::vec(number(), rows);
        (prop::collection::vec(number(), rows * blocks), column(), column()).prop_map(move |(values, a, b)| {
            let mut ids: Vec<u64> = (0..12).collect();
            Rng(seed).shuffle(&mut ids);
            ids.truncate(rows);
            let ties = if by_id { Ties::ById } else { Ties::Random };
            Instance { blocks, ids, values, columns: vec![("a", a, 1), ("b", b, 1)], ties }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]
    #[test]
    fn any_constraint_on_any_scores(instance in instances(), constraint in constraint()) {
        let bad = instance.values.iter().any(|value| value.is_nan() || *value == f64::INFINITY);
        instance.with(|scores| {
            let _ = constraint.candidates(scores);
            match constraint.argmax(scores) {
                Ok(found) => {
                    prop_assert!(!bad);
                    prop_assert!(found.upper_bound >= found.objective);
                    prop_assert!(found.arms.iter().all(|&arm| scores.get(arm).is_finite()));
                    let mut arms = found.arms.clone();
                    arms.sort_unstable();
                    arms.dedup();
                    prop_assert_eq!(arms.len(), found.arms.len());
                }
                Err(error) => prop_assert!(!error.to_string().is_empty() && error != Error::Cancelled),
            }
            Ok(())
        })?;
    }

    /// What is written is read back: JSON and TOML.
    #[test]
    fn constraints_survive_serialisation(constraint in constraint()) {
        let finite = |constraint: &Constraint| !format!("{constraint:?}").contains("inf") && !format!("{constraint:?}").contains("NaN");
        if finite(&constraint) {
            let json = serde_json::to_string(&constraint).unwrap();
            prop_assert_eq!(&constraint, &serde_json::from_str::<Constraint>(&json).unwrap());
        }
    }
}
