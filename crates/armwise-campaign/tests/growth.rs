//! What a command costs grows with what it touches, not with the history: counted in rows read, not in seconds.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{
        Check, EachDecision, Entry, Feedback, Head, Heard, Journal, Kept, Kind, Named, Original, Outcome, Rows, Seal,
        Setup, close, learn, model_hash, status,
    },
    recipe::fit,
    round::{ChooseOptions, choose},
    store::{memory::Memory, sqlite::Sqlite},
};
use common::{Folder, customers, open};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// A journal that counts what is read from it: an entry, a decision, an outcome, a segment's sums, a checkpoint.
#[derive(Debug)]
struct Counting<J> {
    journal: J,
    read: Arc<AtomicU64>,
}

impl<J> Counting<J> {
    fn all<T>(&self, rows: Result<Vec<T>, Error>) -> Result<Vec<T>, Error> {
        self.read.fetch_add(rows.as_ref().map_or(0, Vec::len) as u64, Ordering::Relaxed);
        rows
    }

    fn one<T>(&self, row: Result<Option<T>, Error>) -> Result<Option<T>, Error> {
        self.read.fetch_add(1, Ordering::Relaxed);
        row
    }
}

impl<J: Journal> Journal for Counting<J> {
    fn path(&self) -> &Path {
        self.journal.path()
    }
    fn append(
        &mut self,
        against: &Head,
        rows: &[Rows<'_>],
        seal: Seal<'_>,
        check: Check<'_>,
    ) -> Result<Vec<Entry>, Error> {
        // What is read back before the commit is what this very append wrote, so it is not counted.
        self.journal.append(against, rows, seal, check)
    }
    fn keyed(&self, key: &str) -> Result<Option<Entry>, Error> {
        self.one(self.journal.keyed(key))
    }
    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        self.one(self.journal.entry(seq))
    }
    fn entries(&self, seq: u64) -> Result<Vec<Entry>, Error> {
        self.all(self.journal.entries(seq))
    }
    fn kept(&self) -> Result<Option<Kept>, Error> {
        self.one(self.journal.kept())
    }
    fn sums(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.one(self.journal.sums(segment))
    }
    fn each_decision(&self, round: u64, take: EachDecision<'_>) -> Result<(), Error> {
        self.journal.each_decision(round, &mut |seq, sent| {
            self.read.fetch_add(1, Ordering::Relaxed);
            take(seq, sent)
        })
    }
    fn decisions_of(&self, customer: &str) -> Result<Vec<Named>, Error> {
        self.all(self.journal.decisions_of(customer))
    }
    fn outcomes(&self, seq: u64) -> Result<Vec<Outcome>, Error> {
        self.all(self.journal.outcomes(seq))
    }
    fn heard(&self, round: u64) -> Result<Vec<Heard>, Error> {
        self.all(self.journal.heard(round))
    }
    fn originals(&self, round: u64) -> Result<Vec<(u64, Original)>, Error> {
        self.all(self.journal.originals(round))
    }
    fn count_originals(&self) -> Result<u64, Error> {
        self.journal.count_originals()
    }
    fn count(&self) -> Result<(u64, u64), Error> {
        self.journal.count()
    }
    fn problems(&self) -> Result<Vec<String>, Error> {
        self.journal.problems()
    }
}

/// Opens, does something, and says how many rows were read.
fn counted<J: Journal + 'static, T>(journal: J, act: impl FnOnce(&mut Campaign) -> T) -> (T, u64) {
    let read = Arc::new(AtomicU64::new(0));
    let counting = Counting { journal, read: Arc::clone(&read) };
    let done = act(&mut Campaign::open(Box::new(counting)).unwrap());
    (done, read.load(Ordering::Relaxed))
}

const LEARNS: u64 = 9;

/// The rows that open, choose, learn and status read in each round.
fn rounds<J: Journal + 'static>(folder: &Folder, journal: &dyn Fn() -> J, count: u64) -> Vec<[u64; 4]> {
    let table = open(&folder.write("customers.csv", customers(200)));
    let rules = "customer = \"customer\"\n[limits]\nrest = 2\n[[promotion]]\nname = \"mail\"\nquota = 20\n\
                 [[features.column]]\nname = \"age\"\nkind = \"numeric\"\n";
    let config = Config::parse(rules, Path::new("rules")).unwrap();
    let recipe = fit(&config, &table).unwrap();
    drop(Campaign::begin(Box::new(journal()), Setup::new(config, recipe)).unwrap());
    (1..=count)
        .map(|round| {
            let opened = counted(journal(), |_| ()).1;
            let (_, chosen) = counted(journal(), |campaign| {
                let choice = choose(campaign, &table, ChooseOptions::default(), &|_| ()).unwrap();
                choice.commit(campaign, None).unwrap()
            });
            let mut learned = 0;
            for part in 0..LEARNS {
                let path = folder.write("r.csv", format!("decision,reward\nr{round}-{},1\n", 2 * part + 1));
                let rows =
                    counted(journal(), |campaign| learn(campaign, &open(&path), Feedback::Rewards, None, None)).1;
                learned = u64::max(learned, rows);
            }
            let (_, told) = counted(journal(), |campaign| status(campaign).unwrap());
            [opened, chosen, learned, told]
        })
        .collect()
}

/// The mean over six rounds, in which every place between two checkpoints comes up about once.
fn around(rows: &[[u64; 4]], round: usize) -> [f64; 4] {
    let sum = |of: usize| rows[round - 6..round].iter().map(|rows| rows[of] as f64).sum::<f64>() / 6.0;
    [sum(0), sum(1), sum(2), sum(3)]
}

#[test]
fn a_command_reads_as_much_at_round_60_as_at_round_20() {
    let folder = Folder::new("growth");
    let path = folder.path("c.armwise");
    let made = std::cell::Cell::new(false);
    let file = || {
        let store = if made.replace(true) { Sqlite::open(&path, Some("test")) } else { Sqlite::create(&path, "test") };
        store.unwrap()
    };
    let rows = rounds(&folder, &file, 60);
    let (before, after) = (around(&rows, 20), around(&rows, 60));
    for (what, (before, after)) in ["open", "choose", "learn", "status"].into_iter().zip(before.into_iter().zip(after))
    {
        assert!(before > 0.0 && after <= 1.5 * before, "{what}: {before} rows at round 20, {after} at round 60");
    }
    let campaign = Campaign::read(&path).unwrap();
    assert!(campaign.verify().good, "{:?}", campaign.verify().findings);
    assert_eq!(model_hash(&campaign.replay(u64::MAX).unwrap()), campaign.model_hash());
    assert!(campaign.entries().unwrap().iter().filter(|entry| entry.kind == Kind::Checkpoint).count() >= 9);
}

/// A reward for a round that a checkpoint has merged already: everything is merged again once, and then a new checkpoint
/// makes the next commands cheap.
#[test]
fn a_late_reward_for_an_early_round_is_counted_and_costs_once() {
    let folder = Folder::new("late");
    let memory = Memory::default();
    rounds(&folder, &|| memory.clone(), 24);
    let learn_text = |text: &str| {
        let path = folder.write("late.csv", format!("decision,reward\n{text}\n"));
        counted(memory.clone(), |campaign| {
            let learned = learn(campaign, &open(&path), Feedback::Rewards, None, None).unwrap().0;
            assert_eq!((learned.applied, learned.model), (1, model_hash(&campaign.replay(u64::MAX).unwrap())));
        });
        counted(memory.clone(), |campaign| campaign.model().unwrap()).1
    };
    let usual = learn_text("r24-20,0.5");
    assert!(learn_text("r2-20,0.25") <= usual, "a checkpoint follows at once");
    let (verified, _) = counted(memory.clone(), |campaign| {
        close(campaign, 1, None).unwrap();
        campaign.verify()
    });
    assert!(verified.good, "{:?}", verified.findings);
}
