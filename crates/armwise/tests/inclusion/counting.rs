//! Probabilities against millions of counted draws: scores drawn by the letter from means and widths, the oracle asked for
//! the best of them, in batches over all cores. `make inclusion` counts ten million draws of each problem in place of some
//! thousands, and prints what it found.

#![expect(clippy::print_stdout, reason = "what was found, for the long form")]

use crate::common::{laws, learner};
use crate::competing::{columns, promotions, rows};
use crate::top_k::usual;
use armwise::{Arms, Assignment, Constraint, Inclusion, Learner, Oracle, Quota, Round, Scores, Stream, Ties};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Draws of a batch.
const BATCH: usize = 1_000;

/// How many draws are counted, and from how many fresh rounds critical values come.
fn sizes(usually: usize) -> (usize, usize) {
    let asked = std::env::var("ARMWISE_COUNTED").ok().and_then(|text| text.parse().ok());
    asked.map_or((usually, 400), |counted: usize| (counted, 20_000))
}

/// How often each arm is chosen, row-major, as a share; scores are normal with these means and deviations.
fn shares(laws: &[[f64; 2]], blocks: usize, arms: &Arms<'_>, oracle: &dyn Oracle, counted: usize) -> Vec<f64> {
    let (next, ids) = (AtomicUsize::new(0), (0..laws.len() as u64).collect::<Vec<u64>>());
    let work = || {
        let (mut counts, mut z, mut scores) = (vec![0_u64; laws.len()], vec![0.0; laws.len()], vec![0.0; laws.len()]);
        // A hint that makes an assignment faster and never changes it.
        let mut prices = Vec::new();
        loop {
            let first = BATCH * next.fetch_add(1, Relaxed);
            if first >= counted {
                return counts;
            }
            for number in first..counted.min(first + BATCH) {
                let round = Round::new(77, number as u64 + 1);
                round.draws(0, Stream(1001)).normals(&ids, &mut z);
                scores.iter_mut().zip(laws.iter().zip(&z)).for_each(|(score, ([m, s], z))| *score = m + s * z);
                let scores = Scores::new(&scores, blocks, *arms, Ties::ById, round).unwrap();
                let best = oracle.argmax_near(&scores, &prices).unwrap();
                best.arms.iter().for_each(|arm| counts[arm.row * blocks + arm.block] += 1);
                prices = best.prices;
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let all: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    (0..laws.len()).map(|arm| all.iter().map(|counts| counts[arm]).sum::<u64>() as f64 / counted as f64).collect()
}

/// Compares with counted draws: the difference in its own standard errors, which are those of the counts and, where it was
/// sampled, of the probability. Of n arms chance lets 6.3e-5 n beyond 4 of them; more than 1 and twice that fails, as does
/// any beyond 6. An arm that is expected, or expected to be missing, less than 10 times may be off by 8 counts.
fn compare(learner: &Learner, arms: &Arms<'_>, oracle: &dyn Oracle, blocks: usize, usually: usize, what: &str) {
    let ((counted, fresh), round) = (sizes(usually), Round::new(1, 6));
    let found = learner.inclusion(round, arms, oracle, Some(fresh)).unwrap();
    let factor = learner.law(round, 0).unwrap().unwrap().factor;
    let laws: Vec<[f64; 2]> =
        laws(learner, arms, blocks).into_iter().map(|[mean, width]| [mean, factor * width]).collect();
    let shares = shares(&laws, blocks, arms, oracle, counted);
    let (mut far, mut most, mut rarest) = (0, 0.0_f64, 1.0_f64);
    for (arm, (pi, share)) in found.probabilities.iter().zip(&shares).enumerate() {
        let own = found.standard_errors.get(arm).copied().unwrap_or(0.0);
        let n = counted as f64;
        let error = own.hypot((pi.max(*share) * (1.0 - pi.min(*share)) / n).sqrt());
        if pi.max(*share).min(1.0 - pi.min(*share)) * n < 10.0 {
            assert!((pi - share).abs() * n < 8.0 + 4.0 * own * n, "{what}: {pi} +- {own}, counted {share}");
            continue;
        }
        let z = (pi - share) / error;
        assert!(z.abs() < 6.0, "{what}: {pi} +- {own}, counted {share}");
        far += usize::from(z.abs() > 4.0);
        (most, rarest) = (most.max(z.abs()), rarest.min(*share));
    }
    let Inclusion { method, replicates, .. } = found;
    println!(
        "{what}: {counted} draws, {} from {replicates} fresh rounds, {} arms, the rarest compared {rarest:.1e}: {far} beyond \
         4 standard errors, {most:.2} at most",
        method.name(),
        shares.len()
    );
    assert!(far as f64 <= 1.0 + 2.0 * 6.3e-5 * shares.len() as f64, "{what}: {far} beyond 4 standard errors");
}

#[test]
fn the_best_100_of_2000_are_those_of_counted_draws() {
    let (learner, x) = usual("arm-wise-ts", 2_000);
    compare(&learner, &Arms::new(&x, 11).unwrap(), &Constraint::top_k(100), 1, 40_000, "top 100 of 2,000");
}

#[test]
fn an_assignment_of_200_rows_to_5_blocks_is_that_of_counted_draws() {
    let (learner, x) = (promotions(), rows(31, 200));
    let arms = Arms::new(&x, 2).unwrap();
    compare(&learner, &arms, &Assignment::new(vec![12, 10, 8, 6, 4]), 5, 10_000, "assignment 200 x 5");
    let ranges =
        vec![Quota::Exactly(8), Quota::between(2, 12), Quota::at_most(10), Quota::Exactly(15), Quota::between(1, 4)];
    compare(&learner, &arms, &Assignment::new(ranges), 5, 10_000, "assignment 200 x 5 in ranges");
}

#[test]
fn budgets_and_quotas_are_those_of_counted_draws() {
    let learner = learner("arm-wise-ts", &[("lambda", 1.0), ("v", 0.4)], 1);
    let (x, table) = (rows(55, 60), columns());
    let columns = table.columns();
    let arms = Arms::new(&x, 2).unwrap().with_columns(&columns).unwrap();
    for (name, text) in [
        ("budget", r#"{"kind": "budget", "cost": "cost", "budget": 9}"#),
        (
            "nested quotas",
            r#"{"kind": "quotas", "k": 12, "min": 12, "groups": [{"column": "region", "max": 5, "min": 3}, {"column": "city", "max": 4}]}"#,
        ),
        ("quotas", r#"{"kind": "quotas", "groups": [{"column": "region", "exactly": 4}]}"#),
    ] {
        let constraint: Constraint = serde_json::from_str(text).unwrap();
        compare(&learner, &arms, &constraint, 1, 40_000, name);
    }
}

/// The standard error of critical values is to be believed though few fresh rounds are used, of rare arms, too: over many
/// seeds and arms the mean of few rounds against that of very many. Few rounds hold few of those in which a rare arm has
/// a chance, so it is the rare ones that a plain sample variance misjudges.
#[test]
fn standard_errors_of_critical_values_are_to_be_believed() {
    let (one, many) = (learner("arm-wise-ts", &[("lambda", 1.0), ("v", 0.4)], 1), promotions());
    let uniform = learner("pc2ucb", &[("lambda", 1.0), ("alpha", 0.3)], 1);
    let (x, table, wide) = (rows(55, 60), columns(), rows(31, 200));
    let columns = table.columns();
    let arms = Arms::new(&x, 2).unwrap().with_columns(&columns).unwrap();
    let wide = Arms::new(&wide, 2).unwrap();
    let constraint = |text: &str| -> Constraint { serde_json::from_str(text).unwrap() };
    let budget = constraint(r#"{"kind": "budget", "cost": "cost", "budget": 9}"#);
    let nested = constraint(
        r#"{"kind": "quotas", "k": 12, "min": 12, "groups": [{"column": "region", "max": 5, "min": 3}, {"column": "city", "max": 4}]}"#,
    );
    let assignment = Constraint::Assignment(Assignment::new(vec![12, 10, 8, 6, 4]));
    for (what, learner, arms, constraint) in [
        ("budget", &one, &arms, &budget),
        ("nested quotas", &one, &arms, &nested),
        ("assignment", &many, &wide, &assignment),
        ("budget, uniform draws", &uniform, &arms, &budget),
    ] {
        let many = if std::env::var_os("ARMWISE_COUNTED").is_some() { 40_000 } else { 5_000 };
        let truth = learner.inclusion(Round::new(900, 6), arms, constraint, Some(many)).unwrap();
        for fresh in [16, 100] {
            let seeds = if fresh == 16 { 40 } else { 10 };
            // How many comparisons, beyond 4 standard errors, and the same of rare arms; squares in standard errors.
            let (mut all, mut far, mut rare, mut rare_far, mut squares) = (0_usize, 0_usize, 0_usize, 0_usize, 0.0);
            let mut worst = (0.0_f64, 0.0, 0.0, 0.0);
            for seed in 0..seeds {
                let found = learner.inclusion(Round::new(seed, 6), arms, constraint, Some(fresh)).unwrap();
                for (arm, (pi, error)) in found.probabilities.iter().zip(&found.standard_errors).enumerate() {
                    let (exact, own) = (truth.probabilities[arm], truth.standard_errors[arm]);
                    if exact < 1e-9 {
                        continue;
                    }
                    // Certain, and known to be.
                    let z = if pi == &exact { 0.0 } else { (pi - exact) / error.hypot(own) };
                    if z.abs() > worst.0 {
                        worst = (z.abs(), *pi, *error, exact);
                    }
                    all += 1;
                    far += usize::from(z.abs() > 4.0);
                    squares += z * z;
                    if exact < 0.01 {
                        rare += 1;
                        rare_far += usize::from(z.abs() > 4.0);
                    }
                }
            }
            let spread = f64::sqrt(squares / all as f64);
            println!(
                "{what}, {fresh} fresh rounds: {far} of {all} beyond 4 standard errors, of rare arms {rare_far} of {rare}; \
                 root mean square {spread:.2}; worst {worst:?}"
            );
            // One arm's errors go together over its neighbours, so shares are compared, not counts with chance.
            assert!(
                200 * far <= all && 100 * rare_far <= rare,
                "{what}, {fresh}: {far} of {all}, {rare_far} of {rare} rare"
            );
            assert!(spread < 1.15, "{what}, {fresh}: {spread} standard errors in the mean");
        }
    }
}
