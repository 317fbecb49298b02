//! Rewards that a program tells, line by line, each with its own answer; judged as the rows of a table are.
//!
//! A line names a decision, or a round and the arm's id in it, so nothing is ever guessed. Whoever appends what is to be
//! appended must do so against the head that it was judged at.

use super::{
    Campaign, Command, Entry, Feedback, Key, Outcome, Refusal, Rejection, Responses, Tag,
    aside::grouped,
    find::Finder,
    judge::{self, Verdict},
    learn::{Response, digest, judge_all},
};
use crate::Error;
use serde::Serialize;
use std::collections::BTreeSet;

/// What became of an arm, as a program tells it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Line {
    /// The decision: of the arm, `r17-3-k7f3q2`, or the whole one, `r17-k7f3q2`, with the arm's id.
    pub decision: Option<String>,
    /// The arm's id: that of its row.
    pub id: Option<String>,
    /// The arm's block, where its row was chosen for several.
    pub promotion: Option<String>,
    /// The reward; none for a send that did not arrive, or for an answer that is worth what all are.
    pub reward: Option<f64>,
    /// The probability with which the arm was looked at; 1 unless given.
    pub examined: Option<f64>,
}

/// What was done with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum LineOutcome {
    /// It counts now.
    Applied,
    /// It was known already.
    Known,
    /// It contradicts what is known.
    Conflict,
    /// It came after the end of the response window.
    Late,
    /// It is about no decision of this campaign.
    Unknown,
    /// It cannot be used, whatever it is about.
    Invalid,
    /// The decision was taken back.
    Revoked,
    /// The decision is held back: nothing was shown yet.
    Held,
}

impl LineOutcome {
    fn of(verdict: &Verdict) -> Self {
        let rejection = match verdict {
            Verdict::Apply(_) => return Self::Applied,
            Verdict::Repeated => return Self::Known,
            Verdict::Reject(rejection) => rejection,
        };
        match rejection.reason() {
            "closed" => Self::Late,
            "revoked" => Self::Revoked,
            "held" => Self::Held,
            "unknown" | "other-campaign" | "not-sent" | "ambiguous" => Self::Unknown,
            "invalid" => Self::Invalid,
            _ => Self::Conflict,
        }
    }
}

/// Lines with what is done with each.
#[derive(Debug)]
pub struct Told {
    /// Of each line.
    pub lines: Vec<(LineOutcome, Option<Rejection>)>,
    /// The entry of an earlier request with the same key, which is answered as it was then.
    pub(crate) earlier: Option<Entry>,
    /// What is to be appended; none where nothing is.
    pub(crate) command: Option<Command>,
    pub(crate) outcomes: Vec<Outcome>,
    /// The rounds that change.
    pub(crate) rounds: BTreeSet<u64>,
}

/// Judges lines; nothing is written. `source` is what the entry says of where they came from.
///
/// # Errors
/// [`Error::Refused`] for a worth that cannot be learned, [`Error::KeyUsed`], [`Error::Damaged`].
pub(crate) fn tell(
    campaign: &Campaign,
    lines: &[Line],
    feedback: Feedback,
    key: Option<&Key>,
    source: &str,
) -> Result<Told, Error> {
    if let Some(worth) = feedback.worth().filter(|&worth| !judge::is_usable(worth)) {
        return Err(Refusal::BadWorth(worth).into());
    }
    let responses: Vec<Response> = (1..).zip(lines).map(|(line, own)| response(campaign.tag(), line, own)).collect();
    let digest = digest(&responses, None, feedback);
    let earlier = campaign.earlier(key, |command| feedback.is_of(command, digest))?.map(|(entry, _)| entry);
    // A request that was answered before is judged as it was then.
    let until = earlier.as_ref().map_or(u64::MAX, |entry| entry.seq - 1);
    let finder = Finder::by_name(campaign, until);
    let judged = judge_all(&finder, &responses, feedback, key.is_some())?;
    let outcomes: Vec<Outcome> = judged.applied.values().copied().collect();
    let applied: BTreeSet<u64> = outcomes.iter().map(|outcome| outcome.decision.round).collect();
    let aside = grouped(&judged.aside);
    let mut rounds = applied.clone();
    rounds.extend(aside.iter().map(|put| put.round));
    let changes = !outcomes.is_empty() || judged.newly > 0;
    let command = (earlier.is_none() && (changes || key.is_some())).then(|| {
        feedback.command(Responses {
            table: source.to_owned(),
            digest,
            rounds: applied.into_iter().collect(),
            read: responses.len() as u64,
            repeated: judged.repeated,
            rejected: judged.rejected,
            aside,
        })
    });
    let line = |verdict: Verdict| {
        let outcome = LineOutcome::of(&verdict);
        (outcome, if let Verdict::Reject(rejection) = verdict { Some(rejection) } else { None })
    };
    let lines = judged.verdicts.into_iter().map(line).collect();
    Ok(Told { lines, earlier, command, outcomes, rounds })
}

/// A line as a row of a table would say it.
fn response(own: Tag, line: u64, told: &Line) -> Response {
    let mut response = Response {
        line,
        decision: told.decision.clone(),
        // An id alone is nobody's.
        customer: told.decision.as_ref().and(told.id.clone()),
        promotion: told.promotion.clone(),
        round: None,
        reward: told.reward.map(|reward| reward.to_string()),
        number: told.reward.filter(|reward| !reward.is_nan()),
        examined: told.examined.map(|examined| examined.to_string()),
        chance: told.examined,
    };
    // A whole decision is a round of this campaign; one of another campaign stays as it is and is put aside as such.
    let whole = told.decision.as_deref().and_then(Tag::read_round);
    if let Some((round, tag)) = whole
        && tag.is_none_or(|tag| tag == own)
    {
        (response.decision, response.round) = (None, Some(round.to_string()));
    }
    response
}
