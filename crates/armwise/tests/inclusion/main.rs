//! The probability that an arm is chosen, against enumeration, integration by another method, and counting.
#![allow(missing_docs, clippy::unwrap_used, clippy::float_cmp, reason = "test code")]

mod common;
mod competing;
mod counting;
mod small;
mod top_k;
