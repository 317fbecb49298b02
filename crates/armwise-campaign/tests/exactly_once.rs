//! Each reward is counted once, whatever the order, the splitting, the repetitions and the failures.
//!
//! The reference keeps a map from decision to reward, with the probability that it was looked at, by rules written a second time here, and sums it in the end; the
//! campaign's model must have its bits. Some requests have a key, some name customers only, and some meet a store that
//! fails before, in or after the commit and are then sent again to a campaign that was opened anew.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise::{Model, Observation};
use armwise_campaign::{
    Campaign, Error,
    core::{DecisionId, Feedback, Key, Learned, Sent, close, learn, model_hash, revoke},
    round::{ChooseOptions, choose},
    store::{Place, sqlite::Sqlite},
};
use common::{
    Folder, TWO, begin, begin_at, choose_round, csv, customers,
    failing::{Failing, Stage},
    learn_text, open,
};
use proptest::prelude::*;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// With a hold-out, whose outcomes are learned as a block of their own and may come after the window.
fn rules() -> String {
    format!("[limits]\nhold_out = 0.25\n{TWO}")
}

/// A table of responses and all that goes with it.
#[derive(Debug, Clone, PartialEq)]
struct Table {
    feedback: Feedback,
    rows: Vec<Row>,
    /// Without decisions: customers only, of this round or of the only one it can be.
    list: bool,
    round: Option<u64>,
}

/// Who, and what it was worth.
#[derive(Debug, Clone, PartialEq)]
struct Row {
    decision: DecisionId,
    customer: String,
    reward: f64,
    /// How the table says with which probability the arm was looked at.
    examined: &'static str,
}

/// Nothing, the same in words, and two probabilities.
const EXAMINED: [&str; 5] = ["", "", "1.0", "0.5", "0.3"];

/// A reward, and the probability with which the arm was looked at.
type Said = (f64, f64);

fn bits((reward, q): Said) -> (u64, u64) {
    (reward.to_bits(), q.to_bits())
}

impl Row {
    fn said(&self) -> Said {
        (self.reward, self.examined.parse().unwrap_or(1.0))
    }
}

#[derive(Debug, Clone)]
enum Action {
    Choose,
    /// Rows (which decision or customer, which reward, how examined), and what the table is about.
    Table {
        feedback: Feedback,
        rows: Vec<(usize, u8, usize)>,
        list: bool,
        round: Option<usize>,
    },
    /// An earlier table once more.
    Again(usize),
    Close(usize),
    Revoke(usize),
}

/// An action, perhaps with a key, perhaps with a failure at its first try.
fn action() -> impl Strategy<Value = Step> {
    let rows = || prop::collection::vec((any::<usize>(), 0_u8..3, 0..EXAMINED.len()), 1..12);
    let table = |feedback: Feedback, list: bool| {
        (rows(), prop::option::of(any::<usize>())).prop_map(move |(rows, round)| Action::Table {
            feedback,
            rows,
            list,
            round,
        })
    };
    let action = prop_oneof![
        2 => Just(Action::Choose),
        5 => table(Feedback::Rewards, false),
        2 => table(Feedback::Corrections, false),
        2 => table(Feedback::Undelivered, false),
        4 => table(Feedback::Responders { worth: 0.5 }, true),
        1 => table(Feedback::Corrections, true),
        4 => any::<usize>().prop_map(Action::Again),
        1 => any::<usize>().prop_map(Action::Close),
        1 => any::<usize>().prop_map(Action::Revoke),
    ];
    let stage = prop::sample::select(Stage::ALL.to_vec());
    (action, prop::option::weighted(0.4, 0_u8..4), prop::option::weighted(0.3, stage))
}

/// The sends of each round.
const SENDS: u32 = 17;

/// What makes two requests the same.
type Asked = (Feedback, Option<u64>, String);

/// What is known of a decision: a reward, or that it did not arrive.
#[derive(Default)]
struct Reference {
    known: BTreeMap<DecisionId, Option<Said>>,
    /// All rewards that a decision ever had.
    had: BTreeMap<DecisionId, BTreeSet<(u64, u64)>>,
    rounds: u64,
    closed: BTreeSet<u64>,
    revoked: BTreeSet<u64>,
    /// Decisions that answered, but nobody knows what: not silent until they have a reward.
    aside: BTreeSet<DecisionId>,
    /// What was asked with a key, and the answer.
    keys: BTreeMap<u8, (Asked, (Learned, String))>,
}

impl Reference {
    /// The rounds that a table can be about.
    fn possible(&self, feedback: Feedback) -> Vec<u64> {
        let later = matches!(feedback, Feedback::Corrections | Feedback::Undelivered);
        let fits = |round: &u64| !self.revoked.contains(round) && (later || !self.closed.contains(round));
        (1..=self.rounds).filter(fits).collect()
    }

    fn take(
        &mut self,
        table: &Table,
        keyed: bool,
        decision_of: impl Fn(u64, &str) -> Option<DecisionId>,
        hold_out_of: impl Fn(DecisionId) -> Option<bool>,
    ) {
        let kind = table.feedback;
        let round = table.round.or_else(|| self.possible(kind).first().copied());
        let mut rows: Vec<(DecisionId, Said)> = Vec::new();
        for row in &table.rows {
            match (table.list, round) {
                (false, _) if table.round.is_none_or(|round| round == row.decision.round) => {
                    rows.push((row.decision, row.said()));
                }
                (true, Some(round)) => rows.extend(decision_of(round, &row.customer).map(|id| (id, row.said()))),
                _ => {}
            }
        }
        // Of a decision about which a table contradicts itself, nothing is believed.
        let contradicted = |id: DecisionId, said: Said| {
            kind != Feedback::Undelivered && rows.iter().any(|&(other, r)| other == id && bits(r) != bits(said))
        };
        if matches!(kind, Feedback::Rewards | Feedback::Responders { .. }) {
            let unknown = |id: &DecisionId| {
                id.number <= SENDS && !self.known.contains_key(id) && !self.revoked.contains(&id.round)
            };
            let open = |id: &DecisionId| !self.closed.contains(&id.round);
            let lost = rows.iter().filter(|(id, said)| contradicted(*id, *said)).map(|(id, _)| *id);
            let lost: Vec<DecisionId> = lost.filter(|id| unknown(id) && open(id)).collect();
            self.aside.extend(lost);
        }
        let believed =
            |&&(id, said): &&(DecisionId, Said)| !contradicted(id, said) && !self.revoked.contains(&id.round);
        for &(id, said) in rows.iter().filter(believed).collect::<Vec<_>>() {
            // Who has no decision has no outcome.
            let Some(hold_out) = hold_out_of(id) else { continue };
            // The end of the window says nothing of the hold-out.
            let closed = self.closed.contains(&id.round) && !hold_out;
            let known = self.known.contains_key(&id);
            // Without a key, a correction does not go back to what the decision had before.
            let had = self.had.entry(id).or_default();
            let back = known && !keyed && had.contains(&bits(said));
            let change = match kind {
                Feedback::Rewards | Feedback::Responders { .. } => !known && (!closed || self.aside.contains(&id)),
                Feedback::Corrections => (known || closed && !self.aside.contains(&id)) && !back,
                Feedback::Undelivered => !known,
            };
            if change {
                self.known.insert(id, if kind == Feedback::Undelivered { None } else { Some(said) });
                if kind != Feedback::Undelivered {
                    had.insert(bits(said));
                }
            }
        }
    }

    fn model(&self, campaign: &Campaign) -> Model {
        let rounds = || campaign.rounds().keys().copied().filter(|round| !self.revoked.contains(round));
        let said = |sent: &Sent| {
            let counted = self.closed.contains(&sent.id.round) && !sent.hold_out && !self.aside.contains(&sent.id);
            let silence = counted.then_some((0.0, 1.0));
            self.known.get(&sent.id).copied().unwrap_or(silence)
        };
        // There is a third block once an outcome of the hold-out is known.
        let held = rounds().flat_map(|round| campaign.sent(round).unwrap());
        let blocks = if held.into_iter().any(|sent| sent.hold_out && said(&sent).is_some()) { 3 } else { 2 };
        let mut model = Model::new(campaign.recipe().dim(), blocks).unwrap();
        for round in rounds() {
            let mut sums = Model::new(campaign.recipe().dim(), blocks).unwrap();
            for sent in campaign.sent(round).unwrap() {
                let block = if sent.hold_out { 2 } else { u32::from(sent.promotion == "call") };
                if let Some((reward, q)) = said(&sent) {
                    let x: Vec<f64> = sent.features.iter().map(|x| q * x).collect();
                    sums.observe(&Observation { t: round, block, x: &x, reward }).unwrap();
                }
            }
            model.merge(&sums).unwrap();
        }
        model
    }
}

/// A campaign's file, opened anew whenever a command has failed.
struct Opened {
    folder: Folder,
    table: PathBuf,
    path: PathBuf,
    campaign: Option<Campaign>,
}

impl Opened {
    fn new() -> Self {
        let folder = Folder::new("once");
        let table = folder.write("customers.csv", customers(60));
        let path = folder.path("c.armwise");
        Self::at(folder, table, path)
    }

    fn at(folder: Folder, table: PathBuf, path: PathBuf) -> Self {
        drop(begin_at(&path, &table, &rules()).unwrap());
        Self { folder, table, path, campaign: None }
    }

    /// In PostgreSQL, if there is one.
    #[cfg(feature = "postgres")]
    fn in_postgres() -> Option<Self> {
        let path = common::postgres::place("once")?;
        let folder = Folder::new("once");
        let table = folder.write("customers.csv", customers(60));
        Some(Self::at(folder, table, path))
    }

    fn open(&mut self, fail: Option<Stage>) -> &mut Campaign {
        self.campaign = None;
        let opened = match Place::of(&self.path).unwrap() {
            Place::File(path) => {
                Campaign::open(Box::new(Failing::new(Sqlite::open(&path, Some("test")).unwrap(), fail)))
            }
            #[cfg(feature = "postgres")]
            Place::Postgres(address) => {
                let store = armwise_campaign::store::postgres::Postgres::write(&address).unwrap();
                Campaign::open(Box::new(Failing::new(store, fail)))
            }
        };
        self.campaign.insert(opened.unwrap())
    }

    /// Does something; if the store fails, opens the campaign anew and, unless it `is_done`, does it again.
    fn retried<T>(
        &mut self,
        fail: Option<Stage>,
        is_done: impl Fn(&Campaign) -> bool,
        act: impl Fn(&mut Campaign, &Path) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let table = self.table.clone();
        match act(self.open(fail), &table) {
            Err(Error::Storage { problem, .. }) if problem == Failing::<Sqlite>::PROBLEM => {
                let campaign = self.open(None);
                if is_done(campaign) { Ok(None) } else { act(campaign, &table).map(Some) }
            }
            done => done.map(Some),
        }
    }
}

fn told(table: &Table) -> String {
    let examined = table.rows.iter().any(|row| !row.examined.is_empty());
    let head = if table.list { "customer,reward" } else { "decision,reward" };
    let head = head.to_owned() + if examined { ",examined\n" } else { "\n" };
    let line = |row: &Row| {
        let who = if table.list { row.customer.clone() } else { row.decision.to_string() };
        let comma = if examined { "," } else { "" };
        format!("{who},{}{comma}{}\n", row.reward, row.examined)
    };
    head + &table.rows.iter().map(line).collect::<Vec<_>>().concat()
}

type Step = (Action, Option<u8>, Option<Stage>);

/// Does all of it, and compares with the reference after each step.
#[allow(clippy::too_many_lines, reason = "one action after the other, each with what is expected of it")]
fn play(mut opened: Opened, actions: Vec<Step>) -> Result<(), TestCaseError> {
    let mut reference = Reference::default();
    let mut tables: Vec<Table> = Vec::new();
    for (action, key, fail) in [(Action::Choose, None, None)].into_iter().chain(actions) {
        let rounds: Vec<u64> = (1..=reference.rounds).collect();
        let name = key.map(|key| Key::new(&format!("k{key}")).unwrap());
        let table = match action {
            Action::Choose => {
                if rounds.len() >= 4 {
                    continue;
                }
                // Each round has its own key; without one, whoever is not sure looks before choosing again.
                let key = key.map(|_| Key::new(&format!("round-{}", reference.rounds + 1)).unwrap());
                let is_done = |campaign: &Campaign| key.is_none() && campaign.rounds().len() > rounds.len();
                let options = || ChooseOptions { again: true, key: key.clone(), ..ChooseOptions::default() };
                let round = opened.retried(fail, is_done, |campaign, table| {
                    choose(campaign, &open(table), options(), &|_| ())?.commit(campaign, None)
                });
                reference.rounds += 1;
                prop_assert!(round.unwrap().is_none_or(|summary| summary.round == reference.rounds));
                prop_assert_eq!(opened.open(None).rounds().len() as u64, reference.rounds);
                continue;
            }
            Action::Close(which) => {
                let round = rounds[which % rounds.len()];
                let closed = opened.retried(fail, |_| false, |campaign, _| close(campaign, round, None));
                prop_assert_eq!(closed.is_err(), reference.revoked.contains(&round), "only a revoked round stays");
                if closed.is_ok() {
                    reference.closed.insert(round);
                }
                continue;
            }
            Action::Revoke(which) => {
                let round = rounds[which % rounds.len()];
                reference.revoked.insert(round);
                let revoked = opened.retried(fail, |_| false, |campaign, _| revoke(campaign, round, None));
                let expected = model_hash(&reference.model(opened.open(None)));
                prop_assert_eq!(revoked.unwrap().unwrap().model, expected);
                continue;
            }
            Action::Again(which) if tables.is_empty() => {
                let _ = which;
                continue;
            }
            Action::Again(which) => tables[which % tables.len()].clone(),
            Action::Table { feedback, rows, list, round } => {
                let row = |(which, reward, examined): (usize, u8, usize)| Row {
                    decision: DecisionId { round: rounds[which % rounds.len()], number: (which / 7 % 24) as u32 + 1 },
                    // Few of them, so that the lists of two weeks are often the same.
                    customer: format!("C{:04}", which % 12),
                    reward: match feedback {
                        Feedback::Responders { worth } => worth,
                        _ => f64::from(reward) / 2.0,
                    },
                    examined: EXAMINED[examined],
                };
                let round = round.filter(|_| list).map(|which| rounds[which % rounds.len()]);
                Table { feedback, rows: rows.into_iter().map(row).collect(), list, round }
            }
        };
        tables.push(table.clone());
        let text = told(&table);
        let path = opened.folder.write("responses.csv", &text);
        let asked = (table.feedback, table.round, text);
        let answer = opened.retried(
            fail,
            |_| false,
            |campaign, _| learn(campaign, &open(&path), table.feedback, table.round, name.as_ref()),
        );
        let possible = reference.possible(table.feedback);
        match key.and_then(|key| reference.keys.get(&key)) {
            Some((same, before)) if *same == asked => {
                let (learned, rejects) = answer.unwrap().unwrap();
                prop_assert_eq!(&(learned, csv(&rejects)), before, "the same request gets the same answer");
            }
            Some(_) => {
                prop_assert!(matches!(answer, Err(Error::KeyUsed { .. })), "{:?}", answer);
            }
            None if table.list && table.round.is_none() && possible.len() != 1 => {
                let refused = answer.unwrap_err();
                let expected = matches!(&refused, Error::WhichRound { rounds, .. } if *rounds == possible);
                prop_assert!(expected, "{} for {:?}", refused, possible);
            }
            None => {
                let (learned, rejects) = answer.unwrap().unwrap();
                prop_assert_eq!(learned.applied + learned.repeated + learned.rejected, table.rows.len() as u64);
                prop_assert_eq!(learned.rejected, rejects.len() as u64);
                let campaign = opened.open(None);
                let decision_of = |round: u64, customer: &str| {
                    let sent = campaign.sent(round).unwrap();
                    sent.iter().find(|sent| sent.customer == customer).map(|sent| sent.id)
                };
                let hold_out_of = |id: DecisionId| {
                    let sent = campaign.sent(id.round).unwrap();
                    sent.iter().find(|sent| sent.id == id).map(|sent| sent.hold_out)
                };
                reference.take(&table, key.is_some(), decision_of, hold_out_of);
                prop_assert_eq!(&learned.model, &model_hash(&reference.model(campaign)));
                if let Some(key) = key {
                    reference.keys.insert(key, (asked, (learned, csv(&rejects))));
                }
            }
        }
        let campaign = opened.open(None);
        prop_assert_eq!(campaign.model_hash(), model_hash(&reference.model(campaign)));
    }
    let expected = model_hash(&reference.model(opened.open(None)));
    opened.campaign = None;
    // The same from the file, through stored sums and without them.
    let campaign = Campaign::read(&opened.path).unwrap();
    prop_assert_eq!(model_hash(&campaign.model().unwrap()), expected);
    prop_assert_eq!(model_hash(&campaign.replay(u64::MAX).unwrap()), expected);
    prop_assert!(campaign.verify().unwrap().good);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_model_is_that_of_the_reference(actions in prop::collection::vec(action(), 1..24)) {
        play(Opened::new(), actions)?;
    }
}

#[cfg(feature = "postgres")]
proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_model_is_that_of_the_reference_on_postgresql_too(actions in prop::collection::vec(action(), 1..24)) {
        if let Some(opened) = Opened::in_postgres() {
            play(opened, actions)?;
        }
    }
}

/// The order in which rewards come leaves no trace, not even in the last bit.
#[test]
fn order_and_splitting_leave_no_trace_in_the_model() {
    let folder = Folder::new("order");
    let table = folder.write("customers.csv", customers(60));
    let mut hashes = BTreeSet::new();
    for order in 0..3 {
        let mut campaign = begin(&folder, &table, TWO).unwrap();
        choose_round(&mut campaign, &table).unwrap();
        let mut rows: Vec<String> = (1..=17).map(|n| format!("r1-{n},{}\n", f64::from(n) / 7.0)).collect();
        match order {
            0 => {}
            1 => rows.reverse(),
            _ => rows.rotate_left(5),
        }
        let size = [17, 1, 4][order];
        for part in rows.chunks(size) {
            let text = format!("decision,reward\n{}", part.concat());
            assert_eq!(learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap().0.rejected, 0);
        }
        hashes.insert(model_hash(&campaign.model().unwrap()));
        std::fs::remove_file(campaign.path()).unwrap();
    }
    assert_eq!(hashes.len(), 1);
}

#[test]
fn a_customer_who_was_sent_the_same_twice_is_not_guessed() {
    let folder = Folder::new("ambiguous");
    let table = folder.write("customers.csv", customers(17));
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let first = campaign.sent(1).unwrap()[0].clone();
    let text = format!(
        "customer,promotion,reward\n{},{},1\nC9999,mail,1\n{},sms,1\n",
        first.customer, first.promotion, first.customer
    );
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    assert_eq!((learned.applied, learned.rejected, learned.reasons["unknown"]), (1, 2, 2));
    // All 17 customers are in every round, so a later round makes some pairs ambiguous.
    for _ in 0..4 {
        choose_round(&mut campaign, &table).unwrap();
    }
    let again = campaign.rounds().keys().skip(1).flat_map(|&round| campaign.sent(round).unwrap());
    assert!(again.into_iter().any(|sent| (&sent.customer, &sent.promotion) == (&first.customer, &first.promotion)));
    let (hash, head) = (model_hash(&campaign.model().unwrap()), campaign.head());
    // The same table once more could be about any of five rounds, so all of it is refused.
    let refused = learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap_err();
    assert!(matches!(&refused, Error::WhichRound { rounds, .. } if *rounds == [1, 2, 3, 4, 5]), "{refused}");
    // Where only some rows name neither a decision nor a round, those are put aside, however often they are read.
    let (customer, promotion) = (&first.customer, &first.promotion);
    let text = format!("decision,customer,promotion,reward\nr1-1,,,1\n,{customer},{promotion},1\n");
    for _ in 0..2 {
        let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
        assert_eq!((learned.applied, learned.repeated, learned.reasons.get("ambiguous")), (0, 1, Some(&1)));
    }
    // With the round it is known.
    let text = format!("customer,promotion,reward,round\n{customer},{promotion},1,1\n");
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    assert_eq!((learned.applied, learned.repeated), (0, 1));
    assert_eq!((model_hash(&campaign.model().unwrap()), campaign.head()), (hash, head));
}

#[test]
fn bounces_are_never_learned_as_silence() {
    let folder = Folder::new("bounce");
    let table = folder.write("customers.csv", customers(40));
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let bounced = "decision\nr1-1\nr1-2\nr1-2\n";
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Undelivered, bounced).unwrap();
    assert_eq!((learned.applied, learned.repeated), (2, 1));
    close(&mut campaign, 1, None).unwrap();
    let count = |campaign: &Campaign| campaign.model().unwrap().blocks().iter().map(armwise::Block::count).sum::<u64>();
    assert_eq!(count(&campaign), 15);
    // A bounce that is reported after the window takes the silence back.
    learn_text(&mut campaign, &folder, Feedback::Undelivered, "decision\nr1-3\n").unwrap();
    assert_eq!(count(&campaign), 14);
    let (learned, _) =
        learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\nr1-4,1\n").unwrap();
    assert_eq!((learned.reasons["conflict"], learned.reasons["closed"]), (1, 1));
    learn_text(&mut campaign, &folder, Feedback::Corrections, "decision,reward\nr1-1,1\nr1-4,1\n").unwrap();
    assert_eq!(count(&campaign), 15);
}
