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

/// Arms that share a draw can only be counted; that is done where the rules insist.
#[test]
fn always_means_counted_where_nothing_else_serves() {
    for (probabilities, expected) in [("cheap", None), ("always", Some(Method::Counted))] {
        let folder = Folder::new("probabilities");
        let table = folder.write("customers.csv", customers(60));
        let algorithm = "[algorithm]\nname = \"round-wise-ts\"\n[[promotion]]\nname = \"mail\"\nquota = 6\n";
        let mut campaign =
            begin(&folder, &table, &format!("probabilities = \"{probabilities}\"\n{algorithm}")).unwrap();
        assert_eq!(choose_round(&mut campaign, &table).unwrap().probabilities, expected);
        let sent = campaign.sent(1).unwrap();
        assert!(sent.iter().all(|sent| sent.probability.is_none_or(|pi| pi > 0.0)));
        assert_eq!(sent.iter().any(|sent| sent.probability.is_some()), expected.is_some());
    }
}

/// Two of three promotions a customer would take a solution for every send, so it is not cheap; one or all are.
#[test]
fn what_takes_a_solution_for_each_send_is_not_cheap() {
    let three = ["mail", "call", "card"].map(|name| format!("[[promotion]]\nname = \"{name}\"\nquota = 4\n")).concat();
    for (most, expected) in [(1, Some(Method::CriticalValue)), (2, None), (3, Some(Method::Exact))] {
        let folder = Folder::new("probabilities");
        let table = folder.write("customers.csv", customers(60));
        let rules = format!("[limits]\nper_customer = {most}\n{three}[algorithm]\nname = \"arm-wise-ts\"\nv = 1.0\n");
        let mut campaign = begin(&folder, &table, &rules).unwrap();
        assert_eq!(choose_round(&mut campaign, &table).unwrap().probabilities, expected, "{most}");
    }
}
