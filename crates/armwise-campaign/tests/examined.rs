//! Rewards of arms that were looked at with a known probability q: (q x, r) in place of (x, r), whatever door they come by.
//!
//! Random orders, corrections, keys and failing stores are in `exactly_once.rs`, folds and compaction in `served.rs`, a new
//! recipe in `refit.rs`.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise::{ArmWiseTs, Arms, Constraint, Learner, Model, Names, Observation, Round};
use armwise_campaign::{
    Campaign,
    config::Config,
    core::{
        Feedback, Flaw, Key, LearnOptions, Learned, Line, LineOutcome, close, fold, learn_logged, learn_with, logged,
        results, why,
    },
    live::{DecideRequest, Decided, Features, JsonRows, Live, LiveOptions, RewardsRequest},
    report::report,
    store::sqlite::verify,
};
use arrow_array::RecordBatch;
use common::{Folder, TWO, begin, choose_round, csv, customers, learn_asked, learn_text, open};
use std::{fs, path::Path};

use LineOutcome::{Applied, Conflict, Invalid, Known};

const SHOW: &str = "customer = \"id\"\nseed = 7\nrounds_per_segment = 16\n[[promotion]]\nname = \"show\"\n";

fn shop(folder: &Folder) -> Live {
    let rules = Config::parse(SHOW, Path::new("rules")).unwrap();
    Live::begin(&folder.path("shop.armwise"), rules, Features::Dim(2), LiveOptions::default()).unwrap()
}

fn items() -> RecordBatch {
    let arm = |number: usize| {
        let x = (number * 37 % 101) as f64 / 101.0;
        format!("{{\"id\": \"a{number}\", \"features\": [{x}, {}]}}", 1.0 - x)
    };
    let text: Vec<String> = (0..9).map(arm).collect();
    serde_json::from_str::<JsonRows>(&format!("[{}]", text.join(","))).unwrap().0
}

fn line(id: &str, reward: f64, examined: Option<f64>) -> Line {
    Line { id: Some(id.to_owned()), reward: Some(reward), examined, ..Line::default() }
}

fn told(decided: &Decided, lines: Vec<Line>, feedback: Feedback) -> RewardsRequest {
    RewardsRequest { key: None, decision: Some(decided.decision.clone()), lines, feedback }
}

/// How probable it is that a place of a slate is looked at.
const PLACES: [f64; 4] = [1.0, 0.7, 0.4, 0.1];

fn clicked(round: u64, place: usize) -> f64 {
    f64::from(u8::from((round as usize + place).is_multiple_of(3)))
}

#[test]
fn the_model_of_a_campaign_is_that_of_a_learner_that_learns_with_the_decision_examined() {
    let folder = Folder::new("examined-learner");
    let live = shop(&folder);
    let mut slates = Vec::new();
    for round in 1..=5 {
        let decided = live.decide(DecideRequest::k_of(items(), 4)).unwrap();
        let lines = (0..4).map(|place| line(&decided.arms[place].id, clicked(round, place), Some(PLACES[place])));
        // From the last place to the first, which must not matter.
        let lines: Vec<Line> = lines.rev().collect();
        let done = live.rewards(told(&decided, lines, Feedback::Rewards)).unwrap();
        assert!(done.arms.iter().all(|arm| arm.outcome == LineOutcome::Applied), "{done:?}");
        slates.push(decided);
    }
    live.stop();
    let mut campaign = Campaign::write(&folder.path("shop.armwise"), "test").unwrap();
    fold(&mut campaign).unwrap();

    // The library's own way, from the features of the same arms.
    let mut learner = Learner::new(ArmWiseTs::new(1.0, 0.1), 2, 1).unwrap();
    for (round, slate) in (1..).zip(&slates) {
        let sent = campaign.sent(round).unwrap();
        let x: Vec<f64> = sent.iter().flat_map(|sent| sent.features.to_vec()).collect();
        let names = Names::new(sent.iter().map(|sent| sent.customer.as_str())).unwrap();
        let arms = Arms::new(&x, 2).unwrap().with_names(&names).unwrap();
        let decision = learner.choose(Round::new(1, round), &arms, &Constraint::top_k(4)).unwrap();
        let place = |name: &str| slate.arms.iter().position(|arm| arm.id == name).unwrap();
        let places: Vec<usize> = decision.arms.iter().map(|arm| place(arm.name.as_deref().unwrap())).collect();
        let q: Vec<f64> = places.iter().map(|&place| PLACES[place]).collect();
        let seen = decision.examined(&q).unwrap();
        let mut rewards = seen.rewards(|arm| clicked(round, place(arm.name.as_deref().unwrap())));
        // A sum depends on the order of what is added: that of the decisions.
        let number = |name: &str| sent.iter().position(|sent| sent.customer == name).unwrap();
        rewards.sort_by_key(|reward| number(reward.name.as_deref().unwrap()));
        learner.learn(&seen, &rewards).unwrap();
    }
    assert_eq!(campaign.model().unwrap().blocks(), learner.model().blocks(), "every bit");
    assert!(campaign.verify().unwrap().good);
    // Without the probabilities it would be another model.
    assert!(campaign.model().unwrap().blocks()[0].g()[0] > 0.0);
    let plain: f64 = (1..=5).flat_map(|round| campaign.sent(round).unwrap()).map(|sent| sent.features[0].powi(2)).sum();
    assert!(campaign.model().unwrap().blocks()[0].g()[0] < 0.9 * plain);
}

#[test]
fn a_line_with_another_probability_contradicts_and_a_correction_replaces_both() {
    let folder = Folder::new("examined-lines");
    let live = shop(&folder);
    let decided = live.decide(DecideRequest::k_of(items(), 3)).unwrap();
    let ids: Vec<&str> = decided.arms.iter().map(|arm| arm.id.as_str()).collect();
    let outcomes = |lines: Vec<Line>, feedback| -> Vec<LineOutcome> {
        let done = live.rewards(told(&decided, lines, feedback)).unwrap();
        done.arms.iter().map(|arm| arm.outcome).collect()
    };
    let first = vec![line(ids[0], 1.0, Some(0.5)), line(ids[1], 0.0, Some(1.0))];
    assert_eq!(outcomes(first, Feedback::Rewards), [Applied, Applied]);
    for (examined, expected) in [(Some(0.5), Known), (Some(0.25), Conflict), (None, Conflict), (Some(1.0), Conflict)] {
        assert_eq!(outcomes(vec![line(ids[0], 1.0, examined)], Feedback::Rewards), [expected], "{examined:?}");
    }
    // What is looked at for certain is what nothing is said of.
    assert_eq!(outcomes(vec![line(ids[1], 0.0, None)], Feedback::Rewards), [Known]);
    for bad in [0.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        assert_eq!(outcomes(vec![line(ids[2], 1.0, Some(bad))], Feedback::Rewards), [Invalid], "{bad}");
    }
    let refused = live.rewards(told(&decided, vec![line(ids[0], 1.0, Some(0.25))], Feedback::Rewards)).unwrap();
    let detail = refused.arms[0].reason.clone().unwrap_or_default();
    assert!(detail.contains("has the reward 1 (examined with probability 0.5)"), "{detail}");
    assert_eq!(outcomes(vec![line(ids[0], 1.0, Some(0.25))], Feedback::Corrections), [Applied]);
    assert_eq!(outcomes(vec![line(ids[0], 1.0, Some(0.25))], Feedback::Corrections), [Known]);
    // Back to what it was needs a key, as another reward does.
    assert_eq!(outcomes(vec![line(ids[0], 1.0, Some(0.5))], Feedback::Corrections), [Conflict]);
    assert_eq!(outcomes(vec![line(ids[0], 1.0, None)], Feedback::Corrections), [Applied]);
    live.stop();
    assert!(verify(&folder.path("shop.armwise")).unwrap().good);
}

/// The model of round 1 from these answers alone, by the number of the decision.
fn expected(campaign: &Campaign, answer: impl Fn(u32) -> Option<(f64, f64)>) -> Model {
    let mut model = Model::new(campaign.recipe().dim(), 2).unwrap();
    for sent in campaign.sent(1).unwrap() {
        let Some((reward, q)) = answer(sent.id.number) else { continue };
        let x: Vec<f64> = sent.features.iter().map(|x| q * x).collect();
        model.observe(&Observation { t: 1, block: u32::from(sent.promotion == "call"), x: &x, reward }).unwrap();
    }
    model
}

fn begun(name: &str, rules: &str) -> (Folder, Campaign) {
    let folder = Folder::new(name);
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(&folder, &table, rules).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    (folder, campaign)
}

#[test]
fn a_table_may_have_the_column_and_rows_with_a_bad_value_are_put_aside_and_not_silent() {
    let (folder, mut campaign) = begun("examined-table", TWO);
    let text = "decision,reward,Examined\nr1-1,1,0.5\nr1-2,1,\nr1-3,0,1.0\nr1-4,1,0\nr1-5,1,often\nr1-6,1,1.5\n\
                r1-7,1,0.5\nr1-7,1,0.25\nr1-99,1,0.5\n";
    let (learned, rejects) = learn_text(&mut campaign, &folder, Feedback::Rewards, text).unwrap();
    assert_eq!((learned.applied, learned.rejected, learned.pending), (3, 6, 4));
    assert_eq!((learned.reasons["invalid"], learned.reasons["conflict"], learned.reasons["unknown"]), (3, 2, 1));
    let rejects = csv(&rejects);
    let mut lines = rejects.lines();
    assert_eq!(lines.next(), Some("line,decision,customer,promotion,round,reward,examined,reason"));
    for (line, start) in lines.zip(["5,r1-4,,,,1,0,", "6,r1-5,,,,1,often,", "7,r1-6,,,,1,1.5,"]) {
        assert!(line.starts_with(start) && line.contains("not a number above 0 and at most 1"), "{line}");
    }
    assert_eq!(
        campaign.model().unwrap(),
        expected(&campaign, |number| match number {
            1 => Some((1.0, 0.5)),
            2 => Some((1.0, 1.0)),
            3 => Some((0.0, 1.0)),
            _ => None,
        })
    );
    // What may still be heard is not silent, and silence is that of somebody who looked.
    let closed = close(&mut campaign, 1, None).unwrap();
    assert_eq!((closed.silent, closed.aside[&Flaw::BadExamined].len()), (10, 3));
    assert!(closed.aside[&Flaw::BadExamined][0].starts_with("r1-4-"), "{closed:?}");
    let mended = rejects.replace(",often,", ",0.25,");
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, &mended).unwrap();
    assert_eq!((learned.applied, learned.rejected), (1, 5), "the rejects are a table again");
    let model = expected(&campaign, |number| match number {
        1 => Some((1.0, 0.5)),
        2 => Some((1.0, 1.0)),
        5 => Some((1.0, 0.25)),
        4 | 6 | 7 => None,
        _ => Some((0.0, 1.0)),
    });
    assert_eq!(campaign.model().unwrap(), model);
    let path = campaign.path().to_owned();
    drop(campaign);
    assert_eq!(Campaign::read(&path).unwrap().model().unwrap(), model, "also when it is opened again");
    assert!(verify(&path).unwrap().good);
}

#[test]
fn a_request_with_a_key_is_the_same_only_with_the_same_probabilities() {
    let (folder, mut campaign) = begun("examined-keys", TWO);
    let ask = |campaign: &mut Campaign, text: &str| -> Result<(Learned, String), String> {
        let done = learn_asked(campaign, &folder, Feedback::Rewards, text, None, Some("week-1"));
        done.map(|(learned, rejects)| (learned, csv(&rejects))).map_err(|error| error.to_string())
    };
    let text = "decision,reward,examined\nr1-1,1,0.5\nr1-2,1,2\n";
    let first = ask(&mut campaign, text).unwrap();
    learn_text(&mut campaign, &folder, Feedback::Corrections, "decision,reward,examined\nr1-1,1,0.75\n").unwrap();
    assert_eq!(ask(&mut campaign, text).unwrap(), first);
    for other in ["decision,reward,examined\nr1-1,1,0.25\nr1-2,1,2\n", "decision,reward\nr1-1,1\nr1-2,1\n"] {
        assert!(ask(&mut campaign, other).unwrap_err().contains("week-1"), "{other}");
    }
    assert_eq!(campaign.model().unwrap(), expected(&campaign, |number| (number == 1).then_some((1.0, 0.75))));
}

#[test]
fn the_column_may_have_another_name() {
    let rules = format!("[tables]\nexamined_column = \"seen\"\n{TWO}");
    let (folder, mut campaign) = begun("examined-column", &rules);
    let learn = |campaign: &mut Campaign, text: &str, column: Option<&str>| {
        let path = folder.write("responses.csv", text);
        let options = LearnOptions { examined_column: column.map(str::to_owned), ..LearnOptions::default() };
        learn_with(campaign, &open(&path), Feedback::Rewards, &options)
    };
    // By the rules; a column with the usual name is another one then.
    learn(&mut campaign, "decision,reward,seen,examined\nr1-1,1,0.5,no\n", None).unwrap();
    learn(&mut campaign, "decision,reward\nr1-2,1\n", None).unwrap();
    learn(&mut campaign, "decision,reward,looked\nr1-3,1,0.25\n", Some("looked")).unwrap();
    let missing = learn(&mut campaign, "decision,reward\nr1-4,1\n", Some("looked")).unwrap_err().to_string();
    assert!(missing.contains("column \"looked\" is missing"), "{missing}");
    let said = |number| [(1, 0.5), (2, 1.0), (3, 0.25)].into_iter().find(|own| own.0 == number).map(|own| (1.0, own.1));
    assert_eq!(campaign.model().unwrap(), expected(&campaign, said));
    // A decimal comma is read as in a reward.
    let rules = format!("[tables]\nseparator = \";\"\ndecimal = \",\"\n{TWO}");
    let folder = Folder::new("examined-comma");
    let table = folder.write("customers.csv", customers(60).replace(',', ";").replace('.', ","));
    let config = Config::parse(&format!("customer = \"customer\"\n{rules}"), Path::new("rules")).unwrap();
    let with = |path: &Path| open(path).with(config.tables.clone());
    let mut campaign = armwise_campaign::init(&folder.path("c.armwise"), &with(&table), config.clone()).unwrap().0;
    let options = armwise_campaign::round::ChooseOptions::default();
    let choice = armwise_campaign::round::choose(&campaign, &with(&table), options, &|_| ()).unwrap();
    choice.commit(&mut campaign, None).unwrap();
    let path = folder.write("responses.csv", "decision;reward;examined\nr1-1;1,5;0,5\n");
    let (learned, rejects) =
        learn_with(&mut campaign, &with(&path), Feedback::Rewards, &LearnOptions::default()).unwrap();
    assert_eq!(learned.applied, 1, "{}", csv(&rejects));
    assert_eq!(campaign.model().unwrap(), expected(&campaign, |number| (number == 1).then_some((1.5, 0.5))));
}

#[test]
fn what_was_sent_before_may_have_been_looked_at_with_a_probability() {
    let folder = Folder::new("examined-logged");
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    let log = "customer,age,income,region,may_call,promotion,reward,examined,probability\n\
               C1,40,1000,north,1,mail,1,0.5,0.25\nC2,50,2000,south,1,call,2,,\nC3,60,3000,east,1,mail,1,3,\n";
    let path = folder.write("log.csv", log);
    let (learned, rejects) = learn_logged(&mut campaign, &open(&path), None).unwrap();
    assert_eq!((learned.applied, learned.rejected), (2, 1));
    assert!(csv(&rejects).contains("C3,mail,1,3,,"), "{}", csv(&rejects));
    let sheet = csv(&logged(&campaign).unwrap());
    assert_eq!(sheet, "customer,promotion,reward,probability,examined\nC1,mail,1,0.25,0.5\nC2,call,2,,\n");
    let model = campaign.model().unwrap();
    let sent = campaign.sent(0).unwrap();
    let mut own = Model::new(campaign.recipe().dim(), 2).unwrap();
    for (sent, (block, reward, q)) in sent.iter().zip([(0, 1.0, 0.5), (1, 2.0, 1.0)]) {
        let x: Vec<f64> = sent.features.iter().map(|x| q * x).collect();
        own.observe(&Observation { t: 0, block, x: &x, reward }).unwrap();
    }
    assert_eq!(model, own);
    assert_eq!(learn_logged(&mut campaign, &open(&path), None).unwrap().0.repeated, 2, "known again");
    assert!(campaign.verify().unwrap().good);
}

#[test]
fn whoever_looks_sees_it_and_rewards_count_as_they_are() {
    let (folder, mut campaign) = begun("examined-shown", TWO);
    let before = csv(&results(&campaign, None).unwrap());
    assert!(before.starts_with("decision,") && !before.contains("examined"));
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward,examined\nr1-1,1,0.5\nr1-2,3,\n").unwrap();
    let sheet = csv(&results(&campaign, None).unwrap());
    assert!(sheet.lines().next().unwrap().ends_with(",fate,reward,examined"), "{sheet}");
    assert!(sheet.lines().nth(1).unwrap().ends_with(",answered,1,0.5"), "{sheet}");
    assert!(sheet.lines().nth(2).unwrap().ends_with(",answered,3,"), "{sheet}");
    let sent = campaign.sent(1).unwrap();
    let shown = |number: usize| {
        let told = why(&campaign, &sent[number].customer, Some(1), None).unwrap();
        told.promotions.into_iter().find(|line| line.promotion == sent[number].promotion).unwrap().examined
    };
    assert_eq!((shown(0), shown(1), shown(2)), (Some(0.5), None, None));
    let db = rusqlite::Connection::open(campaign.path()).unwrap();
    let told =
        "SELECT group_concat(coalesce(examined, 'none') || ' of ' || reward, '; ') FROM result WHERE fate = 'answered'";
    let told: String = db.query_row(told, [], |row| row.get(0)).unwrap();
    assert_eq!(told, "0.5 of 1.0; none of 3.0");
    let line = &report(&campaign).unwrap().rounds[0];
    assert_eq!(line.tally.answered, 2);
    // A bounce that is said to have been looked at is nothing that a program wrote.
    let only = "decision,examined\nr1-3,0.5\n";
    assert_eq!(learn_text(&mut campaign, &folder, Feedback::Undelivered, only).unwrap().0.applied, 1);
    let head = campaign.head();
    assert!(campaign.outcomes(head.seq).unwrap()[0].answer.is_none());
}

/// A campaign of schema version 7, made by the program of that time.
#[test]
fn a_file_of_schema_version_7_is_read_as_it_is_and_goes_on_as_version_8() {
    let folder = Folder::new("schema7");
    let fixture = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema7").join(name);
    let bytes = fs::read(fixture("spring.armwise")).unwrap();
    let path = folder.write("spring.armwise", &bytes);
    let reader = Campaign::read(&path).unwrap();
    let head = "e73a2d34003334a5f5fe7cde9c4e32beff43254ade3f6d44bd4b68a75b692e19";
    let model = "9f677005e5c6f8b3bd7bf50842dc24867a2b6ad6d7658e9543f399096136bef6";
    assert_eq!((reader.head().hash.to_string(), reader.model_hash().to_string()), (head.to_owned(), model.to_owned()));
    let told = fs::read_to_string(fixture("results.csv")).unwrap();
    assert_eq!(csv(&results(&reader, None).unwrap()), told);
    assert!(reader.verify().unwrap().good, "{:?}", reader.verify().unwrap().findings);
    drop(reader);
    assert_eq!(fs::read(&path).unwrap(), bytes, "readers change nothing");
    let mut campaign = Campaign::write(&path, "test").unwrap();
    assert_eq!(campaign.head().hash.to_string(), head, "no row has changed");
    assert_eq!(csv(&results(&campaign, None).unwrap()), told);
    // A request of that time is known by its key, and what it could not say can be said now.
    let week = "decision,reward\nr1-1-jfdvya,0\nr1-2-jfdvya,1\nr1-3-jfdvya,2\nr1-4-jfdvya,0\nr1-5-jfdvya,1\nr1-6-jfdvya,2\n\
                r1-11-jfdvya,1\n";
    let key = Some("week-1");
    let (again, _) = learn_asked(&mut campaign, &folder, Feedback::Rewards, week, None, key).unwrap();
    assert_eq!((again.applied, campaign.head().seq), (7, 8), "{:?}", Key::new("week-1"));
    let more = "decision,reward,examined\nr2-4,1,0.5\n";
    assert_eq!(learn_text(&mut campaign, &folder, Feedback::Rewards, more).unwrap().0.applied, 1);
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    drop(campaign);
    let db = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(db.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)).unwrap(), 8);
    let count = "SELECT count(*) FROM result WHERE examined = 0.5 AND decision = 'r2-4-jfdvya'";
    assert_eq!(db.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}
