//! Parameters that choose themselves, and rounds that disagree, in a campaign: what `status`, the summary and the
//! report say.
#![allow(missing_docs, clippy::unwrap_used, reason = "test code")]

mod common;

use armwise::{Gamma, Learner, Model, Observation};
use armwise_campaign::{
    Campaign, complete,
    config::{AUTOMATIC, Config, template},
    core::{Feedback, close, fold, status, why},
    report::{html, report},
};
use common::{Folder, begin, choose_round, customers, learn_text, noise, open};
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

/// Nine rounds that may still be answered: nothing is judged, and `status` says why; closing one is enough.
#[test]
fn status_says_why_drift_is_not_judged() {
    let folder = Folder::new("auto-waits");
    let table = folder.write("customers.csv", customers(400));
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    for round in 1..=9 {
        assert_eq!(status(&campaign).unwrap().drift_waits_for, None, "before round {round}");
        let round = choose_round(&mut campaign, &table).unwrap().round;
        let sent = campaign.sent(round).unwrap()[0].id;
        let text = format!("decision,reward\n{},1\n", campaign.tag().name(sent));
        learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap();
    }
    let told = status(&campaign).unwrap();
    assert_eq!((told.drift_waits_for, told.drift), (Some(9), None));
    close(&mut campaign, 1, None).unwrap();
    assert_eq!(status(&campaign).unwrap().drift_waits_for, None);
}

/// With gamma = "auto" a campaign forgets once the market has changed: `status`, the summary and the report name the
/// factor, a reopened one has the same model, and the journal alone gives it again.
#[test]
fn a_campaign_forgets_by_evidence() {
    for rounds_per_segment in [1, 2] {
        let folder = Folder::new("auto-gamma");
        let table = folder.write("customers.csv", customers(400));
        let rules = format!("gamma = \"auto\"\nrounds_per_segment = {rounds_per_segment}\n{RULES}");
        let mut campaign = begin(&folder, &table, &rules).unwrap();
        for round in 1..=10 {
            play(&mut campaign, &folder, &table, round > 6);
            fold(&mut campaign).unwrap();
            let gamma = status(&campaign).unwrap().auto.unwrap().gamma.unwrap();
            assert!(if round <= 6 { gamma >= 1.0 } else { round < 10 || gamma < 0.99 }, "round {round}: {gamma}");
        }
        let next = status(&campaign).unwrap().auto.unwrap();
        assert_eq!(choose_round(&mut campaign, &table).unwrap().auto, Some(next));
        assert!(html(&report(&campaign).unwrap()).contains("gamma = "));
        // Directly: a model of each segment's sends, in their order.
        let empty = || {
            let model = Model::new(campaign.recipe().dim(), 1).unwrap().with_gamma(Gamma::Auto).unwrap();
            model.with_unit(rounds_per_segment).unwrap()
        };
        let mut expected = empty();
        for segment in 0..10 / rounds_per_segment {
            let mut sums = empty();
            for round in segment * rounds_per_segment + 1..=(segment + 1) * rounds_per_segment {
                for sent in campaign.sent(round).unwrap() {
                    let age = sent.features[1];
                    let reward =
                        if round > 6 { 0.5 - age } else { 0.5 + age } + 0.1 * noise(round + 50, sent.id.number.into());
                    sums.observe(&Observation { t: round, block: 0, x: &sent.features, reward }).unwrap();
                }
            }
            expected.merge(&sums).unwrap();
        }
        let model = campaign.model().unwrap();
        assert_eq!(model, expected);
        assert_eq!(campaign.replay(u64::MAX).unwrap(), model);
        assert!(campaign.verify().unwrap().good, "{:?}", campaign.verify().unwrap().findings);
        let sent = &campaign.sent(11).unwrap()[0];
        let told = why(&campaign, &sent.customer, Some(11), None).unwrap();
        assert_eq!(told.promotions[0].score.to_bits(), sent.score.to_bits());
        // A learner that it saves goes on with the same spans.
        let saved = Learner::<armwise::Algorithm>::from_json(&campaign.saved_learner().unwrap()).unwrap();
        assert_eq!(saved.model().spans(), model.spans());
    }
}

/// Rules written for a table choose lambda and v by themselves, in the draft as in a campaign that begins at once.
#[test]
fn new_rules_are_automatic() {
    let folder = Folder::new("auto-draft");
    let table = folder.write("customers.csv", customers(100));
    let rules = |text: &str| Config::parse(text, Path::new("rules")).unwrap();
    let mut config = rules("customer = \"customer\"\n[[promotion]]\nname = \"mail\"\nquota = 5\n");
    let guess = complete(&mut config, &open(&table)).unwrap();
    let drafted = rules(&template(&config, &guess)).algorithm;
    let begun = rules(&format!(
        "customer = \"customer\"\nalgorithm = {AUTOMATIC}\n[[promotion]]\nname = \"mail\"\nquota = 5\n"
    ));
    assert_eq!(drafted, begun.algorithm);
    assert_eq!(
        serde_json::to_value(drafted).unwrap(),
        serde_json::json!({"name": "arm-wise-ts", "lambda": "auto", "v": "auto"})
    );
}
