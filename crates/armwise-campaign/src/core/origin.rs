//! What a saved learner says of the campaign that it comes from: without it, its numbers mean nothing elsewhere.
//!
//! A coefficient belongs to a feature as it was scaled. Fitted anew on another table, the features of the same columns
//! have other scales, and everything that was learned would be misread without a word. So a learner carries its recipe,
//! and a campaign that begins with it uses that recipe.

use crate::{
    Error,
    config::{Config, FeatureRules},
    recipe::Recipe,
};
use armwise::{Algorithm, Block, Learner, Model};
use serde::{Deserialize, Serialize};

/// Where a learner comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The promotions in the order of its blocks.
    pub promotions: Vec<String>,
    /// The rules of its features.
    pub features: FeatureRules,
    /// What was fitted by these rules.
    pub recipe: Recipe,
}

/// A saved learner that a campaign can begin with.
#[derive(Debug, Clone)]
pub struct SavedLearner {
    /// Where it comes from.
    pub origin: Origin,
    model: Model,
    /// What messages call it.
    name: String,
}

impl SavedLearner {
    /// Reads the text that the library's `to_json` or Python's `save` wrote; `name` is for messages.
    ///
    /// # Errors
    /// [`Error::Config`] for a text that is not a learner, and for a learner that does not come from a campaign.
    pub fn read(name: &str, text: &str) -> Result<Self, Error> {
        let learner = Learner::<Algorithm>::from_json(text).map_err(|error| Error::Config {
            place: name.to_owned(),
            problem: error.to_string(),
            cause: Some(error.into()),
        })?;
        let Some(origin) = learner.about().and_then(|about| serde_json::from_str::<Origin>(about).ok()) else {
            let problem =
                "the learner does not say from which columns its features are made and how they are scaled, so what \
                           it has learned cannot be applied to a table; take one that a campaign has saved"
                    .to_owned();
            return Err(Error::Config { place: name.to_owned(), problem, cause: None });
        };
        let (model, name) = (learner.model().clone(), name.to_owned());
        let shape = (model.dim(), model.blocks().len());
        if shape != (origin.recipe.dim(), origin.promotions.len()) {
            let problem = format!(
                "the learner has {} features and {} blocks, but says that it comes from {} features and {} promotions",
                shape.0,
                shape.1,
                origin.recipe.dim(),
                origin.promotions.len()
            );
            return Err(Error::Config { place: name, problem, cause: None });
        }
        Ok(Self { origin, model, name })
    }

    /// What it knows of the promotions of these rules, by their names; none of the others.
    ///
    /// # Errors
    /// [`Error::Config`] for rules with other features or another forgetting factor, or without any promotion that it
    /// knows.
    pub fn model_for(&self, config: &Config) -> Result<Model, Error> {
        let bad = |problem: String| Err(Error::Config { place: self.name.clone(), problem, cause: None });
        let Self { origin, model, .. } = self;
        if config.features != origin.features {
            return bad(
                "the learner has learned from other features than the rules list; leave the features out of the \
                        rules to take the learner's, with their scales"
                    .to_owned(),
            );
        }
        if model.gamma() != config.gamma {
            let (found, gamma) = (model.gamma(), config.gamma);
            return bad(format!("the learner has gamma = {found}, the campaign has gamma = {gamma}"));
        }
        if model.t() > super::LAST_GIVEN_ROUND {
            return bad(format!("the learner's last round is {}, which leaves no room for more rounds", model.t()));
        }
        let place = |name: &str| origin.promotions.iter().position(|known| known == name);
        if !config.promotion.iter().any(|promotion| place(&promotion.name).is_some()) {
            return bad(format!(
                "the learner knows the promotions {}, and none of them is among the rules'",
                origin.promotions.join(", ")
            ));
        }
        let dim = model.dim();
        let nothing = Block::from_sums(0, vec![0.0; dim], vec![0.0; dim * (dim + 1) / 2], Some(0.0));
        let own = |blocks: &[Block]| {
            let own = |name: &str| place(name).map_or(&nothing, |place| &blocks[place]).clone();
            config.promotion.iter().map(|promotion| own(&promotion.name)).collect()
        };
        Ok(model.map_blocks(own)?.with_unit(config.rounds_per_segment)?)
    }
}
