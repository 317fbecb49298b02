//! The algorithms by name, as every surface (command line, TOML, Python, HTTP) uses them.
//!
//! In TOML and JSON an algorithm is one flat table, `name` and the parameters side by side; a parameter left out has
//! its default. The list itself is in `policy/mod.rs`. A macro makes the modules, the enum and the table of
//! descriptions from it: serde wants a name as a literal on each variant, which no function can give, and four
//! hand-kept copies of the list would drift apart.

/// Makes everything that follows from the list of algorithms, one line `"name" module::Type` for each.
macro_rules! algorithms {
    ($($name:literal $module:ident::$policy:ident),+ $(,)?) => {
        $(mod $module;)+

        /// The policies of the library.
        pub(crate) mod library {
            $(pub use super::$module::$policy;)+
        }
        use library::*;

        /// An algorithm with its parameters.
        ///
        /// # Example
        /// ```
        /// use armwise::Algorithm;
        /// let algorithm: Algorithm = serde_json::from_str(r#"{"name": "arm-wise-ts", "lambda": 1.0, "v": 0.1}"#)?;
        /// assert_eq!(algorithm, Algorithm::new("arm-wise-ts", &[("v", 0.1)])?);
        /// assert_eq!(algorithm.description().title, "Arm-wise TS");
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(tag = "name")]
        #[non_exhaustive]
        pub enum Algorithm {
            $(
                #[doc = concat!("`", $name, "`: see [`", stringify!($policy), "`].")]
                #[serde(rename = $name)]
                $policy($policy),
            )+
        }

        impl Algorithm {
            /// What each algorithm says about itself, in the paper's order.
            pub const ALL: &'static [&'static Description] = &[$(&$policy::DESCRIPTION),+];

            /// The names of all algorithms, in the paper's order.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// What the algorithm says about itself.
            #[must_use]
            pub fn description(&self) -> &'static Description {
                match self {
                    $(Self::$policy(_) => &$policy::DESCRIPTION,)+
                }
            }

            fn policy(&self) -> &dyn Policy {
                match self {
                    $(Self::$policy(policy) => policy,)+
                }
            }
        }
    };
}

use super::{Algorithm, Auto, Bonus, Context, Description, InTurn, Lambda, Policy, Scope};
use crate::Error;
use serde_json::{Map, Value};

impl Algorithm {
    /// The algorithm of that name with these parameters; those left out have their defaults.
    ///
    /// # Errors
    /// [`Error::UnknownAlgorithm`], [`Error::UnknownParameter`], [`Error::Parameter`] for a value outside its range.
    pub fn new(name: &str, parameters: &[(&str, f64)]) -> Result<Self, Error> {
        let parameters: Vec<(&str, Value)> = parameters
            .iter()
            .map(|&(given, value)| {
                let parameter = Self::describe(name)?.parameter(given)?;
                parameter.range.check(parameter.name, value)?;
                Ok((given, value.into()))
            })
            .collect::<Result<_, Error>>()?;
        Self::with(name, &parameters)
    }

    /// As [`new`](Self::new), with values of any kind, as they stand in JSON.
    ///
    /// # Errors
    /// As [`new`](Self::new), and [`Error::BadFormat`] for a value of the wrong kind.
    pub fn with(name: &str, parameters: &[(&str, Value)]) -> Result<Self, Error> {
        let description = Self::describe(name)?;
        let mut table = Map::from_iter([("name".to_owned(), Value::from(name))]);
        for (name, value) in parameters {
            if description.switch(name).is_none() {
                description.parameter(name)?;
            }
            table.insert((*name).to_owned(), value.clone());
        }
        let algorithm: Self =
            serde_json::from_value(table.into()).map_err(|error| Error::BadFormat(error.to_string()))?;
        algorithm.validate()?;
        Ok(algorithm)
    }

    /// What the algorithm of that name says about itself.
    ///
    /// # Errors
    /// [`Error::UnknownAlgorithm`] that lists the names there are.
    pub fn describe(name: &str) -> Result<&'static Description, Error> {
        let unknown = || Error::UnknownAlgorithm { name: name.to_owned(), known: Self::NAMES };
        Self::ALL.iter().copied().find(|description| description.name == name).ok_or_else(unknown)
    }

    /// The algorithm's name on every surface.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.description().name
    }
}

impl Policy for Algorithm {
    fn ridge(&self) -> f64 {
        self.policy().ridge()
    }

    fn lambda(&self) -> Lambda {
        self.policy().lambda()
    }

    fn estimates(&self) -> bool {
        self.policy().estimates()
    }

    fn auto(&self, at: &Context<'_>) -> Option<Auto> {
        self.policy().auto(at)
    }

    fn direction(&self, at: &Context<'_>) -> Vec<f64> {
        self.policy().direction(at)
    }

    fn bonus(&self, at: &Context<'_>) -> Bonus<'_> {
        self.policy().bonus(at)
    }

    fn in_turn(&self, at: &Context<'_>) -> Option<InTurn> {
        self.policy().in_turn(at)
    }

    fn scope(&self) -> Scope {
        self.policy().scope()
    }

    fn validate(&self) -> Result<(), Error> {
        self.policy().validate()
    }
}
