//! An oracle that remembers the prices of its last answer.
//!
//! Constraints are data and remember nothing. What a long-running caller knows from the last round is kept here, beside
//! them; since prices are only a hint, a forgotten or foreign one changes how long an answer takes and nothing else.

use super::{Needs, Oracle, Price, Scores, Selection, Taking};
use crate::{Constraint, Error};
use std::sync::{Mutex, PoisonError};

/// An oracle that begins each round with the prices of the last one. The answers are those of the oracle inside.
///
/// # Example
/// ```
/// use armwise::{Arms, Assignment, Oracle, Round, Scores, Ties, Warm};
/// let oracle = Warm::new(Assignment::new(vec![1, 1]));
/// let arms = Arms::new(&[0.0, 0.0, 0.0][..], 1)?;
/// for values in [[0.9, 0.8, 0.7, 0.1, 0.2, 0.1], [0.8, 0.8, 0.7, 0.2, 0.2, 0.1]] {
///     let scores = Scores::new(&values, 2, arms, Ties::ById, Round::new(1, 1))?;
///     assert_eq!(oracle.argmax(&scores)?, oracle.oracle().argmax(&scores)?);
/// }
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug)]
pub struct Warm<O> {
    oracle: O,
    last: Mutex<Vec<Price>>,
}

impl<O: Oracle> Warm<O> {
    /// This oracle, with nothing to remember yet.
    pub fn new(oracle: O) -> Self {
        Self { oracle, last: Mutex::default() }
    }

    /// The oracle inside.
    pub fn oracle(&self) -> &O {
        &self.oracle
    }

    /// The prices of the last answer; none before the first.
    pub fn prices(&self) -> Vec<Price> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn remember(&self, found: Result<Selection, Error>) -> Result<Selection, Error> {
        if let Ok(found) = &found {
            self.last.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&found.prices);
        }
        found
    }
}

impl<O: Oracle> Oracle for Warm<O> {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        self.argmax_near(scores, &self.prices())
    }

    fn argmax_near(&self, scores: &Scores<'_>, prices: &[Price]) -> Result<Selection, Error> {
        self.remember(self.oracle.argmax_near(scores, prices))
    }

    fn needs(&self) -> Needs {
        self.oracle.needs()
    }

    fn guess_floors(&self, sample: &Scores<'_>, share: f64) -> Result<Option<Vec<f64>>, Error> {
        self.oracle.guess_floors(sample, share)
    }

    fn taking(&self, scores: &Scores<'_>) -> Result<Option<Box<dyn Taking>>, Error> {
        self.oracle.taking(scores)
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        self.oracle.candidates(part)
    }

    fn data(&self) -> Option<Constraint> {
        self.oracle.data()
    }
}
