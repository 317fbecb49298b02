//! Choosing from arms that come in parts: from a file too large for memory, or from many machines.
//!
//! Only candidates are kept of every part: rows that reach the floors known so far. Whenever their number has doubled,
//! the oracle prunes them again. So memory holds the candidates only, and the answer is that of the whole. Floors may
//! also be guessed from a sample; then the certain floors of the answer prove the guess, or all parts must be given
//! once more. Who guesses here must be ready for that, so candidates that have doubled are then pruned by a guess from
//! a sample of themselves (`raise.rs`), which takes far less time than an answer for all of them. While rows are given, a
//! guess is only ever raised: rows under the old one are gone.

use super::Decision;
use super::decide::{ask, decide};
use super::raise::SAMPLE;
use super::turns;
use crate::input::OwnedArms;
use crate::oracle::{Selection, rows_of};
use crate::prune::{Bounds, Screening, means_for, rows_reaching};
use crate::score::Scorer;
use crate::{Arms, Error, Keys, Needs, Oracle, Scores, Screen, Ties};
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The oracle does not prune the kept rows before there are this many.
const LEAST: usize = 2048;
/// Bounds from the means pay for parts of at least this many rows.
const PART: usize = 1 << 13;

/// A choice under way: give it all parts, then finish.
///
/// # Example
/// ```
/// use armwise::{Algorithm, Arms, Constraint, Greedy, Learner, Round};
/// let learner = Learner::new(Algorithm::Greedy(Greedy::new(1.0)), 1, 1)?;
/// let (round, constraint) = (Round::new(1, 1), Constraint::top_k(2));
/// let x = [0.1, 0.2, 0.3, 0.4];
/// let all = Arms::new(&x[..], 1)?;
/// let mut choosing = learner.choosing(round, &constraint)?;
/// choosing.add(&all.slice(0..2))?;
/// choosing.add(&all.slice(2..4))?;
/// assert_eq!(choosing.finish()?, learner.choose(round, &all, &constraint)?);
/// # Ok::<(), armwise::Error>(())
/// ```
pub struct Choosing<'a> {
    pub(super) scorer: Scorer<'a>,
    pub(super) ties: Ties,
    pub(super) oracle: &'a dyn Oracle,
    /// Bounds from the means and from widths in f32, prepared when floors are first known.
    bounds: OnceLock<[Option<Bounds>; 2]>,
    screening: OnceLock<Option<Arc<Screening>>>,
    /// Floors that are certain.
    certain: Option<Vec<f64>>,
    /// Floors guessed from a sample.
    pub(super) guess: Option<Vec<f64>>,
    /// Whether the guess was made here, so that it may be raised here: floors that were set are proven elsewhere.
    pub(super) is_own_guess: bool,
    pub(super) kept: OwnedArms,
    pub(super) scores: Vec<f64>,
    best: Option<Selection>,
    /// The oracle prunes the kept rows once there are more than this.
    pub(super) full: usize,
    /// How many of the kept rows a raised guess looks at.
    pub(super) sample: usize,
    /// The row numbers that have been used as ids so far.
    numbered: Vec<Range<u64>>,
    /// How many rows were given so far.
    rows: usize,
}

/// Whether the floors of the parts given prove the choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Proof {
    /// The choice is made.
    Done,
    /// A guess from a sample was refuted: all rows are dropped and must be given once more. The floors are certain
    /// now, so this happens only once, unless a better sample is guessed from then.
    Again,
}

impl fmt::Debug for Choosing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.kept.len();
        f.debug_struct("Choosing").field("rows", &self.rows).field("kept", &kept).finish_non_exhaustive()
    }
}

impl<'a> Choosing<'a> {
    pub(super) fn new(scorer: Scorer<'a>, ties: Ties, oracle: &'a dyn Oracle) -> Self {
        Self {
            scorer,
            ties,
            oracle,
            bounds: OnceLock::new(),
            screening: OnceLock::new(),
            certain: None,
            guess: None,
            is_own_guess: false,
            kept: OwnedArms::default(),
            scores: Vec::new(),
            best: None,
            full: match oracle.needs() {
                Needs::Floors { from } => from.saturating_mul(2).max(LEAST),
                _ => LEAST,
            },
            sample: SAMPLE,
            numbered: Vec::new(),
            rows: 0,
        }
    }

    /// Keeps no features: [`chosen`](Self::chosen) gives the chosen ids, and [`finish`](Self::finish) fails.
    #[must_use]
    pub fn keys_only(self) -> Self {
        Self { kept: OwnedArms::without_features(), ..self }
    }

    /// Guesses floors from a sample that is this share of all rows, so that most rows are pruned by their bounds. The
    /// rows of the sample must be given again with the parts. After some parts, a guess only raises the floors.
    ///
    /// # Errors
    /// A typed error for bad arms.
    pub fn guess(&mut self, sample: &Arms<'_>, share: f64) -> Result<(), Error> {
        if self.oracle.needs() != Needs::All && self.scorer.in_turn.is_none() {
            let scores = self.scorer.score(sample)?;
            let blocks = self.scorer.blocks.len();
            let scores = Scores::new(&scores, blocks, *sample, self.ties, self.scorer.round)?;
            if let Some(guess) = self.oracle.guess_floors(&scores, share)? {
                self.set_floors(guess)?;
                self.is_own_guess = true;
            }
        }
        Ok(())
    }

    /// Whether rows were given.
    #[must_use]
    pub fn has_rows(&self) -> bool {
        self.rows > 0
    }

    /// How many candidates are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Whether the choice is made, so that no more rows are taken.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.best.is_some()
    }

    /// Begins with floors that were guessed elsewhere: by [`guess`](Self::guess) on another machine, which then proves
    /// the choice from all candidates, or as the certain floors of a guess that was refuted there.
    ///
    /// # Errors
    /// [`Error::Dimension`] unless there is a floor for each block.
    pub fn set_floors(&mut self, floors: Vec<f64>) -> Result<(), Error> {
        let (expected, found) = (self.scorer.blocks.len(), floors.len());
        if found != expected {
            return Err(Error::Dimension { what: "floors", expected, found });
        }
        // Rows under the old floors may be gone.
        let before = self.guess.take().filter(|_| self.rows > 0);
        self.guess = Some(match before {
            Some(before) => before.iter().zip(&floors).map(|(a, b)| a.max(*b)).collect(),
            None => floors,
        });
        self.is_own_guess = false;
        Ok(())
    }

    /// The floor of each block: arms with lower scores need not be given. None while no floors are known.
    #[must_use]
    pub fn floors(&self) -> Option<Vec<f64>> {
        match (&self.certain, &self.guess) {
            (Some(certain), Some(guess)) => Some(certain.iter().zip(guess).map(|(a, b)| a.max(*b)).collect()),
            (certain, guess) => certain.as_ref().or(guess.as_ref()).cloned(),
        }
    }

    /// Tells which rows are worth making, for rows that come as columns ([`Panels`](crate::Panels)). Rows that it does
    /// not mark need not be given, but must be counted with [`skip`](Self::skip). None while all rows are needed.
    #[must_use]
    pub fn screen(&self) -> Option<Screen<'_>> {
        let floors = self.floors()?;
        let screening = self.screening.get_or_init(|| Screening::new(&self.scorer)).as_ref()?;
        Some(Screen { scorer: &self.scorer, screening, floors })
    }

    /// Counts rows that a [`screen`](Self::screen) left out.
    pub fn skip(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// Takes the next part. Its rows need ids or names that are unique over all parts; slices of one whole have them.
    /// (A repeated row number is refused, and so is an id that two kept rows share. A repeated id goes unnoticed if one
    /// of its rows was pruned, since pruned rows are not remembered.) Once the choice is made, further parts are
    /// ignored.
    ///
    /// # Errors
    /// A typed error for bad arms, or for a part with other columns than the ones before; the part is then not added.
    pub fn add(&mut self, part: &Arms<'_>) -> Result<(), Error> {
        if self.best.is_some() {
            return Ok(());
        }
        let numbers = part.keys().row_numbers();
        if let Some(numbers) = &numbers {
            let again = self.numbered.iter().find(|seen| seen.start < numbers.end && numbers.start < seen.end);
            if let Some(seen) = again {
                let id = seen.start.max(numbers.start);
                let (first, second) = ((id - seen.start) as usize, (id - numbers.start) as usize);
                return Err(Error::DuplicateId { id, first, second });
            }
        }
        self.kept.check(part)?;
        let mut rows = match self.floors() {
            None => (0..part.len()).collect(),
            Some(floors) => {
                let ready = || [means_for(&self.scorer, PART.max(part.len())), Bounds::from_widths(&self.scorer)];
                let [means, widths] = self.bounds.get_or_init(ready);
                rows_reaching(&self.scorer, [means.as_ref(), widths.as_ref()], part, &floors)?
            }
        };
        if rows.is_empty() && self.kept.len() == 0 {
            rows.push(0); // any row will do: the oracle needs at least one at the end
        }
        let scores = if rows.len() == part.len() {
            self.scorer.score(part)?
        } else if rows.is_empty() {
            Vec::new()
        } else {
            part.gather(&rows).with_arms(|rows| self.scorer.score(rows))?
        };
        let first = self.scores.len();
        self.kept.extend(part, &rows);
        self.scores.extend(scores);
        self.mask(first);
        self.numbered.extend(numbers);
        self.rows += part.len();
        if self.kept.len() > self.full { self.thin() } else { Ok(()) }
    }

    /// Prunes the kept rows to those that may matter for the whole.
    fn thin(&mut self) -> Result<(), Error> {
        if self.scorer.in_turn.is_some() {
            // Which rows matter depends on those taken before.
            return Ok(());
        }
        if self.is_own_guess && self.raise_guess()? {
            return Ok(());
        }
        let own = if self.oracle.needs() == Needs::All { None } else { Some(self.ask()) };
        let own = match own {
            Some(Ok(best)) => Some(best).filter(|best| best.floors.is_some()),
            None | Some(Err(Error::Infeasible(_))) => None,
            Some(Err(error)) => return Err(error),
        };
        let mut rows = match &own {
            Some(best) => rows_of(&best.arms),
            None => self.kept.with_keys(|keys| self.oracle.candidates(&self.scores_of(keys)?))?,
        };
        if let Some(row) = rows.iter().find(|&&row| row >= self.kept.len()) {
            let count = self.kept.len();
            return Err(Error::Constraint(format!("the oracle names row {row} of a part of {count} rows")));
        }
        if rows.is_empty() {
            rows.push(0);
        }
        let count = self.kept.len();
        if rows.len() < count {
            self.retain(&rows);
        }
        self.certain = own.and_then(|own| own.floors).or(self.certain.take());
        self.full = (2 * self.kept.len()).max(self.full);
        self.mask(0);
        Ok(())
    }

    /// Keeps only these of the kept rows, ascending.
    pub(super) fn retain(&mut self, rows: &[usize]) {
        let blocks = self.scorer.blocks.len();
        for (place, row) in rows.iter().enumerate() {
            self.scores.copy_within(row * blocks..(row + 1) * blocks, place * blocks);
        }
        self.scores.truncate(rows.len() * blocks);
        self.kept.retain(rows);
    }

    /// Hides scores below the floors from the oracle, to save it work; starts at index `first` of the scores.
    pub(super) fn mask(&mut self, first: usize) {
        let Some(floors) = self.floors() else { return };
        for scores in self.scores[first..].chunks_exact_mut(floors.len()) {
            let below = scores.iter_mut().zip(&floors).filter(|(score, floor)| **score < **floor);
            below.for_each(|(score, _)| *score = f64::NEG_INFINITY);
        }
    }

    fn scores_of<'s>(&'s self, keys: Keys<'s>) -> Result<Scores<'s>, Error> {
        Scores::new(&self.scores, self.scorer.blocks.len(), keys, self.ties, self.scorer.round)
    }

    /// The oracle's answer for the kept rows.
    fn ask(&self) -> Result<Selection, Error> {
        if self.kept.len() == 0 {
            return Err(Error::NoArms);
        }
        self.kept.check_unique()?;
        self.kept.with_keys(|keys| ask(self.oracle, &self.scores_of(keys)?))
    }

    /// Calls a function with the candidates of the parts given so far: rows that may be chosen from the whole. None
    /// without any, or if no features are kept.
    ///
    /// # Errors
    /// Those of the function.
    pub fn candidates<T>(&self, see: impl FnOnce(&Arms<'_>) -> Result<T, Error>) -> Result<Option<T>, Error> {
        if self.kept.len() == 0 || !self.kept.has_features() {
            return Ok(None);
        }
        self.kept.with_arms(see).map(Some)
    }

    /// Makes the choice from the parts given, unless a guess from a sample turns out to be wrong.
    ///
    /// # Errors
    /// [`Error::NoArms`] without parts, [`Error::DuplicateId`] for an id kept from two parts (rows count from 0 among
    /// the kept ones), or the oracle's error; its numbers are marked as counted among the kept rows.
    pub fn prove(&mut self) -> Result<Proof, Error> {
        if self.best.is_some() || self.scorer.in_turn.is_some() {
            return Ok(Proof::Done);
        }
        // Without a guess, the parts that come again are pruned by what is certain only.
        self.is_own_guess = false;
        let Some(guess) = self.guess.take() else {
            let (kept, rows) = (self.kept.len(), self.rows);
            let best = self.ask().map_err(|error| match error {
                Error::Infeasible(reason) => Error::Infeasible(reason.among_candidates(kept, rows)),
                error => error,
            })?;
            self.best = Some(best);
            return Ok(Proof::Done);
        };
        let best = match self.ask() {
            Err(Error::Infeasible(_) | Error::NoArms) => None,
            best => Some(best?),
        };
        let certain = best.as_ref().and_then(|best| best.floors.clone());
        if certain.as_ref().is_some_and(|certain| certain.iter().zip(&guess).all(|(certain, guess)| certain >= guess)) {
            self.best = best;
            return Ok(Proof::Done);
        }
        self.certain = certain.or(self.certain.take());
        self.kept.retain(&[]);
        (self.scores, self.rows) = (Vec::new(), 0);
        self.numbered.clear();
        Ok(Proof::Again)
    }

    /// The chosen arms as (id, block), ascending; empty before the choice is [proven](Self::prove).
    #[must_use]
    pub fn chosen(&self) -> Vec<(u64, u32)> {
        let picks = self.best.as_ref().map_or(&[][..], |best| &best.arms);
        let id = |keys: Keys<'_>| Ok(picks.iter().map(|arm| (keys.id(arm.row), arm.block as u32)).collect());
        let mut chosen: Vec<(u64, u32)> = self.kept.with_keys(id).unwrap_or_default();
        chosen.sort_unstable();
        chosen
    }

    /// The values of a column at the chosen arms, in the order of the decision; none before the choice is
    /// [proven](Self::prove) or for a column that the parts do not have. A column with a value for each block gives
    /// that of the arm's block.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let picks = &self.best.as_ref()?.arms;
        let values = |keys: Keys<'_>| {
            let of = |(values, per_row): (&[f64], usize)| -> Vec<f64> {
                picks.iter().map(|arm| values[arm.row * per_row + arm.block.min(per_row - 1)]).collect()
            };
            Ok(keys.column(name).map(of))
        };
        self.kept.with_keys(values).ok()?
    }

    /// The decision over all parts. Its prices are those of the kept rows, no higher than those of the whole: the row
    /// that one more unit would go to may have been left out.
    ///
    /// # Errors
    /// As [`prove`](Self::prove), and [`Error::GuessRefuted`] if the parts must be given once more.
    pub fn finish(mut self) -> Result<Decision, Error> {
        if let Some(turn) = self.scorer.in_turn {
            if self.kept.len() == 0 {
                return Err(Error::NoArms);
            }
            self.kept.check_unique()?;
            return self.kept.with_arms(|kept| turns::choose(&self.scorer, turn, (kept, self.ties), self.oracle));
        }
        if self.prove()? == Proof::Again {
            return Err(Error::GuessRefuted);
        }
        let mut best = self.best.take().ok_or(Error::NoArms)?;
        self.scores = Vec::new();
        // Drops rows that were not chosen, to save memory: the decision gets its own copy of the features.
        if self.kept.len() > 2 * best.arms.len() && !best.arms.is_empty() {
            let rows = rows_of(&best.arms);
            best.arms.iter_mut().for_each(|arm| arm.row = rows.partition_point(|row| *row < arm.row));
            self.kept.retain(&rows);
        }
        self.kept.with_arms(|kept| decide(&self.scorer, kept, best))
    }
}
