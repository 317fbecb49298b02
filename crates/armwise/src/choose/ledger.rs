//! The ledger of learned rewards: it makes a second reward for the same arm of the same decision an error.
//!
//! It is kept with the model, not with the decision, because several processes may learn from copies of one decision.
//! Each reward has a checksum of the features it was learned with, so that an altered decision cannot unlearn something
//! that was never learned. Rounds before `open_from` are closed for good.

use crate::{ChosenArm, Error, Round};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, hash::Hasher};
use twox_hash::XxHash64;

type Key = (u32, u64, Option<String>);
type Page = BTreeMap<Key, Entry>;

/// A learned reward and the checksum of its features.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Entry {
    reward: f64,
    features: u64,
}

/// The rewards learned so far, by round and arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub(crate) struct Ledger {
    open_from: u64,
    rounds: BTreeMap<Round, Page>,
}

impl Ledger {
    /// Refuses a round that is closed.
    pub(crate) fn open(&self, round: Round) -> Result<(), Error> {
        let open_from = self.open_from;
        if round.t >= open_from { Ok(()) } else { Err(Error::RoundClosed { t: round.t, open_from }) }
    }

    /// The reward learned for an arm, if there is one.
    pub(crate) fn get(&self, round: Round, arm: &ChosenArm) -> Result<Option<f64>, Error> {
        match self.rounds.get(&round).and_then(|page| page.get(&key(arm))) {
            Some(entry) if entry.features != checksum(arm) => {
                Err(Error::DecisionChanged { id: arm.id, block: arm.block, t: round.t })
            }
            entry => Ok(entry.map(|entry| entry.reward)),
        }
    }

    /// Books a reward, or removes it with `None`.
    pub(crate) fn set(&mut self, round: Round, arm: &ChosenArm, reward: Option<f64>) {
        let page = self.rounds.entry(round).or_default();
        match reward {
            Some(reward) => page.insert(key(arm), Entry { reward, features: checksum(arm) }),
            None => page.remove(&key(arm)),
        };
    }

    pub(crate) fn close_before(&mut self, t: u64) {
        self.open_from = self.open_from.max(t);
        self.rounds.retain(|round, _| round.t >= t);
    }

    /// Both ledgers as one, unless a reward is in both.
    pub(crate) fn merged(&self, other: &Self) -> Result<Self, Error> {
        let mut both = self.clone();
        for (round, page) in &other.rounds {
            let mine = both.rounds.entry(*round).or_default();
            for (key, entry) in page {
                if let Some(Entry { reward, .. }) = mine.insert(key.clone(), *entry) {
                    return Err(Error::SecondReward { id: key.1, block: key.0, t: round.t, reward });
                }
            }
        }
        both.close_before(other.open_from);
        Ok(both)
    }
}

fn key(arm: &ChosenArm) -> Key {
    (arm.block, arm.id, arm.name.clone())
}

fn checksum(arm: &ChosenArm) -> u64 {
    let mut hash = XxHash64::with_seed(0);
    arm.features.iter().for_each(|x| hash.write(&x.to_bits().to_le_bytes()));
    hash.finish()
}

/// The ledger as it is saved: JSON has no maps with these keys.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    open_from: u64,
    rounds: Vec<WrittenRound>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRound {
    round: Round,
    rewards: Vec<WrittenReward>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenReward {
    id: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    block: u32,
    reward: f64,
    features: u64,
}

impl From<Written> for Ledger {
    fn from(written: Written) -> Self {
        let entry = |r: WrittenReward| ((r.block, r.id, r.name), Entry { reward: r.reward, features: r.features });
        let page = |round: WrittenRound| (round.round, round.rewards.into_iter().map(entry).collect());
        Self { open_from: written.open_from, rounds: written.rounds.into_iter().map(page).collect() }
    }
}

impl From<Ledger> for Written {
    fn from(ledger: Ledger) -> Self {
        let reward = |((block, id, name), entry): (Key, Entry)| {
            let Entry { reward, features } = entry;
            WrittenReward { id, name, block, reward, features }
        };
        let round = |(round, page): (Round, Page)| {
            let rewards = page.into_iter().map(reward).collect();
            WrittenRound { round, rewards }
        };
        Self { open_from: ledger.open_from, rounds: ledger.rounds.into_iter().map(round).collect() }
    }
}
