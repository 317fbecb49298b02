//! The model as a function of the log: the sums of each round, in the order of its decisions, added up round by round.
//!
//! Rounds are summed separately and only a round that something happened to is summed again.
//! That makes the model independent of the order in which rewards came, bit for bit, at the price of reading a round
//! for every batch of its responses. Snapshots keep the sums of the other rounds; one that does not fit its checksum or
//! its event is made anew from the log.

use super::{Campaign, EventKind, Fate, Fates, Setup, event::hex};
use crate::Error;
use armwise::{Learner, Model, Observation, Round};
use rusqlite::{OptionalExtension, Transaction, params};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// The hash by which models are compared: SHA-256 of the model as compact JSON, which has every bit of every number. The
/// sums of squares are left out: campaigns whose events hold such hashes are older than they.
///
/// # Panics
/// Never: a model is finite numbers, which JSON has.
#[must_use]
pub fn model_hash(model: &Model) -> String {
    let json = serde_json::to_vec(&model.without_rr()).expect("a model is finite numbers, which JSON has");
    hex(Sha256::new().chain_update(json))
}

/// A model that knows nothing.
pub(super) fn empty(setup: &Setup) -> Result<Model, Error> {
    Ok(Model::new(setup.recipe.dim(), setup.config.promotion.len())?.with_gamma(setup.config.gamma)?)
}

/// What the campaign began with and the sums of all rounds together, added in the order of the rounds.
pub(super) fn merge<'a>(setup: &Setup, rounds: impl Iterator<Item = &'a Model>) -> Result<Model, Error> {
    let mut model = setup.start.clone().map_or_else(|| empty(setup), Ok)?;
    for round in rounds {
        model.merge(round)?;
    }
    Ok(model)
}

fn checksum(seq: u64, model: &str) -> String {
    hex(Sha256::new().chain_update(seq.to_le_bytes()).chain_update(model))
}

/// Keeps the sums of a round as of an event.
pub(super) fn store(transaction: &Transaction<'_>, round: u64, seq: u64, model: &Model) -> rusqlite::Result<()> {
    let json = serde_json::to_string(model).expect("a model is finite numbers, which JSON has");
    let sum = checksum(seq, &json);
    transaction
        .execute(
            "INSERT OR REPLACE INTO snapshot VALUES (?, ?, ?, ?)",
            params![round.cast_signed(), seq.cast_signed(), json, sum],
        )
        .map(|_| ())
}

impl Campaign {
    /// The event after which the sums of a round last changed.
    pub(super) fn last_touch(&self, round: u64) -> Option<u64> {
        self.events.iter().rev().find(|event| event.touched().contains(&round)).map(|event| event.seq)
    }

    /// The kept sums of a round, if they are good.
    pub(super) fn snapshot(&self, round: u64, seq: u64) -> Option<Model> {
        let mut statement = self.db.prepare_cached("SELECT seq, model, checksum FROM snapshot WHERE round = ?").ok()?;
        let row = statement
            .query_row([round.cast_signed()], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
            })
            .optional();
        let (found, model, sum) = row.ok()??;
        (found.cast_unsigned() == seq && checksum(seq, &model) == sum).then(|| serde_json::from_str(&model).ok())?
    }

    /// The sums of a round whose decisions have these fates.
    pub(super) fn sum_round(&self, round: u64, fates: &Fates, closed: bool) -> Result<Model, Error> {
        let mut model = empty(&self.setup)?;
        let sent = self.sent(round)?;
        let default = self.config().reward.default;
        let mut seen = Vec::with_capacity(sent.len());
        for row in sent.iter().filter(|row| !row.control) {
            let fate = Fate::after(fates.0.get(&row.id).copied(), closed);
            let Some(reward) = fate.reward(default) else { continue };
            let block = self.config().block(&row.promotion).ok_or_else(|| Error::Damaged {
                path: self.path.clone(),
                problem: format!("decision {} is for an unknown promotion {:?}", row.id, row.promotion),
                cause: None,
            })?;
            seen.push(Observation { t: round, block: block as u32, x: &row.features, reward });
        }
        model.observe_batch(&seen)?;
        Ok(model)
    }

    /// The sums of a round as of an event, from the log alone.
    pub(super) fn replay_round(&self, round: u64, until: u64) -> Result<Model, Error> {
        let mut fates = Fates::default();
        let mut closed = false;
        for event in self.events.iter().filter(|event| event.seq <= until && event.touched().contains(&round)) {
            if event.kind == EventKind::Close {
                closed = true;
            } else {
                let mut outcomes = self.outcomes(event.seq)?;
                outcomes.retain(|outcome| outcome.decision.round == round);
                fates.apply(event.kind, &outcomes);
            }
        }
        self.sum_round(round, &fates, closed)
    }

    /// The sums of every round that something was learned from.
    pub(super) fn round_models(&self) -> Result<BTreeMap<u64, Model>, Error> {
        let mut models = BTreeMap::new();
        for &round in self.rounds().keys() {
            if let Some(seq) = self.last_touch(round) {
                let model = match self.snapshot(round, seq) {
                    Some(model) => model,
                    None => self.replay_round(round, seq)?,
                };
                models.insert(round, model);
            }
        }
        Ok(models)
    }

    /// The model after the last event.
    ///
    /// # Errors
    /// [`Error::Damaged`] if the file's sums are not those of its log.
    pub fn model(&self) -> Result<Model, Error> {
        let model = merge(&self.setup, self.round_models()?.values())?;
        let expected = self.events.last().map_or("", |event| &event.model);
        if model_hash(&model) == expected {
            return Ok(model);
        }
        let model = self.replay(u64::MAX)?;
        if model_hash(&model) == expected {
            return Ok(model);
        }
        let problem = "the model is not the one that the log names".to_owned();
        Err(Error::Damaged { path: self.path.clone(), problem, cause: None })
    }

    /// The model after event `until`, from the log alone, without snapshots.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn replay(&self, until: u64) -> Result<Model, Error> {
        let chosen = self.events.iter().filter(|event| event.kind == EventKind::Choose && event.seq <= until);
        let mut rounds: Vec<u64> = chosen.filter_map(|event| event.round).collect();
        rounds.sort_unstable();
        let touched =
            |round: &u64| self.events.iter().any(|event| event.seq <= until && event.touched().contains(round));
        let models = rounds.into_iter().filter(touched).map(|round| self.replay_round(round, until));
        merge(&self.setup, models.collect::<Result<Vec<_>, _>>()?.iter())
    }

    /// The learner as a file that the library and the Python package load, with the round to go on with.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn saved_learner(&self) -> Result<String, Error> {
        let next = Round::new(self.config().seed, self.next_round());
        Ok(self.learner(self.model()?)?.to_json_with(Some(next))?)
    }

    /// A learner with this model and the campaign's algorithm.
    ///
    /// # Errors
    /// [`Error::Library`] for parameters outside their range.
    pub fn learner(&self, model: Model) -> Result<Learner, Error> {
        Ok(Learner::with_model(self.config().algorithm, model)?.with_ties(self.config().ties))
    }
}
