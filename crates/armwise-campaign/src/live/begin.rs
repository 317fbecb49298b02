//! How a served campaign begins: rules and features, from a program instead of from files.

use super::{Live, LiveOptions};
use crate::{
    Campaign, Error, complete,
    config::{Config, FeatureColumn, FeatureRules, Keep, Kind, room},
    core::Setup,
    input::Source,
    recipe::{Recipe, fit},
};
use armwise::Learner;
use std::{fmt, path::Path};

/// Where the features of a new campaign come from.
#[derive(Clone)]
pub enum Features<'a> {
    /// The caller makes them: this many numbers in the column `features` of every row, taken as they are.
    Dim(usize),
    /// A recipe that was fitted elsewhere, by the rules' list of columns.
    Recipe(Recipe),
    /// They are fitted on these rows, by the rules' list of columns, or by all that are of use.
    Rows(&'a dyn Source),
}

impl fmt::Debug for Features<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dim(dim) => write!(f, "Dim({dim})"),
            Self::Recipe(recipe) => write!(f, "Recipe({} features)", recipe.dim()),
            Self::Rows(rows) => write!(f, "Rows({:?})", rows.name()),
        }
    }
}

impl Live {
    /// Begins a campaign in a new file and serves it. A service has many rounds to a segment: give the rules a
    /// `rounds_per_segment` such as 256.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::Config`] for rules that cannot be used, errors of the rows, [`Error::Library`] for
    /// parameters of the algorithm.
    pub fn begin(path: &Path, config: Config, features: Features<'_>, options: LiveOptions) -> Result<Self, Error> {
        let (config, recipe) = made(config, features)?;
        Learner::new(config.algorithm, recipe.dim(), config.promotion.len())?;
        drop(Campaign::create(path, Setup::new(config, recipe))?);
        Self::open(path, options)
    }

    /// Whether the campaign began with these rules and features; amendments do not count.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`Error::Damaged`].
    pub fn began_with(&self, config: Config, features: Features<'_>) -> Result<bool, Error> {
        let (config, recipe) = made(config, features)?;
        self.read(|campaign| {
            let setup = campaign.first_setup()?;
            Ok(setup.config == config && setup.recipe == recipe)
        })
    }
}

/// The rules and features of a new campaign.
fn made(mut config: Config, features: Features<'_>) -> Result<(Config, Recipe), Error> {
    let recipe = match features {
        Features::Dim(0) => {
            let problem = "dim is 0; an arm has at least one feature".to_owned();
            return Err(Error::Config { place: "the rules".to_owned(), problem, cause: None });
        }
        Features::Dim(dim) => {
            let column = vec![FeatureColumn::new(Recipe::FEATURES, Kind::Vector)];
            config.features = FeatureRules { bias: false, column };
            // The features are stored with every decision, and nothing else could be made of them.
            if config.keep == Keep::Used {
                config.keep = Keep::None;
            }
            config.check("the rules")?;
            Recipe::of_dim(dim)
        }
        Features::Recipe(recipe) => {
            config.check("the rules")?;
            recipe
        }
        Features::Rows(rows) => {
            complete(&mut config, rows)?;
            config.check("the rules")?;
            fit(&config, rows)?
        }
    };
    room(recipe.dim(), config.promotion.len())?;
    Ok((config, recipe))
}
