//! Whether a row changes something, repeats what is known, or is put aside.
//!
//! A reward never replaces an earlier one, a correction never gives a first one, and a bounce never overrules an
//! answer. So it never depends on luck which of two contradicting rows counts. The same reward of an arm that was looked
//! at with another probability is another answer.

use super::{Answer, DecisionId, Feedback, Kind, Outcome, Rejection, find::Finder, learn::Response};
use crate::{Error, config::RewardRule, table::flag};
use std::collections::{BTreeMap, BTreeSet};

/// What is to be done with a row.
pub(super) enum Verdict {
    Apply(Outcome),
    Repeated,
    Reject(Rejection),
}

/// What a row says.
pub(super) enum Claim {
    /// What became of a decision.
    Is(Outcome),
    /// Nothing that can be used; the decision it is about, if that is clear.
    Not(Option<DecisionId>, Rejection),
}

impl Claim {
    pub(super) fn outcome(&self) -> Option<&Outcome> {
        if let Self::Is(outcome) = self { Some(outcome) } else { None }
    }
}

/// Finds the decision and the answer of a row.
pub(super) fn claim(finder: &Finder<'_>, response: &Response, feedback: Feedback) -> Result<Claim, Error> {
    let found = finder.find(response)?;
    let answer = match answer(response, feedback) {
        Ok(answer) => answer,
        Err(rejection) => return Ok(Claim::Not(found.ok(), rejection)),
    };
    // Without a decision there is no round whose rules could judge the reward, so the present rules do.
    let rule = finder.reward_rule(found.as_ref().ok().copied())?;
    if let Some(outside) = answer.filter(|answer| is_outside(rule, answer.reward)) {
        return Ok(Claim::Not(found.ok(), Rejection::RewardOutside(outside.reward)));
    }
    Ok(match found {
        Ok(decision) => Claim::Is(Outcome { decision, answer }),
        Err(rejection) => Claim::Not(None, rejection),
    })
}

/// The decisions about which a table contradicts itself: none of their rows count, whichever comes first.
pub(super) fn contradictions<'a>(claims: impl Iterator<Item = &'a Outcome>) -> BTreeSet<DecisionId> {
    let mut first: BTreeMap<DecisionId, Option<Answer>> = BTreeMap::new();
    let differs = |claim: &&Outcome| !same(*first.entry(claim.decision).or_insert(claim.answer), claim.answer);
    claims.filter(differs).map(|claim| claim.decision).collect()
}

/// Judges a row by what is known of its decision. A request with a key is never read twice by mistake, so its
/// corrections may go back to an earlier reward.
pub(super) fn judge(finder: &Finder<'_>, outcome: Outcome, feedback: Feedback, keyed: bool) -> Result<Verdict, Error> {
    let (id, answer) = (outcome.decision, outcome.answer);
    let history = finder.history(id)?;
    let last = history.last().map(|&(_, answer)| answer);
    let (closed, aside) = (finder.silenced(id)?, finder.is_aside(id)?);
    let said_before = |of: Kind| history.iter().any(|&(kind, old)| kind == of && same(old, answer));
    Ok(match feedback {
        Feedback::Rewards | Feedback::Responders { .. } => match last {
            _ if said_before(Kind::Learn) => Verdict::Repeated,
            // An answer that was put aside was never counted as silence.
            None if closed && !aside => Verdict::Reject(Rejection::Closed(id.round)),
            None => Verdict::Apply(outcome),
            Some(None) => Verdict::Reject(Rejection::WasUndelivered(id)),
            Some(Some(answer)) => Verdict::Reject(Rejection::HasReward { decision: id, answer }),
        },
        Feedback::Corrections => match last {
            None if !closed || aside => Verdict::Reject(Rejection::NothingToCorrect(id)),
            Some(old) if same(old, answer) => Verdict::Repeated,
            // Otherwise a file of corrections that is read again would undo the ones after it.
            Some(Some(now)) if !keyed && (said_before(Kind::Correct) || said_before(Kind::Learn)) => {
                let before = answer.unwrap_or(Answer::of(0.0));
                Verdict::Reject(Rejection::Superseded { decision: id, before, now })
            }
            _ => Verdict::Apply(outcome),
        },
        Feedback::Undelivered => match last {
            Some(None) => Verdict::Repeated,
            None => Verdict::Apply(outcome),
            Some(Some(Answer { reward, .. })) => Verdict::Reject(Rejection::Arrived { decision: id, reward }),
        },
    })
}

/// The answer of a row; none for a bounce.
fn answer(response: &Response, feedback: Feedback) -> Result<Option<Answer>, Rejection> {
    if feedback == Feedback::Undelivered {
        return Ok(None);
    }
    let (reward, examined) = (reward(response, feedback)?, response.examined.as_deref());
    Ok(Some(Answer { reward, examined: examined.map_or(Ok(None), |text| chance(text, response.chance))? }))
}

/// The reward of a row, zero without a sign.
fn reward(response: &Response, feedback: Feedback) -> Result<f64, Rejection> {
    let text = match feedback {
        Feedback::Responders { worth } if response.reward.is_none() => return Ok(worth + 0.0),
        _ => response.reward.as_ref().ok_or(Rejection::MissingReward)?,
    };
    response.number.map(|reward| reward + 0.0).ok_or_else(|| Rejection::BadReward(text.clone()))
}

/// The probability with which an arm was looked at, if it is one; none for 1.
pub(super) fn chance(text: &str, number: Option<f64>) -> Result<Option<f64>, Rejection> {
    match number.filter(|&q| q > 0.0 && q <= 1.0) {
        Some(q) => Ok((q < 1.0).then_some(q)),
        None => Err(Rejection::BadExamined(text.to_owned())),
    }
}

/// A reward in a text with a decimal point, zero without a sign; a flag is 1 or 0.
pub(super) fn number(text: &str) -> Result<f64, Rejection> {
    let flagged = || flag(text).map(|flag| if flag { 1.0 } else { 0.0 });
    match text.trim().parse::<f64>().ok().or_else(flagged) {
        Some(reward) if reward.is_finite() => Ok(reward + 0.0),
        _ => Err(Rejection::BadReward(text.to_owned())),
    }
}

/// Whether a reward is refused.
pub(super) fn is_outside(rule: RewardRule, reward: f64) -> bool {
    rule.min.is_some_and(|min| reward < min) || rule.max.is_some_and(|max| reward > max) || !is_usable(reward)
}

/// Whatever the rules say, the model cannot learn from a reward above 1e100, or from one that is no number.
pub(super) fn is_usable(reward: f64) -> bool {
    reward.abs() <= 1e100
}

fn same(a: Option<Answer>, b: Option<Answer>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.is(&b),
        (a, b) => a.is_none() && b.is_none(),
    }
}
