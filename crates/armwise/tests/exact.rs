//! Choosing with shortcuts gives what all scores in f64 give: the same arms in the same order, to the bit.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{
    Algorithm, ArmWiseTs, Arms, Assignment, Bonus, C2ucb, Catalogue, Choosing, Column, CombLinUcb, Constraint, Context,
    Decision, Draw, Error, Learner, Model, Names, Needs, Observation, Oracle, Pc2ucb, Pick, Policy, Proof, Quota,
    Round, Scope, Scores, Selection, Ties, TopK, oracle,
};
use common::{bits, draws, every_algorithm, every_variant, rows, trained};
use std::sync::Mutex;

/// A constraint that does not say that it looks at the best only, so that every arm is scored in f64.
struct Plain(Constraint);

impl Oracle for Plain {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        self.0.argmax(scores)
    }
}

const KINDS: [&str; 8] = ["gaussian", "clusters", "balls", "spectrum", "near-ties", "zeros", "small", "large"];

/// Features of a kind: rows on the sphere; 40 points with exact copies; balls of very different sizes around 40 points, with
/// some rows in none; coordinates that fall off as j^-2; one point
/// shaken in its last bits; every third row zero, without a width; numbers at both ends of what f32 holds.
fn features(kind: &str, seed: u64, n: usize, d: usize) -> Vec<f64> {
    let mut x = rows(seed, 1, n, d);
    let noise = draws(seed, 2);
    match kind {
        "clusters" => {
            for row in 40.min(n)..n {
                let centre = (noise.bits(row as u64) % 40) as usize;
                x.copy_within(centre * d..(centre + 1) * d, row * d);
            }
        }
        "balls" => {
            for row in 40.min(n)..n - n / 50 {
                let centre = (noise.bits(row as u64) % 40) as usize;
                let size = [0.0, 1e-12, 1e-3, 0.05, 0.2][centre % 5];
                (0..d).for_each(|j| x[row * d + j] = x[centre * d + j] + size * x[row * d + j]);
            }
        }
        "spectrum" => x.iter_mut().enumerate().for_each(|(i, x)| *x /= (1.0 + (i % d) as f64).powi(2)),
        "near-ties" => {
            for i in d..n * d {
                x[i] = x[i % d] * (1.0 + (noise.bits(i as u64) % 5) as f64 * f64::EPSILON);
            }
        }
        "zeros" => x.chunks_mut(d).step_by(3).for_each(|row| row.fill(0.0)),
        "small" => x.iter_mut().for_each(|x| *x *= 1e-36),
        "large" => x.iter_mut().for_each(|x| *x *= 1e36),
        _ => {}
    }
    x
}

fn bold(alpha: f64) -> [Algorithm; 4] {
    [
        Algorithm::C2ucb(C2ucb::new(0.7, alpha)),
        Algorithm::Pc2ucb(Pc2ucb::new(0.7, alpha, 1.0)),
        Algorithm::ArmWiseTs(ArmWiseTs::new(0.7, alpha)),
        Algorithm::CombLinUcb(CombLinUcb { lambda2: 2.0, sigma2: 0.5, c: alpha }),
    ]
}

fn same(learner: &Learner, arms: &Arms<'_>, constraint: &Constraint, what: &str) {
    let round = Round::new(3, 9);
    let plain = learner.choose(round, arms, &Plain(constraint.clone()));
    let quick = learner.choose(round, arms, constraint);
    if let (Ok(plain), Ok(quick)) = (&plain, &quick) {
        assert_eq!(bits(plain), bits(quick), "{what}");
    }
    // As text, in which a NaN is equal to itself.
    assert_eq!(format!("{plain:?}"), format!("{quick:?}"), "{what}");
}

#[test]
fn the_choice_is_that_of_all_scores_in_f64() {
    const N: usize = 2_000;
    const D: usize = 51;
    for kind in KINDS {
        let wide = features(kind, 1, N, D);
        let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
        for alpha in [0.01, 1.0, 100.0] {
            let all = match (alpha < 1.0, kind) {
                (true, "gaussian") => every_variant(),
                (true, _) => every_algorithm(),
                _ => Vec::new(),
            };
            for algorithm in all.into_iter().chain(bold(alpha)) {
                for ties in [Ties::ById, Ties::Random] {
                    let learner = trained(algorithm, D, 1, 6).with_ties(ties);
                    for k in [2, 20, 150, 1_000, N] {
                        let what = format!("{kind}, {}, alpha {alpha}, {ties:?}, k {k}", algorithm.name());
                        same(&learner, &Arms::new(&wide, D).expect("rows"), &Constraint::top_k(k), &what);
                        same(&learner, &Arms::new(&narrow, D).expect("rows"), &Constraint::top_k(k), &what);
                    }
                }
            }
        }
    }
}

/// Quotas of few and of many, zero, that cannot be met, ranges, several promotions to a customer, masks, both tie rules.
#[test]
fn quotas_per_promotion_are_filled_as_by_all_scores_in_f64() {
    for (n, d, blocks) in [(3_000, 33, 3), (2_001, 40, 4), (900, 90, 2)] {
        let mask: Vec<bool> = (0..n * blocks).map(|place| place % 5 != 2).collect();
        for kind in KINDS {
            let wide = features(kind, 4, n, d);
            let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
            let arms = [Arms::new(&wide, d), Arms::new(&narrow, d)].map(|arms| arms.expect("rows"));
            for (algorithm, ties) in bold(0.5).into_iter().zip([Ties::ById, Ties::Random].into_iter().cycle()) {
                let learner = trained(algorithm, d, blocks, 4).with_ties(ties);
                let mut uneven = vec![n / 50; blocks];
                uneven[0] = 0;
                uneven[blocks - 1] = n / 20;
                let quotas: [oracle::BlockQuotas; 4] = [
                    vec![n / 100; blocks].into(),
                    uneven.into(),
                    vec![n / 2; blocks].into(),
                    Quota::at_most(n / 60).into(),
                ];
                for quotas in quotas {
                    for per_row in [1, 2] {
                        let what = format!("{kind}, {n} x {d} x {blocks}, {algorithm:?}, {quotas:?}, {per_row}");
                        let assignment = Assignment { per_row, ..Assignment::new(quotas.clone()) };
                        let constraint = Constraint::Assignment(assignment);
                        arms.iter().for_each(|arms| same(&learner, arms, &constraint, &what));
                        same(&learner, &arms[0].with_eligible(&mask).expect("mask"), &constraint, &what);
                    }
                }
            }
        }
    }
}

#[test]
fn also_for_other_shapes_several_blocks_masks_and_fewer_than_k() {
    for (n, d, blocks) in [(20_000, 17, 1), (700, 90, 3), (300, 130, 2), (3_001, 40, 4)] {
        for kind in KINDS {
            let x = features(kind, 2, n, d);
            let ids: Vec<u64> = (0..n as u64).map(|row| row * 7_919 % 1_000_003).collect();
            let mask: Vec<bool> = (0..n * blocks).map(|place| place % 5 != 2).collect();
            let few: Vec<bool> = (0..n).map(|row| row % (n / 5) == 0).collect();
            let arms = Arms::new(&x, d).expect("rows").with_ids(&ids).expect("unique");
            for algorithm in bold(0.5) {
                let learner = trained(algorithm, d, blocks, 4);
                for k in [1, 12, 60] {
                    let what = format!("{kind}, {n} x {d} x {blocks}, {}, k {k}", algorithm.name());
                    same(&learner, &arms, &Constraint::top_k(k), &what);
                    same(&learner, &arms, &Constraint::TopK(TopK::at_most(k)), &what);
                    same(&learner, &arms.with_eligible(&mask).expect("mask"), &Constraint::top_k(k), &what);
                    same(&learner, &arms.with_eligible(&few).expect("mask"), &Constraint::top_k(k), &what);
                }
            }
        }
    }
}

/// Rounds too small for tasks, in which only some arms get their widths and draws: few and many features, tiny and huge
/// draws, masks, groups that share a draw, bonuses without one.
#[test]
fn small_rounds_make_the_draws_that_matter() {
    for (n, d) in [(2_000, 11), (1_033, 5), (512, 30), (700, 21)] {
        let mask: Vec<bool> = (0..n).map(|row| row % 5 != 2).collect();
        let groups: Vec<f64> = (0..n).map(|row| (row % 97) as f64).collect();
        let columns = [Column { name: "group", values: &groups }];
        for kind in KINDS {
            let wide = features(kind, 5, n, d);
            let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
            let model = trained(bold(1.0)[0], d, 1, 6).model().clone();
            for v in [1e-9, 0.1, 1.0, 1e6] {
                let own = ArmWiseTs::new(0.7, v);
                let scope = Scope::group("group").expect("a name");
                let sampled = [own, ArmWiseTs { scope, ..own }, ArmWiseTs { scope: Scope::Mixed(0.5), ..own }];
                for algorithm in sampled.map(Algorithm::ArmWiseTs).into_iter().chain(bold(v)) {
                    let learner = Learner::with_model(algorithm, model.clone()).expect("v");
                    for k in [1, 20, n / 20, n / 3, n] {
                        let what = format!("{kind}, {n} x {d}, {algorithm:?}, k {k}");
                        for arms in [Arms::new(&wide, d), Arms::new(&narrow, d)] {
                            let arms = arms.expect("rows").with_columns(&columns).expect("as many");
                            same(&learner, &arms, &Constraint::top_k(k), &what);
                            same(&learner, &arms, &Constraint::TopK(TopK::at_most(k)), &what);
                            same(&learner, &arms.with_eligible(&mask).expect("mask"), &Constraint::top_k(k), &what);
                        }
                    }
                }
            }
        }
    }
}

/// The sample from which the first floor is guessed may hold the best of all arms: then the guess is too high and must
/// be given up. So it is where the rows are sorted, or where the sampled ones are the longest.
#[test]
fn a_guess_that_is_too_high_is_given_up() {
    for (n, d, step) in [(2_000, 11, 16), (4_096, 51, 32), (4_096, 51, 16)] {
        let mut x = features("gaussian", 6, n, d);
        let learner = trained(Algorithm::ArmWiseTs(ArmWiseTs::new(0.7, 0.2)), d, 1, 6);
        let bound = trained(Algorithm::C2ucb(C2ucb::new(0.7, 0.2)), d, 1, 6);
        let means = learner.explain(
            Round::new(3, 9),
            &Arms::new(&x, d).expect("rows"),
            &(0..n).map(|row| Pick { row, block: 0 }).collect::<Vec<_>>(),
        );
        let mut order: Vec<usize> = (0..n).collect();
        let means = means.expect("finite");
        order.sort_by(|&a, &b| means[b].mean.total_cmp(&means[a].mean));
        // The best rows at every `step`-th place, the others behind them in turn.
        let (best, others) = order.split_at(n / step);
        let (mut best, mut others) = (best.iter(), others.iter());
        let rows = (0..n).map(|row| if row % step == 0 { best.next() } else { others.next() });
        let rows: Vec<usize> = rows.flatten().copied().collect();
        x = rows.iter().flat_map(|&row| x[row * d..(row + 1) * d].to_vec()).collect();
        let falling: Vec<f64> = order.iter().flat_map(|&row| means[row].features.to_vec()).collect();
        for (k, x) in [n / 100, n / step, n / step + 40, n / 11].into_iter().flat_map(|k| [(k, &x), (k, &falling)]) {
            for learner in [&learner, &bound] {
                let arms = Arms::new(x, d).expect("rows");
                same(learner, &arms, &Constraint::top_k(k), &format!("{n} x {d}, every {step}, k {k}"));
            }
        }
    }
}

/// What is wrong with a feature is said as without the shortcut, wherever it is and however the f32 look goes.
#[test]
fn bad_features_are_found_as_before() {
    const N: usize = 2_000;
    for (value, d) in [f64::NAN, f64::INFINITY, 1e39, 1e101, 1e200, 1e307].into_iter().flat_map(|v| [(v, 51), (v, 11)])
    {
        for (row, algorithm) in [0, 777, N - 1].into_iter().flat_map(|row| bold(1.0).map(|algorithm| (row, algorithm)))
        {
            let mut x = rows(4, 1, N, d);
            x[row * d + 3] = value;
            let learner = trained(algorithm, d, 1, 3);
            let what = format!("{value} in row {row}, {d} features, {algorithm:?}");
            let (arms, best) = (Arms::new(&x, d).expect("rows"), Constraint::top_k(20));
            same(&learner, &arms, &best, &what);
            // It is not eligible, and nothing is known of the coefficients.
            let mask: Vec<bool> = (0..N).map(|place| place != row).collect();
            let arms = arms.with_eligible(&mask).expect("a flag to a row");
            same(&learner, &arms, &best, &what);
            let learner = Learner::with_model(Unbounded, learner.model().clone()).expect("parameters");
            let [plain, quick]: [&dyn Oracle; 2] = [&Plain(best.clone()), &best];
            let [plain, quick] = [plain, quick].map(|oracle| learner.choose(Round::new(3, 9), &arms, oracle));
            assert_eq!(format!("{plain:?}"), format!("{quick:?}"), "{what}, unbounded");
        }
    }
}

/// A policy of somebody else's.
struct Unbounded;

impl Policy for Unbounded {
    fn ridge(&self) -> f64 {
        0.7
    }

    fn bonus(&self, _: &Context<'_>) -> Bonus<'_> {
        Bonus::width(Draw::Normal, |z| 0.1 * z)
    }
}

/// A catalogue round after round, with everything that can happen to a model in between: rewards late, corrected and taken
/// back, forgetting, another learner, a mask that changes.
#[test]
fn a_catalogue_chooses_what_its_arms_would() {
    const N: usize = 2_500;
    const D: usize = 45;
    // Without the largest: what is learned from those cannot be factored.
    for &kind in &KINDS[..7] {
        let wide = features(kind, 3, N, D);
        let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
        for (number, algorithm) in
            every_variant().into_iter().chain([0.05, 1e-9, 1e3].into_iter().flat_map(bold)).enumerate()
        {
            let plain = if number % 2 == 0 { Arms::new(&wide, D) } else { Arms::new(&narrow, D) }.expect("rows");
            let ids: Vec<u64> = (0..N as u64).map(|row| row * 7_919 % 1_000_003).collect();
            let plain = plain.with_ids(&ids).expect("unique");
            let catalogue = Catalogue::new(&plain).expect("finite");
            let others =
                trained(algorithm, D, 1, 3).choose_from(&catalogue, Round::new(1, 1), &plain, &TopK::exactly(1));
            assert_eq!(others.expect_err("copies"), Error::NotOfCatalogue);
            let gamma = if number % 3 == 0 { 0.9 } else { 1.0 };
            let model = Model::new(D, 1).expect("shape").with_gamma(gamma).expect("gamma");
            let ties = if number % 2 == 0 { Ties::ById } else { Ties::Random };
            let mut learner = Learner::with_model(algorithm, model).expect("parameters").with_ties(ties);
            let other = trained(algorithm, D, 1, 3);
            let mut before = None;
            for t in 1..=14 {
                let mask: Vec<bool> = (0..N).map(|row| !(row as u64 + t).is_multiple_of(7)).collect();
                let round = Round::new(8, t);
                let constraint = Constraint::top_k(if t % 5 == 0 { 200 } else { 15 });
                let who = if t == 8 { &other } else { &learner };
                let [mut plain, mut items] = [plain, catalogue.arms()];
                if t % 3 == 0 {
                    plain = plain.with_eligible(&mask).expect("mask");
                    items = items.with_eligible(&mask).expect("mask");
                }
                let expected = who.choose(round, &plain, &Plain(constraint.clone())).expect("arms");
                let found = who.choose_from(&catalogue, round, &items, &constraint).expect("arms");
                assert_eq!(bits(&expected), bits(&found), "{kind}, {}, round {t}", algorithm.name());
                assert_eq!(expected, found);
                let size = expected.arms[0].features.iter().map(|x| x.abs()).fold(0.0, f64::max);
                let size = if size > 0.0 { size } else { 1.0 };
                let rewards = expected.rewards(|arm| arm.features[0] / size + f64::from(arm.id as u32 % 10));
                learner.learn(&expected, &rewards).expect("fresh");
                if t == 6 {
                    let (decision, rewards): &(armwise::Decision, Vec<armwise::Reward>) =
                        before.as_ref().expect("round 5");
                    learner.unlearn(decision, rewards).expect("learned");
                }
                before = Some((expected, rewards));
            }
        }
    }
}

/// An oracle from outside that knows its floors beforehand, and writes down which rows it is asked about.
struct Known {
    floors: Vec<f64>,
    rows: Mutex<Vec<usize>>,
}

impl Known {
    fn new(floors: Vec<f64>) -> Self {
        Self { floors, rows: Mutex::default() }
    }
}

impl Oracle for Known {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        *self.rows.lock().expect("no panic") = (0..scores.len()).map(|row| scores.keys().id(row) as usize).collect();
        Ok(Selection { floors: Some(self.floors.clone()), ..Selection::optimal(Vec::new(), scores) })
    }

    fn needs(&self) -> Needs {
        Needs::Floors { from: usize::MAX }
    }

    fn guess_floors(&self, _: &Scores<'_>, _: f64) -> Result<Option<Vec<f64>>, Error> {
        Ok(Some(self.floors.clone()))
    }
}

/// Choosing from parts keeps every row that reaches a floor by its f64 scores, and next to none that does not.
#[test]
fn parts_keep_all_rows_that_reach_a_floor() {
    let (n, d, blocks, round) = (5_000, 20, 3, Round::new(3, 9));
    let (mut kept, mut reached) = (0, 0);
    let reaching = |learner: &Learner, arms: &Arms<'_>, floors: &[f64]| {
        let oracle = Known::new(floors.to_vec());
        let mut choosing = learner.choosing(round, &oracle)?;
        choosing.guess(arms, 0.5)?;
        choosing.add(arms)?;
        choosing.prove()?;
        let rows = oracle.rows.lock().expect("no panic").clone();
        Ok::<_, Error>(rows)
    };
    for kind in KINDS {
        let x = features(kind, 8, n, d);
        let rounded: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let eligible: Vec<bool> =
            (0..n * blocks).map(|place| !draws(4, 4).bits(place as u64).is_multiple_of(3)).collect();
        for algorithm in every_variant().into_iter().chain(bold(2.0)) {
            let learner = trained(algorithm, d, blocks, 4);
            for (single, arms) in [(false, Arms::new(&x, d)), (true, Arms::new(&rounded, d))] {
                let arms = arms.expect("rows").with_eligible(&eligible).expect("flags");
                let scores = match learner.scores(round, &arms) {
                    Ok(scores) => scores,
                    // Beyond what scores can be: choosing says the same.
                    Err(error) => {
                        assert_eq!(reaching(&learner, &arms, &[0.0; 3]).expect_err("overflow"), error);
                        continue;
                    }
                };
                for place in [0, n / 100, n / 3] {
                    let floors: Vec<f64> = (0..blocks)
                        .map(|block| {
                            let mut own: Vec<f64> = scores.iter().skip(block).step_by(blocks).copied().collect();
                            own.sort_by(|a, b| b.total_cmp(a));
                            own[place]
                        })
                        .collect();
                    let must: Vec<usize> = (0..n)
                        .filter(|row| {
                            let own = &scores[row * blocks..(row + 1) * blocks];
                            own.iter().zip(&floors).any(|(score, floor)| score >= floor && *score > f64::NEG_INFINITY)
                        })
                        .collect();
                    let rows = reaching(&learner, &arms, &floors).expect("finite");
                    assert!(rows.is_sorted(), "{kind} {algorithm:?}");
                    let missing = must.iter().find(|row| rows.binary_search(row).is_err());
                    assert_eq!(missing, None, "{kind} {algorithm:?} f32 {single} place {place}");
                    if kind == "gaussian" {
                        (kept, reached) = (kept + rows.len(), reached + must.len());
                    }
                }
            }
        }
    }
    assert!(reached > 10_000 && kept < reached + reached / 50, "{kept} rows kept for {reached}");
    let learner = trained(bold(1.0)[0], d, blocks, 4);
    let x = features("gaussian", 8, 10, d);
    let error = reaching(&learner, &Arms::new(&x, d).expect("rows"), &[0.0]).expect_err("one floor for three blocks");
    assert_eq!(error, Error::Dimension { what: "floors", expected: 3, found: 1 });
}

/// Exact quotas, ranges whose minimum must be filled by negative scores, eligible rows that come late; with and without a
/// guess from a sample, which may be the best rows of all: parts give what the whole gives at once.
#[test]
fn parts_give_what_the_whole_gives() {
    let (d, blocks) = (3, 2);
    let (mut refuted, mut guessed) = (0, 0);
    for seed in 0..120_u64 {
        let draws = draws(seed, 5);
        let mut model = Model::new(d, blocks).expect("a shape");
        for i in 0..20_u64 {
            let x: Vec<f64> = (0..d as u64).map(|j| draws.uniform(i * 10 + j)).collect();
            // Most scores are negative for even seeds, positive for odd ones.
            let reward = if seed.is_multiple_of(2) { -1.0 } else { 1.0 } * draws.uniform(1000 + i);
            model.observe(&Observation { t: 1, block: (i % 2) as u32, x: &x, reward }).expect("finite numbers");
        }
        let algorithm = Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.2));
        let learner = Learner::with_model(algorithm, model).expect("parameters");
        let pick = |place: u64, count: u64| draws.bits(5000 + place) % count;
        let count = 400 + pick(0, 6000) as usize;
        let number = |place: u64| 1 + pick(place, 60) as usize;
        let quotas = match seed % 4 {
            0 => vec![Quota::Exactly(number(1)), Quota::Exactly(number(2))],
            1 => vec![Quota::between(number(1), number(1) + number(2)), Quota::Exactly(number(3))],
            2 => vec![Quota::between(number(1), 100), Quota::between(0, number(2))],
            _ => vec![Quota::between(0, number(1)), Quota::between(number(2), number(2))],
        };
        let assignment = Assignment { per_row: 1 + usize::from(seed.is_multiple_of(3)), ..Assignment::new(quotas) };
        let x: Vec<f32> = (0..(count * d) as u64).map(|id| draws.uniform(1 << 40 | id) as f32).collect();
        let eligible: Vec<bool> = (0..2 * count)
            .map(|place| place % 2 == 0 || place / 2 > count / 3 || draws.bits(place as u64).is_multiple_of(8))
            .collect();
        let names = Names::new((0..count).map(|row| format!("c{row}"))).expect("unique");
        let arms = Arms::new(&x, d).expect("rows").with_names(&names).expect("as many");
        let arms = arms.with_eligible(&eligible).expect("flags");
        let round = Round::new(seed, 2);
        let expected = learner.choose(round, &arms, &assignment).expect("feasible");
        let scores = learner.scores(round, &arms).expect("finite");
        for guess in [None, Some(0..count / 4), Some(0..count)] {
            let mut choosing = learner.choosing(round, &assignment).expect("factors");
            let mut keys = learner.choosing(round, &assignment).expect("factors").keys_only();
            if let Some(sample) = guess {
                // A quarter of the rows as they come, or the best quarter as if it were any.
                let mut rows: Vec<usize> = sample.clone().collect();
                if sample.end == count {
                    rows.sort_by(|a, b| scores[2 * b].total_cmp(&scores[2 * a]));
                    rows.truncate(count / 4);
                }
                let x: Vec<f32> = rows.iter().flat_map(|row| &x[row * d..(row + 1) * d]).copied().collect();
                let ids: Vec<u64> = rows.iter().map(|&row| names.ids()[row]).collect();
                let sample = Arms::new(&x, d).expect("rows").with_ids(&ids).expect("unique");
                choosing.guess(&sample, 0.25).expect("finite");
                guessed += 1;
            }
            let give = |choosing: &mut Choosing<'_>| {
                for first in (0..count).step_by(37) {
                    choosing.add(&arms.slice(first..count.min(first + 37))).expect("finite");
                }
                choosing.prove().expect("feasible")
            };
            if give(&mut choosing) == Proof::Again {
                refuted += 1;
                assert_eq!(give(&mut choosing), Proof::Done, "certain floors");
            }
            assert_eq!(give(&mut keys), Proof::Done);
            let mut by_id: Vec<(u64, u32)> = expected.arms.iter().map(|arm| (arm.id, arm.block)).collect();
            by_id.sort_unstable();
            assert_eq!((choosing.chosen(), keys.chosen()), (by_id.clone(), by_id), "seed {seed}");
            let found = choosing.finish().expect("feasible");
            // Prices are those of the kept rows: what one more unit would be worth may have been left out.
            assert_eq!(Decision { prices: expected.prices.clone(), ..found }, expected, "seed {seed}");
        }
    }
    assert!(refuted > 20 && refuted < guessed, "{refuted} of {guessed} guesses refuted");
}
