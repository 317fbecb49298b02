//! What a target would have earned per round, estimated from a log of another policy.
//!
//! Rewards are per arm and add up, so every chosen arm is an observation with its own weight w = target / probability.
//! Where the logging policy could not choose what the target wants, nothing in the log tells its value: such a target is
//! *not identified*, and no weight is clipped to hide it. [`Estimator::Shrunk`] does change weights, and says how much
//! that moved the estimate.

use super::interval::{Basis, Interval, Term, Variance};
use super::{Log, LoggedArm, LoggedRound};
use crate::Error;
use crate::error::check;
use serde::{Deserialize, Serialize};

/// How a value is estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// Inverse probabilities: sum of w r over the chosen arms. Unbiased with support.
    Ips,
    /// The same, divided by the mean weight: K sum w r / sum w, where K arms are wanted in a round. Nearly unbiased.
    Snips,
    /// The model alone: sum of target's probability times the expected reward over all arms. As good as the model.
    Dm,
    /// Doubly robust: the model, and what it missed by inverse probabilities. Unbiased with support.
    Dr,
    /// Doubly robust with weights w lambda / (w^2 + lambda): less noise for some bias.
    Shrunk,
}

impl Estimator {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Ips, Self::Snips, Self::Dm, Self::Dr, Self::Shrunk];

    /// Its name on every surface.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ips => "ips",
            Self::Snips => "snips",
            Self::Dm => "dm",
            Self::Dr => "dr",
            Self::Shrunk => "shrunk",
        }
    }
}

/// How intervals are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    /// How often an interval holds the value.
    pub level: f64,
    /// For how many rounds the interval that holds at all times is best.
    pub tuned_for: u64,
}

impl Default for Confidence {
    fn default() -> Self {
        Self { level: 0.95, tuned_for: 30 }
    }
}

/// An estimate of the mean reward of a round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// How it was made.
    pub estimator: Estimator,
    /// The estimate; none where the log does not tell it.
    pub value: Option<f64>,
    /// Its standard error; none for the model alone, and where one round has to tell how much rounds vary.
    pub error: Option<f64>,
    /// Its interval for a log that is looked at once; none for the model alone and for shrunk weights, whose bias is not
    /// known.
    pub interval: Option<Interval>,
    /// Its interval for a log that is looked at again and again while it grows.
    pub anytime: Option<Interval>,
    /// For shrunk weights: lambda, and how far it lies from the estimate with the weights as they are.
    pub shrinkage: Option<Shrinkage>,
}

/// How weights were shrunk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shrinkage {
    /// lambda in w lambda / (w^2 + lambda).
    pub lambda: f64,
    /// How far the estimate was moved by it.
    pub moved: f64,
}

/// What a log says about a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluation {
    /// How many rounds there are.
    pub rounds: usize,
    /// How many arms were chosen in them.
    pub arms: usize,
    /// What the logging policy earned per round.
    pub logged: f64,
    /// The interval of what it earns in expectation.
    pub logged_interval: Option<Interval>,
    /// How many arms the target wants per round, in expectation.
    pub wanted: f64,
    /// The share of them that the logging policy could not have chosen.
    pub unsupported: f64,
    /// The share of them that no fresh round of the logging policy chose, where its probabilities were sampled.
    pub unseen: f64,
    /// The share of them whose probability is below [`THIN`](super::THIN).
    pub thin: f64,
    /// Whether the log tells the target's value: nothing without support, and at most [`UNSEEN`] not seen.
    pub identified: bool,
    /// So many equally weighted arms would tell as much: (sum w)^2 / sum w^2.
    pub effective: f64,
    /// The largest weight.
    pub largest_weight: f64,
    /// What the intervals take their variance from.
    pub basis: Option<Basis>,
    /// The estimates, in the order of [`Estimator::ALL`].
    pub estimates: Vec<Estimate>,
    /// The doubly robust estimate less what the logging policy earned, pair by pair.
    pub gain: Option<f64>,
    /// Its interval.
    pub gain_interval: Option<Interval>,
}

impl Evaluation {
    /// The estimate of one kind.
    #[must_use]
    pub fn by(&self, estimator: Estimator) -> &Estimate {
        let place = Estimator::ALL.iter().position(|own| *own == estimator).unwrap_or_default();
        &self.estimates[place]
    }

    /// Whether so few arms carry the weight that no interval is to be believed.
    #[must_use]
    pub fn tells_little(&self) -> bool {
        self.effective < FEW
    }
}

/// Below so many effective arms no interval is to be believed: [`Evaluation::tells_little`].
pub const FEW: f64 = 30.0;

/// A larger share that no fresh round chose is more than bad luck of the sampling: there is too little support.
pub const UNSEEN: f64 = 0.01;

/// What one round adds to the estimates.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RoundEstimate {
    /// The round.
    pub t: u64,
    /// What the logging policy earned.
    pub logged: f64,
    /// The round's term by inverse probabilities, by the model alone, and by both; estimates are their means.
    pub ips: f64,
    /// By the model alone.
    pub dm: f64,
    /// By both.
    pub dr: f64,
    /// So many equally weighted arms would tell as much about this round.
    pub effective: f64,
}

/// A smaller share without support is rounding: it moves an estimate by less than the sixth digit.
const NO_SUPPORT: f64 = 1e-6;

impl Log {
    /// What the log says about its target.
    ///
    /// # Errors
    /// [`Error::Parameter`] for a level that is not between 0 and 1.
    pub fn evaluate(&self, by: &Confidence) -> Result<Evaluation, Error> {
        check("level", by.level, by.level > 0.0 && by.level < 1.0, "above 0 and below 1")?;
        check("tuned_for", by.tuned_for as f64, by.tuned_for > 0, "at least 1")?;
        let count = self.rounds.len() as f64;
        let wanted: f64 = self.of_wanted(|wanted| wanted.count);
        let share = |part: f64| if wanted > 0.0 { part / wanted } else { 0.0 };
        let unsupported = share(self.of_wanted(|wanted| wanted.unsupported));
        let unseen = share(self.of_wanted(|wanted| wanted.unseen));
        let identified = unsupported <= NO_SUPPORT && unseen <= UNSEEN;
        let weights = || self.rounds.iter().flat_map(|round| &round.arms).map(LoggedArm::weight);
        let (sum, squares) = sums(weights());
        let expected: Vec<f64> = self.rounds.iter().map(LoggedRound::expected).collect();
        let logged = self.terms(|_| 0.0, |arm| arm.reward);
        let logged_mean = mean(&logged);
        let doubly = self.terms(LoggedRound::expected, |arm| arm.weight() * (arm.reward - arm.mean));
        let estimate = |estimator: Estimator| {
            let mut estimate =
                Estimate { estimator, value: None, error: None, interval: None, anytime: None, shrinkage: None };
            let terms = match estimator {
                Estimator::Ips => self.terms(|_| 0.0, |arm| arm.weight() * arm.reward),
                Estimator::Snips => {
                    if sum <= 0.0 || !identified {
                        return estimate;
                    }
                    let earned: f64 =
                        self.rounds.iter().flat_map(|round| &round.arms).map(|arm| arm.weight() * arm.reward).sum();
                    // The ratio's own terms, by its first derivative: their mean is the estimate.
                    let (ratio, wanted) = (earned / sum, wanted / count);
                    self.terms(|_| wanted * ratio, |arm| wanted * count / sum * arm.weight() * (arm.reward - ratio))
                }
                Estimator::Dm => {
                    // Its error is that of the model, which no sampling variance tells.
                    estimate.value = Some(expected.iter().sum::<f64>() / count);
                    return estimate;
                }
                Estimator::Dr => self.terms(LoggedRound::expected, |arm| arm.weight() * (arm.reward - arm.mean)),
                Estimator::Shrunk => {
                    let (lambda, terms) = self.shrunk(&expected);
                    estimate.shrinkage = Some(Shrinkage { lambda, moved: mean(&terms) - mean(&doubly) });
                    terms
                }
            };
            let on_model = matches!(estimator, Estimator::Dr | Estimator::Shrunk);
            if !identified && !on_model {
                return estimate;
            }
            let value = mean(&terms);
            estimate.value = Some(value);
            if let Some(variance) = Variance::of(self, &terms, &expected).filter(|_| identified) {
                estimate.error = Some(variance.error());
                // What shrinking does to the bias is not known, so no interval would hold.
                if estimator == Estimator::Shrunk {
                    return estimate;
                }
                estimate.interval = Some(Interval::around(value, variance.half(by.level)));
                estimate.anytime = Some(Interval::around(value, variance.anytime(by.level, by.tuned_for as f64)));
            }
            estimate
        };
        let estimates: Vec<Estimate> = Estimator::ALL.into_iter().map(estimate).collect();
        let gains = self.terms(LoggedRound::expected, |arm| arm.weight() * (arm.reward - arm.mean) - arm.reward);
        let basis = Variance::of(self, &doubly, &expected).map(|variance| variance.of);
        let none = vec![0.0; self.rounds.len()];
        let around = |value: f64, terms: &[Term], expected: &[f64]| {
            Variance::of(self, terms, expected).map(|variance| Interval::around(value, variance.half(by.level)))
        };
        Ok(Evaluation {
            rounds: self.rounds.len(),
            arms: self.rounds.iter().map(|round| round.arms.len()).sum(),
            logged: logged_mean,
            logged_interval: around(logged_mean, &logged, &none),
            wanted: wanted / count,
            unsupported,
            unseen,
            thin: share(self.of_wanted(|wanted| wanted.thin)),
            identified,
            effective: effective(sum, squares),
            largest_weight: weights().fold(0.0, f64::max),
            basis,
            estimates,
            gain: identified.then(|| mean(&gains)),
            gain_interval: if identified { around(mean(&gains), &gains, &expected) } else { None },
        })
    }

    /// The estimates round by round. A single round says little; a round unlike the others shows.
    #[must_use]
    pub fn by_round(&self) -> Vec<RoundEstimate> {
        let of = |round: &LoggedRound| {
            let (sum, squares) = sums(round.arms.iter().map(LoggedArm::weight));
            let each = |of: &dyn Fn(&LoggedArm) -> f64| round.arms.iter().map(of).sum::<f64>();
            RoundEstimate {
                t: round.t,
                logged: each(&|arm| arm.reward),
                ips: each(&|arm| arm.weight() * arm.reward),
                dm: round.expected(),
                dr: round.expected() + each(&|arm| arm.weight() * (arm.reward - arm.mean)),
                effective: effective(sum, squares),
            }
        };
        self.rounds.iter().map(of).collect()
    }

    fn of_wanted(&self, part: impl Fn(&super::Wanted) -> f64) -> f64 {
        self.rounds.iter().flat_map(|round| &round.wanted).map(part).sum()
    }

    fn terms(&self, known: impl Fn(&LoggedRound) -> f64, of_arm: impl Fn(&LoggedArm) -> f64) -> Vec<Term> {
        let term = |round: &LoggedRound| Term { known: known(round), arms: round.arms.iter().map(&of_arm).collect() };
        self.rounds.iter().map(term).collect()
    }

    /// Doubly robust terms with shrunk weights, and lambda: the one for which the variance and the square of what the
    /// bias may be are least together. The bias may be as large as what the estimate was moved by and one standard error
    /// of that. Weights as they are come with the largest lambda.
    fn shrunk(&self, expected: &[f64]) -> (f64, Vec<Term>) {
        let shrunk = |lambda: f64, weight: f64| lambda / (weight * weight + lambda) * weight;
        let with = |lambda: f64| {
            let of = |arm: &LoggedArm| shrunk(lambda, arm.weight()) * (arm.reward - arm.mean);
            self.terms(LoggedRound::expected, of)
        };
        let none = vec![0.0; expected.len()];
        let square = |terms: &[Term], expected: &[f64]| {
            Variance::of(self, terms, expected).map_or(0.0, |variance| variance.error().powi(2))
        };
        let risk = |lambda: f64, terms: &[Term]| {
            let of = |arm: &LoggedArm| (shrunk(lambda, arm.weight()) - arm.weight()) * (arm.reward - arm.mean);
            let moved = self.terms(|_| 0.0, of);
            let bias = mean(&moved).abs() + square(&moved, &none).sqrt();
            bias * bias + square(terms, expected)
        };
        let grid = (-4..=32).map(|power| 10.0_f64.powf(f64::from(power) / 2.0));
        let each = grid.map(|lambda| {
            let terms = with(lambda);
            (risk(lambda, &terms), lambda, terms)
        });
        let best = each.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, lambda, terms)| (lambda, terms));
        best.unwrap_or_else(|| (f64::MAX, with(f64::MAX)))
    }
}

impl LoggedRound {
    /// What the model before the round expects of the target.
    fn expected(&self) -> f64 {
        self.wanted.iter().map(|wanted| wanted.reward).sum()
    }
}

/// The sum of some weights, and of their squares.
fn sums(weights: impl Iterator<Item = f64>) -> (f64, f64) {
    weights.fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w))
}

fn effective(sum: f64, squares: f64) -> f64 {
    if squares > 0.0 { sum * sum / squares } else { 0.0 }
}

fn mean(terms: &[Term]) -> f64 {
    terms.iter().map(Term::sum).sum::<f64>() / terms.len().max(1) as f64
}
