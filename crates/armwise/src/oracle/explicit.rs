//! The best of a list of super arms.
//!
//! Members are named by id (or name) and block, so the list means the same whatever the order
//! of the rows; sums are taken in the order of the selection, so equal super arms have equal sums to the bit.

use super::columns::each_eligible;
use super::{Infeasible, Oracle, Pick, Scores, Selection};
use crate::{Error, id_of};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// One of the listed super arms: the one with the largest sum of scores.
///
/// A super arm that holds an unknown or a forbidden arm is ignored. Ties between equal sums: the arms of each super arm
/// are sorted by the tie rule and compared one by one. At the first difference, the super arm with the preferred arm
/// wins; if one list is a prefix of the other, the shorter list wins.
///
/// # Formula
/// ```text
/// S_t = { I_1, ..., I_m }
/// ```
/// # Example
/// ```
/// use armwise::{Arms, Constraint, Oracle, Round, Scores, Ties};
/// let constraint: Constraint = serde_json::from_str(
///     r#"{"kind": "explicit", "super_arms": [[0, 1], [2], [{"id": 1, "block": 0}, 2]]}"#,
/// )?;
/// let arms = Arms::new(&[0.0; 3][..], 1)?;
/// let scores = Scores::new(&[0.5, 0.1, 0.7], 1, arms, Ties::ById, Round::new(1, 1))?;
/// assert_eq!(constraint.argmax(&scores)?.arms.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explicit {
    /// The super arms.
    pub super_arms: Vec<Vec<Member>>,
}

/// An arm of a listed super arm; without a block it is the arm in block 0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged, deny_unknown_fields, expecting = "expected an id, a name, or one of them with its `block`")]
pub enum Member {
    /// By id.
    Id(u64),
    /// By name.
    Name(String),
    /// By id, in a block.
    IdInBlock {
        /// The arm's id.
        id: u64,
        /// The arm's block.
        block: usize,
    },
    /// By name, in a block.
    NameInBlock {
        /// The arm's name.
        name: String,
        /// The arm's block.
        block: usize,
    },
}

impl Member {
    fn key(&self) -> (u64, Option<&str>, usize) {
        match self {
            Self::Id(id) => (*id, None, 0),
            Self::Name(name) => (id_of(name), Some(name), 0),
            Self::IdInBlock { id, block } => (*id, None, *block),
            Self::NameInBlock { name, block } => (id_of(name), Some(name), *block),
        }
    }
}

/// The rows of the named arms.
pub(super) struct Places<'s, 'a> {
    scores: &'s Scores<'a>,
    /// The rows of every named id; two rows may share an id where names hash alike.
    rows: HashMap<u64, Vec<usize>>,
}

impl<'s, 'a> Places<'s, 'a> {
    pub(super) fn of<'m>(members: impl Iterator<Item = &'m Member>, scores: &'s Scores<'a>) -> Self {
        let mut rows: HashMap<u64, Vec<usize>> = members.map(|member| (member.key().0, Vec::new())).collect();
        for row in 0..scores.len() {
            if let Some(rows) = rows.get_mut(&scores.keys().id(row)) {
                rows.push(row);
            }
        }
        Self { scores, rows }
    }

    /// The arm of one of the members; none if there is no such arm.
    pub(super) fn find(&self, member: &Member) -> Result<Option<Pick>, Error> {
        let (id, name, block) = member.key();
        let rows = self.rows.get(&id).map_or(&[][..], Vec::as_slice);
        let mut fits = rows.iter().filter(|&&row| name.is_none() || self.scores.keys().name(row) == name);
        match (fits.next(), fits.next()) {
            (Some(_), Some(_)) => {
                Err(Error::Constraint(format!("id {id} fits two rows whose names hash alike; give the name")))
            }
            (Some(&row), None) if block < self.scores.blocks() => Ok(Some(Pick { row, block })),
            _ => Ok(None),
        }
    }
}

/// A listed super arm, found among the rows.
enum Found {
    Arms(Vec<Pick>),
    Unknown,
    Forbidden,
}

impl Explicit {
    fn find(&self, number: usize, scores: &Scores<'_>, places: &Places<'_, '_>) -> Result<Found, Error> {
        let mut arms = Vec::new();
        for member in &self.super_arms[number] {
            match places.find(member)? {
                Some(arm) => arms.push(arm),
                None => return Ok(Found::Unknown),
            }
        }
        arms.sort_unstable();
        if let Some(twice) = arms.windows(2).find(|pair| pair[0] == pair[1]) {
            let id = scores.keys().id(twice[0].row);
            return Err(Error::Constraint(format!("super arm {number} lists arm {id} twice")));
        }
        if arms.iter().any(|&arm| scores.get(arm) == f64::NEG_INFINITY) {
            return Ok(Found::Forbidden);
        }
        Ok(Found::Arms(arms))
    }
}

impl Oracle for Explicit {
    fn argmax(&self, scores: &Scores<'_>) -> Result<Selection, Error> {
        each_eligible(scores, |_, _| Ok(()))?;
        let places = Places::of(self.super_arms.iter().flatten(), scores);
        let (mut unknown, mut forbidden) = (0, 0);
        let mut best: Option<Selection> = None;
        for number in 0..self.super_arms.len() {
            match self.find(number, scores, &places)? {
                Found::Unknown => unknown += 1,
                Found::Forbidden => forbidden += 1,
                Found::Arms(arms) => {
                    let next = Selection::optimal(arms, scores);
                    if best.as_ref().is_none_or(|best| better(&next, best, scores)) {
                        best = Some(next);
                    }
                }
            }
        }
        let listed = self.super_arms.len();
        best.ok_or(Error::Infeasible(Infeasible::NoSuperArm { listed, unknown, forbidden }))
    }

    fn candidates(&self, part: &Scores<'_>) -> Result<Vec<usize>, Error> {
        each_eligible(part, |_, _| Ok(()))?;
        let places = Places::of(self.super_arms.iter().flatten(), part);
        let mut rows: Vec<usize> = places.rows.into_values().flatten().collect();
        rows.sort_unstable();
        Ok(rows)
    }
}

fn better(next: &Selection, best: &Selection, scores: &Scores<'_>) -> bool {
    let keys = |selection: &Selection| {
        let mut keys: Vec<_> = selection.arms.iter().map(|&arm| scores.tie_keys(arm)).collect();
        keys.sort_unstable();
        keys
    };
    let by_sum = next.objective.total_cmp(&best.objective);
    by_sum.is_gt() || by_sum.is_eq() && keys(next) < keys(best)
}
