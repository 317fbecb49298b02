//! How probable each decision was: found by default where it is cheap, kept, and the same from every table.

#![allow(clippy::unwrap_used, reason = "a test that unwraps says what it met")]

mod common;

use armwise::{Method, ThresholdLaw};
use armwise_campaign::{
    Campaign,
    core::{Command, sends, why},
    round::{ChooseOptions, choose},
};
use common::{Folder, TWO, begin, choose_round, csv, customers, open};

/// The law that the entry of the last choice keeps.
fn law(campaign: &Campaign) -> Option<Vec<ThresholdLaw>> {
    let commands = campaign.entries().unwrap().into_iter().map(|entry| entry.command().unwrap());
    let law = |command| if let Command::Choose(chosen) = command { Some(chosen.law) } else { None };
    commands.filter_map(law).next_back()?.map(|law| serde_json::from_value(law).unwrap())
}

#[test]
fn decisions_keep_how_probable_they_were() {
    let folder = Folder::new("probabilities");
    let table = folder.write("customers.csv", customers(400));
    let mut campaign = begin(&folder, &table, "[[promotion]]\nname = \"mail\"\nquota = 12\n").unwrap();
    let summary = choose_round(&mut campaign, &table).unwrap();
    assert_eq!(summary.probabilities, Some(Method::Exact));
    let sent = campaign.sent(1).unwrap();
    assert!(sent.iter().all(|sent| sent.probability.is_some_and(|pi| pi > 0.0 && pi <= 1.0)));
    let text = csv(&sends(campaign.tag(), &sent));
    assert!(
        text.starts_with("customer,promotion,decision,estimated_reward,width,draw,score,rank,probability\n"),
        "{text}"
    );
    let told = why(&campaign, &sent[0].customer, None, None).unwrap();
    assert_eq!(told.promotions[0].probability, sent[0].probability);
    assert!(campaign.verify().unwrap().good);
}

#[test]
fn the_rules_say_whether() {
    let folder = Folder::new("probabilities");
    let table = folder.write("customers.csv", customers(400));
    let never = begin(&folder, &table, &format!("probabilities = \"never\"\n{TWO}")).unwrap();
    let choice = choose(&never, &open(&table), ChooseOptions::default(), &|_| ()).unwrap();
    assert!(choice.summary.probabilities.is_none() && choice.sent.iter().all(|sent| sent.probability.is_none()));
    assert!(!csv(&sends(never.tag(), &choice.sent)).contains("probability"));
    let folder = Folder::new("probabilities");
    let table = folder.write("customers.csv", customers(400));
    let mut two = begin(&folder, &table, TWO).unwrap();
    assert_eq!(choose_round(&mut two, &table).unwrap().probabilities, Some(Method::CriticalValue));
    let folder = Folder::new("probabilities");
    let table = folder.write("customers.csv", customers(400));
    let mut usual = begin(&folder, &table, "[[promotion]]\nname = \"mail\"\nquota = 12\n").unwrap();
    choose_round(&mut usual, &table).unwrap();
    let laws = law(&usual).expect("the law is kept");
    let length = serde_json::to_string(&laws).unwrap().len();
    assert!(length < 16_000, "{length} bytes");
    for sent in usual.sent(1).unwrap() {
        let pi = laws[0].probability(0, sent.mean, sent.width).unwrap();
        assert!((pi - sent.probability.unwrap()).abs() < ThresholdLaw::KEPT, "{pi}, not {:?}", sent.probability);
    }
}
