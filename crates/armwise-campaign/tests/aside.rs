//! Answers that came but could not be used: their decisions stay pending, with the reason, and never become silence.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise::{Model, Observation};
use armwise_campaign::{
    Campaign,
    core::{Feedback, Flaw, Key, close, model_hash, revoke, status},
    report::{html, report},
};
use common::{Folder, TWO, begin, choose_round, customers, learn_asked, learn_text};
use std::collections::BTreeMap;

fn begun(name: &str) -> (Folder, Campaign) {
    let folder = Folder::new(name);
    let table = folder.write("customers.csv", customers(60));
    let rules = format!("[reward]\nmin = 0.0\nmax = 5.0\n{TWO}");
    let mut campaign = begin(&folder, &table, &rules).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    (folder, campaign)
}

/// The model of round 1 from these rewards alone, by the number of the decision.
fn expected(campaign: &Campaign, reward: impl Fn(u32) -> Option<f64>) -> Model {
    let mut sums = Model::new(campaign.recipe().dim(), 2).unwrap();
    for sent in campaign.sent(1).unwrap() {
        let block = u32::from(sent.promotion == "call");
        if let Some(reward) = reward(sent.id.number) {
            sums.observe(&Observation { t: 1, block, x: &sent.features, reward }).unwrap();
        }
    }
    let mut model = Model::new(campaign.recipe().dim(), 2).unwrap();
    model.merge(&sums).unwrap();
    model
}

const BAD: &str = "decision,reward\nr1-1,1\nr1-2,lots\nr1-3,\nr1-4,99\nr1-5,1\nr1-5,2\nr1-77,x\n";

#[test]
fn rows_put_aside_keep_their_decisions_pending_and_closing_does_not_make_them_zeros() {
    let (folder, mut campaign) = begun("aside");
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, BAD).unwrap();
    assert_eq!((learned.applied, learned.rejected, learned.pending), (1, 6, 4));
    let flaws = BTreeMap::from([
        (Flaw::MissingReward, 1),
        (Flaw::BadReward, 1),
        (Flaw::RewardOutside, 1),
        (Flaw::Contradiction, 1),
    ]);
    let round = status(&campaign).unwrap().rounds.remove(0);
    assert_eq!((round.pending, &round.aside), (16, &flaws));
    let closed = close(&mut campaign, 1, None).unwrap();
    assert_eq!(closed.silent, 12, "17 sends, one answered, four put aside");
    let named: Vec<&String> = closed.aside.values().flatten().collect();
    assert_eq!(named.len(), 4);
    assert!(closed.aside[&Flaw::BadReward][0].starts_with("r1-2-"), "{closed:?}");
    let round = status(&campaign).unwrap().rounds.remove(0);
    assert_eq!((round.pending, round.silent, &round.aside), (4, 12, &flaws));
    let rewards = |number: u32| match number {
        1 => Some(1.0),
        2..=5 => None,
        _ => Some(0.0),
    };
    assert_eq!(model_hash(&campaign.model().unwrap()), model_hash(&expected(&campaign, rewards)));
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap());

    // Mended rows are learned even now; one for a silent decision is not.
    let mended = "decision,reward\nr1-2,2\nr1-4,0\nr1-9,1\n";
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, mended).unwrap();
    assert_eq!((learned.applied, learned.rejected, learned.reasons["closed"]), (2, 1, 1));
    let round = status(&campaign).unwrap().rounds.remove(0);
    assert_eq!((round.answered, round.pending, round.silent), (3, 2, 12));
    assert_eq!(round.aside, BTreeMap::from([(Flaw::MissingReward, 1), (Flaw::Contradiction, 1)]));
    let rewards = |number: u32| {
        if number == 2 {
            Some(2.0)
        } else if number == 4 {
            Some(0.0)
        } else {
            rewards(number)
        }
    };
    assert_eq!(model_hash(&campaign.model().unwrap()), model_hash(&expected(&campaign, rewards)));
    assert_eq!(model_hash(&campaign.replay(u64::MAX).unwrap()), campaign.model_hash());
    // The bounce of one of the others settles it too.
    learn_text(&mut campaign, &folder, Feedback::Undelivered, "decision\nr1-3\n").unwrap();
    assert_eq!(status(&campaign).unwrap().rounds[0].aside, BTreeMap::from([(Flaw::Contradiction, 1)]));
    assert!(Campaign::read(campaign.path()).unwrap().verify().unwrap().good);
}

/// Of an open round whose only answer is a 1, the mean is not 1: the others are silent so far, for both.
#[test]
fn status_and_report_say_the_same_of_an_open_round() {
    let (folder, mut campaign) = begun("so-far");
    let both = |campaign: &Campaign| {
        let told = report(campaign).unwrap();
        let page = html(&told);
        (status(campaign).unwrap().rounds[0].mean_reward.unwrap(), told.rounds[0].mean_reward.unwrap(), told, page)
    };
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\nr1-2,lots\n").unwrap();
    let (a, b, told, page) = both(&campaign);
    assert_eq!(a.to_bits(), b.to_bits());
    assert!((a - 1.0 / 17.0).abs() < 1e-12, "{a}");
    assert!(page.contains("0.0588 so far") && page.contains("Round 1 is open: 16 of 17 sends"), "{:?}", told.summary);
    assert!(told.promotions.iter().all(|line| line.tally.mean.is_none()), "open rounds have no part in means");
    assert_eq!(told.promotions.iter().map(|line| line.tally.sends).sum::<u64>(), 17);
    assert!(told.summary.iter().any(|line| line.starts_with("1 answer was put aside")), "{:?}", told.summary);
    close(&mut campaign, 1, None).unwrap();
    let (a, b, told, page) = both(&campaign);
    assert_eq!(a.to_bits(), b.to_bits());
    // Without the one whose answer was put aside.
    assert!((a - 1.0 / 16.0).abs() < 1e-12 && !page.contains("so far"), "{a}");
    assert!(told.promotions[0].tally.mean.is_some());
    // Hashes come last, and the first thing after the name is the summary.
    let (summary, hash) = (page.find("class=\"summary\"").unwrap(), page.rfind(&told.model.to_string()).unwrap());
    assert!(summary < page.find("<h2>").unwrap() && hash > page.rfind("<h2>").unwrap());
}

#[test]
fn the_same_bad_table_again_leaves_no_entry_and_a_key_gets_the_same_answer() {
    let (folder, mut campaign) = begun("again");
    let bad = "decision,reward\nr1-2,lots\n";
    learn_text(&mut campaign, &folder, Feedback::Rewards, bad).unwrap();
    let head = campaign.head();
    assert_eq!(head.seq, 3, "an entry, though no reward was learned");
    let (learned, _) = learn_text(&mut campaign, &folder, Feedback::Rewards, bad).unwrap();
    assert_eq!((campaign.head(), learned.pending), (head, 1));
    let keyed = |campaign: &mut Campaign| {
        learn_asked(campaign, &folder, Feedback::Rewards, bad, None, Some("monday")).unwrap().0
    };
    let first = keyed(&mut campaign);
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-2,1\n").unwrap();
    close(&mut campaign, 1, Some(&Key::new("end").unwrap())).unwrap();
    assert_eq!(keyed(&mut campaign), first);
    let again = close(&mut campaign, 1, Some(&Key::new("end").unwrap())).unwrap();
    assert_eq!((again.silent, again.aside.len()), (16, 0));
}

#[test]
fn what_is_known_already_or_closed_or_revoked_is_not_put_aside() {
    let (folder, mut campaign) = begun("not-aside");
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-1,1\n").unwrap();
    let pending = |campaign: &mut Campaign, feedback, text: &str| {
        learn_text(campaign, &folder, feedback, text).unwrap().0.pending
    };
    assert_eq!(pending(&mut campaign, Feedback::Rewards, "decision,reward\nr1-1,x\n"), 0, "it has its reward");
    assert_eq!(pending(&mut campaign, Feedback::Corrections, "decision,reward\nr1-2,x\n"), 0, "nothing to correct");
    // A good row of the same table settles it.
    assert_eq!(pending(&mut campaign, Feedback::Rewards, "decision,reward\nr1-3,x\nr1-3,1\n"), 0);
    close(&mut campaign, 1, None).unwrap();
    assert_eq!(pending(&mut campaign, Feedback::Rewards, "decision,reward\nr1-2,x\n"), 0, "silence was counted");
    assert!(status(&campaign).unwrap().rounds[0].aside.is_empty());
    let (folder, mut campaign) = begun("revoked");
    learn_text(&mut campaign, &folder, Feedback::Rewards, "decision,reward\nr1-2,x\n").unwrap();
    revoke(&mut campaign, 1, None).unwrap();
    assert!(status(&campaign).unwrap().rounds[0].aside.is_empty());
    assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap());
}

#[test]
fn a_checkpoint_keeps_what_was_put_aside() {
    let (folder, mut campaign) = begun("checkpoint");
    learn_text(&mut campaign, &folder, Feedback::Rewards, BAD).unwrap();
    let table = folder.path("customers.csv");
    for round in 2..70 {
        choose_round(&mut campaign, &table).unwrap();
        let text = format!("decision,reward\nr{round}-1,1\nr{round}-2,x\n");
        learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    }
    let read = Campaign::read(campaign.path()).unwrap();
    assert_eq!(status(&read).unwrap(), status(&campaign).unwrap());
    assert_eq!(status(&read).unwrap().rounds[0].aside.values().sum::<u64>(), 4);
    assert!(read.verify().unwrap().good, "{:?}", read.verify().unwrap());
}
