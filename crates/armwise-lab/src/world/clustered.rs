//! The artificial clustered case (section VII-A1).
//!
//! theta* is drawn once per trial and the potential reward of an arm in a round is one draw keyed by (trial, round,
//! row), whichever policy chooses it. The same trial at two angles has the same theta* and draws.

use std::{
    borrow::Cow,
    f64::consts::{FRAC_PI_2, PI},
};

use armwise::{Oracle, Stream, TopK};
use serde::{Deserialize, Serialize};

use super::{Game, Scene, Trial, World};
use crate::{Error, streams};

/// How far above pi/2 an angle may be and still mean pi/2: people write 1.5708.
const ROUNDING: f64 = 1e-4;

/// How arms are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Cluster after cluster: row i is in cluster i / (N / (d - 1)), so that ties by id stay within a cluster.
    #[default]
    ByCluster,
    /// In an order drawn for each trial.
    Shuffled,
}

/// How theta* changes in the middle of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The first round with the new theta*.
    pub round: u64,
    /// The angle in radians between the old and the new, in a direction drawn for each trial.
    pub by: f64,
}

/// d - 1 clusters of equal size with features cos(angle) e_1 + sin(angle) e_i.
///
/// # Formula
/// ```text
/// x(i) = cos(angle) e_1 + sin(angle) e_{2 + cluster(i)},   theta* uniform on the unit sphere
/// r_t(i) = 1 with probability (1 + theta*' x(i)) / 2, else -1
/// ```
/// # Reference
/// Section VII-A1, Figure 2.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustered {
    /// The angle in radians, above 0 and at most pi/2.
    pub angle: f64,
    /// The dimension d; there are d - 1 clusters.
    pub d: usize,
    /// The number of arms N, a multiple of d - 1.
    pub n: usize,
    /// Arms chosen in a round.
    pub k: usize,
    /// Rounds T.
    pub rounds: u64,
    /// How arms are numbered.
    pub order: Order,
    /// How far features stray from their centre: 0 for exact clusters as in the paper. The stray is normal with this
    /// expected length, drawn per trial and arm; features longer than 1 are cut to length 1.
    pub spread: f64,
    /// From this round on theta* points elsewhere; none for a theta* that stays.
    pub turn: Option<Turn>,
    top_k: TopK,
    /// The exact clusters, by cluster.
    centred: Vec<f64>,
    cluster: Vec<u32>,
}

impl Clustered {
    /// The paper's problem at an angle: d = 11, N = 2000, k = 100, T = 10, exact clusters, cluster after cluster.
    #[must_use]
    pub fn paper(angle: f64) -> Self {
        Self::new(angle, 11, 2000, 100, 10, Order::ByCluster, 0.0).unwrap_or_else(|_| unreachable!("fixed values"))
    }

    /// A problem of other sizes.
    ///
    /// # Errors
    /// [`Error::Parameter`] that names the value outside its range.
    pub fn new(
        angle: f64,
        d: usize,
        n: usize,
        k: usize,
        rounds: u64,
        order: Order,
        spread: f64,
    ) -> Result<Self, Error> {
        let check = |name, value: String, ok: bool, must: &str| {
            if ok { Ok(()) } else { Err(Error::Parameter { name, value, must: must.to_owned() }) }
        };
        check("angle", angle.to_string(), angle > 0.0 && angle <= FRAC_PI_2 + ROUNDING, "above 0 and at most pi/2")?;
        let angle = angle.min(FRAC_PI_2);
        check("d", d.to_string(), d >= 2, "at least 2")?;
        let whole = n > 0 && n.is_multiple_of(d - 1);
        check("n", n.to_string(), whole, &format!("a multiple of the d - 1 = {} clusters", d - 1))?;
        check("k", k.to_string(), k > 0 && k <= n, &format!("from 1 to n = {n}"))?;
        check("rounds", rounds.to_string(), rounds > 0, "at least 1")?;
        check("spread", spread.to_string(), spread >= 0.0 && spread.is_finite(), "a finite number of at least 0")?;
        let size = n / (d - 1);
        let cluster: Vec<u32> = (0..n).map(|row| (row / size) as u32).collect();
        let mut centred = vec![0.0; n * d];
        for (x, &cluster) in centred.chunks_exact_mut(d).zip(&cluster) {
            x[0] = libm::cos(angle);
            x[1 + cluster as usize] = libm::sin(angle);
        }
        let top_k = TopK::exactly(k);
        Ok(Self { angle, d, n, k, rounds, order, spread, turn: None, top_k, centred, cluster })
    }

    /// The same problem with a theta* that turns by an angle (radians) from some round on.
    ///
    /// # Errors
    /// [`Error::Parameter`] that names the value outside its range.
    pub fn turning(self, turn: Turn) -> Result<Self, Error> {
        let check = |name, value: String, ok: bool, must: &str| {
            if ok { Ok(()) } else { Err(Error::Parameter { name, value, must: must.to_owned() }) }
        };
        check("turn", turn.by.to_string(), turn.by > 0.0 && turn.by <= PI + ROUNDING, "above 0 and at most pi")?;
        let must = format!("from 2 to rounds = {}", self.rounds);
        check("turn_round", turn.round.to_string(), (2..=self.rounds).contains(&turn.round), &must)?;
        Ok(Self { turn: Some(Turn { by: turn.by.min(PI), ..turn }), ..self })
    }

    /// theta* of a trial in its first rounds: uniform on the unit sphere.
    #[must_use]
    pub fn theta(&self, trial: Trial) -> Vec<f64> {
        unit(&self.drawn(trial, streams::THETA))
    }

    /// theta* after the turn: cos(by) theta* + sin(by) u, where u is uniform among the directions at a right angle to
    /// theta*.
    fn turned(&self, trial: Trial, theta: &[f64], by: f64) -> Vec<f64> {
        let mut across = self.drawn(trial, streams::TURN);
        let along: f64 = across.iter().zip(theta).map(|(u, theta)| u * theta).sum();
        across.iter_mut().zip(theta).for_each(|(u, theta)| *u -= along * theta);
        let (cos, sin) = (libm::cos(by), libm::sin(by));
        unit(&across).iter().zip(theta).map(|(u, theta)| cos * theta + sin * u).collect()
    }

    fn drawn(&self, trial: Trial, stream: Stream) -> Vec<f64> {
        let draws = trial.round(0).draws(0, stream);
        (0..self.d as u64).map(|j| draws.normal(j)).collect()
    }

    /// Row numbers of the by-cluster order, in the order of this trial.
    fn order(&self, trial: Trial) -> Vec<usize> {
        let mut rows: Vec<usize> = (0..self.n).collect();
        if self.order == Order::Shuffled {
            let draws = trial.round(0).draws(0, streams::ORDER);
            rows.sort_by_cached_key(|&row| (draws.bits(row as u64), row));
        }
        rows
    }

    fn features(&self, trial: Trial, rows: &[usize]) -> Cow<'_, [f64]> {
        if self.order == Order::ByCluster && self.spread <= 0.0 {
            return Cow::Borrowed(&self.centred);
        }
        let draws = trial.round(0).draws(0, streams::SPREAD);
        let step = self.spread / (self.d as f64).sqrt();
        let mut values = Vec::with_capacity(self.n * self.d);
        for &row in rows {
            let start = values.len();
            let place = row * self.d;
            let stray = |j: usize| if step > 0.0 { step * draws.normal((place + j) as u64) } else { 0.0 };
            values.extend((0..self.d).map(|j| self.centred[place + j] + stray(j)));
            let length = values[start..].iter().map(|x| x * x).sum::<f64>().sqrt();
            if length > 1.0 && self.spread > 0.0 {
                values[start..].iter_mut().for_each(|x| *x /= length);
            }
        }
        Cow::Owned(values)
    }
}

impl World for Clustered {
    fn dim(&self) -> usize {
        self.d
    }

    fn blocks(&self) -> usize {
        1
    }

    fn rows(&self) -> usize {
        self.n
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn clusters(&self) -> usize {
        self.d - 1
    }

    fn oracle(&self, _: u64) -> &dyn Oracle {
        &self.top_k
    }

    fn key(&self) -> String {
        let Self { angle, d, n, k, rounds, order, spread, turn, .. } = self;
        let turn = turn.map_or_else(String::new, |turn| format!(" {turn:?}"));
        format!("clustered angle={angle:?} d={d} n={n} k={k} rounds={rounds} order={order:?} spread={spread:?}{turn}")
    }

    fn open(&self, trial: Trial) -> Box<dyn Game + '_> {
        let rows = self.order(trial);
        let features = self.features(trial, &rows);
        let theta = self.theta(trial);
        let spell = |theta: &[f64]| {
            let product = |x: &[f64]| x.iter().zip(theta).map(|(x, theta)| x * theta).sum();
            let expected: Vec<f64> = features.chunks_exact(self.d).map(product).collect();
            let mut sorted = expected.clone();
            sorted.sort_unstable_by(|a, b| b.total_cmp(a));
            let best = sorted[..self.k].iter().sum();
            Spell { expected, best }
        };
        let first = spell(&theta);
        let turned = self.turn.map(|turn| (turn.round, spell(&self.turned(trial, &theta, turn.by))));
        let cluster = rows.iter().map(|&row| self.cluster[row]).collect();
        Box::new(Opened { trial, features, first, turned, cluster })
    }
}

struct Opened<'w> {
    trial: Trial,
    features: Cow<'w, [f64]>,
    first: Spell,
    /// From which round on, and what then.
    turned: Option<(u64, Spell)>,
    cluster: Vec<u32>,
}

/// Rounds with one theta*: what each arm pays on average, and the best super arm.
struct Spell {
    expected: Vec<f64>,
    best: f64,
}

fn unit(z: &[f64]) -> Vec<f64> {
    let length = z.iter().map(|z| z * z).sum::<f64>().sqrt();
    z.iter().map(|z| z / length).collect()
}

impl Game for Opened<'_> {
    fn scene(&self, t: u64) -> Result<Scene<'_>, Error> {
        let draws = self.trial.round(t).draws(0, streams::REWARDS);
        let spell = self.turned.as_ref().filter(|(from, _)| t >= *from).map_or(&self.first, |(_, spell)| spell);
        let pay = move |row: usize, _: usize| {
            let expected = spell.expected[row];
            let up = draws.uniform(row as u64) < 0.5 * (1.0 + expected);
            (if up { 1.0 } else { -1.0 }, expected)
        };
        let features = Cow::Borrowed(&*self.features);
        Ok(Scene { features, cluster: &self.cluster, best: spell.best, pay: Box::new(pay) })
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::FRAC_PI_4;

    use super::*;
    use crate::world::Purpose;

    #[test]
    fn features_and_clusters_are_the_papers() {
        let world = Clustered::paper(FRAC_PI_4);
        let game = world.open(Trial { seed: 1, number: 0 });
        let scene = game.scene(1).unwrap();
        for row in 0..2000 {
            let x = &scene.features[row * 11..][..11];
            let cluster = row / 200;
            assert_eq!(scene.cluster[row] as usize, cluster);
            for (j, x) in x.iter().enumerate() {
                let expected = if j == 0 || j == 1 + cluster { 0.5f64.sqrt() } else { 0.0 };
                assert!((x - expected).abs() < 1e-15);
            }
        }
    }

    /// The mean of the potential rewards is theta*'x, and theta* is of length 1 and spread evenly over directions.
    #[test]
    fn rewards_have_their_expectation_and_theta_is_uniform() {
        let world = Clustered::paper(FRAC_PI_4);
        let trials = Trial::of(3, Purpose::Tuning, 400);
        let mut squares = [0.0; 11];
        let (mut sum, mut variance) = (0.0, 0.0);
        for &trial in &trials {
            let theta = world.theta(trial);
            assert!((theta.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
            squares.iter_mut().zip(&theta).for_each(|(sum, x)| *sum += x * x);
            let game = world.open(trial);
            let scene = game.scene(2).unwrap();
            for row in (0..2000).step_by(50) {
                let (reward, expected) = (scene.pay)(row, 0);
                sum += reward - expected;
                variance += 1.0 - expected * expected;
            }
        }
        assert!(sum.abs() < 4.0 * variance.sqrt(), "{sum} +- {}", variance.sqrt());
        // The square of a coordinate is Beta(1/2, 5): mean 1/11, variance 0.0127.
        for square in squares {
            assert!((square / 400.0 - 1.0 / 11.0).abs() < 4.0 * (0.0127f64 / 400.0).sqrt(), "{squares:?}");
        }
    }

    #[test]
    fn shuffling_moves_rows_and_spread_keeps_the_unit_ball() {
        let world = Clustered::new(1.0, 11, 200, 10, 5, Order::Shuffled, 0.3).unwrap();
        let trial = Trial { seed: 8, number: 0 };
        let game = world.open(trial);
        let scene = game.scene(1).unwrap();
        let mut counts = [0; 10];
        scene.cluster.iter().for_each(|&cluster| counts[cluster as usize] += 1);
        assert_eq!(counts, [20; 10]);
        assert!(!scene.cluster.is_sorted());
        assert!(scene.features.chunks(11).all(|x| x.iter().map(|x| x * x).sum::<f64>() <= 1.0 + 1e-12));
    }

    #[test]
    fn a_rounded_right_angle_is_a_right_angle() {
        let new = |angle| Clustered::new(angle, 11, 200, 10, 5, Order::ByCluster, 0.0);
        for rounded in ["1.5708", "1.570797", "1.57082"] {
            assert_eq!(new(rounded.parse().unwrap()).unwrap().key(), new(FRAC_PI_2).unwrap().key());
        }
        assert!(new(1.571).is_err() && new(0.0).is_err() && new(f64::NAN).is_err());
    }

    /// The angle between the theta* of two spells is the one asked for, found from what arms at right angles pay; rounds before
    /// the turn are those of a world that does not turn.
    #[test]
    fn theta_turns_by_its_angle_at_its_round() {
        let still = Clustered::new(FRAC_PI_2, 11, 200, 10, 9, Order::ByCluster, 0.0).unwrap();
        for (number, by) in [0.1, 0.5, FRAC_PI_2, 3.0].into_iter().enumerate() {
            let world = still.clone().turning(Turn { round: 5, by }).unwrap();
            let trial = Trial { seed: 40 + number as u64, number: 0 };
            let theta = world.theta(trial);
            let turned = world.turned(trial, &theta, by);
            let dot: f64 = theta.iter().zip(&turned).map(|(a, b)| a * b).sum();
            assert!((dot - libm::cos(by)).abs() < 1e-12);
            assert!((turned.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
            let (game, other) = (world.open(trial), still.open(trial));
            for (t, theta) in [(4, &theta), (5, &turned), (9, &turned)] {
                let (scene, before) = (game.scene(t).unwrap(), other.scene(t).unwrap());
                assert!((0..200).all(|row| ((scene.pay)(row, 0).1 - theta[1 + row / 20]).abs() < 1e-12));
                let same = (0..200).all(|row| (scene.pay)(row, 0) == (before.pay)(row, 0));
                assert_eq!(same, t < 5);
            }
        }
        let refused = |round, by| still.clone().turning(Turn { round, by }).unwrap_err().to_string();
        assert_eq!(refused(1, 0.5), "turn_round = 1: must be from 2 to rounds = 9");
        assert_eq!(refused(5, 0.0), "turn = 0: must be above 0 and at most pi");
    }

    #[test]
    fn sizes_outside_their_range_are_refused() {
        let message = |n, k| Clustered::new(1.0, 11, n, k, 10, Order::ByCluster, 0.0).unwrap_err().to_string();
        assert_eq!(message(2000, 2001), "k = 2001: must be from 1 to n = 2000");
        assert_eq!(message(2001, 10), "n = 2001: must be a multiple of the d - 1 = 10 clusters");
    }
}
