//! The rules and the recipe that hold now, or held after an entry or when a round was chosen.
//!
//! Rules come from `init` and from amendments. An entry that holds them is believed only if its body has the hash that the
//! state keeps of it.

use super::{Campaign, Command, Entry, Rules, Setup, Sha};
use crate::{Error, config::Config, recipe::Recipe};
use std::borrow::Cow;

impl Campaign {
    /// What `init` froze, with the rules that hold now.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The entry with the rules that hold now.
    pub(crate) fn rules_seq(&self) -> u64 {
        self.rules_now
    }

    /// What `init` froze, without what later entries changed.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn first_setup(&self) -> Result<Setup, Error> {
        let first = self.amended(1)?;
        let (config, recipe) = (first.config, first.recipe.unwrap_or_else(|| self.setup.recipe.clone()));
        Ok(Setup { config, recipe, ..self.setup.clone() })
    }

    /// The rules that hold now.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.setup.config
    }

    /// The rules that held when a round was chosen.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn config_of(&self, round: u64) -> Result<Cow<'_, Config>, Error> {
        self.rules(self.info(round)?.rules)
    }

    /// The rules that held after entry `until`.
    pub(super) fn config_after(&self, until: u64) -> Result<Cow<'_, Config>, Error> {
        self.rules(self.state.rules.iter().rev().find(|rules| rules.seq <= until).map_or(1, |rules| rules.seq))
    }

    /// The rules in an entry.
    pub(super) fn rules(&self, seq: u64) -> Result<Cow<'_, Config>, Error> {
        if seq == self.rules_now {
            return Ok(Cow::Borrowed(&self.setup.config));
        }
        Ok(Cow::Owned(self.amended(seq)?.config))
    }

    /// What an entry says of the rules, checked.
    pub(super) fn amended(&self, seq: u64) -> Result<Rules, Error> {
        let Some(known) = self.state.rules.iter().find(|rules| rules.seq == seq) else {
            return Err(self.damaged(format!("entry {seq} holds no rules")));
        };
        let entry = self.journal.entry(seq)?.filter(|entry| Sha::of(&entry.body) == known.body);
        match entry.as_ref().map(Entry::command) {
            Some(Ok(Command::Init(setup))) => {
                Ok(Rules { config: setup.config, blocks: Vec::new(), recipe: Some(setup.recipe) })
            }
            Some(Ok(Command::Amend(rules))) => Ok(*rules),
            _ => Err(self.damaged(format!("entry {seq} is not the one that the journal vouches for"))),
        }
    }

    /// Makes the rules of entry `seq` those that hold now.
    pub(super) fn obey(&mut self, seq: u64, rules: Rules) {
        if !rules.blocks.is_empty() {
            self.blocks = rules.blocks;
        }
        if let Some(recipe) = rules.recipe {
            self.setup.recipe = recipe;
        }
        (self.setup.config, self.rules_now) = (rules.config, seq);
    }

    /// The entry whose recipe held after entry `until`.
    pub(super) fn recipe_seq(&self, until: u64) -> u64 {
        self.state.recipes.iter().rev().copied().find(|&seq| seq <= until).unwrap_or(1)
    }

    /// The recipe that held after entry `until`.
    pub(super) fn recipe_of_entry(&self, until: u64) -> Result<Cow<'_, Recipe>, Error> {
        let seq = self.recipe_seq(until);
        // While a campaign is opened, `rules_now` is the first entry, whose recipe it has.
        if seq == self.recipe_seq(self.rules_now) {
            return Ok(Cow::Borrowed(&self.setup.recipe));
        }
        match self.amended(seq)?.recipe {
            Some(recipe) => Ok(Cow::Owned(recipe)),
            None => Err(self.damaged(format!("entry {seq} holds no recipe"))),
        }
    }

    /// The recipe that made the features of a round when it was chosen.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Damaged`].
    pub fn recipe_of(&self, round: u64) -> Result<Cow<'_, Recipe>, Error> {
        self.recipe_of_entry(self.info(round)?.seq)
    }

    /// Rules and recipe as they were after entry `until`.
    pub(super) fn setup_after(&self, until: u64) -> Result<Cow<'_, Setup>, Error> {
        if until >= self.rules_now {
            return Ok(Cow::Borrowed(&self.setup));
        }
        let (config, recipe) = (self.config_after(until)?.into_owned(), self.recipe_of_entry(until)?.into_owned());
        Ok(Cow::Owned(Setup { config, recipe, ..self.setup.clone() }))
    }

    /// The features.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.setup.recipe
    }
}
