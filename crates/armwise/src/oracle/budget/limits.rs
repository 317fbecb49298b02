//! Budgets as data: a number, or `"none"` where there is no limit.
//!
//! Infinity means no limit in Rust, but JSON has no infinity and TOML no null, so it is written as `"none"` in both.
//! `null` (in formats that have it) and TOML's `inf` are accepted too.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number, or \"none\"")]
enum Limit {
    Amount(f64),
    None(NoLimit),
    Null(()),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum NoLimit {
    None,
}

// The signatures are serde's.
#[expect(clippy::ref_option, reason = "serde hands over a reference to the field")]
pub(super) fn serialize<S: Serializer>(budgets: &Option<Vec<f64>>, serializer: S) -> Result<S::Ok, S::Error> {
    let limit =
        |&amount: &f64| if amount == f64::INFINITY { Limit::None(NoLimit::None) } else { Limit::Amount(amount) };
    budgets.as_ref().map(|budgets| budgets.iter().map(limit).collect::<Vec<_>>()).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<f64>>, D::Error> {
    let amount = |limit| if let Limit::Amount(amount) = limit { amount } else { f64::INFINITY };
    let limits = Option::<Vec<Limit>>::deserialize(deserializer)?;
    Ok(limits.map(|limits| limits.into_iter().map(amount).collect()))
}
