//! Forgetting by evidence: the sums of spans of rounds, so that a forgetting factor can be chosen at any time.
//!
//! A discounted sum knows one factor only. So where the factor is to be chosen, the sums are kept by span: recent rounds
//! one by one, earlier ones in spans that grow with their age. Which rounds are together depends on the newest round
//! alone, never on the order in which rewards came; a span counts as if all of it had been learned in its middle, which
//! is exact for the last rounds and within a sixteenth of the age for all.

use super::{Block, Model};
use crate::{Error, error::check};
use serde::{Deserialize, Serialize};
use std::{borrow::Cow, collections::BTreeMap, fmt};

/// A span of 2^j rounds is made when all of it is 2^j times so many rounds old.
const AGE: u64 = 8;

/// The forgetting factor: a number, or `"auto"`, the one with the largest evidence, anew in every round
/// ([`Model::in_force`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "Given", into = "Given")]
pub enum Gamma {
    /// With every round, what was learned before counts so many times as much.
    Value(f64),
    /// By evidence.
    Auto,
}

/// As in TOML and JSON.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, or \"auto\"")]
enum Given {
    Value(f64),
    Auto(Word),
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Auto,
}

impl From<Given> for Gamma {
    fn from(given: Given) -> Self {
        match given {
            Given::Value(value) => Self::Value(value),
            Given::Auto(Word::Auto) => Self::Auto,
        }
    }
}

impl From<Gamma> for Given {
    fn from(gamma: Gamma) -> Self {
        match gamma {
            Gamma::Value(value) => Self::Value(value),
            Gamma::Auto => Self::Auto(Word::Auto),
        }
    }
}

impl From<f64> for Gamma {
    fn from(value: f64) -> Self {
        Self::Value(value)
    }
}

/// Forgets nothing.
impl Default for Gamma {
    fn default() -> Self {
        Self::Value(1.0)
    }
}

impl fmt::Display for Gamma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(f, "{value}"),
            Self::Auto => f.write_str("\"auto\""),
        }
    }
}

impl Gamma {
    /// Refuses a number outside its range.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless 0 < gamma <= 1.
    pub fn check(self) -> Result<(), Error> {
        match self {
            Self::Value(gamma) => check("gamma", gamma, gamma > 0.0 && gamma <= 1.0, "above 0 and at most 1"),
            Self::Auto => Ok(()),
        }
    }
}

/// The sums of spans of rounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    /// How many rounds are forgotten together.
    pub(super) unit: u64,
    /// The blocks of each span, by the number of its first unit.
    pub(super) spans: BTreeMap<u64, Vec<Block>>,
}

impl Memory {
    /// The unit of a round: they count from 1, and round 0 is one of its own.
    fn unit_of(&self, t: u64) -> u64 {
        if t == 0 { 0 } else { (t - 1) / self.unit + 1 }
    }

    /// The blocks to which round `t` belongs when `now` is the newest.
    pub(super) fn blocks_of(&mut self, t: u64, now: u64, blocks: &[Block]) -> &mut Vec<Block> {
        let first = span(self.unit_of(t), self.unit_of(now)).0;
        self.spans.entry(first).or_insert_with(|| blocks.iter().map(Block::emptied).collect())
    }

    /// Puts spans together that are old enough, oldest first.
    pub(super) fn regroup(&mut self, now: u64) {
        let now = self.unit_of(now);
        if self.spans.keys().all(|&first| span(first, now).0 == first) {
            return;
        }
        for (first, blocks) in std::mem::take(&mut self.spans) {
            self.add(span(first, now).0, blocks);
        }
    }

    /// Adds the spans of another memory of the same unit.
    pub(super) fn merge(&mut self, other: &Self, now: u64) {
        let now = self.unit_of(now);
        for (&first, blocks) in &other.spans {
            self.add(span(first, now).0, blocks.clone());
        }
    }

    fn add(&mut self, first: u64, blocks: Vec<Block>) {
        match self.spans.entry(first) {
            std::collections::btree_map::Entry::Vacant(free) => drop(free.insert(blocks)),
            std::collections::btree_map::Entry::Occupied(mut mine) => {
                mine.get_mut().iter_mut().zip(&blocks).for_each(|(mine, theirs)| mine.merge(theirs, 1.0));
            }
        }
    }

    /// All spans together, each added in its order.
    pub(super) fn total(&self, blocks: &mut [Block]) {
        blocks.iter_mut().for_each(|block| *block = block.emptied());
        for span in self.spans.values() {
            blocks.iter_mut().zip(span).for_each(|(all, own)| all.merge(own, 1.0));
        }
    }

    /// The spans as models whose `t` is the unit in the middle.
    fn models(&self, dim: usize, now: u64) -> Vec<Model> {
        let now = self.unit_of(now);
        let model = |(&first, blocks): (&u64, &Vec<Block>)| {
            let t = first + (span(first, now).1 - 1) / 2;
            Model { dim, gamma: 1.0, t, blocks: blocks.clone(), memory: None }
        };
        self.spans.iter().map(model).collect()
    }
}

/// The span of a unit when `now` is the newest: its first unit, and how many it has, a power of two.
fn span(unit: u64, now: u64) -> (u64, u64) {
    let mut found = (unit, 1_u64);
    for level in 1..48 {
        let length = 1_u64 << level;
        let first = unit >> level << level;
        if now < first.saturating_add(length - 1).saturating_add(AGE * length) {
            break;
        }
        found = (first, length);
    }
    found
}

impl Model {
    /// A model whose forgetting factor is chosen by evidence, from these spans of rounds: for sums that were stored in
    /// another form. `unit` is how many rounds are forgotten together, `t` the newest round.
    ///
    /// # Errors
    /// As [`from_blocks`](Self::from_blocks), and [`Error::BadFormat`] for spans of different shapes, or for none.
    pub fn from_spans(unit: u64, t: u64, spans: BTreeMap<u64, Vec<Block>>) -> Result<Self, Error> {
        let blocks = spans.values().next().map_or_else(Vec::new, |first| first.iter().map(Block::emptied).collect());
        Self::from_blocks(1.0, t, blocks)?.with_memory(Memory { unit, spans })
    }

    /// Takes the sums of spans, which must fit, for what was learned.
    pub(super) fn with_memory(mut self, memory: Memory) -> Result<Self, Error> {
        check("unit", memory.unit as f64, memory.unit > 0, "at least 1")?;
        let now = memory.unit_of(self.t);
        for (&first, blocks) in &memory.spans {
            let own = Self::from_blocks(1.0, 0, blocks.clone())?;
            if first > now
                || span(first, now).0 != first
                || (own.dim, own.blocks.len()) != (self.dim, self.blocks.len())
            {
                return Err(Error::BadFormat(format!("the span that begins with {first} does not fit")));
            }
        }
        memory.total(&mut self.blocks);
        self.memory = Some(memory);
        Ok(self)
    }

    /// The sums by span of rounds, the oldest first, each with the number of its first unit of rounds, and how many
    /// rounds a unit has; none unless the forgetting factor is chosen by evidence.
    #[must_use]
    pub fn spans(&self) -> Option<(u64, &BTreeMap<u64, Vec<Block>>)> {
        self.memory.as_ref().map(|memory| (memory.unit, &memory.spans))
    }

    /// Says how many rounds are forgotten together where the factor is chosen by evidence: 1, unless told otherwise. A
    /// service with a decision a request wants thousands.
    ///
    /// # Errors
    /// [`Error::Parameter`] for 0.
    pub fn with_unit(mut self, rounds: u64) -> Result<Self, Error> {
        check("unit", rounds as f64, rounds > 0, "at least 1")?;
        if let Some(memory) = &mut self.memory {
            let known = std::mem::take(&mut memory.spans);
            memory.unit = rounds;
            let first = span(memory.unit_of(self.t), memory.unit_of(self.t)).0;
            known.into_values().for_each(|blocks| memory.add(first, blocks));
        }
        Ok(self)
    }

    /// The sums with which the next round is chosen. They are the model's own, unless its forgetting factor is chosen by
    /// evidence: then every span of rounds counts gamma times as much with every unit of its age, with the gamma that
    /// [would have predicted](Self::forgetting) the spans best.
    ///
    /// A pure function of the sums, so replays, replicas and other machines forget the same to the bit.
    ///
    /// # Errors
    /// [`Error::NoSquares`] if rewards were learned by a version that did not keep their squares.
    ///
    /// # Example
    /// ```
    /// use armwise::{Gamma, Model, Observation};
    /// let mut model = Model::new(1, 1)?.with_gamma(Gamma::Auto)?;
    /// for t in 1..=12 {
    ///     let theta = if t <= 6 { 1.0 } else { -1.0 }; // the world changes
    ///     for i in 0..20 {
    ///         let reward = theta + if i % 2 == 0 { 0.1 } else { -0.1 };
    ///         model.observe(&Observation { t, block: 0, x: &[1.0], reward })?;
    ///     }
    /// }
    /// assert!(model.posterior(0, 1.0)?.theta_hat()[0].abs() < 0.1);
    /// assert!(model.in_force()?.posterior(0, 1.0)?.theta_hat()[0] < -0.9);
    /// # Ok::<(), armwise::Error>(())
    /// ```
    pub fn in_force(&self) -> Result<Cow<'_, Self>, Error> {
        let Some(memory) = &self.memory else { return Ok(Cow::Borrowed(self)) };
        let spans = memory.models(self.dim, self.t);
        let gamma = Self::forgetting(&spans)?.map_or(1.0, |(gamma, _)| gamma);
        let blocks = self.blocks.iter().map(Block::emptied).collect();
        let mut model = Self { dim: self.dim, gamma, t: 0, blocks, memory: None };
        for span in spans {
            model.merge(&span.with_gamma(gamma)?)?;
        }
        model.advance(memory.unit_of(self.t));
        // From here on time is in rounds again.
        model.t = self.t;
        model.gamma = if memory.unit == 1 { gamma } else { libm::pow(gamma, 1.0 / memory.unit as f64) };
        Ok(Cow::Owned(model))
    }

    /// The same sums with other blocks, in each span alike: `change` gets the blocks there are.
    ///
    /// # Errors
    /// As [`from_blocks`](Self::from_blocks).
    pub fn map_blocks(&self, change: impl Fn(&[Block]) -> Vec<Block>) -> Result<Self, Error> {
        let model = Self::from_blocks(self.gamma, self.t, change(&self.blocks))?;
        let Some(Memory { unit, spans }) = &self.memory else { return Ok(model) };
        let spans = spans.iter().map(|(&first, blocks)| (first, change(blocks))).collect();
        model.with_memory(Memory { unit: *unit, spans })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Spans cover every unit once, whatever way time went, and are short beside their age.
    #[test]
    fn spans_are_a_partition_that_only_grows_coarser() {
        for now in (0..600_u64).chain([5_000, 100_000]) {
            let mut unit = 0;
            while unit <= now {
                let (first, length) = span(unit, now);
                assert_eq!(first, unit, "now {now}: a span begins where the one before ends");
                assert!(first + length - 1 <= now);
                let age = now - (first + length - 1);
                assert!(length == 1 || age >= AGE * length);
                assert!((first..first + length).all(|unit| span(unit, now) == (first, length)));
                assert!((first..first + length).all(|unit| span(unit, now + 1).0 == span(first, now + 1).0));
                unit += length;
            }
        }
        assert!((0..=100_000).map(|unit| span(unit, 100_000).0).collect::<std::collections::BTreeSet<_>>().len() < 150);
    }
}
