//! The oracles against brute force: exact sums, ties, reasons, parts, and no panic.
//!
//! The decision to know: scores and costs are small multiples of 1/8 in most instances, so sums are exact, ties are
//! frequent, and the brute force can compare with `==` what the oracle claims to be optimal.

mod budget;
mod common;
mod explicit;
mod linear;
mod never_panics;
mod quotas;
mod top_k;
