//! Budgets.

use crate::common::{Instance, Rng, instance, order_does_not_matter, parts_suffice};
use armwise::oracle::{Limit, Price};
use armwise::{Budget, Constraint, Error, Oracle, Pick, Quality};

fn eighths(rng: &mut Rng, below: usize) -> f64 {
    rng.below(below) as f64 / 8.0
}

/// One total budget, budgets of blocks, or both; costs per row or per arm, some of them zero.
fn random(rng: &mut Rng) -> (Instance, Budget) {
    let blocks = 1 + rng.below(3);
    let rows = 1 + rng.below(11 / blocks);
    let mut instance = instance(rng, rows, blocks);
    let per_row = if rng.below(2) == 0 { 1 } else { blocks };
    let spread = [3, 9, 33][rng.below(3)];
    instance.columns.push(("cost", (0..rows * per_row).map(|_| eighths(rng, spread)).collect(), per_row));
    let most = spread * rows / 2 + 1;
    let kind = rng.below(4);
    let budget = Budget {
        cost: "cost".to_owned(),
        budget: (kind != 0).then(|| eighths(rng, most)),
        budgets: (kind < 2).then(|| (0..blocks).map(|_| eighths(rng, most)).collect()),
        k: (rng.below(2) == 0).then(|| 1 + rng.below(5)),
        per_row: (rng.below(2) == 0).then(|| 1 + rng.below(2)),
    };
    (instance, budget)
}

fn cost(instance: &Instance, set: &[Pick]) -> f64 {
    set.iter().map(|&arm| instance.column("cost", arm)).sum()
}

fn fits(instance: &Instance, budget: &Budget, set: &[Pick]) -> bool {
    let of_block = |block| set.iter().copied().filter(|arm| arm.block == block).collect::<Vec<_>>();
    let of_row = |row| set.iter().filter(|arm| arm.row == row).count();
    budget.budget.is_none_or(|limit| cost(instance, set) <= limit)
        && budget.budgets.iter().flatten().enumerate().all(|(block, limit)| cost(instance, &of_block(block)) <= *limit)
        && budget.k.is_none_or(|k| set.len() <= k)
        && budget.per_row.is_none_or(|most| set.iter().all(|arm| of_row(arm.row) <= most))
}

#[test]
fn budgets_are_exact_on_random_instances() {
    let mut rng = Rng(31);
    let mut tight = 0;
    for _ in 0..4_000 {
        let (instance, budget) = random(&mut rng);
        let found = instance.with(|scores| budget.argmax(scores)).unwrap();
        assert!(fits(&instance, &budget, &found.arms), "{instance:?} {budget:?} {found:?}");
        let best = instance.best(|set| fits(&instance, &budget, set)).unwrap();
        assert_eq!(found.quality, Quality::Optimal, "{instance:?} {budget:?} {found:?}");
        assert_eq!((found.objective, found.upper_bound), (best, best), "{instance:?} {budget:?} {found:?}");
        tight += usize::from(found.prices.iter().any(|price| price.of != Limit::K && price.value > 0.0));
        order_does_not_matter(&budget, &instance, &mut rng);
    }
    assert!(tight > 500, "{tight}");
}

/// Among the best: the least use of budgets, then the least sum of tie keys.
#[test]
fn ties_between_super_arms_follow_the_documented_rule() {
    let mut rng = Rng(32);
    for _ in 0..1_500 {
        let (instance, budget) = random(&mut rng);
        let found = instance.with(|scores| budget.argmax(scores)).unwrap();
        instance.with(|scores| {
            let used = |set: &[Pick]| {
                let total = if budget.budget.is_some() { cost(&instance, set) } else { 0.0 };
                total + if budget.budgets.is_some() { cost(&instance, set) } else { 0.0 }
            };
            let keys = |set: &[Pick]| set.iter().map(|&arm| u128::from(scores.tie_key(arm))).sum::<u128>();
            let rank = |set: &[Pick]| (used(set), keys(set));
            let best = instance.subsets().filter(|set| fits(&instance, &budget, set));
            let best = best.filter(|set| instance.sum(set) == found.objective).map(|set| rank(&set));
            let least = best.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).unwrap();
            assert_eq!(rank(&found.arms), least, "{instance:?} {budget:?} {found:?}");
        });
    }
}

#[test]
fn candidates_of_parts_suffice() {
    let mut rng = Rng(33);
    for _ in 0..2_000 {
        let (instance, budget) = random(&mut rng);
        parts_suffice(&budget, &instance, &mut rng);
    }
}

/// Real numbers, where sums round: the best sum to 1e-12, with and without k.
#[test]
fn real_valued_instances_are_exact() {
    let mut rng = Rng(34);
    for round in 0..1_500 {
        let (mut instance, mut budget) = random(&mut rng);
        let scale = [1e-9, 1.0, 1e9][round % 3];
        instance.values.iter_mut().for_each(|value| *value += rng.unit() * scale);
        instance.columns[0].1.iter_mut().for_each(|value| *value += rng.unit() * scale);
        budget.budget = budget.budget.map(|budget| budget + rng.unit() * scale * 2.0);
        let found = instance.with(|scores| budget.argmax(scores)).unwrap();
        let best = instance.best(|set| fits(&instance, &budget, set)).unwrap();
        assert_eq!(found.quality, Quality::Optimal);
        assert!((found.objective - best).abs() <= 1e-12 * best, "{found:?} {best}");
        order_does_not_matter(&budget, &instance, &mut rng);
    }
}

fn large(rng: &mut Rng, n: usize) -> Instance {
    Instance {
        blocks: 1,
        ids: (0..n as u64).collect(),
        values: (0..n).map(|_| rng.unit()).collect(),
        columns: vec![("cost", (0..n).map(|_| 0.05 + rng.unit()).collect(), 1)],
        ties: armwise::Ties::ById,
    }
}

/// The bound is checked by an independent one: the linear relaxation, by sorting.
#[test]
fn large_instances_are_optimal_or_have_a_tiny_certified_gap() {
    let mut rng = Rng(35);
    for n in [20_000, 200_000] {
        let instance = large(&mut rng, n);
        let limit = n as f64 / 100.0;
        let budget = Budget { cost: "cost".to_owned(), budget: Some(limit), budgets: None, k: None, per_row: None };
        let found = instance.with(|scores| budget.argmax(scores)).unwrap();
        assert!(cost(&instance, &found.arms) <= limit * (1.0 + 1e-12));
        let mut order: Vec<usize> = (0..n).collect();
        let costs = &instance.columns[0].1;
        order.sort_by(|&a, &b| (instance.values[b] / costs[b]).total_cmp(&(instance.values[a] / costs[a])));
        let (mut left, mut relaxed) = (limit, 0.0);
        for i in order {
            let part = (left / costs[i]).min(1.0);
            relaxed += part * instance.values[i];
            left -= part * costs[i];
        }
        assert!(found.upper_bound <= relaxed * (1.0 + 3e-12), "{} {relaxed}", found.upper_bound);
        assert!(found.objective >= relaxed * (1.0 - 2e-5), "{} {relaxed}", found.objective);
        assert!(found.upper_bound - found.objective <= 1e-6 * found.objective);
        let with_k = Budget { k: Some(n / 50), ..budget };
        let found = instance.with(|scores| with_k.argmax(scores)).unwrap();
        assert!(found.upper_bound - found.objective <= 1e-6 * found.objective, "{found:?}");
        // The prices alone, put into the bound of weak duality, prove the answer nearly best.
        let price = |of: Limit| found.prices.iter().find(|price| price.of == of).unwrap().value;
        let (budget_price, place) = (price(Limit::Budget), price(Limit::K));
        assert!(budget_price > 0.0 && place > 0.0);
        let beyond = instance.values.iter().zip(costs).map(|(s, c)| (s - budget_price * c - place).max(0.0));
        let bound = beyond.sum::<f64>() + budget_price * limit + place * (n / 50) as f64;
        assert!(bound >= found.objective * (1.0 - 1e-12) && bound <= found.objective * (1.0 + 2e-5), "{bound}");
        assert!(found.arms.len() <= n / 50 && cost(&instance, &found.arms) <= limit * (1.0 + 1e-12));
    }
}

/// Ten clusters of identical arms: answered without a search through every tie, with an honest bound.
#[test]
fn many_equal_arms_do_not_stall_the_search() {
    let mut rng = Rng(36);
    let mut instance = large(&mut rng, 50_000);
    for row in 0..50_000 {
        instance.values[row] = (row % 10) as f64 + 1.0;
        instance.columns[0].1[row] = ((row % 10) * 3 + 2) as f64;
    }
    let budget =
        Budget { cost: "cost".to_owned(), budget: Some(100_001.5), budgets: None, k: Some(9_000), per_row: None };
    let found = instance.with(|scores| budget.argmax(scores)).unwrap();
    assert!(cost(&instance, &found.arms) <= 100_001.5);
    assert!(found.upper_bound - found.objective <= 1e-3 * found.objective, "{}", found.upper_bound - found.objective);
    order_does_not_matter(&budget, &instance, &mut rng);
}

#[test]
fn three_tenths_fit_three_arms_of_a_tenth() {
    let mut rng = Rng(37);
    let mut instance = large(&mut rng, 4);
    instance.columns[0].1 = vec![0.1; 4];
    let constraint: Constraint = toml::from_str("kind = \"budget\"\ncost = \"cost\"\nbudget = 0.3").unwrap();
    assert_eq!(instance.with(|scores| constraint.argmax(scores)).unwrap().arms.len(), 3);
}

/// JSON has no infinity and TOML no null; both say "none".
#[test]
fn a_block_without_a_budget_survives_json_and_toml() {
    let budget = Budget {
        cost: "cost".to_owned(),
        budget: None,
        budgets: Some(vec![2.5, f64::INFINITY, 0.0]),
        k: Some(3),
        per_row: None,
    };
    let constraint = Constraint::Budget(budget.clone());
    let json = serde_json::to_string(&constraint).unwrap();
    assert!(json.contains(r#""budgets":[2.5,"none",0.0]"#), "{json}");
    assert_eq!(serde_json::from_str::<Constraint>(&json).unwrap(), constraint);
    let toml = toml::to_string(&constraint).unwrap();
    assert_eq!(toml::from_str::<Constraint>(&toml).unwrap(), constraint, "{toml}");
    let read = |text: &str| serde_json::from_str::<Budget>(&format!(r#"{{"cost": "cost", "k": 3{text}}}"#));
    assert_eq!(read(r#", "budgets": [2.5, null, 0]"#).unwrap(), budget);
    let inf = "cost = \"cost\"\nk = 3\nbudgets = [2.5, inf, 0]";
    assert_eq!(toml::from_str::<Budget>(inf).unwrap(), budget);
    assert_eq!(read("").unwrap().budgets, None);
    assert_eq!(read(r#", "budgets": null"#).unwrap().budgets, None);
    assert!(read(r#", "budgets": ["all"]"#).is_err());
}

#[test]
fn mistakes_are_errors() {
    let mut rng = Rng(38);
    let mut instance = large(&mut rng, 3);
    let ask = |instance: &Instance, text: &str| {
        let constraint: Constraint = toml::from_str(&format!("kind = \"budget\"\ncost = \"cost\"\n{text}")).unwrap();
        instance.with(|scores| constraint.argmax(scores))
    };
    assert!(matches!(ask(&instance, ""), Err(Error::Constraint(_))));
    assert!(matches!(ask(&instance, "budget = -1.0"), Err(Error::Parameter { name: "budget", .. })));
    assert!(matches!(ask(&instance, "budget = 1.0\nk = 0"), Err(Error::Parameter { name: "k", .. })));
    assert!(matches!(ask(&instance, "budgets = [1.0, 2.0]"), Err(Error::Dimension { .. })));
    assert!(ask(&instance, "budget = 0.0").unwrap().arms.is_empty());
    assert_eq!(ask(&instance, "budgets = [inf]").unwrap().arms.len(), 3);
    instance.columns[0].1[2] = -0.5;
    assert!(matches!(ask(&instance, "budget = 1.0"), Err(Error::ColumnValue { row: 2, .. })));
    instance.columns[0].1[2] = 0.5;
    instance.values[1] = f64::NAN;
    assert!(matches!(ask(&instance, "budget = 1.0"), Err(Error::ScoreNotFinite { row: 1, .. })));
}

/// Arms that fit every budget alone.
fn alone(instance: &Instance, budget: &Budget) -> Vec<Pick> {
    let fits = |arm: &Pick| fits(instance, &Budget { k: None, per_row: None, ..budget.clone() }, &[*arm]);
    instance.eligible().into_iter().filter(fits).collect()
}

/// The bound that prices prove: no super arm is worth more, whatever the prices.
fn dual(instance: &Instance, budget: &Budget, prices: &[Price]) -> f64 {
    let price = |of: Limit| prices.iter().find(|price| price.of == of).map_or(0.0, |price| price.value);
    let of_block = |block: usize| price(Limit::Block(block));
    let mut bound =
        price(Limit::Budget) * budget.budget.unwrap_or(0.0) + price(Limit::K) * budget.k.unwrap_or(0) as f64;
    for (block, limit) in budget.budgets.iter().flatten().enumerate() {
        bound += of_block(block) * limit;
    }
    for row in 0..instance.ids.len() {
        let arms = alone(instance, budget).into_iter().filter(|arm| arm.row == row);
        let worth = |arm: Pick| {
            let units = price(Limit::Budget) + of_block(arm.block);
            instance.score(arm) - units * instance.column("cost", arm) - price(Limit::K)
        };
        let mut worth: Vec<f64> = arms.map(worth).map(|worth| worth.max(0.0)).collect();
        worth.sort_unstable_by(|a, b| b.total_cmp(a));
        bound += worth.into_iter().take(budget.per_row.unwrap_or(usize::MAX)).sum::<f64>();
    }
    bound
}

/// The least bound of all prices, for one budget: the bound is convex in its price, with kinks only where two arms, or
/// an arm and nothing, are worth the same; the best price of a place is then the worth of some arm.
fn least_dual(instance: &Instance, budget: &Budget) -> f64 {
    let lines: Vec<(f64, f64)> =
        alone(instance, budget).iter().map(|&arm| (instance.score(arm), instance.column("cost", arm))).collect();
    let zero = [(0.0, 0.0)];
    let crossing = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0) / (a.1 - b.1);
    let kinks = lines.iter().flat_map(|a| lines.iter().chain(&zero).map(move |b| crossing(a, b)));
    let kinks: Vec<f64> = kinks.filter(|price| price.is_finite() && *price > 0.0).chain([0.0]).collect();
    let named = |of: Limit, value: f64| Price { of, value };
    let bound = |price: f64| {
        let places = lines.iter().map(|line| line.0 - price * line.1).filter(|&place| place > 0.0).chain([0.0]);
        let places = places.filter(|&place| budget.k.is_some() || place <= 0.0);
        let bounds = places.map(|place| dual(instance, budget, &[named(Limit::Budget, price), named(Limit::K, place)]));
        bounds.fold(f64::INFINITY, f64::min)
    };
    kinks.into_iter().map(bound).fold(f64::INFINITY, f64::min)
}

/// Another amount of a limit changes the best sum by at most its price per unit, up to what whole arms leave open
/// between the best sum and the bound; and for one budget no prices give a lower bound.
#[test]
fn prices_bound_what_more_or_less_of_a_limit_is_worth() {
    let mut rng = Rng(39);
    let (mut tight, mut one, mut met) = (0, 0, 0);
    for _ in 0..1_000 {
        let (instance, budget) = random(&mut rng);
        let found = instance.with(|scores| budget.argmax(scores)).unwrap();
        assert!(found.prices.iter().all(|price| price.value >= 0.0));
        let bound = dual(&instance, &budget, &found.prices);
        let open = bound - found.objective;
        assert!(open >= -1e-9, "{instance:?} {budget:?} {found:?}");
        met += usize::from(open < 1e-9);
        for price in &found.prices {
            tight += usize::from(price.value > 0.0);
            for step in [-3.0, -1.0, -0.5, 0.125, 0.5, 1.0, 4.0] {
                let mut other = budget.clone();
                let block = if let Limit::Block(block) = price.of { Some(block) } else { None };
                let amount = match (block, &mut other) {
                    (Some(block), Budget { budgets: Some(budgets), .. }) => &mut budgets[block],
                    (None, Budget { budget: Some(budget), .. }) if price.of == Limit::Budget => budget,
                    (_, Budget { k: Some(k), .. }) => {
                        if step != -1.0 && step != 1.0 || (*k == 1 && step < 0.0) {
                            continue;
                        }
                        *k = if step > 0.0 { *k + 1 } else { *k - 1 };
                        &mut 0.0
                    }
                    other => panic!("{other:?}"),
                };
                *amount += step;
                if *amount < 0.0 && price.of != Limit::K {
                    continue;
                }
                // Prices speak of the arms that fit alone; more of a limit may let others in.
                if step > 0.0 && alone(&instance, &other).len() > alone(&instance, &budget).len() {
                    continue;
                }
                let then = instance.best(|set| fits(&instance, &other, set)).unwrap();
                let most = price.value * step + open + 1e-9;
                assert!(then - found.objective <= most, "{price:?} {step} {instance:?} {budget:?} {found:?}");
            }
        }
        if budget.budgets.is_none() {
            one += 1;
            let least = least_dual(&instance, &budget);
            assert!(bound <= least + 1e-9, "{bound} {least} {instance:?} {budget:?} {found:?}");
        }
    }
    assert!(tight > 300 && one > 200 && met > 50, "{tight} {one} {met}");
}

/// A hundred thousand promotions for a few customers: nothing is as deep, or as slow, as there are promotions squared.
#[test]
fn a_hundred_thousand_promotions_are_no_trouble() {
    let mut rng = Rng(40);
    let (rows, blocks) = (3, 100_000);
    let instance = Instance {
        blocks,
        ids: vec![5, 1, 3],
        values: (0..rows * blocks).map(|_| (1 + rng.below(5)) as f64 / 8.0).collect(),
        columns: vec![("cost", (0..rows * blocks).map(|_| (1 + rng.below(3)) as f64 / 8.0).collect(), blocks)],
        ties: armwise::Ties::ById,
    };
    let one = Budget { cost: "cost".to_owned(), budget: Some(100.0), budgets: None, k: None, per_row: Some(1_000) };
    let each = Budget { budget: None, budgets: Some(vec![0.25; blocks]), ..one.clone() };
    for (budget, least) in [(one, 400.0), (each.clone(), 1_875.0), (Budget { k: Some(50), ..each }, 31.0)] {
        let found = instance.with(|scores| budget.argmax(scores)).unwrap();
        assert!(found.objective >= least && found.upper_bound >= found.objective, "{} {budget:?}", found.objective);
        assert!(found.upper_bound <= 1.2 * found.objective, "{}", found.upper_bound / found.objective);
    }
}

/// Costs of very different sizes: refused, or right; and prices that underflow come to an end.
#[test]
fn costs_of_any_size_are_kept_or_refused() {
    let solve = |values: &[f64], costs: &[f64], blocks: usize, budget: Budget| {
        let features = vec![0.0; values.len() / blocks];
        let columns = [armwise::Column { name: "cost", values: costs }];
        let arms = armwise::Arms::new(&features, 1).expect("rows").with_columns(&columns).expect("columns");
        let round = armwise::Round::new(1, 1);
        let scores = armwise::Scores::new(values, blocks, arms, armwise::Ties::ById, round).expect("scores");
        budget.argmax(&scores)
    };
    let budget = |budget, budgets, k| Budget { cost: "cost".to_owned(), budget, budgets, k, per_row: None };
    let costs = [1e30, 0.6, 1e30, 0.6, 1e30, 0.6];
    // No budget concerns block 0, so its costs do not matter; block 1 has room for one.
    let found = solve(&[1.0; 6], &costs, 2, budget(None, Some(vec![f64::INFINITY, 1.0]), None)).expect("feasible").arms;
    assert_eq!(found.iter().filter(|arm| arm.block == 1).count(), 1);
    assert_eq!(found.len(), 4);
    let found = solve(&[1.0; 6], &costs, 2, budget(None, Some(vec![1e30, 1.0]), Some(100)));
    assert!(matches!(found, Err(Error::Constraint(_))), "{found:?}");
    let found = solve(&[1e-300; 2], &[1e300; 2], 1, budget(Some(1e300), None, None));
    assert!(matches!(found, Err(Error::Constraint(_))), "{found:?}");
}
