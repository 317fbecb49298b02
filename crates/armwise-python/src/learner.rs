//! The learner behind a Python policy.
//!
//! The learner is in an `Arc`. A choice takes a reference and holds no lock, so any number of threads can choose at
//! once, and a Python callable may call back into the learner. Learning copies the learner only while a choice is
//! running; that choice continues with the old state.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use armwise::{Decision as Chosen, Error, Features, Gamma, Learner as Core, Model, Observation, Reward, Round};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn};
use pyo3::{exceptions::PyValueError, prelude::*};

use crate::{
    catalogue::{Catalogue, Offer},
    decision::{Decision, named},
    errors::{raise, raise_of},
    gate::{detach, enter},
    given::{Given, Ids, LentIds, Matrix, X},
    interrupt::interruptible,
    oracle::{AnyOracle, gamma_of, name_of, ties_of},
    own,
    parts::Frozen,
    policy::AnyPolicy,
    sparse::{self, Csr},
};

/// How many multiplications are done between two looks at whether Ctrl-C was pressed.
const SLICE: usize = 1 << 27;

/// A policy with what it has learned.
#[pyclass(frozen)]
pub(crate) struct Learner {
    inner: Mutex<Arc<Core<AnyPolicy>>>,
}

impl Learner {
    fn of(core: Core<AnyPolicy>) -> Self {
        Self { inner: Mutex::new(Arc::new(core)) }
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Core<AnyPolicy>>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Arc<Core<AnyPolicy>> {
        Arc::clone(&self.lock())
    }

    fn change(
        &self,
        py: Python<'_>,
        change: impl FnOnce(&mut Core<AnyPolicy>) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        detach(py, || change(Arc::make_mut(&mut self.lock()))).map_err(|error| raise(py, &error))
    }

    fn book(
        &self,
        decision: &Bound<'_, Decision>,
        rewards: &Bound<'_, PyAny>,
        change: impl FnOnce(&mut Core<AnyPolicy>, &Chosen, &[Reward]) -> Result<(), Error> + Send,
    ) -> PyResult<()> {
        let py = decision.py();
        let decision = decision.get();
        let rewards = decision.rewards(rewards)?;
        let chosen = &decision.inner;
        detach(py, || change(Arc::make_mut(&mut self.lock()), chosen, &rewards))
            .map_err(|error| raise_of(py, &error, chosen))
    }
}

#[pymethods]
impl Learner {
    #[new]
    fn new(py: Python<'_>, policy: &str, dim: usize, blocks: usize, ties: &str, gamma: Option<f64>) -> PyResult<Self> {
        let (policy, ties) = (AnyPolicy::from_json(policy)?, ties_of(ties)?);
        let model = Model::new(dim, blocks).and_then(|model| model.with_gamma(gamma_of(gamma)));
        let core = model.and_then(|model| Core::with_model(policy, model)).map_err(|error| raise(py, &error))?;
        Ok(Self::of(core.with_ties(ties)))
    }

    /// Changes the parameters and keeps everything that was learned.
    fn with_policy(&self, py: Python<'_>, policy: &str, ties: &str) -> PyResult<Self> {
        let (policy, ties) = (AnyPolicy::from_json(policy)?, ties_of(ties)?);
        let core = Core::clone(&self.now()).with_policy(policy).map_err(|error| raise(py, &error))?;
        Ok(Self::of(core.with_ties(ties)))
    }

    fn copy(&self) -> Self {
        Self::of(Core::clone(&self.now()))
    }

    #[getter]
    fn policy(&self) -> PyResult<String> {
        self.now().policy().to_json()
    }

    #[getter]
    fn ties(&self) -> &'static str {
        name_of(self.now().ties())
    }

    #[getter]
    fn dim(&self) -> usize {
        self.now().model().dim()
    }

    #[getter]
    fn blocks(&self) -> usize {
        self.now().model().blocks().len()
    }

    #[getter]
    fn gamma(&self) -> Option<f64> {
        match self.now().model().gamma() {
            Gamma::Value(gamma) => Some(gamma),
            Gamma::Auto => None,
        }
    }

    #[getter]
    fn newest(&self) -> u64 {
        self.now().model().t()
    }

    /// How many rewards each block has learned.
    #[getter]
    fn counts(&self) -> Vec<u64> {
        self.now().model().blocks().iter().map(armwise::Block::count).collect()
    }

    /// The sum of squared rewards of each block; none where it is not known.
    #[getter]
    fn rr(&self) -> Vec<Option<f64>> {
        self.now().model().blocks().iter().map(armwise::Block::rr).collect()
    }

    fn choose<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        t: u64,
        x: X<'py>,
        ids: Option<Ids<'py>>,
        eligible: Option<PyReadonlyArrayDyn<'py, bool>>,
        columns: Vec<(String, PyReadonlyArrayDyn<'py, f64>)>,
        constraint: &Bound<'py, PyAny>,
        own: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Decision> {
        let (round, core) = (Round::new(seed, t), self.now());
        let oracle = AnyOracle::new(constraint)?;
        if let (X::Rows(rows), true, None) = (&x, columns.is_empty(), &own) {
            let ids = LentIds::of(ids.as_ref())?;
            let eligible = eligible.as_ref().map(|mask| mask.as_slice()).transpose()?;
            if let Some(inner) = rows.get().choose(py, &core, round, &ids, eligible, &oracle)? {
                let rows = detach(py, || ids.rows(&inner));
                return Ok(Decision::new(inner, rows));
            }
        }
        let given = Given { x: x.matrix()?, ids, eligible, columns };
        let lent = given.lend()?;
        if let Some(policy) = own {
            return own::choose(py, &core, round, || lent.arms(), &oracle, policy);
        }
        let (inner, rows) = oracle.with(py, |oracle| {
            let decision = core.choose(round, &lent.arms()?, oracle)?;
            let rows = lent.rows(&decision);
            Ok((decision, rows))
        })?;
        Ok(Decision::new(inner, rows))
    }

    fn scores<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        t: u64,
        x: X<'py>,
        ids: Option<Ids<'py>>,
        own: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let given = Given { x: x.matrix()?, ids, eligible: None, columns: Vec::new() };
        let lent = given.lend()?;
        let (round, core) = (Round::new(seed, t), self.now());
        let scores = match own {
            Some(policy) => own::scores(py, &core, round, || lent.arms(), policy)?,
            None => detach(py, || core.scores(round, &lent.arms()?)).map_err(|error| raise(py, &error))?,
        };
        by_block(py, &core, scores)
    }

    /// As `choose`, from the arms of a catalogue.
    fn choose_from<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        t: u64,
        catalogue: &Bound<'py, Catalogue>,
        eligible: Option<PyReadonlyArrayDyn<'py, bool>>,
        columns: Vec<(String, PyReadonlyArrayDyn<'py, f64>)>,
        constraint: &Bound<'py, PyAny>,
        own: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Decision> {
        let catalogue = catalogue.get();
        let offer = Offer::new(eligible.as_ref(), &columns)?;
        let (round, core) = (Round::new(seed, t), self.now());
        let oracle = AnyOracle::new(constraint)?;
        if let Some(policy) = own {
            return own::choose(py, &core, round, || offer.of(&catalogue.inner), &oracle, policy);
        }
        let inner = oracle
            .with(py, |oracle| core.choose_from(&catalogue.inner, round, &offer.of(&catalogue.inner)?, oracle))?;
        let rows = catalogue.rows(&inner);
        Ok(Decision::new(inner, rows))
    }

    /// As `scores`, of the arms of a catalogue.
    fn scores_from<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        t: u64,
        catalogue: &Bound<'py, Catalogue>,
        own: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (round, core, catalogue) = (Round::new(seed, t), self.now(), &catalogue.get().inner);
        let scores = match own {
            Some(policy) => own::scores(py, &core, round, || Ok(catalogue.arms()), policy)?,
            None => detach(py, || core.scores(round, &catalogue.arms())).map_err(|error| raise(py, &error))?,
        };
        by_block(py, &core, scores)
    }

    /// As `choose`, from sparse rows; `holder` has one placeholder per row in place of features.
    fn choose_sparse<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        t: u64,
        x: Csr<'py>,
        holder: Matrix<'py>,
        ids: Option<Ids<'py>>,
        eligible: Option<PyReadonlyArrayDyn<'py, bool>>,
        columns: Vec<(String, PyReadonlyArrayDyn<'py, f64>)>,
        constraint: &Bound<'py, PyAny>,
    ) -> PyResult<Decision> {
        let (rows, given) = (x.lend()?, Given { x: holder, ids, eligible, columns });
        let oracle = AnyOracle::new(constraint)?;
        sparse::choose(py, &self.now(), Round::new(seed, t), &rows, &given.lend()?, &oracle)
    }

    /// As `scores`, of sparse rows.
    fn scores_sparse<'py>(
        &self,
        py: Python<'py>,
        seed: u64,
        t: u64,
        x: Csr<'py>,
        holder: Matrix<'py>,
        ids: Option<Ids<'py>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (rows, given) = (x.lend()?, Given { x: holder, ids, eligible: None, columns: Vec::new() });
        let (core, lent) = (self.now(), given.lend()?);
        let scores = detach(py, || sparse::scores(&core, Round::new(seed, t), &rows, &lent));
        by_block(py, &core, scores.map_err(|error| raise(py, &error))?)
    }

    /// Everything that the scores of a round depend on.
    fn freeze(&self, py: Python<'_>, seed: u64, t: u64) -> PyResult<Frozen> {
        let core = self.now();
        let frozen = detach(py, || core.freeze(Round::new(seed, t)));
        frozen.map(|inner| Frozen { inner }).map_err(|error| raise(py, &error))
    }

    /// What the policy would choose by itself in a round.
    fn auto(&self, py: Python<'_>, seed: u64, t: u64) -> PyResult<Option<BTreeMap<&'static str, f64>>> {
        let core = self.now();
        let found = detach(py, || core.auto(Round::new(seed, t)));
        found.map(|auto| auto.map(named)).map_err(|error| raise(py, &error))
    }

    fn learn(&self, decision: &Bound<'_, Decision>, rewards: &Bound<'_, PyAny>) -> PyResult<()> {
        self.book(decision, rewards, Core::learn)
    }

    fn correct(&self, decision: &Bound<'_, Decision>, rewards: &Bound<'_, PyAny>) -> PyResult<()> {
        self.book(decision, rewards, Core::correct)
    }

    fn unlearn(&self, decision: &Bound<'_, Decision>, rewards: &Bound<'_, PyAny>) -> PyResult<()> {
        self.book(decision, rewards, Core::unlearn)
    }

    /// Observations of round `t`. A weight w is an observation of sqrt(w) x with sqrt(w) r: it adds w x x' and w r x.
    fn observe<'py>(
        &self,
        py: Python<'py>,
        t: u64,
        x: X<'py>,
        rewards: PyReadonlyArray1<'py, f64>,
        blocks: Option<Vec<u32>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<()> {
        let x = x.matrix()?;
        let (features, dim) = x.lend()?;
        let rows = match features {
            Features::F32(x) => x.len(),
            Features::F64(x) => x.len(),
        } / dim.max(1);
        let seen = Seen::new(t, rows, &rewards, blocks, weights.as_ref())?;
        let learn = |core: &mut Core<AnyPolicy>, rows: Range<usize>| {
            let (first, numbers) = (rows.start, rows.start * dim..rows.end * dim);
            let x = match features {
                Features::F32(x) => Features::F32(&x[numbers]),
                Features::F64(x) => Features::F64(&x[numbers]),
            };
            seen.learn(core, rows, x, dim).map_err(|error| sparse::counted_from(first, error))
        };
        // A slice takes some milliseconds, and its rows stay in the cache from the check to the sums.
        let slice = (SLICE / (dim * dim).max(1)).clamp(1, 1 << 12);
        if rows <= slice {
            return self.change(py, |core| learn(core, 0..rows));
        }
        // In slices, on a copy, which takes the learner's place at the end: Ctrl-C or a bad row leaves it as it was, and a
        // fork waits for no more than a slice.
        let all = AtomicBool::new(false);
        let learned = interruptible(py, |stop| {
            loop {
                let before = enter(|| self.now());
                let mut copy = Core::clone(&before);
                for from in (0..rows).step_by(slice) {
                    if stop.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    enter(|| learn(&mut copy, from..rows.min(from + slice)))?;
                }
                // If another thread has learned something meanwhile, that stays, and these rows come after it.
                let is_in = enter(|| {
                    let mut held = self.lock();
                    let is_same = Arc::ptr_eq(&held, &before);
                    if is_same {
                        *held = Arc::new(copy);
                    }
                    is_same
                });
                if is_in {
                    all.store(true, Ordering::Relaxed);
                    return Ok(());
                }
            }
        });
        if let Err(signal) = &learned
            && all.load(Ordering::Relaxed)
        {
            signal.value(py).call_method1("add_note", ("all rows had been learned by then",))?;
        }
        learned?.map_err(|error: Error| raise(py, &error))
    }

    /// As `observe`, of sparse rows.
    fn observe_sparse<'py>(
        &self,
        py: Python<'py>,
        t: u64,
        x: Csr<'py>,
        rewards: PyReadonlyArray1<'py, f64>,
        blocks: Option<Vec<u32>>,
        weights: Option<PyReadonlyArray1<'py, f64>>,
    ) -> PyResult<()> {
        let rows = x.lend()?;
        let seen = Seen::new(t, rows.len(), &rewards, blocks, weights.as_ref())?;
        self.change(py, |core| {
            // Parts are learned one after the other, so all of it is learned by a copy first: an error changes nothing.
            let mut learned = core.clone();
            rows.parts(|part, x| seen.learn(&mut learned, part, x, rows.dim()))?;
            *core = learned;
            Ok(())
        })
    }

    fn merge(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        let other = other.get().now();
        self.change(py, |core| core.merge(&other))
    }

    fn forget(&self, py: Python<'_>, factor: f64) -> PyResult<()> {
        self.change(py, |core| core.forget(factor))
    }

    fn close_before(&self, py: Python<'_>, t: u64) -> PyResult<()> {
        self.change(py, |core| {
            core.close_before(t);
            Ok(())
        })
    }

    /// theta_hat of all blocks, one row each.
    fn theta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.per_block(py, |posterior| posterior.theta_hat().to_vec())
    }

    /// The standard errors of theta_hat for noise of standard deviation 1.
    fn stderr<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.per_block(py, |posterior| posterior.standard_errors(1.0))
    }

    fn to_json(&self, py: Python<'_>, seed: u64, t: u64) -> PyResult<String> {
        let core = self.now();
        detach(py, || core.to_json_with(Some(Round::new(seed, t)))).map_err(|error| raise(py, &error))
    }

    /// The learner, and the seed and round to continue with, if the file has them.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<(Self, Option<(u64, u64)>)> {
        let read = detach(py, || Core::from_json_with(text));
        let (core, next) = read.map_err(|error| raise(py, &error))?;
        Ok((Self::of(core), next.map(|next| (next.seed, next.t))))
    }
}

impl Learner {
    fn per_block<'py>(
        &self,
        py: Python<'py>,
        values: impl Fn(&armwise::Posterior) -> Vec<f64> + Send,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let core = self.now();
        let (dim, blocks) = (core.model().dim(), core.model().blocks().len());
        let made = detach(py, || -> Result<Vec<f64>, Error> {
            let posteriors = (0..blocks as u32).map(|block| core.posterior(block)).collect::<Result<Vec<_>, _>>()?;
            Ok(posteriors.iter().flat_map(values).collect())
        });
        PyArray1::from_vec(py, made.map_err(|error| raise(py, &error))?).reshape([blocks, dim])
    }
}

/// What came with rows that are learned without a decision.
struct Seen<'a> {
    t: u64,
    rewards: &'a [f64],
    blocks: Option<Vec<u32>>,
    weights: Option<&'a [f64]>,
}

impl<'a> Seen<'a> {
    fn new(
        t: u64,
        rows: usize,
        rewards: &'a PyReadonlyArray1<'_, f64>,
        blocks: Option<Vec<u32>>,
        weights: Option<&'a PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let rewards = rewards.as_slice()?;
        let weights = weights.map(|weights| weights.as_slice()).transpose()?;
        let counts = [Some(rewards.len()), blocks.as_ref().map(Vec::len), weights.map(<[f64]>::len)];
        for (what, found) in ["rewards", "blocks", "sample_weight"].iter().zip(counts) {
            if let Some(found) = found.filter(|&found| found != rows) {
                return Err(PyValueError::new_err(format!("{what}: expected {rows}, found {found}")));
            }
        }
        if let Some((row, weight)) =
            weights.into_iter().flatten().enumerate().find(|(_, w)| !(w.is_finite() && **w >= 0.0))
        {
            let text = format!("sample_weight at row {row} is {weight}: must be a finite number of at least 0");
            return Err(PyValueError::new_err(text));
        }
        Ok(Self { t, rewards, blocks, weights })
    }

    /// Learns these rows, whose features are given. A row in an error is counted from the first of them.
    fn learn(&self, core: &mut Core<AnyPolicy>, rows: Range<usize>, x: Features<'_>, dim: usize) -> Result<(), Error> {
        let root = |row: usize| self.weights.map_or(1.0, |weights| weights[row].sqrt());
        let mut values = match x {
            Features::F32(x) => x.iter().map(|&x| f64::from(x)).collect(),
            Features::F64(x) if self.weights.is_some() => x.to_vec(),
            Features::F64(_) => Vec::new(),
        };
        if self.weights.is_some() {
            let weighed = values.chunks_exact_mut(dim).zip(rows.clone());
            weighed.for_each(|(x, row)| x.iter_mut().for_each(|x| *x *= root(row)));
        }
        let x = match x {
            Features::F64(x) if self.weights.is_none() => x,
            _ => &values,
        };
        let see = |(x, row): (_, usize)| {
            let block = self.blocks.as_ref().map_or(0, |blocks| blocks[row]);
            Observation { t: self.t, block, x, reward: self.rewards[row] * root(row) }
        };
        core.observe(&x.chunks_exact(dim.max(1)).zip(rows).map(see).collect::<Vec<_>>())
    }
}

/// Scores as a matrix, with a column for each block.
fn by_block<'py>(py: Python<'py>, core: &Core<AnyPolicy>, scores: Vec<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let blocks = core.model().blocks().len();
    let rows = scores.len() / blocks;
    PyArray1::from_vec(py, scores).reshape([rows, blocks])
}
