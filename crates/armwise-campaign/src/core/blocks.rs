//! Which block of the model belongs to which promotion.
//!
//! What happens without a send has a block too, learned from the hold-out's outcomes, as soon as rules have a hold-out.
//! Promotions get their blocks in the order in which they first appear, and keep them: one that is retired may come
//! back and still knows what it knew. Sums have as many blocks as they need, at least those of the first rules, so an
//! amendment changes no sum that was ever hashed. A round chooses with a model of its own promotions only, in the order
//! of its rules.

use super::Campaign;
use crate::{
    Error,
    config::{Config, Objective, Promotion},
    recipe::Recipe,
};
use armwise::{Block, Learner, Model, Policy};

/// The block of what happens without a send; no promotion has this name.
pub(crate) const NO_SEND: &str = "";

/// A model with at least this many blocks; the new ones know nothing.
pub(super) fn widened(model: Model, blocks: usize) -> Result<Model, Error> {
    if model.blocks().len() >= blocks {
        return Ok(model);
    }
    let nothing = nothing(model.dim());
    Ok(model.map_blocks(|own| own.iter().chain(std::iter::repeat(&nothing)).take(blocks).cloned().collect())?)
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
    let no_send = (config.limits.hold_out > 0.0).then_some(NO_SEND);
    for name in config.promotion.iter().map(|promotion| promotion.name.as_str()).chain(no_send) {
        if all.iter().all(|known| known != name) {
            all.push(name.to_owned());
        }
    }
    all
}

/// What a send costs, as a shift of theta: the first feature is the constant, whose value is the recipe's scale.
fn price(promotion: &Promotion, recipe: &Recipe) -> Vec<f64> {
    let mut shift = vec![0.0; recipe.dim()];
    shift[0] = -promotion.cost.unwrap_or(0.0) / f64::from(recipe.scale as f32);
    shift
}

impl Campaign {
    /// Every promotion that the campaign ever had, in the order in which they first appeared.
    #[must_use]
    pub fn promotions(&self) -> Vec<&str> {
        self.blocks.iter().map(String::as_str).filter(|name| *name != NO_SEND).collect()
    }

    /// The block of a promotion, or of what happens without a send.
    pub(crate) fn block(&self, promotion: &str) -> Option<usize> {
        self.blocks.iter().position(|name| name == promotion)
    }

    /// The learner with which these rules choose, by this policy, from the campaign's whole model: the blocks of their
    /// promotions, in their order; and where uplift is the objective, what happens without a send as their baseline.
    ///
    /// # Errors
    /// [`Error::Library`] for parameters outside their range.
    pub fn learner_by<P: Policy>(
        &self,
        policy: P,
        model: &Model,
        (config, recipe): (&Config, &Recipe),
    ) -> Result<Learner<P>, Error> {
        let uplift = config.objective == Objective::Uplift;
        let names = config.promotion.iter().map(|promotion| promotion.name.as_str());
        let model = self.picked(model, names.chain(uplift.then_some(NO_SEND)))?;
        let mut learner = Learner::with_model(policy, model)?.with_ties(config.ties);
        if uplift {
            learner = learner.with_baseline()?;
        }
        if config.is_profit() {
            learner = learner.with_values(config.promotion.iter().map(|p| p.value.unwrap_or(1.0)).collect())?;
            if recipe.bias {
                learner = learner.with_shifts(config.promotion.iter().map(|p| price(p, recipe)).collect())?;
            }
        }
        Ok(learner)
    }

    /// How many outcomes of the hold-out a model knows.
    pub(crate) fn heard_of_hold_out(&self, model: &Model) -> u64 {
        self.block(NO_SEND).and_then(|block| model.blocks().get(block)).map_or(0, Block::count)
    }

    /// The model with which these rules choose: the blocks of their promotions, in their order.
    ///
    /// # Errors
    /// [`Error::Library`] for rules without promotions.
    pub fn of_rules(&self, model: &Model, config: &Config) -> Result<Model, Error> {
        self.picked(model, config.promotion.iter().map(|promotion| promotion.name.as_str()))
    }

    /// The blocks with these names.
    fn picked<'a>(&self, model: &Model, names: impl Iterator<Item = &'a str>) -> Result<Model, Error> {
        let nothing = nothing(model.dim());
        let places: Vec<Option<usize>> = names.map(|name| self.block(name)).collect();
        let of =
            |own: &[Block], place: Option<usize>| place.and_then(|place| own.get(place)).unwrap_or(&nothing).clone();
        Ok(model.map_blocks(|own| places.iter().map(|&place| of(own, place)).collect())?)
    }
}
