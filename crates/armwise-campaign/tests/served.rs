//! Campaigns as a service writes them: several rounds to a segment, several commands to an append, rewards for rounds
//! that are long put away, rounds that are held back, windows that end together, folds, compaction.
//!
//! The reference is written a second time here: which decision has which reward, summed plainly.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise::{Model, Observation};
use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{
        Answer, Chosen, Closing, Command, DecisionId, Draft, Entry, Head, Journal, Kind, OfRound, Outcome, Record,
        Refusal, Responses, Rows, Sent, Setup, Sha, activate, close, close_through, compact, fates, fold, model_hash,
        results, status,
    },
    recipe::fit,
    report::report,
    store::{
        memory::Memory,
        sqlite::{Sqlite, backup},
    },
};
use common::{Folder, below, customers, noise, open};
use std::{collections::BTreeMap, path::Path};

const LENGTH: u64 = 3;
const GAMMA: f64 = 0.995;

fn setup(folder: &Folder) -> Setup {
    let table = folder.write("customers.csv", customers(40));
    let rules = format!(
        "customer = \"customer\"\ngamma = {GAMMA}\nrounds_per_segment = {LENGTH}\nkeep_decisions = \"1s\"\n\
         [reward]\ndefault = 0.25\n[[promotion]]\nname = \"a\"\nquota = 1\n[[promotion]]\nname = \"b\"\nquota = 1\n\
         [[features.column]]\nname = \"age\"\nkind = \"numeric\"\n"
    );
    let config = Config::parse(&rules, Path::new("rules")).unwrap();
    let recipe = fit(&config, &open(&table)).unwrap();
    Setup::new(config, recipe)
}

/// A round as the test knows it.
#[derive(Debug, Clone, Default)]
struct Known {
    sent: Vec<Sent>,
    rewards: BTreeMap<u32, Option<Answer>>,
    closed: bool,
    revoked: bool,
    held: bool,
}

impl Known {
    fn answer(&self, number: u32) -> Option<Answer> {
        match self.rewards.get(&number) {
            _ if self.revoked => None,
            Some(answer) => *answer,
            None => self.closed.then_some(Answer::of(0.25)),
        }
    }
}

/// All rounds, summed plainly.
fn plain(dim: usize, rounds: &BTreeMap<u64, Known>) -> Model {
    let empty = || Model::new(dim, 2).unwrap().with_gamma(GAMMA).unwrap();
    let mut model = empty();
    let last = rounds.keys().next_back().copied().unwrap_or(0);
    for first in (1..=last).step_by(LENGTH as usize) {
        let of = || rounds.range(first..first + LENGTH);
        if of().all(|(_, known)| !known.closed && known.rewards.is_empty()) {
            continue;
        }
        let mut sums = empty();
        for (&round, known) in of() {
            for sent in &known.sent {
                let Some(Answer { reward, examined }) = known.answer(sent.id.number) else { continue };
                let block = u32::from(sent.promotion == "b");
                let x: Vec<f64> = sent.features.iter().map(|x| examined.unwrap_or(1.0) * x).collect();
                sums.observe(&Observation { t: round, block, x: &x, reward }).unwrap();
            }
        }
        model.merge(&sums).unwrap();
    }
    model
}

fn sent(round: u64, number: u32, dim: usize) -> Sent {
    let seed = round * 10 + u64::from(number);
    let x = (0..dim).map(|j| f64::from(noise(seed, j as u64) as f32)).collect::<Vec<f64>>();
    Sent {
        id: DecisionId { round, number },
        customer: format!("C{:04}", below(seed, 7, 40)),
        promotion: if number.is_multiple_of(2) { "b" } else { "a" }.to_owned(),
        hold_out: false,
        segment: None,
        mean: noise(seed, 50),
        width: noise(seed, 51),
        draw: None,
        score: noise(seed, 52),
        rank: number,
        greedy: Some(true),
        probability: number.is_multiple_of(2).then(|| noise(seed, 53)),
        features: x.into(),
    }
}

fn choose(round: u64, hold: bool, model: u64) -> Command {
    Command::Choose(Chosen { round, seed: 1, hold, model: Some(model), hold_out_alike: true, ..Chosen::default() })
}

fn told(outcomes: &[Outcome]) -> Responses {
    Responses {
        table: "lines".to_owned(),
        digest: Sha::of("lines"),
        rounds: outcomes.iter().map(|outcome| outcome.decision.round).collect(),
        read: outcomes.len() as u64,
        repeated: 0,
        rejected: 0,
        aside: Vec::new(),
    }
}

/// What is to be appended, with its rows.
struct Owned(Command, Vec<Sent>, Vec<Outcome>);

fn append(campaign: &mut Campaign, drafts: &[Owned]) -> Result<Vec<Entry>, Error> {
    let draft = |owned: &Owned| Draft::new(owned.0.clone());
    let mut all: Vec<Draft<'_>> = drafts.iter().map(draft).collect();
    for (draft, Owned(_, decisions, outcomes)) in all.iter_mut().zip(drafts) {
        (draft.decisions, draft.outcomes) = (decisions, outcomes);
    }
    let head = campaign.head();
    campaign.append_all(&head, &all)
}

/// A campaign that is played at random, with what must be true of it.
struct Play {
    rounds: BTreeMap<u64, Known>,
    dim: usize,
    seed: u64,
    step: u64,
    /// The model in force after entries.
    models: BTreeMap<u64, Sha>,
}

impl Play {
    fn below(&mut self, count: usize) -> usize {
        self.step += 1;
        below(self.seed, self.step, count)
    }

    /// A round of any age that something may still be heard of.
    fn any(&mut self, wanted: impl Fn(&Known) -> bool, from: u64) -> Option<u64> {
        let of: Vec<u64> = self.rounds.range(from..).filter(|(_, known)| wanted(known)).map(|(&r, _)| r).collect();
        (!of.is_empty()).then(|| of[self.below(of.len())])
    }

    /// The next commands of an append.
    fn commands(&mut self, campaign: &Campaign) -> Vec<Owned> {
        let mut drafts = Vec::new();
        let from = campaign.compacted() + 1;
        for _ in 0..=self.below(5) {
            match self.below(10) {
                0..=4 => {
                    // Numbers may be left out, as by a request that failed.
                    let last = self.rounds.keys().next_back().copied().unwrap_or(0);
                    let round = last + 1 + u64::from(self.below(12) == 0);
                    let hold = self.below(8) == 0;
                    let own: Vec<Sent> = (1..=4).map(|number| sent(round, number, self.dim)).collect();
                    self.rounds.insert(round, Known { sent: own.clone(), held: hold, ..Known::default() });
                    drafts.push(Owned(choose(round, hold, campaign.model_seq()), own, Vec::new()));
                }
                kind => {
                    let mut outcomes = Vec::new();
                    for _ in 0..=self.below(3) {
                        let open = |known: &Known| !known.revoked && !known.held;
                        let Some(round) = self.any(open, from) else { continue };
                        let (number, reward) = (1 + self.below(4) as u32, self.below(100) as f64 / 7.0);
                        // Every third answer is of an arm that may not have been looked at.
                        let q = below(self.seed + 100, self.step, 300) as f64 / 100.0;
                        let answer = Answer { reward, examined: (0.0 < q && q < 1.0).then_some(q) };
                        let known = self.rounds.get_mut(&round).unwrap();
                        let has = known.rewards.contains_key(&number);
                        // First rewards, corrections and bounces, each where it makes sense.
                        let answer = match kind {
                            5..=7 if !has && !known.closed => Some(answer),
                            8 if has || known.closed => Some(answer),
                            9 if !has => None,
                            _ => continue,
                        };
                        known.rewards.insert(number, answer);
                        outcomes.push(Outcome { decision: DecisionId { round, number }, answer });
                    }
                    let command = match kind {
                        _ if outcomes.is_empty() => continue,
                        5..=7 => Command::Learn(told(&outcomes)),
                        8 => Command::Correct(told(&outcomes)),
                        _ => Command::Undelivered(told(&outcomes)),
                    };
                    drafts.push(Owned(command, Vec::new(), outcomes));
                }
            }
        }
        drafts
    }

    /// Something that is a command of its own.
    fn alone(&mut self, campaign: &mut Campaign) {
        match self.below(5) {
            0 => {
                if let Some(round) = self.any(|known| !known.revoked && !known.held, campaign.compacted() + 1) {
                    close(campaign, round, None).unwrap();
                    self.rounds.get_mut(&round).unwrap().closed = true;
                }
            }
            1 => {
                if let Some(round) = self.any(|known| !known.revoked, campaign.compacted() + 1) {
                    campaign.append_all(&campaign.head(), &[Draft::new(Command::Revoke(OfRound { round }))]).unwrap();
                    self.rounds.get_mut(&round).unwrap().revoked = true;
                }
            }
            2 => {
                if let Some(round) = self.any(|known| known.held && !known.revoked, 0) {
                    assert!(matches!(close(campaign, round, None), Err(Error::Refused(Refusal::Held(_)))));
                    assert!(!activate(campaign, round, None).unwrap().already);
                    assert!(activate(campaign, round, None).unwrap().already);
                    self.rounds.get_mut(&round).unwrap().held = false;
                }
            }
            _ => {
                let last = self.rounds.keys().next_back().copied().unwrap_or(0);
                let through = last.saturating_sub(self.below(40) as u64 + 5);
                let done = close_through(campaign, through, None).unwrap();
                let mut closed = 0;
                for (_, known) in self.rounds.range_mut(..=through) {
                    closed += u64::from(!known.closed && !known.revoked && !known.held);
                    known.closed |= !known.revoked && !known.held;
                }
                assert_eq!(done.rounds, closed);
            }
        }
    }

    fn check(&self, campaign: &Campaign) {
        for (&round, known) in self.rounds.iter().filter(|_| self.rounds.len() < 400 || self.step.is_multiple_of(3)) {
            let info = campaign.round(round).unwrap();
            let counts = info.counts;
            let numbers = || (1..=4_u32).filter(|_| !known.revoked);
            let of = |wanted: &dyn Fn(Option<&Option<Answer>>) -> bool| {
                numbers().filter(|number| wanted(known.rewards.get(number))).count() as u64
            };
            let silent = |had: Option<&Option<Answer>>| had.is_none() && known.closed;
            let expected = (
                of(&|had| matches!(had, Some(Some(_)))),
                of(&silent),
                of(&|had| had.is_none() && !known.closed),
                of(&|had| matches!(had, Some(None))),
            );
            assert_eq!((counts.answered, counts.silent, counts.pending, counts.undelivered), expected, "round {round}");
            let rewards: f64 = numbers().filter_map(|number| known.answer(number)).map(|answer| answer.reward).sum();
            assert!((counts.rewards - rewards).abs() < 1e-9, "round {round}");
            assert_eq!(
                (info.revoked(), info.closed() || known.revoked),
                (known.revoked, known.closed || known.revoked)
            );
        }
        assert_eq!(campaign.count_rounds(), self.rounds.len() as u64);
        assert_eq!(campaign.next_round(), self.rounds.keys().next_back().unwrap_or(&0) + 1);
    }

    /// Plays on; `reopen` opens the campaign anew.
    fn go(&mut self, mut campaign: Campaign, steps: usize, reopen: &dyn Fn() -> Campaign) -> Campaign {
        self.models.insert(1, campaign.model_hash());
        for step in 0..steps {
            let before = campaign.model_hash();
            let drafts = self.commands(&campaign);
            let entries = append(&mut campaign, &drafts).unwrap();
            assert!(entries.iter().all(|entry| entry.model == before), "nothing is learned before a fold");
            if step % 3 == 0 {
                self.alone(&mut campaign);
                assert_eq!(campaign.model_hash(), before);
            }
            if step % 4 == 0 {
                fold(&mut campaign).unwrap();
                assert_eq!(campaign.model_hash(), model_hash(&plain(self.dim, &self.rounds)), "step {step}");
                self.models.insert(campaign.model_seq(), campaign.model_hash());
            }
            if step % 37 == 5 {
                drop(campaign);
                campaign = reopen();
                self.check(&campaign);
                assert_eq!(model_hash(&campaign.model().unwrap()), campaign.model_hash());
            }
        }
        fold(&mut campaign).unwrap();
        self.models.insert(campaign.model_seq(), campaign.model_hash());
        self.check(&campaign);
        campaign
    }
}

fn play(seed: u64, dim: usize) -> Play {
    Play { rounds: BTreeMap::new(), dim, seed, step: 0, models: BTreeMap::new() }
}

#[test]
fn whatever_comes_in_whatever_order_the_model_is_the_plain_sum() {
    let folder = Folder::new("served");
    let setup = setup(&folder);
    let dim = setup.recipe.dim();
    for seed in [1, 2] {
        let memory = Memory::default();
        let reopen = || Campaign::open(Box::new(memory.clone())).unwrap();
        let campaign = Campaign::begin(Box::new(memory.clone()), setup.clone()).unwrap();
        let mut played = play(seed, dim);
        let campaign = played.go(campaign, 300, &reopen);
        assert_eq!(campaign.model_hash(), model_hash(&plain(dim, &played.rounds)));
        let kinds = |kind| memory.of_kind(kind).unwrap().len();
        assert!(kinds(Kind::Checkpoint) > 5 && kinds(Kind::Fold) > 50, "there were checkpoints and folds");
        assert!((campaign.rounds().len() as u64) < campaign.count_rounds() / 2, "most rounds are put away");
        // The model after any entry is that of the fold before it, whichever way it is computed.
        for until in (1..campaign.head().seq).step_by(97) {
            let expected = *played.models.range(..=until).next_back().unwrap().1;
            assert_eq!(model_hash(&campaign.replay(until).unwrap()), expected, "after {until}");
            assert_eq!(model_hash(&campaign.model_at(until).unwrap()), expected, "after {until}");
        }
        let told = status(&campaign).unwrap();
        let sends: u64 = told.rounds.iter().map(|line| line.sends).sum();
        assert_eq!(sends, played.rounds.values().filter(|known| !known.revoked).count() as u64 * 4);
        assert!(told.rounds.len() < 5 && report(&campaign).unwrap().rounds.len() == told.rounds.len());
        let fate_rows: usize = played.rounds.keys().map(|&round| fates(&campaign, round).unwrap().len()).sum();
        assert_eq!(results(&campaign, None).unwrap().len(), fate_rows);
        let verified = reopen().verify().unwrap();
        assert!(verified.good && verified.decisions_from == 1, "{:?}", verified.findings);
        assert!(campaign.verify().unwrap().good, "also with rounds at hand");
    }
}

/// The same commands, one by one and several at once: the same entries but for their times.
#[test]
fn appended_together_or_one_by_one_the_journal_is_the_same() {
    let folder = Folder::new("together");
    for setup in [setup(&folder), Setup { rounds_per_segment: 1, ..setup(&folder) }] {
        let dim = setup.recipe.dim();
        let at = || Some("2026-03-02T09:15:00Z".to_owned());
        let outcome = |round, number, reward: Option<f64>| {
            let examined = (number == 2).then_some(0.1 + 0.2);
            let answer = reward.map(|reward| Answer { reward, examined });
            Outcome { decision: DecisionId { round, number }, answer }
        };
        let first: Vec<Vec<Sent>> =
            (1..=9).map(|round| (1..=4).map(|number| sent(round, number, dim)).collect()).collect();
        let rewards: Vec<Vec<Outcome>> =
            (1..=9).map(|round| vec![outcome(round, 2, Some(0.5)), outcome(1, round as u32 % 4 + 1, None)]).collect();
        let mut drafts = Vec::new();
        for round in 1..=9_usize {
            drafts.push(Draft { at: at(), decisions: &first[round - 1], ..Draft::new(choose(round as u64, false, 1)) });
            // A reward for a round that the same append chooses.
            let own = &rewards[round - 1][..if round < 5 { 2 } else { 1 }];
            drafts.push(Draft { at: at(), outcomes: own, ..Draft::new(Command::Undelivered(told(own))) });
        }
        drafts.push(Draft { at: at(), ..Draft::new(Command::Close(Closing::Round(OfRound { round: 3 }))) });
        let (one, all) = (Memory::default(), Memory::default());
        let mut first = Campaign::begin(Box::new(one.clone()), setup.clone()).unwrap();
        let mut second = Campaign::begin(Box::new(all.clone()), setup.clone()).unwrap();
        // Both begin with the same entry, whatever the clock said.
        let same = |entry: Entry| Entry { hash: Sha::of(""), ..entry };
        for draft in &drafts {
            let head = first.head();
            first.append_all(&head, std::slice::from_ref(draft)).unwrap();
        }
        let head = second.head();
        assert_eq!(second.append_all(&head, &drafts).unwrap().len(), drafts.len());
        let texts = |memory: &Memory| memory.entries(1).unwrap().into_iter().map(same).collect::<Vec<_>>();
        assert_eq!(texts(&one), texts(&all));
        assert_eq!((first.model_hash(), first.model().unwrap()), (second.model_hash(), second.model().unwrap()));
        for memory in [one, all] {
            let opened = Campaign::open(Box::new(memory)).unwrap();
            assert!(opened.verify().unwrap().good, "{:?}", opened.verify().unwrap().findings);
        }
    }
}

#[test]
fn an_append_of_several_that_fails_leaves_nothing() {
    use common::failing::{Failing, Stage};
    let folder = Folder::new("fails");
    for setup in [setup(&folder), Setup { rounds_per_segment: 1, ..setup(&folder) }] {
        for stage in [Stage::Begin, Stage::Seal, Stage::Check] {
            let memory = Memory::default();
            drop(Campaign::begin(Box::new(memory.clone()), setup.clone()).unwrap());
            let mut campaign = Campaign::open(Box::new(Failing::new(memory.clone(), Some(stage)))).unwrap();
            let dim = setup.recipe.dim();
            let own = |round| Owned(choose(round, false, 1), vec![sent(round, 1, dim)], Vec::new());
            let (head, drafts) = (campaign.head(), [own(1), own(2), own(3)]);
            assert!(append(&mut campaign, &drafts).is_err());
            assert_eq!((campaign.head(), campaign.rounds().len(), campaign.next_round()), (head, 0, 1), "{stage:?}");
            append(&mut campaign, &drafts).unwrap();
            assert!(
                campaign.round(3).is_ok() && campaign.verify().unwrap().good,
                "{:?}",
                campaign.verify().unwrap().findings
            );
            // A key that is used already refuses all of them.
            let key = armwise_campaign::core::Key::new("k").unwrap();
            let twice = [4, 5].map(|round| Draft { key: Some(&key), ..Draft::new(choose(round, false, 1)) });
            let head = campaign.head();
            assert!(matches!(campaign.append_all(&head, &twice), Err(Error::KeyUsed { .. })));
            assert_eq!((campaign.head(), campaign.rounds().len()), (head, 3));
        }
    }
}

#[test]
fn what_is_stored_to_save_time_may_be_damaged() {
    let folder = Folder::new("served-damage");
    let (setup, path) = (setup(&folder), folder.path("c.armwise"));
    let dim = setup.recipe.dim();
    let campaign = Campaign::create(&path, setup).unwrap();
    let mut played = play(3, dim);
    let campaign = played.go(campaign, 120, &|| Campaign::write(&path, "test").unwrap());
    let (model, head) = (campaign.model_hash(), campaign.head());
    drop(campaign);
    backup(&path, &folder.path("copy.armwise")).unwrap();
    assert_eq!(Campaign::read(&folder.path("copy.armwise")).unwrap().head(), head);
    for (damage, finds) in [
        ("UPDATE checkpoint SET state = zeroblob(100)", "checkpoint"),
        ("DELETE FROM checkpoint", ""),
        ("UPDATE settled SET bytes = zeroblob(10)", "put away"),
        ("DELETE FROM settled", "put away"),
        ("UPDATE sums SET bytes = zeroblob(10) WHERE segment % 2 = 0", "sums"),
    ] {
        let copy = folder.path("damaged.armwise");
        std::fs::copy(&path, &copy).unwrap();
        rusqlite::Connection::open(&copy).unwrap().execute(damage, []).unwrap();
        let mut campaign = Campaign::write(&copy, "test").unwrap();
        assert_eq!((campaign.model_hash(), campaign.head()), (model, head), "{damage}");
        assert_eq!(model_hash(&campaign.model().unwrap()), model, "{damage}");
        played.check(&campaign);
        let found = campaign.verify().unwrap();
        assert!(found.findings.iter().any(|finding| finding.damaged.contains(finds)) || finds.is_empty(), "{found:?}");
        // It goes on, also with a reward for a round that is put away.
        let answer = Some(Answer { reward: 2.5, examined: Some(0.125) });
        let round = *played.rounds.iter().find(|(_, known)| !known.revoked && !known.held && known.closed).unwrap().0;
        let outcomes = vec![Outcome { decision: DecisionId { round, number: 1 }, answer }];
        append(&mut campaign, &[Owned(Command::Correct(told(&outcomes)), Vec::new(), outcomes)]).unwrap();
        fold(&mut campaign).unwrap();
        let mut rounds = played.rounds.clone();
        rounds.get_mut(&round).unwrap().rewards.insert(1, answer);
        assert_eq!(campaign.model_hash(), model_hash(&plain(dim, &rounds)), "{damage}");
    }
}

/// Copies a journal with one entry changed, into a good chain again.
fn forged(from: &Memory, change: impl Fn(&mut Entry) -> bool) -> (Memory, bool) {
    let mut copy = Memory::default();
    let (mut head, mut done) = (Head::none(), false);
    for mut entry in from.entries(0).unwrap() {
        let round = entry.round.unwrap_or(0);
        let chosen = entry.kind == Kind::Choose;
        let decisions = if chosen { from.decisions(round).unwrap() } else { Vec::new() };
        let outcomes = if chosen { Vec::new() } else { from.outcomes(entry.seq).unwrap() };
        let rows = [Rows { seq: entry.seq, decisions: &decisions, outcomes: &outcomes, ..Rows::default() }];
        if !done {
            done = change(&mut entry);
        }
        entry.hash = entry.chained(&head);
        let record = Record::new(entry);
        head = copy.append(&head, &rows, &mut || Ok(vec![record.clone()]), &mut |_| Ok(())).unwrap()[0].head();
    }
    (copy, done)
}

#[test]
fn forged_folds_and_compactions_are_found() {
    let folder = Folder::new("served-forged");
    let setup = setup(&folder);
    let memory = Memory::default();
    let campaign = Campaign::begin(Box::new(memory.clone()), setup.clone()).unwrap();
    let mut played = play(4, setup.recipe.dim());
    drop(played.go(campaign, 100, &|| Campaign::open(Box::new(memory.clone())).unwrap()));
    let findings = |journal: &Memory| match Campaign::open(Box::new(journal.clone())) {
        Ok(campaign) => campaign.verify().unwrap().findings,
        Err(error) => vec![armwise_campaign::core::Finding { damaged: error.to_string(), recovery: String::new() }],
    };
    let (same, _) = forged(&memory, |_| false);
    let only_stored = findings(&same).iter().all(|finding| finding.recovery.contains("made anew"));
    assert!(only_stored, "a copy without what is stored: {:?}", findings(&same));
    let last_fold = memory.last_of_kind(Kind::Fold, u64::MAX).unwrap().unwrap().seq;
    let bad = |journal: &Memory| findings(journal).iter().any(|finding| !finding.recovery.contains("made anew"));
    // The sums of a segment that the last fold wrote, the model after it, a round's counts, a fold that forgets.
    for (what, change) in [
        (
            "sums",
            &(|entry: &mut Entry| {
                let at = entry.changes.find("\"hash\":\"").map(|at| at + 8).unwrap();
                let digit = if entry.changes.as_bytes()[at] == b'0' { "1" } else { "0" };
                entry.changes.replace_range(at..=at, digit);
            }) as &dyn Fn(&mut Entry),
        ),
        ("model", &|entry: &mut Entry| entry.model = Sha::of("another")),
        ("forgets", &|entry: &mut Entry| entry.changes = "{}".to_owned()),
    ] {
        let (copy, done) = forged(&memory, |entry| {
            let own = entry.seq == last_fold;
            if own {
                change(entry);
            }
            own
        });
        assert!(done && bad(&copy), "{what}");
    }
    let last_learn = memory.last_of_kind(Kind::Learn, u64::MAX).unwrap().unwrap().seq;
    let (copy, done) = forged(&memory, |entry| {
        let own = entry.seq == last_learn;
        if own {
            entry.changes = entry.changes.replacen("\"undelivered\":", "\"undelivered\":1", 1);
        }
        own
    });
    assert!(done && bad(&copy), "counts");
}

/// Plays until there is something to give up, and gives it up.
fn compacted(folder: &Folder, journal: Box<dyn Journal>, reopen: &dyn Fn() -> Campaign) -> (Play, Campaign) {
    let setup = setup(folder);
    let mut played = play(5, setup.recipe.dim());
    let campaign = Campaign::begin(journal, setup).unwrap();
    let mut campaign = played.go(campaign, 120, reopen);
    for (&round, known) in &mut played.rounds {
        if known.held && !known.revoked {
            activate(&mut campaign, round, None).unwrap();
            known.held = false;
        }
    }
    let last = campaign.next_round() - 1;
    close_through(&mut campaign, last - 60, None).unwrap();
    played.rounds.range_mut(..=last - 60).for_each(|(_, known)| known.closed |= !known.revoked);
    // On to the next checkpoint, which puts them away as they are.
    let campaign = played.go(campaign, 60, reopen);
    (played, campaign)
}

#[test]
fn old_decisions_are_given_up_and_everything_else_stays() {
    let folder = Folder::new("compact");
    let path = folder.path("c.armwise");
    let reopen = || Campaign::write(&path, "test").unwrap();
    let journal = Sqlite::create(&path, "test").unwrap();
    let (mut played, mut campaign) = compacted(&folder, Box::new(journal), &reopen);
    let (model, before) = (campaign.model_hash(), status(&campaign).unwrap());
    let sql = "SELECT (SELECT count(*) FROM decision), (SELECT count(*) FROM outcome)";
    let count = || {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).unwrap()
    };
    let rows = count();
    assert!(compact(&mut campaign, "2020-01-01T00:00:00Z").unwrap().is_none(), "all are younger");
    let given_up = compact(&mut campaign, "9999").unwrap().unwrap();
    assert!(given_up.round >= 30 && given_up.decisions > 100 && given_up.outcomes > 10, "{given_up:?}");
    assert!(compact(&mut campaign, "9999").unwrap().is_none(), "once");
    let (decisions, outcomes) = (given_up.decisions.cast_signed(), given_up.outcomes.cast_signed());
    assert_eq!(count(), (rows.0 - decisions, rows.1 - outcomes));
    for step in 0..2 {
        assert_eq!((campaign.model_hash(), model_hash(&campaign.model().unwrap())), (model, model), "{step}");
        let after = status(&campaign).unwrap();
        assert_eq!((after.rounds.len(), after.compacted), (before.rounds.len(), given_up.round));
        assert!(after.rounds.iter().zip(&before.rounds).all(|(a, b)| (a.sends, a.answered) == (b.sends, b.answered)));
        let verified = campaign.verify().unwrap();
        assert!(verified.good && verified.decisions_from == given_up.round + 1, "{:?}", verified.findings);
        assert!(matches!(fates(&campaign, given_up.round), Err(Error::Refused(Refusal::Compacted { .. }))));
        assert_eq!(model_hash(&campaign.replay(u64::MAX).unwrap()), model);
        assert!(campaign.round(1).unwrap().decisions == 4 && report(&campaign).is_ok());
        played.check(&campaign);
        drop(campaign);
        campaign = reopen();
    }
    // It goes on.
    let mut campaign = played.go(campaign, 40, &reopen);
    assert_eq!(campaign.model_hash(), model_hash(&plain(played.dim, &played.rounds)));
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    // Nothing but a compact entry lets a row go, and sums of which nothing else is left are missed.
    drop(campaign);
    let db = rusqlite::Connection::open(&path).unwrap();
    assert!(db.execute("DELETE FROM decision WHERE id >> 32 > ?", [given_up.round.cast_signed()]).is_err());
    assert!(db.execute("DELETE FROM outcome WHERE decision >> 32 > ?", [given_up.round.cast_signed()]).is_err());
    db.execute("UPDATE sums SET bytes = zeroblob(10) WHERE segment = 2", []).unwrap();
    drop(db);
    campaign = reopen();
    let findings = campaign.verify().unwrap().findings;
    assert!(findings.iter().any(|finding| finding.recovery.contains("backup")), "{findings:?}");
}

#[test]
fn a_forged_compaction_is_found() {
    let folder = Folder::new("forged-compact");
    let memory = Memory::default();
    let reopen = || Campaign::open(Box::new(memory.clone())).unwrap();
    let (_, mut campaign) = compacted(&folder, Box::new(memory.clone()), &reopen);
    let given_up = compact(&mut campaign, "9999").unwrap().unwrap();
    let body = |change: &dyn Fn(&mut armwise_campaign::core::Compacted)| {
        let mut own = given_up;
        change(&mut own);
        serde_json::to_string(&own).unwrap()
    };
    for (what, body) in [
        ("rounds", body(&|own| own.rounds = Sha::of("others"))),
        ("sums", body(&|own| own.sums = Sha::of("others"))),
        ("decisions", body(&|own| own.decisions += 1)),
    ] {
        let (copy, done) = forged(&memory, |entry| {
            let own = entry.kind == Kind::Compact;
            if own {
                entry.body.clone_from(&body);
            }
            own
        });
        let bad = match Campaign::open(Box::new(copy)) {
            Ok(campaign) => {
                campaign.verify().unwrap().findings.iter().any(|finding| !finding.recovery.contains("made anew"))
            }
            Err(error) => matches!(error, Error::Damaged { .. }),
        };
        assert!(done && bad, "{what}");
    }
    // More rounds than are closed.
    let more = body(&|own| own.round = campaign.next_round().next_multiple_of(LENGTH));
    let draft = Draft::new(Command::Compact(serde_json::from_str(&more).unwrap()));
    let head = campaign.head();
    assert!(campaign.append_all(&head, &[draft]).is_err() && campaign.head() == head);
}
