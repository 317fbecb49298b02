//! Which policy a learner has: one of the library's, or one written in Python.
//!
//! A policy written in Python is only a ridge here. Its scores are made in `own.rs`, and its
//! files can be read by its own class only.

use armwise::{Algorithm, Auto, Bonus, Constraint, Context, Error, InTurn, Lambda, Policy, Scope};
use pyo3::{exceptions::PyValueError, prelude::*};
use serde::{Deserialize, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use crate::errors::{bad_json, raise};

/// The name under which a policy written in Python is saved.
const OWN: &str = "own";

/// A policy as a learner has it.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) enum AnyPolicy {
    /// One of the library's.
    Algorithm(Algorithm),
    /// One written in Python, with this ridge.
    Own {
        /// lambda.
        ridge: f64,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    name: String,
    lambda: f64,
}

impl TryFrom<Value> for AnyPolicy {
    type Error = serde_json::Error;

    fn try_from(value: Value) -> Result<Self, serde_json::Error> {
        if value["name"] == OWN {
            return Ok(Self::Own { ridge: serde_json::from_value::<Own>(value)?.lambda });
        }
        // The library's own words for a name that is not known.
        Algorithm::describe(value["name"].as_str().unwrap_or_default()).map_err(serde_json::Error::custom)?;
        Ok(Self::Algorithm(serde_json::from_value(value)?))
    }
}

/// Serialised exactly as the algorithm, since the checksum of a file depends on the order of the fields.
impl Serialize for AnyPolicy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Algorithm(algorithm) => algorithm.serialize(serializer),
            Self::Own { ridge } => Own { name: OWN.to_owned(), lambda: *ridge }.serialize(serializer),
        }
    }
}

impl AnyPolicy {
    pub(crate) fn from_json(text: &str) -> PyResult<Self> {
        let value: Value = serde_json::from_str(text).map_err(|error| bad_json("a policy", error))?;
        Self::try_from(value).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    pub(crate) fn to_json(self) -> PyResult<String> {
        serde_json::to_string(&self).map_err(|error| bad_json("a policy", error))
    }

    /// The algorithm; an error for a policy written in Python.
    pub(crate) fn algorithm(self) -> PyResult<Algorithm> {
        match self {
            Self::Algorithm(algorithm) => Ok(algorithm),
            Self::Own { .. } => Err(PyValueError::new_err("a policy written in Python cannot be used here")),
        }
    }
}

impl Policy for AnyPolicy {
    fn ridge(&self) -> f64 {
        match self {
            Self::Algorithm(algorithm) => algorithm.ridge(),
            Self::Own { ridge } => *ridge,
        }
    }

    fn lambda(&self) -> Lambda {
        match self {
            Self::Algorithm(algorithm) => algorithm.lambda(),
            Self::Own { ridge } => (*ridge).into(),
        }
    }

    fn estimates(&self) -> bool {
        matches!(self, Self::Algorithm(algorithm) if algorithm.estimates())
    }

    fn auto(&self, at: &Context<'_>) -> Option<Auto> {
        match self {
            Self::Algorithm(algorithm) => algorithm.auto(at),
            Self::Own { .. } => None,
        }
    }

    fn direction(&self, at: &Context<'_>) -> Vec<f64> {
        match self {
            Self::Algorithm(algorithm) => algorithm.direction(at),
            Self::Own { .. } => at.posterior.theta_hat().to_vec(),
        }
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        match self {
            Self::Algorithm(algorithm) => algorithm.bonus(at),
            Self::Own { .. } => Bonus::none(),
        }
    }

    fn in_turn(&self, at: &Context<'_>) -> Option<InTurn> {
        match self {
            Self::Algorithm(algorithm) => algorithm.in_turn(at),
            Self::Own { .. } => None,
        }
    }

    fn scope(&self) -> Scope {
        match self {
            Self::Algorithm(algorithm) => algorithm.scope(),
            Self::Own { .. } => Scope::Own,
        }
    }

    fn validate(&self) -> Result<(), Error> {
        match self {
            Self::Algorithm(algorithm) => algorithm.validate(),
            Self::Own { ridge } if ridge.is_finite() && *ridge > 0.0 => Ok(()),
            Self::Own { ridge } => {
                Err(Error::Parameter { name: "lambda", value: *ridge, must: "a finite number above 0" })
            }
        }
    }
}

/// What to know before an algorithm chooses under a constraint.
#[pyfunction]
pub(crate) fn caution(algorithm: &str, constraint: &str) -> PyResult<Option<&'static str>> {
    let constraint: Constraint = serde_json::from_str(constraint).map_err(|error| bad_json("a constraint", error))?;
    Ok(match AnyPolicy::from_json(algorithm)? {
        AnyPolicy::Algorithm(algorithm) => constraint.caution(&algorithm),
        AnyPolicy::Own { .. } => None,
    })
}

/// Numbers for texts, equal ones for equal texts.
#[pyfunction]
pub(crate) fn numbers_of(texts: Vec<String>) -> Vec<f64> {
    texts.iter().map(|text| armwise::number_of(text)).collect()
}

/// Refuses an algorithm with a parameter outside its range.
#[pyfunction]
pub(crate) fn check_algorithm(py: Python<'_>, algorithm: &str) -> PyResult<()> {
    AnyPolicy::from_json(algorithm)?.validate().map_err(|error| raise(py, &error))
}
