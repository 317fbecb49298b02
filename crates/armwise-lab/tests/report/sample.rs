//! Sample results: made up from smooth formulas to have something to draw, measured by nobody.
//!
//! Every label says `sample`, so that a page drawn from this can never pass for results.

use armwise_lab::results::{
    Angle, AverageReward, Basis, Between, Clustered, Comparison, Contender, Cosines, Curve, Data, Estimated, HeatMap,
    How, Interval, Mean, Outcome, Paired, Panel, Params, Promotions, Protocol, Ratio, Refutation, RegretLine,
    RegretStudy, Results, Run, Scale, Table, TableRow, Touched, Tried, TriedLine, Tuned, TwoSets, Verdict, Way, Which,
    WhichProblem,
};
use std::f64::consts::PI;

const NAMES: [&str; 8] =
    ["greedy", "comblin-ucb", "comblin-ts", "c2ucb", "pc2ucb", "round-wise-ts", "arm-wise-ts", "random"];
const SHARE: [f64; 8] = [0.77, 0.50, 0.46, 0.48, 0.78, 0.49, 0.783, 0.02];
const GRID: [f64; 5] = [0.01, 0.1, 1.0, 10.0, 100.0];

/// A number between 0 and 1 that looks arbitrary and is always the same.
fn wobble(seed: usize) -> f64 {
    let x = (seed as f64 * 12.9898).sin() * 43758.5453;
    x - x.floor()
}

fn mean(mean: f64, se: f64) -> Mean {
    Mean { mean, se: Some(se), margin: Some(2.0 * se) }
}

fn interval(value: f64, half: f64) -> Interval {
    Interval { value, low: value - half, high: value + half }
}

fn params(name: &str, lambda: f64) -> Params {
    let other = match name {
        "greedy" => return [("lambda".to_owned(), lambda)].into(),
        "random" => return Params::new(),
        "comblin-ucb" | "comblin-ts" => "sigma2",
        "c2ucb" | "pc2ucb" => "alpha",
        _ => "v",
    };
    [("lambda".to_owned(), lambda), (other.to_owned(), 0.1)].into()
}

fn comparison(protocol: Protocol, oracle: f64, trials: usize, seed: usize) -> Comparison {
    let of = |(place, name): (usize, &&str)| {
        let reward = oracle * SHARE[place] + (wobble(seed + place) - 0.5) * oracle * 0.02;
        Tuned {
            algorithm: (*name).to_owned(),
            params: params(name, GRID[(seed + place) % 5]),
            settings: if *name == "comblin-ucb" { 89 } else { 25 },
            trials,
            cumulative_reward: mean(reward, oracle * 0.12 / (trials as f64).sqrt()),
            regret: mean(oracle - reward, oracle * 0.1 / (trials as f64).sqrt()),
        }
    };
    let pair = |a: &str, b: &str| Paired {
        a: a.to_owned(),
        b: b.to_owned(),
        difference: interval(oracle * 0.3, oracle * 0.02),
        ratio: interval(1.6, 0.05),
    };
    Comparison {
        protocol,
        algorithms: NAMES.iter().enumerate().map(of).collect(),
        oracle: mean(oracle, 0.0),
        paired: vec![pair("pc2ucb", "c2ucb"), pair("arm-wise-ts", "round-wise-ts")],
    }
}

fn comparisons(oracle: f64, seed: usize) -> Vec<Comparison> {
    vec![comparison(Protocol::Paper, oracle, 5, seed), comparison(Protocol::Fresh, oracle, 100, seed + 50)]
}

fn curve(name: &str, ties: &str, rounds: usize, value: impl Fn(f64) -> f64) -> Curve {
    let points = (1..=rounds).map(|t| {
        let y = value(t as f64);
        mean(y, y.abs() * 0.02)
    });
    Curve { algorithm: name.to_owned(), params: params(name, 1.0), ties: ties.to_owned(), points: points.collect() }
}

fn estimated() -> Estimated {
    let (n, clusters) = (2000, 10);
    let cluster: Vec<usize> = (0..n).map(|arm| arm / (n / clusters)).collect();
    let expected: Vec<f64> = cluster.iter().map(|&of| (of as f64 * 1.7).sin() * 0.6).collect();
    let level = |of: usize| (of as f64 * 2.3).cos() * 0.2;
    let panel = |name: &str, noise: f64| {
        let estimate: Vec<f64> = (0..n)
            .map(|arm| level(cluster[arm]) + noise * (wobble(arm) + wobble(arm + 7000) + wobble(arm + 9000) - 1.5))
            .collect();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| estimate[b].total_cmp(&estimate[a]).then(a.cmp(&b)));
        let mut chosen = vec![false; n];
        order[..100].iter().for_each(|&arm| chosen[arm] = true);
        Panel { algorithm: name.to_owned(), params: params(name, 1.0), estimate, chosen }
    };
    Estimated {
        angle: PI / 2.0,
        round: 2,
        k: 100,
        panels: vec![panel("c2ucb", 0.0), panel("arm-wise-ts", 0.35)],
        cluster,
        expected,
    }
}

fn touched(label: &str, rounds: usize, batch: u64) -> Touched {
    let names = [
        ("greedy", "by-id"),
        ("c2ucb", "by-id"),
        ("c2ucb", "random"),
        ("pc2ucb", "by-id"),
        ("round-wise-ts", "by-id"),
        ("arm-wise-ts", "by-id"),
    ];
    let spreads = |name: &str, ties: &str| ties == "random" || !matches!(name, "c2ucb" | "round-wise-ts");
    let clusters = |&(name, ties): &(&str, &str)| {
        let spread = spreads(name, ties);
        curve(
            name,
            ties,
            rounds,
            move |t| if spread { 1.0 + 9.0 / (1.0 + ((t - 1.0) / batch as f64).floor()) } else { 1.0 },
        )
    };
    let reward = |&(name, ties): &(&str, &str)| {
        let top = if spreads(name, ties) { 40.0 } else { 25.0 };
        curve(name, ties, rounds, move |t| top * (1.0 - (-t / (1.0 + batch as f64)).exp()) + name.len() as f64 * 0.3)
    };
    Touched {
        label: label.to_owned(),
        angle: PI / 2.0,
        clusters: 10,
        k: 100,
        delay: 0,
        batch,
        trials: 100,
        clusters_per_round: names.iter().map(clusters).collect(),
        average_reward: names.iter().map(reward).collect(),
        oracle_per_round: 47.6,
        paired: Vec::new(),
    }
}

fn regret() -> RegretStudy {
    let t: Vec<u64> = vec![1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
    let line = |(place, name): (usize, &&str)| RegretLine {
        algorithm: (*name).to_owned(),
        theorem: format!("Theorem {}", [4, 3, 2, 1][place]),
        measured: t.iter().map(|&t| mean(30.0 * (t as f64).sqrt() * (1.0 + 0.2 * place as f64), 2.0)).collect(),
        worst: t.iter().map(|&t| 55.0 * (t as f64).sqrt() * (1.0 + 0.2 * place as f64)).collect(),
        bound: t.iter().map(|&t| 9000.0 * (1.0 + place as f64) * (t as f64).sqrt()).collect(),
    };
    RegretStudy {
        angle: PI / 2.0,
        lambda: 1.0,
        delta: 0.05,
        r: 1.0,
        s: 1.0,
        trials: 20,
        trivial: t.iter().map(|&t| 200.0 * t as f64).collect(),
        lines: ["c2ucb", "pc2ucb", "round-wise-ts", "arm-wise-ts"].iter().enumerate().map(line).collect(),
        t: t.clone(),
    }
}

fn maps(top: f64) -> Vec<HeatMap> {
    let map = |(place, name): (usize, &&str)| HeatMap {
        algorithm: (*name).to_owned(),
        parameter: if place < 2 { "alpha" } else { "v" }.to_owned(),
        lambda: GRID.to_vec(),
        values: GRID.to_vec(),
        trials: 5,
        reward: (0..5)
            .map(|r| {
                (0..5)
                    .map(|c| {
                        top * (1.0
                            - 0.06 * (f64::from(r) - 2.0).powi(2)
                            - 0.05 * (f64::from(c) - 1.0).powi(2)
                            - 0.08 * place as f64)
                    })
                    .collect()
            })
            .collect(),
    };
    ["c2ucb", "pc2ucb", "round-wise-ts", "arm-wise-ts"].iter().enumerate().map(map).collect()
}

fn clustered() -> Clustered {
    let labels = ["pi/16", "pi/8", "3pi/16", "pi/4", "5pi/16", "3pi/8", "7pi/16", "pi/2"];
    let angle = |(place, label): (usize, &&str)| Angle {
        angle: PI * (place + 1) as f64 / 16.0,
        label: (*label).to_owned(),
        comparisons: comparisons(200.0 + 35.0 * place as f64, place * 10),
    };
    Clustered {
        d: 11,
        n: 2000,
        k: 100,
        rounds: 10,
        order: "by-cluster".to_owned(),
        ties: "by-id".to_owned(),
        grid: GRID.to_vec(),
        angles: labels.iter().enumerate().map(angle).collect(),
        estimated: estimated(),
        touched: vec![
            touched("rewards at once", 10, 1),
            touched("batched: the model is updated every 10 rounds", 40, 10),
        ],
        regret: regret(),
        sensitivity: maps(370.0),
    }
}

fn table(reading: &str, place: usize) -> Table {
    let published = [1588.6, 2090.5, 1749.2, 2183.0, 2304.5, 2121.9, 2304.3];
    let row = |k: usize| TableRow {
        k,
        n: 100 * k,
        published: NAMES
            .iter()
            .zip(published)
            .map(|(name, value)| ((*name).to_owned(), value * k as f64 / 50.0))
            .collect(),
        comparisons: if place == 0 {
            comparisons(90.0 * k as f64, k)
        } else {
            vec![comparison(Protocol::Fresh, 85.0 * k as f64, 20, k)]
        },
        ratios: [("pc2ucb", "c2ucb", 1.056), ("arm-wise-ts", "round-wise-ts", 1.086)]
            .map(|(a, b, value)| Ratio {
                a: a.to_owned(),
                b: b.to_owned(),
                published: Some(value),
                paper: (place == 0).then(|| interval(1.03, 0.04)),
                fresh: interval(0.99 + 0.03 * wobble(k), 0.015),
            })
            .into(),
    };
    Table { reading: reading.to_owned(), rows: [50, 100, 150, 200].map(row).into() }
}

fn average(reading: &str, k: usize) -> AverageReward {
    let curves = NAMES.iter().enumerate().map(|(place, name)| {
        curve(name, "by-id", 20, move |t| {
            k as f64 * (0.4 + 2.2 * SHARE[place] * (1.0 - (-t * (0.1 + 0.2 * SHARE[place])).exp()))
        })
    });
    AverageReward {
        reading: reading.to_owned(),
        k,
        trials: 20,
        curves: curves.collect(),
        oracle: (1..=20).map(|_| mean(k as f64 * 30.0, 1.0)).collect(),
        early_rounds: 5,
        early: Vec::new(),
    }
}

fn promotions() -> Promotions {
    let edges: Vec<f64> = (0..=40).map(|edge| -1.0 + 0.05 * f64::from(edge)).collect();
    let heights: Vec<f64> =
        edges[..40].iter().map(|edge| (-((edge + 0.02) / 0.22).powi(2)).exp() + 0.02 * (1.0 + edge)).collect();
    let total: f64 = heights.iter().sum();
    Promotions {
        data: Data {
            label: "generated sample, a stand-in <for> \"tests\" & previews".to_owned(),
            generated: true,
            fingerprint: "0123456789abcdef".to_owned(),
            users: 12_000,
            movies: 4_000,
            ratings: 1_200_345,
            features: "svd".to_owned(),
            d: 51,
            tuning_splits: 5,
            fresh_splits: 10,
            disjoint_splits: true,
            sampling: "distinct".to_owned(),
        },
        promotions: 10,
        rounds: 20,
        grid: GRID.to_vec(),
        cosines: Cosines {
            users: 10_000,
            pairs: 49_995_000,
            edges,
            share: heights.iter().map(|height| height / total).collect(),
            near_orthogonal: 0.352,
            near_orthogonal_random: 0.516,
        },
        tables: vec![table("independent", 0), table("disjoint", 1)],
        average_reward: ["independent", "disjoint"]
            .iter()
            .flat_map(|reading| [50, 100, 150, 200].map(|k| average(reading, k)))
            .collect(),
        sensitivity: maps(12_345.0),
        sensitivity_of: "independent, k = 50".to_owned(),
    }
}

fn verdict(claim: &str, outcome: Outcome) -> Verdict {
    Verdict {
        claim: claim.to_owned(),
        place: "section VII-C".to_owned(),
        rule: "holds if the 95% interval of the paired difference lies above 0 at every angle of at least π/4"
            .to_owned(),
        outcome,
        basis: Basis::Paper,
        numbers: "Sample numbers only: +142.8 (137.1 to 148.5) at π/2, +101.2 (95.0 to 107.4) at π/4.".to_owned(),
    }
}

fn two_sets() -> TwoSets {
    let k = vec![10, 100, 1000];
    let line = |name: &str, scope: &str, fall: f64| TriedLine {
        algorithm: name.to_owned(),
        scope: scope.to_owned(),
        share: (0..3).map(|at| interval((1.0 - fall * f64::from(at)).max(0.0), 0.04)).collect(),
    };
    let lines = vec![line("arm-wise-ts", "", 0.6), line("arm-wise-ts", "shared", 0.0), line("pc2ucb", "", 0.0)];
    let panel = |label: &str| Tried { label: label.to_owned(), k: k.clone(), lines: lines.clone() };
    TwoSets {
        theta: [0.5, 0.8],
        rounds: 100,
        trials: 60,
        delta: 0.1,
        panels: vec![panel("sample, λ = k"), panel("sample, λ = 1")],
        between: vec![Between {
            constraint: "linear".to_owned(),
            spare: 3,
            k: 30,
            lines: vec![line("arm-wise-ts", "", 0.5)],
        }],
        refutation: Refutation { k: 1000, rounds: 1e10, regret: 3e12, bound: 1e12, tried: 0.01, delta: 0.1 },
    }
}

fn which() -> Which {
    let way = |how, value: f64| Way {
        how,
        params: [("lambda".to_owned(), "auto".into()), ("v".to_owned(), 0.1.into())].into(),
        reward: mean(300.0 / value, 5.0),
        regret: mean(50.0 * value, 5.0),
        relative: interval(value, 0.1 * value),
        of_tuned: interval(1.0 / value, 0.02),
    };
    let contender = |place: usize, name: &str| Contender {
        algorithm: name.to_owned(),
        variant: if place == 5 { "shared draws".to_owned() } else { String::new() },
        ways: vec![
            way(How::Automatic, 1.0 + 0.3 * wobble(place)),
            way(How::Tuned, 1.0 + 0.2 * wobble(place + 9)),
            way(How::Default, 1.2 + 4.0 * wobble(place + 70)),
        ],
    };
    let names = ["greedy", "c2ucb", "pc2ucb", "round-wise-ts", "arm-wise-ts", "arm-wise-ts"];
    let problem = |(place, label): (usize, &&str)| WhichProblem {
        label: (*label).to_owned(),
        about: "sample, measured by nobody".to_owned(),
        generated: place == 2,
        tuning_trials: 20,
        trials: 200,
        oracle: mean(500.0, 3.0),
        random: mean(2.0, 8.0),
        best: place,
        contenders: names.iter().enumerate().map(|(at, name)| contender(at + 10 * place, name)).collect(),
    };
    let labels = ["Clusters, sample", "Two sets, sample", "Promotions, k = 50, sample"];
    Which { grid: GRID.to_vec(), problems: labels.iter().enumerate().map(problem).collect() }
}

/// Everything that a full run has.
pub(crate) fn results() -> Results {
    Results {
        run: Run {
            version: "0.1.0 (sample, not results)".to_owned(),
            scale: Scale::Full,
            seed: 7,
            threads: 2,
            machine: "sample x86_64, 2 processors".to_owned(),
            wall_seconds: 754.3,
            rounds: 1_234_567,
            rounds_kept: 0,
            rounds_per_second: [("clustered".to_owned(), 5123.0), ("promotions".to_owned(), 88.0)].into(),
        },
        clustered: Some(clustered()),
        promotions: Some(promotions()),
        two_sets: Some(two_sets()),
        which: Some(which()),
        verdicts: vec![
            verdict(
                "Sample: with almost orthogonal clusters the arm-wise algorithms outperform the existing ones.",
                Outcome::Holds,
            ),
            verdict("Sample: greedy performs poorly on MovieLens.", Outcome::DoesNotHold),
            verdict("Sample: the arm-wise algorithms earn almost 10% more on MovieLens.", Outcome::NotDecided),
        ],
    }
}
