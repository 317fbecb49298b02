//! Begins a campaign: reads the rules, fits the features on the table, makes the file.

use crate::{
    Campaign, Error,
    config::{Config, Guess, LeftOut, guess, room},
    core::{LAST_GIVEN_ROUND, Setup},
    input::Source,
    recipe::{Extreme, Recipe, fit_and_look},
};
use armwise::{Algorithm, Learner, Model};
use serde::Serialize;
use std::path::Path;

/// What `init` made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Begun {
    /// The promotions in the order of the model's blocks.
    pub promotions: Vec<String>,
    /// How many features a customer has.
    pub features: usize,
    /// On how many rows they were fitted.
    pub sample: usize,
    /// Columns that are not used, with the reason.
    pub left_out: LeftOut,
    /// Values so extreme that the others of their column can hardly be told apart.
    pub extremes: Vec<Extreme>,
    /// The frozen recipe.
    pub recipe: Recipe,
}

/// Fills in the features of a configuration that lists none, and says what the columns of the table look like; nothing
/// where the configuration lists them.
///
/// # Errors
/// [`Error::Table`] for a table that cannot be read.
pub fn complete(config: &mut Config, table: &dyn Source) -> Result<Guess, Error> {
    if !config.features.column.is_empty() {
        return Ok(Guess::default());
    }
    // Columns that split customers into segments and groups may well predict who answers.
    let splits =
        |name: &String| config.segment.as_ref() == Some(name) || config.limits.group.iter().any(|g| g.column == *name);
    let mut own = config.own_columns();
    own.retain(|name| *name == config.customer || !splits(name));
    let guess = guess(table, &own)?;
    config.features.column.clone_from(&guess.columns);
    Ok(guess)
}

/// Makes the campaign's file.
///
/// # Errors
/// [`Error::Exists`], errors of the table, [`Error::Library`] for parameters of the algorithm.
pub fn init(path: &Path, table: &dyn Source, config: Config) -> Result<(Campaign, Begun), Error> {
    init_from(path, table, config, None)
}

/// As [`init`], from what another learner has learned: `start` is a name for messages and the text of the file that
/// the library's `to_json` or Python's `save` wrote. The algorithm stays the campaign's; its rounds continue the
/// count of the learner's.
///
/// # Errors
/// As [`init`], and [`Error::Config`] for a learner of another shape or with another forgetting factor.
pub fn init_from(
    path: &Path,
    table: &dyn Source,
    mut config: Config,
    start: Option<(&str, &str)>,
) -> Result<(Campaign, Begun), Error> {
    if path.symlink_metadata().is_ok() {
        return Err(Error::Exists { path: path.to_owned() });
    }
    let left_out = complete(&mut config, table)?.left_out;
    config.check("the rules")?;
    let needed: Vec<String> = config.own_columns().into_iter().collect();
    table.batches(Some(&needed))?;
    let (recipe, extremes) = fit_and_look(&config, table)?;
    room(recipe.dim(), config.promotion.len())?;
    // Refuses parameters outside their range before the file is there.
    Learner::new(config.algorithm, recipe.dim(), config.promotion.len())?;
    let start = start.map(|(name, text)| known(name, text, &config, &recipe)).transpose()?;
    let begun = Begun {
        promotions: config.promotion.iter().map(|promotion| promotion.name.clone()).collect(),
        features: recipe.dim(),
        sample: recipe.sample,
        left_out,
        extremes,
        recipe: recipe.clone(),
    };
    Ok((Campaign::create(path, Setup { start, ..Setup::new(config, recipe) })?, begun))
}

/// The model of a saved learner, if it fits.
fn known(name: &str, text: &str, config: &Config, recipe: &Recipe) -> Result<Model, Error> {
    let bad = |problem: String| Error::Config { place: name.to_owned(), problem, cause: None };
    let learner = Learner::<Algorithm>::from_json(text).map_err(|error| Error::Config {
        place: name.to_owned(),
        problem: error.to_string(),
        cause: Some(error.into()),
    })?;
    let model = learner.model().clone();
    let shape = (model.dim(), model.blocks().len());
    let needed = (recipe.dim(), config.promotion.len());
    if shape != needed {
        return Err(bad(format!(
            "the learner has {} features and {} blocks, the campaign has {} features and {} promotions",
            shape.0, shape.1, needed.0, needed.1
        )));
    }
    if model.gamma().to_bits() != config.gamma.to_bits() {
        let (found, gamma) = (model.gamma(), config.gamma);
        return Err(bad(format!("the learner has gamma = {found}, the campaign has gamma = {gamma}")));
    }
    if model.t() > LAST_GIVEN_ROUND {
        return Err(bad(format!("the learner's last round is {}, which leaves no room for more rounds", model.t())));
    }
    Ok(model)
}
