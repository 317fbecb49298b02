//! Policies written in Python: `direction(at)` once per block, `bonus(at, width, draw)` once per block for all arms.
//!
//! Python is called once for whole arrays. The products direction . x and the widths come from the library, through two
//! internal policies that compute nothing else. So results do not depend on threads or row order, unless the functions
//! of the Python policy do.

use std::sync::{Mutex, PoisonError};

use armwise::{
    Arms, Bonus, Context as At, Draw, Error, Learner, Model, Oracle, Pick, Policy, Posterior, Round, Scores, Selection,
    Stream, Ties,
};
use numpy::PyArray1;
use pyo3::{exceptions::PyValueError, intern, prelude::*};

use crate::{
    decision::Decision,
    errors::raise,
    gate::{attach, detach},
    given::floats,
    oracle::AnyOracle,
    policy::AnyPolicy,
};

/// What a policy can use when it prepares a round.
#[pyclass(frozen)]
pub(crate) struct Context {
    round: Round,
    block: u32,
    blocks: usize,
    count: u64,
    posterior: Posterior,
}

#[pymethods]
impl Context {
    #[getter]
    fn seed(&self) -> u64 {
        self.round.seed
    }

    #[getter]
    fn t(&self) -> u64 {
        self.round.t
    }

    #[getter]
    fn block(&self) -> u32 {
        self.block
    }

    #[getter]
    fn blocks(&self) -> usize {
        self.blocks
    }

    #[getter]
    fn count(&self) -> u64 {
        self.count
    }

    #[getter]
    fn theta_hat<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.posterior.theta_hat())
    }

    /// A draw from N(theta_hat, v^2 V^-1), the same whenever it is asked for in this round and block.
    fn sample<'py>(&self, py: Python<'py>, v: f64) -> Bound<'py, PyArray1<f64>> {
        let draws = self.round.draws(self.block, Stream::DIRECTION);
        PyArray1::from_vec(py, self.posterior.sample(v, &draws))
    }
}

/// Scores that are a product with given directions, or the widths.
struct Probe {
    ridge: f64,
    directions: Option<Vec<Vec<f64>>>,
}

impl Policy for Probe {
    fn ridge(&self) -> f64 {
        self.ridge
    }

    fn direction(&self, at: &At<'_>) -> Vec<f64> {
        match &self.directions {
            Some(directions) => directions[at.block as usize].clone(),
            None => vec![0.0; at.posterior.dim()],
        }
    }

    fn bonus(&self, _: &At<'_>) -> Bonus<'_> {
        if self.directions.is_some() { Bonus::none() } else { Bonus::width(Draw::None, |_| 1.0) }
    }
}

/// A policy written in Python, ready for a round.
struct Ready {
    policy: Py<PyAny>,
    contexts: Vec<Py<Context>>,
    products: Learner<Probe>,
    /// None where the policy adds no bonus.
    widths: Option<Learner<Probe>>,
    draw: Draw,
    round: Round,
    ties: Ties,
}

impl Ready {
    fn new(py: Python<'_>, core: &Learner<AnyPolicy>, round: Round, policy: Bound<'_, PyAny>) -> PyResult<Self> {
        let ridge = core.policy().ridge();
        let library = |error: Error| raise(py, &error);
        // What was learned counts as at the end of the round before.
        let mut model: Model = core.model().in_force().map_err(library)?.into_owned();
        model.advance(round.t.saturating_sub(1));
        let blocks = model.blocks().len();
        let count = model.blocks().iter().map(armwise::Block::count).sum();
        let context = |block: u32| {
            let posterior = model.posterior(block, ridge).map_err(library)?;
            Py::new(py, Context { round, block, blocks, count, posterior })
        };
        let contexts = (0..blocks as u32).map(context).collect::<PyResult<Vec<_>>>()?;
        let direction = |at: &Py<Context>| -> PyResult<Vec<f64>> {
            floats(&policy.call_method1(intern!(py, "direction"), (at,))?, "the policy's direction")
        };
        let directions = contexts.iter().map(direction).collect::<PyResult<Vec<_>>>()?;
        let probe = |directions| Learner::with_model(Probe { ridge, directions }, model.clone()).map_err(library);
        let base = policy.getattr(intern!(py, "_adds_bonus"))?.extract::<bool>()?;
        let widths = if base { Some(probe(None)?) } else { None };
        let draw = match policy.getattr(intern!(py, "draw"))?.extract::<Option<String>>()?.as_deref() {
            None => Draw::None,
            Some("uniform") => Draw::Uniform,
            Some("normal") => Draw::Normal,
            Some(other) => {
                let text = format!("draw = {other:?}: must be None, \"uniform\" or \"normal\"");
                return Err(PyValueError::new_err(text));
            }
        };
        let products = probe(Some(directions))?;
        Ok(Self { policy: policy.unbind(), contexts, products, widths, draw, round, ties: core.ties() })
    }

    fn draws(&self, block: usize, ids: &[u64]) -> Option<Vec<f64>> {
        let draws = self.round.draws(block as u32, Stream::BONUS);
        let mut numbers = vec![0.0; ids.len()];
        match self.draw {
            // A policy written in Python asks for none, uniform or normal numbers.
            Draw::None | Draw::Student { .. } => return None,
            Draw::Uniform => draws.uniforms(ids, &mut numbers),
            Draw::Normal => draws.normals(ids, &mut numbers),
        }
        Some(numbers)
    }

    /// The products of these arms with the bonus added.
    fn rescore(&self, products: &[f64], arms: &Arms<'_>) -> Result<Vec<f64>, Stopped> {
        let mut values = products.to_vec();
        let Some(widths) = &self.widths else { return Ok(values) };
        let blocks = self.contexts.len();
        let widths = widths.scores(self.round, arms)?;
        let ids: Vec<u64> = (0..arms.len()).map(|row| arms.id(row)).collect();
        for block in 0..blocks {
            let width: Vec<f64> = widths.iter().skip(block).step_by(blocks).copied().collect();
            let draws = self.draws(block, &ids);
            let bonus = attach(|py| -> PyResult<Vec<f64>> {
                let width = PyArray1::from_vec(py, width);
                let draws = draws.map(|draws| PyArray1::from_vec(py, draws));
                let at = &self.contexts[block];
                let bonus = self.policy.bind(py).call_method1(intern!(py, "bonus"), (at, width, draws))?;
                floats(&bonus, "the policy's bonus")
            })?;
            if bonus.len() != arms.len() {
                let what = "values of the policy's bonus";
                return Err(Error::Dimension { what, expected: arms.len(), found: bonus.len() }.into());
            }
            for (row, bonus) in bonus.into_iter().enumerate() {
                let value = &mut values[row * blocks + block];
                // A forbidden arm stays forbidden, whatever the bonus.
                if value.is_finite() {
                    *value += bonus;
                    if !value.is_finite() {
                        return Err(Error::ScoreOverflow { row, block, value: *value }.into());
                    }
                }
            }
        }
        Ok(values)
    }
}

/// Why rescoring stopped.
enum Stopped {
    Library(Error),
    Python(PyErr),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<PyErr> for Stopped {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// Turns products into scores, then asks the oracle.
struct Rescoring<'a> {
    ready: &'a Ready,
    /// All arms, so that the oracle is given the score of each.
    arms: Arms<'a>,
    oracle: &'a dyn Oracle,
    /// What was chosen, with the score; or what was raised.
    chosen: Mutex<Result<Vec<(Pick, f64)>, PyErr>>,
}

impl Oracle for Rescoring<'_> {
    fn argmax(&self, products: &Scores<'_>) -> Result<Selection, Error> {
        let values = self.ready.rescore(products.values(), &self.arms).map_err(|stopped| match stopped {
            Stopped::Library(error) => error,
            Stopped::Python(error) => {
                *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = Err(error);
                Error::Solver("the policy raised an exception".to_owned())
            }
        })?;
        let Ready { round, ties, .. } = *self.ready;
        let scores = Scores::new(&values, products.blocks(), products.keys(), ties, round)?;
        let selection = self.oracle.argmax(&scores)?;
        let inside = |arm: &&Pick| arm.row < scores.len() && arm.block < scores.blocks();
        let chosen = selection.arms.iter().filter(inside).map(|&arm| (arm, scores.get(arm))).collect();
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = Ok(chosen);
        Ok(selection)
    }
}

/// Chooses as a policy written in Python says.
pub(crate) fn choose<'a>(
    py: Python<'_>,
    core: &Learner<AnyPolicy>,
    round: Round,
    arms: impl FnOnce() -> Result<Arms<'a>, Error> + Send,
    oracle: &AnyOracle,
    policy: Bound<'_, PyAny>,
) -> PyResult<Decision> {
    let ready = Ready::new(py, core, round, policy)?;
    let mut raised = None;
    let found = oracle.with(py, |oracle| {
        let arms = arms()?;
        let rescoring = Rescoring { ready: &ready, arms, oracle, chosen: Mutex::new(Ok(Vec::new())) };
        let decision = ready.products.choose(round, &arms, &rescoring);
        let chosen = rescoring.chosen.into_inner().unwrap_or_else(PoisonError::into_inner);
        let chosen = chosen.unwrap_or_else(|error| {
            raised = Some(error);
            Vec::new()
        });
        Ok((decision?, chosen))
    });
    if let Some(raised) = raised {
        return Err(raised);
    }
    let (mut inner, chosen) = found?;
    for (arm, &(_, score)) in inner.arms.iter_mut().zip(&chosen) {
        arm.score = score;
        arm.draw = ready.draws(arm.block as usize, &[arm.id]).map(|draws| draws[0]);
    }
    Ok(Decision::new(inner, chosen.iter().map(|(arm, _)| arm.row).collect()))
}

/// The scores as a policy written in Python makes them.
pub(crate) fn scores<'a>(
    py: Python<'_>,
    core: &Learner<AnyPolicy>,
    round: Round,
    arms: impl FnOnce() -> Result<Arms<'a>, Error> + Send,
    policy: Bound<'_, PyAny>,
) -> PyResult<Vec<f64>> {
    let ready = Ready::new(py, core, round, policy)?;
    let made = detach(py, || -> Result<Vec<f64>, Stopped> {
        let arms = arms()?;
        let products = ready.products.scores(round, &arms)?;
        ready.rescore(&products, &arms)
    });
    made.map_err(|stopped| match stopped {
        Stopped::Library(error) => raise(py, &error),
        Stopped::Python(error) => error,
    })
}
