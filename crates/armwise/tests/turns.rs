//! One arm after another: hallucinated C2UCB and diversity against the greedy choice by brute force, ties and quotas
//! included.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{
    Algorithm, Arms, C2ucb, Catalogue, Column, Constraint, Decision, Error, Explicit, HallucinatedC2ucb, Learner,
    Model, Observation, OnInfeasible, Quotas, Round, Schedule, Ties, TopK,
    oracle::{Group, Member, OneOrMany},
};
use common::{bits, dot, draws, naive_inverse, quadratic, rows};

const D: usize = 3;

/// What is chosen from.
struct Instance {
    policy: HallucinatedC2ucb,
    model: Model,
    x: Vec<f64>,
    region: Vec<f64>,
    eligible: Vec<bool>,
    blocks: usize,
    constraint: Constraint,
}

impl Instance {
    /// Features from a pool of three rows, so that many arms are alike to the bit and no others have equal scores.
    fn new(seed: u64) -> Self {
        let draws = draws(seed, 3);
        let pick = |id: u64, count: u64| draws.bits(id) % count;
        let blocks = 1 + pick(1, 2) as usize;
        let n = 2 + pick(2, if blocks == 1 { 6 } else { 3 }) as usize;
        let value = |id: u64| draws.normal(1 << 40 | id);
        let x: Vec<f64> = (0..n as u64)
            .flat_map(|row| {
                let of_pool = pick(100 + row, 3) * 10;
                (0..D as u64).map(move |j| of_pool + j)
            })
            .map(value)
            .collect();
        let mut model = Model::new(D, blocks).expect("a shape");
        for row in 0..pick(3, 4) {
            let seen: Vec<f64> = (0..D as u64).map(|j| value(1_000 + row * 10 + j)).collect();
            let block = pick(4 + row, blocks as u64) as u32;
            model.observe(&Observation { t: 1, block, x: &seen, reward: value(2_000 + row) }).expect("finite");
        }
        let policy = HallucinatedC2ucb {
            diversity: [0.0, 0.0, 0.7, 3.0][pick(20, 4) as usize],
            ..HallucinatedC2ucb::new([0.5, 1.0][pick(21, 2) as usize], [0.0, 0.4, 2.0][pick(22, 3) as usize])
        };
        let k = 1 + pick(23, (n * blocks) as u64) as usize;
        let on_infeasible = if pick(24, 3) == 0 { OnInfeasible::Fill } else { OnInfeasible::Error };
        let constraint = if pick(25, 3) == 0 {
            Constraint::TopK(TopK { k, at_most: pick(26, 2) == 0, on_infeasible })
        } else {
            let group = |column: &str, value: f64, id: u64| {
                let (min, max) = (pick(id, 3) as usize, pick(id + 1, 4) as usize);
                let value = Some(OneOrMany::One(value));
                Group { column: column.into(), value, min: Some(min.min(max)), max: Some(max), ..Group::default() }
            };
            let min = if pick(27, 2) == 0 { k } else { 0 };
            let groups = vec![group("region", 0.0, 30), group("region", 1.0, 40), group("wide", 1.0, 50)];
            Constraint::Quotas(Quotas { k: Some(k), min, groups, on_infeasible: OnInfeasible::Error })
        };
        let region = (0..n as u64).map(|row| pick(3_000 + row, 3) as f64).collect();
        let eligible = (0..(n * blocks) as u64).map(|id| pick(4_000 + id, 6) > 0).collect();
        Self { policy, model, x, region, eligible, blocks, constraint }
    }

    fn choose(&self, ties: Ties, seed: u64) -> Result<Decision, Error> {
        // A group around both regions, so that groups are nested.
        let wide: Vec<f64> = self.region.iter().map(|&region| f64::from(region < 1.5)).collect();
        let columns = [Column { name: "region", values: &self.region }, Column { name: "wide", values: &wide }];
        let arms = Arms::new(&self.x, D)?.with_columns(&columns)?.with_eligible(&self.eligible)?;
        let learner =
            Learner::with_model(Algorithm::HallucinatedC2ucb(self.policy), self.model.clone())?.with_ties(ties);
        learner.choose(Round::new(seed, 4), &arms, &self.constraint)
    }

    /// All super arms, as sets of places, by looking at every set.
    fn super_arms(&self) -> Vec<u32> {
        let arms = self.region.len() * self.blocks;
        let fits = |set: &u32| {
            let places = || (0..arms).filter(|place| set >> place & 1 == 1);
            let count = |inside: &dyn Fn(f64) -> bool| {
                places().filter(|place| inside(self.region[place / self.blocks])).count()
            };
            if !places().all(|place| self.eligible[place]) {
                return false;
            }
            match &self.constraint {
                Constraint::TopK(TopK { k, at_most, .. }) => {
                    count(&|_| true) == *k || *at_most && count(&|_| true) < *k
                }
                Constraint::Quotas(Quotas { k, min, groups, .. }) => {
                    let within = |group: &Group| {
                        let Some(OneOrMany::One(value)) = group.value else { unreachable!("one value each") };
                        let inside = |region: f64| {
                            if group.column == "wide" { region < 1.5 } else { (region - value).abs() < 0.5 }
                        };
                        (group.min.unwrap_or(0)..=group.max.unwrap_or(99)).contains(&count(&inside))
                    };
                    (*min..=k.unwrap_or(99)).contains(&count(&|_| true)) && groups.iter().all(within)
                }
                _ => unreachable!("two kinds"),
            }
        };
        (0..1u32 << arms).filter(fits).collect()
    }

    /// The score of an arm after others were taken, from inverses that are made anew.
    fn score(&self, place: usize, taken: &[usize]) -> f64 {
        let (row, block) = (place / self.blocks, place % self.blocks);
        let x = |row: usize| &self.x[row * D..(row + 1) * D];
        let sums = &self.model.blocks()[block];
        let lambda = self.policy.lambda.before();
        let Schedule::Constant(alpha) = self.policy.alpha else { unreachable!("a number") };
        let own = |with_sums: bool, and_taken: bool| -> Vec<Vec<f64>> {
            let element = |i: usize, j: usize| {
                let (a, b) = (i.max(j), i.min(j));
                let learned = if with_sums { sums.g()[a * (a + 1) / 2 + b] } else { 0.0 };
                let others = taken.iter().filter(|other| and_taken && **other % self.blocks == block);
                let added: f64 = others.map(|other| x(other / self.blocks)[i] * x(other / self.blocks)[j]).sum();
                learned + added + if i == j { lambda } else { 0.0 }
            };
            naive_inverse((0..D).map(|i| (0..D).map(|j| element(i, j)).collect()).collect())
        };
        let inverse = own(true, false);
        let theta: Vec<f64> = inverse.iter().map(|line| dot(line, sums.b())).collect();
        let apart = quadratic(&own(false, true), x(row));
        dot(&theta, x(row))
            + alpha * quadratic(&own(true, true), x(row)).max(0.0).sqrt()
            + 0.5 * self.policy.diversity * apart.ln_1p()
    }
}

/// Greedy by the definition: of the arms that keep a super arm possible, the one with the largest score, if it is above
/// 0 or brings the nearest super arm nearer. Scores within 1e-9 are taken for equal: in these instances nothing else is
/// so near.
fn by_brute_force(instance: &Instance, tie: impl Fn(usize) -> u64) -> Vec<usize> {
    let all = instance.super_arms();
    let arms = instance.region.len() * instance.blocks;
    let nearest = |set: u32| all.iter().filter(|other| **other & set == set).map(|other| other.count_ones()).min();
    let (mut taken, mut set) = (Vec::new(), 0u32);
    loop {
        let mut best: Option<(f64, u64, usize)> = None;
        for place in (0..arms).filter(|place| set >> place & 1 == 0) {
            let Some(with) = nearest(set | 1 << place) else { continue };
            // Arms that are still needed beyond the present set, without and with it.
            let missing = nearest(set).expect("a super arm") - set.count_ones();
            let demanded = with - set.count_ones() - 1 < missing;
            let score = instance.score(place, &taken);
            if score <= 1e-9 && !demanded {
                continue;
            }
            let better = best.is_none_or(|(other, key, at)| {
                if (score - other).abs() < 1e-9 {
                    (tie(place), place % instance.blocks) < (key, at % instance.blocks)
                } else {
                    score > other
                }
            });
            if better {
                best = Some((score, tie(place), place));
            }
        }
        let Some((_, _, place)) = best else { return taken };
        taken.push(place);
        set |= 1 << place;
    }
}

#[test]
fn turns_are_the_greedy_choice_by_brute_force() {
    let (mut compared, mut infeasible) = (0, 0);
    for seed in 0..2_000 {
        let instance = Instance::new(seed);
        for ties in [Ties::ById, Ties::Random] {
            let found = instance.choose(ties, seed);
            if instance.super_arms().is_empty() {
                let fill =
                    matches!(&instance.constraint, Constraint::TopK(TopK { on_infeasible: OnInfeasible::Fill, .. }));
                assert!(fill || matches!(found, Err(Error::Infeasible(_))), "seed {seed}: {found:?}");
                infeasible += 1;
                continue;
            }
            let decision = found.expect("feasible");
            let key = |place: usize| {
                let (id, block) = ((place / instance.blocks) as u64, (place % instance.blocks) as u32);
                match ties {
                    Ties::ById => id,
                    Ties::Random => Round::new(seed, 4).draws(block, armwise::Stream::TIES).bits(id),
                }
            };
            let expected = by_brute_force(&instance, key);
            let mut chosen: Vec<usize> =
                decision.arms.iter().map(|arm| arm.id as usize * instance.blocks + arm.block as usize).collect();
            let mut sorted = expected.clone();
            chosen.sort_unstable();
            sorted.sort_unstable();
            assert_eq!(chosen, sorted, "seed {seed}, {ties:?}, {:?}, {:?}", instance.policy, instance.constraint);
            // The scores are those of the turns.
            for (turn, place) in expected.iter().enumerate() {
                let score = instance.score(*place, &expected[..turn]);
                let of = |arm: &&armwise::ChosenArm| arm.id as usize * instance.blocks + arm.block as usize == *place;
                let arm = decision.arms.iter().find(of).expect("chosen");
                assert!((arm.score - score).abs() < 1e-9, "seed {seed}: {} not {score}", arm.score);
            }
            compared += 1;
        }
    }
    assert!(compared >= 2_000 && infeasible > 100, "{compared} compared, {infeasible} infeasible");
}

/// Large enough that bounds prune: the queue with bounds chooses what scoring every arm after every pick chooses.
#[test]
fn laziness_changes_nothing() {
    const N: usize = 3_000;
    const D: usize = 40;
    let x = rows(2, 1, N, D);
    let narrow: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let wide: Vec<f64> = narrow.iter().map(|&x| f64::from(x)).collect();
    let mut model = Model::new(D, 1).expect("a shape");
    for row in x.chunks(D).take(400) {
        model.observe(&Observation { t: 1, block: 0, x: row, reward: row[0] + 0.3 * row[1] }).expect("finite");
    }
    for (alpha, diversity) in [(0.05, 0.0), (0.5, 0.0), (5.0, 0.0), (0.2, 0.3)] {
        let policy = HallucinatedC2ucb { diversity, ..HallucinatedC2ucb::new(0.5, alpha) };
        let learner = Learner::with_model(Algorithm::HallucinatedC2ucb(policy), model.clone()).expect("parameters");
        let (round, constraint) = (Round::new(1, 2), Constraint::top_k(60));
        let arms = Arms::new(&wide, D).expect("rows");
        let found = learner.choose(round, &arms, &constraint).expect("arms");
        // Every arm after every pick, with posteriors that are factored anew.
        let mut with = model.clone();
        let mut taken = Vec::new();
        let theta = model.posterior(0, 0.5).expect("factors").theta_hat().to_vec();
        let mut apart = Model::new(D, 1).expect("a shape");
        for _ in 0..60 {
            let (own, of_set) = (with.posterior(0, 0.5).expect("factors"), apart.posterior(0, 0.5).expect("factors"));
            let score = |row: usize| {
                let x = &wide[row * D..(row + 1) * D];
                dot(&theta, x) + alpha * own.width(x) + 0.5 * diversity * of_set.width(x).powi(2).ln_1p()
            };
            let best = (0..N).filter(|row| !taken.contains(row)).max_by(|&a, &b| score(a).total_cmp(&score(b)));
            let best = best.expect("arms are left");
            let seen = Observation { t: 1, block: 0, x: &wide[best * D..(best + 1) * D], reward: 0.0 };
            with.observe(&seen).expect("finite");
            apart.observe(&seen).expect("finite");
            taken.push(best);
        }
        assert_eq!(
            found.arms.iter().map(|arm| arm.id as usize).collect::<Vec<_>>(),
            taken,
            "alpha {alpha}, {diversity}"
        );
        let other = learner.choose(round, &Arms::new(&narrow, D).expect("rows"), &constraint).expect("arms");
        assert_eq!(bits(&found), bits(&other));
        let catalogue = Catalogue::new(&arms).expect("finite");
        assert_eq!(found, learner.choose_from(&catalogue, round, &catalogue.arms(), &constraint).expect("arms"));
        let mut choosing = learner.choosing(round, &constraint).expect("factors");
        (0..N).step_by(500).for_each(|at| choosing.add(&arms.slice(at..at + 500)).expect("part"));
        assert_eq!(found, choosing.finish().expect("arms"));
    }
}

/// Rows that make shortcuts fail, in rounds large enough to be pruned: every arm taken has the largest score of its turn by
/// posteriors that are factored anew, and of rows that are alike the one with the smaller id comes first.
#[test]
fn shortcuts_hold_for_rows_that_are_alike_zero_or_far_apart() {
    const N: usize = 3_000;
    const D: usize = 40;
    const K: usize = 50;
    let loose = rows(8, 1, N, D);
    let clusters: Vec<f64> = (0..N).flat_map(|row| loose[row % 30 * D..(row % 30 + 1) * D].to_vec()).collect();
    let row_times = |times: &dyn Fn(usize) -> f64| -> Vec<f64> {
        loose.iter().enumerate().map(|(at, x)| x * times(at / D)).collect()
    };
    let kinds = [
        ("equal norms", loose.clone()),
        ("clusters", clusters),
        ("zeros", row_times(&|row| if row % 3 == 0 { 0.0 } else { 1.0 })),
        ("far apart", row_times(&|row| 10f64.powf((row % 7) as f64 - 4.0))),
    ];
    for (name, x) in kinds {
        let arms = Arms::new(&x, D).expect("rows");
        let longest = x.chunks(D).map(|x| dot(x, x)).fold(0.0, f64::max);
        for (seen, lambda, alpha, diversity) in [
            (400, 0.5, 0.3, 0.1),
            (0, 1.0, 1.0, 0.0),
            (400, 1e-3, 0.1, 30.0),
            (3_000, 1e3, 2.0, 1e-6),
            (40, 1e-6, 0.0, 0.2),
        ] {
            let mut model = Model::new(D, 1).expect("a shape");
            for row in x.chunks(D).take(seen) {
                model.observe(&Observation { t: 1, block: 0, x: row, reward: row[0] + 0.3 * row[1] }).expect("finite");
            }
            let policy = HallucinatedC2ucb { diversity, ..HallucinatedC2ucb::new(lambda, alpha) };
            let learner = Learner::with_model(Algorithm::HallucinatedC2ucb(policy), model.clone()).expect("parameters");
            let found = learner.choose(Round::new(1, 2), &arms, &Constraint::top_k(K)).expect("arms");
            let theta = model.posterior(0, lambda).expect("factors").theta_hat().to_vec();
            let (mut with, mut apart) = (model.clone(), Model::new(D, 1).expect("a shape"));
            let mut is_left = [true; N];
            for arm in &found.arms {
                let own = with.posterior(0, lambda).expect("factors");
                let of_set = apart.posterior(0, lambda).expect("factors");
                let of_row = |row: usize| &x[row * D..(row + 1) * D];
                let score = |row: usize| {
                    let x = of_row(row);
                    let squared = of_set.width(x).powi(2);
                    dot(&theta, x) + alpha * own.width(x) + 0.5 * diversity * squared.ln_1p()
                };
                let left = || (0..N).filter(|row| is_left[*row]);
                let best = left().map(score).fold(f64::NEG_INFINITY, f64::max);
                let (row, case) = (arm.id as usize, (name, seen, lambda, alpha, diversity));
                // Factoring anew loses lambda in the rounding of far larger sums.
                let off = (1e-9 + 1e-15 * longest / lambda) * (1.0 + best.abs());
                assert!(score(row) >= best - off, "{case:?}: {} instead of {best}", score(row));
                assert!((arm.score - score(row)).abs() < off, "{case:?}: {} not {}", arm.score, score(row));
                let alike = left().find(|other| of_row(*other) == of_row(row));
                assert_eq!(alike, Some(row), "{case:?}: the smaller id comes first");
                let taken = Observation { t: 1, block: 0, x: of_row(row), reward: 0.0 };
                with.observe(&taken).expect("finite");
                apart.observe(&taken).expect("finite");
                is_left[row] = false;
            }
            assert_eq!(found.arms.len(), K, "{name}");
        }
    }
}

/// What the contract asks of every algorithm: threads and the order of the rows change nothing.
#[test]
fn threads_and_row_order_change_nothing() {
    const N: usize = 3_000;
    const D: usize = 40;
    let x = rows(6, 1, N, D);
    let reversed: Vec<f64> = x.chunks(D).rev().flatten().copied().collect();
    let ids: Vec<u64> = (0..N as u64).rev().collect();
    let mut model = Model::new(D, 1).expect("a shape");
    for row in x.chunks(D).take(400) {
        model.observe(&Observation { t: 1, block: 0, x: row, reward: row[0] + 0.3 * row[1] }).expect("finite");
    }
    for diversity in [0.0, 0.3] {
        let policy = HallucinatedC2ucb { diversity, ..HallucinatedC2ucb::new(0.5, 0.4) };
        let learner = Learner::with_model(Algorithm::HallucinatedC2ucb(policy), model.clone()).expect("parameters");
        let choose = |arms: &Arms<'_>, ties, threads| {
            let learner = learner.clone().with_ties(ties);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
            bits(&pool.install(|| learner.choose(Round::new(1, 2), arms, &Constraint::top_k(60)).expect("arms")))
        };
        let (there, back) = (Arms::new(&x, D).expect("rows"), Arms::new(&reversed, D).expect("rows"));
        let back = back.with_ids(&ids).expect("unique");
        for ties in [Ties::ById, Ties::Random] {
            let one = choose(&there, ties, 1);
            assert_eq!(one, choose(&there, ties, 2), "diversity {diversity}, {ties:?}");
            assert_eq!(one, choose(&back, ties, 2), "diversity {diversity}, {ties:?}");
        }
    }
}

/// With alpha and diversity 0 the means decide, as in C2UCB; and what has no turns is refused.
#[test]
fn ends_and_refusals() {
    let x = rows(3, 1, 50, D);
    let arms = Arms::new(&x, D).expect("rows");
    let mut model = Model::new(D, 1).expect("a shape");
    model.observe(&Observation { t: 1, block: 0, x: &x[..D], reward: 1.0 }).expect("finite");
    let (round, constraint) = (Round::new(1, 2), Constraint::top_k(9));
    let learner = |policy| Learner::with_model(policy, model.clone()).expect("parameters");
    let turns = learner(Algorithm::HallucinatedC2ucb(HallucinatedC2ucb::new(1.0, 0.0)));
    let plain = learner(Algorithm::C2ucb(C2ucb::new(1.0, 0.0)));
    let ids = |learner: &Learner| -> Vec<u64> {
        learner.choose(round, &arms, &constraint).expect("arms").arms.iter().map(|arm| arm.id).collect()
    };
    assert_eq!(ids(&turns), ids(&plain));
    let listed = Explicit { super_arms: vec![vec![Member::Id(1), Member::Id(2)]] };
    let error = turns.choose(round, &arms, &listed).expect_err("sets have no turns");
    assert!(error.to_string().contains("only top-k and quotas"), "{error}");
}

/// 20,000 arms of 51 features, k = 200, in turns with C2UCB: run it by name on a machine that has time. Prints the
/// ratios.
#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stdout, reason = "the measurement")]
fn a_choice_in_turns_takes_at_most_three_times_that_of_c2ucb() {
    const N: usize = 20_000;
    const D: usize = 51;
    let x = rows(5, 1, N, D);
    let arms = Arms::new(&x, D).expect("rows");
    let mut model = Model::new(D, 1).expect("a shape");
    for row in x.chunks(D).step_by(5) {
        model.observe(&Observation { t: 1, block: 0, x: row, reward: row[0] + 0.3 * row[1] }).expect("finite");
    }
    let learner = |algorithm| Learner::with_model(algorithm, model.clone()).expect("parameters");
    let constraint = Constraint::top_k(200);
    for alpha in [0.1, 1.0] {
        let turns = learner(Algorithm::HallucinatedC2ucb(HallucinatedC2ucb::new(1.0, alpha)));
        let diverse = HallucinatedC2ucb { diversity: 0.1, ..HallucinatedC2ucb::new(1.0, alpha) };
        let diverse = learner(Algorithm::HallucinatedC2ucb(diverse));
        let plain = learner(Algorithm::C2ucb(C2ucb::new(1.0, alpha)));
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        for t in 0..400 {
            for (times, learner) in times.iter_mut().zip([&plain, &turns, &diverse]) {
                let start = std::time::Instant::now();
                let decision = learner.choose(Round::new(1, t), &arms, &constraint).expect("arms");
                times.push(start.elapsed().as_secs_f64());
                assert_eq!(decision.arms.len(), 200);
            }
        }
        // The median and the least: on a machine that is busy with other work the least says more.
        let told = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            (times[times.len() / 2], times[0])
        });
        let [(plain, least), turns, diverse] = told;
        println!(
            "alpha {alpha}: C2UCB {:.3} ms, turns {:.2} times ({:.2} of the least), diverse {:.2} ({:.2})",
            1e3 * plain,
            turns.0 / plain,
            turns.1 / least,
            diverse.0 / plain,
            diverse.1 / least,
        );
        assert!(turns.0 < 3.0 * plain && diverse.0 < 3.0 * plain, "{turns:?}, {diverse:?} and {plain}");
    }
}
