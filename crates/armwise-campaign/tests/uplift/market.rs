//! A made-up market, and campaigns played on it from the first round to the report.
//!
//! Everything a customer does without a send is known to the market, so the true uplift of a campaign's sends is too. A
//! customer has features, and a leaning of its own that no feature tells and that stays from round to round.

use armwise::{Round, Stream};
use armwise_campaign::{
    Campaign, Memory as Table, Source, complete,
    config::Config,
    core::{Feedback, Sent, Setup, close, fates, learn},
    recipe::fit,
    report::{UpliftLine, uplift_of},
    round::{ChooseOptions, choose},
    store::memory::Memory,
};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use std::{collections::HashMap, path::Path, sync::Arc};

/// A kind of campaign.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The rules after the name of the id column.
    pub(crate) rules: &'static str,
    pub(crate) customers: u64,
    pub(crate) rounds: u64,
    /// How far customers lean.
    pub(crate) leaning: f64,
    /// By how much a visit raises the chance of a purchase without a send.
    pub(crate) per_visit: f64,
    /// By how much a send raises the chance of a purchase, for a customer with these features.
    pub(crate) effect: fn(&Customer) -> f64,
}

/// A customer.
#[derive(Debug, Clone)]
pub(crate) struct Customer {
    pub(crate) age: f64,
    pub(crate) visits: f64,
    pub(crate) region: &'static str,
    /// The chance of a purchase in a round without a send.
    pub(crate) organic: f64,
}

/// What a campaign reported, and what was true.
pub(crate) struct Played {
    pub(crate) line: UpliftLine,
    /// The mean of the true effects of the sends that were compared.
    pub(crate) truth: f64,
}

/// A number in [0, 1) of a campaign, a round and a customer.
fn luck(seed: u64, round: u64, id: u64, stream: u64) -> f64 {
    Round::new(seed, round).draws(0, Stream(400 + stream as u32)).uniform(id)
}

pub(crate) fn market(case: &Case, seed: u64) -> (Vec<Customer>, Table) {
    let customers: Vec<Customer> = (0..case.customers)
        .map(|id| {
            let of = |stream| luck(seed, 0, id, stream);
            let (age, visits) = (18.0 + (62.0 * of(0)).floor(), (12.0 * of(1)).floor());
            let region = if of(2) < 1.0 / 3.0 {
                "north"
            } else if of(2) < 2.0 / 3.0 {
                "south"
            } else {
                "east"
            };
            let organic = 0.15
                + case.per_visit * visits
                + if region == "north" { 0.08 } else { 0.0 }
                + case.leaning * (of(3) - 0.5);
            Customer { age, visits, region, organic: organic.clamp(0.0, 1.0) }
        })
        .collect();
    let names = (0..case.customers).map(|id| format!("C{id:05}"));
    let number =
        |of: fn(&Customer) -> f64| -> ArrayRef { Arc::new(Float64Array::from_iter_values(customers.iter().map(of))) };
    let columns: [(&str, ArrayRef); 4] = [
        ("customer", Arc::new(StringArray::from_iter_values(names))),
        ("age", number(|customer| customer.age)),
        ("visits", number(|customer| customer.visits)),
        ("region", Arc::new(StringArray::from_iter_values(customers.iter().map(|customer| customer.region)))),
    ];
    let table = Table::new("customers", vec![RecordBatch::try_from_iter(columns).unwrap()]).unwrap();
    (customers, table)
}

/// The number of a customer.
pub(crate) fn id(sent: &Sent) -> u64 {
    sent.customer[1..].parse().unwrap()
}

/// Begins a campaign in memory.
pub(crate) fn begin(rules: &str, seed: u64, table: &dyn Source) -> Campaign {
    let mut config =
        Config::parse(&format!("customer = \"customer\"\nseed = {seed}\n{rules}"), Path::new("rules")).unwrap();
    complete(&mut config, table).unwrap();
    let recipe = fit(&config, table).unwrap();
    Campaign::begin(Box::new(Memory::default()), Setup::new(config, recipe)).unwrap()
}

/// Chooses a round, has all outcomes learned, those of the hold-out and zeros too, and closes the round.
pub(crate) fn week(campaign: &mut Campaign, table: &dyn Source, reward: impl Fn(&Sent) -> f64) {
    let choice = choose(campaign, table, ChooseOptions::default(), &|_| ()).unwrap();
    let round = choice.commit(campaign, None).unwrap().round;
    let sent = campaign.sent(round).unwrap();
    let columns: [(&str, ArrayRef); 2] = [
        ("decision", Arc::new(StringArray::from_iter_values(sent.iter().map(|sent| sent.id.to_string())))),
        ("reward", Arc::new(Float64Array::from_iter_values(sent.iter().map(reward)))),
    ];
    let outcomes = Table::new("outcomes", vec![RecordBatch::try_from_iter(columns).unwrap()]).unwrap();
    let (learned, _) = learn(campaign, &outcomes, Feedback::Rewards, None, None).unwrap();
    assert_eq!(learned.rejected, 0);
    close(campaign, round, None).unwrap();
}

/// Plays a campaign to its end; `first` stands before its rules.
pub(crate) fn play(case: &Case, first: &str, seed: u64) -> Played {
    let (customers, table) = market(case, seed);
    let mut campaign = begin(&format!("{first}{}", case.rules), seed, &table);
    for round in 1..=case.rounds {
        week(&mut campaign, &table, |sent| {
            let customer = &customers[id(sent) as usize];
            let lift = if sent.hold_out { 0.0 } else { (case.effect)(customer) };
            f64::from(luck(seed, round, id(sent), 9) < customer.organic + lift)
        });
    }
    let truth: HashMap<u64, f64> =
        (0..).zip(&customers).map(|(id, customer)| (id, (case.effect)(customer).min(1.0 - customer.organic))).collect();
    let rounds = campaign.rounds().keys().flat_map(|&round| fates(&campaign, round).unwrap());
    let effects: Vec<f64> = rounds.filter(|(sent, _)| !sent.hold_out).map(|(sent, _)| truth[&id(&sent)]).collect();
    let line = uplift_of(&campaign).unwrap().pop().unwrap();
    Played { line, truth: effects.iter().sum::<f64>() / effects.len() as f64 }
}
