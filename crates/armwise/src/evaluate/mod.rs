//! How probable it was that an arm is chosen: what an honest evaluation from a log divides by.
//!
//! The probability pi of an arm is over the draws that the policy makes in the round, given all that was learned
//! before. Arms that draw for themselves have independent scores, so pi can be computed; where all share a draw, it can
//! only be counted. What was done is always said ([`Method`]). `threshold` computes, `critical` averages what the
//! others leave an arm to reach, `counted` counts.
//!
//! And what follows from it: what another policy would have earned, from the log of the one that chose. A [`Log`] is
//! checked once; [`Log::evaluate`] estimates from it, with intervals that hold though the logging policy learned.

mod counted;
mod critical;
mod estimate;
mod exact;
mod interval;
mod law;
mod log;
mod parts;
mod sets;
mod slate;
mod spread;
mod tail;
mod threshold;

pub use estimate::{Confidence, Estimate, Estimator, Evaluation, FEW, RoundEstimate, Shrinkage, UNSEEN};
pub use interval::{Basis, Interval};
pub use law::ThresholdLaw;
pub use log::{Design, Log, LoggedArm, LoggedRound, THIN, Wanted};
pub use parts::Including;

use crate::score::Scorer;
use crate::{
    Arms, ChosenArm, Constraint, Decision, Error, Learner, Method, Oracle, Pick, Policy, Quotas, Round, Scores, Ties,
};
use critical::Problem;
use serde::{Deserialize, Serialize};
use spread::Spread;
use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

/// How many fresh rounds are counted unless the caller says.
const COUNTED: usize = 1024;
/// From how many fresh rounds the critical values of all arms come unless the caller says.
const CRITICAL: usize = 16;
/// Where some arms are asked for, as many as leave them this standard error, relative to each and as a root mean square:
/// then 1 / pi is too large by 0.25 % on average.
const RELATIVE: f64 = 0.05;
/// Rounds at most, and scores that are looked at in all of them: about a second.
const MOST: usize = 256;
const WORK: usize = 1 << 23;

/// Whether the probabilities of a constraint's arms are computed where they draw for themselves: general linear rows
/// and lists of super arms are left to counting.
fn is_computed(constraint: &Constraint) -> bool {
    !matches!(constraint, Constraint::Linear(_) | Constraint::Explicit(_))
}

/// The probabilities with which arms are chosen in a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inclusion {
    /// How they were found.
    pub method: Method,
    /// One for each arm asked for; for all arms row-major, a row's blocks side by side. 0 for an arm that may not be
    /// chosen.
    pub probabilities: Vec<f64>,
    /// The standard error of each, where they were sampled; empty where they were not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub standard_errors: Vec<f64>,
    /// From how many fresh draws of the round; 0 where nothing was sampled.
    #[serde(default)]
    pub replicates: usize,
    /// What a score must pass to be chosen, one law for each set of arms that compete; empty unless the method is exact.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub laws: Vec<ThresholdLaw>,
}

impl<P: Policy> Learner<P> {
    /// The probability of each arm that [`choose`](Self::choose) chooses it in this round, over the draws of the round.
    ///
    /// `replicates` is from how many fresh rounds it is found where it must be sampled; none lets the library say.
    ///
    /// # Example
    /// ```
    /// use armwise::{Algorithm, Arms, Constraint, Learner, Round};
    /// let learner = Learner::new(Algorithm::new("arm-wise-ts", &[])?, 2, 1)?;
    /// let arms = Arms::new(&[1.0, 0.0, 0.6, 0.8, 0.0, 1.0][..], 2)?;
    /// let pi = learner.inclusion(Round::new(7, 1), &arms, &Constraint::top_k(2), None)?;
    /// let sum: f64 = pi.probabilities.iter().sum();
    /// assert!((sum - 2.0).abs() < 1e-9);
    /// # Ok::<(), armwise::Error>(())
    /// ```
    /// # Errors
    /// Those of [`choose`](Self::choose), and [`Error::Parameter`] for no replicates.
    pub fn inclusion(
        &self,
        round: Round,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
        replicates: Option<usize>,
    ) -> Result<Inclusion, Error> {
        self.inclusion_at(round, arms, oracle, Asked { replicates, ..Asked::default() })
    }

    /// As [`inclusion`](Self::inclusion), of some of the arms only; the others still compete. Without `replicates`, where
    /// critical values serve, as many fresh rounds are taken as leave these arms a standard error of 5 % (root mean
    /// square), 16 at least, 256 at most, and fewer of many arms.
    ///
    /// # Errors
    /// As [`inclusion`](Self::inclusion), and [`Error::UnknownBlock`].
    ///
    /// # Panics
    /// If a pick's row is not among the arms.
    pub fn inclusion_of(
        &self,
        round: Round,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
        picks: &[Pick],
        replicates: Option<usize>,
    ) -> Result<Inclusion, Error> {
        let asked = Asked { picks: Some(picks), accurate: Some(picks), replicates, ..Asked::default() };
        self.inclusion_at(round, arms, oracle, asked)
    }

    /// As [`inclusion`](Self::inclusion), for the evaluation of a round in which these arms were chosen: all arms, as
    /// accurately as [`inclusion_of`](Self::inclusion_of) finds the chosen ones. Where each arm would take solutions of its
    /// own (budgets, groups, nested quotas) only the chosen ones are found so, and the others are counted; all are without
    /// bias.
    ///
    /// # Errors
    /// As [`inclusion_of`](Self::inclusion_of).
    ///
    /// # Panics
    /// If a pick's row is not among the arms.
    pub fn inclusion_around(
        &self,
        round: Round,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
        chosen: &[Pick],
    ) -> Result<Inclusion, Error> {
        let asked = Asked { accurate: Some(chosen), together: true, ..Asked::default() };
        self.inclusion_at(round, arms, oracle, asked)
    }

    /// Of some of the arms, or of all.
    fn inclusion_at(
        &self,
        round: Round,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
        asked: Asked<'_>,
    ) -> Result<Inclusion, Error> {
        let Asked { picks, accurate, replicates, together } = asked;
        if replicates == Some(0) {
            return Err(Error::Parameter { name: "replicates", value: 0.0, must: "at least 1" });
        }
        let scorer = self.scorer(round)?;
        scorer.check(arms)?;
        let blocks = scorer.blocks.len();
        if let Some(pick) = picks.or(accurate).and_then(|picks| picks.iter().find(|pick| pick.block >= blocks)) {
            return Err(Error::UnknownBlock { block: pick.block as u32, last: blocks as u32 - 1 });
        }
        if scorer.in_turn.is_some() && Spread::is_certain_in_turn(&scorer) && self.ties == Ties::ById {
            return self.certain(&scorer, arms, oracle, &some(picks, arms, blocks));
        }
        if let Some(spreads) = Spread::of(&scorer) {
            if spreads.iter().all(Spread::is_certain) && self.ties == Ties::ById {
                return self.certain(&scorer, arms, oracle, &some(picks, arms, blocks));
            }
            if oracle.data().as_ref().is_some_and(is_computed) {
                let measured = exact::measured(&scorer, arms)?;
                if let Some(found) = self.compute(&scorer, &spreads, arms, &measured, oracle, asked)? {
                    return Ok(found);
                }
                let alone = Asked { picks: accurate, together: false, ..asked };
                if together && let Some(own) = self.compute(&scorer, &spreads, arms, &measured, oracle, alone)? {
                    let others = self.count(round, arms, oracle, &some(None, arms, blocks), COUNTED)?;
                    return Ok(own.among(others, accurate.unwrap_or_default(), blocks));
                }
            }
        }
        self.count(round, arms, oracle, &some(picks, arms, blocks), replicates.unwrap_or(COUNTED))
    }

    /// Writes the probability of each of its arms into a decision that these arms and this oracle gave.
    ///
    /// # Errors
    /// As [`inclusion`](Self::inclusion), and [`Error::UnknownArm`] for a decision from other arms.
    pub fn add_probabilities(
        &self,
        decision: &mut Decision,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
        replicates: Option<usize>,
    ) -> Result<Inclusion, Error> {
        let rows = Rows::of(arms);
        let picks = rows.picks(decision, arms)?;
        let found = self.inclusion_of(decision.round, arms, oracle, &picks, replicates)?;
        decision.method = Some(found.method);
        decision.arms.iter_mut().zip(&found.probabilities).for_each(|(arm, &pi)| arm.probability = Some(pi));
        Ok(found)
    }

    /// The probabilities of arms that draw for themselves, where the constraint is one of the library's: exact where
    /// they compete within sets, otherwise by critical values. None where neither serves. `measured` is direction . x and
    /// width of every arm; features are not looked at.
    fn compute(
        &self,
        scorer: &Scorer<'_>,
        spreads: &[Spread],
        arms: &Arms<'_>,
        measured: &[[f64; 2]],
        oracle: &dyn Oracle,
        asked: Asked<'_>,
    ) -> Result<Option<Inclusion>, Error> {
        let Some(constraint) = oracle.data().filter(is_computed) else { return Ok(None) };
        let blocks = spreads.len();
        let known = exact::Known { spreads, measured };
        let separate = |quotas: &Quotas| {
            let values = exact::may_be_chosen(arms, &known.laws(), blocks);
            quotas.separate(&Scores::new(&values, blocks, *arms, self.ties, scorer.round)?)
        };
        let sets = sets::of(&constraint, arms, blocks, separate)?;
        if let Some(sets) = &sets
            && let Some(found) = self.exact(scorer, arms, sets, known, asked.picks)?
        {
            return Ok(Some(found));
        }
        let plain = match &constraint {
            Constraint::Assignment(of) if critical::is_plain(of, blocks) && !spreads[0].shape.is_long() => Some(of),
            _ => None,
        };
        let laws = known.laws();
        let by = |picks: &[Pick], rounds: Range<usize>| {
            let problem = Problem { arms, spreads, measured, laws: &laws, round: scorer.round, rounds };
            if let Some(sets) = &sets {
                return self.critical_in_sets(&problem, sets, picks).map(Some);
            }
            if let Some(assignment) = plain
                && let Some(found) = self.critical_in_assignment(&problem, assignment, picks)?
            {
                return Ok(Some(found));
            }
            if asked.together { Ok(None) } else { self.critical_in_any(&problem, oracle, picks) }
        };
        let rounds = match (asked.replicates, asked.accurate) {
            (Some(replicates), _) => 0..replicates,
            (None, None) => 0..CRITICAL,
            (None, Some(picks)) => {
                let Some(first) = by(picks, 0..CRITICAL)? else { return Ok(None) };
                // Rounds that tell how many are needed are not among them, so the mean stays without bias.
                let solutions = if sets.is_some() || plain.is_some() { 1 } else { picks.len() };
                CRITICAL..CRITICAL + needed(&first, laws.len().saturating_mul(solutions))
            }
        };
        by(&some(asked.picks, arms, blocks), rounds)
    }

    /// Nothing is random: what is chosen is chosen for certain.
    fn certain(
        &self,
        scorer: &Scorer<'_>,
        arms: &Arms<'_>,
        oracle: &dyn Oracle,
        picks: &[Pick],
    ) -> Result<Inclusion, Error> {
        let decision = self.choose(scorer.round, arms, oracle)?;
        let chosen: HashSet<Pick> = Rows::of(arms).picks(&decision, arms)?.into_iter().collect();
        let probabilities = picks.iter().map(|pick| f64::from(u8::from(chosen.contains(pick)))).collect();
        let (standard_errors, laws) = (Vec::new(), Vec::new());
        Ok(Inclusion { method: Method::Degenerate, probabilities, standard_errors, replicates: 0, laws })
    }
}

/// What is asked about a round.
#[derive(Debug, Clone, Copy, Default)]
struct Asked<'a> {
    /// Whose probabilities; none for those of all arms.
    picks: Option<&'a [Pick]>,
    /// The arms whose standard errors decide how many fresh rounds there are; none for a fixed number.
    accurate: Option<&'a [Pick]>,
    /// How many fresh rounds; none lets the library say.
    replicates: Option<usize>,
    /// Only ways that find all arms together, without solutions for each.
    together: bool,
}

impl Inclusion {
    /// These of some arms, and those of all others.
    fn among(self, mut others: Self, picks: &[Pick], blocks: usize) -> Self {
        for (place, pick) in picks.iter().enumerate() {
            let arm = pick.row * blocks + pick.block;
            others.probabilities[arm] = self.probabilities[place];
            others.standard_errors[arm] = self.standard_errors[place];
        }
        Self { method: self.method, replicates: self.replicates, ..others }
    }
}

/// How many fresh rounds of so many scores leave these arms the wanted relative standard error, which [`CRITICAL`] of them
/// tell. An arm below [`THIN`] is support in name only: what its probability is does not matter, only that it is small.
fn needed(first: &Inclusion, work: usize) -> usize {
    let relative = |(pi, error): (&f64, &f64)| (error / pi.max(THIN)).powi(2);
    let squares: f64 = first.probabilities.iter().zip(&first.standard_errors).map(relative).sum();
    let square = squares / first.probabilities.len().max(1) as f64;
    let often = (CRITICAL as f64 * square / (RELATIVE * RELATIVE)).ceil().min(MOST as f64);
    #[expect(clippy::cast_sign_loss, reason = "squares are not negative")]
    let often = often as usize;
    often.min(WORK / work.max(1)).max(CRITICAL)
}

/// These arms, or all of them, row-major.
fn some<'a>(picks: Option<&'a [Pick]>, arms: &Arms<'_>, blocks: usize) -> Cow<'a, [Pick]> {
    let all = || (0..arms.len() * blocks).map(|place| Pick { row: place / blocks, block: place % blocks }).collect();
    picks.map_or_else(|| Cow::Owned(all()), Cow::Borrowed)
}

/// The rows of some arms by id; names decide where ids are hashes of names.
pub(crate) struct Rows(Vec<(u64, usize)>);

impl Rows {
    pub(crate) fn of(arms: &Arms<'_>) -> Self {
        let mut rows: Vec<(u64, usize)> = (0..arms.len()).map(|row| (arms.id(row), row)).collect();
        if !rows.is_sorted() {
            rows.sort_unstable();
        }
        Self(rows)
    }

    /// The arms of a decision as rows of these arms.
    pub(crate) fn picks(&self, decision: &Decision, arms: &Arms<'_>) -> Result<Vec<Pick>, Error> {
        let pick = |arm: &ChosenArm| {
            let first = self.0.partition_point(|(id, _)| *id < arm.id);
            let same = self.0[first..].iter().take_while(|(id, _)| *id == arm.id);
            let named = |row: &usize| arm.name.is_none() || arms.name(*row) == arm.name.as_deref();
            let row = same.map(|(_, row)| *row).find(named);
            let unknown = Error::UnknownArm { id: arm.id, block: arm.block, t: decision.round.t };
            Ok(Pick { row: row.ok_or(unknown)?, block: arm.block as usize })
        };
        decision.arms.iter().map(pick).collect()
    }
}
