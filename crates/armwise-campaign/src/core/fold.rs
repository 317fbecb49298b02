//! The model as a function of which decision has which reward: decisions and outcomes of a segment become its sums,
//! segments are merged in their order.
//!
//! Every sum is added to in one fixed order (rounds ascending, decisions ascending, segments ascending, what the
//! campaign began with first), so the order, splitting and repetition of responses leave no trace, not even in the last
//! bit. The cost: a segment is summed again for every batch of its responses. A reward of an arm that was looked at with
//! probability q is (q x, r) in the sums, and (x, r) where nothing is said of it. Nothing here reads a file.

use super::{Answer, Counts, DecisionId, Fate, Flaw, Heard, Outcome, Sent, blocks::NO_SEND};
use armwise::{Model, Observation};
use std::collections::{BTreeMap, HashMap};

/// The last outcome of each decision that has one: a reward, or none for an undelivered send.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Last(HashMap<DecisionId, Option<Answer>>);

impl Last {
    /// From these outcomes, in order.
    #[must_use]
    pub fn of(heard: &[Heard]) -> Self {
        Self(heard.iter().map(|heard| (heard.outcome.decision, heard.outcome.answer)).collect())
    }

    /// After one more.
    pub fn hear(&mut self, outcome: &Outcome) {
        self.0.insert(outcome.decision, outcome.answer);
    }

    /// Whether there are no outcomes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A round with all that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Played {
    /// The round.
    pub round: u64,
    /// Its decisions, in their order.
    pub decisions: Vec<Sent>,
    /// Their outcomes.
    pub last: Last,
    /// Whether its response window has ended.
    pub closed: bool,
    /// Whether it was never sent.
    pub revoked: bool,
    /// What silence is worth, by the rules that held when it was chosen.
    pub default: f64,
    /// Whether its hold-out is learned from.
    pub hold_out_alike: bool,
    /// What silence of the hold-out is worth, if it is worth anything.
    pub hold_out_default: Option<f64>,
    /// The numbers of the decisions whose answer came but was put aside: they are not silent.
    pub aside: BTreeMap<u32, Flaw>,
}

impl Played {
    /// What became of a decision.
    #[must_use]
    pub fn fate(&self, sent: &Sent) -> Fate {
        let silence = if sent.hold_out { self.hold_out_default } else { Some(self.default) };
        match (self.last.0.get(&sent.id), silence) {
            _ if self.revoked => Fate::Revoked,
            (Some(None), _) => Fate::Undelivered,
            (Some(Some(answer)), _) => Fate::Answered(*answer),
            (None, Some(silence)) if self.closed && !self.aside.contains_key(&sent.id.number) => Fate::Silent(silence),
            (None, _) => Fate::Pending,
        }
    }

    /// The decisions that are learned from, with what is learned of them.
    pub fn learned(&self) -> impl Iterator<Item = (&Sent, Answer)> {
        let sent = self.decisions.iter().filter(|sent| self.hold_out_alike || !sent.hold_out);
        sent.filter_map(|sent| Some((sent, self.fate(sent).answer()?)))
    }

    /// What became of the decisions, in numbers.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for sent in self.decisions.iter().filter(|_| !self.revoked) {
            counts.add(sent.hold_out, self.fate(sent), self.aside.contains_key(&sent.id.number));
        }
        counts
    }

    /// As [`counts`](Self::counts), as an entry leaves them that closed the round together with others: silence is added at
    /// once, not decision by decision.
    pub(super) fn counts_closed_at_once(&self) -> Counts {
        let open = Self { closed: false, ..self.clone() };
        let mut counts = open.counts();
        counts.close(self.default, self.hold_out_default);
        counts
    }
}

/// The name of the block that learns a decision's reward: the promotion's, or that of what happens without a send.
#[must_use]
pub fn learned_as(sent: &Sent) -> &str {
    if sent.hold_out { NO_SEND } else { &sent.promotion }
}

/// The segment of a round, if each segment has `length` consecutive rounds; segments count from 1, and round 0, which is
/// what happened before the first one, is a segment of its own.
#[must_use]
pub fn segment_of(round: u64, rounds_per_segment: u64) -> u64 {
    if round == 0 { 0 } else { (round - 1) / rounds_per_segment.max(1) + 1 }
}

/// The sums of a segment: `empty` plus the rewards of its rounds, which must be ascending. `block_of` gives the block
/// of a name.
///
/// # Errors
/// The library's, for features or rewards that a model cannot learn from, and for an unknown promotion.
pub fn sum<'a>(
    empty: Model,
    rounds: impl IntoIterator<Item = &'a Played>,
    block_of: impl Fn(&str) -> Option<usize>,
) -> Result<Model, armwise::Error> {
    let mut model = empty;
    for round in rounds {
        let rows: Vec<_> =
            round.learned().map(|(row, answer)| (row, answer.seen(&row.features), answer.reward)).collect();
        let mut seen = Vec::with_capacity(rows.len());
        for (row, x, reward) in &rows {
            // The model refuses a block that does not exist.
            let block = block_of(learned_as(row)).map_or(u32::MAX, |block| block as u32);
            seen.push(Observation { t: round.round, block, x, reward: *reward });
        }
        model.observe_batch(&seen)?;
    }
    Ok(model)
}
