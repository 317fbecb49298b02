//! Rounds that were never sent and rules that change: what follows from them, and what stays.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{Fate, Feedback, Frozen, Refusal, amend, close, fates, model_hash, results, revoke, status, why},
    report::report,
    round::{ChooseOptions, choose},
};
use common::{Folder, begin, choose_round, customers, learn_text, open};
use std::{fmt::Write, path::Path};

const RULES: &str = "segment = \"region\"\n[limits]\nrest = 1\nhold_out = 0.2\n\
    [[promotion]]\nname = \"mail\"\nquota = 12\n[[promotion]]\nname = \"call\"\nquota = 5\n\
    [[features.column]]\nname = \"age\"\nkind = \"numeric\"\n[[features.column]]\nname = \"region\"\nkind = \"categorical\"\n";

fn rules(text: &str) -> Config {
    Config::parse(&format!("customer = \"customer\"\n{text}"), Path::new("new.toml")).unwrap()
}

/// What the view for analysts says: the fates of a round with the sums of their rewards.
fn view(campaign: &Campaign, round: u64) -> Vec<(String, u64, Option<f64>)> {
    let db = rusqlite::Connection::open(campaign.path()).unwrap();
    let sql =
        "SELECT fate, count(*), sum(reward) FROM result WHERE round = ? AND hold_out = 0 GROUP BY fate ORDER BY fate";
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement
        .query_map([round.cast_signed()], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned(), row.get(2)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

#[test]
fn a_revoked_round_was_never_sent() {
    let folder = Folder::new("revoke");
    let table = folder.write("customers.csv", customers(100));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\nr1-14,0.5\n").unwrap();
    let before = campaign.model().unwrap();
    let rested = choose_round(&mut campaign, &table).unwrap().resting;
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr2-1,1\nr2-2,0.25\n").unwrap();
    close(&mut campaign, 2, None).unwrap();
    let first = campaign.sent(2).unwrap()[0].clone();

    let revoked = revoke(&mut campaign, 2, None).unwrap();
    assert_eq!((revoked.already, revoked.sends, revoked.rewards), (false, 17, 17));
    assert_eq!(campaign.model().unwrap(), before, "what was learned from it is gone, to the bit");
    let head = campaign.head();
    let again = revoke(&mut campaign, 2, None).unwrap();
    assert!(again.already && campaign.head() == head, "a second time changes nothing");
    assert!(matches!(close(&mut campaign, 2, None), Err(Error::Refused(Refusal::Revoked(2)))));
    assert!(matches!(revoke(&mut campaign, 9, None), Err(Error::NotFound { .. })));

    let text = format!("decision,customer,reward\nr2-5,,1\n,{},1\nr1-2,,1\n", first.customer);
    let chosen_before = campaign.sent(1).unwrap().iter().any(|sent| sent.customer == first.customer);
    assert!(!chosen_before, "whoever was sent something in round 1 rested in round 2");
    for feedback in [Feedback::Rewards, Feedback::Corrections, Feedback::Undelivered] {
        let (learned, rejects) = learn_text(&mut campaign, &folder, feedback, &text).unwrap();
        assert_eq!(learned.reasons["revoked"], 2, "{rejects:?}");
        assert_eq!((campaign.round(2).unwrap().counts.answered, learned.rounds.contains(&2)), (0, false));
    }

    let line = status(&campaign).unwrap().rounds[1].clone();
    assert_eq!(
        (line.revoked, line.sends, line.answered, line.silent, line.pending, line.hold_out.chosen),
        (true, 0, 0, 0, 0, 0)
    );
    assert!(fates(&campaign, 2).unwrap().iter().all(|(_, fate)| *fate == Fate::Revoked));
    assert_eq!(view(&campaign, 2), [("revoked".to_owned(), 17, None)]);
    assert_eq!(results(&campaign, Some(2)).unwrap().len(), campaign.sent(2).unwrap().len());
    close(&mut campaign, 1, None).unwrap();
    let told = report(&campaign).unwrap();
    assert_eq!((told.rounds[1].revoked, told.rounds[1].tally.sends), (true, 0));
    assert_eq!(told.promotions.iter().map(|line| line.tally.sends).sum::<u64>(), 17, "of the first round alone");
    let hold_out = |round: u64| campaign.sent(round).unwrap().iter().filter(|sent| sent.hold_out).count() as u64;
    assert_eq!(told.uplift.last().unwrap().hold_out.sends, hold_out(1));
    let told = why(&campaign, &first.customer, None, None).unwrap();
    assert!(told.revoked && told.round == 2, "chosen in no other round");

    // Its number stays its own, and its customers do not rest: those of round 1 do, as if round 2 had not been.
    let summary = choose(&campaign, &open(&table), ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())
        .unwrap()
        .summary;
    let rests = 17 + hold_out(1);
    assert_eq!((summary.round, rested, summary.resting), (3, rests, 0));
    choose_round(&mut campaign, &table).unwrap();
    let path = campaign.path().to_owned();
    drop(campaign);
    let campaign = Campaign::read(&path).unwrap();
    assert!(
        campaign.round(2).unwrap().revoked() && campaign.verify().unwrap().good,
        "{:?}",
        campaign.verify().unwrap().findings
    );
}

#[test]
fn a_round_that_was_revoked_before_anything_was_heard_leaves_no_trace_in_the_model() {
    let folder = Folder::new("revoke-early");
    let table = folder.write("customers.csv", customers(100));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    let empty = campaign.model().unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let sent = campaign.sent(1).unwrap();
    revoke(&mut campaign, 1, None).unwrap();
    assert_eq!((campaign.model().unwrap(), campaign.model_hash()), (empty.clone(), model_hash(&empty)));
    // A customer of both rounds: a response can only be about the one that was sent.
    choose_round(&mut campaign, &table).unwrap();
    let both = campaign.sent(2).unwrap().into_iter().find(|now| {
        sent.iter().any(|then| (&then.customer, &then.promotion) == (&now.customer, &now.promotion)) && !now.hold_out
    });
    let both = both.expect("without rest, some are chosen again");
    let text = format!("customer,promotion,reward\n{},{},1\n", both.customer, both.promotion);
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    assert_eq!((learned.applied, &learned.rounds[..]), (1, &[2][..]));
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
}

#[test]
fn amended_rules_hold_from_the_next_round_on() {
    let folder = Folder::new("amend");
    let table = folder.write("customers.csv", customers(100));
    let mut campaign =
        begin(&folder, &table, &format!("[reward]\nmax = 1.0\n{RULES}").replacen("segment", "#", 1)).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\nr1-14,0.5\n").unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let (model, first) = (campaign.model().unwrap(), campaign.config().clone());

    let text = "segment = \"region\"\nties = \"random\"\n[algorithm]\nname = \"c2ucb\"\nlambda = 2.0\nalpha = 0.5\n\
        [reward]\ndefault = 0.25\nmax = 5.0\n[limits]\nper_customer = 2\nbudget = 30.0\nhold_out = 0.1\n\
        [[limits.group]]\ncolumn = \"region\"\nvalue = \"north\"\nmax = 4\n\
        [[promotion]]\nname = \"mail\"\nquota = { max = 20 }\ncost = 1.0\n\
        [[promotion]]\nname = \"call\"\nquota = { max = 3 }\ncost = 4.0\neligible = \"may_call\"\n";
    let amended = amend(&mut campaign, rules(text), None).unwrap();
    assert_eq!(amended.changed, ["algorithm", "limits", "promotion", "reward", "segment", "ties"]);
    assert_eq!((amended.from, campaign.model().unwrap()), (3, model), "what was learned stays");
    let head = campaign.head();
    assert!(amend(&mut campaign, rules(text), None).unwrap().changed.is_empty() && campaign.head() == head);
    let path = campaign.path().to_owned();
    drop(campaign);
    let mut campaign = Campaign::write(&path, "test").unwrap();
    assert_eq!(*campaign.config_of(1).unwrap(), first);
    assert_eq!(campaign.config().limits.budget, Some(30.0));

    let summary = choose_round(&mut campaign, &table).unwrap();
    assert_eq!((summary.resting, summary.round), (0, 3), "nobody rests any more");
    assert!(summary.sends <= 23 && summary.segments["north"] <= 4, "{summary:?}");
    assert!(campaign.sent(3).unwrap().iter().all(|sent| sent.draw.is_none()), "C2UCB draws nothing");
    // Each round by the rules that held when it was chosen: which rewards are believed, what silence is worth.
    let (learned, _) =
        learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr2-1,4\nr3-1,4\nr3-2,6\n").unwrap();
    assert_eq!((learned.applied, learned.reasons["invalid"], &learned.rounds[..]), (1, 2, &[3][..]));
    let (one, three) = (close(&mut campaign, 1, None).unwrap(), close(&mut campaign, 3, None).unwrap());
    assert_eq!((one.default.to_bits(), three.default.to_bits()), (0.0_f64.to_bits(), 0.25_f64.to_bits()));
    let lines = status(&campaign).unwrap().rounds;
    assert!((lines[0].mean_reward.unwrap() - 1.5 / 17.0).abs() < 1e-12);
    // The one whose reward of 6 was put aside answered, so it is not silent.
    let (known, silence) = (summary.sends - 1, summary.sends - 2);
    let expected = (4.0 + 0.25 * silence as f64) / known as f64;
    assert!((lines[2].mean_reward.unwrap() - expected).abs() < 1e-12);
    assert_eq!((lines[2].pending, lines[2].silent), (1, silence));
    let silent = |round| view(&campaign, round).into_iter().find(|line| line.0 == "silent").unwrap();
    assert_eq!(silent(1), ("silent".to_owned(), 15, Some(0.0)));
    assert_eq!(silent(3), ("silent".to_owned(), silence, Some(0.25 * silence as f64)));
    let told = report(&campaign).unwrap();
    assert!((told.rounds[2].tally.mean.unwrap() - expected).abs() < 1e-12);
    // The reference of the model, written a second time.
    let mut model = armwise::Model::new(campaign.recipe().dim(), 2).unwrap();
    for (round, default) in [(1, 0.0), (3, 0.25)] {
        let mut sums = armwise::Model::new(campaign.recipe().dim(), 2).unwrap();
        for sent in campaign.sent(round).unwrap().iter().filter(|sent| !sent.hold_out) {
            let reward = match (round, sent.id.number) {
                (1, 1) => 1.0,
                (1, 14) => 0.5,
                (3, 1) => 4.0,
                // Put aside: nobody knows what it answered.
                (3, 2) => continue,
                _ => default,
            };
            let block = u32::from(sent.promotion == "call");
            sums.observe(&armwise::Observation { t: round, block, x: &sent.features, reward }).unwrap();
        }
        model.merge(&sums).unwrap();
    }
    assert_eq!(campaign.model().unwrap(), model);
    // The numbers that decided, also of the rounds before the amendment.
    for round in 1..=3 {
        for sent in campaign.sent(round).unwrap().iter().filter(|sent| sent.rank == 1) {
            let told = why(&campaign, &sent.customer, Some(round), None).unwrap();
            let own = told.promotions.iter().find(|line| line.promotion == sent.promotion).unwrap();
            assert_eq!((own.score.to_bits(), own.draw), (sent.score.to_bits(), sent.draw), "round {round}");
            assert_eq!(told.hold_out, sent.hold_out, "round {round}");
        }
    }
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
}

#[test]
fn what_earlier_rounds_depend_on_cannot_be_amended() {
    let folder = Folder::new("frozen");
    let table = folder.write("customers.csv", customers(100));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    let head = campaign.head();
    let good = rules(RULES);
    let mut cases = vec![(good.clone(), Frozen::Customer); 5];
    cases[0].0.customer = "age".to_owned();
    cases[1].0.gamma = 0.9.into();
    cases[1].1 = Frozen::Gamma;
    cases[2].0.seed = 2;
    cases[2].1 = Frozen::Seed;
    cases[3].0.features.column.pop();
    cases[3].1 = Frozen::Features;
    cases[4].0.features.bias = false;
    cases[4].1 = Frozen::Features;
    for (config, frozen) in cases {
        let refused = amend(&mut campaign, config, None);
        let Err(error @ Error::Refused(Refusal::Frozen(found))) = refused else { panic!("{refused:?}") };
        assert_eq!(found, frozen);
        assert!(error.to_string().contains(frozen.field()), "{error}");
        assert_eq!(campaign.head(), head);
    }
    assert!(amend(&mut campaign, good, None).unwrap().changed.is_empty());
}

/// Somebody looks while somebody else writes: what is seen is the campaign as it was opened, whole.
#[test]
fn a_reader_sees_one_state_of_the_campaign() {
    let folder = Folder::new("reader");
    let table = folder.write("customers.csv", customers(100));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\n").unwrap();
    let reader = Campaign::read(campaign.path()).unwrap();
    let (model, known) = (campaign.model().unwrap(), fates(&campaign, 1).unwrap());
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-2,0.5\n").unwrap();
    learn_text(&mut campaign, &folder, Feedback::Corrections, "decision,reward\nr1-1,0\n").unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let late = campaign.sent(2).unwrap()[0].customer.clone();
    assert_eq!((reader.model().unwrap(), fates(&reader, 1).unwrap(), reader.rounds().len()), (model, known, 1));
    assert!(matches!(why(&reader, &late, None, None), Err(Error::NeverChosen { .. })));
    assert!(reader.verify().unwrap().good, "{:?}", reader.verify().unwrap().findings);
    assert_eq!(Campaign::read(campaign.path()).unwrap().rounds().len(), 2);
}

/// What was chosen for one state of the campaign is not committed to another one.
#[test]
fn a_choice_is_committed_only_to_the_campaign_it_was_made_for() {
    let folder = Folder::new("stale");
    let table = folder.write("customers.csv", customers(100));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let choice =
        choose(&campaign, &open(&table), ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ()).unwrap();
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\n").unwrap();
    let refused = choice.commit(&mut campaign, None);
    assert!(matches!(refused, Err(Error::HeadMoved { expected: 2, found: 3, .. })), "{refused:?}");
    assert_eq!(campaign.rounds().len(), 1);
}

/// Learns a reward for every send of a round that only its decision decides, and closes the round.
fn answer(campaign: &mut Campaign, folder: &Folder, round: u64) {
    let mut text = String::from("decision,reward\n");
    for sent in campaign.sent(round).unwrap().iter().filter(|sent| !sent.hold_out && sent.id.number % 3 > 0) {
        let _ = writeln!(text, "{},{}", sent.id, f64::from(sent.id.number % 7) / 8.0);
    }
    learn_text(campaign, folder, Feedback::Rewards, &text).unwrap();
    close(campaign, round, None).unwrap();
}

/// A new promotion in week 3, one that is retired, one that comes back, in another order: every promotion knows what
/// its own sends taught, and every round is still explained by its own rules.
#[test]
fn promotions_come_and_go_and_come_back_knowing_what_they_knew() {
    let folder = Folder::new("promotions");
    let table = folder.write("customers.csv", customers(200));
    let promotion = |name: &str, quota: u32| format!("[[promotion]]\nname = \"{name}\"\nquota = {quota}\n");
    let with = |promotions: &[(&str, u32)]| {
        let all: String = promotions.iter().map(|(name, quota)| promotion(name, *quota)).collect();
        rules(&format!("[limits]\nrest = 0\n{all}"))
    };
    let first = format!(
        "{}{}[[features.column]]\nname = \"age\"\nkind = \"numeric\"\n[[features.column]]\nname = \"region\"\nkind = \"categorical\"\n",
        promotion("mail", 12),
        promotion("call", 5)
    );
    let mut campaign = begin(&folder, &table, &first).unwrap();
    for round in [1, 2] {
        choose_round(&mut campaign, &table).unwrap();
        answer(&mut campaign, &folder, round);
    }
    let (model, head) = (campaign.model_hash(), campaign.head());

    // Round 3: gift is new and comes first, call is retired.
    let amended = amend(&mut campaign, with(&[("gift", 7), ("mail", 12)]), None).unwrap();
    assert_eq!((&amended.added[..], &amended.retired[..]), (&["gift".to_owned()][..], &["call".to_owned()][..]));
    assert_eq!((amended.from, amended.model, campaign.model_hash()), (3, model, model), "what was learned stays");
    assert_ne!(campaign.head(), head);
    let told = status(&campaign).unwrap();
    assert_eq!(
        (&told.promotions[..], &told.retired[..]),
        (&["gift", "mail"].map(String::from)[..], &["call".to_owned()][..])
    );
    assert_eq!(told.observations, [0, 24], "of gift nothing is known yet");
    let summary = choose_round(&mut campaign, &table).unwrap();
    let sends: Vec<(&str, u64)> = summary.promotions.iter().map(|line| (line.promotion.as_str(), line.sends)).collect();
    assert_eq!(sends, [("gift", 7), ("mail", 12)]);
    // A late reward of a retired promotion still finds its decision, and is told from one that never was.
    let call = campaign.sent(2).unwrap().into_iter().find(|sent| sent.promotion == "call").unwrap();
    let text = format!("customer,promotion,round,reward\n{0},call,2,0.9375\n{0},tv,2,0.9375\n", call.customer);
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Corrections, &text).unwrap();
    assert_eq!((learned.applied, learned.rejected), (1, 1));
    answer(&mut campaign, &folder, 3);

    // Round 4: call is back.
    let amended = amend(&mut campaign, with(&[("call", 5), ("gift", 7), ("mail", 2)]), None).unwrap();
    assert_eq!((&amended.added[..], amended.retired.len()), (&["call".to_owned()][..], 0));
    choose_round(&mut campaign, &table).unwrap();
    answer(&mut campaign, &folder, 4);
    assert_eq!(campaign.promotions(), ["mail", "call", "gift"], "in the order in which they first appeared");

    let path = campaign.path().to_owned();
    drop(campaign);
    let campaign = Campaign::write(&path, "test").unwrap();
    // The reference: one promotion at a time, over everything that was ever sent of it.
    let model = campaign.of_rules(&campaign.model().unwrap(), campaign.config()).unwrap();
    for (block, name) in ["call", "gift", "mail"].into_iter().enumerate() {
        let mut own = armwise::Model::new(campaign.recipe().dim(), 1).unwrap();
        let mut count = 0;
        for round in 1..=4 {
            for (sent, fate) in fates(&campaign, round).unwrap() {
                if sent.promotion == name {
                    let reward = fate.reward().unwrap();
                    own.observe(&armwise::Observation { t: round, block: 0, x: &sent.features, reward }).unwrap();
                    count += 1;
                }
            }
        }
        assert_eq!(model.blocks()[block].count(), count, "{name}");
        for (a, b) in model.blocks()[block].g().iter().zip(own.blocks()[0].g()) {
            assert!((a - b).abs() < 1e-12, "{name}");
        }
        for (a, b) in model.blocks()[block].b().iter().zip(own.blocks()[0].b()) {
            assert!((a - b).abs() < 1e-12, "{name}");
        }
    }
    // The numbers that decided, in every round, by the promotions and the order of its own rules.
    for round in 1..=4 {
        for sent in campaign.sent(round).unwrap() {
            let told = why(&campaign, &sent.customer, Some(round), None).unwrap();
            let own = told.promotions.iter().find(|line| line.promotion == sent.promotion).unwrap();
            assert_eq!((own.score.to_bits(), own.draw), (sent.score.to_bits(), sent.draw), "round {round}");
            assert_eq!(told.promotions.len(), campaign.config_of(round).unwrap().promotion.len());
        }
    }
    let told = report(&campaign).unwrap();
    let lines: Vec<(&str, u64)> = told.promotions.iter().map(|line| (line.name.as_str(), line.tally.sends)).collect();
    assert_eq!(lines, [("mail", 38), ("call", 15), ("gift", 14)]);
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    assert_eq!(
        model_hash(&campaign.replay(head.seq).unwrap()),
        campaign.entries().unwrap()[head.seq as usize - 1].model
    );
}
