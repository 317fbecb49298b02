//! Each reward is counted once, whatever the order, the splitting and the repetitions.
//!
//! The reference keeps a map from decision to reward, by rules written a second time here, and
//! sums it in the end; the campaign's model must have its bits.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise::{Model, Observation};
use armwise_campaign::{
    Campaign,
    core::{DecisionId, Feedback, close, model_hash, revoke},
};
use common::{Folder, TWO, begin, choose_round, customers, learn_text};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone)]
enum Action {
    Choose,
    /// Rows (which decision, which reward), and what the table is about.
    Table(Feedback, Vec<(usize, u8)>),
    /// An earlier table once more.
    Again(usize),
    Close(usize),
    Revoke(usize),
}

fn action() -> impl Strategy<Value = Action> {
    let rows = || prop::collection::vec((any::<usize>(), 0_u8..3), 1..12);
    prop_oneof![
        2 => Just(Action::Choose),
        5 => rows().prop_map(|rows| Action::Table(Feedback::Rewards, rows)),
        2 => rows().prop_map(|rows| Action::Table(Feedback::Corrections, rows)),
        2 => rows().prop_map(|rows| Action::Table(Feedback::Undelivered, rows)),
        3 => any::<usize>().prop_map(Action::Again),
        1 => any::<usize>().prop_map(Action::Close),
        1 => any::<usize>().prop_map(Action::Revoke),
    ]
}

/// What is known of a decision: a reward, or that it did not arrive.
#[derive(Default)]
struct Reference {
    known: BTreeMap<DecisionId, Option<f64>>,
    closed: BTreeSet<u64>,
    revoked: BTreeSet<u64>,
}

impl Reference {
    fn take(&mut self, kind: Feedback, rows: &[(DecisionId, f64)]) {
        // Of a decision about which a table contradicts itself, nothing is believed.
        let contradicted = |id: DecisionId, reward: f64| {
            kind != Feedback::Undelivered
                && rows.iter().any(|&(other, r)| other == id && r.to_bits() != reward.to_bits())
        };
        let believed =
            |&&(id, reward): &&(DecisionId, f64)| !contradicted(id, reward) && !self.revoked.contains(&id.round);
        for &(id, reward) in rows.iter().filter(believed).collect::<Vec<_>>() {
            let known = self.known.contains_key(&id);
            let change = match kind {
                Feedback::Rewards => !known && !self.closed.contains(&id.round),
                Feedback::Corrections => known || self.closed.contains(&id.round),
                _ => !known,
            };
            if change {
                self.known.insert(id, if kind == Feedback::Undelivered { None } else { Some(reward) });
            }
        }
    }

    fn model(&self, campaign: &Campaign) -> Model {
        let mut model = Model::new(campaign.recipe().dim(), 2).unwrap();
        for &round in campaign.rounds().keys().filter(|round| !self.revoked.contains(round)) {
            let mut sums = Model::new(campaign.recipe().dim(), 2).unwrap();
            for sent in campaign.sent(round).unwrap() {
                let silence = self.closed.contains(&round).then_some(0.0);
                let reward = self.known.get(&sent.id).copied().unwrap_or(silence);
                let block = u32::from(sent.promotion == "call");
                if let Some(reward) = reward {
                    sums.observe(&Observation { t: round, block, x: &sent.features, reward }).unwrap();
                }
            }
            model.merge(&sums).unwrap();
        }
        model
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_model_is_that_of_the_reference(actions in prop::collection::vec(action(), 1..24)) {
        let folder = Folder::new("once");
        let table = folder.write("customers.csv", customers(60));
        let mut campaign = begin(&folder, &table, TWO).unwrap();
        let mut reference = Reference::default();
        let mut tables: Vec<(Feedback, Vec<(DecisionId, f64)>)> = Vec::new();
        choose_round(&mut campaign, &table).unwrap();
        for action in actions {
            let rounds: Vec<u64> = campaign.rounds().keys().copied().collect();
            let now = match action {
                Action::Choose => {
                    if rounds.len() < 4 {
                        choose_round(&mut campaign, &table).unwrap();
                    }
                    continue;
                }
                Action::Close(which) => {
                    let round = rounds[which % rounds.len()];
                    let closed = close(&mut campaign, round);
                    prop_assert_eq!(closed.is_err(), reference.revoked.contains(&round), "only a revoked round stays");
                    if closed.is_ok() {
                        reference.closed.insert(round);
                    }
                    continue;
                }
                Action::Revoke(which) => {
                    let round = rounds[which % rounds.len()];
                    let already = !reference.revoked.insert(round);
                    let revoked = revoke(&mut campaign, round).unwrap();
                    prop_assert_eq!(revoked.already, already);
                    prop_assert_eq!(revoked.model, model_hash(&reference.model(&campaign)));
                    continue;
                }
                Action::Again(which) if tables.is_empty() => { let _ = which; continue }
                Action::Again(which) => tables[which % tables.len()].clone(),
                Action::Table(kind, rows) => {
                    let id = |which: usize| DecisionId {
                        round: rounds[which % rounds.len()],
                        number: (which / 7 % 17) as u32 + 1,
                    };
                    let rows: Vec<_> = rows.into_iter().map(|(which, r)| (id(which), f64::from(r) / 2.0)).collect();
                    tables.push((kind, rows.clone()));
                    (kind, rows)
                }
            };
            let (kind, rows) = now;
            let lines: Vec<String> = rows.iter().map(|(id, reward)| format!("{id},{reward}\n")).collect();
            let text = format!("decision,reward\n{}", lines.concat());
            let (learned, rejects) = learn_text(&mut campaign, &folder, kind, &text).unwrap();
            prop_assert_eq!(learned.applied + learned.repeated + learned.rejected, rows.len() as u64);
            prop_assert_eq!(learned.rejected, rejects.len() as u64);
            reference.take(kind, &rows);
            prop_assert_eq!(&learned.model, &model_hash(&reference.model(&campaign)));
        }
        let expected = model_hash(&reference.model(&campaign));
        let path = campaign.path().to_owned();
        drop(campaign);
        // The same from the file, through stored sums and without them.
        let campaign = Campaign::read(&path).unwrap();
        prop_assert_eq!(model_hash(&campaign.model().unwrap()), expected);
        prop_assert_eq!(model_hash(&campaign.replay(u64::MAX).unwrap()), expected);
        prop_assert!(campaign.verify().good);
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
    let hash = model_hash(&campaign.model().unwrap());
    // The same table once more is a no-op; a new one that says the same is put aside; with the round it is known.
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    assert_eq!((learned.applied, learned.repeated), (0, 1));
    let text = format!("customer,promotion,reward\n{},{},1\n", first.customer, first.promotion);
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    assert_eq!((learned.applied, learned.reasons.get("ambiguous")), (0, Some(&1)));
    let text = format!("customer,promotion,reward,round\n{},{},1,1\n", first.customer, first.promotion);
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    assert_eq!((learned.applied, learned.repeated), (0, 1));
    assert_eq!(model_hash(&campaign.model().unwrap()), hash);
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
    close(&mut campaign, 1).unwrap();
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
