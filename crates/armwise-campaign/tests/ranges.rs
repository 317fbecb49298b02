//! What is accepted reads back: numbers outside their range are refused at the edge, and what a store cannot keep is
//! refused before the commit.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise::{Model, Observation};
use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{Feedback, LAST_GIVEN_ROUND, Refusal, Sent, Setup, close, fates, learn, why},
    recipe::fit,
    round::{ChooseOptions, choose},
    store::memory::Memory,
};
use common::{Folder, TWO, begin, choose_round, customers, learn_text, open};
use std::path::Path;

/// `--only-responders=-0` and `nan` destroyed a campaign: the store kept something else than what was hashed.
#[test]
fn an_answer_is_worth_a_number_that_can_be_learned() {
    let folder = Folder::new("worth");
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let head = campaign.head();
    for worth in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e101, -1e101] {
        let refused = learn_text(&mut campaign, &folder, Feedback::Responders { worth }, "decision\nr1-1\n");
        assert!(matches!(refused, Err(Error::Refused(Refusal::BadWorth(_)))), "{worth}: {refused:?}");
    }
    assert_eq!(campaign.head(), head);
    learn_text(&mut campaign, &folder, Feedback::Responders { worth: -0.0 }, "decision\nr1-1\n").unwrap();
    let rows = "decision,reward\nr1-2,-0\nr1-3,-0.0\nr1-4,nan\nr1-5,inf\nr1-6,-inf\nr1-7,1e101\nr1-8,NaN\n";
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, rows).unwrap();
    assert_eq!((learned.applied, learned.reasons["invalid"]), (2, 5));
    let (corrected, _) =
        learn_text(&mut campaign, &folder, Feedback::Corrections, "decision,reward\nr1-1,-0\nr1-2,nan\n").unwrap();
    assert_eq!((corrected.repeated, corrected.reasons["invalid"]), (1, 1), "zero has no sign");
    let path = campaign.path().to_owned();
    drop(campaign);
    let campaign = Campaign::read(&path).unwrap();
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
    let zeros =
        fates(&campaign, 1).unwrap().iter().filter_map(|(_, fate)| fate.reward()).map(f64::to_bits).collect::<Vec<_>>();
    assert_eq!(zeros, [0; 3]);
}

#[test]
fn a_default_of_minus_zero_is_zero() {
    let folder = Folder::new("default");
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(&folder, &table, &format!("[reward]\ndefault = -0.0\n{TWO}")).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    assert_eq!(close(&mut campaign, 1, None).unwrap().default.to_bits(), 0);
    assert!(fates(&campaign, 1).unwrap().iter().all(|(_, fate)| fate.reward().unwrap().to_bits() == 0));
    let path = campaign.path().to_owned();
    drop(campaign);
    assert!(Campaign::read(&path).unwrap().verify().unwrap().good);
}

/// What SQLite does not keep as it was hashed is refused inside the transaction.
#[test]
fn nothing_is_committed_that_does_not_read_back() {
    let folder = Folder::new("back");
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    let head = campaign.head();
    let lossy: [fn(&mut Sent); 5] = [
        |sent| sent.mean = -0.0,
        |sent| sent.width = -0.0,
        |sent| sent.score = f64::NAN,
        |sent| sent.draw = Some(f64::NAN),
        |sent| sent.id.round += 1,
    ];
    for (case, change) in lossy.into_iter().enumerate() {
        let mut choice =
            choose(&campaign, &open(&table), ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())
                .unwrap();
        change(&mut choice.sent[3]);
        let refused = choice.commit(&mut campaign, None);
        assert!(matches!(refused, Err(Error::Storage { .. } | Error::Damaged { .. })), "case {case}: {refused:?}");
        assert_eq!(campaign.head(), head, "case {case}");
        assert!(Campaign::read(campaign.path()).unwrap().verify().unwrap().good, "case {case}");
    }
    choose_round(&mut campaign, &table).unwrap();
    assert!(campaign.verify().unwrap().good);
}

/// A file that nothing opens was reported as a success.
#[test]
fn a_campaign_that_could_not_be_opened_does_not_begin() {
    let folder = Folder::new("unopened");
    let table = folder.write("customers.csv", customers(60));
    let mut config = Config::parse(&format!("customer = \"customer\"\n{TWO}"), Path::new("rules")).unwrap();
    let recipe = fit(&config, &open(&table)).unwrap();
    config.reward.default = f64::NAN;
    let path = folder.path("c.armwise");
    assert!(Campaign::create(&path, Setup::new(config, recipe)).is_err());
    assert!(!path.exists(), "no file is left");
}

/// `choose --round 2147483647` damaged the campaign for good.
#[test]
fn rounds_have_a_stated_range_and_the_last_one_that_can_be_given_leaves_room() {
    let folder = Folder::new("rounds");
    let table = folder.write("customers.csv", customers(60));
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    let ask = |campaign: &Campaign, round: u64| {
        choose(
            campaign,
            &open(&table),
            ChooseOptions { again: true, round: Some(round), ..ChooseOptions::default() },
            &|_| (),
        )
    };
    for round in [0, LAST_GIVEN_ROUND + 1, 1 << 30, (1 << 31) - 1, 1 << 31, 1 << 32, u64::MAX] {
        let refused = ask(&campaign, round);
        assert!(matches!(refused, Err(Error::Refused(Refusal::BadRound(found))) if found == round), "{round}");
    }
    ask(&campaign, LAST_GIVEN_ROUND).unwrap().commit(&mut campaign, None).unwrap();
    assert_eq!(choose_round(&mut campaign, &table).unwrap().round, LAST_GIVEN_ROUND + 1, "the next one is there");
    let text = format!("decision,reward\nr{LAST_GIVEN_ROUND}-1,1\nr{}-2,1\nr1073741825-1,1\n", LAST_GIVEN_ROUND + 1);
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    assert_eq!((learned.applied, learned.reasons["invalid"]), (2, 1));
    close(&mut campaign, LAST_GIVEN_ROUND, None).unwrap();
    let rows = open(&folder.write("r.csv", "customer,reward\nC0001,1\n"));
    for round in [0, 1, (1 << 31) - 1, 1 << 32, u64::MAX] {
        assert!(matches!(close(&mut campaign, round, None), Err(Error::NotFound { .. })));
        assert!(matches!(
            learn(&mut campaign, &rows, Feedback::Rewards, Some(round), None),
            Err(Error::NotFound { .. })
        ));
        assert!(matches!(why(&campaign, "C0001", Some(round), None), Err(Error::NotFound { .. })));
    }
    let text = format!("customer,round,reward\nC0001,{},1\nC0001,18446744073709551616,1\nC0001,-1,1\n", u64::MAX);
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    assert_eq!((learned.applied, learned.rejected), (0, 3));
    let path = campaign.path().to_owned();
    drop(campaign);
    assert!(Campaign::read(&path).unwrap().verify().unwrap().good);
}

#[test]
fn a_campaign_begins_with_numbers_in_their_range() {
    let folder = Folder::new("begin");
    let table = folder.write("customers.csv", customers(60));
    let config = Config::parse(&format!("customer = \"customer\"\n{TWO}"), Path::new("rules")).unwrap();
    let setup = Setup::new(config.clone(), fit(&config, &open(&table)).unwrap());
    for rounds_per_segment in [0, (1 << 30) + 1, u64::MAX] {
        let refused = Campaign::begin(Box::<Memory>::default(), Setup { rounds_per_segment, ..setup.clone() });
        assert!(matches!(refused, Err(Error::Refused(Refusal::BadSegment(_)))), "{rounds_per_segment}");
    }
    let dim = setup.recipe.dim();
    for (t, good) in [(LAST_GIVEN_ROUND, true), (LAST_GIVEN_ROUND + 1, false), ((1 << 30) - 1, false)] {
        let mut model = Model::new(dim, 2).unwrap();
        model.observe(&Observation { t, block: 0, x: &vec![0.5; dim], reward: 1.0 }).unwrap();
        let begun = Campaign::begin(Box::<Memory>::default(), Setup { start: Some(model), ..setup.clone() });
        assert_eq!(begun.is_ok(), good, "{t}");
    }
}
