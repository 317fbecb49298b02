//! Made-up markets: customers with columns, promotions whose effects are not quite linear in them, yes-or-no answers or
//! money. Everything follows from a seed.

#![expect(clippy::cast_sign_loss, reason = "numbers between 0 and 1 times a count are not negative")]

use armwise::{Algorithm, Arms, Assignment, Names, Round, Stream};
use armwise_campaign::{
    Campaign, Memory as Table, Source, complete,
    config::Config,
    core::{Feedback, Setup, close, learn, learn_logged},
    recipe::fit,
    round::{ChooseOptions, choose},
    store::memory::Memory,
};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use std::{fmt::Write, path::Path, sync::Arc};

/// A made-up market.
pub(crate) struct Market {
    seed: u64,
    columns: Vec<Vec<f64>>,
    region: Vec<&'static str>,
    promotions: usize,
    quota: usize,
    /// Money instead of yes or no.
    money: bool,
    /// What a promotion's answer depends on: the base, a weight per column, one per region, one for a product of columns.
    weights: Vec<Vec<f64>>,
    noise: f64,
    weeks: u64,
    pub(crate) table: Table,
}

fn luck(seed: u64, what: u64, id: u64) -> f64 {
    Round::new(seed, what).draws(0, Stream(500)).uniform(id)
}

fn normal(seed: u64, what: u64, id: u64) -> f64 {
    Round::new(seed, what).draws(0, Stream(501)).normal(id)
}

/// A whole number from `low` to `high`.
fn between(seed: u64, what: u64, low: usize, high: usize) -> usize {
    low + (luck(seed, what, 0) * (high - low + 1) as f64) as usize
}

const REGIONS: [&str; 3] = ["north", "south", "east"];

impl Market {
    pub(crate) fn new(seed: u64) -> Self {
        let (customers, width) = (between(seed, 1, 300, 1200) as u64, between(seed, 2, 2, 8) as u64);
        let (promotions, quota) = (between(seed, 3, 1, 3), between(seed, 4, 8, 50));
        let money = luck(seed, 5, 0) < 0.4;
        let columns: Vec<Vec<f64>> =
            (0..width).map(|column| (0..customers).map(|id| normal(seed, 100 + column, id)).collect()).collect();
        let region: Vec<&str> = (0..customers).map(|id| REGIONS[(luck(seed, 6, id) * 3.0) as usize]).collect();
        let strength = 0.3 + luck(seed, 7, 0);
        let weights = (0..promotions as u64)
            .map(|promotion| {
                (0..width + 4).map(|place| strength * normal(seed, 200 + promotion, place) / 2.0).collect()
            })
            .collect();
        let names = (0..customers).map(|id| format!("C{id:05}"));
        let mut table: Vec<(String, ArrayRef)> = vec![
            ("customer".to_owned(), Arc::new(StringArray::from_iter_values(names))),
            ("region".to_owned(), Arc::new(StringArray::from_iter_values(region.iter().copied()))),
        ];
        for (place, column) in columns.iter().enumerate() {
            table.push((format!("c{place}"), Arc::new(Float64Array::from_iter_values(column.iter().copied()))));
        }
        let batch = RecordBatch::try_from_iter(table).unwrap();
        Self {
            seed,
            columns,
            region,
            promotions,
            quota,
            money,
            weights,
            noise: 5.0 + 20.0 * luck(seed, 8, 0),
            weeks: between(seed, 9, 1, 4) as u64,
            table: Table::new("customers", vec![batch]).unwrap(),
        }
    }

    /// What a send brings on average.
    fn expected(&self, id: usize, promotion: usize) -> f64 {
        let weights = &self.weights[promotion];
        let width = self.columns.len();
        let mut sum: f64 = (0..width).map(|column| weights[column] * self.columns[column][id]).sum();
        sum += weights[width + REGIONS.iter().position(|region| *region == self.region[id]).unwrap()];
        sum += 0.3 * weights[width + 3] * self.columns[0][id] * self.columns[1][id];
        if self.money { 20.0 * (sum + 1.0).max(0.0) } else { 1.0 / (1.0 + (1.5 - sum).exp()) }
    }

    fn pays(&self, luck_seed: u64, t: u64, id: usize, promotion: usize) -> f64 {
        let (mean, number) = (self.expected(id, promotion), (id * self.promotions + promotion) as u64);
        if self.money {
            mean + self.noise * normal(luck_seed, t, number)
        } else {
            f64::from(u8::from(luck(luck_seed, t, number) < mean))
        }
    }

    /// A campaign on the market before its first week.
    pub(crate) fn begun(&self) -> Campaign {
        self.begun_with("")
    }

    /// The same with more rules.
    pub(crate) fn begun_with(&self, more: &str) -> Campaign {
        let mut rules = format!("customer = \"customer\"\nseed = {}\n{more}", self.seed + 1);
        for promotion in 0..self.promotions {
            let _ = write!(rules, "[[promotion]]\nname = \"p{promotion}\"\nquota = {}\n", self.quota);
        }
        let mut config = Config::parse(&rules, Path::new("rules")).unwrap();
        complete(&mut config, &self.table).unwrap();
        let recipe = fit(&config, &self.table).unwrap();
        Campaign::begin(Box::new(Memory::default()), Setup::new(config, recipe)).unwrap()
    }

    /// The campaign after its first weeks.
    pub(crate) fn campaign(&self) -> Campaign {
        self.played(self.begun())
    }

    /// Learns the answers to so many sends from before the campaign, the first promotion to the first customers.
    pub(crate) fn learn_past_sends(&self, campaign: &mut Campaign, count: usize) {
        let names = (0..count).map(|id| format!("C{id:05}"));
        let mut columns: Vec<(String, ArrayRef)> = vec![
            ("customer".to_owned(), Arc::new(StringArray::from_iter_values(names))),
            ("region".to_owned(), Arc::new(StringArray::from_iter_values(self.region[..count].iter().copied()))),
            ("promotion".to_owned(), Arc::new(StringArray::from_iter_values((0..count).map(|_| "p0")))),
            (
                "reward".to_owned(),
                Arc::new(Float64Array::from_iter_values((0..count).map(|id| self.pays(self.seed, 0, id, 0)))),
            ),
        ];
        for (place, column) in self.columns.iter().enumerate() {
            let values = Float64Array::from_iter_values(column[..count].iter().copied());
            columns.push((format!("c{place}"), Arc::new(values)));
        }
        let past = Table::new("past sends", vec![RecordBatch::try_from_iter(columns).unwrap()]).unwrap();
        learn_logged(campaign, &past, None).unwrap();
    }

    /// A campaign after its first weeks.
    pub(crate) fn played(&self, mut campaign: Campaign) -> Campaign {
        for t in 1..=self.weeks {
            let choice = choose(&campaign, &self.table, ChooseOptions::default(), &|_| ()).unwrap();
            choice.commit(&mut campaign, None).unwrap();
            let sent = campaign.sent(t).unwrap();
            let paid = sent.iter().map(|sent| {
                let (id, promotion) = (sent.customer[1..].parse().unwrap(), sent.promotion[1..].parse().unwrap());
                self.pays(self.seed, t, id, promotion)
            });
            let columns: [(&str, ArrayRef); 2] = [
                ("decision", Arc::new(StringArray::from_iter_values(sent.iter().map(|sent| sent.id.to_string())))),
                ("reward", Arc::new(Float64Array::from_iter_values(paid))),
            ];
            let answers = Table::new("answers", vec![RecordBatch::try_from_iter(columns).unwrap()]).unwrap();
            learn(&mut campaign, &answers, Feedback::Rewards, None, None).unwrap();
            close(&mut campaign, t, None).unwrap();
        }
        campaign
    }

    /// What each candidate truly earns per round in the rounds to come, on average over so many courses of luck.
    pub(crate) fn truth(&self, campaign: &Campaign, candidates: &[Algorithm], rounds: u64, courses: u64) -> Vec<f64> {
        let rows = self.table.batches(None).unwrap().next().unwrap().unwrap();
        let (features, dim) = (campaign.recipe().apply(&rows).unwrap().0, campaign.recipe().dim());
        let names = Names::new((0..self.region.len()).map(|id| format!("C{id:05}"))).unwrap();
        let arms = Arms::new(&features, dim).unwrap().with_names(&names).unwrap();
        let oracle = Assignment::new(vec![self.quota; self.promotions]);
        let model = campaign.model().unwrap();
        let one = |algorithm: &Algorithm| {
            let mut earned = 0.0;
            for course in 0..courses {
                let seed = 1_000_003 * self.seed + 77 + course;
                let rules = (campaign.config(), campaign.recipe());
                let mut learner = campaign.learner_by(*algorithm, &model, rules).unwrap();
                for t in campaign.next_round()..campaign.next_round() + rounds {
                    let decision = learner.choose(Round::new(seed, t), &arms, &oracle).unwrap();
                    let rewards = decision.rewards(|arm| {
                        let id = arm.name.as_ref().unwrap()[1..].parse().unwrap();
                        earned += self.expected(id, arm.block as usize);
                        self.pays(seed, t, id, arm.block as usize)
                    });
                    learner.learn(&decision, &rewards).unwrap();
                }
            }
            earned / (rounds * courses) as f64
        };
        candidates.iter().map(one).collect()
    }
}
