//! Quotas.

use crate::common::{Instance, Rng, instance, order_does_not_matter, parts_suffice};
use armwise::oracle::{Group, OnInfeasible, OneOrMany};
use armwise::{Constraint, Error, Infeasible, Limit, Oracle, Pick, Quality, Quotas};

fn limits(rng: &mut Rng, column: &str, value: OneOrMany) -> Group {
    let mut group = Group { column: column.to_owned(), value: Some(value), min: None, max: None, ..Group::default() };
    match rng.below(4) {
        0 => group.exactly = Some(rng.below(3)),
        1 => group.max = Some(rng.below(4)),
        2 => group.min = Some(rng.below(3)),
        _ => {
            let min = rng.below(3);
            group.min = Some(min);
            group.max = Some(min + rng.below(3));
        }
    }
    group
}

/// Nested groups: region inside country; country = floor(region / 2).
fn random(rng: &mut Rng) -> (Instance, Quotas) {
    let blocks = 1 + rng.below(2);
    let rows = 1 + rng.below(10 / blocks);
    let mut instance = instance(rng, rows, blocks);
    let region: Vec<f64> = (0..rows).map(|_| rng.below(4) as f64).collect();
    instance.columns.push(("country", region.iter().map(|r| (r / 2.0).floor()).collect(), 1));
    instance.columns.push(("region", region, 1));
    let mut groups = Vec::new();
    for value in 0..4 {
        if rng.below(2) == 0 {
            groups.push(limits(rng, "region", OneOrMany::One(f64::from(value))));
        }
        if value < 2 && rng.below(2) == 0 {
            groups.push(limits(rng, "country", OneOrMany::One(f64::from(value))));
        }
    }
    match rng.below(4) {
        0 => groups.push(limits(rng, "region", OneOrMany::Many(vec![2.0, 3.0]))),
        1 => groups.push(Group { value: None, ..limits(rng, "region", OneOrMany::One(0.0)) }),
        2 if groups.is_empty() => groups.push(limits(rng, "block", OneOrMany::One(0.0))),
        _ => {}
    }
    let k = [None, Some(rng.below(6))][rng.below(2)];
    let min = if rng.below(3) == 0 { rng.below(4).min(k.unwrap_or(4)) } else { 0 };
    let on_infeasible = OnInfeasible::Error;
    (instance, Quotas { k, min, groups, on_infeasible })
}

/// The groups written out: (members, min, max).
fn groups_of(instance: &Instance, quotas: &Quotas) -> Vec<(Vec<Pick>, usize, usize)> {
    let arms = instance.eligible();
    let mut all = vec![(arms.clone(), quotas.min, quotas.k.unwrap_or(usize::MAX))];
    for group in &quotas.groups {
        let value_sets: Vec<Vec<f64>> = match &group.value {
            Some(OneOrMany::One(value)) => vec![vec![*value]],
            Some(OneOrMany::Many(values)) => vec![values.clone()],
            None => {
                let mut values: Vec<f64> = arms.iter().map(|&arm| instance.column(&group.column, arm)).collect();
                values.sort_unstable_by(f64::total_cmp);
                values.dedup();
                values.into_iter().map(|value| vec![value]).collect()
            }
        };
        let min = group.exactly.or(group.min).unwrap_or(0);
        let max = group.exactly.or(group.max).unwrap_or(usize::MAX);
        for values in value_sets {
            let inside = |arm: &Pick| values.contains(&instance.column(&group.column, *arm));
            all.push((arms.iter().copied().filter(inside).collect(), min, max));
        }
    }
    all
}

fn fits(groups: &[(Vec<Pick>, usize, usize)], set: &[Pick]) -> bool {
    groups.iter().all(|(members, min, max)| {
        let count = set.iter().filter(|arm| members.contains(arm)).count();
        *min <= count && count <= *max
    })
}

#[test]
fn quotas_are_exact_on_random_instances() {
    let mut rng = Rng(1);
    let (mut solved, mut infeasible) = (0, 0);
    for _ in 0..4_000 {
        let (instance, quotas) = random(&mut rng);
        let groups = groups_of(&instance, &quotas);
        let best = instance.best(|set| fits(&groups, set));
        match instance.with(|scores| quotas.argmax(scores)) {
            Ok(found) => {
                solved += 1;
                assert!(fits(&groups, &found.arms), "{instance:?} {quotas:?} {found:?}");
                assert_eq!(Some(found.objective), best, "{instance:?} {quotas:?} {found:?}");
                assert_eq!(found.quality, Quality::Optimal);
                assert!(found.missing.is_empty());
            }
            Err(Error::Infeasible(reason)) => {
                infeasible += 1;
                assert_eq!(best, None, "{instance:?} {quotas:?}");
                recount(&groups, &reason);
            }
            Err(error) => panic!("{error}: {instance:?} {quotas:?}"),
        }
        order_does_not_matter(&quotas, &instance, &mut rng);
    }
    assert!(solved > 1_000 && infeasible > 500, "{solved} {infeasible}");
}

/// The counts of a reason are those of some group, counted again.
fn recount(groups: &[(Vec<Pick>, usize, usize)], reason: &Infeasible) {
    match reason {
        Infeasible::GroupMinimum { needed, eligible, choosable, .. } => {
            assert!(choosable < needed && choosable <= eligible);
            // The most arms that the group's own maximum and those of the smaller groups inside it allow.
            let most = |group: &(Vec<Pick>, usize, usize)| {
                let (members, _, max) = group;
                // The total is around every group, also around one with the same arms.
                let total = std::ptr::eq(group, &raw const groups[0]);
                let smaller = |g: &&(Vec<Pick>, usize, usize)| {
                    (total || g.0.len() < members.len()) && g.0.iter().all(|arm| members.contains(arm))
                };
                let inside: Vec<_> = groups.iter().filter(smaller).collect();
                let subset = |bits: usize| {
                    (0..members.len()).filter(|i| bits >> i & 1 == 1).map(|i| members[i]).collect::<Vec<_>>()
                };
                (0..1usize << members.len())
                    .map(subset)
                    .filter(|set| set.len() <= *max)
                    .filter(|set| inside.iter().all(|g| set.iter().filter(|arm| g.0.contains(arm)).count() <= g.2))
                    .map(|set| set.len())
                    .max()
            };
            let counts = |g: &&(Vec<Pick>, usize, usize)| g.1 == *needed && g.0.len() == *eligible;
            assert!(groups.iter().filter(counts).any(|g| most(g) == Some(*choosable)), "{reason}");
        }
        Infeasible::GroupMaximum { allowed, needed, .. } => {
            assert!(needed > allowed);
            // The fewest arms of the group that meet every minimum of the groups inside it.
            let fewest = |group: &(Vec<Pick>, usize, usize)| {
                let members = &group.0;
                let smaller = |g: &&(Vec<Pick>, usize, usize)| {
                    !std::ptr::eq(*g, group) && g.0.iter().all(|arm| members.contains(arm))
                };
                let inside: Vec<_> = groups.iter().skip(1).filter(smaller).collect();
                let count = |g: &(Vec<Pick>, usize, usize), bits: usize| {
                    (0..members.len()).filter(|i| bits >> i & 1 == 1 && g.0.contains(&members[*i])).count()
                };
                let meets = |bits: &usize| inside.iter().all(|g| count(g, *bits) >= g.1);
                (0..1usize << members.len()).filter(meets).map(usize::count_ones).min()
            };
            let named = groups.iter().filter(|g| g.2 == *allowed);
            assert!(named.clone().any(|g| fewest(g) == Some(*needed as u32)), "{reason}");
        }
        reason => panic!("{reason}"),
    }
}

/// With a perturbation of every score in the order of the tie rule, the best set is unique: that one is chosen.
#[test]
fn ties_between_super_arms_follow_the_tie_rule() {
    let mut rng = Rng(2);
    for _ in 0..1_500 {
        let (instance, quotas) = random(&mut rng);
        let Ok(found) = instance.with(|scores| quotas.argmax(scores)) else { continue };
        let groups = groups_of(&instance, &quotas);
        let mut arms = instance.eligible();
        instance.with(|scores| arms.sort_by(|&a, &b| scores.tie_order(a, b)));
        // Arms earlier in the tie order gain more than all later ones together; none gains by being chosen at all.
        let bonus = |arm: &Pick| {
            let place = arms.iter().position(|a| a == arm).unwrap();
            -(1.0 - 0.5 / (1_u64 << place) as f64) / 4096.0
        };
        let perturbed = |set: &[Pick]| instance.sum(set) + set.iter().map(bonus).sum::<f64>();
        let best =
            instance.subsets().filter(|set| fits(&groups, set)).max_by(|a, b| perturbed(a).total_cmp(&perturbed(b)));
        let (mut best, mut chosen) = (best.unwrap(), found.arms.clone());
        best.sort_unstable();
        chosen.sort_unstable();
        assert_eq!(best, chosen, "{instance:?} {quotas:?}");
    }
}

#[test]
fn fill_chooses_what_it_can_and_says_what_is_missing() {
    let mut rng = Rng(3);
    let mut filled = 0;
    for _ in 0..1_500 {
        let (instance, quotas) = random(&mut rng);
        let strict = instance.with(|scores| quotas.argmax(scores));
        let quotas = Quotas { on_infeasible: OnInfeasible::Fill, ..quotas };
        let fill = instance.with(|scores| quotas.argmax(scores)).unwrap();
        order_does_not_matter(&quotas, &instance, &mut rng);
        if let Ok(strict) = strict {
            assert_eq!(strict, fill);
            continue;
        }
        filled += 1;
        assert!(!fill.missing.is_empty());
        let groups = groups_of(&instance, &quotas);
        let count = |members: &[Pick]| fill.arms.iter().filter(|arm| members.contains(arm)).count();
        assert!(groups.iter().all(|g| count(&g.0) <= g.2), "{instance:?} {quotas:?}");
        let short = groups.iter().filter(|g| count(&g.0) < g.1).count();
        assert_eq!(short, fill.missing.len());
        // Nothing more fits: another arm of a group that is short would break a maximum.
        for (members, ..) in groups.iter().filter(|g| count(&g.0) < g.1) {
            let others = members.iter().filter(|arm| !fill.arms.contains(arm));
            for other in others {
                let breaks = groups.iter().any(|g| g.0.contains(other) && count(&g.0) == g.2);
                assert!(breaks, "{other:?} fits: {instance:?} {quotas:?} {fill:?}");
            }
        }
        assert!(fill.missing.iter().all(|m| groups.iter().any(|g| g.1 == m.needed && count(&g.0) == m.chosen)));
    }
    assert!(filled > 200);
}

#[test]
fn candidates_of_parts_suffice() {
    let mut rng = Rng(4);
    for round in 0..2_000 {
        let (instance, mut quotas) = random(&mut rng);
        if round % 2 == 0 {
            quotas.on_infeasible = OnInfeasible::Fill;
        }
        parts_suffice(&quotas, &instance, &mut rng);
    }
}

/// One more unit of a limit is worth its price.
#[test]
fn prices_are_what_one_more_unit_is_worth() {
    let mut rng = Rng(5);
    let mut positive = 0;
    for _ in 0..3_000 {
        let (instance, quotas) = random(&mut rng);
        if quotas.groups.iter().any(|group| group.value.is_none()) {
            continue;
        }
        let Ok(found) = instance.with(|scores| quotas.argmax(scores)) else { continue };
        for price in &found.prices {
            let mut more = quotas.clone();
            if price.of == Limit::K {
                more.k = quotas.k.map(|k| k + 1);
                // Exactly k stays exactly k.
                more.min += usize::from(quotas.k == Some(quotas.min) && quotas.min > 0);
            } else if price.of == Limit::Min {
                more.min += 1;
            } else {
                let limit = |group: &Group| match &group.value {
                    Some(OneOrMany::One(value)) => group_of(&group.column, &[*value]),
                    Some(OneOrMany::Many(values)) => group_of(&group.column, values),
                    None => unreachable!(),
                };
                let group = more.groups.iter_mut().find(|group| limit(group) == price.of).unwrap();
                let members = |arm: &&Pick| match group.value.as_ref().unwrap() {
                    OneOrMany::One(value) => *value == instance.column(&group.column, **arm),
                    OneOrMany::Many(values) => values.contains(&instance.column(&group.column, **arm)),
                };
                let count = found.arms.iter().filter(members).count();
                // The price of "exactly none" is that of "at most none".
                if group.exactly == Some(0) {
                    (group.exactly, group.max) = (None, Some(0));
                }
                group.exactly = group.exactly.map(|n| n + 1);
                let (min, max) = (group.min, group.max);
                if max == Some(count) {
                    group.max = Some(count + 1);
                }
                if min == Some(count) && count > 0 {
                    group.min = Some(count + 1);
                }
                if min == Some(count) && max == Some(count) && count == 0 {
                    group.max = Some(1);
                }
            }
            let Ok(after) = instance.with(|scores| more.argmax(scores)) else {
                panic!("{price:?} {instance:?} {quotas:?} {more:?}");
            };
            assert_eq!(after.objective - found.objective, price.value, "{price:?} {instance:?} {quotas:?}");
            positive += usize::from(price.value > 0.0);
        }
    }
    assert!(positive > 200, "{positive}");
}

#[test]
fn crossing_groups_are_named() {
    let mut rng = Rng(6);
    let mut instance = instance(&mut rng, 4, 1);
    instance.values = vec![1.0; 4];
    instance.columns = vec![("a", vec![1.0, 1.0, 0.0, 0.0], 1), ("b", vec![0.0, 1.0, 1.0, 0.0], 1)];
    let json = r#"{"kind": "quotas", "groups": [{"column": "a", "value": 1, "max": 1}, {"column": "b", "value": 1, "min": 1}]}"#;
    let constraint: Constraint = serde_json::from_str(json).unwrap();
    let error = instance.with(|scores| constraint.argmax(scores)).unwrap_err();
    let groups = Box::new([group_of("a", &[1.0]), group_of("b", &[1.0])]);
    assert_eq!(error, Error::CrossingGroups { groups, rows: 4, both: 1, only_first: 1, only_second: 1 });
    let text = error.to_string();
    assert!(text.contains("nested or disjoint"), "{text}");
}

#[test]
fn mistakes_in_the_constraint_are_errors() {
    let mut rng = Rng(7);
    let mut instance = instance(&mut rng, 3, 1);
    instance.values = vec![1.0, 2.0, 3.0];
    instance.columns = vec![("a", vec![1.0, f64::NAN, 0.0], 1)];
    let ask = |json: &str| {
        let constraint: Constraint = toml::from_str(json).unwrap();
        instance.with(|scores| constraint.argmax(scores)).unwrap_err()
    };
    let group = |text: &str| format!("kind = \"quotas\"\ngroups = [{{ {text} }}]");
    assert!(matches!(ask(&group("column = \"c\", value = 1, max = 1")), Error::UnknownColumn { .. }));
    assert!(matches!(ask(&group("column = \"a\", value = [1, 2], max = 1")), Error::ColumnValue { row: 1, .. }));
    assert!(matches!(ask(&group("column = \"block\", value = 0, min = 2, max = 1")), Error::Constraint(_)));
    assert!(matches!(ask(&group("column = \"block\", value = 0, min = 2, exactly = 2")), Error::Constraint(_)));
    assert!(matches!(ask("kind = \"quotas\"\nk = 1\nmin = 2"), Error::Constraint(_)));
    assert!(toml::from_str::<Constraint>(&group("column = \"a\", most = 2")).is_err());
}

fn group_of(column: &str, values: &[f64]) -> Limit {
    Limit::Group { column: column.to_owned(), values: values.to_vec(), block: None }
}
