//! Arms that compete for several things: assignment, budgets, nested quotas, against counted draws of the library's own
//! choices, and blocks on their own.

use crate::common::{draws, learner, near};
use armwise::{
    Algorithm, Arms, Assignment, Column, Constraint, Learner, Method, OnInfeasible, Oracle, Pick, Quota, Round,
};

/// How often each arm of fresh rounds is chosen, row-major, as a share.
fn shares(learner: &Learner, arms: &Arms<'_>, oracle: &dyn Oracle, blocks: usize, replicates: usize) -> Vec<f64> {
    let mut counts = vec![0_usize; arms.len() * blocks];
    for number in 0..replicates as u64 {
        let decision = learner.choose(Round::new(5_000 + number, 2), arms, oracle).unwrap();
        decision.arms.iter().for_each(|arm| counts[arm.id as usize * blocks + arm.block as usize] += 1);
    }
    counts.into_iter().map(|count| count as f64 / replicates as f64).collect()
}

/// Within 4 standard errors of both, 5 for the largest of many; and no bias over all of them.
fn agree(found: &armwise::Inclusion, shares: &[f64], replicates: usize, what: &str) {
    let (mut sum, mut variance, mut far) = (0.0, 0.0, 0);
    for ((pi, error), share) in found.probabilities.iter().zip(&found.standard_errors).zip(shares) {
        let own = pi.max(*share) * (1.0 - pi.min(*share)) / replicates as f64;
        let both = (error * error + own).sqrt() + 2.0 / replicates as f64;
        let z = (pi - share) / both;
        assert!(z.abs() < 6.0, "{what}: {pi} +- {error}, counted {share}");
        far += usize::from(z.abs() > 4.0);
        sum += z;
        variance += 1.0;
    }
    assert!(far <= 1 + shares.len() / 300, "{what}: {far} of {} beyond 4 standard errors", shares.len());
    // Neighbours' errors go together, so this is generous.
    assert!(f64::abs(sum) < 12.0 * f64::sqrt(variance), "{what}: the mean is off: {}", sum / f64::sqrt(variance));
}

pub(crate) fn rows(seed: u64, n: usize) -> Vec<f64> {
    let u = draws(seed);
    (0..n as u64).flat_map(|i| [u.uniform(2 * i), 0.2 + 0.6 * u.uniform(2 * i + 1)]).collect()
}

/// A learner of 5 blocks that has seen 40 answers in each.
pub(crate) fn promotions() -> Learner {
    let mut learner = Learner::new(Algorithm::new("arm-wise-ts", &[("v", 0.4)]).unwrap(), 2, 5).unwrap();
    for block in 0..5_u32 {
        let theta = [1.0 - 0.1 * f64::from(block), 0.3 * f64::from(block % 3)];
        for i in 0..40 {
            let x = [f64::from(i % 7) / 7.0, f64::from(i % 5) / 5.0];
            let reward = theta[0] * x[0] + theta[1] * x[1];
            learner.observe(&[armwise::Observation { t: 1, block, x: &x, reward }]).unwrap();
        }
    }
    learner
}

/// Columns of 60 arms.
pub(crate) struct Table([Vec<f64>; 3]);

pub(crate) fn columns() -> Table {
    let u = draws(56);
    let of = |value: &dyn Fn(u64) -> f64| (0..60).map(value).collect();
    Table([of(&|i| 0.5 + u.uniform(i)), of(&|i| (i % 3) as f64), of(&|i| (i % 6) as f64)])
}

impl Table {
    pub(crate) fn columns(&self) -> [Column<'_>; 3] {
        let [cost, region, city] = &self.0;
        [("cost", cost), ("region", region), ("city", city)].map(|(name, values)| Column { name, values })
    }
}

/// 200 rows and 5 blocks with quotas, exact and in ranges.
#[test]
fn assignment_agrees_with_counting() {
    let learner = promotions();
    let x = rows(31, 200);
    let arms = Arms::new(&x, 2).unwrap();
    let ranges =
        vec![Quota::Exactly(8), Quota::between(2, 12), Quota::at_most(10), Quota::Exactly(15), Quota::between(1, 4)];
    for assignment in [Assignment::new(vec![12, 10, 8, 6, 4]), Assignment::new(ranges)] {
        let found = learner.inclusion(Round::new(1, 2), &arms, &assignment, Some(400)).unwrap();
        assert_eq!((found.method, found.replicates), (Method::CriticalValue, 400));
        let replicates = 20_000;
        agree(&found, &shares(&learner, &arms, &assignment, 5, replicates), replicates, "assignment");
        let of = |block: usize| found.probabilities.iter().skip(block).step_by(5).sum::<f64>();
        if assignment == Assignment::new(vec![12, 10, 8, 6, 4]) {
            let quotas = [12.0, 10.0, 8.0, 6.0, 4.0];
            // Unbiased, not exact: in one fresh round the sum strays by about the root of the quota.
            let error = |quota: f64| 4.0 * (quota / 400.0).sqrt();
            quotas
                .iter()
                .enumerate()
                .for_each(|(block, &quota)| near(of(block), quota, error(quota), "the sum of a block"));
        }
    }
    // Rows that may be in every block: blocks are sets of their own, and exact.
    let apart = Assignment { per_row: 5, ..Assignment::new(vec![12, 10, 8, 6, 4]) };
    let found = learner.inclusion(Round::new(1, 2), &arms, &apart, None).unwrap();
    assert_eq!((found.method, found.laws.len()), (Method::Exact, 5));
    for (block, quota) in [12.0, 10.0, 8.0, 6.0, 4.0].into_iter().enumerate() {
        near(found.probabilities.iter().skip(block).step_by(5).sum(), quota, 1e-9 * quota, "the sum of a block");
    }
}

/// Prices by chains of moves, against solving again without the row: the critical value of one arm at a time.
#[test]
fn a_row_is_chosen_exactly_if_it_passes_its_prices() {
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", 0.4)], 3);
    let x = rows(77, 12);
    let arms = Arms::new(&x, 2).unwrap();
    let assignment = Assignment::new(vec![Quota::Exactly(2), Quota::between(1, 3), Quota::at_most(2)]);
    // Both are means over the same fresh rounds: of the row's chance given all other rows, and of the arm's given all
    // other arms. They differ by what the row's other arms add, and agree in expectation.
    let by_rows = learner.inclusion(Round::new(1, 2), &arms, &assignment, Some(4_000)).unwrap();
    let capped = Assignment {
        time_limit: 59.0,
        groups: vec![armwise::oracle::Group { column: "one".into(), max: Some(12), ..Default::default() }],
        ..assignment.clone()
    };
    let one = vec![1.0; 12];
    let columns = [Column { name: "one", values: &one }];
    let grouped = arms.with_columns(&columns).unwrap();
    let by_arms = learner.inclusion(Round::new(1, 2), &grouped, &capped, Some(1_000)).unwrap();
    assert_eq!(by_arms.method, Method::CriticalValue);
    for place in 0..36 {
        let error = by_rows.standard_errors[place].hypot(by_arms.standard_errors[place]);
        near(by_rows.probabilities[place], by_arms.probabilities[place], 4.5 * error + 1e-9, "two ways");
    }
}

#[test]
fn budgets_and_nested_quotas_agree_with_counting() {
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", 0.4)], 1);
    let x = rows(55, 60);
    let table = columns();
    let columns = table.columns();
    let arms = Arms::new(&x, 2).unwrap().with_columns(&columns).unwrap();
    for (text, method) in [
        (r#"{"kind": "budget", "cost": "cost", "budget": 9}"#, Method::CriticalValue),
        (
            r#"{"kind": "quotas", "k": 12, "min": 12, "groups": [{"column": "region", "max": 5, "min": 3}, {"column": "city", "max": 4}]}"#,
            Method::CriticalValue,
        ),
        (r#"{"kind": "quotas", "groups": [{"column": "region", "exactly": 4}]}"#, Method::Exact),
        (
            r#"{"kind": "quotas", "groups": [{"column": "region", "value": [0, 1], "exactly": 7}, {"column": "region", "value": 2, "max": 3}]}"#,
            Method::Exact,
        ),
    ] {
        let constraint: Constraint = serde_json::from_str(text).unwrap();
        let replicates = 20_000;
        let found = learner.inclusion(Round::new(1, 2), &arms, &constraint, Some(100)).unwrap();
        assert_eq!(found.method, method, "{text}");
        let shares = shares(&learner, &arms, &constraint, 1, replicates);
        if method == Method::Exact {
            let sampled = armwise::Inclusion { standard_errors: vec![0.0; 60], ..found };
            agree(&sampled, &shares, replicates, text);
        } else {
            agree(&found, &shares, replicates, text);
        }
    }
}

/// Whatever shares its draw is counted, whatever draws nothing is certain, and a decision keeps what was found.
#[test]
fn every_policy_says_how_it_was_found() {
    let x = rows(91, 40);
    let arms = Arms::new(&x, 2).unwrap();
    let top = Constraint::top_k(5);
    for (name, method) in [
        ("greedy", Method::Degenerate),
        ("c2ucb", Method::Degenerate),
        ("comblin-ucb", Method::Degenerate),
        ("hallucinated-c2ucb", Method::Degenerate),
        ("round-wise-ts", Method::Counted),
        ("comblin-ts", Method::Counted),
        ("arm-wise-ts", Method::Exact),
        ("pc2ucb", Method::Exact),
        ("random", Method::Exact),
    ] {
        let learner = learner(name, &[], 1);
        let mut decision = learner.choose(Round::new(1, 2), &arms, &top).unwrap();
        let before = serde_json::to_string(&decision).unwrap();
        assert!(!before.contains("probability") && !before.contains("method"), "{before}");
        let found = learner.add_probabilities(&mut decision, &arms, &top, Some(200)).unwrap();
        assert_eq!((found.method, decision.method), (method, Some(method)), "{name}");
        assert_eq!(found.replicates, if method == Method::Counted { 200 } else { 0 }, "{name}");
        let pi: Vec<f64> = decision.arms.iter().map(|arm| arm.probability.unwrap()).collect();
        assert_eq!(pi, found.probabilities);
        let sum: f64 = learner.inclusion(Round::new(1, 2), &arms, &top, Some(200)).unwrap().probabilities.iter().sum();
        near(sum, 5.0, 1e-9, name);
        assert_eq!(
            serde_json::from_str::<armwise::Decision>(&serde_json::to_string(&decision).unwrap()).unwrap(),
            decision
        );
        assert_eq!(serde_json::from_str::<armwise::Decision>(&before).unwrap().method, None);
        let some =
            learner.inclusion_of(Round::new(1, 2), &arms, &top, &[Pick { row: 7, block: 0 }], Some(200)).unwrap();
        assert_eq!(some.probabilities.len(), 1);
    }
    let error = learner("random", &[], 1).inclusion(Round::new(1, 2), &arms, &Constraint::top_k(41), None).unwrap_err();
    assert!(matches!(error, armwise::Error::Infeasible(_)), "{error}");
    let error = learner("random", &[], 1).inclusion(Round::new(1, 2), &arms, &top, Some(0)).unwrap_err();
    assert!(matches!(error, armwise::Error::Parameter { name: "replicates", .. }), "{error}");
}

/// A promotion of which exactly as many rows may have it as it wants takes them all, whatever they score. Under "fill" that
/// is no error but a missing unit, which comes before all scores as well: they had a probability of 0.5.
#[test]
fn whoever_is_needed_for_a_minimum_is_certain() {
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", 0.4)], 3);
    let x = rows(78, 20);
    let eligible: Vec<bool> = (0..60).map(|place| place % 3 != 2 || place / 3 % 5 == 0).collect();
    let arms = Arms::new(&x, 2).unwrap().with_eligible(&eligible).unwrap();
    let fill =
        |quotas: [usize; 3]| Assignment { on_infeasible: OnInfeasible::Fill, ..Assignment::new(quotas.to_vec()) };
    for (what, assignment) in [
        ("by prices of rows", fill([3, 2, 4])),
        ("two of three a row", Assignment { per_row: 2, ..fill([3, 2, 4]) }),
        ("more wanted than there are", fill([3, 2, 6])),
        ("more wanted, two a row", Assignment { per_row: 2, ..fill([3, 2, 6]) }),
    ] {
        let found = learner.inclusion(Round::new(1, 2), &arms, &assignment, Some(200)).unwrap();
        assert_eq!(found.method, Method::CriticalValue, "{what}");
        for row in [0, 5, 10, 15] {
            near(found.probabilities[row * 3 + 2], 1.0, 1e-9, what);
        }
        agree(&found, &shares(&learner, &arms, &assignment, 3, 10_000), 10_000, what);
    }
}

/// Rows of zeros have no width and tie with each other and with staying outside: ids decide.
#[test]
fn rows_of_zeros_in_an_assignment_agree_with_counting() {
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", 0.4)], 2);
    let mut x = vec![0.0; 20];
    x[6..14].copy_from_slice(&[0.3, 0.5, -0.2, 0.6, 0.1, 0.4, 0.0, 0.5]);
    let arms = Arms::new(&x, 2).unwrap();
    for (what, assignment) in [
        ("exact quotas", Assignment::new(vec![3, 3])),
        ("ranges", Assignment::new(vec![Quota::between(2, 4), Quota::at_most(3)])),
    ] {
        let found = learner.inclusion(Round::new(1, 2), &arms, &assignment, Some(400)).unwrap();
        agree(&found, &shares(&learner, &arms, &assignment, 2, 10_000), 10_000, what);
        if what == "exact quotas" {
            near(found.probabilities.iter().sum(), 6.0, 0.2, what);
        }
    }
}

/// General rows, lists and shared draws are counted, from draws of their own.
#[test]
fn what_is_counted_agrees_with_counting_again() {
    let x = rows(91, 12);
    let weight: Vec<f64> = (0..12).map(|row| f64::from(row % 3 + 1)).collect();
    let columns = [Column { name: "weight", values: &weight }];
    let arms = Arms::new(&x, 2).unwrap().with_columns(&columns).unwrap();
    let explicit = r#"{"kind": "explicit", "super_arms": [[0, 1], [2, 3, 4], [5, 11], [7]]}"#;
    let linear = r#"{"kind": "linear", "time_limit": 5, "rows": [{"name": "weight", "column": "weight", "hi": 5}]}"#;
    let best = r#"{"kind": "top-k", "k": 3}"#;
    let own = r#"{"name": "arm-wise-ts", "lambda": 1.0, "v": 0.4}"#;
    let scope = |scope: &str| format!(r#"{{"name": "arm-wise-ts", "lambda": 1.0, "v": 0.4, "scope": {scope}}}"#);
    let mut problems = vec![
        (own.to_owned(), explicit),
        (scope(r#""shared""#), best),
        (scope(r#"{"mixed": 0.5}"#), best),
        (scope(r#"{"group": "weight"}"#), best),
    ];
    if cfg!(feature = "linear") {
        problems.push((own.to_owned(), linear));
    }
    for (policy, constraint) in problems {
        let algorithm: Algorithm = serde_json::from_str(&policy).unwrap();
        let learner = Learner::with_model(algorithm, learner("greedy", &[], 1).model().clone()).unwrap();
        let oracle: Constraint = serde_json::from_str(constraint).unwrap();
        let replicates = if constraint == linear { 200 } else { 4_000 };
        let found = learner.inclusion(Round::new(1, 2), &arms, &oracle, Some(replicates)).unwrap();
        assert_eq!((found.method, found.replicates), (Method::Counted, replicates), "{policy} {constraint}");
        agree(&found, &shares(&learner, &arms, &oracle, 1, replicates), replicates, constraint);
    }
}

/// Where some arms are asked for, so many fresh rounds are taken as they need; the same ones for a decision, for its arms,
/// and for all arms around them.
#[test]
fn as_many_fresh_rounds_are_taken_as_the_arms_need() {
    let (learner, x) = (promotions(), rows(31, 200));
    let arms = Arms::new(&x, 2).unwrap();
    let round = Round::new(3, 2);
    for quotas in [vec![12, 10, 8, 6, 4], vec![30, 30, 20, 20, 20]] {
        let assignment = Assignment::new(quotas);
        let decision = learner.choose(round, &arms, &assignment).unwrap();
        let picks: Vec<Pick> =
            decision.arms.iter().map(|arm| Pick { row: arm.id as usize, block: arm.block as usize }).collect();
        let own = learner.inclusion_of(round, &arms, &assignment, &picks, None).unwrap();
        assert!((16..=256).contains(&own.replicates), "{}", own.replicates);
        let relative = own.probabilities.iter().zip(&own.standard_errors).map(|(pi, error)| (error / pi).powi(2));
        let relative = (relative.sum::<f64>() / picks.len() as f64).sqrt();
        // What 16 rounds tell about the error is itself uncertain.
        assert!(own.replicates == 256 || relative < 0.075, "{relative} from {}", own.replicates);
        let all = learner.inclusion_around(round, &arms, &assignment, &picks).unwrap();
        assert_eq!((all.replicates, all.probabilities.len()), (own.replicates, 1_000));
        for (pick, pi) in picks.iter().zip(&own.probabilities) {
            assert_eq!(all.probabilities[pick.row * 5 + pick.block], *pi);
        }
        let fixed = learner.inclusion(round, &arms, &assignment, None).unwrap();
        assert_eq!(fixed.replicates, 16);
    }
}

/// Around the arms of a decision under a budget the others are counted, and agree with critical values of all of them.
#[test]
fn under_a_budget_only_the_chosen_arms_have_solutions_of_their_own() {
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", 0.4)], 1);
    let (x, table) = (rows(55, 60), columns());
    let columns = table.columns();
    let arms = Arms::new(&x, 2).unwrap().with_columns(&columns).unwrap();
    let budget: Constraint = serde_json::from_str(r#"{"kind": "budget", "cost": "cost", "budget": 9}"#).unwrap();
    let round = Round::new(1, 2);
    let mut decision = learner.choose(round, &arms, &budget).unwrap();
    let own = learner.add_probabilities(&mut decision, &arms, &budget, None).unwrap();
    let picks: Vec<Pick> = decision.arms.iter().map(|arm| Pick { row: arm.id as usize, block: 0 }).collect();
    let found = learner.inclusion_around(round, &arms, &budget, &picks).unwrap();
    assert_eq!((found.method, found.replicates), (Method::CriticalValue, own.replicates));
    for (pick, pi) in picks.iter().zip(&own.probabilities) {
        assert_eq!(found.probabilities[pick.row], *pi);
    }
    let all = learner.inclusion(round, &arms, &budget, Some(400)).unwrap();
    for arm in 0..60 {
        // Of a rare arm few of 1,024 counts are expected.
        let error = found.standard_errors[arm].hypot(all.standard_errors[arm]) + 2.0 / 1024.0;
        near(found.probabilities[arm], all.probabilities[arm], 4.5 * error, "counted and computed");
    }
}
