//! Which block of the model belongs to which promotion.
//!
//! Promotions get their blocks in the order in which they first appear, and keep them: one that is retired may come
//! back and still knows what it knew. Sums have as many blocks as they need, at least those of the first rules, so an
//! amendment changes no sum that was ever hashed. A round chooses with a model of its own promotions only, in the order
//! of its rules.

use super::Campaign;
use crate::{Error, config::Config};
use armwise::{Block, Model};

/// A model with at least this many blocks; the new ones know nothing.
pub(super) fn widened(model: Model, blocks: usize) -> Result<Model, Error> {
    if model.blocks().len() >= blocks {
        return Ok(model);
    }
    let nothing = nothing(model.dim());
    let own = model.blocks().iter().chain(std::iter::repeat(&nothing)).take(blocks).cloned().collect();
    Ok(Model::from_blocks(model.gamma(), model.t(), own)?)
}

/// A block that knows nothing.
fn nothing(dim: usize) -> Block {
    Block::from_sums(0, vec![0.0; dim], vec![0.0; dim * (dim + 1) / 2], Some(0.0))
}

/// Adds the sums of a segment, which may know more or fewer promotions.
pub(super) fn merge(model: &mut Model, sums: &Model) -> Result<(), Error> {
    let (mine, theirs) = (model.blocks().len(), sums.blocks().len());
    if mine < theirs {
        *model = widened(model.clone(), theirs)?;
    }
    let widened = if theirs < mine { Some(widened(sums.clone(), mine)?) } else { None };
    Ok(model.merge(widened.as_ref().unwrap_or(sums))?)
}

/// `before` and after them the promotions of the rules that are new.
pub(super) fn named(before: &[String], config: &Config) -> Vec<String> {
    let mut all = before.to_vec();
    for promotion in &config.promotion {
        if !all.contains(&promotion.name) {
            all.push(promotion.name.clone());
        }
    }
    all
}

impl Campaign {
    /// Every promotion that the campaign ever had, in the order of the model's blocks.
    #[must_use]
    pub fn promotions(&self) -> &[String] {
        &self.blocks
    }

    /// The block of a promotion.
    pub(super) fn block(&self, promotion: &str) -> Option<usize> {
        self.blocks.iter().position(|name| name == promotion)
    }

    /// The model with which these rules choose: the blocks of their promotions, in their order.
    ///
    /// # Errors
    /// [`Error::Library`] for rules without promotions.
    pub fn of_rules(&self, model: &Model, config: &Config) -> Result<Model, Error> {
        let nothing = nothing(model.dim());
        let known = |name: &str| self.block(name).and_then(|block| model.blocks().get(block));
        let own = config.promotion.iter().map(|promotion| known(&promotion.name).unwrap_or(&nothing).clone());
        Ok(Model::from_blocks(model.gamma(), model.t(), own.collect())?)
    }
}
