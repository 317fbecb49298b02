//! The scope of an arm's random number: who shares it.
//!
//! The paper draws for every arm by itself. Where a super arm is made of many arms that must be taken together, such
//! draws cancel out, and a better set may never be tried (docs/which-algorithm.md); numbers that arms share do not
//! cancel. Every scope keeps `score(i) = direction . x(i) + bonus(i)`, and `own` keeps the draws of rounds that were
//! chosen before there were others: the others have streams of their own.

use super::Draw;
use crate::error::{Error, check};
use crate::random::{LARGEST, Student, best_normal, best_uniform};
use crate::theory::optimistic;
use crate::{Draws, Keys, Round, Stream};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who shares the random number of an arm's bonus, Z(i) of [`Draw`].
///
/// In TOML and JSON `"own"`, `"shared"`, `{ mixed = 0.5 }`, `{ group = "region" }`, `{ best-of = 10 }` or
/// `{ best-of = { k = 100 } }`.
///
/// # Formula
/// ```text
/// own          Z(i) = z(i)                                        one for each arm (the paper)
/// shared       Z(i) = z_t                                         one for all arms of the round, in all blocks
/// mixed rho    Z(i) = sqrt(rho) z_t + sqrt(1 - rho) z(i)          correlation rho between arms
/// group        Z(i) = z(g(i))                                     one for all arms with the same value in a column
/// best-of M    Z(i) = the largest of M draws of the arm's own     by one uniform number: F^-1(U(i)^(1/M))
/// ```
/// Where Z is uniform in [0, 1) (PC2UCB), `mixed` makes the normal number above and takes its place in the normal
/// law, so that Z stays uniform; the correlation is then (6 / pi) arcsin(rho / 2).
///
/// # Reference
/// Own: Algorithms 1 and 2, double boxes. Shared: Vaswani et al., "Old dog learns new tricks: randomized UCB" (2020),
/// coupled. Best of M: optimistic sampling, as in Aouali et al. (2023); M = ceil(1 - ln k / ln(1 - p)) draws, with p of
/// Lemma 8, are enough for k arms.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Every arm has its own.
    #[default]
    Own,
    /// All arms of the round have the same.
    Shared,
    /// A share rho of the variance is common to all arms, 0 <= rho <= 1.
    Mixed(f64),
    /// Arms with the same value in this column of numbers have the same.
    Group(ColumnName),
    /// Every arm has the largest of several of its own.
    BestOf(BestOf),
}

/// How many draws an arm has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a whole number of draws, or a table with `k`")]
pub enum BestOf {
    /// This many, at least 1.
    Draws(u32),
    /// As many as a super arm of up to k arms needs.
    Enough {
        /// The most arms that a round chooses.
        k: usize,
    },
}

impl BestOf {
    /// M.
    #[must_use]
    #[expect(clippy::cast_sign_loss, reason = "k is at least 1, so that the number is at least 1")]
    pub fn draws(self) -> u32 {
        match self {
            Self::Draws(draws) => draws,
            Self::Enough { k } => (1.0 - libm::log(k as f64) / libm::log1p(-optimistic())).ceil() as u32,
        }
    }
}

impl Scope {
    /// The scope in which look-alikes move together, by a column of the arms.
    ///
    /// # Errors
    /// [`Error::Constraint`] for a name that is empty or longer than 63 bytes.
    pub fn group(column: &str) -> Result<Self, Error> {
        Ok(Self::Group(ColumnName::new(column)?))
    }

    /// Whether it is the paper's.
    #[must_use]
    pub fn is_own(&self) -> bool {
        *self == Self::Own
    }

    /// Whether every arm has one plain draw of its own: the paper's scope, and what has the same law, mixed 0 and the
    /// best of 1. A `group` may come to the same, where every arm has a value of its own, which only the arms tell.
    #[must_use]
    pub fn draws_alone(&self) -> bool {
        match *self {
            Self::Own => true,
            Self::Mixed(rho) => rho == 0.0,
            Self::BestOf(of) => of.draws() == 1,
            Self::Shared | Self::Group(_) => false,
        }
    }

    /// The column that tells which arms share a number.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Group(column) => Some(column.as_str()),
            _ => None,
        }
    }

    pub(super) fn validate(&self) -> Result<(), Error> {
        match *self {
            Self::Mixed(rho) => check("scope.mixed", rho, (0.0..=1.0).contains(&rho), "from 0 to 1"),
            Self::BestOf(BestOf::Draws(draws)) => {
                check("scope.best-of", f64::from(draws), draws > 0, "a whole number of at least 1")
            }
            Self::BestOf(BestOf::Enough { k }) => check("scope.best-of.k", k as f64, k > 0, "at least 1"),
            Self::Own | Self::Shared | Self::Group(_) => Ok(()),
        }
    }

    /// No Z(i) is larger than this.
    pub(crate) fn largest(&self, draw: Draw) -> f64 {
        match (draw, self) {
            (Draw::None, _) => 0.0,
            (Draw::Uniform, _) => 1.0,
            (Draw::Student { freedom }, _) => Student::new(freedom).at(self.largest(Draw::Normal)) * (1.0 + 1e-9),
            (Draw::Normal, Self::Mixed(_)) => std::f64::consts::SQRT_2 * LARGEST,
            (Draw::Normal, Self::BestOf(of)) => best_normal(0, of.draws()) * (1.0 + 1e-9),
            (Draw::Normal, _) => LARGEST,
        }
    }
}

/// The name of a column, up to 63 bytes, so that an algorithm stays a plain value.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ColumnName {
    bytes: [u8; 63],
    len: u8,
}

impl ColumnName {
    /// A name that is not empty.
    ///
    /// # Errors
    /// [`Error::Constraint`] for one that is empty or longer than 63 bytes.
    pub fn new(name: &str) -> Result<Self, Error> {
        let mut bytes = [0; 63];
        match (bytes.get_mut(..name.len()), u8::try_from(name.len())) {
            (Some(place), Ok(len @ 1..)) => {
                place.copy_from_slice(name.as_bytes());
                Ok(Self { bytes, len })
            }
            _ => Err(Error::Constraint(format!("scope.group = {name:?}: a column's name has 1 to 63 bytes"))),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..usize::from(self.len)]).unwrap_or_default()
    }
}

impl fmt::Debug for ColumnName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl TryFrom<String> for ColumnName {
    type Error = Error;

    fn try_from(name: String) -> Result<Self, Error> {
        Self::new(&name)
    }
}

impl From<ColumnName> for String {
    fn from(name: ColumnName) -> Self {
        name.as_str().to_owned()
    }
}

/// The random numbers of a block's arms, by their keys: ids, or in the scope of a group the bits of its values.
#[derive(Debug)]
pub(crate) struct Drawn {
    draw: Draw,
    scope: Scope,
    own: Draws,
    /// z_t, or U_t.
    common: f64,
    /// The law in which a normal number gives its place, where Z has Student's.
    student: Option<Student>,
}

impl Drawn {
    pub(crate) fn new(draw: Draw, scope: Scope, round: Round, block: u32) -> Self {
        let own = match scope {
            Scope::Group(_) => round.draws(0, Stream::GROUP),
            Scope::BestOf(_) => round.draws(block, Stream::BEST),
            Scope::Own | Scope::Shared | Scope::Mixed(_) => round.draws(block, Stream::BONUS),
        };
        let shared = round.draws(0, Stream::SHARED);
        let normal = draw != Draw::Uniform || matches!(scope, Scope::Mixed(_));
        let student = if let Draw::Student { freedom } = draw { Some(Student::new(freedom)) } else { None };
        Self { draw, scope, own, common: if normal { shared.normal(0) } else { shared.uniform(0) }, student }
    }

    /// Z, where it is the same for all arms; 0 where there is none.
    pub(crate) fn constant(&self) -> Option<f64> {
        match (self.draw, self.scope) {
            (Draw::None, _) => Some(0.0),
            (_, Scope::Shared) => Some(self.student.as_ref().map_or(self.common, |law| law.at(self.common))),
            _ => None,
        }
    }

    /// Whether the key of an arm is its id.
    pub(crate) fn is_by_id(&self) -> bool {
        self.scope.column().is_none()
    }

    /// The keys of all rows.
    pub(crate) fn keys_into(&self, keys: Keys<'_>, out: &mut Vec<u64>) {
        match self.scope.column().and_then(|name| keys.column(name)) {
            None => keys.ids_into(out),
            Some((values, per_row)) => {
                out.clear();
                out.extend(values.iter().step_by(per_row).map(|&value| key_of(value)));
            }
        }
    }

    /// The keys of some rows.
    pub(crate) fn keys_of_rows(&self, keys: Keys<'_>, rows: impl Iterator<Item = usize>, out: &mut Vec<u64>) {
        match self.scope.column().and_then(|name| keys.column(name)) {
            None => keys.ids_of_rows(rows, out),
            Some((values, per_row)) => {
                out.clear();
                out.extend(rows.map(|row| key_of(values[row * per_row])));
            }
        }
    }

    /// Refuses rows without the column that the scope names, or with other than one number to a row.
    pub(crate) fn check(&self, keys: Keys<'_>) -> Result<(), Error> {
        let Some(name) = self.scope.column() else { return Ok(()) };
        match keys.column(name) {
            Some((_, 1)) => Ok(()),
            Some((_, found)) => {
                Err(Error::Dimension { what: "values of the scope's column per row", expected: 1, found })
            }
            None => Err(Error::UnknownColumn {
                column: name.to_owned(),
                attached: keys.column_names().collect::<Vec<_>>().join(", "),
            }),
        }
    }

    /// Whether there are numbers that Z does not exceed and that cost less than Z itself.
    pub(crate) fn has_ceilings(&self) -> bool {
        self.draw == Draw::Normal && matches!(self.scope, Scope::Own | Scope::Group(_))
    }

    /// Numbers that Z of the arms with these keys does not exceed, where [there are any](Self::has_ceilings).
    pub(crate) fn ceilings(&self, keys: &[u64], out: &mut [f32]) {
        self.own.ceilings(keys, out);
    }

    /// Z of the arms with these keys.
    pub(crate) fn fill(&self, keys: &[u64], out: &mut [f64]) {
        if let Some(common) = self.constant() {
            return out.fill(common);
        }
        match (self.draw, self.scope) {
            (Draw::Uniform, Scope::BestOf(of)) => {
                let draws = of.draws();
                out.iter_mut().zip(keys).for_each(|(out, &key)| *out = best_uniform(self.own.bits(key), draws));
            }
            (_, Scope::BestOf(of)) => {
                let draws = of.draws();
                out.iter_mut().zip(keys).for_each(|(out, &key)| *out = best_normal(self.own.bits(key), draws));
            }
            (draw, Scope::Mixed(rho)) => {
                self.own.normals(keys, out);
                let (common, own) = (rho.sqrt() * self.common, (1.0 - rho).sqrt());
                out.iter_mut().for_each(|z| *z = common + own * *z);
                if draw == Draw::Uniform {
                    out.iter_mut().for_each(|z| *z = below(*z));
                }
            }
            (Draw::Uniform, _) => self.own.uniforms(keys, out),
            (_, _) => self.own.normals(keys, out),
        }
        if let Some(law) = &self.student {
            out.iter_mut().for_each(|z| *z = law.at(*z));
        }
    }
}

/// The key of a group's value; -0 counts as 0.
fn key_of(value: f64) -> u64 {
    (value + 0.0).to_bits()
}

/// The probability that a standard normal number is below z.
fn below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_bad_ones_are_refused() {
        for scope in [
            Scope::Own,
            Scope::Shared,
            Scope::Mixed(0.25),
            Scope::group("région").expect("a name"),
            Scope::BestOf(BestOf::Draws(7)),
            Scope::BestOf(BestOf::Enough { k: 100 }),
        ] {
            let text = serde_json::to_string(&scope).expect("plain");
            assert_eq!(serde_json::from_str::<Scope>(&text).expect("its own text"), scope, "{text}");
        }
        assert_eq!(
            serde_json::to_string(&Scope::BestOf(BestOf::Enough { k: 9 })).expect("plain"),
            r#"{"best-of":{"k":9}}"#
        );
        assert!(Scope::group("").is_err() && Scope::group(&"x".repeat(64)).is_err());
        assert!(Scope::group(&"x".repeat(63)).is_ok());
        assert!(Scope::Mixed(1.1).validate().is_err() && Scope::Mixed(f64::NAN).validate().is_err());
        assert!(Scope::BestOf(BestOf::Draws(0)).validate().is_err());
    }

    /// p = 1 / (4 sqrt(e pi)) = 0.0856, so each further draw misses with probability 0.914.
    #[test]
    fn enough_draws_are_as_many_as_the_formula_says() {
        let draws = |k| BestOf::Enough { k }.draws();
        assert_eq!([draws(1), draws(10), draws(100), draws(10_000)], [1, 27, 53, 104]);
    }

    #[test]
    fn no_draw_is_beyond_the_largest() {
        for of in [1, 2, 53, 1_000_000] {
            let scope = Scope::BestOf(BestOf::Draws(of));
            let most = scope.largest(Draw::Normal);
            let bits = (0..64).map(|shift| u64::MAX >> shift).chain((0..64).map(|shift| 1 << shift)).chain([0]);
            for bits in bits {
                let (z, u) = (best_normal(bits, of), best_uniform(bits, of));
                assert!(z.is_finite() && z <= most && (0.0..=1.0).contains(&u), "{bits:x}: {z}, {u}, best of {of}");
            }
        }
    }
}
