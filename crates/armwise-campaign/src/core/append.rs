//! How a command becomes an entry: what it changes, the model after it, the hashes, and a checkpoint if one is due.
//!
//! Everything that can fail is done before the journal is written. A command carries the head it was made against, so
//! that one of two concurrent writers is refused.

use super::{
    Campaign, Changes, Command, Entry, Head, Heard, Journal, Kept, Key, OfRound, Original, Outcome, PutAside, Record,
    Refusal, RoundChange, Rows, Sent, Setup, Sha, SumsChange, Vouched,
    back::reads_back,
    blocks,
    campaign::Prefix,
    clock,
    decision::{LAST_GIVEN_ROUND, LAST_ROUND, digest_outcomes, digest_sent, hear},
    fold::{Counts, Last, Played},
    model,
    state::State,
    sums::{encode, model_hash},
};
use crate::Error;
use armwise::Model;
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

/// The number of entries between two checkpoints.
const EVERY: u64 = 64;
/// How many of the last segments a checkpoint leaves out of its merged sums, because rewards still come for them.
const OPEN_SEGMENTS: usize = 8;

/// A command to be appended.
#[derive(Debug)]
pub(crate) struct Draft<'a> {
    pub(crate) command: Command,
    /// The caller's own name for it.
    pub(crate) key: Option<&'a Key>,
    /// The time of the entry; now unless given.
    pub(crate) at: Option<String>,
    pub(crate) decisions: &'a [Sent],
    pub(crate) outcomes: &'a [Outcome],
    pub(crate) originals: &'a [Original],
}

impl Draft<'_> {
    pub(crate) fn new(command: Command) -> Self {
        Self { command, key: None, at: None, decisions: &[], outcomes: &[], originals: &[] }
    }
}

impl Campaign {
    /// Begins a campaign in an empty journal.
    ///
    /// # Errors
    /// [`Error::HeadMoved`] if the journal is not empty, [`Error::Refused`] for numbers of rounds outside their range,
    /// and those of the store.
    pub fn begin(journal: Box<dyn Journal>, setup: Setup) -> Result<Self, Error> {
        Self::begin_at(journal, setup, None)
    }

    /// As [`begin`](Self::begin), at a time in the past.
    pub(crate) fn begin_at(mut journal: Box<dyn Journal>, setup: Setup, at: Option<String>) -> Result<Self, Error> {
        if !(1..=LAST_ROUND).contains(&setup.rounds_per_segment) {
            return Err(Refusal::BadSegment(setup.rounds_per_segment).into());
        }
        if let Some(start) = setup.start.as_ref().filter(|start| start.t() > LAST_GIVEN_ROUND) {
            return Err(Refusal::BadRound(start.t()).into());
        }
        let draft = Draft { at, ..Draft::new(Command::Init(Box::new(setup.clone()))) };
        let blocks = blocks::named(&[], &setup.config);
        let first_blocks = blocks.len();
        let model = model_hash(&model::start(&setup, first_blocks)?);
        let entry = seal(&Head::none(), &draft, &Changes::default(), digest_outcomes(&[]), model)?;
        let rows = [Rows { seq: 1, decisions: &[], outcomes: &[], originals: &[] }];
        let record = Record { entry: entry.clone(), sums: Vec::new(), kept: None };
        let sealed = [entry.clone()];
        let mut check = |journal: &dyn Journal| reads_back(journal, &sealed);
        journal.append(&Head::none(), &rows, &mut || Ok(vec![record.clone()]), &mut check)?;
        let mut state = State::new();
        state.apply(&entry).map_err(|problem| Error::Damaged {
            path: journal.path().to_owned(),
            problem,
            cause: None,
        })?;
        let head = entry.head();
        Ok(Self { journal, setup, rules_now: 1, blocks, first_blocks, state, head, checkpoint: 0, prefix: None })
    }

    /// Appends a command that was made against `against`, all or nothing. `ready` is called before the commit; if it
    /// fails, nothing is appended.
    pub(crate) fn append(
        &mut self,
        against: &Head,
        draft: &Draft<'_>,
        ready: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        if *against != self.head {
            let path = self.journal.path().to_owned();
            return Err(Error::HeadMoved { path, expected: against.seq, found: self.head.seq });
        }
        let seq = self.head.seq + 1;
        let anew = self.anew(draft);
        let (changes, changed) = match &anew {
            Some(setup) => self.re_summed(setup)?,
            None => self.changes(seq, draft)?,
        };
        let late = self.prefix.as_ref().is_some_and(|prefix| changed.keys().any(|&segment| segment <= prefix.through));
        let lost = self.checkpoint > 0 && self.prefix.is_none();
        // After another recipe nothing that was kept before is of use.
        let due = seq - self.checkpoint >= EVERY || late || lost || anew.is_some();
        let keep = due.then(|| self.settled(draft.command.round()));
        let (hash, kept) = if changed.is_empty() && keep.is_none() {
            (self.state.model, None)
        } else {
            let (model, kept) = match &anew {
                Some(setup) => self.merge_anew(setup, &changed, keep)?,
                None => self.merge(&changed, keep)?,
            };
            (model_hash(&model), kept)
        };
        let new_sums: Vec<(u64, Vec<u8>)> = changed.iter().map(|(&segment, sums)| (segment, encode(sums))).collect();
        let rows = [Rows { seq, decisions: draft.decisions, outcomes: draft.outcomes, originals: draft.originals }];
        let Self { journal, state, head, .. } = self;
        let (mut ready, mut new_sums) = (Some(ready), Some(new_sums));
        let sealed = RefCell::new(Vec::new());
        let (state, path) = (&*state, journal.path().to_owned());
        let entries = std::thread::scope(|scope| {
            // A large round is hashed while it is written.
            let mut digest = Some(scope.spawn(|| match draft.command {
                Command::Choose(_) | Command::Logged(_) => digest_sent(draft.decisions),
                _ => digest_outcomes(draft.outcomes),
            }));
            let mut seal_all = || {
                let digest = digest.take().map(|digest| digest.join().expect("hashing does not panic"));
                ready.take().map_or(Ok(()), |ready| ready())?;
                let entry = seal(head, draft, &changes, digest.unwrap_or(Sha::of("")), hash)?;
                let checkpoint = match keep.zip(kept.as_ref()) {
                    Some((through, model)) => Some(checkpoint(state, &entry, through, model, &path)?),
                    None => None,
                };
                let record = Record { entry, sums: new_sums.take().unwrap_or_default(), kept: None };
                let records: Vec<Record> = [record].into_iter().chain(checkpoint).collect();
                *sealed.borrow_mut() = records.iter().map(|record| record.entry.clone()).collect();
                Ok(records)
            };
            journal.append(head, &rows, &mut seal_all, &mut |journal| reads_back(journal, &sealed.borrow()))
        })?;
        for entry in &entries {
            self.state.apply(entry).map_err(|problem| self.damaged(problem))?;
            self.head = entry.head();
        }
        if let Some((through, model)) = keep.zip(kept) {
            (self.checkpoint, self.prefix) = (self.head.seq, Some(Prefix { through, model }));
        }
        if let Command::Amend(rules) = &draft.command {
            self.obey(seq, (**rules).clone());
        }
        Ok(())
    }

    /// The last segment that a checkpoint merges; `chosen` is a round that may not be in the state yet.
    fn settled(&self, chosen: Option<u64>) -> u64 {
        let rounds = self.rounds().keys().copied().chain(chosen);
        let segments: BTreeSet<u64> = rounds.map(|round| self.segment_of(round)).collect();
        segments.into_iter().rev().nth(OPEN_SEGMENTS).unwrap_or(0)
    }

    /// Rules and recipe of a command that expresses everything anew.
    fn anew(&self, draft: &Draft<'_>) -> Option<Setup> {
        let Command::Amend(rules) = &draft.command else { return None };
        let (config, recipe) = (rules.config.clone(), rules.recipe.clone()?);
        Some(Setup { config, recipe, ..self.setup.clone() })
    }

    /// The sums of all segments that have some, under another recipe.
    fn re_summed(&self, setup: &Setup) -> Result<(Changes, BTreeMap<u64, Model>), Error> {
        let (mut changes, mut changed) = (Changes::default(), BTreeMap::new());
        for &segment in self.state.sums.keys() {
            let rounds = self.rounds_in(segment).into_iter();
            let rounds: Vec<_> =
                rounds.map(|round| self.played_by(round, u64::MAX, Some(&setup.recipe))).collect::<Result<_, _>>()?;
            let sums = self.sum(setup, &rounds)?;
            changes.sums.push(SumsChange { segment, hash: model_hash(&sums) });
            changed.insert(segment, sums);
        }
        Ok((changes, changed))
    }

    /// What a command changes, and the new sums of the segments it touches.
    fn changes(&self, seq: u64, draft: &Draft<'_>) -> Result<(Changes, BTreeMap<u64, Model>), Error> {
        let kind = draft.command.kind();
        let mut touched: BTreeMap<u64, Vec<Outcome>> = BTreeMap::new();
        let (mut closing, mut revoking) = (None, None);
        let mut aside: &[PutAside] = &[];
        match draft.command {
            Command::Init(_) | Command::Amend(_) | Command::Checkpoint(_) => {}
            Command::Choose(ref chosen) => {
                let hold_out = draft.decisions.iter().filter(|sent| sent.hold_out).count() as u64;
                let sends = draft.decisions.len() as u64 - hold_out;
                let counts = Counts { sends, pending: sends, hold_out, ..Counts::default() };
                let round = RoundChange { round: chosen.round, counts, heard: Sha::of("") };
                return Ok((Changes { rounds: vec![round], sums: Vec::new() }, BTreeMap::new()));
            }
            Command::Logged(_) => {
                let heard: Vec<Heard> = draft.outcomes.iter().map(|&outcome| Heard { seq, kind, outcome }).collect();
                let played = Played {
                    round: 0,
                    decisions: draft.decisions.to_vec(),
                    last: Last::of(&heard),
                    closed: false,
                    revoked: false,
                    default: 0.0,
                    aside: BTreeMap::new(),
                };
                let heard = hear(Sha::of(""), seq, kind, digest_outcomes(draft.outcomes));
                let round = RoundChange { round: 0, counts: played.counts(), heard };
                let sums = self.sum(&self.setup, &[played])?;
                let change = SumsChange { segment: 0, hash: model_hash(&sums) };
                return Ok((Changes { rounds: vec![round], sums: vec![change] }, BTreeMap::from([(0, sums)])));
            }
            Command::Learn(ref told) | Command::Correct(ref told) | Command::Undelivered(ref told) => {
                for outcome in draft.outcomes {
                    touched.entry(outcome.decision.round).or_default().push(*outcome);
                }
                aside = &told.aside;
                for put in aside {
                    touched.entry(put.round).or_default();
                }
            }
            Command::Close(OfRound { round }) => {
                touched.insert(round, Vec::new());
                closing = Some(round);
            }
            Command::Revoke(OfRound { round }) => {
                touched.insert(round, Vec::new());
                revoking = Some(round);
            }
        }
        let segments: BTreeSet<u64> = touched.keys().map(|&round| self.segment_of(round)).collect();
        let (mut changes, mut changed) = (Changes::default(), BTreeMap::new());
        for segment in segments {
            let mut rounds = Vec::new();
            for round in self.rounds_in(segment) {
                let mut played = self.played(round, u64::MAX)?;
                if let Some(outcomes) = touched.get(&round) {
                    for put in aside.iter().filter(|put| put.round == round) {
                        let new = put.decisions.iter().map(|&number| (number, put.flaw));
                        played.aside.extend(new);
                    }
                    outcomes.iter().for_each(|outcome| played.last.hear(outcome));
                    played.closed |= closing == Some(round);
                    played.revoked |= revoking == Some(round);
                    let before = self.round(round)?.heard;
                    let heard =
                        if outcomes.is_empty() { before } else { hear(before, seq, kind, digest_outcomes(outcomes)) };
                    changes.rounds.push(RoundChange { round, counts: played.counts(), heard });
                }
                rounds.push(played);
            }
            // A segment without rewards has no sums that a revocation, or a row that is put aside, could change.
            let rewarded = rounds.iter().any(|played| touched.get(&played.round).is_some_and(|new| !new.is_empty()));
            if rewarded || closing.is_some() || self.state.sums.contains_key(&segment) {
                let sums = self.sum(&self.setup, &rounds)?;
                changes.sums.push(SumsChange { segment, hash: model_hash(&sums) });
                changed.insert(segment, sums);
            }
        }
        Ok((changes, changed))
    }
}

/// The entry of a command.
fn seal(before: &Head, draft: &Draft<'_>, changes: &Changes, digest: Sha, model: Sha) -> Result<Entry, Error> {
    let text = |text: serde_json::Result<String>| text.map_err(|error| Error::Usage(error.to_string()));
    let mut entry = Entry {
        seq: before.seq + 1,
        at: draft.at.clone().unwrap_or_else(clock::now),
        kind: draft.command.kind(),
        round: draft.command.round(),
        key: draft.key.map(Key::to_string),
        body: text(draft.command.body())?,
        changes: text(serde_json::to_string(changes))?,
        rows: draft.decisions.len().max(draft.outcomes.len()) as u64,
        digest,
        model,
        hash: Sha::of(""),
    };
    entry.hash = entry.chained(before);
    Ok(entry)
}

/// The checkpoint after an entry.
fn checkpoint(
    state: &State,
    entry: &Entry,
    through: u64,
    model: &Model,
    path: &std::path::Path,
) -> Result<Record, Error> {
    let mut state = state.clone();
    state.apply(entry).map_err(|problem| Error::Damaged { path: path.to_owned(), problem, cause: None })?;
    let (state, merged) = (state.encode(), encode(model));
    let vouched = Vouched { state: Sha::of(&state), through, model: Sha::of(&merged) };
    let draft = Draft { at: Some(entry.at.clone()), ..Draft::new(Command::Checkpoint(vouched)) };
    let sealed = seal(&entry.head(), &draft, &Changes::default(), digest_outcomes(&[]), entry.model)?;
    let kept = Kept { seq: sealed.seq, state, model: merged };
    Ok(Record { entry: sealed, sums: Vec::new(), kept: Some(kept) })
}
