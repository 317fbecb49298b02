//! Begins a campaign: reads the rules, fits the features on the table, makes the file.

use crate::{
    Campaign, Error,
    config::{Config, Guess, LeftOut, guess, room},
    core::{SavedLearner, Setup},
    input::Source,
    recipe::{Extreme, Recipe, fit_and_look},
};
use armwise::Learner;
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

/// As [`init`], from what another learner has learned. The features are the learner's, with their scales: the table is
/// only looked at. Promotions are known by their names, and the algorithm stays the campaign's; its rounds continue the
/// count of the learner's.
///
/// # Errors
/// As [`init`], and [`Error::Config`] for a learner that does not fit.
pub fn init_from(
    path: &Path,
    table: &dyn Source,
    mut config: Config,
    learner: Option<&SavedLearner>,
) -> Result<(Campaign, Begun), Error> {
    if path.symlink_metadata().is_ok() {
        return Err(Error::Exists { path: path.to_owned() });
    }
    if let Some(learner) = learner.filter(|_| config.features.column.is_empty()) {
        config.features = learner.origin.features.clone();
    }
    let left_out = complete(&mut config, table)?.left_out;
    config.check("the rules")?;
    let needed: Vec<String> = config.own_columns().into_iter().collect();
    table.batches(Some(&needed))?;
    let (start, (recipe, extremes)) = match learner {
        None => (None, fit_and_look(&config, table)?),
        Some(learner) => {
            let recipe = learner.origin.recipe.clone();
            look(&recipe, table)?;
            (Some(learner.model_for(&config)?), (recipe, Vec::new()))
        }
    };
    room(recipe.dim(), config.promotion.len())?;
    // Refuses parameters outside their range before the file is there.
    Learner::new(config.algorithm, recipe.dim(), config.promotion.len())?;
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

/// Refuses a table that a recipe cannot be applied to.
fn look(recipe: &Recipe, table: &dyn Source) -> Result<(), Error> {
    let columns: Vec<String> = recipe.names().map(str::to_owned).collect();
    for rows in table.batches(Some(&columns))? {
        recipe.apply(&rows?)?;
    }
    Ok(())
}
