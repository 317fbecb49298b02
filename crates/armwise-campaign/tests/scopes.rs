//! Who shares a draw in a campaign: sends of one segment, and what `why` says of it later.
#![allow(missing_docs, clippy::unwrap_used, reason = "test code")]

mod common;

use armwise_campaign::{Error, core::why};
use common::{Folder, TWO, begin, choose_round, customers, open};
use std::collections::BTreeMap;

#[test]
fn customers_of_a_segment_share_their_draw_and_why_replays_it() {
    let folder = Folder::new("scopes");
    let table = folder.write("customers.csv", customers(300));
    let rules =
        "segment = \"region\"\nalgorithm = { name = \"arm-wise-ts\", v = 0.3, scope = { group = \"region\" } }\n";
    let mut campaign = begin(&folder, &table, &format!("{rules}{TWO}")).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let sent = campaign.sent(1).unwrap();
    let mut draws: BTreeMap<String, f64> = BTreeMap::new();
    for send in &sent {
        let (region, draw) = (send.segment.clone().unwrap(), send.draw.unwrap());
        assert!(
            draws.insert(region, draw).is_none_or(|before| before.to_bits() == draw.to_bits()),
            "one draw for a segment"
        );
        let told = why(&campaign, &send.customer, Some(1), None).unwrap();
        let own = told.promotions.iter().find(|own| own.promotion == send.promotion).unwrap();
        assert_eq!((own.draw, own.score.to_bits()), (Some(draw), send.score.to_bits()));
    }
    // A customer who was not chosen is looked up in the table, with its segment.
    let region_of = |line: &str| line.split(',').nth(3).map(str::to_owned);
    let text = customers(300);
    let other = text.lines().skip(1).find(|line| {
        let name = line.split(',').next().unwrap();
        sent.iter().all(|send| send.customer != name)
            && region_of(line).is_some_and(|region| draws.contains_key(&region))
    });
    let other = other.unwrap();
    let told = why(&campaign, other.split(',').next().unwrap(), Some(1), Some(&open(&table))).unwrap();
    assert!(told.promotions.iter().all(|own| own.draw == Some(draws[&region_of(other).unwrap()])));
}

#[test]
fn a_group_must_be_the_segment() {
    let folder = Folder::new("scopes");
    let table = folder.write("customers.csv", customers(30));
    let rules = "algorithm = { name = \"arm-wise-ts\", scope = { group = \"region\" } }\n";
    let error = begin(&folder, &table, &format!("{rules}{TWO}")).unwrap_err();
    assert!(matches!(&error, Error::Config { problem, .. } if problem.contains("set segment = \"region\"")), "{error}");
}
