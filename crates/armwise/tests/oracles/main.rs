//! The oracles against brute force: exact sums, ties, reasons, parts, and no panic.
//!
//! Scores and costs are small multiples of 1/8 in most instances, so sums are exact, ties are
//! frequent, and the brute force can compare with `==` what the oracle claims to be optimal.

#![expect(clippy::unwrap_used, reason = "a test may fail where it stands")]
#![expect(clippy::float_cmp, reason = "eighths add up exactly, and equality is the claim")]

mod budget;
mod budget_clusters;
mod common;
mod explicit;
mod linear;
mod never_panics;
mod quotas;
mod top_k;

/// Without the feature the constraint is still understood, and says what it needs.
#[cfg(not(feature = "linear"))]
#[test]
fn linear_without_its_feature_is_a_clear_error() {
    use armwise::{Constraint, Error, Oracle};
    let constraint: Constraint = toml::from_str("kind = \"linear\"\nrows = [{ every = 1.0, hi = 2.0 }]").unwrap();
    let instance = common::instance(&mut common::Rng(1), 3, 1);
    let error = instance.with(|scores| constraint.argmax(scores)).unwrap_err();
    assert_eq!(error, Error::FeatureMissing("linear"));
    assert!(error.to_string().contains("linear"));
}
