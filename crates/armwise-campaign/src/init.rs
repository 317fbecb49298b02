//! Begins a campaign: reads the rules, fits the features on the table, makes the file.

use crate::{
    Campaign, Error,
    config::{Config, LeftOut, guess},
    file::Setup,
    recipe::{Recipe, fit},
    table::Table,
};
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
    /// The frozen recipe.
    pub recipe: Recipe,
}

/// Fills in the features of a configuration that lists none, and names the columns left out.
///
/// # Errors
/// [`Error::Table`] for a table that cannot be read.
pub fn complete(config: &mut Config, table: &Table) -> Result<LeftOut, Error> {
    if !config.features.column.is_empty() {
        return Ok(Vec::new());
    }
    let (columns, left_out) = guess(table, &config.own_columns())?;
    config.features.column = columns;
    Ok(left_out)
}

/// Makes the campaign's file.
///
/// # Errors
/// [`Error::Conflict`] if the file exists, errors of the table, [`Error::Library`] for parameters of the algorithm.
pub fn init(path: &Path, table: &Table, mut config: Config) -> Result<(Campaign, Begun), Error> {
    if path.exists() {
        return Err(Error::Conflict(format!("{} exists already; choose another name", path.display())));
    }
    let left_out = complete(&mut config, table)?;
    let needed: Vec<String> = config.own_columns().into_iter().collect();
    table.batches(Some(&needed))?;
    let recipe = fit(&config, table)?;
    // Refuses parameters outside their range before the file is there.
    armwise::Learner::new(config.algorithm, recipe.dim(), config.promotion.len())?;
    let begun = Begun {
        promotions: config.promotion.iter().map(|promotion| promotion.name.clone()).collect(),
        features: recipe.dim(),
        sample: recipe.sample,
        left_out,
        recipe: recipe.clone(),
    };
    Ok((Campaign::create(path, Setup { config, recipe })?, begun))
}
