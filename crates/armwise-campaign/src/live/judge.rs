//! Decisions and rewards, judged against the journal as it is: what comes out is ready to be written, or answered.
//!
//! Nothing is written here. What others were faster with is put aside, to be judged anew.

use super::{
    Reply,
    answer::{Decided, Rewarded},
    flight::Flight,
    ready::{Answer, Origin, Ready, Told, answer, decided_before},
    request::RewardsRequest,
    work::{Job, Made, Make, NUMBER, ToDecide, Work},
    writer::Writer,
};
use crate::{
    Error,
    core::{ChooseRequest, Command, LAST_ROUND, Refusal, digest_sent, tell},
    round::{Slate, resting},
};
use std::{
    collections::{BTreeSet, HashSet},
    time::Instant,
};

impl Writer {
    /// A decision that is ready to be written; none if it was answered.
    pub(super) fn decision(&mut self, job: ToDecide, flight: Option<Flight>, given: Instant) -> Option<Ready> {
        let ToDecide { make, request, reply } = job;
        let before = match &request {
            Some((key, digest)) if self.is_on() => decided_before(&self.campaign, key, *digest),
            _ => Ok(None),
        };
        let before = match before {
            Ok(None) => self.written_before(&make),
            before => before,
        };
        match before {
            Ok(Some(decided)) => {
                drop(flight);
                reply(Ok(decided));
                return None;
            }
            Err(error) if self.is_others(&error) => {
                let work = Work::Decide(Box::new(ToDecide { make, request, reply }));
                self.try_again([Job { work, flight, given }], error);
                return None;
            }
            Err(error) => {
                drop(flight);
                reply(Err(error));
                return None;
            }
            Ok(None) => {}
        }
        match self.made(make) {
            Err(failed) if self.is_others(&failed.1) => {
                let (make, error) = *failed;
                let work = Work::Decide(Box::new(ToDecide { make, request, reply }));
                self.try_again([Job { work, flight, given }], error);
                None
            }
            Err(failed) => {
                drop(flight);
                reply(Err(failed.1));
                None
            }
            Ok((
                Made { slate: Slate { sent, originals, mut command, .. }, model, rules, at, request: asked },
                later,
            )) => {
                let (key, digest) = request.unzip();
                command.model = Some(model);
                command.request = digest.map(|digest| Box::new(ChooseRequest { digest, summary: None }));
                let (command, outcomes) = (Command::Choose(command), Vec::new());
                let answer = Answer::Decided(reply, Origin { rules, at, request: asked, later });
                Some(Ready { command, key, sent, originals, outcomes, flight, given, answer })
            }
        }
    }

    /// The answer to a choice that was written though its writer was told otherwise, or nothing: a number has one choice.
    fn written_before(&self, make: &Make) -> Result<Option<Decided>, Error> {
        let Make::Made(made) = make else { return Ok(None) };
        if !self.campaign.is_shared() {
            return Ok(None);
        }
        let round = made.slate.command.round;
        match self.campaign.round(round) {
            Ok(info) if info.digest == digest_sent(&made.slate.sent) => {
                let mut chosen = made.slate.command.clone();
                chosen.model = Some(made.model);
                Ok(Some(answer(&self.campaign, info.seq, &chosen, made.slate.sent.clone())))
            }
            Ok(_) | Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The choice; made here if it was not made, or if it was made for rules that hold no more, for a number that another
    /// one has, or too long ago. Whether it depends on who was chosen before is said too.
    fn made(&mut self, make: Make) -> Result<(Made, bool), Box<(Make, Error)>> {
        let request = match make {
            Make::Made(made) => {
                let is_late = self.campaign.is_shared() && made.at.elapsed() > NUMBER;
                let is_taken = self.campaign.is_shared() && self.campaign.round(made.slate.command.round).is_ok();
                if made.rules == self.campaign.rules_seq() && !is_late && !is_taken {
                    return Ok((*made, false));
                }
                made.request
            }
            Make::Later(request) => request,
        };
        let (at, rest) = (Instant::now(), self.campaign.config().limits.rest > 0);
        let mut choose = || {
            // The entry names the rules of the journal, so no others may choose.
            self.be_current()?;
            let t = self.number()?;
            if t > LAST_ROUND {
                return Err(Refusal::BadRound(t).into());
            }
            let published = self.shared.board.now();
            let resting = if rest { resting(&self.campaign, self.campaign.config(), t, true)? } else { HashSet::new() };
            Ok((request.choose(&published, t, resting)?, published.model, published.rules))
        };
        match choose() {
            Ok((slate, model, rules)) => Ok((Made { slate, model, rules, at, request }, rest)),
            Err(error) => Err(Box::new((Make::Later(request), error))),
        }
    }

    /// Rewards that are ready to be written; none if they were answered. `free` is told which rounds they change, and
    /// whether they must be judged once more, after what was ready before.
    pub(super) fn rewards(
        &mut self,
        request: RewardsRequest,
        (flight, reply, given): (Option<Flight>, Reply<Rewarded>, Instant),
        mut free: impl FnMut(&mut Self, &BTreeSet<u64>) -> bool,
    ) -> Option<Ready> {
        let RewardsRequest { key, decision, mut lines, feedback } = request;
        // Lines that name no decision are about the one that is named for all.
        for line in lines.iter_mut().filter(|line| line.decision.is_none()) {
            line.decision.clone_from(&decision);
        }
        let told = |writer: &Self| tell(&writer.campaign, &lines, feedback, key.as_ref(), "lines");
        let told = if self.is_on() {
            told(self).and_then(|first| if free(self, &first.rounds) { told(self) } else { Ok(first) })
        } else {
            Err(Error::Usage("nothing is written down, so nothing can be learned".to_owned()))
        };
        let told = match told {
            Ok(told) => told,
            Err(error) if self.is_others(&error) => {
                let work = Work::Rewards(Box::new((RewardsRequest { key, decision, lines, feedback }, reply)));
                self.try_again([Job { work, flight, given }], error);
                return None;
            }
            Err(error) => {
                drop(flight);
                reply(Err(error));
                return None;
            }
        };
        let answer = Told { decision, lines, verdicts: told.lines };
        let Some(command) = told.command else {
            let seq = told.earlier.map_or(self.campaign.head().seq, |entry| entry.seq);
            drop(flight);
            reply(Ok(answer.rewarded(&self.campaign, seq)));
            return None;
        };
        let (sent, originals, outcomes) = (Vec::new(), Vec::new(), told.outcomes);
        let answer = Answer::Rewarded(answer, feedback, reply);
        Some(Ready { command, key, sent, originals, outcomes, flight, given, answer })
    }
}
