//! Parameters that choose themselves, and rounds that disagree, in a campaign: what `status`, the summary and the
//! report say.
#![allow(missing_docs, clippy::unwrap_used, reason = "test code")]

mod common;

use armwise_campaign::{
    Campaign,
    core::{Feedback, close, status, why},
    report::{html, report},
};
use common::{Folder, begin, choose_round, customers, learn_text, noise};
use std::{fmt::Write, path::Path};

const RULES: &str = "algorithm = { name = \"arm-wise-ts\", lambda = \"auto\", v = \"auto\", noise = \"estimated\" }\n\
                     [[promotion]]\nname = \"mail\"\nquota = 60\n";

/// Chooses a round and answers for every send: what the older pay, or after a change what the younger pay.
fn play(campaign: &mut Campaign, folder: &Folder, table: &Path, changed: bool) {
    let round = choose_round(campaign, table).unwrap().round;
    let mut text = String::from("decision,reward\n");
    for sent in campaign.sent(round).unwrap() {
        let age = sent.features[1];
        let reward = if changed { 0.5 - age } else { 0.5 + age } + 0.1 * noise(round + 50, sent.id.number.into());
        let _ = writeln!(text, "{},{reward}", campaign.tag().name(sent.id));
    }
    learn_text(campaign, folder, Feedback::Rewards, &text).unwrap();
    close(campaign, round, None).unwrap();
}

#[test]
fn a_campaign_says_what_it_chose_by_itself_and_replays_it() {
    let folder = Folder::new("auto");
    let table = folder.write("customers.csv", customers(400));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    let before = status(&campaign).unwrap().auto.unwrap();
    assert_eq!((before.lambda, before.sigma, before.freedom), (1.0, 1.0, None));
    play(&mut campaign, &folder, &table, false);
    let next = status(&campaign).unwrap().auto.unwrap();
    let summary = choose_round(&mut campaign, &table).unwrap();
    assert_eq!(summary.auto, Some(next), "status names the parameters of the next round");
    assert!(next.freedom == Some(61.0) && next.sigma < 1.0 && next.v == Some(0.25 * next.sigma));
    let page = html(&report(&campaign).unwrap());
    assert!(page.contains("as the rewards tell") && page.contains("lambda = "));
    for sent in campaign.sent(2).unwrap().iter().take(5) {
        let told = why(&campaign, &sent.customer, Some(2), None).unwrap();
        assert_eq!(told.promotions[0].score.to_bits(), sent.score.to_bits());
        assert_eq!(told.promotions[0].draw, sent.draw);
    }
}

#[test]
fn rounds_that_disagree_are_named() {
    let folder = Folder::new("auto");
    let table = folder.write("customers.csv", customers(400));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    for _ in 0..5 {
        play(&mut campaign, &folder, &table, false);
        assert_eq!(status(&campaign).unwrap().drift, None);
    }
    (0..2).for_each(|_| play(&mut campaign, &folder, &table, true));
    let drift = status(&campaign).unwrap().drift.unwrap();
    assert_eq!((drift.since, drift.until), (6, 7));
    assert!(drift.log_factor > 10.0 && drift.gamma < 1.0, "{drift:?}");
    assert!(report(&campaign).unwrap().summary.iter().any(|line| line.starts_with("Rounds 6 to 7 disagree")));
}
