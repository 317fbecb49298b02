//! The probability that an arm is chosen, of all arms of a round or of those of a decision.

use armwise::{Arms, Error, Inclusion, Oracle, Round};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArrayDyn};
use pyo3::prelude::*;

use crate::{
    catalogue::{Catalogue, Offer},
    decision::Decision,
    errors::bad_json,
    given::{Given, Ids, X},
    learner::Learner,
    oracle::AnyOracle,
};

/// A matrix, columns of a table or a catalogue; ids, mask and columns.
type Offered<'py> = (
    Bound<'py, PyAny>,
    Option<Ids<'py>>,
    Option<PyReadonlyArrayDyn<'py, bool>>,
    Vec<(String, PyReadonlyArrayDyn<'py, f64>)>,
);

/// Method, probabilities and standard errors (a row for each arm, a column for each block), fresh rounds, laws as JSON.
type Found<'py> = (&'static str, Bound<'py, PyArray2<f64>>, Option<Bound<'py, PyArray2<f64>>>, usize, String);

/// Does work with the arms and the oracle.
fn with_arms<R: Send>(
    py: Python<'_>,
    (x, ids, eligible, columns): Offered<'_>,
    constraint: &Bound<'_, PyAny>,
    work: impl FnOnce(&Arms<'_>, &dyn Oracle) -> Result<R, Error> + Send,
) -> PyResult<R> {
    let oracle = AnyOracle::new(constraint)?;
    if let Ok(catalogue) = x.cast::<Catalogue>() {
        let (catalogue, offer) = (&catalogue.get().inner, Offer::new(eligible.as_ref(), &columns)?);
        return oracle.with(py, |oracle| work(&offer.of(catalogue)?, oracle));
    }
    let given = Given { x: x.extract::<X<'_>>()?.matrix()?, ids, eligible, columns };
    let lent = given.lend()?;
    oracle.with(py, |oracle| work(&lent.arms()?, oracle))
}

/// The probabilities of all arms of a round.
#[pyfunction]
pub(crate) fn inclusion<'py>(
    py: Python<'py>,
    learner: &Bound<'py, Learner>,
    seed: u64,
    t: u64,
    arms: Offered<'py>,
    constraint: &Bound<'py, PyAny>,
    replicates: Option<usize>,
) -> PyResult<Found<'py>> {
    let core = learner.get().now();
    let found: Inclusion =
        with_arms(py, arms, constraint, |arms, oracle| core.inclusion(Round::new(seed, t), arms, oracle, replicates))?;
    let blocks = core.model().blocks().len();
    let matrix = |values: Vec<f64>| {
        let rows = values.len() / blocks;
        PyArray1::from_vec(py, values).reshape([rows, blocks])
    };
    let errors = found.standard_errors;
    let errors = if errors.is_empty() { None } else { Some(matrix(errors)?) };
    let laws = serde_json::to_string(&found.laws).map_err(|error| bad_json("a law", error))?;
    Ok((found.method.name(), matrix(found.probabilities)?, errors, found.replicates, laws))
}

/// The decision with the probability of each of its arms.
#[pyfunction]
pub(crate) fn with_probabilities<'py>(
    py: Python<'py>,
    learner: &Bound<'py, Learner>,
    decision: &Bound<'py, Decision>,
    arms: Offered<'py>,
    constraint: &Bound<'py, PyAny>,
    replicates: Option<usize>,
) -> PyResult<Decision> {
    let (core, decision) = (learner.get().now(), decision.get());
    let mut inner = decision.inner.clone();
    let inner = with_arms(py, arms, constraint, move |arms, oracle| {
        core.add_probabilities(&mut inner, arms, oracle, replicates)?;
        Ok(inner)
    })?;
    Ok(Decision::new(inner, decision.rows.clone()))
}

/// The probability of an arm of a round by the law of its threshold, which is JSON.
#[pyfunction]
pub(crate) fn probability_by_law(py: Python<'_>, law: &str, block: u32, mean: f64, width: f64) -> PyResult<f64> {
    let law: armwise::ThresholdLaw = serde_json::from_str(law).map_err(|error| bad_json("a law", error))?;
    law.probability(block, mean, width).map_err(|error| crate::errors::raise(py, &error))
}
