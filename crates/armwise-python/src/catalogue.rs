//! A catalogue: arms that are offered again every round, kept by the library between rounds.
//!
//! The catalogue owns its features, so a choice from it passes only the mask and the columns of the round.

use armwise::{Arms, Column, Error, Keys};
use numpy::PyReadonlyArrayDyn;
use pyo3::prelude::*;

use crate::{
    errors::raise,
    gate::detach,
    given::{Given, Ids, X},
};

/// Arms that are chosen from again and again.
#[pyclass(frozen)]
pub(crate) struct Catalogue {
    pub(crate) inner: armwise::Catalogue,
    /// (id, row), ascending; empty where an id is a row number.
    places: Vec<(u64, usize)>,
}

#[pymethods]
impl Catalogue {
    #[new]
    fn new(py: Python<'_>, x: X<'_>, ids: Option<Ids<'_>>) -> PyResult<Self> {
        let named = ids.is_some();
        let given = Given { x: x.matrix()?, ids, eligible: None, columns: Vec::new() };
        let lent = given.lend()?;
        let made = detach(py, || {
            let arms = lent.arms()?;
            let mut places: Vec<(u64, usize)> =
                (0..arms.len()).filter(|_| named).map(|row| (arms.id(row), row)).collect();
            places.sort_unstable();
            Ok(Self { inner: armwise::Catalogue::new(&arms)?, places })
        });
        made.map_err(|error| raise(py, &error))
    }

    fn __len__(&self) -> usize {
        self.inner.arms().len()
    }

    #[getter]
    fn dim(&self) -> usize {
        self.inner.arms().dim()
    }
}

impl Catalogue {
    /// The rows of the chosen arms.
    pub(crate) fn rows(&self, decision: &armwise::Decision) -> Vec<usize> {
        let keys: Keys<'_> = self.inner.arms().keys();
        let row = |arm: &armwise::ChosenArm| {
            if self.places.is_empty() {
                return arm.id as usize;
            }
            let first = self.places.partition_point(|&(id, _)| id < arm.id);
            let mut same = self.places[first..].iter().take_while(|&&(id, _)| id == arm.id);
            same.find(|&&(_, row)| keys.name(row) == arm.name.as_deref()).map_or(usize::MAX, |&(_, row)| row)
        };
        decision.arms.iter().map(row).collect()
    }
}

/// The mask and the columns of a round, as Python gives them.
pub(crate) struct Offer<'a> {
    eligible: Option<&'a [bool]>,
    columns: Vec<Column<'a>>,
}

impl<'a> Offer<'a> {
    pub(crate) fn new(
        eligible: Option<&'a PyReadonlyArrayDyn<'_, bool>>,
        columns: &'a [(String, PyReadonlyArrayDyn<'_, f64>)],
    ) -> PyResult<Self> {
        let eligible = eligible.map(|mask| mask.as_slice()).transpose()?;
        let column = |(name, values): &'a (String, PyReadonlyArrayDyn<'_, f64>)| {
            Ok(Column { name: name.as_str(), values: values.as_slice()? })
        };
        Ok(Self { eligible, columns: columns.iter().map(column).collect::<PyResult<_>>()? })
    }

    /// The arms of the catalogue with this mask and these columns.
    pub(crate) fn of(&'a self, catalogue: &'a armwise::Catalogue) -> Result<Arms<'a>, Error> {
        let arms = catalogue.arms();
        let arms = match self.eligible {
            Some(eligible) => arms.with_eligible(eligible)?,
            None => arms,
        };
        arms.with_columns(&self.columns)
    }
}
