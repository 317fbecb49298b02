//! A learner as text: JSON that a person can read, with the exact value of every number.
//!
//! The checksum is over the content, not over the bytes of the file, so a file may be
//! re-indented but not altered. JSON numbers are written with the shortest digits that read back to the same f64.
//!
//! Nothing is allocated by a number in the file: a file of 500 bytes may say that it has 2^63 features. Then the checksum is
//! compared, and then the sums, so that whatever loads can choose.
//!
//! # Format, version 5
//! ```text
//! { "format": "armwise-learner", "version": 5,
//!   "next": {"seed": 7, "t": 2},    the round to continue with, if the caller counts rounds; may be left out
//!   "about": "...",                a text that the maker wants to be known; may be left out, and then the version is 3
//!   "checksum": "<XXH64 of the compact JSON of {"next": .., "about": .., "learner": ..}, without those that there are not; 16 hexadecimal digits>",
//!   "learner": {
//!     "policy": {"name": "c2ucb", "lambda": 1.0, "alpha": 0.1},
//!     "ties": "by-id",
//!     "baseline": true,               the last block is what happens without a choice; left out where it is not
//!     "values": [2.0, 0.5],           what a unit of reward is worth in each block; left out where it is 1
//!     "shifts": [[d numbers], ...],   what is added to theta of each block; left out where it is nothing
//!     "model": {"dim": d, "gamma": 1.0, "t": newest round,
//!               "blocks": [{"count": n, "b": [d numbers], "g": [lower triangle row by row, d(d+1)/2 numbers],
//!                           "rr": sum of squared rewards; left out where it is not known}],
//!               "memory": {"unit": rounds forgotten together, "spans": {"first unit": [blocks], ...}}},
//!                                   where gamma is chosen by evidence; left out elsewhere, and then the version is 4 or 3
//!     "ledger": {"open_from": 0, "rounds": [{"round": {"seed": 7, "t": 1}, "rewards": [{"id": 3, "block": 0, "reward": 1.0, "features": <XXH64 of the f64 bits>}]}]} } }
//! ```
//! Version 1 had no `rr`. Its files can be read; their blocks have no such sum ([`Block::rr`](crate::Block::rr) is
//! none), even after they are saved again. A block without `rr` is written as version 1 wrote it, which is why the
//! checksums of old files still match. The checksum of versions 1 and 2 is that of `learner` alone, so a changed `next`
//! goes unnoticed in them.

use crate::{Error, Gamma, Learner, Model, Policy, Round, Ties, choose::ledger::Ledger};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{hash::Hasher, io};
use twox_hash::XxHash64;

const FORMAT: &str = "armwise-learner";
const VERSION: u64 = 5;
/// What is written where the forgetting factor is a number.
const NUMBER: u64 = 4;
/// What is written where there is no `about`, `baseline`, `values` and `shifts`, so that older programs can read it.
const PLAIN: u64 = 3;

#[derive(Deserialize)]
struct Head {
    format: String,
    version: u64,
}

#[derive(Serialize)]
struct FileOut<'a, P> {
    format: &'static str,
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Round>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a str>,
    checksum: String,
    learner: BodyOut<'a, P>,
}

#[derive(Serialize)]
struct BodyOut<'a, P> {
    policy: &'a P,
    ties: Ties,
    model: &'a Model,
    ledger: &'a Ledger,
    #[serde(skip_serializing_if = "is_false")]
    baseline: bool,
    #[serde(skip_serializing_if = "<[f64]>::is_empty")]
    values: &'a [f64],
    #[serde(skip_serializing_if = "<[Vec<f64>]>::is_empty")]
    shifts: &'a [Vec<f64>],
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What the checksum covers from version 3 on.
#[derive(Serialize)]
struct Covered<'a, P> {
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Round>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'a str>,
    learner: &'a BodyOut<'a, P>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileIn<P> {
    #[serde(rename = "format")]
    _format: String,
    #[serde(rename = "version")]
    _version: u64,
    #[serde(default)]
    next: Option<Round>,
    #[serde(default)]
    about: Option<String>,
    checksum: String,
    learner: BodyIn<P>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BodyIn<P> {
    policy: P,
    ties: Ties,
    model: Model,
    ledger: Ledger,
    #[serde(default)]
    baseline: bool,
    #[serde(default)]
    values: Vec<f64>,
    #[serde(default)]
    shifts: Vec<Vec<f64>>,
}

impl<P: Policy + Serialize> Learner<P> {
    /// The learner as JSON: policy, tie rule, model and the rewards booked so far.
    ///
    /// # Errors
    /// [`Error::BadFormat`] if the policy cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, Error> {
        self.to_json_with(None)
    }

    /// As [`to_json`](Self::to_json), with the round that the caller will continue with.
    ///
    /// # Errors
    /// As [`to_json`](Self::to_json).
    pub fn to_json_with(&self, next: Option<Round>) -> Result<String, Error> {
        let (policy, ties, model, ledger) = (&self.policy, self.ties, &self.model, &self.ledger);
        let (baseline, values, shifts) = (self.baseline, &self.values[..], &self.shifts[..]);
        let learner = BodyOut { policy, ties, model, ledger, baseline, values, shifts };
        let about = self.about.as_deref();
        let checksum = checksum(&Covered { next, about, learner: &learner })?;
        let plain = about.is_none() && !baseline && values.is_empty() && shifts.is_empty();
        let version = match (model.gamma(), plain) {
            (Gamma::Auto, _) => VERSION,
            (Gamma::Value(_), false) => NUMBER,
            (Gamma::Value(_), true) => PLAIN,
        };
        let file = FileOut { format: FORMAT, version, next, about, checksum, learner };
        serde_json::to_string(&file).map_err(bad)
    }
}

impl<P: Policy + Serialize + DeserializeOwned> Learner<P> {
    /// The learner that [`to_json`](Self::to_json) wrote: it chooses the same to the bit.
    ///
    /// # Errors
    /// [`Error::NewerFormat`], [`Error::Damaged`], [`Error::BadFormat`], [`Error::Parameter`], or
    /// [`Error::NotPositiveDefinite`] for sums that no observations have.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        Ok(Self::from_json_with(text)?.0)
    }

    /// As [`from_json`](Self::from_json), with the round to continue with, if the file has one.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json).
    pub fn from_json_with(text: &str) -> Result<(Self, Option<Round>), Error> {
        let head: Head = serde_json::from_str(text).map_err(bad)?;
        if head.format != FORMAT {
            return Err(Error::BadFormat(format!("its format is {:?}, not {FORMAT:?}", head.format)));
        }
        if head.version > VERSION {
            return Err(Error::NewerFormat { found: head.version, supported: VERSION });
        }
        if head.version == 0 {
            return Err(Error::BadFormat("format version 0 was never written".into()));
        }
        let file: FileIn<P> = serde_json::from_str(text).map_err(bad)?;
        let BodyIn { policy, ties, model, ledger, baseline, values, shifts } = file.learner;
        if head.version == 1 && model.blocks().iter().any(|block| block.rr().is_some()) {
            return Err(Error::BadFormat("format version 1 has no rr".into()));
        }
        let (own_values, own_shifts) = (&values[..], &shifts[..]);
        let learner = BodyOut {
            policy: &policy,
            ties,
            model: &model,
            ledger: &ledger,
            baseline,
            values: own_values,
            shifts: own_shifts,
        };
        let (next, about) = (file.next, file.about);
        let covered = Covered { next, about: about.as_deref(), learner: &learner };
        let found = if head.version < 3 { checksum(&learner)? } else { checksum(&covered)? };
        if found != file.checksum {
            return Err(Error::Damaged { expected: file.checksum, found });
        }
        let mut learner = Self::from_parts(policy, ties, model, ledger)?.with_about(about);
        if baseline {
            learner = learner.with_baseline()?;
        }
        if !values.is_empty() {
            learner = learner.with_values(values)?;
        }
        if !shifts.is_empty() {
            learner = learner.with_shifts(shifts)?;
        }
        learner.model.check_sums(learner.policy.ridge())?;
        Ok((learner, next))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "used as map_err(bad)")]
fn bad(error: serde_json::Error) -> Error {
    Error::BadFormat(error.to_string())
}

/// A writer that hashes what is written to it.
struct Hashing(XxHash64);

impl io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn checksum(body: &impl Serialize) -> Result<String, Error> {
    let mut hashing = Hashing(XxHash64::with_seed(0));
    serde_json::to_writer(&mut hashing, body).map_err(bad)?;
    Ok(format!("{:016x}", hashing.0.finish()))
}
