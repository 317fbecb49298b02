//! What is ready to be written together with others, and the answer that it gets once it is on the disk.
//!
//! Every answer follows from the journal, so a request that comes again is answered from there with the same bytes.

use super::{
    Reply,
    answer::{Decided, Rewarded, RewardedArm},
    flight::Flight,
    request::RewardsRequest,
    slate::ToChoose,
    work::{Job, Made, Make, ToDecide, Work},
};
use crate::{
    Campaign, Error,
    core::{Chosen, Command, Feedback, Key, Line, LineOutcome, Original, Outcome, Rejection, Sent, Sha},
    recipe::Oddities,
    round::Slate,
};
use std::{collections::BTreeMap, time::Instant};

/// A command that can be written together with others.
pub(super) struct Ready {
    pub(super) command: Command,
    pub(super) key: Option<Key>,
    pub(super) sent: Vec<Sent>,
    pub(super) originals: Vec<Original>,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) flight: Option<Flight>,
    pub(super) given: Instant,
    pub(super) answer: Answer,
}

pub(super) enum Answer {
    Decided(Reply<Decided>, Origin),
    Rewarded(Told, Feedback, Reply<Rewarded>),
}

/// Where a choice comes from, in case it must be judged, or made, anew.
pub(super) struct Origin {
    pub(super) rules: u64,
    pub(super) at: Instant,
    pub(super) request: ToChoose,
    /// Whether it depends on who was chosen before.
    pub(super) later: bool,
}

/// Lines with what is done with each.
pub(super) struct Told {
    pub(super) decision: Option<String>,
    pub(super) lines: Vec<Line>,
    pub(super) verdicts: Vec<(LineOutcome, Option<Rejection>)>,
}

impl Ready {
    /// The work that it came from.
    pub(super) fn again(self) -> Job {
        let Self { command, key, sent, originals, flight, given, answer, .. } = self;
        let work = match (answer, command) {
            (Answer::Rewarded(Told { decision, lines, .. }, feedback, reply), _) => {
                Work::Rewards(Box::new((RewardsRequest { key, decision, lines, feedback }, reply)))
            }
            (Answer::Decided(reply, Origin { rules, at, request, later }), Command::Choose(mut command)) => {
                let digest = command.request.take().map(|own| own.digest);
                let model = command.model.unwrap_or(0);
                let make = if later {
                    Make::Later(request)
                } else {
                    let slate = Slate { sent, originals, command, odd: Oddities::default() };
                    Make::Made(Box::new(Made { slate, model, rules, at, request }))
                };
                Work::Decide(Box::new(ToDecide { make, request: key.zip(digest), reply }))
            }
            (Answer::Decided(reply, Origin { request, .. }), _) => {
                Work::Decide(Box::new(ToDecide { make: Make::Later(request), request: None, reply }))
            }
        };
        Job { work, flight, given }
    }

    pub(super) fn answer(self, campaign: &Campaign, done: Result<u64, Error>) {
        drop(self.flight);
        match self.answer {
            Answer::Rewarded(told, _, reply) => reply(done.map(|seq| told.rewarded(campaign, seq))),
            Answer::Decided(reply, _) => reply(done.map(|seq| match &self.command {
                Command::Choose(chosen) => answer(campaign, seq, chosen, self.sent),
                _ => answer(campaign, seq, &Chosen::default(), self.sent),
            })),
        }
    }
}

impl Told {
    pub(super) fn rewarded(self, campaign: &Campaign, seq: u64) -> Rewarded {
        let Self { decision, lines, verdicts } = self;
        let mut counts = BTreeMap::new();
        let arms = lines.into_iter().zip(verdicts).map(|(line, (outcome, rejection))| {
            *counts.entry(outcome).or_default() += 1;
            let own = line.decision.filter(|own| decision.as_ref() != Some(own));
            let reason = rejection.map(|rejection| rejection.text(campaign.tag()));
            RewardedArm { decision: own, id: line.id, promotion: line.promotion, outcome, reason }
        });
        let arms = arms.collect();
        Rewarded { decision, seq, counts, arms }
    }
}

/// What the same request was answered before, from the journal.
pub(super) fn decided_before(campaign: &Campaign, key: &Key, digest: Sha) -> Result<Option<Decided>, Error> {
    let same = |command: &Command| match command {
        Command::Choose(Chosen { request: Some(request), .. }) => request.digest == digest,
        _ => false,
    };
    let Some((entry, Command::Choose(chosen))) = campaign.earlier(Some(key), same)? else { return Ok(None) };
    Ok(Some(answer(campaign, entry.seq, &chosen, campaign.sent(chosen.round)?)))
}

/// The answer to a decision: all of it is in the journal.
pub(super) fn answer(campaign: &Campaign, seq: u64, chosen: &Chosen, sent: Vec<Sent>) -> Decided {
    let model = chosen.model.unwrap_or(seq.saturating_sub(1));
    Decided::new(campaign.tag(), seq, model, chosen, sent)
}
