//! No panic for any scores, columns and constraints, and nothing but super arms that fit.

use crate::common::{Instance, Rng};
use armwise::oracle::{BlockQuotas, Group, LinearRow, Member, OnInfeasible, OneOrMany, QuotaRange, Term};
use armwise::{Assignment, Budget, Constraint, Error, Explicit, Linear, Oracle, Quota, Quotas, Ties, TopK};
use proptest::prelude::*;

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => (-8_i32..24).prop_map(|n| f64::from(n) / 8.0),
        2 => -1e3..1e3_f64,
        1 => any::<f64>(),
        2 => prop_oneof![
            Just(f64::MAX),
            Just(f64::MAX / 2.0),
            Just(1e300),
            Just(f64::MIN),
            Just(5e-324),
            Just(f64::MIN_POSITIVE),
            Just(f64::NEG_INFINITY),
            Just(f64::INFINITY),
            Just(f64::NAN),
            Just(0.0),
            Just(-0.0)
        ],
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
    let one_block = prop::option::weighted(0.3, 0..3_usize);
    let group = (column(), value, one_block, some(), some(), prop::option::weighted(0.2, count()))
        .prop_map(|(column, value, block, min, max, exactly)| Group { column, value, block, min, max, exactly })
        .boxed();
    let groups = || prop::collection::vec(group.clone(), 0..4);
    let fill = prop_oneof![Just(OnInfeasible::Error), Just(OnInfeasible::Fill)];
    let quotas = (some(), count(), groups(), fill)
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
    let quota = || {
        let range = (count(), some()).prop_map(|(min, max)| Quota::Between(QuotaRange { min, max }));
        prop_oneof![count().prop_map(Quota::Exactly), range]
    };
    let fill = prop_oneof![Just(OnInfeasible::Error), Just(OnInfeasible::Fill)];
    let quotas_of_blocks = prop_oneof![
        quota().prop_map(BlockQuotas::from),
        prop::collection::vec(quota(), 0..3).prop_map(BlockQuotas::from)
    ];
    let within = prop::option::weighted(0.2, (column(), number()));
    let assignment = (quotas_of_blocks, count(), fill, groups(), within).prop_map(
        |(quotas, per_row, on_infeasible, groups, within)| {
            let (cost, budget) = within.unzip();
            let of = Assignment { per_row, on_infeasible, groups, cost, budget, ..Assignment::new(quotas) };
            Constraint::Assignment(of)
        },
    );
    prop_oneof![3 => quotas, 4 => budget, 1 => explicit, 1 => linear, 1 => top_k, 3 => assignment]
}

/// A constraint as JSON that need not make sense: any field of any constraint, with any value.
fn nonsense() -> impl Strategy<Value = serde_json::Value> {
    use serde_json::{Value, json};
    let number = || number().prop_map(|n| json!(n));
    let values = vec![
        json!(null),
        json!([]),
        json!({}),
        json!(-1),
        json!(0),
        json!(u64::MAX),
        json!("none"),
        json!("a"),
        json!("fill"),
        json!(true),
        json!([null, "none"]),
        json!([0, 1]),
        json!([[3], [{ "id": 3, "block": 1 }], []]),
        json!([{ "column": "a", "max": 0 }, { "column": "b", "min": u64::MAX }]),
        json!([{ "every": 1, "lo": null, "hi": 0 }, { "terms": [], "per_row": true, "lo": -0.0 }]),
        json!({ "min": 2, "max": 1 }),
    ];
    let value = prop_oneof![4 => prop::sample::select(values), 2 => number(), 2 => (0..4_u8).prop_map(|n| json!(n))];
    let names = [
        "k",
        "at_most",
        "on_infeasible",
        "quotas",
        "per_row",
        "min",
        "groups",
        "cost",
        "budget",
        "budgets",
        "rows",
        "time_limit",
        "super_arms",
        "unknown",
    ];
    let fields = prop::collection::btree_map(prop::sample::select(names.to_vec()), value, 0..6);
    let kinds = ["top-k", "assignment", "quotas", "budget", "linear", "explicit", "?"];
    (prop::sample::select(kinds.to_vec()), fields).prop_map(|(kind, fields)| {
        let mut object: serde_json::Map<String, Value> =
            fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        object.insert("kind".to_owned(), json!(kind));
        // What a constraint cannot do without, now and then as it should be.
        match kind {
            "budget" => object.insert("cost".to_owned(), json!("a")),
            "explicit" => object.entry("super_arms").or_insert(json!([])).is_array().then_some(Value::Null),
            "linear" => object.insert("time_limit".to_owned(), json!(0.2)),
            _ => None,
        };
        Value::Object(object)
    })
}

fn instances() -> impl Strategy<Value = Instance> {
    (1..7_usize, 1..3_usize, any::<u64>(), any::<bool>()).prop_flat_map(|(rows, blocks, seed, by_id)| {
        let column = |per_row: usize| prop::collection::vec(number(), rows * per_row);
        let scores = prop::collection::vec(
            number().prop_filter("bad scores in an eighth of the cases", move |n| {
                seed % 8 == 0 || (!n.is_nan() && *n < f64::INFINITY)
            }),
            rows * blocks,
        );
        (scores, column(1), column(blocks)).prop_map(move |(values, a, b)| {
            // Many copies of every row, now and then.
            let copies = if seed % 8 == 1 { 50 } else { 1 };
            let mut ids: Vec<u64> = (0..12_u64.max((rows * copies) as u64)).collect();
            Rng(seed).shuffle(&mut ids);
            ids.truncate(rows * copies);
            let (values, a, b) = (values.repeat(copies), a.repeat(copies), b.repeat(copies));
            let ties = if by_id { Ties::ById } else { Ties::Random };
            Instance { blocks, ids, values, columns: vec![("a", a, 1), ("b", b, blocks)], ties }
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

    /// JSON is refused, or a constraint that is solved or refused.
    #[test]
    fn nonsense_in_json_is_refused_or_solved(instance in instances(), json in nonsense()) {
        if let Ok(constraint) = serde_json::from_value::<Constraint>(json) {
            instance.with(|scores| {
                let _ = constraint.candidates(scores);
                match constraint.argmax(scores) {
                    Ok(found) => prop_assert!(found.upper_bound >= found.objective),
                    Err(error) => prop_assert!(!error.to_string().is_empty()),
                }
                Ok(())
            })?;
        }
    }

    /// What is written is read back: JSON and TOML. Infinity has no place in JSON, but for budgets, which say "none".
    #[test]
    fn constraints_survive_serialisation(constraint in constraint()) {
        let text = format!("{constraint:?}");
        let only_budgets = matches!(&constraint, Constraint::Budget(budget) if budget.budget.is_none_or(f64::is_finite))
            && !text.contains("-inf");
        if !text.contains("NaN") && (only_budgets || !text.contains("inf")) {
            let json = serde_json::to_string(&constraint).unwrap();
            prop_assert_eq!(&constraint, &serde_json::from_str::<Constraint>(&json).unwrap());
            // TOML's whole numbers have 64 bits and a sign.
            if let Ok(toml) = toml::to_string(&constraint) {
                prop_assert_eq!(&constraint, &toml::from_str::<Constraint>(&toml).unwrap());
            }
        }
    }
}
