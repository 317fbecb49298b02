//! A forgetting factor by evidence: against predictive densities and weighted sums computed directly, and the same
//! whatever way rewards came.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{
    Algorithm, ArmWiseTs, Arms, Constraint, Error, Frozen, Gamma, Greedy, Learner, Model, Observation, Round,
};
use common::{bits, dot, draws, naive_inverse, quadratic, rows, unit};

const D: usize = 3;
const GAMMAS: [f64; 8] = [1.0, 0.99, 0.98, 0.95, 0.9, 0.8, 0.7, 0.5];

/// (t, block, x, reward).
type Seen = (u64, u32, Vec<f64>, f64);

/// Rounds of `each` rewards; theta changes with every `every` rounds.
fn data(seed: u64, rounds: u64, each: usize, every: u64) -> Vec<Seen> {
    let mut all = Vec::new();
    for t in 1..=rounds {
        let (theta, normal) = (unit(seed + t / every, D), draws(seed, 500 + t));
        for (place, x) in rows(seed, t, each, D).chunks(D).enumerate() {
            let reward = dot(x, &theta) + 0.3 * normal.normal(place as u64);
            all.push((t, place as u32 % 2, x.to_vec(), reward));
        }
    }
    all
}

fn observation((t, block, x, reward): &Seen) -> Observation<'_> {
    Observation { t: *t, block: *block, x, reward: *reward }
}

fn model_of<'a>(data: impl IntoIterator<Item = &'a Seen>) -> Model {
    let mut model = Model::new(D, 2).and_then(|model| model.with_gamma(Gamma::Auto)).expect("a shape");
    data.into_iter().for_each(|seen| model.observe(&observation(seen)).expect("finite"));
    model
}

/// log p of all rewards, one after the other, each by Student's density given those before, which count gamma times as
/// much with every round: no sums, no determinants.
fn log_density(data: &[Seen], gamma: f64, lambda: f64) -> f64 {
    let mean_square = data.iter().map(|seen| seen.3 * seen.3).sum::<f64>() / data.len() as f64;
    let mut log = 0.0;
    for (place, (t, block, x, reward)) in data.iter().enumerate() {
        let weighed: Vec<(f64, &Seen)> =
            data[..place].iter().map(|seen| (gamma.powi((t - seen.0) as i32), seen)).collect();
        let residuals = |block: u32| {
            let own = || weighed.iter().filter(move |(_, seen)| seen.1 == block);
            let mut v = vec![vec![0.0; D]; D];
            let mut b = [0.0; D];
            (0..D).for_each(|i| v[i][i] = lambda);
            for (weight, seen) in own() {
                for i in 0..D {
                    b[i] += weight * seen.3 * seen.2[i];
                    (0..D).for_each(|j| v[i][j] += weight * seen.2[i] * seen.2[j]);
                }
            }
            let inverse = naive_inverse(v);
            let theta: Vec<f64> = inverse.iter().map(|line| dot(line, &b)).collect();
            let squares: f64 = own().map(|(weight, seen)| weight * seen.3 * seen.3).sum();
            (squares - dot(&theta, &b), theta, inverse)
        };
        let (other, _, _) = residuals(1 - block);
        let (own, theta, inverse) = residuals(*block);
        let weights: f64 = weighed.iter().map(|(weight, _)| weight).sum();
        let (a, b) = (0.5 + 0.5 * weights, 0.5 * mean_square + 0.5 * (own + other));
        let scale = b / a * (1.0 + quadratic(&inverse, x));
        let z = (reward - dot(&theta, x)).powi(2) / scale;
        log += libm::lgamma(a + 0.5)
            - libm::lgamma(a)
            - 0.5 * (2.0 * std::f64::consts::PI * a * scale).ln()
            - (a + 0.5) * (0.5 * z / a).ln_1p();
    }
    log
}

#[test]
fn the_factor_is_the_one_that_predicted_best() {
    let mut chosen = Vec::new();
    for (seed, every) in [(1, 100), (2, 4), (3, 2), (4, 6)] {
        let data = data(seed, 12, 10, every);
        let whole = model_of(&data);
        let lambda = whole.evidence().expect("squares").expect("rewards").best();
        let logs = GAMMAS.map(|gamma| log_density(&data, gamma, lambda));
        let best = (0..8).max_by(|&a, &b| logs[a].total_cmp(&logs[b])).expect("eight");
        let better = logs[best] - logs[0];
        let spans: Vec<Model> = (1..=12).map(|t| model_of(data.iter().filter(|seen| seen.0 == t))).collect();
        let (gamma, found) = Model::forgetting(&spans).expect("squares").expect("rounds");
        if better < 20_f64.ln() {
            assert_eq!((gamma.to_bits(), found.to_bits()), (1_f64.to_bits(), 0_f64.to_bits()), "seed {seed}");
        } else {
            assert_eq!(gamma.to_bits(), GAMMAS[best].to_bits(), "seed {seed}: {logs:?}");
            assert!((found - better).abs() < 1e-8 * better, "seed {seed}: {found}, not {better}");
        }
        assert_eq!(whole.in_force().expect("squares").gamma(), Gamma::Value(gamma), "seed {seed}");
        chosen.push(gamma);
    }
    assert!((chosen[0] - 1.0).abs() < 1e-12 && chosen[1] < 1.0 && chosen[2] < 1.0, "{chosen:?}");
}

/// The sums in force are the sums of all rewards, each with gamma to the power of its age: exactly while rounds are kept
/// one by one; later within the sixteenth of the age that spans are wide.
/// Where 256 rounds are a segment, the factors are for a segment: the same evidence as of single rounds, told for a round.
#[test]
fn segments_of_many_rounds_are_judged_by_the_segment() {
    let sums = |unit: u64| -> Vec<Model> {
        let by_round = |t: u64| {
            let mut model = Model::new(D, 2).expect("a shape");
            for seen in data(3, 12, 40, 6).iter().filter(|seen| seen.0 == t) {
                let last = Observation { t: seen.0 * unit, ..observation(seen) };
                model.observe(&last).expect("finite");
            }
            model
        };
        (1..=12).map(by_round).collect()
    };
    let (of_rounds, better) = Model::forgetting(&sums(1)).expect("squares").expect("enough");
    let (of_segments, same) = Model::forgetting_by(&sums(256), 256).expect("squares").expect("enough");
    assert!(of_rounds < 1.0 && better > 3.0, "theta changes: {of_rounds}, {better}");
    assert_eq!(same.to_bits(), better.to_bits());
    assert!((of_segments.powi(256) - of_rounds).abs() < 1e-12, "{of_segments} for {of_rounds}");
    // By the round no factor says that: 0.99 leaves 8 % of what was known a segment before, and 1 leaves all.
    let by_round = Model::forgetting(&sums(256)).expect("squares").expect("enough").0;
    assert!((by_round.powi(256) - of_rounds).abs() > 0.01, "{by_round} for {of_rounds}");
    assert!(Model::forgetting_by(&sums(1), 0).is_err());
}

#[test]
fn every_round_counts_by_its_age() {
    for (rounds, exact) in [(12, true), (90, false)] {
        let data = data(7, rounds, 8, 3);
        let whole = model_of(&data);
        let now = whole.in_force().expect("squares");
        let Gamma::Value(gamma) = now.gamma() else { panic!("a number is in force") };
        assert!(gamma < 1.0);
        let (_, spans) = whole.spans().expect("it is by evidence");
        assert!(if exact { spans.len() == 12 } else { spans.len() < 45 }, "{} spans", spans.len());
        for block in 0..2 {
            let own = || data.iter().filter(|seen| seen.1 == block);
            let sum = |of: &dyn Fn(&Seen) -> f64, slack: f64| -> f64 {
                own().map(|seen| gamma.powf((rounds - seen.0) as f64 * slack) * of(seen)).sum()
            };
            let found = &now.blocks()[block as usize];
            let rr = found.rr().expect("squares");
            let square = |seen: &Seen| seen.3 * seen.3;
            let (low, high) = (sum(&square, 17.0 / 16.0), sum(&square, 15.0 / 16.0));
            assert!(if exact { (rr / sum(&square, 1.0) - 1.0).abs() < 1e-12 } else { low <= rr && rr <= high });
            if exact {
                let b = sum(&|seen| seen.3 * seen.2[1], 1.0);
                assert!((found.b()[1] - b).abs() < 1e-12 * (1.0 + b.abs()));
            }
            assert_eq!(found.count(), own().count() as u64, "nothing is lost");
        }
    }
}

/// In rounds or out of order, in parts that are merged, saved or not: the same spans, and after taking back what was
/// too much as well.
#[test]
fn spans_do_not_depend_on_how_rewards_came() {
    let data = data(9, 60, 4, 5);
    let whole = model_of(&data);
    // Late: the odd ones after all others. Sums of a span differ by rounding only.
    let (even, odd): (Vec<&Seen>, Vec<&Seen>) = data.iter().partition(|seen| seen.0 % 2 == 0);
    let late = model_of(even.iter().chain(&odd).copied());
    let mut merged = model_of(even);
    merged.merge(&model_of(odd)).expect("one shape");
    let mut too_much = model_of(&data);
    let extra = (20, 1, vec![0.3, 0.2, -0.5], 2.0);
    too_much.observe(&observation(&extra)).expect("finite");
    too_much.correct(&observation(&extra), 3.0).expect("learned");
    too_much.unlearn(&Observation { reward: 3.0, ..observation(&extra) }).expect("learned");
    for other in [&late, &merged, &too_much] {
        let (mine, theirs) = (whole.spans().expect("spans").1, other.spans().expect("spans").1);
        assert!(mine.keys().eq(theirs.keys()));
        let flat = |spans: &std::collections::BTreeMap<u64, Vec<armwise::Block>>| -> Vec<f64> {
            spans
                .values()
                .flatten()
                .flat_map(|block| block.b().iter().chain(block.g()).copied().collect::<Vec<_>>())
                .collect()
        };
        assert!(flat(mine).iter().zip(flat(theirs)).all(|(a, b)| (a - b).abs() < 1e-12));
        assert_eq!(whole.in_force().expect("squares").gamma(), other.in_force().expect("squares").gamma());
    }
    // Segment by segment, as a campaign adds them: the same bits.
    let segments: Vec<Model> = (1..=60).map(|t| model_of(data.iter().filter(|seen| seen.0 == t))).collect();
    let mut by_segment = Model::new(D, 2).and_then(|model| model.with_gamma(Gamma::Auto)).expect("a shape");
    segments.iter().for_each(|segment| by_segment.merge(segment).expect("one shape"));
    let again: Model = serde_json::from_str(&serde_json::to_string(&by_segment).expect("json")).expect("just written");
    assert_eq!(again, by_segment);
    assert!(matches!(by_segment.merge(&Model::new(D, 2).expect("a shape")), Err(Error::Mismatch { .. })));
    // A file that says what its spans do not is refused, or mended to what they say.
    let text = serde_json::to_string(&again).expect("json");
    assert!(serde_json::from_str::<Model>(&text.replace("\"unit\":1", "\"unit\":0")).is_err());
    assert!(serde_json::from_str::<Model>(&text.replace("\"gamma\":1.0", "\"gamma\":0.5")).is_err());
    assert!(serde_json::from_str::<Model>(&text.replace("\"t\":60", "\"t\":2")).is_err());
}

/// A learner in a world that turns forgets, says so with every decision, and is the same saved, frozen or copied; in one
/// that stands still it forgets nothing and chooses what a learner without memory chooses.
#[test]
fn learners_forget_by_evidence_on_every_way() {
    let algorithm = Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.1));
    for (every, forgets) in [(4, true), (1000, false)] {
        let data = data(11, 24, 12, every);
        let auto = Learner::with_model(algorithm, model_of(&data)).expect("parameters");
        let x = rows(12, 1, 300, D);
        let arms = Arms::new(&x, D).expect("rows");
        // Two rounds went by without a reward.
        let (round, constraint) = (Round::new(3, 27), Constraint::top_k(20));
        let decision = auto.choose(round, &arms, &constraint).expect("arms");
        let gamma = decision.auto.and_then(|auto| auto.gamma).expect("it says so");
        assert!(if forgets { gamma < 1.0 } else { gamma >= 1.0 }, "{gamma}");
        let saved = auto.to_json().expect("json");
        assert!(saved.contains("\"version\":5"));
        let loaded: Learner = Learner::from_json(&saved).expect("just written");
        let sent = serde_json::to_string(&auto.freeze(round).expect("factors")).expect("json");
        let frozen: Frozen = serde_json::from_str(&sent).expect("just written");
        let mut choosing = frozen.choosing(&constraint).expect("factors");
        choosing.add(&arms).expect("part");
        for other in [loaded.choose(round, &arms, &constraint), choosing.finish()] {
            let other = other.expect("arms");
            assert_eq!(bits(&other), bits(&decision));
            assert_eq!(other.auto, decision.auto);
        }
        // The same with that gamma as a number.
        let mut model = Model::new(D, 2).and_then(|model| model.with_gamma(gamma)).expect("a shape");
        data.iter().for_each(|seen| model.observe(&observation(seen)).expect("finite"));
        let number = Learner::with_model(algorithm, model).expect("parameters");
        let close = |a: f64, b: f64| (a - b).abs() < if forgets { 0.05 } else { 1e-9 };
        let (mine, theirs) = (auto.posterior(0).expect("factors"), number.posterior(0).expect("factors"));
        assert!(mine.theta_hat().iter().zip(theirs.theta_hat()).all(|(a, b)| close(*a, *b)));
        if !forgets {
            let other = number.choose(round, &arms, &constraint).expect("arms");
            assert!(decision.arms.iter().map(|arm| arm.id).eq(other.arms.iter().map(|arm| arm.id)));
        }
    }
}

/// What is known before the first round, and what there is with nothing known at all.
#[test]
fn nothing_known_and_something_known_before() {
    let empty = Model::new(D, 2).and_then(|model| model.with_gamma(Gamma::Auto)).expect("a shape");
    assert_eq!(empty.in_force().expect("nothing").gamma(), Gamma::Value(1.0));
    let learner = Learner::with_model(Greedy::new(1.0), empty).expect("parameters");
    assert!(learner.posterior(0).expect("factors").theta_hat().iter().all(|theta| theta.abs() < 1e-12));
    let mut plain = Model::new(D, 2).expect("a shape");
    data(13, 3, 5, 100).iter().for_each(|seen| plain.observe(&observation(seen)).expect("finite"));
    let auto = plain.clone().with_gamma(Gamma::Auto).expect("a word");
    assert_eq!(auto.blocks(), plain.blocks());
    assert_eq!(auto.spans().expect("spans").1.keys().copied().collect::<Vec<_>>(), [3]);
    assert_eq!(auto.with_gamma(1.0).expect("a number"), plain);
}
