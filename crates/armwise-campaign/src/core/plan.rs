//! What a command changes: counts and hashes of rounds, and the new sums of the segments that it touches.
//!
//! Nothing is written here, and the campaign stays as it is. With several rounds to a segment, sums wait for the next fold.

use super::{
    Campaign, Changes, Chosen, Closing, Command, Counts, Heard, OfRound, Outcome, PutAside, RoundChange, Sent, Setup,
    Sha, SumsChange, Through,
    append::{Draft, MANY},
    decision::{digest_outcomes, hear},
    fold::{Last, Played},
    settled::Shelf,
    sums::model_hash,
};
use crate::Error;
use armwise::Model;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What a draft does, before it is an entry.
pub(super) struct Planned {
    pub(super) changes: Changes,
    /// The new sums of segments.
    pub(super) sums: BTreeMap<u64, Arc<Model>>,
    /// Rules and recipe of a command that expresses everything anew.
    pub(super) anew: Option<Setup>,
    /// The rounds that it changes, as they are after it.
    pub(super) rounds: Vec<Played>,
}

impl Campaign {
    /// What a draft changes.
    pub(super) fn plan(&self, draft: &Draft<'_>) -> Result<Planned, Error> {
        let Some(setup) = self.anew(draft) else { return self.changes(self.head.seq + 1, draft) };
        if self.state.length == 1 && !self.recent.borrow().rounds.is_empty() {
            return Err(Error::Usage("a new recipe cannot be appended together with what it must express".to_owned()));
        }
        let (changes, sums) = self.re_summed(&setup)?;
        Ok(Planned { changes, sums, anew: Some(setup), rounds: Vec::new() })
    }

    /// Rules and recipe of a command that expresses everything anew.
    fn anew(&self, draft: &Draft<'_>) -> Option<Setup> {
        let Command::Amend(rules) = &draft.command else { return None };
        let (config, recipe) = (rules.config.clone(), rules.recipe.clone()?);
        Some(Setup { config, recipe, ..self.setup.clone() })
    }

    /// The sums of all segments that have some, under another recipe.
    fn re_summed(&self, setup: &Setup) -> Result<(Changes, BTreeMap<u64, Arc<Model>>), Error> {
        let (mut changes, mut changed) = (Changes::default(), BTreeMap::new());
        let segments: BTreeSet<u64> = self.state.sums.keys().chain(&self.state.dirty).copied().collect();
        for segment in segments {
            let rounds = self.rounds_in(segment)?.into_iter();
            let rounds: Vec<_> =
                rounds.map(|round| self.played_by(round, u64::MAX, Some(&setup.recipe))).collect::<Result<_, _>>()?;
            if let Some(sums) = self.replay_rounds(setup, &rounds)? {
                changes.sums.push(SumsChange { segment, hash: model_hash(&sums) });
                changed.insert(segment, Arc::new(sums));
            }
        }
        Ok((changes, changed))
    }

    /// The new sums of all segments that changed since the last fold.
    fn folded(&self) -> Result<Planned, Error> {
        let (mut changes, mut changed) = (Changes::default(), BTreeMap::new());
        for &segment in &self.state.dirty {
            if let Some((hash, sums)) = self.summed(segment)? {
                changes.sums.push(SumsChange { segment, hash });
                changed.insert(segment, sums);
            }
        }
        Ok(Planned { changes, sums: changed, anew: None, rounds: Vec::new() })
    }

    /// The rounds that an entry closes at once: the state counts their silence by itself, except where rows were put
    /// aside.
    fn closed_at_once(&self, range: &Through) -> Result<Planned, Error> {
        if self.state.length == 1 {
            return Err(Error::Usage("with one round to a segment, rounds are closed one by one".to_owned()));
        }
        let mut state = self.state.clone();
        let mut shelf = Shelf::of(&*self.journal);
        let open = state.open_through(range, &mut shelf);
        let (mut changes, mut rounds) = (Changes::default(), Vec::new());
        for round in open.map_err(|problem| shelf.error(self.path(), problem))? {
            if state.aside.contains_key(&round) {
                let played = Played { closed: true, ..self.played(round, u64::MAX)? };
                let heard = self.info(round)?.heard;
                changes.rounds.push(RoundChange { round, counts: played.counts(), heard });
                rounds.push(played);
            }
        }
        Ok(Planned { changes, sums: BTreeMap::new(), anew: None, rounds })
    }

    /// What a command changes, and the new sums of the segments it touches: with several rounds to a segment, these wait
    /// for the next fold.
    fn changes(&self, seq: u64, draft: &Draft<'_>) -> Result<Planned, Error> {
        let kind = draft.command.kind();
        let mut touched: BTreeMap<u64, Vec<Outcome>> = BTreeMap::new();
        let (mut closing, mut revoking) = (false, false);
        let mut aside: &[PutAside] = &[];
        match draft.command {
            Command::Init(_)
            | Command::Amend(_)
            | Command::Checkpoint(_)
            | Command::Activate(_)
            | Command::Arms(_)
            | Command::Compact(_) => {}
            Command::Fold(_) => return self.folded(),
            Command::Close(Closing::Through(ref range)) => return self.closed_at_once(range),
            Command::Choose(ref chosen) => return Ok(self.chosen(chosen, draft.decisions)),
            Command::Logged(_) => return self.logged(seq, draft),
            Command::Learn(ref told) | Command::Correct(ref told) | Command::Undelivered(ref told) => {
                for outcome in draft.outcomes {
                    touched.entry(outcome.decision.round).or_default().push(*outcome);
                }
                aside = &told.aside;
                for put in aside {
                    touched.entry(put.round).or_default();
                }
            }
            Command::Close(Closing::Round(OfRound { round })) => {
                touched.insert(round, Vec::new());
                closing = true;
            }
            Command::Revoke(OfRound { round }) => {
                touched.insert(round, Vec::new());
                revoking = true;
            }
        }
        let (mut changes, mut changed, mut rounds) = (Changes::default(), BTreeMap::new(), Vec::new());
        for (round, outcomes) in touched {
            let mut played = self.played(round, u64::MAX)?;
            for put in aside.iter().filter(|put| put.round == round) {
                played.aside.extend(put.decisions.iter().map(|&number| (number, put.flaw)));
            }
            outcomes.iter().for_each(|outcome| played.last.hear(outcome));
            played.closed |= closing;
            played.revoked |= revoking;
            let before = self.round(round)?.heard;
            let heard = if outcomes.is_empty() { before } else { hear(before, seq, kind, digest_outcomes(&outcomes)) };
            changes.rounds.push(RoundChange { round, counts: played.counts(), heard });
            // A segment without rewards has no sums that a revocation, or a row that is put aside, could change.
            let segment = self.segment_of(round);
            let learns = !outcomes.is_empty() || closing || self.state.sums.contains_key(&segment);
            if self.state.length == 1 && learns {
                let sums = self.sum(&self.setup, std::slice::from_ref(&played))?;
                changes.sums.push(SumsChange { segment, hash: model_hash(&sums) });
                changed.insert(segment, Arc::new(sums));
            }
            rounds.push(played);
        }
        Ok(Planned { changes, sums: changed, anew: None, rounds })
    }

    /// A new round.
    fn chosen(&self, chosen: &Chosen, decisions: &[Sent]) -> Planned {
        let hold_out = decisions.iter().filter(|sent| sent.hold_out).count() as u64;
        let counts = Counts::chosen(decisions.len() as u64 - hold_out, hold_out);
        let round = RoundChange { round: chosen.round, counts, heard: Sha::of("") };
        let changes = Changes { rounds: vec![round], sums: Vec::new() };
        // A large round is not copied: nobody asks for it before it is written.
        let small = decisions.len() <= MANY;
        let played = small.then(|| Played {
            round: chosen.round,
            decisions: decisions.to_vec(),
            last: Last::default(),
            closed: false,
            revoked: false,
            default: self.config().reward.default + 0.0,
            hold_out_alike: chosen.hold_out_alike,
            hold_out_default: self.config().hold_out_default(),
            aside: BTreeMap::new(),
        });
        Planned { changes, sums: BTreeMap::new(), anew: None, rounds: played.into_iter().collect() }
    }

    /// What happened before the first round.
    fn logged(&self, seq: u64, draft: &Draft<'_>) -> Result<Planned, Error> {
        let kind = draft.command.kind();
        let heard: Vec<Heard> = draft.outcomes.iter().map(|&outcome| Heard { seq, kind, outcome }).collect();
        let played = Played {
            round: 0,
            decisions: draft.decisions.to_vec(),
            last: Last::of(&heard),
            closed: false,
            revoked: false,
            default: 0.0,
            hold_out_alike: false,
            hold_out_default: None,
            aside: BTreeMap::new(),
        };
        let heard = hear(Sha::of(""), seq, kind, digest_outcomes(draft.outcomes));
        let round = RoundChange { round: 0, counts: played.counts(), heard };
        let sums = self.sum(&self.setup, &[played])?;
        let change = SumsChange { segment: 0, hash: model_hash(&sums) };
        let changes = Changes { rounds: vec![round], sums: vec![change] };
        Ok(Planned { changes, sums: BTreeMap::from([(0, Arc::new(sums))]), anew: None, rounds: Vec::new() })
    }
}
