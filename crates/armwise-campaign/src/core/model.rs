//! The campaign's model: the stored sums of its segments, merged; or all of it summed again from decisions and
//! outcomes.
//!
//! Merging begins with the merged sums of the last checkpoint, so its cost depends only on the number of segments
//! since. A reward for an earlier segment makes it start again from the first segment (rare), and a new checkpoint
//! follows at once.

use super::{
    Campaign, Kind, Origin, Refusal, Setup, Sha,
    blocks::{self, widened},
    fold, model_hash, sums,
};
use crate::Error;
use armwise::{Auto, Gamma, Lambda, Learner, Model, Policy, Round};
use std::{
    borrow::{Borrow, Cow},
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A model that knows nothing, with the blocks of the first rules.
fn empty(setup: &Setup, blocks: usize) -> Result<Model, Error> {
    let model = Model::new(setup.recipe.dim(), blocks)?.with_gamma(setup.config.gamma)?;
    Ok(model.with_unit(setup.rounds_per_segment.max(1))?)
}

/// What the campaign began with; `blocks` is the number of its first promotions.
pub(super) fn start(setup: &Setup, blocks: usize) -> Result<Model, Error> {
    setup.start.clone().map_or_else(|| empty(setup, blocks), Ok)
}

/// A model and the sums of these segments; and, on the way, what is merged of all segments up to `keep`.
fn merged(
    mut model: Model,
    segments: impl Iterator<Item = u64>,
    sums: impl Fn(u64) -> Result<Arc<Model>, Error>,
    keep: Option<u64>,
) -> Result<(Model, Option<Model>), Error> {
    let mut kept = None;
    for segment in segments {
        if keep.is_some_and(|keep| segment > keep) && kept.is_none() {
            kept = Some(model.clone());
        }
        blocks::merge(&mut model, &*sums(segment)?)?;
    }
    let kept = keep.map(|_| kept.unwrap_or_else(|| model.clone()));
    Ok((model, kept))
}

impl Campaign {
    /// What the campaign began with.
    pub(super) fn start(&self) -> Result<Model, Error> {
        start(&self.setup, self.first_blocks)
    }

    /// The stored sums of a segment, if they are those that the journal vouches for.
    pub(super) fn stored_sums(&self, segment: u64, hash: Sha) -> Result<Option<Model>, Error> {
        let bytes = self.journal.sums(segment)?;
        Ok(bytes.filter(|bytes| Sha::of(bytes) == hash).and_then(|bytes| sums::decode(&bytes)))
    }

    /// The sums of a segment: the stored ones, or computed from the journal if those do not match their hash.
    pub(super) fn sums_of(&self, segment: u64, hash: Sha) -> Result<Arc<Model>, Error> {
        if let Some((_, sums)) = self.recent.borrow().sums.get(&segment).filter(|(own, _)| *own == hash) {
            return Ok(Arc::clone(sums));
        }
        let until = if self.state.length == 1 { u64::MAX } else { self.state.fold };
        let sums = match self.stored_sums(segment, hash)? {
            Some(sums) => sums,
            None => self.replay_segment(segment, until)?.map_or_else(|| empty(&self.setup, self.first_blocks), Ok)?,
        };
        let sums = Arc::new(sums);
        if self.state.length > 1 {
            self.recent.borrow_mut().keep_sums(segment, hash, Arc::clone(&sums));
        }
        Ok(sums)
    }

    /// The sums of a segment's rounds, whose features are those of the recipe in `setup`.
    pub(super) fn sum<P: Borrow<fold::Played>>(&self, setup: &Setup, rounds: &[P]) -> Result<Model, Error> {
        let rounds = || rounds.iter().map(Borrow::borrow);
        let block = |name: &str| self.block(name);
        let learned = rounds().flat_map(fold::Played::learned);
        let largest = learned.filter_map(|(sent, _)| block(fold::learned_as(sent))).max();
        let empty = widened(empty(setup, self.first_blocks)?, largest.map_or(0, |block| block + 1))?;
        Ok(fold::sum(empty, rounds(), block)?)
    }

    /// The sums of a segment as they are after the last entry; none if it has no outcomes.
    pub(super) fn sum_now(&self, segment: u64) -> Result<Option<Model>, Error> {
        let numbers = self.rounds_in(segment)?;
        let recent = self.recent.borrow();
        let mut rounds = Vec::with_capacity(numbers.len());
        for round in numbers {
            rounds.push(match recent.rounds.get(&round) {
                Some(played) => Cow::Borrowed(played),
                None => Cow::Owned(self.played(round, u64::MAX)?),
            });
        }
        self.replay_rounds(&self.setup, &rounds)
    }

    /// The model with some segments' sums replaced; and, on the way, the merged sums of all segments up to `keep`.
    pub(super) fn merge(
        &self,
        changed: &BTreeMap<u64, Arc<Model>>,
        keep: Option<u64>,
    ) -> Result<(Model, Option<Model>), Error> {
        let first = changed.keys().next();
        let begin = self.prefix.as_ref().filter(|prefix| {
            first.is_none_or(|&first| first > prefix.through) && keep.is_none_or(|keep| keep >= prefix.through)
        });
        let (model, next) = match begin {
            Some(prefix) => (prefix.model.clone(), prefix.through + 1),
            None => (self.start()?, 0),
        };
        let mut segments: BTreeSet<u64> = self.state.sums.range(next..).map(|(&segment, _)| segment).collect();
        segments.extend(changed.keys());
        let sums = |segment: u64| match changed.get(&segment) {
            Some(sums) => Ok(Arc::clone(sums)),
            None => self.sums_of(segment, self.state.sums[&segment]),
        };
        merged(model, segments.into_iter(), sums, keep)
    }

    /// As [`merge`](Self::merge), of nothing but the sums given, which are those of another recipe.
    pub(super) fn merge_anew(
        &self,
        setup: &Setup,
        changed: &BTreeMap<u64, Arc<Model>>,
        keep: Option<u64>,
    ) -> Result<(Model, Option<Model>), Error> {
        let sums = |segment: u64| Ok(Arc::clone(&changed[&segment]));
        merged(start(setup, self.first_blocks)?, changed.keys().copied(), sums, keep)
    }

    /// The model after the last entry.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the sums are not those of the journal.
    pub fn model(&self) -> Result<Model, Error> {
        let (model, _) = self.merge(&BTreeMap::new(), None)?;
        if model_hash(&model) == self.state.model {
            return Ok(model);
        }
        let model = self.replay(u64::MAX)?;
        if model_hash(&model) == self.state.model {
            return Ok(model);
        }
        Err(self.damaged("the model is not the one that the journal names"))
    }

    /// The sums of a segment after entry `until`, from decisions and outcomes alone; none if it has no outcomes.
    fn replay_segment(&self, segment: u64, until: u64) -> Result<Option<Model>, Error> {
        if self.is_compacted(segment) {
            return self.compacted_sums(segment, until);
        }
        self.replay_rounds(&*self.setup_after(until)?, &self.played_in(segment, until)?)
    }

    /// The rounds of a segment as they were after entry `until`.
    pub(super) fn played_in(&self, segment: u64, until: u64) -> Result<Vec<fold::Played>, Error> {
        let mut played = Vec::new();
        for round in self.rounds_in(segment)? {
            if self.info(round)?.seq <= until {
                played.push(self.played(round, until)?);
            }
        }
        Ok(played)
    }

    /// The sums of a segment's rounds; none if they have no outcomes.
    pub(super) fn replay_rounds<P: Borrow<fold::Played>>(
        &self,
        setup: &Setup,
        rounds: &[P],
    ) -> Result<Option<Model>, Error> {
        let touched = rounds.iter().map(Borrow::borrow).any(|round| round.closed || !round.last.is_empty());
        touched.then(|| self.sum(setup, rounds)).transpose()
    }

    /// Whether the single decisions of a segment were given up.
    pub(super) fn is_compacted(&self, segment: u64) -> bool {
        segment > 0 && self.span(segment).1 <= self.state.compacted
    }

    /// The sums of a segment whose decisions were given up, as they were after entry `until`: they are nowhere else.
    pub(super) fn compacted_sums(&self, segment: u64, until: u64) -> Result<Option<Model>, Error> {
        let Some(&hash) = self.state.sums.get(&segment) else { return Ok(None) };
        if self.state.touched.get(&segment).is_some_and(|&seq| seq > until) {
            return Err(Refusal::Compacted { round: self.span(segment).0, through: self.state.compacted }.into());
        }
        match self.stored_sums(segment, hash)? {
            Some(sums) => Ok(Some(sums)),
            None => {
                Err(self.damaged(format!("the sums of segment {segment}, whose decisions were given up, are damaged")))
            }
        }
    }

    /// The last entry up to `until` that learned what was heard. With one round to a segment every entry does.
    pub(super) fn fold_before(&self, until: u64) -> Result<u64, Error> {
        if self.state.length == 1 {
            return Ok(until);
        }
        if until >= self.state.fold {
            return Ok(self.state.fold);
        }
        let fold = self.journal.last_of_kind(Kind::Fold, until)?.map_or(0, |entry| entry.seq);
        let logged = self.state.logged.iter().map(|info| info.seq);
        let others = self.state.recipes.iter().skip(1).copied().chain(logged);
        Ok(others.filter(|&seq| seq <= until).max().unwrap_or(0).max(fold))
    }

    /// The model in force after entry `until`. Of segments that have not changed since, the stored sums are taken, so its
    /// cost grows with what came later.
    ///
    /// # Errors
    /// [`Error::Damaged`], [`Error::Refused`] where single decisions were given up since.
    pub fn model_at(&self, until: u64) -> Result<Model, Error> {
        if self.state.length == 1 {
            return self.replay(until);
        }
        let until = self.fold_before(until)?;
        let recipe_since = self.state.recipes.last().is_some_and(|&seq| seq > until);
        let mut model = start(&*self.setup_after(until)?, self.first_blocks)?;
        for segment in self.segments(until) {
            let same = !recipe_since && self.state.touched.get(&segment).is_none_or(|&seq| seq <= until);
            match self.state.sums.get(&segment).filter(|_| same) {
                Some(&hash) => blocks::merge(&mut model, &*self.sums_of(segment, hash)?)?,
                None => {
                    if let Some(sums) = self.replay_segment(segment, until)? {
                        blocks::merge(&mut model, &sums)?;
                    }
                }
            }
        }
        Ok(model)
    }

    /// The model in force after entry `until`, from decisions and outcomes alone, without stored sums.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn replay(&self, until: u64) -> Result<Model, Error> {
        self.replay_to(u64::MAX, until)
    }

    /// As [`replay`](Self::replay), only the segments up to `through`.
    pub(super) fn replay_to(&self, through: u64, until: u64) -> Result<Model, Error> {
        let until = self.fold_before(until)?;
        let mut model = start(&*self.setup_after(until)?, self.first_blocks)?;
        for segment in self.segments(until).into_iter().filter(|&segment| segment <= through) {
            if let Some(sums) = self.replay_segment(segment, until)? {
                blocks::merge(&mut model, &sums)?;
            }
        }
        Ok(model)
    }

    /// The learner as a file that the library and the Python package load, with the round to go on with and with the
    /// recipe of its features.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn saved_learner(&self) -> Result<String, Error> {
        let next = Round::new(self.config().seed, self.next_round());
        let origin = Origin {
            promotions: self.config().promotion.iter().map(|promotion| promotion.name.clone()).collect(),
            features: self.config().features.clone(),
            recipe: self.recipe().clone(),
        };
        let about = serde_json::to_string(&origin).map_err(|error| Error::Usage(error.to_string()))?;
        Ok(self.learner(&self.model()?)?.with_about(Some(about)).to_json_with(Some(next))?)
    }

    /// What the algorithm would choose by itself in the next round; none where all of its parameters are given.
    ///
    /// # Errors
    /// [`Error::Library`] where the noise cannot be estimated.
    pub fn auto(&self, model: &Model) -> Result<Option<Auto>, Error> {
        let algorithm = self.config().algorithm;
        if algorithm.lambda() != Lambda::Auto && !algorithm.estimates() && self.config().gamma != Gamma::Auto {
            return Ok(None);
        }
        Ok(self.learner(model)?.auto(Round::new(self.config().seed, self.next_round()))?)
    }

    /// lambda of the next round.
    pub(crate) fn lambda(&self, model: &Model) -> Result<f64, Error> {
        Ok(self.auto(model)?.map_or(self.config().algorithm.ridge(), |auto| auto.lambda))
    }

    /// A learner with what a model knows of the present promotions and the algorithm that the rules name now.
    ///
    /// # Errors
    /// [`Error::Library`] for parameters outside their range.
    pub fn learner(&self, model: &Model) -> Result<Learner, Error> {
        self.learner_by(self.config().algorithm, model, (self.config(), self.recipe()))
    }
}
