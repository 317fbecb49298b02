//! Campaigns that begin with what others have learned: with the recipe of the learner, by the names of promotions, or not
//! at all.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise::{Algorithm, Learner};
use armwise_campaign::{
    Campaign, Error,
    config::Config,
    core::{Feedback, SavedLearner, close, why},
    init, init_from,
};
use common::{Folder, choose_round, learn_text, noise, open};
use std::{fmt::Write, path::Path};

const RULES: &str =
    "customer = \"customer\"\n[[promotion]]\nname = \"mail\"\nquota = 40\n[[promotion]]\nname = \"call\"\nquota = 20\n";
const FEATURES: &str = "[[features.column]]\nname = \"age\"\nkind = \"numeric\"\n[[features.column]]\nname = \"income\"\nkind = \"numeric\"\n";

fn config(text: &str) -> Config {
    Config::parse(text, Path::new("campaign.toml")).unwrap()
}

/// Customers whose incomes are this many times as large: another table of the same columns.
fn customers(times: f64, count: u64) -> String {
    (0..count).fold(String::from("customer,age,income\n"), |mut text, i| {
        let _ = writeln!(text, "c{i},{},{}", 20 + i % 50, 1000.0 * times * noise(1, i));
        text
    })
}

/// A campaign whose customers answer by age and income, after three rounds.
fn taught(folder: &Folder) -> Campaign {
    let table = folder.write("first.csv", customers(1.0, 300));
    let rules = config(&format!("{RULES}{FEATURES}"));
    let mut campaign = init(&folder.path("first.armwise"), &open(&table), rules).unwrap().0;
    for round in 1..=3 {
        choose_round(&mut campaign, &table).unwrap();
        let mut text = String::from("decision,reward\n");
        for sent in campaign.sent(round).unwrap() {
            let i: u64 = sent.customer[1..].parse().unwrap();
            let _ = writeln!(text, "{},{}", sent.id, 1.0 + (i % 50) as f64 / 50.0 + 2.0 * noise(1, i));
        }
        learn_text(&mut campaign, folder, Feedback::Rewards, &text).unwrap();
        close(&mut campaign, round, None).unwrap();
    }
    campaign
}

/// The sum of the estimates of the first promotion for some customers of a table.
fn expected(campaign: &Campaign, table: &Path) -> f64 {
    let table = open(table);
    let mean = |i: u64| {
        let told = why(campaign, &format!("c{i}"), Some(4), Some(&table)).unwrap();
        told.promotions.iter().find(|line| line.promotion == "mail").unwrap().mean
    };
    (280..300).map(mean).sum()
}

/// The recipe used to be fitted anew on the new table, and what was learned was read with other scales.
#[test]
fn what_was_learned_means_the_same_on_another_table() {
    let folder = Folder::new("learner-recipe");
    let mut first = taught(&folder);
    let text = first.saved_learner().unwrap();
    let learner = SavedLearner::read("first", &text).unwrap();
    let other = folder.write("other.csv", customers(3.0, 300));
    let second = folder.path("second.armwise");
    // The features may be left out of the rules or listed as they were.
    let mut second = init_from(&second, &open(&other), config(RULES), Some(&learner)).unwrap().0;
    assert_eq!((second.recipe(), second.config()), (first.recipe(), first.config()));
    // The next round of both, on the same table: the same estimates, to the bit.
    choose_round(&mut first, &other).unwrap();
    choose_round(&mut second, &other).unwrap();
    let (one, two) = (expected(&first, &other), expected(&second, &other));
    assert_eq!(one.to_bits(), two.to_bits());
    // What it was before: the same sums with a recipe that is fitted on the new table.
    let refitted = init(&folder.path("third.armwise"), &open(&other), config(&format!("{RULES}{FEATURES}"))).unwrap().0;
    let posterior = second.learner(&second.model().unwrap()).unwrap().posterior(0).unwrap();
    let path = folder.write("some.csv", customers(3.0, 300));
    let rows = armwise_campaign::Source::batches(&open(&path), None).unwrap().next().unwrap().unwrap();
    let (x, _) = refitted.recipe().apply(&rows).unwrap();
    let x: Vec<f64> = x.into_iter().map(f64::from).collect();
    let misread: f64 = x.chunks(refitted.recipe().dim()).skip(280).map(|x| posterior.mean(x)).sum();
    assert!((misread - one).abs() > 0.1 * one, "{misread} instead of {one}: the test shows nothing");
    assert!(
        second.verify().unwrap().good && second.rounds().contains_key(&4),
        "{:?}",
        second.verify().unwrap().findings
    );
}

#[test]
fn promotions_are_known_by_their_names() {
    let folder = Folder::new("learner-names");
    let first = taught(&folder);
    let learner = SavedLearner::read("first", &first.saved_learner().unwrap()).unwrap();
    let table = folder.path("first.csv");
    let rules = "customer = \"customer\"\n[[promotion]]\nname = \"gift\"\nquota = 5\n[[promotion]]\nname = \"mail\"\nquota = 5\n";
    let second = init_from(&folder.path("second.armwise"), &open(&table), config(rules), Some(&learner)).unwrap().0;
    let (model, known) = (second.model().unwrap(), first.model().unwrap());
    assert_eq!((model.blocks()[0].count(), &model.blocks()[1]), (0, &known.blocks()[0]));
}

#[test]
fn a_learner_that_does_not_fit_is_refused_with_the_reason() {
    let folder = Folder::new("learner-refused");
    let first = taught(&folder);
    let text = first.saved_learner().unwrap();
    let learner = SavedLearner::read("p.json", &text).unwrap();
    let table = folder.path("first.csv");
    let refused = |rules: &str, table: &Path| {
        let refused = init_from(&folder.path("second.armwise"), &open(table), config(rules), Some(&learner));
        let error = refused.unwrap_err();
        assert!(!folder.path("second.armwise").exists());
        error.to_string()
    };
    let said = refused(
        &format!("{RULES}{}", FEATURES.replace("income\"\nkind = \"numeric", "income\"\nkind = \"log")),
        &table,
    );
    assert!(said.contains("other features than the rules list"), "{said}");
    let said = refused(&RULES.replace("mail", "a").replace("call", "b"), &table);
    assert!(said.contains("knows the promotions mail, call, and none of them"), "{said}");
    let said = refused(&format!("gamma = 0.9\n{RULES}"), &table);
    assert!(said.contains("gamma"), "{said}");
    let narrow = folder.write("narrow.csv", "customer,age\na,1\nb,2\n");
    assert!(refused(RULES, &narrow).contains("income"));
    let bad = folder.write("bad.csv", "customer,age,income\na,1,2\nb,x,2\n");
    assert!(refused(RULES, &bad).contains("row 2, column \"age\""));
    // Without its recipe, or with that of another one, a learner is not believed.
    let plain = Learner::<Algorithm>::from_json(&text).unwrap().with_about(None).to_json().unwrap();
    let Err(Error::Config { problem, .. }) = SavedLearner::read("p.json", &plain) else { panic!("it was taken") };
    assert!(problem.contains("from which columns its features are made"), "{problem}");
    let about =
        Learner::<Algorithm>::from_json(&text).unwrap().about().unwrap().replace("\"bias\":true", "\"bias\":false");
    let other = Learner::<Algorithm>::from_json(&text).unwrap().with_about(Some(about)).to_json().unwrap();
    let said = SavedLearner::read("p.json", &other).unwrap_err().to_string();
    assert!(said.contains("3 features and 2 blocks, but says that it comes from 2 features"), "{said}");
    // The recipe is under the checksum, too.
    let changed = text.replacen("\\\"scale\\\":", "\\\"scale\\\":0", 1);
    assert_ne!(changed, text);
    assert!(SavedLearner::read("p.json", &changed).unwrap_err().to_string().contains("checksum"));
}
