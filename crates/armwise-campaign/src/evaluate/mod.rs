//! What other policies would have earned in the past rounds, from the campaign's own journal.
//!
//! Each past round is put together again: the rules, the recipe and the model from before it, and its table, from which
//! choosing once more must give the sends of the journal. So probabilities that were not logged can be derived. A policy
//! is asked what it would have done *with what was known then*: a value here is that of a round, not of a whole campaign
//! that another policy would have learned from.

mod html;
mod past;
mod tables;

pub use html::{disagree, html, notes, share};
pub use tables::Tables;

use crate::{
    Campaign, Error,
    core::Sha,
    report::{UpliftLine, uplift_of},
};
use armwise::{
    Algorithm,
    evaluate::{Confidence, Design, Estimator, Evaluation, Interval, Log, RoundEstimate},
};
use past::{Numbers, logged_rounds};
use serde::Serialize;

/// A round that has no part in the evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The round.
    pub round: u64,
    /// Why it was left out.
    pub why: &'static str,
}

/// A send whose probability was logged otherwise than it is derived.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Disagreement {
    /// The round.
    pub round: u64,
    /// The customer.
    pub customer: String,
    /// The probability in the journal, which is used.
    pub logged: f64,
    /// The one that follows from the round's rows and model.
    pub derived: f64,
}

/// A round that is evaluated from a sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sampled {
    /// The round.
    pub round: u64,
    /// One in so many of those who were not chosen is known.
    pub one_in: u64,
}

/// What a promotion or a segment adds to a round, by the doubly robust estimate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartLine {
    /// The promotion or the segment.
    pub name: String,
    /// What the logging policy earned with it per round.
    pub logged: f64,
    /// What the policy would have earned.
    pub value: Option<f64>,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// A policy's line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyLine {
    /// The policy with its parameters, in words.
    pub policy: String,
    /// The policy.
    pub algorithm: Algorithm,
    /// What the log says about it.
    pub evaluation: Evaluation,
    /// How its probabilities were found.
    pub method: String,
    /// Round by round.
    pub by_round: Vec<RoundEstimate>,
    /// By promotion.
    pub promotions: Vec<PartLine>,
    /// By segment; empty without segments.
    pub segments: Vec<PartLine>,
}

impl PolicyLine {
    /// The doubly robust value, by which policies are ranked.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.evaluation.by(Estimator::Dr).value
    }
}

/// Policies beside what was earned.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evaluated {
    /// The campaign's file.
    pub campaign: String,
    /// The hash of the journal's last entry.
    pub head: Sha,
    /// What values are in: `reward`, or `profit` where promotions have a value.
    pub unit: &'static str,
    /// The policy that chose, as the rules now have it.
    pub logging: String,
    /// The rounds that were evaluated.
    pub rounds: Vec<u64>,
    /// Those that were not.
    pub left_out: Vec<LeftOut>,
    /// How the probabilities of the logging policy were found.
    pub method: String,
    /// How many sends have the probability that the journal has of them; those of the others were derived.
    pub logged_probabilities: u64,
    /// Sends whose probability in the journal is not the one that follows from the round's rows.
    pub disagreements: Vec<Disagreement>,
    /// The rounds of which a sample of the candidates was kept, and one in how many.
    pub sampled: Vec<Sampled>,
    /// What the logging policy earned per round.
    pub logged: f64,
    /// The interval of what it earns in expectation.
    pub logged_interval: Option<Interval>,
    /// How often intervals hold.
    pub level: f64,
    /// The policies: those that the log tells the value of first, by falling value.
    pub policies: Vec<PolicyLine>,
    /// The sends compared with the hold-out, where there is one.
    pub hold_out: Vec<UpliftLine>,
}

/// Evaluates policies on the rounds of a campaign whose answers are in.
///
/// # Errors
/// [`Error::NothingToEvaluate`], [`Error::NeedsTables`], [`Error::OtherTable`], and the library's for a log that cannot
/// be used.
pub fn evaluate(
    campaign: &Campaign,
    policies: &[Algorithm],
    tables: &Tables<'_>,
    confidence: &Confidence,
) -> Result<Evaluated, Error> {
    let (rounds, left_out) = usable(campaign)?;
    let mut missing = Vec::new();
    for &round in rounds.iter().filter(|&&round| !tables.has(round)) {
        if campaign.candidates(round)?.is_none() {
            missing.push(round);
        }
    }
    if !missing.is_empty() {
        return Err(Error::NeedsTables { rounds: missing });
    }
    let mut numbers = Numbers::new(campaign);
    let found = logged_rounds(campaign, &rounds, policies, tables, &mut numbers)?;
    let mut lines = Vec::with_capacity(policies.len());
    for ((algorithm, rounds), method) in policies.iter().zip(found.rounds).zip(found.methods) {
        let log = Log::new(rounds, found.design)?;
        let evaluation = log.evaluate(confidence)?;
        let part = |name: &str, log: &Log| {
            let evaluation = log.evaluate(confidence)?;
            let estimate = evaluation.by(Estimator::Dr);
            let (value, interval) = (estimate.value.filter(|_| evaluation.identified), estimate.interval);
            Ok::<_, Error>(PartLine { name: name.to_owned(), logged: evaluation.logged, value, interval })
        };
        let promotions = numbers.promotions().map(|(block, name)| part(name, &log.of_block(block)));
        let segments = numbers.segments().map(|(segment, name)| part(name, &log.of_segment(segment)));
        lines.push(PolicyLine {
            policy: described(algorithm),
            algorithm: *algorithm,
            method,
            by_round: log.by_round(),
            promotions: promotions.collect::<Result<_, _>>()?,
            segments: segments.collect::<Result<_, _>>()?,
            evaluation,
        });
    }
    let rank = |line: &PolicyLine| (!line.evaluation.identified, -line.value().unwrap_or(f64::NEG_INFINITY));
    lines.sort_by(|a, b| {
        let (a, b) = (rank(a), rank(b));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    });
    let first = lines.first().map(|line| &line.evaluation);
    Ok(Evaluated {
        campaign: campaign.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        head: campaign.head().hash,
        unit: if campaign.config().is_profit() { "profit" } else { "reward" },
        logging: described(&campaign.config().algorithm),
        rounds,
        left_out,
        method: found.method,
        logged_probabilities: found.logged,
        disagreements: found.disagreements,
        sampled: found.sampled,
        logged: first.map_or(0.0, |evaluation| evaluation.logged),
        logged_interval: first.and_then(|evaluation| evaluation.logged_interval),
        level: confidence.level,
        policies: lines,
        hold_out: uplift_of(campaign)?,
    })
}

/// The rounds whose answers are in, and the others with the reason.
fn usable(campaign: &Campaign) -> Result<(Vec<u64>, Vec<LeftOut>), Error> {
    let (mut rounds, mut left_out) = (Vec::new(), Vec::new());
    for info in campaign.rounds().values() {
        let why = match () {
            () if info.revoked() => "it was revoked",
            () if !info.closed() && info.counts.pending > 0 => {
                "its window is open, and those who answer early are not like the others"
            }
            () if info.counts.aside > 0 => "some of its answers were put aside and wait to be mended",
            () => {
                rounds.push(info.round);
                continue;
            }
        };
        left_out.push(LeftOut { round: info.round, why });
    }
    if rounds.is_empty() {
        let why = match left_out.last() {
            None => "none was chosen yet".to_owned(),
            Some(last) => format!("of round {} {}", last.round, last.why),
        };
        return Err(Error::NothingToEvaluate { why });
    }
    Ok((rounds, left_out))
}

/// An algorithm with those of its parameters that are not the defaults.
#[must_use]
pub fn described(algorithm: &Algorithm) -> String {
    let table = |algorithm: &Algorithm| match serde_json::to_value(algorithm) {
        Ok(serde_json::Value::Object(table)) => table,
        _ => serde_json::Map::new(),
    };
    let (own, usual) = (table(algorithm), Algorithm::new(algorithm.name(), &[]).map(|usual| table(&usual)));
    let mut text = algorithm.name().to_owned();
    for parameter in algorithm.description().parameters {
        let value = own.get(parameter.name);
        let is_usual = usual.as_ref().is_ok_and(|usual| usual.get(parameter.name) == value);
        // What is tuned is said even where it is the default: it is what policies differ in.
        if let Some(value) = value.filter(|_| !is_usual || parameter.name != "lambda") {
            text = text + " " + parameter.name + "=" + value.to_string().trim_matches('"');
        }
    }
    text
}

/// The weaker of two designs.
fn weaker(a: Design, b: Design) -> Design {
    match (a, b) {
        (Design::Shared, _) | (_, Design::Shared) => Design::Shared,
        (Design::Independent, _) | (_, Design::Independent) => Design::Independent,
        _ => Design::FixedCounts,
    }
}
