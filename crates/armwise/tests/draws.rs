//! The quality of the draws: moments, the exact distribution, tails, and independence along every index.
#![allow(missing_docs, reason = "test code")]

mod common;

use armwise::{Round, Stream};
use common::{ks_distance, normal_cdf};

const N: u64 = 2_000_000;

fn normals(round: Round, block: u32, stream: Stream) -> Vec<f64> {
    let draws = round.draws(block, stream);
    (0..N).map(|id| draws.normal(id)).collect()
}

/// The first six moments of N(0, 1), each within 5 standard errors.
#[test]
fn normal_moments() {
    let sample = normals(Round::new(3, 1), 0, Stream::BONUS);
    let moment = |p: i32| sample.iter().map(|z| z.powi(p)).sum::<f64>() / N as f64;
    // E z^p, and Var z^p = E z^2p - (E z^p)^2.
    for (p, mean, variance) in
        [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0), (5, 0.0, 945.0), (6, 15.0, 10_170.0)]
    {
        let error = f64::sqrt(variance / N as f64);
        assert!((moment(p) - mean).abs() < 5.0 * error, "moment {p}: {} +- {error}", moment(p));
    }
}

/// Kolmogorov-Smirnov against the exact CDF; 1.95 / sqrt(n) is passed by a good sample with probability 0.999.
#[test]
fn normal_and_uniform_follow_their_exact_distribution() {
    for t in 1..=3 {
        let distance = ks_distance(normals(Round::new(4, t), 1, Stream::BONUS), normal_cdf);
        assert!(distance < 1.95 / (N as f64).sqrt(), "normal, round {t}: {distance}");
        let draws = Round::new(4, t).draws(1, Stream::BONUS);
        let uniform: Vec<f64> = (0..N).map(|id| draws.uniform(id)).collect();
        assert!(uniform.iter().all(|u| (0.0..1.0).contains(u)));
        let distance = ks_distance(uniform, |u| u);
        assert!(distance < 1.95 / (N as f64).sqrt(), "uniform, round {t}: {distance}");
    }
}

/// How many of 2e8 draws lie beyond z, for z = 1..5, within 5 standard errors of the exact number, on both sides;
/// and beyond 6 sigma no more than chance allows (the inverse itself is tested out to 9 sigma beside the code).
#[test]
fn normal_tails_have_the_right_weight() {
    const CHUNKS: u64 = 100;
    let counts = std::thread::scope(|scope| {
        let count = |range: std::ops::Range<u64>| {
            let mut above = [[0u64; 7]; 2];
            for t in range {
                let draws = Round::new(11, t).draws(0, Stream::BONUS);
                for z in (0..N).map(|id| draws.normal(id)) {
                    let side = usize::from(z < 0.0);
                    for (level, above) in above[side].iter_mut().enumerate().skip(1) {
                        *above += u64::from(z.abs() > level as f64);
                    }
                }
            }
            above
        };
        let halves = [scope.spawn(move || count(0..CHUNKS / 2)), scope.spawn(move || count(CHUNKS / 2..CHUNKS))];
        halves.map(|half| half.join().expect("no panic"))
    });
    for (side, (one, two)) in counts[0].iter().zip(&counts[1]).enumerate() {
        for (level, (one, two)) in one.iter().zip(two).enumerate().skip(1) {
            let found = (one + two) as f64;
            let expected = (N * CHUNKS) as f64 * normal_cdf(-(level as f64));
            let allowed = 5.0 * expected.sqrt() + 3.0;
            assert!((found - expected).abs() < allowed, "side {side}, {level} sigma: {found}, expected {expected}");
        }
    }
}

/// Neighbours along every index are uncorrelated, in value and in square: |r| < 5 / sqrt(n).
#[test]
fn draws_are_independent_across_id_round_block_seed_and_stream() {
    let base = normals(Round::new(8, 5), 2, Stream::BONUS);
    let mut shifted = base.clone();
    shifted.rotate_left(1);
    let others = [
        ("id", shifted),
        ("round", normals(Round::new(8, 6), 2, Stream::BONUS)),
        ("block", normals(Round::new(8, 5), 3, Stream::BONUS)),
        ("seed", normals(Round::new(9, 5), 2, Stream::BONUS)),
        ("stream", normals(Round::new(8, 5), 2, Stream::TIES)),
    ];
    for (index, other) in others {
        let product = |f: fn(f64) -> f64| base.iter().zip(&other).map(|(&a, &b)| f(a) * f(b)).sum::<f64>() / N as f64;
        let error = 1.0 / (N as f64).sqrt();
        assert!(product(|z| z).abs() < 5.0 * error, "{index}: correlation {}", product(|z| z));
        assert!(product(|z| z * z - 1.0).abs() < 10.0 * error, "{index}: squares {}", product(|z| z * z - 1.0));
        assert!(base.iter().zip(&other).filter(|(a, b)| a.to_bits() == b.to_bits()).count() < 3, "{index}: same draws");
    }
}

/// A large id, a far round and a high block are as good as small ones: nothing is cut off.
#[test]
fn every_bit_of_every_index_counts() {
    let base = Round::new(1, 1).draws(1, Stream(1)).bits(1);
    for bit in 0..64 {
        let flip = 1u64 << bit;
        assert_ne!(base, Round::new(1 ^ flip, 1).draws(1, Stream(1)).bits(1), "seed bit {bit}");
        assert_ne!(base, Round::new(1, 1 ^ flip).draws(1, Stream(1)).bits(1), "round bit {bit}");
        assert_ne!(base, Round::new(1, 1).draws(1, Stream(1)).bits(1 ^ flip), "id bit {bit}");
        if bit < 32 {
            assert_ne!(base, Round::new(1, 1).draws(1 ^ (1 << bit), Stream(1)).bits(1), "block bit {bit}");
            assert_ne!(base, Round::new(1, 1).draws(1, Stream(1 ^ (1 << bit))).bits(1), "stream bit {bit}");
        }
    }
}
