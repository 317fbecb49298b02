//! What has been learned: per block the sums G = sum x x', b = sum r x, rr = sum r^2, and a count.
//!
//! lambda is not in the sums. It is added when a posterior is made, so models merge by plain
//! addition, the prior is counted once, it is never forgotten, and a sweep over lambda reuses the data. Every
//! element of the sums is updated in the order of the observations, so a batch gives the same bits as one at a time.

mod block;
mod checks;
mod drift;
mod evidence;
mod memory;
mod posterior;
mod spectrum;
mod widths;

pub use block::Block;
pub(crate) use checks::check_features;
pub use drift::Drift;
pub use evidence::{Estimate, Evidence};
pub use memory::Gamma;
pub use posterior::Posterior;
pub(crate) use posterior::cholesky;
pub(crate) use widths::{UNIT, Widths, growth};

use crate::{Error, error::check, kernel::triangle, tasks};
use checks::{MOST_NUMBERS, Unchecked, check_sums};
use memory::Memory;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// One observed reward: row x of block `block`, chosen in round `t`, paid `reward`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation<'a> {
    /// The round in which the arm was chosen.
    pub t: u64,
    /// The block (promotion) in which it was chosen.
    pub block: u32,
    /// Its features.
    pub x: &'a [f64],
    /// What it paid.
    pub reward: f64,
}

/// What has been learned, for M blocks of dimension d.
///
/// # Example
/// ```
/// use armwise::{Model, Observation};
/// let mut model = Model::new(2, 1)?;
/// model.observe(&Observation { t: 1, block: 0, x: &[1.0, 0.0], reward: 1.0 })?;
/// let posterior = model.posterior(0, 3.0)?; // lambda = 3
/// assert_eq!(posterior.theta_hat(), [0.25, 0.0]);
/// # Ok::<(), armwise::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Model {
    dim: usize,
    /// The forgetting factor: 1 forgets nothing.
    gamma: f64,
    /// The newest round seen, to which the sums are discounted.
    t: u64,
    blocks: Vec<Block>,
    /// The sums by span of rounds, where the forgetting factor is chosen by evidence: `gamma` is 1 then, and `blocks`
    /// are all spans together.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Memory>,
}

impl Model {
    /// An empty model of `blocks` blocks of dimension `dim`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if either is zero, or both together so large that the sums would not fit into memory.
    pub fn new(dim: usize, blocks: usize) -> Result<Self, Error> {
        check("dim", dim as f64, dim > 0, "at least 1")?;
        check("blocks", blocks as f64, blocks > 0 && u32::try_from(blocks).is_ok(), "at least 1, and below 2^32")?;
        let numbers = dim as f64 * (dim as f64 + 1.0) / 2.0 * blocks as f64;
        check("blocks dim (dim + 1) / 2", numbers, numbers <= MOST_NUMBERS, "at most 2^31, which is 16 GB of sums")?;
        let block = Block { count: 0, b: vec![0.0; dim], g: vec![0.0; triangle(dim)], rr: Some(0.0) };
        Ok(Self { dim, gamma: 1.0, t: 0, blocks: vec![block; blocks], memory: None })
    }

    /// A model of these blocks, whose sums are discounted to round `t`: for sums that were stored in another form.
    ///
    /// # Errors
    /// [`Error::BadFormat`] unless the blocks have one dimension and finite sums; [`Error::Parameter`] for no block, no
    /// dimension, or a forgetting factor outside its range.
    pub fn from_blocks(gamma: f64, t: u64, blocks: Vec<Block>) -> Result<Self, Error> {
        let dim = blocks.first().map_or(0, |block| block.b.len());
        Unchecked { dim, gamma, t, blocks, memory: None }.checked()
    }

    /// Forgets: with every round, what was learned before counts `gamma` times as much (discounted least squares).
    /// The prior lambda is not in the sums and so is never forgotten. With [`Gamma::Auto`] what is known already counts
    /// as learned in the newest round.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless 0 < gamma <= 1.
    pub fn with_gamma(mut self, gamma: impl Into<Gamma>) -> Result<Self, Error> {
        let gamma = gamma.into();
        gamma.check()?;
        (self.gamma, self.memory) = match (gamma, self.memory.take()) {
            (Gamma::Value(gamma), _) => (gamma, None),
            (Gamma::Auto, Some(memory)) => (1.0, Some(memory)),
            (Gamma::Auto, None) => {
                let mut memory = Memory { unit: 1, spans: BTreeMap::new() };
                if self.blocks.iter().any(|block| block.count > 0) {
                    memory.blocks_of(self.t, self.t, &self.blocks).clone_from(&self.blocks);
                }
                (1.0, Some(memory))
            }
        };
        Ok(self)
    }

    /// The dimension d of a block.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The forgetting factor.
    #[must_use]
    pub fn gamma(&self) -> Gamma {
        if self.memory.is_some() { Gamma::Auto } else { Gamma::Value(self.gamma) }
    }

    /// The newest round learned from.
    #[must_use]
    pub fn t(&self) -> u64 {
        self.t
    }

    /// The sums, block by block.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The model without its sums of squares, as format 1 wrote it, to check hashes made over that format.
    #[must_use]
    pub fn without_rr(&self) -> Self {
        let mut without = self.clone();
        without.blocks.iter_mut().for_each(|block| block.rr = None);
        without.memory = None;
        without
    }

    /// Adds one observation.
    ///
    /// # Errors
    /// A typed error for a wrong dimension, an unknown block, or a number that is not finite; nothing is changed.
    pub fn observe(&mut self, seen: &Observation<'_>) -> Result<(), Error> {
        self.observe_batch(std::slice::from_ref(seen))
    }

    /// Adds observations in their order: the same bits as one at a time.
    ///
    /// # Errors
    /// As [`observe`](Self::observe); nothing is changed unless all are good.
    pub fn observe_batch(&mut self, seen: &[Observation<'_>]) -> Result<(), Error> {
        seen.iter().enumerate().try_for_each(|(row, seen)| self.check(row, seen))?;
        // Rounds in one batch may differ; the sums are discounted in the order of arrival, as for one at a time.
        let forgets = self.gamma < 1.0 || self.memory.is_some();
        for run in seen.chunk_by(|a, b| a.t == b.t || !forgets) {
            run.iter().for_each(|seen| self.advance(seen.t));
            let weight = self.weight(run[0].t);
            let mut rows_of: Vec<Vec<&Observation<'_>>> = vec![Vec::new(); self.blocks.len()];
            for seen in run {
                rows_of[seen.block as usize].push(seen);
            }
            for (block, rows) in self.blocks_of(run[0].t).iter_mut().zip(rows_of) {
                block.count += rows.len() as u64;
                block.add(&rows, weight);
            }
        }
        self.total();
        Ok(())
    }

    /// The sums that a round is added to.
    fn blocks_of(&mut self, t: u64) -> &mut Vec<Block> {
        match &mut self.memory {
            Some(memory) => memory.blocks_of(t, self.t, &self.blocks),
            None => &mut self.blocks,
        }
    }

    /// Adds up the spans, where there are any.
    fn total(&mut self) {
        if let Some(memory) = &self.memory {
            memory.total(&mut self.blocks);
        }
    }

    /// Takes an observation back: the inverse of [`observe`](Self::observe), up to rounding. The model cannot know
    /// whether it was ever given; if it was not, [`posterior`](Self::posterior) may fail afterwards. A
    /// [`Learner`](crate::Learner) knows.
    ///
    /// # Errors
    /// As [`observe`](Self::observe), and [`Error::NothingLearned`] if the block has no observation.
    pub fn unlearn(&mut self, seen: &Observation<'_>) -> Result<(), Error> {
        self.check(0, seen)?;
        let weight = self.weight(seen.t);
        let spans = self.memory.is_some();
        let block = &mut self.blocks_of(seen.t)[seen.block as usize];
        if block.count == 0 {
            return Err(Error::NothingLearned { block: seen.block });
        }
        block.count -= 1;
        block.add(&[seen], -weight);
        if spans && block.count == 0 {
            block.clear();
        }
        self.total();
        Ok(())
    }

    /// Takes back observations that were given before, as the caller knows; `ridge` is what posteriors are made with.
    ///
    /// # Errors
    /// As [`unlearn`](Self::unlearn), and [`Error::NotPositiveDefinite`] if nothing but rounding would be left, as after
    /// a number that was larger than the others by many powers of ten. Nothing is changed then.
    pub(crate) fn take_back(&mut self, seen: &[Observation<'_>], ridge: f64) -> Result<(), Error> {
        let numbers: BTreeSet<u32> =
            seen.iter().map(|seen| seen.block).filter(|&block| self.known(block).is_ok()).collect();
        let before: Vec<(u32, Block)> =
            numbers.iter().map(|&block| (block, self.blocks[block as usize].clone())).collect();
        let memory = self.memory.clone();
        let mut taken = seen.iter().try_for_each(|seen| self.unlearn(seen));
        for &number in &numbers {
            let block = &mut self.blocks[number as usize];
            if block.count == 0 {
                block.clear();
            }
            taken = taken.and_then(|()| check_sums(number, block, ridge));
        }
        if taken.is_err() {
            before.into_iter().for_each(|(number, block)| self.blocks[number as usize] = block);
            self.memory = memory;
        }
        taken
    }

    /// Changes the reward of an earlier observation: b += (r' - r) x, rr += r'^2 - r^2.
    ///
    /// # Errors
    /// As [`unlearn`](Self::unlearn).
    pub fn correct(&mut self, seen: &Observation<'_>, reward: f64) -> Result<(), Error> {
        self.check(0, seen)?;
        self.check(0, &Observation { reward, ..*seen })?;
        let weight = self.weight(seen.t);
        let block = &mut self.blocks_of(seen.t)[seen.block as usize];
        if block.count == 0 {
            return Err(Error::NothingLearned { block: seen.block });
        }
        let change = weight * (reward - seen.reward);
        block.b.iter_mut().zip(seen.x).for_each(|(b, x)| *b += change * x);
        block.add_squares([(seen.reward, -weight), (reward, weight)]);
        self.total();
        Ok(())
    }

    /// Adds everything that another model of the same shape has learned. Where one of the two does not know its sum of
    /// squares, the sum of both is not known either.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the shapes or the forgetting factors differ.
    pub fn merge(&mut self, other: &Self) -> Result<(), Error> {
        self.fits(other)?;
        self.advance(other.t);
        if let Some((mine, theirs)) = self.memory.as_mut().zip(other.memory.as_ref()) {
            mine.merge(theirs, self.t);
            self.total();
            return Ok(());
        }
        let weight = self.weight(other.t);
        self.blocks.iter_mut().zip(&other.blocks).for_each(|(mine, theirs)| mine.merge(theirs, weight));
        Ok(())
    }

    /// The same sums without spans, which forget nothing more.
    fn plain(&self) -> Self {
        Self { dim: self.dim, gamma: self.gamma, t: self.t, blocks: self.blocks.clone(), memory: None }
    }

    /// Refuses a model of another shape.
    fn has_shape_of(&self, other: &Self) -> Result<(), Error> {
        same("dim", self.dim as f64, other.dim as f64)?;
        same("blocks", self.blocks.len() as f64, other.blocks.len() as f64)
    }

    /// Refuses a model of another shape, or one that forgets otherwise.
    fn fits(&self, other: &Self) -> Result<(), Error> {
        self.has_shape_of(other)?;
        same("gamma", self.gamma, other.gamma)?;
        // 0 where the factor is a number.
        let unit = |model: &Self| model.memory.as_ref().map_or(0, |memory| memory.unit) as f64;
        same("rounds forgotten together by gamma = \"auto\"", unit(self), unit(other))
    }

    /// Multiplies the weight of everything learned so far by `factor`.
    ///
    /// # Errors
    /// [`Error::Parameter`] unless 0 < factor <= 1.
    pub fn forget(&mut self, factor: f64) -> Result<(), Error> {
        check("factor", factor, factor > 0.0 && factor <= 1.0, "above 0 and at most 1")?;
        let spans = self.memory.iter_mut().flat_map(|memory| memory.spans.values_mut()).flatten();
        spans.chain(&mut self.blocks).for_each(|block| block.scale(factor));
        self.total();
        Ok(())
    }

    /// Moves the clock on to round `t` and discounts what was learned before; an earlier `t` changes nothing.
    pub fn advance(&mut self, t: u64) {
        if t > self.t {
            let factor = self.discount(t - self.t);
            self.t = t;
            if factor < 1.0 {
                self.blocks.iter_mut().for_each(|block| block.scale(factor));
            }
            if let Some(memory) = &mut self.memory {
                memory.regroup(t);
                self.total();
            }
        }
    }

    /// The posterior of a block with ridge `ridge` (the lambda of V = lambda I + G).
    ///
    /// # Errors
    /// [`Error::UnknownBlock`], [`Error::Parameter`] for a ridge that is not above 0, [`Error::NotPositiveDefinite`].
    pub fn posterior(&self, block: u32, ridge: f64) -> Result<Posterior, Error> {
        self.known(block)?;
        Posterior::new(&self.blocks[block as usize], block, ridge, 1.0)
    }

    /// The posteriors of all blocks for choosing in round `t`: what was learned counts as at the end of round t - 1.
    pub(crate) fn posteriors(&self, t: u64, ridge: f64) -> Result<Vec<Posterior>, Error> {
        let factor = self.discount(self.idle(t));
        let new = |block| Posterior::new(&self.blocks[block as usize], block, ridge, factor);
        // Collected first, so that the error names the first bad block, whatever the threads do.
        let posteriors = tasks::map(self.blocks.len(), || (), |(), block| new(block as u32));
        posteriors.into_iter().collect()
    }

    /// How many rounds of forgetting lie between the sums and the choice of round `t`; 0 if nothing is forgotten.
    pub(crate) fn idle(&self, t: u64) -> u64 {
        let forgets = self.gamma < 1.0 || self.memory.is_some();
        if forgets { t.saturating_sub(1).saturating_sub(self.t) } else { 0 }
    }

    /// The weight of an observation of round `t` in sums discounted to round `self.t`.
    fn weight(&self, t: u64) -> f64 {
        self.discount(self.t.saturating_sub(t))
    }

    fn discount(&self, rounds: u64) -> f64 {
        if rounds == 0 || self.gamma >= 1.0 { 1.0 } else { libm::pow(self.gamma, rounds as f64) }
    }

    fn known(&self, block: u32) -> Result<(), Error> {
        let last = self.blocks.len() as u32 - 1;
        if block <= last { Ok(()) } else { Err(Error::UnknownBlock { block, last }) }
    }
}

fn same(what: &'static str, left: f64, right: f64) -> Result<(), Error> {
    if left.total_cmp(&right).is_eq() { Ok(()) } else { Err(Error::Mismatch { what, left, right }) }
}
