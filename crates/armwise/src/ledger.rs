//! Which rewards have been learned: what makes a second one for the same arm of the same decision an error.
//!
//! The decision to know: it lives with the model, not with the decision, because a decision may be learned by
//! several processes from several copies. It can be cut: rounds before `open_from` are closed for good.

use crate::{ChosenArm, Error, Round};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

type Key = (u32, u64, Option<String>);

/// The rewards learned so far, by round and arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Pages", into = "Pages")]
pub(crate) struct Ledger {
    open_from: u64,
    rewards: BTreeMap<Round, BTreeMap<Key, f64>>,
}

/// The ledger as it is written: JSON has no maps with such keys.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pages {
    open_from: u64,
    rounds: Vec<Page>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Page {
    round: Round,
    rewards: Vec<crate::Reward>,
}

impl Ledger {
    /// Refuses a round that is closed.
    pub(crate) fn open(&self, round: Round) -> Result<(), Error> {
        if round.t >= self.open_from {
            Ok(())
        } else {
            Err(Error::RoundClosed { t: round.t, open_from: self.open_from })
        }
    }

    pub(crate) fn get(&self, round: Round, arm: &ChosenArm) -> Option<f64> {
        self.rewards.get(&round)?.get(&key(arm)).copied()
    }

    /// Books a reward, or takes it out with `None`.
    pub(crate) fn set(&mut self, round: Round, arm: &ChosenArm, reward: Option<f64>) {
        let page = self.rewards.entry(round).or_default();
        match reward {
            Some(reward) => page.insert(key(arm), reward),
            None => page.remove(&key(arm)),
        };
    }

    pub(crate) fn close_before(&mut self, t: u64) {
        self.open_from = self.open_from.max(t);
        self.rewards.retain(|round, _| round.t >= t);
    }
}

fn key(arm: &ChosenArm) -> Key {
    (arm.block, arm.id, arm.name.clone())
}

impl From<Pages> for Ledger {
    fn from(pages: Pages) -> Self {
        let page =
            |page: Page| (page.round, page.rewards.into_iter().map(|r| ((r.block, r.id, r.name), r.reward)).collect());
        Self { open_from: pages.open_from, rewards: pages.rounds.into_iter().map(page).collect() }
    }
}

impl From<Ledger> for Pages {
    fn from(ledger: Ledger) -> Self {
        let reward = |((block, id, name), reward)| crate::Reward { id, name, block, reward };
        let page = |(round, page): (Round, BTreeMap<Key, f64>)| Page {
            round,
            rewards: page.into_iter().map(reward).collect(),
        };
        Self { open_from: ledger.open_from, rounds: ledger.rewards.into_iter().map(page).collect() }
    }
}
