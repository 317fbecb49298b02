//! How a command becomes an entry: the model after what it changes (`plan.rs`), the hashes, and a checkpoint if one is due.
//!
//! Everything that can fail is done before the journal is written. A command carries the head it was made against, so
//! that one of two concurrent writers is refused.

use super::{
    Campaign, Changes, Closing, Command, Entry, Head, Journal, Kept, Key, Kind, Original, Outcome, Record, Refusal,
    Rows, Sent, Setup, Sha, Vouched,
    back::{Expected, reads_back},
    blocks,
    campaign::Prefix,
    clock,
    decision::{LAST_GIVEN_ROUND, LAST_ROUND, digest_outcomes, digest_sent},
    model,
    plan::Planned,
    recent::{Recent, Were},
    settled::{OPEN_SEGMENTS, Shelf},
    state::State,
    state_bytes::StateFormat,
    sums::{encode, model_hash},
    undo::Undo,
};
use crate::Error;
use armwise::Model;
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The number of entries between two checkpoints.
const EVERY: u64 = 64;
/// A round with more decisions is hashed while it is written.
pub(super) const MANY: usize = 1000;
/// With several rounds to a segment, there is a checkpoint every so many segments.
const SEGMENTS: u64 = 16;

/// A command to be appended.
#[derive(Debug)]
pub struct Draft<'a> {
    /// What is to be done.
    pub command: Command,
    /// The caller's own name for it.
    pub key: Option<&'a Key>,
    /// The time of the entry; now unless given.
    pub at: Option<String>,
    /// The decisions of a chosen round.
    pub decisions: &'a [Sent],
    /// What became of decisions.
    pub outcomes: &'a [Outcome],
    /// The columns of the decisions as the table had them.
    pub originals: &'a [Original],
    /// The rows of arms, as bytes.
    pub arms: Option<&'a [u8]>,
}

impl<'a> Draft<'a> {
    /// A command without rows, of now.
    #[must_use]
    pub fn new(command: Command) -> Self {
        Self { command, key: None, at: None, decisions: &[], outcomes: &[], originals: &[], arms: None }
    }

    /// Its rows, which belong to the entry `seq`.
    fn rows(&self, seq: u64) -> Rows<'a> {
        let Self { decisions, outcomes, originals, arms, .. } = *self;
        Rows { seq, decisions, outcomes, originals, arms }
    }

    fn digest(&self) -> Sha {
        match self.command {
            Command::Choose(_) | Command::Logged(_) => digest_sent(self.decisions),
            _ => digest_outcomes(self.outcomes),
        }
    }
}

/// The model after what is planned.
struct Merged {
    model: Sha,
    /// What is merged of the segments that are settled.
    kept: Option<Prefix>,
    /// Whether a checkpoint is due.
    due: bool,
}

/// What an append that fails gives back.
struct Before {
    state: Undo,
    head: Head,
    /// The rules that hold, their entry and the names of the blocks, where an amendment is among the commands.
    rules: Option<(Setup, u64, Vec<String>)>,
    /// What is merged of the segments that are settled, where others may be faster.
    prefix: Option<Prefix>,
    /// The rounds at hand, where that is all that changes there.
    rounds: Option<Were>,
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
        let first_blocks = setup.config.promotion.len();
        let model = model_hash(&model::start(&setup, first_blocks)?);
        let entry = seal(&Head::none(), &draft, &Changes::default(), digest_outcomes(&[]), model)?;
        let rows = [draft.rows(1)];
        let record = Record::new(entry.clone());
        let sealed = [Expected::of(&record)];
        let mut check = |journal: &dyn Journal| reads_back(journal, &sealed);
        journal.append(&Head::none(), &rows, &mut || Ok(vec![record.clone()]), &mut check)?;
        let mut state = State::new();
        state.apply(&entry, &mut Shelf::default()).map_err(|problem| Error::Damaged {
            path: journal.path().to_owned(),
            problem,
            cause: None,
        })?;
        let head = entry.head();
        Ok(Self {
            journal,
            setup,
            rules_now: 1,
            blocks,
            first_blocks,
            state,
            head,
            checkpoint: 0,
            prefix: None,
            recent: RefCell::default(),
            away: RefCell::default(),
            keys: RefCell::default(),
        })
    }

    /// Appends a command that was made against `against`, all or nothing. `ready` is called before the commit; if it
    /// fails, nothing is appended.
    pub(crate) fn append(
        &mut self,
        against: &Head,
        draft: &Draft<'_>,
        ready: impl FnOnce() -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.write_all(against, std::slice::from_ref(draft), ready).map(drop)
    }

    /// Appends commands that were made against `against`, one entry each, all or nothing and with one wait for the disk.
    /// Gives the entries, in the order of the drafts. Whether a command makes sense is for whoever makes it to judge.
    ///
    /// # Errors
    /// [`Error::HeadMoved`], [`Error::KeyUsed`], [`Error::Damaged`], [`Error::Storage`]; nothing has changed then.
    pub fn append_all(&mut self, against: &Head, drafts: &[Draft<'_>]) -> Result<Vec<Entry>, Error> {
        self.write_all(against, drafts, || Ok(()))
    }

    fn write_all(
        &mut self,
        against: &Head,
        drafts: &[Draft<'_>],
        ready: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Vec<Entry>, Error> {
        if *against != self.head {
            let path = self.journal.path().to_owned();
            return Err(Error::HeadMoved { path, expected: against.seq, found: self.head.seq });
        }
        let alone = drafts.len() == 1 && self.state.length == 1;
        // One command of a large round changes nothing before it is written.
        let mut before = (!alone).then(|| {
            let amends = drafts.iter().any(|draft| draft.command.kind() == Kind::Amend);
            let rules = amends.then(|| (self.setup.clone(), self.rules_now, self.blocks.clone()));
            let settles = self.is_checkpoint_due(self.head.seq + drafts.len() as u64);
            let shared = self.journal.is_shared();
            Before {
                state: Undo::of(&self.state, drafts, settles),
                head: self.head,
                rules,
                prefix: if shared { self.prefix.clone() } else { None },
                rounds: if shared { self.recent.get_mut().before(drafts) } else { None },
            }
        });
        let done = match drafts {
            [] => Ok(Vec::new()),
            [draft] if alone => self.write_one(draft, ready).map(|entry| vec![entry]),
            _ => self.write_several(drafts, ready),
        };
        if self.state.length == 1 {
            *self.recent.get_mut() = Recent::default();
        }
        let keys = self.keys.get_mut();
        drafts.iter().filter_map(|draft| draft.key).for_each(|key| drop(keys.remove(key.as_str())));
        if let Err(error) = &done {
            // Whoever was only too late, or was not heard, is right about everything else.
            let late = matches!(error, Error::HeadMoved { .. } | Error::Unavailable { .. });
            match before.as_mut().and_then(|before| before.rounds.take()).filter(|_| late) {
                Some(rounds) => self.recent.get_mut().restore(rounds),
                None => *self.recent.get_mut() = Recent::default(),
            }
            if let Some(before) = &mut before {
                self.prefix = before.prefix.take().filter(|_| late);
            }
        }
        // A fold after other commands has summed what is not in the journal if they failed.
        if done.is_ok() && self.state.dirty.is_empty() || done.is_err() && drafts.len() > 1 {
            self.recent.get_mut().summed.clear();
        }
        self.recent.get_mut().shrink();
        if let (Err(_), Some(before)) = (&done, before) {
            before.state.restore(&mut self.state);
            self.head = before.head;
            if let Some(rules) = before.rules {
                (self.setup, self.rules_now, self.blocks) = rules;
            }
        }
        done
    }

    /// Writes the entry of a command, which is hashed meanwhile if it is a large round.
    fn write_one(&mut self, draft: &Draft<'_>, ready: impl FnOnce() -> Result<(), Error>) -> Result<Entry, Error> {
        let planned = self.plan(draft)?;
        let Merged { model, kept, due } = self.merge_after(draft, &planned)?;
        let rows = [draft.rows(self.head.seq + 1)];
        let Self { journal, state, head, .. } = self;
        let (mut ready, mut sums) = (Some(ready), Some(encoded(&planned.sums)));
        let sealed = RefCell::new(Vec::new());
        let (state, path) = (&*state, journal.path().to_owned());
        let entries = std::thread::scope(|scope| {
            let mut digest = (draft.decisions.len() > MANY).then(|| scope.spawn(|| draft.digest()));
            let mut seal_all = || {
                let digest = digest.take().map(|digest| digest.join().expect("hashing does not panic"));
                ready.take().map_or(Ok(()), |ready| ready())?;
                let entry = seal(head, draft, &planned.changes, digest.unwrap_or_else(|| draft.digest()), model)?;
                let mut records = vec![Record { sums: sums.take().unwrap_or_default(), ..Record::new(entry.clone()) }];
                if let Some(prefix) = kept.as_ref().filter(|_| due) {
                    let mut after = state.clone();
                    let damaged = |problem| Error::Damaged { path: path.clone(), problem, cause: None };
                    after.apply(&entry, &mut Shelf::default()).map_err(damaged)?;
                    records.push(checkpoint(&mut after, &entry, prefix, &mut Shelf::default()).map_err(damaged)?);
                }
                *sealed.borrow_mut() = records.iter().map(Expected::of).collect();
                Ok(records)
            };
            journal.append(head, &rows, &mut seal_all, &mut |journal| reads_back(journal, &sealed.borrow()))
        })?;
        let mut entries = entries.into_iter();
        let entry = entries.next().ok_or_else(|| self.damaged("the journal gave nothing back"))?;
        self.take(draft, &entry, planned)?;
        for checkpoint in entries {
            // With one round to a segment a checkpoint changes nothing.
            (self.head, self.checkpoint) = (checkpoint.head(), checkpoint.seq);
        }
        self.prefix = kept.or(self.prefix.take());
        Ok(entry)
    }

    /// Writes the entries of commands that each see what those before did. The state has them before they are on the
    /// disk.
    fn write_several(
        &mut self,
        drafts: &[Draft<'_>],
        ready: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Vec<Entry>, Error> {
        let against = self.head;
        let (mut rows, mut records) = (Vec::with_capacity(drafts.len()), Vec::with_capacity(drafts.len() + 1));
        for (place, draft) in drafts.iter().enumerate() {
            let planned = self.plan(draft)?;
            let is_last = place + 1 == drafts.len();
            let Merged { model, kept, due } =
                if is_last { self.merge_after(draft, &planned)? } else { self.model_after(&planned)? };
            let entry = seal(&self.head, draft, &planned.changes, draft.digest(), model)?;
            rows.push(draft.rows(entry.seq));
            // What was merged of segments that change now is of no use any more.
            self.prefix.take_if(|prefix| planned.sums.keys().any(|&segment| segment <= prefix.through));
            records.push(Record { sums: encoded(&planned.sums), ..Record::new(entry.clone()) });
            self.take(draft, &entry, planned)?;
            if let Some(prefix) = kept.as_ref().filter(|_| due) {
                let Self { state, journal, .. } = self;
                let mut shelf = Shelf::of(&**journal);
                let record = checkpoint(state, &entry, prefix, &mut shelf);
                let record = record.map_err(|problem| shelf.error(journal.path(), problem))?;
                self.head = record.entry.head();
                records.push(record);
            }
            self.prefix = kept.or(self.prefix.take());
        }
        let sealed: Vec<Expected> = records.iter().map(Expected::of).collect();
        let (mut ready, mut records) = (Some(ready), Some(records));
        let mut seal_all = || {
            ready.take().map_or(Ok(()), |ready| ready())?;
            Ok(records.take().unwrap_or_default())
        };
        let entries =
            self.journal.append(&against, &rows, &mut seal_all, &mut |journal| reads_back(journal, &sealed))?;
        if let Some(checkpoint) = entries.get(drafts.len()) {
            self.checkpoint = checkpoint.seq;
        }
        Ok(entries.into_iter().take(drafts.len()).collect())
    }

    /// The hash of the model after what is planned.
    fn model_after(&self, planned: &Planned) -> Result<Merged, Error> {
        if planned.sums.is_empty() {
            return Ok(Merged { model: self.state.model, kept: None, due: false });
        }
        let (model, _) = match &planned.anew {
            Some(setup) => self.merge_anew(setup, &planned.sums, None)?,
            None => self.merge(&planned.sums, None)?,
        };
        Ok(Merged { model: model_hash(&model), kept: None, due: false })
    }

    /// As [`model_after`](Self::model_after), with the merged sums that a checkpoint keeps, if one is due.
    fn merge_after(&self, draft: &Draft<'_>, planned: &Planned) -> Result<Merged, Error> {
        let seq = self.head.seq + 1;
        let several = self.state.length > 1;
        let late = |prefix: &Prefix| planned.sums.keys().any(|&segment| segment <= prefix.through);
        let lost = self.checkpoint > 0 && self.prefix.as_ref().is_none_or(late);
        // After another recipe nothing that was kept before is of use. With several rounds to a segment, late rewards
        // are the rule: what they change is merged again in memory only.
        let due = self.is_checkpoint_due(seq) || lost && !several || planned.anew.is_some();
        if planned.sums.is_empty() && !due {
            return Ok(Merged { model: self.state.model, kept: None, due });
        }
        let keep = (due || several).then(|| self.last_merged(draft.command.round()));
        let (model, kept) = match &planned.anew {
            Some(setup) => self.merge_anew(setup, &planned.sums, keep)?,
            None => self.merge(&planned.sums, keep)?,
        };
        let kept = keep.zip(kept).map(|(through, model)| Prefix { through, model });
        Ok(Merged { model: model_hash(&model), kept, due })
    }

    /// Whether entry `seq` is so far from the last checkpoint that another one follows it.
    fn is_checkpoint_due(&self, seq: u64) -> bool {
        let every = EVERY.max(if self.state.length > 1 { SEGMENTS * self.state.length } else { 0 });
        seq - self.checkpoint >= every
    }

    /// Goes on to an entry.
    fn take(&mut self, draft: &Draft<'_>, entry: &Entry, planned: Planned) -> Result<(), Error> {
        let Self { state, journal, .. } = self;
        let mut shelf = Shelf::of(&**journal);
        let taken = state.advance(entry, &draft.command, &planned.changes, &mut shelf);
        taken.map_err(|problem| shelf.error(journal.path(), problem))?;
        self.head = entry.head();
        if let Command::Amend(rules) = &draft.command {
            self.obey(entry.seq, (**rules).clone());
        }
        let Self { recent, state, .. } = self;
        let recent = recent.get_mut();
        if planned.anew.is_some() {
            *recent = Recent::default();
        }
        if let Command::Close(Closing::Through(range)) = &draft.command {
            let closed = |round: &u64| state.rounds.get(round).is_some_and(|info| info.closed_by == Some(entry.seq));
            let own = recent.rounds.range_mut(..=range.through).filter(|(round, _)| closed(round));
            own.for_each(|(_, played)| played.closed = true);
        }
        recent.keep_rounds(planned.rounds);
        match &draft.command {
            Command::Choose(chosen) => recent.keep_heard(chosen.round, Vec::new()),
            command => recent.hear(entry.seq, command.kind(), draft.outcomes),
        }
        for (segment, sums) in planned.sums {
            if let Some(&hash) = state.sums.get(&segment) {
                recent.keep_sums(segment, hash, sums);
            }
        }
        Ok(())
    }

    /// The last segment that a checkpoint merges; `chosen` is a round that may not be in the state yet.
    fn last_merged(&self, chosen: Option<u64>) -> u64 {
        if self.state.length > 1 {
            let newest = self.rounds().keys().next_back().copied().max(chosen).unwrap_or(0);
            return self.segment_of(newest).saturating_sub(OPEN_SEGMENTS);
        }
        let rounds = self.rounds().keys().copied().chain(chosen);
        let segments: BTreeSet<u64> = rounds.map(|round| self.segment_of(round)).collect();
        segments.into_iter().rev().nth(OPEN_SEGMENTS as usize).unwrap_or(0)
    }
}

fn encoded(sums: &BTreeMap<u64, Arc<Model>>) -> Vec<(u64, Vec<u8>)> {
    sums.iter().map(|(&segment, sums)| (segment, encode(sums))).collect()
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

/// The checkpoint after an entry; puts segments of the state away. The error says what is damaged.
fn checkpoint(state: &mut State, entry: &Entry, prefix: &Prefix, shelf: &mut Shelf<'_>) -> Result<Record, String> {
    state.settle(shelf)?;
    let (bytes, merged) = (state.encode(StateFormat::NOW), encode(&prefix.model));
    let (through, model) = (prefix.through, Sha::of(&merged));
    let vouched = Vouched { state: Sha::of(&bytes), through, model, format: StateFormat::NOW };
    let draft = Draft { at: Some(entry.at.clone()), ..Draft::new(Command::Checkpoint(vouched)) };
    let sealed = seal(&entry.head(), &draft, &Changes::default(), digest_outcomes(&[]), entry.model);
    let sealed = sealed.map_err(|error| error.to_string())?;
    let kept = Kept { seq: sealed.seq, state: bytes, model: merged };
    Ok(Record {
        kept: Some(kept),
        settled: std::mem::take(&mut shelf.put).into_iter().collect(),
        ..Record::new(sealed)
    })
}
