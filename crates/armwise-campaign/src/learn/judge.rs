//! Whether a row changes something, says what is known, or is put aside.
//!
//! `learn` never changes a reward that is there, `correct` never gives a first one, and a bounce
//! never overrules an answer. So which of two contradicting rows counts never depends on luck.

use super::{LearnOptions, Rejected, Response, find::Finder};
use crate::{
    Error,
    file::{DecisionId, EventKind, Outcome},
    table::Cell,
};
use std::collections::{BTreeMap, BTreeSet};

pub(super) enum Verdict {
    Apply(Outcome),
    Repeated,
    Reject(Rejected),
}

fn reject(kind: &'static str, text: impl Into<String>) -> Verdict {
    Verdict::Reject(Rejected(kind, text.into()))
}

/// What a row says, once its decision is found.
pub(super) type Claim = Result<Outcome, Verdict>;

/// Finds the decision and the reward of a row.
pub(super) fn claim(
    finder: &Finder<'_>,
    response: &Response,
    kind: EventKind,
    options: LearnOptions,
    seen_before: bool,
) -> Result<Claim, Error> {
    let reward = match reward(finder, response, kind, options) {
        Ok(reward) => reward,
        Err(rejected) => return Ok(Err(Verdict::Reject(rejected))),
    };
    Ok(match finder.find(response)? {
        Ok(decision) => Ok(Outcome { decision, reward }),
        // It named a single decision when the table was read first.
        Err(Rejected("ambiguous", _)) if seen_before => Err(Verdict::Repeated),
        Err(rejected) => Err(Verdict::Reject(rejected)),
    })
}

/// The decisions about which a table contradicts itself: none of their rows count, whichever comes first.
pub(super) fn contradictions<'a>(claims: impl Iterator<Item = &'a Outcome>) -> BTreeSet<DecisionId> {
    let mut first: BTreeMap<DecisionId, Option<f64>> = BTreeMap::new();
    let differs = |claim: &&Outcome| !same(*first.entry(claim.decision).or_insert(claim.reward), claim.reward);
    claims.filter(differs).map(|claim| claim.decision).collect()
}

/// Judges a row by what is known of its decision.
pub(super) fn judge(finder: &Finder<'_>, outcome: Outcome, kind: EventKind) -> Result<Verdict, Error> {
    let (id, reward) = (outcome.decision, outcome.reward);
    let history = finder.history(id)?;
    let last = history.last().copied();
    let closed = finder.closed(id);
    Ok(match kind {
        EventKind::Learn => match last {
            _ if history.iter().any(|&(kind, old)| kind == EventKind::Learn && same(old, reward)) => Verdict::Repeated,
            None if closed => {
                reject("closed", format!("round {} is closed and silence was counted; use correct", id.round))
            }
            None => Verdict::Apply(outcome),
            Some((_, None)) => reject("conflict", format!("{id} was not delivered; use correct if it was")),
            Some((_, old)) => reject("conflict", format!("{id} has the reward {}; use correct", shown(old))),
        },
        EventKind::Correct => match last {
            None if !closed => reject("no-reward", format!("{id} has no reward yet; use learn")),
            Some((_, old)) if same(old, reward) => Verdict::Repeated,
            _ => Verdict::Apply(outcome),
        },
        _ => match last {
            Some((_, None)) => Verdict::Repeated,
            None => Verdict::Apply(outcome),
            Some((_, old)) => reject("conflict", format!("{id} has the reward {}, so it arrived", shown(old))),
        },
    })
}

/// The reward of a row; none for a bounce.
fn reward(
    finder: &Finder<'_>,
    response: &Response,
    kind: EventKind,
    options: LearnOptions,
) -> Result<Option<f64>, Rejected> {
    if kind == EventKind::Undelivered {
        return Ok(None);
    }
    let bad = |text: String| Err(Rejected("invalid", text));
    let reward = match (&response.reward, options.responders) {
        (None, Some(worth)) => worth,
        (None, None) => return bad("the reward is missing".to_owned()),
        (Some(text), _) => match text.trim().parse::<f64>() {
            Ok(reward) if reward.is_finite() => reward + 0.0,
            _ => return bad(format!("the reward {:?} is not a finite number", crate::table::short(text))),
        },
    };
    let rule = finder.campaign().config().reward;
    if rule.min.is_some_and(|min| reward < min) || rule.max.is_some_and(|max| reward > max) || reward.abs() > 1e100 {
        return bad(format!("the reward {reward} is outside what the campaign allows"));
    }
    Ok(Some(reward))
}

fn same(a: Option<f64>, b: Option<f64>) -> bool {
    a.map(f64::to_bits) == b.map(f64::to_bits)
}

fn shown(reward: Option<f64>) -> String {
    match Cell::from(reward) {
        Cell::Number(number) => number.to_string(),
        _ => "undelivered".to_owned(),
    }
}
