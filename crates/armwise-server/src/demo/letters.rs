//! The shop's letters: every few seconds a round of promotions with quotas for its customers, some of whom are in a
//! hold-out that is never written to.
//!
//! As in [`shop`](super::shop), everything is a pure function of the seed.

use armwise::{Round, Stream};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// How many customers there are.
const CUSTOMERS: u64 = 400;
const PERSON: Stream = Stream(111);
const ANSWER: Stream = Stream(112);

/// The customers who get letters.
#[derive(Debug, Clone)]
pub(super) struct Letters {
    seed: u64,
}

struct Customer {
    age: f64,
    spent: f64,
    north: bool,
}

impl Letters {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed }
    }

    fn customer(&self, number: u64) -> Customer {
        let of = |part: u32| Round::new(self.seed, 1).draws(part, PERSON).uniform(number);
        Customer { age: (18.0 + 60.0 * of(0)).round(), spent: (10.0 * 100f64.powf(of(1))).round(), north: of(2) < 0.4 }
    }

    fn id(number: u64) -> String {
        format!("C{number:03}")
    }

    /// All customers, as a decision's arms.
    pub(super) fn arms(&self) -> Vec<Value> {
        let row = |number| {
            let Customer { age, spent, north } = self.customer(number);
            let region = if north { "north" } else { "south" };
            json!({ "id": Self::id(number), "age": age, "spent": spent, "region": region })
        };
        (0..CUSTOMERS).map(row).collect()
    }

    /// The rules of the campaign.
    pub(super) fn rules(&self, window: &str) -> Value {
        json!({
            "seed": self.seed,
            "segment": "region",
            "algorithm": { "name": "arm-wise-ts", "v": 0.2 },
            "reward": { "min": 0.0, "max": 1.0, "window": window },
            "limits": { "hold_out": 0.2 },
            "uplift": { "silence": "default" },
            "promotion": [
                { "name": "coupon", "quota": { "max": 14 } },
                { "name": "catalogue", "quota": { "max": 8 } },
            ],
            "features": { "column": [
                { "name": "age", "kind": "numeric" },
                { "name": "spent", "kind": "log" },
                { "name": "region", "kind": "categorical" },
            ]},
            "rows": self.arms(),
        })
    }

    /// Who buys in a round, of all customers; `sent` says who got which promotion.
    pub(super) fn buyers(&self, round: u64, sent: &BTreeMap<&str, &str>) -> Vec<String> {
        let all = (0..CUSTOMERS).map(Self::id);
        all.filter(|id| self.buys(round, id, sent.get(id.as_str()).copied())).collect()
    }

    /// Whether a customer buys in a round, after a promotion or without one.
    fn buys(&self, round: u64, id: &str, promotion: Option<&str>) -> bool {
        let Some(number) = id.strip_prefix('C').and_then(|number| number.parse::<u64>().ok()) else { return false };
        let Customer { age, spent, north } = self.customer(number);
        let anyway = 0.08 + 0.02 * (spent / 100.0).ln();
        let uplift = match promotion {
            Some("coupon") => 0.10 + if age < 40.0 { 0.14 } else { 0.0 },
            Some(_) => 0.06 + if north { 0.12 } else { 0.0 },
            None => 0.0,
        };
        Round::new(self.seed, round + 1).draws(0, ANSWER).uniform(number) < (anyway + uplift).clamp(0.01, 0.9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_help_and_the_seed_decides() {
        let letters = Letters::new(5);
        let count = |promotion: Option<&str>| {
            let all = (0..50).flat_map(|round| (0..CUSTOMERS).map(move |number| (round, Letters::id(number))));
            all.filter(|(round, id)| letters.buys(*round, id, promotion)).count()
        };
        // 20,000 draws: ten standard errors of either count are at most 700.
        assert!(count(Some("coupon")) > count(None) + 1400);
        assert_eq!(letters.arms(), Letters::new(5).arms());
        assert_ne!(letters.arms(), Letters::new(6).arms());
        assert!(!letters.buys(1, "nobody", None));
    }
}
