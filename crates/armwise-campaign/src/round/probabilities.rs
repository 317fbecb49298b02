//! How probable each decision of a round was, for those who evaluate other rules from the log later.
//!
//! It takes one more look at the table: a choice makes features only for customers that may be chosen, while a probability
//! depends on everybody. So by default it is found where that is cheap. Where it can only be counted, because arms share a draw
//! or each would take too long, it is counted if the rules say always.

use super::{choices::PIECE, part::Part, prepare::Parts};
use crate::{
    Error,
    config::{Config, Probabilities},
    input::Source,
};
use armwise::{Constraint, Decision, Including, Inclusion, Learner, Round};
use rayon::prelude::*;
use std::time::{Duration, Instant};

/// Up to so many pairs of a customer and a promotion it is cheap.
const CHEAP: u64 = 1 << 18;

/// What was found, and how long it took.
#[derive(Debug, Clone)]
pub(super) struct Probable {
    pub(super) found: Inclusion,
    pub(super) took: Duration,
}

/// Writes the probability of each arm into the decision, if the rules want it and it can be had.
pub(super) fn add(
    (config, learner, round): (&Config, &Learner, Round),
    rules: &Constraint,
    (table, customers): (&dyn Source, u64),
    parts: &Parts<'_>,
    decision: &mut Decision,
) -> Result<Option<Probable>, Error> {
    let begun = Instant::now();
    let always = config.probabilities == Probabilities::Always;
    let mut including = learner.including(round, rules)?;
    let known = wanted(config, customers, rules, &including);
    if !known && !always {
        return Ok(None);
    }
    if !always {
        // That some minimum cannot be met, so that each arm would take solutions of its own, shows late.
        including = including.together();
    }
    if known && !including.is_certain() {
        for rows in table.batches(Some(&parts.columns()))? {
            let rows = rows?;
            let own: Vec<_> = (0..rows.len()).step_by(PIECE).map(|first| rows.piece(first, PIECE)).collect();
            let pieces: Vec<_> = own.par_iter().map(|rows| parts.prepare(rows, &[])).collect();
            for piece in pieces {
                if let Some(part) = piece?.main {
                    part.with_arms(|arms| including.add(arms))?;
                }
            }
        }
    }
    let mut found = if known { including.add_probabilities(decision, None)? } else { None };
    if found.is_none() && always {
        found = Some(count(learner, rules, table, parts, decision)?);
    }
    Ok(found.map(|found| Probable { found, took: begun.elapsed() }))
}

/// Counts how often fresh rounds choose the arms of the decision. An arm that none of them chose has no probability: it is
/// rare, and 0 is certainly wrong.
fn count(
    learner: &Learner,
    rules: &Constraint,
    table: &dyn Source,
    parts: &Parts<'_>,
    decision: &mut Decision,
) -> Result<Inclusion, Error> {
    let mut all = Part::default();
    for rows in table.batches(Some(&parts.columns()))? {
        if let Some(main) = parts.prepare(&rows?, &[])?.main {
            all.extend(&main, &(0..main.len()).collect::<Vec<_>>());
        }
    }
    let found = all.with_arms(|arms| learner.add_probabilities(decision, arms, rules, None))?;
    for arm in &mut decision.arms {
        arm.probability = arm.probability.filter(|pi| *pi > 0.0);
    }
    Ok(found)
}

/// Whether the rules want them for so many rows, and they can be had without counting. A request of a service waits for its
/// answer: there, unless the rules say always, only what the library calls cheap is found.
pub(super) fn wanted(config: &Config, rows: u64, rules: &Constraint, including: &Including<'_>) -> bool {
    let few = rows.saturating_mul(config.promotion.len() as u64) <= CHEAP && config.rounds_per_segment == 1;
    let wanted = match config.probabilities {
        Probabilities::Never => false,
        Probabilities::Always => true,
        Probabilities::Cheap => few && (is_cheap(rules, config.promotion.len()) || including.is_certain()),
    };
    wanted && including.is_known()
}

/// Whether an arm needs no solution of its own: customers compete for the places of each promotion, or are in one at most.
fn is_cheap(rules: &Constraint, promotions: usize) -> bool {
    match rules {
        Constraint::TopK(_) => true,
        Constraint::Assignment(rules) => {
            let free = rules.groups.is_empty() && rules.budget.is_none();
            free && (rules.per_row == 1 || rules.per_row >= promotions)
        }
        Constraint::Quotas(rules) => rules.groups.is_empty(),
        _ => false,
    }
}
