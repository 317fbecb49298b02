//! Parameters that choose themselves: evidence and noise against direct computations, Student's law of draws, and the
//! same bits on every way to a choice.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{
    Algorithm, ArmWiseTs, Arms, Block, C2ucb, Catalogue, Column, Constraint, Draw, Drift, Error, Frozen, Greedy,
    Lambda, Learner, Model, Noise, Observation, Pc2ucb, Round, RoundWiseTs, Schedule, Scope,
};
use common::{bits, dot, draws, ks_distance, naive_inverse, pay, quadratic, rows, trained, unit};

const D: usize = 4;

/// Rows, their blocks and rewards with noise.
fn data(seed: u64, n: usize, blocks: u32, noise: f64, theta: &[f64]) -> Vec<(Vec<f64>, u32, f64)> {
    let (x, normal) = (rows(seed, 1, n, theta.len()), draws(seed, 7));
    let row = |(place, x): (usize, &[f64])| {
        let block = place as u32 % blocks;
        (x.to_vec(), block, dot(x, theta) * f64::from(1 + block) + noise * normal.normal(place as u64))
    };
    x.chunks(theta.len()).enumerate().map(row).collect()
}

fn model(data: &[(Vec<f64>, u32, f64)], blocks: usize) -> Model {
    let mut model = Model::new(data[0].0.len(), blocks).expect("a shape");
    for (x, block, reward) in data {
        model.observe(&Observation { t: 1, block: *block, x, reward: *reward }).expect("finite");
    }
    model
}

/// log det by elimination, slow and plain.
fn log_det(mut a: Vec<Vec<f64>>) -> f64 {
    let mut sum = 0.0;
    for p in 0..a.len() {
        sum += a[p][p].ln();
        let pivot = a[p].clone();
        for line in &mut a[p + 1..] {
            let factor = line[p] / pivot[p];
            line.iter_mut().zip(&pivot).skip(p).for_each(|(element, above)| *element -= factor * above);
        }
    }
    sum
}

/// The density of all rewards at once: a multivariate Student law with n x n matrix K = I + X X' / lambda, in which
/// rows of different blocks have nothing in common. It shares no step with the sums.
fn direct(data: &[(Vec<f64>, u32, f64)], lambda: f64, mean_square: f64) -> f64 {
    let n = data.len();
    let k = |i: usize, j: usize| {
        let common = if data[i].1 == data[j].1 { dot(&data[i].0, &data[j].0) / lambda } else { 0.0 };
        common + f64::from(u8::from(i == j))
    };
    let k: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| k(i, j)).collect()).collect();
    let r: Vec<f64> = data.iter().map(|row| row.2).collect();
    let (a0, b0, half) = (0.5, 0.5 * mean_square, 0.5 * n as f64);
    let square = quadratic(&naive_inverse(k.clone()), &r);
    libm::lgamma(a0 + half) - libm::lgamma(a0) - half * (2.0 * std::f64::consts::PI).ln() - 0.5 * log_det(k)
        + a0 * b0.ln()
        - (a0 + half) * (b0 + 0.5 * square).ln()
}

fn mean_square(data: &[(Vec<f64>, u32, f64)]) -> f64 {
    data.iter().map(|row| row.2 * row.2).sum::<f64>() / data.len() as f64
}

#[test]
fn the_evidence_is_the_density_of_all_rewards() {
    for (seed, n, blocks) in [(1, 3, 1), (2, 40, 1), (3, 60, 3), (4, 5, 2)] {
        let data = data(seed, n, blocks, 0.3, &unit(seed, D));
        let evidence = model(&data, blocks as usize).evidence().expect("squares are kept").expect("rewards");
        for lambda in [1e-3, 0.1, 1.0, 30.0] {
            let (found, expected) = (evidence.log(lambda), direct(&data, lambda, mean_square(&data)));
            assert!(
                (found - expected).abs() <= 1e-8 * expected.abs().max(1.0),
                "{n}, {lambda}: {found}, not {expected}"
            );
        }
        let mean = data.iter().map(|row| dot(&row.0, &row.0)).sum::<f64>() / n as f64;
        let grid = (0..17).map(|step| mean * 10_f64.powf(-3.0 + 0.25 * f64::from(step)));
        let best =
            grid.max_by(|a, b| direct(&data, *a, mean_square(&data)).total_cmp(&direct(&data, *b, mean_square(&data))));
        assert!((evidence.best() / best.expect("17 of them") - 1.0).abs() < 1e-9);
    }
}

/// Two spans speak for two thetas where they have two, and for one where they have one; the number is that of three
/// densities.
#[test]
fn disagreement_is_the_log_bayes_factor_of_two_spans() {
    let theta = unit(1, D);
    let turned: Vec<f64> = theta.iter().map(|theta| -theta).collect();
    let (first, same, other) = (data(1, 40, 1, 0.3, &theta), data(2, 30, 1, 0.3, &theta), data(3, 30, 1, 0.3, &turned));
    let between = |a: &[(Vec<f64>, u32, f64)], b: &[(Vec<f64>, u32, f64)]| {
        let (both, one, two) = ([a, b].concat(), model(a, 1), model(b, 1));
        let found = one.disagreement(&two).expect("squares").expect("rewards");
        let (lambda, square) =
            (model(&both, 1).evidence().expect("squares").expect("rewards").best(), mean_square(&both));
        // Spans with a theta each and one noise are blocks of one model.
        let apart: Vec<_> = a.iter().cloned().chain(b.iter().map(|(x, _, r)| (x.clone(), 1, *r))).collect();
        let expected = direct(&apart, lambda, square) - direct(&both, lambda, square);
        assert!((found - expected).abs() <= 1e-8 * expected.abs().max(1.0), "{found}, not {expected}");
        found
    };
    assert!(between(&first, &same) < 0.0);
    assert!(between(&first, &other) > 5.0);
}

/// V, theta_hat and sigma by Gauss-Jordan, and 1 + n degrees of freedom.
#[test]
fn the_noise_is_that_of_the_normal_inverse_gamma_model() {
    let data = data(5, 50, 2, 0.4, &unit(5, D));
    let (model, lambda) = (model(&data, 2), 0.7);
    let mut residual = 0.0;
    for block in 0..2 {
        let own: Vec<_> = data.iter().filter(|row| row.1 == block).collect();
        let v = |i: usize, j: usize| {
            own.iter().map(|row| row.0[i] * row.0[j]).sum::<f64>() + if i == j { lambda } else { 0.0 }
        };
        let inverse = naive_inverse((0..D).map(|i| (0..D).map(|j| v(i, j)).collect()).collect());
        let b: Vec<f64> = (0..D).map(|i| own.iter().map(|row| row.0[i] * row.2).sum()).collect();
        residual += own.iter().map(|row| row.2 * row.2).sum::<f64>() - quadratic(&inverse, &b);
    }
    let expected = ((0.5 * mean_square(&data) + 0.5 * residual) / 25.5).sqrt();
    let estimate = model.evidence().expect("squares").expect("rewards").estimate(lambda);
    assert!((estimate.sigma - expected).abs() < 1e-10 * expected && estimate.freedom == Some(51.0));
    // It is near the noise that was put in.
    assert!((estimate.sigma - 0.4).abs() < 0.1, "{}", estimate.sigma);
}

/// Rewards in cents instead of euros and features in other units choose the same arms: lambda and v follow.
#[test]
fn units_do_not_matter() {
    let data = data(6, 60, 1, 0.3, &unit(6, D));
    let scaled: Vec<_> =
        data.iter().map(|(x, block, r)| (x.iter().map(|x| x * 0.25).collect(), *block, r * 128.0)).collect();
    let [plain, other] = [model(&data, 1), model(&scaled, 1)].map(|model| {
        let policy = ArmWiseTs { lambda: Lambda::Auto, v: Schedule::Auto, ..ArmWiseTs::new(1.0, 1.0) };
        Learner::with_model(policy, model).expect("parameters")
    });
    let round = Round::new(2, 5);
    let x = rows(8, 1, 200, D);
    let y: Vec<f64> = x.iter().map(|x| x * 0.25).collect();
    let ids = |learner: &Learner<ArmWiseTs>, x: &[f64]| -> Vec<u64> {
        let decision = learner.choose(round, &Arms::new(x, D).expect("rows"), &Constraint::top_k(20)).expect("arms");
        decision.arms.iter().map(|arm| arm.id).collect()
    };
    assert_eq!(ids(&plain, &x), ids(&other, &y));
    let [a, b] = [&plain, &other].map(|learner| learner.auto(round).expect("squares").expect("auto"));
    assert!((b.lambda / a.lambda - 0.0625).abs() < 1e-12 && (b.sigma / a.sigma - 128.0).abs() < 1e-9);
    assert_eq!(a.v, Some(0.25 * a.sigma));
}

fn autos() -> Vec<Algorithm> {
    let (lambda, auto) = (Lambda::Auto, Schedule::Auto);
    let ts = ArmWiseTs::new(lambda, auto);
    vec![
        Algorithm::ArmWiseTs(ts),
        Algorithm::ArmWiseTs(ArmWiseTs { noise: Noise::Estimated, ..ts }),
        Algorithm::ArmWiseTs(ArmWiseTs {
            noise: Noise::Estimated,
            scope: Scope::Mixed(0.5),
            ..ArmWiseTs::new(0.5, 1.0)
        }),
        Algorithm::ArmWiseTs(ArmWiseTs { scope: Scope::Shared, ..ts }),
        Algorithm::Pc2ucb(Pc2ucb::new(lambda, auto, 1.0)),
        Algorithm::C2ucb(C2ucb::new(lambda, auto)),
        Algorithm::RoundWiseTs(RoundWiseTs::new(lambda, auto)),
        Algorithm::Greedy(Greedy::new(lambda)),
        Algorithm::C2ucb(C2ucb::new(2.0, auto)),
    ]
}

/// Before the first reward, and while all are 0, there is nothing to go by: lambda and sigma are 1. Later each decision
/// says what was used, and its scores follow from it.
#[test]
fn decisions_say_what_was_chosen() {
    for algorithm in autos() {
        let mut learner = Learner::new(algorithm, D, 2).expect("parameters");
        let x = rows(9, 1, 30, D);
        let arms = Arms::new(&x, D).expect("rows");
        for t in 1..=4 {
            let round = Round::new(3, t);
            let decision = learner.choose(round, &arms, &Constraint::top_k(6)).expect("arms");
            let auto = decision.auto.expect("something is chosen by itself");
            assert_eq!(learner.auto(round).expect("squares"), Some(auto));
            if t <= 2 {
                let lambda = if let Algorithm::C2ucb(C2ucb { lambda: Lambda::Value(value), .. })
                | Algorithm::ArmWiseTs(ArmWiseTs { lambda: Lambda::Value(value), .. }) = algorithm
                {
                    value
                } else {
                    1.0
                };
                assert_eq!((auto.lambda, auto.sigma, auto.freedom), (lambda, 1.0, None), "{algorithm:?}");
            } else {
                assert!(auto.freedom.is_some() && auto.sigma > 0.0, "{algorithm:?}");
                let coefficient = |z: f64| match algorithm {
                    Algorithm::Pc2ucb(_) => (1.0 + z) * auto.alpha.expect("alpha"),
                    Algorithm::C2ucb(_) => auto.alpha.expect("alpha"),
                    _ => auto.v.unwrap_or(0.0) * z,
                };
                for arm in &decision.arms {
                    let posterior = learner.model().posterior(arm.block, auto.lambda).expect("factors");
                    assert!((posterior.width(&arm.features) - arm.width).abs() < 1e-12);
                    if !matches!(algorithm, Algorithm::RoundWiseTs(_)) {
                        let score = arm.mean + coefficient(arm.draw.unwrap_or(0.0)) * arm.width;
                        assert!((score - arm.score).abs() < 1e-12, "{algorithm:?}");
                    }
                }
            }
            let rewards = decision.rewards(|arm| if t == 1 { 0.0 } else { pay(arm) });
            learner.learn(&decision, &rewards).expect("fresh");
        }
    }
}

/// From the whole, in parts, from a catalogue, frozen and sent as text, saved and loaded, with a baseline and values:
/// the same bits.
#[test]
fn every_way_to_a_choice_gives_the_same_bits() {
    const N: usize = 3_000;
    let x = rows(10, 1, N, 20);
    let arms = Arms::new(&x, 20).expect("rows");
    let (round, constraint) = (Round::new(4, 9), Constraint::top_k(40));
    for algorithm in autos() {
        for uplift in [false, true] {
            let learner = trained(algorithm, 20, if uplift { 3 } else { 1 }, 5);
            let learner = if uplift {
                let learner = learner.with_baseline().expect("blocks").with_values(vec![2.0, 0.5]).expect("values");
                learner.with_shifts(vec![vec![0.01; 20]; 2]).expect("shifts")
            } else {
                learner
            };
            let whole = learner.choose(round, &arms, &constraint).expect("arms");
            let loaded: Learner = Learner::from_json(&learner.to_json().expect("json")).expect("just written");
            let sent = serde_json::to_string(&learner.freeze(round).expect("factors")).expect("json");
            let frozen: Frozen = serde_json::from_str(&sent).expect("just written");
            let mut parts =
                [learner.choosing(round, &constraint), frozen.choosing(&constraint)].map(|one| one.expect("factors"));
            for choosing in &mut parts {
                (0..N).step_by(700).for_each(|at| choosing.add(&arms.slice(at..N.min(at + 700))).expect("part"));
            }
            let catalogue = Catalogue::new(&arms).expect("finite");
            let listed = learner.choose_from(&catalogue, round, &catalogue.arms(), &constraint).expect("arms");
            let mut all = vec![loaded.choose(round, &arms, &constraint).expect("arms"), listed];
            all.extend(parts.map(|choosing| choosing.finish().expect("arms")));
            for other in all {
                assert_eq!(bits(&whole), bits(&other), "{algorithm:?}");
                assert_eq!(whole.auto, other.auto);
            }
            assert!(whole.auto.is_some());
        }
    }
}

/// Draws of an estimated noise have Student's law with 1 + n degrees of freedom: KS distance (2.3 / sqrt(n) is exceeded
/// once in 20,000), the variance f / (f - 2) within 5 standard errors, and as many beyond the 0.1 % points as the law
/// has, within 5.
#[test]
fn estimated_noise_has_students_law() {
    const N: usize = 60_000;
    for seen in [9, 40] {
        let data = data(11, seen, 1, 0.5, &unit(11, D));
        let policy = ArmWiseTs { noise: Noise::Estimated, ..ArmWiseTs::new(0.5, 1.0) };
        let learner = Learner::with_model(policy, model(&data, 1)).expect("parameters");
        let x = vec![0.5; N * D];
        let arms = Arms::new(&x, D).expect("rows");
        let law = learner.law(Round::new(5, 2), 0).expect("factors").expect("known");
        let freedom = seen as f64 + 1.0;
        assert_eq!(law.draw, Draw::Student { freedom });
        let posterior = learner.posterior(0).expect("factors");
        let (mean, width) = (posterior.mean(&x[..D]), posterior.width(&x[..D]));
        let sigma = learner.auto(Round::new(5, 2)).expect("squares").expect("estimated").sigma;
        assert!((law.location(mean, width) - mean).abs() < 1e-12 && (law.scale(width) - sigma * width).abs() < 1e-12);
        let scores = learner.scores(Round::new(5, 2), &arms).expect("finite");
        let t: Vec<f64> = scores.iter().map(|score| (score - mean) / (sigma * width)).collect();
        // The distribution function by Simpson's rule, another method.
        let density = |t: f64| {
            let log = libm::lgamma(0.5 * (freedom + 1.0)) - libm::lgamma(0.5 * freedom);
            (log - 0.5 * (freedom * std::f64::consts::PI).ln() - 0.5 * (freedom + 1.0) * (t * t / freedom).ln_1p())
                .exp()
        };
        let cdf = |t: f64| {
            let (h, end) = (t.abs() / 200.0, t.abs());
            let inner: f64 = (1..200).map(|i| density(f64::from(i) * h) * if i % 2 == 1 { 4.0 } else { 2.0 }).sum();
            let half = h / 3.0 * (density(0.0) + inner + density(end));
            if t < 0.0 { 0.5 - half } else { 0.5 + half }
        };
        let distance = ks_distance(t.clone(), cdf);
        assert!(distance < 2.3 / (N as f64).sqrt(), "{freedom}: {distance}");
        let far = t.iter().filter(|t| (1.0 - cdf(t.abs())) < 0.0005).count() as f64;
        let expected = 0.001 * N as f64;
        assert!((far - expected).abs() < 5.0 * expected.sqrt(), "{far} of {expected} beyond");
        let variance = t.iter().map(|t| t * t).sum::<f64>() / N as f64;
        let (exact, kurtosis) = (freedom / (freedom - 2.0), 3.0 + 6.0 / (freedom - 4.0));
        let se = exact * ((kurtosis - 1.0) / N as f64).sqrt();
        assert!((variance - exact).abs() < 5.0 * se, "{freedom}: {variance}, not {exact} +- {se}");
    }
}

/// In scopes too: all arms share a t, and the best of several is the largest of as many.
#[test]
fn scopes_hold_for_students_law() {
    let data = data(12, 9, 1, 0.5, &unit(12, D));
    let x = vec![0.5; 100 * D];
    let column: Vec<f64> = (0..100).map(|row| f64::from(row % 3)).collect();
    let columns = [Column { name: "g", values: &column }];
    let arms = Arms::new(&x, D).expect("rows").with_columns(&columns).expect("columns");
    let count = |scope: Scope| {
        let policy = ArmWiseTs { noise: Noise::Estimated, scope, ..ArmWiseTs::new(0.5, 1.0) };
        let learner = Learner::with_model(policy, model(&data, 1)).expect("parameters");
        let mut scores = learner.scores(Round::new(5, 2), &arms).expect("finite");
        scores.sort_by(f64::total_cmp);
        scores.dedup();
        scores.len()
    };
    assert_eq!(count(Scope::Shared), 1);
    assert_eq!(count(Scope::group("g").expect("a name")), 3);
    assert_eq!(count(Scope::Own), 100);
}

/// With forgetting, old rewards count less for the noise too; a file of format 1 has no squares, and that is an error
/// that says so.
#[test]
fn forgetting_and_missing_squares() {
    let theta = unit(13, D);
    let fill = |gamma: f64| {
        let mut model = Model::new(D, 1).and_then(|model| model.with_gamma(gamma)).expect("a shape");
        for t in 1..=30 {
            // Loud at first, quiet later.
            for (x, _, reward) in data(t, 20, 1, if t <= 15 { 2.0 } else { 0.2 }, &theta) {
                model.observe(&Observation { t, block: 0, x: &x, reward }).expect("finite");
            }
        }
        model.evidence().expect("squares").expect("rewards").estimate(1.0)
    };
    let (all, late) = (fill(1.0), fill(0.7));
    assert!(all.sigma > 1.2 && late.sigma < 0.4, "{all:?} {late:?}");
    assert!((late.freedom.expect("rewards") - 1.0 - 20.0 / 0.3).abs() < 0.1, "{late:?}");
    let data = data(14, 20, 1, 0.3, &theta);
    let block = &model(&data, 1).blocks()[0].clone();
    let without = Block::from_sums(block.count(), block.b().to_vec(), block.g().to_vec(), None);
    let model = Model::from_blocks(1.0, 1, vec![without]).expect("sums");
    let learner = Learner::with_model(Greedy::new(Lambda::Auto), model).expect("parameters");
    let x = [1.0; D];
    let chosen = learner.choose(Round::new(1, 1), &Arms::new(&x[..], D).expect("rows"), &Constraint::top_k(1));
    assert_eq!(chosen, Err(Error::NoSquares { block: 0 }));
}

/// Sums of a round in which 40 of 200 arms were chosen that look good under `believed`, of dimension 5.
fn span(seed: u64, t: u64, theta: &[f64], believed: &[f64], noise: f64) -> Model {
    let x = rows(seed, t, 200, theta.len());
    let normal = draws(seed, 1_000_000 + t);
    let mut rows: Vec<&[f64]> = x.chunks(theta.len()).collect();
    rows.sort_by(|a, b| dot(b, believed).total_cmp(&dot(a, believed)));
    let mut sums = Model::new(theta.len(), 1).expect("a shape");
    for (place, x) in rows.iter().step_by(2).take(40).enumerate() {
        let reward = dot(x, theta) + noise * normal.normal(place as u64);
        sums.observe(&Observation { t, block: 0, x, reward }).expect("finite");
    }
    sums
}

/// Looked at after every round of a run: whether, and when, the last rounds disagree beyond chance.
fn first_alarm(spans: &[Model]) -> Option<usize> {
    let mut all = spans[0].clone();
    (2..=spans.len()).find(|&count| {
        all.merge(&spans[count - 1]).expect("one shape");
        let last = &spans[count.saturating_sub(55)..count];
        Drift::between(&all, last, count).expect("squares").is_some_and(|drift| drift.is_beyond_chance())
    })
}

/// Over 200 runs of 24 rounds at most 5 % ever say that something changed (three standard errors of 5 % are 4.6 %, so
/// that the bound holds for chance as well: the bet is conservative); with theta turned by 30 degrees in round 16, at
/// least 80 % say so within 5 rounds.
#[test]
fn drift_is_found_and_chance_is_not_taken_for_it() {
    const D: usize = 5;
    let (mut false_alarms, mut found) = (0, 0);
    for seed in 0..200 {
        let (theta, other) = (unit(seed, D), unit(seed + 10_000, D));
        let along = dot(&theta, &other);
        let mut side: Vec<f64> = other.iter().zip(&theta).map(|(other, theta)| other - along * theta).collect();
        let length = dot(&side, &side).sqrt();
        side.iter_mut().for_each(|side| *side /= length);
        let (sine, cosine) = (30_f64.to_radians().sin(), 30_f64.to_radians().cos());
        let turned: Vec<f64> = theta.iter().zip(&side).map(|(theta, side)| cosine * theta + sine * side).collect();
        let still: Vec<Model> = (1..=24).map(|t| span(seed, t, &theta, &theta, 0.3)).collect();
        false_alarms += usize::from(first_alarm(&still).is_some());
        if seed < 60 {
            let mut moved = still[..15].to_vec();
            moved.extend((16..=20).map(|t| span(seed, t, &turned, &theta, 0.3)));
            found += usize::from(first_alarm(&moved).is_some_and(|round| round > 15));
        }
    }
    assert!(false_alarms <= 10, "{false_alarms} of 200");
    assert!(found >= 48, "{found} of 60");
}

/// Where theta turns in every round the evidence is for forgetting; where it stands still, for none.
#[test]
fn forgetting_is_chosen_by_evidence() {
    let still: Vec<Model> = (1..=12).map(|t| span(3, t, &unit(1, 5), &unit(1, 5), 0.3)).collect();
    let moving: Vec<Model> = (1..=12).map(|t| span(3, t, &unit(t / 3, 5), &unit(1, 5), 0.3)).collect();
    let of = |spans: &[Model]| Model::forgetting(spans).expect("squares").expect("rounds");
    assert!((of(&still).0 - 1.0).abs() < 1e-12 && of(&still).1.abs() < 1e-12);
    let (gamma, better) = of(&moving);
    assert!(gamma < 0.9 && better > 10.0, "{gamma} {better}");
}
