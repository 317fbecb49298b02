//! Checks everything in a journal, from the first entry, and says what can be recovered.
//!
//! The chain is the authority. Rows are checked against its digests, the state after every entry against the
//! checkpoints, and the model is summed again from the rows. Stored sums and the store's own structure come last, since
//! they can always be rebuilt. The model, the counts and the sums are compared as they are after the last entry; to
//! check the model after an earlier entry, use [`replay`](Campaign::replay).

use super::{
    Campaign, Command, Counts, Entry, Head, Kind, Refusal, Sha, Vouched, blocks,
    original::of_command,
    settled::Shelf,
    state::State,
    sums::{encode, model_hash},
};
use crate::Error;
use armwise::Model;
use serde::Serialize;
use std::collections::BTreeMap;

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What is damaged.
    pub damaged: String,
    /// What can be done about it.
    pub recovery: String,
}

/// The outcome of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Whether nothing was found.
    pub good: bool,
    /// How many entries the journal has.
    pub entries: u64,
    /// The hash of the last of them; none if the journal cannot be read.
    pub head: Option<Sha>,
    /// The hash of the model that the journal names; none if the journal cannot be read.
    pub model: Option<Sha>,
    /// The hash of the model computed again from the rows.
    pub replayed: Option<Sha>,
    /// The first round whose single decisions can still be replayed; 1 unless some were given up.
    pub decisions_from: u64,
    /// What was found.
    pub findings: Vec<Finding>,
}

const BACKUP: &str = "restore the file from a backup";
const RECOVER: &str =
    "the journal cannot be trusted; restore the file from a backup, or read what is left with `sqlite3 FILE .recover`";

/// What was found so far.
#[derive(Default)]
struct Findings {
    found: Vec<Finding>,
    /// Why the journal could not be read to its end, which says nothing about it.
    cut_off: Option<Error>,
}

impl Findings {
    fn add(&mut self, damaged: impl Into<String>, recovery: &str) {
        self.found.push(Finding { damaged: damaged.into(), recovery: recovery.to_owned() });
    }

    fn add_error(&mut self, error: Error, recovery: &str) {
        match error {
            Error::Unavailable { .. } => self.cut_off = Some(error),
            error => self.add(error.to_string(), recovery),
        }
    }
}

impl Verified {
    /// Of a campaign that could be opened, or of one that is too damaged for that.
    ///
    /// # Errors
    /// Every error of opening except [`Error::Damaged`]: damage is reported as a finding.
    pub fn of(opened: Result<Campaign, Error>) -> Result<Self, Error> {
        match opened {
            Ok(campaign) => campaign.verify(),
            Err(Error::Damaged { problem, .. }) => {
                let findings = vec![Finding { damaged: problem, recovery: RECOVER.to_owned() }];
                let decisions_from = 1;
                Ok(Self { good: false, entries: 0, head: None, model: None, replayed: None, decisions_from, findings })
            }
            Err(error) => Err(error),
        }
    }
}

impl Campaign {
    /// Checks the chain, rows, model, checkpoints, stored sums and the store's own structure.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the journal could not be read to its end.
    pub fn verify(&self) -> Result<Verified, Error> {
        let mut findings = Findings::default();
        // What is at hand says nothing of what is on the disk.
        let at_hand = self.recent.take();
        let mut replayed = None;
        let rows_good = match self.walk() {
            Err(error) => {
                findings.add_error(error, RECOVER);
                false
            }
            Ok(checkpoints) => {
                let rows_good = self.verify_rows(&mut findings);
                if rows_good {
                    replayed = self.verify_model(&checkpoints, &mut findings);
                }
                rows_good
            }
        };
        self.verify_stored(&mut findings);
        match self.journal.problems() {
            Ok(problems) => {
                let recovery = if rows_good {
                    "no row is lost: `sqlite3 FILE REINDEX`, or `VACUUM INTO` a new file"
                } else {
                    BACKUP
                };
                problems.into_iter().for_each(|problem| findings.add(problem, recovery));
            }
            Err(error) => findings.add_error(error, BACKUP),
        }
        self.recent.replace(at_hand);
        if let Some(error) = findings.cut_off {
            return Err(error);
        }
        Ok(Verified {
            good: findings.found.is_empty(),
            entries: self.head.seq,
            head: Some(self.head.hash),
            model: Some(self.state.model),
            replayed,
            decisions_from: self.state.compacted + 1,
            findings: findings.found,
        })
    }

    /// Goes over all entries; gives the checkpoints, whose state is that of the walk.
    fn walk(&self) -> Result<Vec<(u64, Vouched)>, Error> {
        let (mut state, mut shelf, mut head) = (State::new(), Shelf::default(), Head::none());
        let mut checkpoints = Vec::new();
        self.journal.each_entry(0, &mut |entry| {
            entry.follows(&head).map_err(|problem| self.damaged(problem))?;
            state.apply(&entry, &mut shelf).map_err(|problem| self.damaged(problem))?;
            head = entry.head();
            if let Ok(Command::Checkpoint(vouched)) = entry.command() {
                if Sha::of(state.encode(vouched.format)) != vouched.state {
                    return Err(self.damaged(format!("checkpoint {} does not say what the entries say", entry.seq)));
                }
                checkpoints.push((entry.seq, vouched));
            }
            Ok(())
        })?;
        if head != self.head || state != self.state {
            return Err(self.damaged("the entries do not lead to the state that was opened"));
        }
        Ok(checkpoints)
    }

    /// Whether an entry has the rows it had, and what to do if not.
    fn verify_rows_of(&self, entry: &Entry) -> (Result<(), Error>, &'static str) {
        match (entry.kind, entry.round) {
            (Kind::Choose, Some(round)) if round > self.state.compacted => (
                self.sent(round).and_then(|_| self.originals(round)).map(|_| ()),
                "the other rounds are good; sends.csv of this round and a backup are what is left of this one",
            ),
            (Kind::Logged, _) => (
                self.verify_logged(entry),
                "the rounds are good; the logged table and a backup are what is left of this entry",
            ),
            // Rows of rounds that were given up are gone; those of others are checked round by round.
            (Kind::Learn | Kind::Correct | Kind::Undelivered, _) if !self.is_thinned(entry) => (
                self.outcomes_of(entry).map(|_| ()),
                "the other entries are good; this one's responses must be learned again, into a backup",
            ),
            _ => (Ok(()), BACKUP),
        }
    }

    /// Whether some of an entry's outcomes were given up.
    fn is_thinned(&self, entry: &Entry) -> bool {
        self.state.compacted > 0
            && match entry.command() {
                Ok(Command::Learn(told) | Command::Correct(told) | Command::Undelivered(told)) => {
                    told.rounds.iter().any(|round| (1..=self.state.compacted).contains(round))
                }
                _ => false,
            }
    }

    /// Whether every entry has the rows it had.
    fn verify_rows(&self, findings: &mut Findings) -> bool {
        let mut good = true;
        let (mut decisions, mut outcomes, mut originals) = (0, 0, 0);
        let read = self.journal.each_entry(0, &mut |entry| {
            let (checked, recovery) = self.verify_rows_of(&entry);
            if let Err(error) = checked {
                good = false;
                findings.add_error(error, recovery);
            }
            match entry.kind {
                Kind::Choose => decisions += entry.rows,
                Kind::Logged => (decisions, outcomes) = (decisions + entry.rows, outcomes + entry.rows),
                _ => outcomes += entry.rows,
            }
            if entry.kind == Kind::Choose
                && let Err(error) = self.candidates_of(&entry)
            {
                findings.add_error(error, BACKUP);
            }
            if matches!(entry.kind, Kind::Choose | Kind::Logged | Kind::Compact) {
                let command = entry.command();
                if let Ok(Command::Compact(gone)) = command {
                    decisions -= u64::min(gone.decisions, decisions);
                    outcomes -= u64::min(gone.outcomes, outcomes);
                    originals -= u64::min(gone.originals, originals);
                } else if command.is_ok_and(|command| of_command(&command).is_some()) {
                    originals += entry.rows;
                }
            }
            Ok(())
        });
        if let Err(error) = read {
            findings.add_error(error, BACKUP);
        }
        if let Err(error) = self.arms_changes() {
            findings.add_error(error, BACKUP);
        }
        match self.journal.count_originals() {
            Ok(found) if found != originals => findings.add(
                format!("the original columns of {found} decisions are there, the journal has {originals}"),
                "the journal's own rows are unaffected if nothing else is reported",
            ),
            Ok(_) => {}
            Err(error) => findings.add_error(error, BACKUP),
        }
        match self.journal.count() {
            Ok(found) => {
                for (what, found, expected) in [("decisions", found.0, decisions), ("outcomes", found.1, outcomes)] {
                    if found != expected {
                        findings.add(
                            format!("there are {found} {what}, the journal has {expected}"),
                            "the journal's own rows are unaffected if nothing else is reported",
                        );
                    }
                }
            }
            Err(error) => findings.add_error(error, BACKUP),
        }
        good
    }

    /// Whether what was learned before the first round is what it was.
    fn verify_logged(&self, entry: &Entry) -> Result<(), Error> {
        self.sent(0)?;
        self.heard(0)?;
        self.originals(0)?;
        // Their numbers, which nothing else looks at.
        self.journal.outcomes(entry.seq).map(|_| ())
    }

    /// The hash of the model computed again; checks that rounds, sums, checkpoints and the last entry agree with it.
    fn verify_model(&self, checkpoints: &[(u64, Vouched)], findings: &mut Findings) -> Option<Sha> {
        let mut merged = BTreeMap::new();
        let model = match self.replay_checked(findings, &mut merged) {
            Ok(model) => model,
            Err(error) => {
                findings.add_error(error, BACKUP);
                return None;
            }
        };
        let replayed = model_hash(&model);
        if replayed != self.state.model {
            findings.add("the model summed from the rows is not the one that the journal names", BACKUP);
        }
        // With several rounds to a segment late rewards are the rule, and a checkpoint but the last is never used again.
        let used = if self.state.length == 1 { 0 } else { checkpoints.len().saturating_sub(1) };
        for &(seq, vouched) in &checkpoints[used..] {
            let now = merged.range(..=vouched.through).next_back().map(|(_, &hash)| hash);
            let same = now == Some(vouched.model)
                // A later reward for one of its segments: as it was then.
                || match self.replay_to(vouched.through, seq) {
                    Ok(then) => model_hash(&then) == vouched.model,
                    // What changed since cannot be computed as it was; nobody uses what is merged of it either.
                    Err(Error::Refused(Refusal::Compacted { .. })) => true,
                    Err(error @ Error::Unavailable { .. }) => {
                        findings.add_error(error, BACKUP);
                        true
                    }
                    Err(_) => false,
                };
            if !same {
                findings.add(format!("checkpoint {seq} has not the model of its rows"), BACKUP);
            }
        }
        Some(replayed)
    }

    /// Computes the model again, compares rounds and segments with the journal on the way, and notes the hash of the
    /// model after every segment.
    fn replay_checked(&self, findings: &mut Findings, merged: &mut BTreeMap<u64, Sha>) -> Result<Model, Error> {
        let mut model = self.start()?;
        merged.insert(0, model_hash(&model));
        for segment in self.segments(u64::MAX) {
            let gone = self.is_compacted(segment);
            let rounds = if gone { Vec::new() } else { self.played_in(segment, u64::MAX)? };
            for played in &rounds {
                let Ok(info) = self.info(played.round) else { continue };
                let same = |counts: Counts| counts.is_written_as(&info.counts);
                if !(same(played.counts()) || played.closed && same(played.counts_closed_at_once())) {
                    findings.add(format!("the counts of round {} are not those of its rows", played.round), BACKUP);
                }
            }
            let sums = if gone {
                self.compacted_sums(segment, u64::MAX)?
            } else if self.state.dirty.contains(&segment) {
                self.replay_rounds(&self.setup, &self.played_in(segment, self.state.fold)?)?
            } else {
                self.replay_rounds(&self.setup, &rounds)?
            };
            if sums.as_ref().map(|sums| Sha::of(encode(sums))).as_ref() != self.state.sums.get(&segment) {
                findings.add(format!("the sums of segment {segment} are not those that the journal names"), BACKUP);
            }
            if let Some(sums) = sums {
                blocks::merge(&mut model, &sums)?;
            }
            merged.insert(segment, model_hash(&model));
        }
        Ok(model)
    }

    /// Whether what the last checkpoint vouches for is there. Rewards that came for earlier segments since do not change
    /// it, though what it has merged is of no use then.
    fn has_checkpoint(&self) -> bool {
        let Ok(Some(kept)) = self.journal.kept() else { return false };
        let entry = self.journal.entry(kept.seq).ok().flatten().filter(|entry| entry.seq == self.checkpoint);
        match entry.as_ref().map(Entry::command) {
            Some(Ok(Command::Checkpoint(vouched))) => {
                (Sha::of(&kept.state), Sha::of(&kept.model)) == (vouched.state, vouched.model)
            }
            _ => false,
        }
    }

    /// Checks what is stored only to save time.
    fn verify_stored(&self, findings: &mut Findings) {
        const AGAIN: &str = "nothing is lost: it is made anew from the journal";
        for (&segment, &hash) in &self.state.sums {
            let stored = self.stored_sums(segment, hash);
            if let Err(error @ Error::Unavailable { .. }) = stored {
                return findings.add_error(error, BACKUP);
            }
            if !matches!(stored, Ok(Some(_))) {
                let recovery = if self.is_compacted(segment) { BACKUP } else { AGAIN };
                findings.add(format!("the sums of segment {segment} are damaged"), recovery);
            }
        }
        for (&segment, settled) in &*self.state.settled {
            let stored = self.journal.settled(segment);
            if let Err(error @ Error::Unavailable { .. }) = stored {
                return findings.add_error(error, BACKUP);
            }
            if !matches!(stored, Ok(Some(bytes)) if Sha::of(&bytes) == settled.bytes) {
                findings.add(format!("the rounds of segment {segment}, which is put away, are damaged"), AGAIN);
            }
        }
        if self.checkpoint > 0 && self.prefix.is_none() && !self.has_checkpoint() {
            findings.add(format!("what checkpoint {} keeps is damaged", self.checkpoint), AGAIN);
        }
    }
}
