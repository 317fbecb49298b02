//! What an algorithm says about itself: all that a surface needs to offer it, check it, tune it and draw it.
//!
//! Each algorithm's own file holds its description, and [`Algorithm::ALL`](super::Algorithm::ALL) lists them. Ranges
//! are written here and nowhere else; defaults are serde's, too, and a test compares the two.

use super::Schedule;
use crate::error::{Error, non_negative, positive};

/// What there is to know about an algorithm without running it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Description {
    /// Its name in TOML, in JSON and on the command line.
    pub name: &'static str,
    /// Its name in tables and figures, as the paper writes it.
    pub title: &'static str,
    /// Its class in Python.
    pub class: &'static str,
    /// How it explores, in a few words.
    pub about: &'static str,
    /// The score of an arm.
    pub formula: &'static str,
    /// Where its randomness enters.
    pub randomness: Randomness,
    /// Whether its scores need the width of every arm, which is most of the work.
    pub uses_width: bool,
    /// Whether it takes one arm after another, so that scores change within a round; only `top-k` and `quotas` allow
    /// that.
    pub in_turn: bool,
    /// Its parameters that are numbers, in the order of its fields.
    pub parameters: &'static [Parameter],
    /// Its other parameters, in the order of its fields.
    pub switches: &'static [Switch],
}

/// A parameter of an algorithm that is a word, or a table with one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Switch {
    /// Its name on every surface.
    pub name: &'static str,
    /// The word that it is if it is left out.
    pub default: &'static str,
    /// All that may be given, as in TOML.
    pub values: &'static str,
    /// What it says, and what may be given, in Python.
    pub about: &'static str,
}

/// Where the randomness of an algorithm enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Randomness {
    /// Nowhere, once something has been learned.
    None,
    /// In the direction, shared by all arms of a round.
    PerRound,
    /// In the bonus: every arm has its own draw.
    PerArm,
}

/// A parameter of an algorithm.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its name on every surface.
    pub name: &'static str,
    /// As the paper writes it.
    pub symbol: &'static str,
    /// The values it may have.
    pub range: Range,
    /// Its value if it is left out.
    pub default: f64,
    /// What may be given.
    pub kind: Kind,
    /// Whether the lab tries a grid of values.
    pub tuned: bool,
}

/// The values that a parameter may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Above 0.
    Positive,
    /// At least 0.
    NonNegative,
}

/// What may be given for a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// A number, or `"auto"`.
    Lambda,
    /// A number, `"auto"`, or a table of what the [theory](super::Theory) needs to know.
    Schedule {
        /// Whether the theory needs the number of rounds.
        rounds: bool,
        /// Whether the theory needs the number of arms.
        n: bool,
    },
}

impl Description {
    /// The parameters that the lab tries a grid of values for.
    pub fn tuned(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters.iter().filter(|parameter| parameter.tuned)
    }

    /// The parameter of that name.
    ///
    /// # Errors
    /// [`Error::UnknownParameter`] that lists the parameters there are.
    pub fn parameter(&self, name: &str) -> Result<&'static Parameter, Error> {
        self.parameters.iter().find(|parameter| parameter.name == name).ok_or_else(|| Error::UnknownParameter {
            algorithm: self.name,
            name: name.to_owned(),
            known: self.names().collect(),
        })
    }

    /// The names of all parameters, those that are numbers first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let switches = self.switches.iter().map(|switch| switch.name);
        self.parameters.iter().map(|parameter| parameter.name).chain(switches)
    }

    /// The switch of that name.
    #[must_use]
    pub fn switch(&self, name: &str) -> Option<&'static Switch> {
        self.switches.iter().find(|switch| switch.name == name)
    }

    /// Refuses values, one per parameter and in their order, that are outside their ranges.
    pub(super) fn check(&self, values: &[Schedule]) -> Result<(), Error> {
        debug_assert_eq!(values.len(), self.parameters.len(), "{}", self.name);
        self.parameters.iter().zip(values).try_for_each(|(parameter, value)| match (value, parameter.kind) {
            (Schedule::Theory(theory), Kind::Schedule { rounds, n }) => theory.validate(rounds, n),
            (Schedule::Auto, Kind::Lambda | Kind::Schedule { .. }) => Ok(()),
            (Schedule::Theory(_) | Schedule::Auto, _) => parameter.range.check(parameter.name, f64::NAN),
            (Schedule::Constant(value), _) => parameter.range.check(parameter.name, *value),
        })
    }
}

impl Range {
    /// Refuses a value outside the range, by the parameter's name.
    ///
    /// # Errors
    /// [`Error::Parameter`].
    pub fn check(self, name: &'static str, value: f64) -> Result<(), Error> {
        match self {
            Self::Positive => positive(name, value),
            Self::NonNegative => non_negative(name, value),
        }
    }
}

impl Parameter {
    const fn new(name: &'static str, symbol: &'static str, range: Range) -> Self {
        Self { name, symbol, range, default: 1.0, kind: Kind::Number, tuned: true }
    }

    /// A number above 0.
    pub(super) const fn positive(name: &'static str, symbol: &'static str) -> Self {
        Self::new(name, symbol, Range::Positive)
    }

    /// A number of at least 0.
    pub(super) const fn non_negative(name: &'static str, symbol: &'static str) -> Self {
        Self::new(name, symbol, Range::NonNegative)
    }

    /// alpha_t or v_t, by default 0.1 (docs/which-algorithm.md says why), with what the theory needs beside r, s, delta and k.
    pub(super) const fn schedule(name: &'static str, symbol: &'static str, rounds: bool, n: bool) -> Self {
        Self { kind: Kind::Schedule { rounds, n }, default: 0.1, ..Self::new(name, symbol, Range::NonNegative) }
    }

    /// The same, but the lab leaves it at its default.
    pub(super) const fn untuned(self) -> Self {
        Self { tuned: false, ..self }
    }
}

/// The ridge of V = lambda I + G.
pub(super) const LAMBDA: Parameter = Parameter { kind: Kind::Lambda, ..Parameter::positive("lambda", "λ") };
/// The prior variance of a Bayesian linear model.
pub(super) const LAMBDA2: Parameter = Parameter { default: 0.01, ..Parameter::positive("lambda2", "λ²") };
/// The noise variance of a Bayesian linear model.
pub(super) const SIGMA2: Parameter = Parameter { default: 0.01, ..Parameter::positive("sigma2", "σ²") };
/// Who shares the draws.
pub(super) const SCOPE: Switch = Switch {
    name: "scope",
    default: "own",
    values: "\"own\", \"shared\", { mixed = 0.5 }, { group = \"column\" }, { best-of = 10 } or { best-of = { k = 100 } }",
    about: "who shares a draw, \"own\", \"shared\", {\"mixed\": 0.5}, {\"group\": column}, {\"best-of\": 10 or {\"k\": 100}}",
};
/// Whether the noise of the rewards is known.
pub(super) const NOISE: Switch = Switch {
    name: "noise",
    default: "known",
    values: "\"known\" or \"estimated\"",
    about: "\"known\", or \"estimated\": v is then a multiple of the noise, and draws have Student's law",
};
