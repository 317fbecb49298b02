//! Scopes of randomness: the law of scores in each, who shares a draw with whom, and shortcuts that change nothing.
//!
//! The two-set problem at the end is played twice: by the library, and by a few lines that share nothing with it.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{
    Algorithm, ArmWiseTs, Arms, Assignment, BestOf, Catalogue, Column, Constraint, Decision, Draw, Error, Explicit,
    Lambda, Learner, Model, Observation, Oracle, Pc2ucb, Policy, Round, Schedule, Scope, Scores, Selection, number_of,
    oracle::Member,
};
use common::{bits, ks_distance, normal_cdf, rows, trained};

const GROUP: &str = "region";

fn scopes() -> [Scope; 6] {
    let group = Scope::group(GROUP).expect("a name");
    let [few, enough] = [BestOf::Draws(4), BestOf::Enough { k: 30 }].map(Scope::BestOf);
    [Scope::Own, Scope::Shared, Scope::Mixed(0.3), group, few, enough]
}

fn ts(scope: Scope) -> Algorithm {
    Algorithm::ArmWiseTs(ArmWiseTs { scope, ..ArmWiseTs::new(0.8, 0.5) })
}

fn pc2ucb(scope: Scope) -> Algorithm {
    Algorithm::Pc2ucb(Pc2ucb { scope, ..Pc2ucb::new(0.8, 0.5, 1.5) })
}

/// A learner that was taught by arms without columns.
fn taught(algorithm: Algorithm, d: usize, blocks: usize) -> Learner {
    trained(ts(Scope::Own), d, blocks, 4).with_policy(algorithm).expect("good parameters")
}

/// Scores of all rounds of a learner whose model stands still, one list per arm.
fn played(algorithm: Algorithm, arms: &Arms<'_>, rounds: u64) -> (Learner, Vec<Vec<f64>>) {
    let learner = taught(algorithm, arms.dim(), 2);
    let mut scores = vec![Vec::new(); arms.len() * 2];
    for t in 100..100 + rounds {
        let round = learner.scores(Round::new(9, t), arms).expect("finite");
        scores.iter_mut().zip(round).for_each(|(all, score)| all.push(score));
    }
    (learner, scores)
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len() as f64;
    let (mean_a, mean_b) = (a.iter().sum::<f64>() / n, b.iter().sum::<f64>() / n);
    let moment = |x: &[f64], mean_x: f64, y: &[f64], mean_y: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum()
    };
    moment(a, mean_a, b, mean_b) / (moment(a, mean_a, a, mean_a) * moment(b, mean_b, b, mean_b)).sqrt()
}

/// Against the stated laws, by means and widths of the posterior: a KS distance above 1.95 / sqrt(n) has probability
/// 0.001; 6 arms x 12 cases, so the bound is 2.3 / sqrt(n), below one in a thousand for all of them together.
#[test]
fn every_score_has_the_law_that_the_policy_tells() {
    const ROUNDS: u64 = 4_000;
    let x = rows(3, 1, 3, 5);
    let regions = [2.0, 2.0, 7.0];
    let columns = [Column { name: GROUP, values: &regions }];
    let arms = Arms::new(&x, 5).expect("rows").with_columns(&columns).expect("columns");
    for (scope, algorithm) in scopes().into_iter().flat_map(|scope| [(scope, ts(scope)), (scope, pc2ucb(scope))]) {
        let (learner, scores) = played(algorithm, &arms, ROUNDS);
        let draws = if let Scope::BestOf(of) = scope { f64::from(of.draws()) } else { 1.0 };
        for (place, sample) in scores.into_iter().enumerate() {
            let (row, block) = (place / 2, (place % 2) as u32);
            let posterior = learner.posterior(block).expect("factors");
            let (mean, width) = (posterior.mean(arms.row(row).as_slice()), posterior.width(&arms.row(row)));
            let law = learner.law(Round::new(9, 1), block).expect("factors").expect("the library's");
            let (location, scale) = (law.location(mean, width), law.scale(width));
            assert_eq!(law.scope, scope);
            // By the formulas of the paper, not by the law.
            let (from, by) = match algorithm {
                Algorithm::ArmWiseTs(_) => (mean, 0.5 * width),
                _ => (mean + 0.5 * width, 1.5 * 0.5 * width),
            };
            assert!((location - from).abs() < 1e-12 && (scale - by).abs() < 1e-12, "{algorithm:?}");
            let cdf = |score: f64| -> f64 {
                let z = (score - location) / scale;
                let one = match law.draw {
                    Draw::Normal => normal_cdf(z),
                    _ => z.clamp(0.0, 1.0),
                };
                one.powf(draws)
            };
            let distance = ks_distance(sample, cdf);
            assert!(distance < 2.3 / (ROUNDS as f64).sqrt(), "{algorithm:?}, arm {place}: {distance}");
        }
    }
}

/// Within 4.5 standard errors, (1 - rho^2) / sqrt(n): between two rows of one group, two rows of different groups, and
/// two blocks of one row.
#[test]
fn arms_go_together_as_stated() {
    const ROUNDS: u64 = 4_000;
    let x = rows(3, 1, 3, 5);
    let regions = [2.0, 2.0, 7.0];
    let columns = [Column { name: GROUP, values: &regions }];
    let arms = Arms::new(&x, 5).expect("rows").with_columns(&columns).expect("columns");
    for scope in scopes() {
        for algorithm in [ts(scope), pc2ucb(scope)] {
            let uniform = matches!(algorithm, Algorithm::Pc2ucb(_));
            let stated = match scope {
                Scope::Shared => [1.0; 3],
                Scope::Mixed(rho) if uniform => [6.0 / std::f64::consts::PI * (rho / 2.0).asin(); 3],
                Scope::Mixed(rho) => [rho; 3],
                Scope::Group(_) => [1.0, 0.0, 1.0],
                _ => [0.0; 3],
            };
            let (_, scores) = played(algorithm, &arms, ROUNDS);
            let pairs = [(0, 2), (0, 4), (0, 1)];
            for ((a, b), stated) in pairs.into_iter().zip(stated) {
                let (found, se) =
                    (correlation(&scores[a], &scores[b]), (1.0 - stated * stated) / (ROUNDS as f64).sqrt());
                assert!((found - stated).abs() <= 4.5 * se + 1e-12, "{algorithm:?}: {found}, not {stated}, {a} {b}");
            }
        }
    }
}

/// With nothing shared it is the paper's, with nothing of its own it is the shared one, and the best of one is one.
#[test]
fn the_ends_of_the_switch_meet() {
    let x = rows(4, 1, 50, 5);
    let arms = Arms::new(&x, 5).expect("rows");
    let scores = |scope| taught(ts(scope), 5, 1).scores(Round::new(1, 7), &arms);
    assert_eq!(scores(Scope::Mixed(0.0)), scores(Scope::Own));
    assert_eq!(scores(Scope::Mixed(1.0)), scores(Scope::Shared));
    assert_ne!(scores(Scope::BestOf(BestOf::Draws(2))), scores(Scope::BestOf(BestOf::Draws(1))));
    // Whatever equals own draws explores as much by itself, and is warned of where own draws are.
    let auto = |scope| Algorithm::ArmWiseTs(ArmWiseTs { scope, ..ArmWiseTs::new(Lambda::Auto, Schedule::Auto) });
    let v = |scope| taught(auto(scope), 5, 1).auto(Round::new(1, 7)).expect("factors").and_then(|auto| auto.v);
    let sets = Constraint::Explicit(Explicit { super_arms: Vec::new() });
    for alone in [Scope::Mixed(0.0), Scope::BestOf(BestOf::Draws(1)), Scope::BestOf(BestOf::Enough { k: 1 })] {
        assert!(alone.draws_alone() && v(alone) == v(Scope::Own), "{alone:?}");
        assert!(sets.caution(&ts(alone)).is_some(), "{alone:?}");
    }
    assert!(v(Scope::Mixed(0.1)) > v(Scope::Own) && sets.caution(&ts(Scope::Mixed(0.1))).is_none());
}

/// A constraint that does not say that it looks at the best only, so that every arm is scored in f64.
struct Plain<'a>(&'a Constraint);

impl Oracle for Plain<'_> {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        self.0.argmax(scores)
    }
}

/// Pruning, a catalogue and parts in chunks, with a column that tells who draws together, and chosen arms that say what
/// was drawn.
#[test]
fn shortcuts_change_no_bit_in_any_scope() {
    const N: usize = 4_000;
    let region: Vec<f64> = (0..N).map(|row| number_of(&format!("region {}", row % 13))).collect();
    let columns = [Column { name: "cost", values: &region }, Column { name: GROUP, values: &region }];
    for (d, blocks) in [(40, 1), (20, 3)] {
        let wide = rows(6, 1, N, d);
        let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
        let mask: Vec<bool> = (0..N * blocks).map(|place| place % 7 != 3).collect();
        let quotas = Constraint::Assignment(Assignment::new(vec![20; blocks]));
        for (scope, constraint) in
            scopes().into_iter().flat_map(|scope| [(scope, Constraint::top_k(60)), (scope, quotas.clone())])
        {
            for algorithm in [ts(scope), pc2ucb(scope)] {
                let learner = taught(algorithm, d, blocks);
                let round = Round::new(3, 9);
                let catalogue = Catalogue::new(&Arms::new(&wide, d).expect("rows")).expect("finite");
                for arms in [Arms::new(&wide, d), Arms::new(&narrow, d)] {
                    let arms = arms
                        .expect("rows")
                        .with_columns(&columns)
                        .expect("columns")
                        .with_eligible(&mask)
                        .expect("mask");
                    let plain = learner.choose(round, &arms, &Plain(&constraint)).expect("arms");
                    let same =
                        |found: &Decision| assert_eq!(bits(&plain), bits(found), "{algorithm:?}, {constraint:?}");
                    same(&learner.choose(round, &arms, &constraint).expect("arms"));
                    let mut choosing = learner.choosing(round, &constraint).expect("factors");
                    (0..N).step_by(333).for_each(|at| choosing.add(&arms.slice(at..N.min(at + 333))).expect("part"));
                    same(&choosing.finish().expect("arms"));
                    let scores = learner.scores(round, &arms).expect("finite");
                    for arm in &plain.arms {
                        let z = arm.draw.expect("something is drawn");
                        let bonus =
                            if let Algorithm::ArmWiseTs(_) = algorithm { 0.5 * z } else { (1.0 + 1.5 * z) * 0.5 };
                        assert!((arm.mean + bonus * arm.width - arm.score).abs() < 1e-9, "{algorithm:?}");
                        assert_eq!(
                            arm.score.to_bits(),
                            scores[arm.id as usize * blocks + arm.block as usize].to_bits()
                        );
                    }
                }
                let listed =
                    catalogue.arms().with_columns(&columns).expect("columns").with_eligible(&mask).expect("mask");
                for t in [9, 10, 11] {
                    let found = learner.choose_from(&catalogue, Round::new(3, t), &listed, &constraint).expect("arms");
                    let plain = learner.choose(Round::new(3, t), &listed, &Plain(&constraint)).expect("arms");
                    assert_eq!(bits(&plain), bits(&found), "{algorithm:?}, {constraint:?}, round {t}");
                }
            }
        }
    }
}

#[test]
fn a_group_needs_its_column() {
    let learner = Learner::new(ts(Scope::group(GROUP).expect("a name")), 2, 1).expect("parameters");
    let x = [1.0, 0.0, 0.0, 1.0];
    let arms = Arms::new(&x[..], 2).expect("rows");
    let (round, one) = (Round::new(1, 1), Constraint::top_k(1));
    let missing = Error::UnknownColumn { column: GROUP.into(), attached: String::new() };
    assert_eq!(learner.choose(round, &arms, &one), Err(missing.clone()));
    assert_eq!(learner.scores(round, &arms), Err(missing));
    let values = [1.0; 4];
    let columns = [Column { name: GROUP, values: &values }];
    let wrong = learner.choose(round, &arms.with_columns(&columns).expect("columns"), &one);
    assert_eq!(wrong, Err(Error::Dimension { what: "values of the scope's column per row", expected: 1, found: 2 }));
}

/// Numbers of a generator of its own, by the polar method.
struct Apart(u64);

impl Apart {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        loop {
            let (a, b) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let s = a * a + b * b;
            if s > 0.0 && s < 1.0 {
                return a * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }
}

const K: usize = 100;
const ROUNDS: u64 = 60;

/// Two sets of k equal arms that pay 0.5 and 0.8, of which the first was played once; lambda = v = 1. Whether the
/// second is ever tried, and whether it is played in the end: a dozen lines, literally one number for each arm.
fn apart(kind: &str, run: u64) -> (bool, bool) {
    let mut numbers = Apart(run * 7_919 + 17);
    let (mut counts, pay) = ([K as f64, 0.0], [0.5, 0.8]);
    let (mut tried, mut last) = (false, 0);
    for _ in 0..ROUNDS {
        let shared = numbers.normal();
        let mut sums = [0.0; 2];
        for set in 0..2 {
            let (mean, width) = (pay[set] * counts[set] / (1.0 + counts[set]), 1.0 / (1.0 + counts[set]).sqrt());
            let of_set = numbers.normal();
            for _ in 0..K {
                let z = match kind {
                    "own" => numbers.normal(),
                    "shared" => shared,
                    "mixed" => 0.3_f64.sqrt() * shared + 0.7_f64.sqrt() * numbers.normal(),
                    "group" => of_set,
                    "best-of" => (0..53).map(|_| numbers.normal()).fold(f64::MIN, f64::max),
                    _ => 1.0 + numbers.uniform(),
                };
                sums[set] += mean + z * width;
            }
        }
        last = usize::from(sums[1] > sums[0]);
        counts[last] += K as f64;
        tried |= last == 1;
    }
    (tried, last == 1)
}

fn by_the_library(policy: impl Policy, run: u64, noise: f64) -> (bool, bool) {
    let mut numbers = Apart(run * 104_729 + 5);
    let x: Vec<f64> = (0..2 * K).flat_map(|arm| if arm < K { [1.0, 0.0] } else { [0.0, 1.0] }).collect();
    let of: Vec<f64> = (0..2 * K).map(|arm| f64::from(arm >= K)).collect();
    let columns = [Column { name: "set", values: &of }];
    let arms = Arms::new(&x, 2).expect("rows").with_columns(&columns).expect("columns");
    let set = |first: usize| (first..first + K).map(|id| Member::Id(id as u64)).collect();
    let sets = Explicit { super_arms: vec![set(0), set(K)] };
    let mut model = Model::new(2, 1).expect("a shape");
    for _ in 0..K {
        let reward = 0.5 + noise * numbers.normal();
        model.observe(&Observation { t: 0, block: 0, x: &[1.0, 0.0], reward }).expect("finite");
    }
    let mut learner = Learner::with_model(policy, model).expect("parameters");
    let (mut tried, mut last) = (false, false);
    for t in 1..=ROUNDS {
        let decision = learner.choose(Round::new(run, t), &arms, &sets).expect("a set");
        last = decision.arms[0].id >= K as u64;
        tried |= last;
        let pay = |id: u64| if id < K as u64 { 0.5 } else { 0.8 };
        let pay = decision.rewards(|arm| pay(arm.id) + noise * numbers.normal());
        learner.learn(&decision, &pay).expect("fresh");
    }
    (tried, last)
}

/// The truth about Theorem 1: independent draws cancel out in a set, so the better one is never tried (the chance is
/// 1e-7 a round); every other scope tries it in every run, and so does PC2UCB. Both programs say so.
#[test]
fn own_draws_miss_the_better_of_two_sets_and_every_other_scope_finds_it() {
    let runs = 0..8;
    let ts = |scope| ArmWiseTs { scope, ..ArmWiseTs::new(1.0, 1.0) };
    let of = |kind: &str, policy: Algorithm| {
        runs.clone().map(|run| (apart(kind, run), by_the_library(policy, run, 0.0))).collect::<Vec<_>>()
    };
    for ((tried, _), (ours, _)) in of("own", Algorithm::ArmWiseTs(ts(Scope::Own))) {
        assert!(!tried && !ours, "own draws tried the better set");
    }
    let scopes = [
        ("shared", Scope::Shared),
        ("mixed", Scope::Mixed(0.3)),
        ("group", Scope::group("set").expect("a name")),
        ("best-of", Scope::BestOf(BestOf::Enough { k: K })),
    ];
    let all = scopes.map(|(kind, scope)| (kind, Algorithm::ArmWiseTs(ts(scope))));
    for (kind, policy) in all.into_iter().chain([("pc2ucb", Algorithm::Pc2ucb(Pc2ucb::new(1.0, 1.0, 1.0)))]) {
        for (apart, ours) in of(kind, policy) {
            assert!(apart.0 && ours.0, "{kind}: the better set was not tried: {apart:?}, {ours:?}");
            assert!(apart.1 && ours.1, "{kind}: the better set is not played in the end: {apart:?}, {ours:?}");
        }
    }
}

/// With automatic parameters too: v is a quarter of sigma for own draws, which never try the better set, and sigma in
/// every other scope, where evidence makes sigma / sqrt(lambda) about the 0.5 that the played set pays. So the better set
/// is tried in a round with a probability of 16 % (shared, group) or 8 % (half of the variance shared), or at once (best
/// of 53); in 60 rounds 1 run of 150 may miss it, and one of eight is allowed to.
#[test]
fn automatic_parameters_find_the_better_set_in_every_scope_but_the_papers() {
    let tried = |scope| {
        let policy = ArmWiseTs { scope, ..ArmWiseTs::new(Lambda::Auto, Schedule::Auto) };
        (0..8).filter(|&run| by_the_library(policy, run, 0.3).0).count()
    };
    assert_eq!(tried(Scope::Own), 0);
    let group = Scope::group("set").expect("a name");
    for scope in [Scope::Shared, Scope::Mixed(0.5), group, Scope::BestOf(BestOf::Enough { k: K })] {
        assert!(tried(scope) >= 7, "{scope:?}: {} of 8", tried(scope));
    }
}
