//! A made-up shop: items with raw columns, visitors with columns of their own, and who clicks on what.
//!
//! Everything is a pure function of the seed and the number of the visit, so two demos with one seed see the same
//! visitors and, shown the same items, the same clicks. The truth that clicks follow stays here: the service sees
//! columns and clicks, nothing else.

use armwise::{Draws, Round, Stream};
use serde_json::{Value, json};

/// How many items the shop has.
pub(super) const ITEMS: u32 = 60;

/// What items are; a visitor is interested in one of them.
const CATEGORIES: [&str; 6] = ["books", "garden", "kitchen", "music", "sport", "toys"];
/// Two nouns for the names of each category's items.
const NOUNS: [[&str; 2]; 6] = [
    ["atlas", "novel"],
    ["rake", "fern"],
    ["kettle", "whisk"],
    ["banjo", "record"],
    ["kayak", "racket"],
    ["kite", "puzzle"],
];
const COLOURS: [&str; 5] = ["amber", "blue", "coral", "olive", "violet"];
const DEVICES: [&str; 3] = ["laptop", "phone", "tablet"];

/// The streams of the shop's draws; those of the library's policies are others.
const ITEM: Stream = Stream(101);
const VISITOR: Stream = Stream(102);
const CLICK: Stream = Stream(103);
const DELAY: Stream = Stream(104);

/// An item of the shop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) id: String,
    category: usize,
    price: f64,
    rating: f64,
    new: bool,
}

/// Who looks at a page of the shop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Visitor {
    interest: usize,
    device: usize,
    returning: bool,
}

/// The shop.
#[derive(Debug, Clone)]
pub(super) struct Shop {
    seed: u64,
    pub(super) items: Vec<Item>,
}

#[expect(clippy::cast_sign_loss, reason = "a uniform number is not negative")]
fn pick<T: Copy>(from: &[T], uniform: f64) -> (usize, T) {
    let place = ((uniform * from.len() as f64) as usize).min(from.len() - 1);
    (place, from[place])
}

impl Shop {
    /// The shop of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let draws = |part| Round::new(seed, 1).draws(part, ITEM);
        let item = |number: u32| {
            let of = |part: u32| draws(part).uniform(u64::from(number));
            let category = number as usize % CATEGORIES.len();
            let among = number as usize / CATEGORIES.len();
            let noun = NOUNS[category][among / COLOURS.len() % 2];
            Item {
                id: format!("{} {noun}", COLOURS[among % COLOURS.len()]),
                category,
                // From 3 to 150, as many below 21 as above.
                price: (100.0 * 3.0 * 50f64.powf(of(0))).round() / 100.0,
                rating: (10.0 * (2.5 + 2.5 * of(1).sqrt())).round() / 10.0,
                new: of(2) < 0.3,
            }
        };
        Self { seed, items: (0..ITEMS).map(item).collect() }
    }

    fn draws(&self, visit: u64, stream: Stream) -> Draws {
        Round::new(self.seed, visit + 1).draws(0, stream)
    }

    /// Who makes a visit.
    pub(super) fn visitor(&self, visit: u64) -> Visitor {
        let draws = self.draws(visit, VISITOR);
        Visitor {
            interest: pick(&CATEGORIES, draws.uniform(0)).0,
            device: pick(&DEVICES, draws.uniform(1)).0,
            returning: draws.uniform(2) < 0.4,
        }
    }

    /// The truth: the chance that a visitor clicks on an item that is shown.
    pub(super) fn chance(item: &Item, visitor: &Visitor) -> f64 {
        let mut chance = 0.07 - 0.02 * (item.price / 20.0).ln() + 0.03 * (item.rating - 4.0);
        if item.category == visitor.interest {
            chance += 0.16;
        }
        if item.new && visitor.returning {
            chance += 0.08;
        }
        if DEVICES[visitor.device] == "phone" {
            chance -= 0.02;
        }
        chance.clamp(0.005, 0.9)
    }

    /// After how many seconds a visitor clicks on an item that is shown; none if never.
    pub(super) fn click(&self, visit: u64, place: usize) -> Option<f64> {
        let item = self.items.get(place)?;
        let clicks = self.draws(visit, CLICK).uniform(place as u64) < Self::chance(item, &self.visitor(visit));
        clicks.then(|| -2.0 * (1.0 - self.draws(visit, DELAY).uniform(place as u64)).max(1e-9).ln())
    }

    /// The place of an item by its id.
    pub(super) fn place(&self, id: &str) -> Option<usize> {
        self.items.iter().position(|item| item.id == id)
    }

    /// The catalogue, as the API takes it.
    pub(super) fn catalogue(&self) -> Value {
        json!({ "arms": self.items.iter().map(Item::row).collect::<Vec<_>>() })
    }

    /// The rules of the campaign, as the API takes them: which columns become features, the context's crossed with the
    /// items', and rows to fit them on.
    pub(super) fn rules(&self, window: &str) -> Value {
        let column = |name: &str, kind: &str| json!({ "name": name, "kind": kind });
        let cross = |name: &str, with: &str| json!({ "name": name, "kind": "cross", "with": with });
        let rows = (0..600).map(|visit| {
            let item = &self.items[visit as usize % self.items.len()];
            let (mut row, context) = (item.row(), self.visitor(visit).context());
            if let (Some(row), Value::Object(context)) = (row.as_object_mut(), context) {
                row.extend(context);
            }
            row
        });
        json!({
            "seed": self.seed,
            "algorithm": { "name": "arm-wise-ts", "v": 0.15 },
            "reward": { "min": 0.0, "max": 1.0, "window": window },
            "features": { "column": [
                column("category", "categorical"),
                column("price", "log"),
                column("rating", "numeric"),
                column("new", "categorical"),
                column("interest", "categorical"),
                column("returning", "categorical"),
                cross("category", "interest"),
                cross("new", "returning"),
            ]},
            "rows": rows.collect::<Vec<_>>(),
        })
    }
}

impl Item {
    fn row(&self) -> Value {
        let Self { id, category, price, rating, new } = self;
        let new = if *new { "new" } else { "known" };
        json!({ "id": id, "category": CATEGORIES[*category], "price": price, "rating": rating, "new": new })
    }
}

impl Visitor {
    /// The columns of a decision's context.
    pub(super) fn context(&self) -> Value {
        json!({
            "interest": CATEGORIES[self.interest],
            "device": DEVICES[self.device],
            "returning": if self.returning { "returning" } else { "first visit" },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn one_seed_is_one_shop_and_another_seed_another() {
        let (one, same, other) = (Shop::new(7), Shop::new(7), Shop::new(8));
        assert_eq!(one.items, same.items);
        assert_ne!(one.items, other.items);
        assert_eq!(one.click(5, 3), same.click(5, 3));
        assert!((0..100).any(|visit| one.visitor(visit) != other.visitor(visit)));
        let ids: BTreeSet<&str> = one.items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids.len(), ITEMS as usize, "every item has a name of its own");
    }

    #[test]
    fn visitors_click_as_often_as_the_truth_says() {
        let shop = Shop::new(3);
        let (mut clicks, mut expected, mut variance) = (0.0, 0.0, 0.0);
        for visit in 0..2000 {
            let visitor = shop.visitor(visit);
            for (place, item) in shop.items.iter().enumerate() {
                let chance = Shop::chance(item, &visitor);
                expected += chance;
                variance += chance * (1.0 - chance);
                clicks += f64::from(u8::from(shop.click(visit, place).is_some()));
            }
        }
        assert!((clicks - expected).abs() < 5.0 * variance.sqrt(), "{clicks} clicks, {expected} expected");
    }
}
