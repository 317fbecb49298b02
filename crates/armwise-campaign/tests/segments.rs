//! Several rounds to a segment, as a service has them: the sums of a segment go on from round to round.
//!
//! The reference is one model that observes the segment's rewards in their order, written a second time here.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise::{Model, Observation};
use armwise_campaign::{
    Campaign,
    config::Config,
    core::{Feedback, Setup, close, fold, model_hash, revoke},
    recipe::fit,
    store::memory::Memory,
};
use common::{Folder, TWO, choose_round, customers, learn_text, open};
use std::{collections::BTreeMap, path::Path};

fn empty_of(campaign: &Campaign) -> Model {
    Model::new(campaign.recipe().dim(), 2).unwrap().with_gamma(0.9).unwrap()
}

#[test]
fn a_segment_is_summed_in_the_order_of_its_rounds_and_decisions() {
    let folder = Folder::new("segments");
    let table = folder.write("customers.csv", customers(60));
    let config = Config::parse(&format!("customer = \"customer\"\ngamma = 0.9\n{TWO}"), Path::new("rules")).unwrap();
    let recipe = fit(&config, &open(&table)).unwrap();
    let memory = Memory::default();
    let setup = Setup { rounds_per_segment: 3, ..Setup::new(config, recipe) };
    let mut campaign = Campaign::begin(Box::new(memory.clone()), setup).unwrap();
    let mut rewards: BTreeMap<(u64, u32), f64> = BTreeMap::new();
    for round in 1..=7 {
        choose_round(&mut campaign, &table).unwrap();
        for number in [9, 2, 14] {
            let reward = f64::from(number) / 7.0 + round as f64 / 3.0;
            // Late by one round, in no order.
            let of = u64::max(1, round - u64::from(number == 2));
            rewards.insert((of, number + round as u32 % 3), reward);
            let text = format!("decision,reward\nr{of}-{},{reward}\n", number + round as u32 % 3);
            assert_eq!(learn_text(&mut campaign, &folder, Feedback::Rewards, &text).unwrap().0.applied, 1);
        }
    }
    close(&mut campaign, 4, None).unwrap();
    revoke(&mut campaign, 5, None).unwrap();
    assert_eq!(campaign.model_hash(), model_hash(&empty_of(&campaign)), "nothing is learned before the fold");
    assert!(campaign.is_behind() && fold(&mut campaign).unwrap() && !campaign.is_behind());
    assert!(!fold(&mut campaign).unwrap(), "nothing is left to be learned");
    let dim = campaign.recipe().dim();
    assert_eq!(empty_of(&campaign).dim(), dim);
    let empty = || empty_of(&campaign);
    let mut model = empty();
    for segment in [[1, 2, 3].as_slice(), &[4, 5, 6], &[7]] {
        let mut sums = empty();
        for &round in segment.iter().filter(|&&round| round != 5) {
            for sent in campaign.sent(round).unwrap() {
                let silence = (round == 4).then_some(0.0);
                let Some(reward) = rewards.get(&(round, sent.id.number)).copied().or(silence) else { continue };
                let block = u32::from(sent.promotion == "call");
                sums.observe(&Observation { t: round, block, x: &sent.features, reward }).unwrap();
            }
        }
        model.merge(&sums).unwrap();
    }
    assert_eq!(campaign.model_hash(), model_hash(&model));
    let opened = Campaign::open(Box::new(memory)).unwrap();
    assert_eq!(opened.model().unwrap(), model);
    assert_eq!(opened.replay(u64::MAX).unwrap(), model);
    assert!(opened.verify().unwrap().good, "{:?}", opened.verify().unwrap().findings);
}
