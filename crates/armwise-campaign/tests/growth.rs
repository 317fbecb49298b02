//! What a command costs grows with what it touches, not with the history: counted in rows read, not in seconds.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{
        Answer, Check, Chosen, Command, DecisionId, Draft, EachDecision, EachEntry, Entry, Feedback, Head, Heard,
        Journal, Kept, Kind, Named, Original, Outcome, Responses, Rows, Seal, Sent, Setup, Sha, close, fold, learn,
        model_hash, status,
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
    fn head(&self) -> Result<Head, Error> {
        self.journal.head()
    }
    fn entry(&self, seq: u64) -> Result<Option<Entry>, Error> {
        self.one(self.journal.entry(seq))
    }
    fn each_entry(&self, seq: u64, take: EachEntry<'_>) -> Result<(), Error> {
        self.journal.each_entry(seq, &mut |entry| {
            self.read.fetch_add(1, Ordering::Relaxed);
            take(entry)
        })
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
    fn of_kind(&self, kind: Kind) -> Result<Vec<Entry>, Error> {
        self.all(self.journal.of_kind(kind))
    }
    fn last_of_kind(&self, kind: Kind, until: u64) -> Result<Option<Entry>, Error> {
        self.one(self.journal.last_of_kind(kind, until))
    }
    fn settled(&self, segment: u64) -> Result<Option<Vec<u8>>, Error> {
        self.one(self.journal.settled(segment))
    }
    fn arms(&self, seq: u64) -> Result<Option<Vec<u8>>, Error> {
        self.one(self.journal.arms(seq))
    }
    fn count_originals(&self) -> Result<u64, Error> {
        self.journal.count_originals()
    }
    fn count(&self) -> Result<(u64, u64), Error> {
        self.journal.count()
    }
    fn count_through(&self, round: u64) -> Result<(u64, u64, u64), Error> {
        self.journal.count_through(round)
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
                let choice =
                    choose(campaign, &table, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())
                        .unwrap();
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
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
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
        campaign.verify().unwrap()
    });
    assert!(verified.good, "{:?}", verified.findings);
}

/// The rounds of a service: one decision each.
fn serve(campaign: &mut Campaign, rounds: std::ops::RangeInclusive<u64>) {
    let dim = campaign.recipe().dim();
    let numbers: Vec<u64> = rounds.collect();
    for numbers in numbers.chunks(200) {
        let sent = |&round: &u64| Sent {
            id: DecisionId { round, number: 1 },
            customer: format!("C{}", round % 97),
            promotion: "mail".to_owned(),
            hold_out: false,
            segment: None,
            mean: 0.5,
            width: 0.1,
            draw: None,
            score: 0.5,
            rank: 1,
            greedy: None,
            probability: None,
            features: vec![f64::from((round % 89) as u8) / 64.0; dim].into(),
        };
        let sent: Vec<[Sent; 1]> = numbers.iter().map(|round| [sent(round)]).collect();
        let choose = |sent: &[Sent; 1]| Chosen { round: sent[0].id.round, seed: 1, ..Chosen::default() };
        let drafts = sent.iter().map(|own| Draft { decisions: own, ..Draft::new(Command::Choose(choose(own))) });
        let head = campaign.head();
        campaign.append_all(&head, &drafts.collect::<Vec<_>>()).unwrap();
        answer(campaign, &numbers.iter().copied().step_by(3).collect::<Vec<_>>());
        fold(campaign).unwrap();
    }
}

/// A reward for each of these rounds.
fn answer(campaign: &mut Campaign, rounds: &[u64]) {
    let outcomes: Vec<Outcome> = rounds
        .iter()
        .map(|&round| Outcome { decision: DecisionId { round, number: 1 }, answer: Some(Answer::of(0.5)) })
        .collect();
    let (table, digest, read) = ("lines".to_owned(), Sha::of("lines"), rounds.len() as u64);
    let rounds = rounds.to_vec();
    let told = Responses { table, digest, rounds, read, repeated: 0, rejected: 0, aside: Vec::new() };
    let head = campaign.head();
    let draft = Draft { outcomes: &outcomes, ..Draft::new(Command::Learn(told)) };
    campaign.append_all(&head, &[draft]).unwrap();
}

/// A service may have a million rounds: what a command reads and what a checkpoint keeps must not grow with them.
#[test]
fn a_service_reads_and_keeps_as_much_at_20_000_rounds_as_at_2_000() {
    let folder = Folder::new("growth-served");
    let path = folder.path("c.armwise");
    let table = open(&folder.write("customers.csv", customers(50)));
    let rules = "customer = \"customer\"\nrounds_per_segment = 32\n[[promotion]]\nname = \"mail\"\nquota = 1\n\
                 [[features.column]]\nname = \"age\"\nkind = \"numeric\"\n";
    let config = Config::parse(rules, Path::new("rules")).unwrap();
    let recipe = fit(&config, &table).unwrap();
    drop(Campaign::create(&path, Setup::new(config, recipe)).unwrap());
    let file = || Sqlite::open(&path, Some("test")).unwrap();
    let mut seen = Vec::new();
    let mut done = 0;
    for rounds in [2_000, 20_000] {
        let mut campaign = Campaign::open(Box::new(file())).unwrap();
        serve(&mut campaign, done + 1..=rounds);
        done = rounds;
        drop(campaign);
        let opened = counted(file(), |_| ()).1;
        let ((), late) = counted(file(), |campaign| answer(campaign, &[2]));
        let (_, folded) = counted(file(), |campaign| fold(campaign).unwrap());
        let ((), asked) = counted(file(), |campaign| assert!(campaign.round(3).is_ok()));
        let kept = file().kept().unwrap().unwrap().state.len() as u64;
        let stays = Campaign::open(Box::new(file())).unwrap().rounds().len() as u64;
        seen.push([opened, late, folded, asked, stays, kept]);
        // The next checkpoint puts the round away again.
        answer(&mut Campaign::open(Box::new(file())).unwrap(), &[3]);
    }
    let names = ["open", "a late reward", "a fold", "an old round", "rounds in the state"];
    for (place, name) in names.into_iter().enumerate() {
        let (before, after) = (seen[0][place] as f64, seen[1][place] as f64);
        // A fold reads the sums of all segments once after a late reward; they are one row for 32 rounds.
        let segments = if name == "a fold" { 20_000.0 / 32.0 } else { 0.0 };
        assert!(after <= 1.5 * before + 100.0 + segments, "{name}: {before} at 2,000 rounds, {after} at 20,000");
    }
    // A segment of 32 rounds costs some 250 bytes, a round of a weekly campaign costs as much alone.
    assert!(seen[1][5] - seen[0][5] < 18_000 / 32 * 300, "{} and {} bytes", seen[0][5], seen[1][5]);
    let campaign = Campaign::read(&path).unwrap();
    assert_eq!(model_hash(&campaign.replay(u64::MAX).unwrap()), campaign.model_hash());
}
