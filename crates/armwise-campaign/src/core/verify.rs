//! Checks everything in a journal, from the first entry, and says what can be recovered.
//!
//! The chain is the authority. Rows are checked against its digests, the state after every entry against the
//! checkpoints, and the model is summed again from the rows. Stored sums and the store's own structure come last, since
//! they can always be rebuilt. The model, the counts and the sums are compared as they are after the last entry; to
//! check the model after an earlier entry, use [`replay`](Campaign::replay).

use super::{
    Campaign, Command, Entry, Kind, Sha, Vouched, blocks,
    fold::Played,
    original::of_command,
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
    /// What was found.
    pub findings: Vec<Finding>,
}

const BACKUP: &str = "restore the file from a backup";
const RECOVER: &str =
    "the journal cannot be trusted; restore the file from a backup, or read what is left with `sqlite3 FILE .recover`";

/// What was found so far.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, damaged: impl Into<String>, recovery: &str) {
        self.0.push(Finding { damaged: damaged.into(), recovery: recovery.to_owned() });
    }
}

impl Verified {
    /// Of a campaign that could be opened, or of one that is too damaged for that.
    ///
    /// # Errors
    /// Every error of opening except [`Error::Damaged`]: damage is reported as a finding.
    pub fn of(opened: Result<Campaign, Error>) -> Result<Self, Error> {
        match opened {
            Ok(campaign) => Ok(campaign.verify()),
            Err(Error::Damaged { problem, .. }) => {
                let findings = vec![Finding { damaged: problem, recovery: RECOVER.to_owned() }];
                Ok(Self { good: false, entries: 0, head: None, model: None, replayed: None, findings })
            }
            Err(error) => Err(error),
        }
    }
}

impl Campaign {
    /// Checks the chain, rows, model, checkpoints, stored sums and the store's own structure.
    #[must_use]
    pub fn verify(&self) -> Verified {
        let mut findings = Findings::default();
        let entries = self.entries();
        let walked = entries.and_then(|entries| Ok((self.walk(&entries)?, entries)));
        let mut replayed = None;
        let rows_good = match walked {
            Err(error) => {
                findings.add(error.to_string(), RECOVER);
                false
            }
            Ok((checkpoints, entries)) => {
                let rows_good = self.verify_rows(&entries, &mut findings);
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
            Err(error) => findings.add(error.to_string(), BACKUP),
        }
        Verified {
            good: findings.0.is_empty(),
            entries: self.head.seq,
            head: Some(self.head.hash),
            model: Some(self.state.model),
            replayed,
            findings: findings.0,
        }
    }

    /// Goes over all entries; gives the checkpoints, whose state is that of the walk.
    fn walk(&self, entries: &[Entry]) -> Result<Vec<(u64, Vouched)>, Error> {
        let mut state = State::new();
        let mut checkpoints = Vec::new();
        for entry in entries {
            if let Ok(Command::Checkpoint(vouched)) = entry.command() {
                if Sha::of(state.encode()) != vouched.state {
                    return Err(self.damaged(format!("checkpoint {} does not say what the entries say", entry.seq)));
                }
                checkpoints.push((entry.seq, vouched));
            }
            state.apply(entry).map_err(|problem| self.damaged(problem))?;
        }
        let last = entries.last().map(Entry::head);
        if last != Some(self.head) || state != self.state {
            return Err(self.damaged("the entries do not lead to the state that was opened"));
        }
        Ok(checkpoints)
    }

    /// Whether every entry has the rows it had.
    fn verify_rows(&self, entries: &[Entry], findings: &mut Findings) -> bool {
        let mut good = true;
        for entry in entries {
            let (checked, recovery) = match (entry.kind, entry.round) {
                (Kind::Choose, Some(round)) => (
                    self.sent(round).and_then(|_| self.originals(round)).map(|_| ()),
                    "the other rounds are good; sends.csv of this round and a backup are what is left of this one",
                ),
                (Kind::Logged, _) => (
                    self.verify_logged(entry),
                    "the rounds are good; the logged table and a backup are what is left of this entry",
                ),
                (Kind::Learn | Kind::Correct | Kind::Undelivered, _) => (
                    self.outcomes_of(entry).map(|_| ()),
                    "the other entries are good; this one's responses must be learned again, into a backup",
                ),
                _ => (Ok(()), BACKUP),
            };
            if let Err(error) = checked {
                good = false;
                findings.add(error.to_string(), recovery);
            }
        }
        let rows = |of: fn(Kind) -> bool| entries.iter().filter(|entry| of(entry.kind)).map(|entry| entry.rows).sum();
        let expected: (u64, u64) =
            (rows(|kind| matches!(kind, Kind::Choose | Kind::Logged)), rows(|kind| kind != Kind::Choose));
        let kept = |entry: &&Entry| entry.command().is_ok_and(|command| of_command(&command).is_some());
        let originals: u64 = entries.iter().filter(kept).map(|entry| entry.rows).sum();
        match self.journal.count_originals() {
            Ok(found) if found != originals => findings.add(
                format!("the original columns of {found} decisions are there, the journal has {originals}"),
                "the journal's own rows are unaffected if nothing else is reported",
            ),
            Ok(_) => {}
            Err(error) => findings.add(error.to_string(), BACKUP),
        }
        match self.journal.count() {
            Ok(found) => {
                for (what, found, expected) in [("decisions", found.0, expected.0), ("outcomes", found.1, expected.1)] {
                    if found != expected {
                        findings.add(
                            format!("there are {found} {what}, the journal has {expected}"),
                            "the journal's own rows are unaffected if nothing else is reported",
                        );
                    }
                }
            }
            Err(error) => findings.add(error.to_string(), BACKUP),
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
                findings.add(error.to_string(), BACKUP);
                return None;
            }
        };
        let replayed = model_hash(&model);
        if replayed != self.state.model {
            findings.add("the model summed from the rows is not the one that the journal names", BACKUP);
        }
        for &(seq, vouched) in checkpoints {
            let now = merged.range(..=vouched.through).next_back().map(|(_, &hash)| hash);
            let same = now == Some(vouched.model)
                // A later reward for one of its segments: as it was then.
                || self.replay_to(vouched.through, seq).is_ok_and(|then| model_hash(&then) == vouched.model);
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
            let rounds = self.played_in(segment, u64::MAX)?;
            let differs = |played: &&Played| self.info(played.round).is_ok_and(|info| info.counts != played.counts());
            for played in rounds.iter().filter(differs) {
                findings.add(format!("the counts of round {} are not those of its rows", played.round), BACKUP);
            }
            let sums = self.replay_rounds(&self.setup, &rounds)?;
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

    /// Checks what is stored only to save time.
    fn verify_stored(&self, findings: &mut Findings) {
        const AGAIN: &str = "nothing is lost: it is made anew from the journal";
        for (&segment, &hash) in &self.state.sums {
            if !matches!(self.stored_sums(segment, hash), Ok(Some(_))) {
                findings.add(format!("the sums of segment {segment} are damaged"), AGAIN);
            }
        }
        if self.checkpoint > 0 && self.prefix.is_none() {
            findings.add(format!("what checkpoint {} keeps is damaged", self.checkpoint), AGAIN);
        }
    }
}
