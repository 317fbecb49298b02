//! A round: from a table of customers to sends.
//!
//! The decision to know: the table streams through [`armwise::Choosing`] part by part, so memory stays with the
//! candidates; one thread reads and makes features while the others score. Nothing is written before everything,
//! duplicates included, is known to be good.

mod budget;
mod constraint;
mod customers;
mod part;
mod prices;
mod sieve;
mod summary;

pub use summary::{ChosenSummary, PromotionSummary};

use crate::{
    Campaign, Error,
    config::Config,
    file::{DecisionId, Entry, EventKind, Sent, failpoint},
    look::sends,
    recipe::Oddities,
    table::{Pending, Table},
};
use armwise::{ChosenArm, Greedy, Infeasible, Learner, Policy, Round};
use customers::Customers;
use part::Parts;
pub(crate) use part::is_held_out;
use sieve::Sieve;
use std::{
    collections::{BTreeSet, HashSet},
    path::Path,
    sync::mpsc::sync_channel,
};

/// What a choice may be told.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChooseOptions {
    /// The round's number; the next one unless given.
    pub round: Option<u64>,
    /// The seed of this round; the campaign's unless given.
    pub seed: Option<u64>,
}

/// A round that was chosen but not written yet.
#[derive(Debug)]
pub struct Choice {
    /// The decisions, those of the hold-out last.
    pub sent: Vec<Sent>,
    /// What to tell about it.
    pub summary: ChosenSummary,
    round: Round,
}

/// How many rows were read so far.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// Chooses a round from a table; nothing is written.
///
/// # Errors
/// [`Error::Conflict`] for a round that exists, errors of the table, or the library's reason why nothing can be chosen.
pub fn choose(
    campaign: &Campaign,
    table: &Table,
    options: ChooseOptions,
    progress: Progress<'_>,
) -> Result<Choice, Error> {
    let round = next_round(campaign, options)?;
    let config = campaign.config();
    let model = campaign.model()?;
    let known = model.blocks().iter().any(|block| block.count() > 0);
    let learner = campaign.learner(model.clone())?;
    let greedy = Learner::with_model(Greedy { lambda: learner.policy().ridge() }, model)?.with_ties(config.ties);
    let oracle = constraint::oracle(config, None, config.limits.on_infeasible, round);
    let share = config.limits.hold_out;
    let shadow = constraint::oracle(config, Some(share / (1.0 - share)), armwise::OnInfeasible::Fill, round);

    let by_mean_oracle = constraint::oracle(config, None, config.limits.on_infeasible, round);
    let mut choosing = Sieve::new(&learner, round, &oracle);
    let mut by_mean = known.then(|| Sieve::light(&greedy, round, &by_mean_oracle));
    let mut control = (share > 0.0).then(|| Sieve::new(&learner, round, &shadow));
    let mut customers = Customers::default();
    let mut odd = Oddities::default();
    let parts = Parts::new(campaign.setup(), resting(campaign, round.t)?);
    std::thread::scope(|scope| -> Result<(), Error> {
        let (send, receive) = sync_channel(3);
        let batches = table.batches(Some(&parts.columns()))?;
        let parts = &parts;
        scope.spawn(move || {
            for rows in batches {
                let part = rows.and_then(|rows| parts.prepare(&rows));
                let failed = part.is_err();
                if send.send(part).is_err() || failed {
                    return;
                }
            }
        });
        for part in receive {
            let part = part?;
            customers.extend(&part);
            odd.add(&part.odd);
            progress(customers.len() as u64);
            let blame = |error| customers.blame(error, table);
            if let Some(main) = &part.main {
                let (chosen, by_mean) =
                    rayon::join(|| choosing.add(main), || by_mean.as_mut().map_or(Ok(()), |by_mean| by_mean.add(main)));
                chosen.and(by_mean).map_err(blame)?;
            }
            if let (Some(control), Some(held)) = (&mut control, &part.control) {
                control.add(held).map_err(blame)?;
            }
            parts.reuse(part);
        }
        Ok(())
    })?;
    if customers.len() == 0 {
        return Err(Error::table(table.name(), "the table has no rows"));
    }
    if !choosing.any() {
        let problem = "no customer may be chosen: all rest, are held out or are not eligible";
        return Err(Error::table(table.name(), problem));
    }
    let (decision, (unique, by_mean)) = rayon::join(
        || choosing.finish(),
        || (customers.finish(table, &config.customer), by_mean.map(Sieve::chosen).transpose()),
    );
    unique?;
    let (mut decision, by_mean) = (decision.map_err(|error| told(config, error))?, by_mean?);
    let control = control.filter(Sieve::any).map(Sieve::finish).transpose()?;
    let chosen = std::mem::take(&mut decision.arms);
    let held_out = control.map(|control| control.arms).unwrap_or_default();
    let sent = write_down(campaign, round, chosen, held_out, by_mean.as_deref(), &customers);
    let summary = summary::summarise(campaign, round, &decision, &sent, &customers, odd, known);
    Ok(Choice { sent, summary, round })
}

impl Choice {
    /// Appends the round to the campaign and writes the sends to `out`: they are complete on the disk before the
    /// commit, and get their name after it.
    ///
    /// # Errors
    /// [`Error::Storage`]; before the commit nothing has changed, after it `export` writes the sends again.
    ///
    /// # Panics
    /// Never: the thread that writes does not panic.
    pub fn commit(self, campaign: &mut Campaign, out: Option<&Path>) -> Result<ChosenSummary, Error> {
        let body = serde_json::json!({
            "seed": self.round.seed,
            "objective": self.summary.objective,
            "upper_bound": self.summary.upper_bound,
            "customers": self.summary.customers,
            "held_out": self.summary.held_out,
            "resting": self.summary.resting,
        });
        let (kind, round, body) = (EventKind::Choose, Some(self.round.t), body.to_string());
        let entry = Entry { kind, round, body, sent: &self.sent, outcomes: &[], touched: &BTreeSet::new() };
        std::thread::scope(|scope| {
            let writing = out.map(|out| scope.spawn(|| sends(&self.sent).write(out)));
            let mut pending = None;
            campaign.append(&entry, || {
                let written = writing.map(|writing| writing.join().expect("writing does not panic"));
                pending = written.transpose()?;
                Ok(())
            })?;
            failpoint("before-publish");
            pending.map_or(Ok(()), Pending::publish)
        })?;
        Ok(self.summary)
    }
}

/// Quotas that cannot be met, in the campaign's words.
fn told(config: &Config, error: armwise::Error) -> Error {
    let armwise::Error::Infeasible(reason) = &error else { return error.into() };
    // Among the candidates of a large table fewer are counted than there are.
    let (reason, counted) = match reason {
        Infeasible::AmongCandidates { of_kept, .. } => (&**of_kept, false),
        reason => (reason, true),
    };
    let Infeasible::TooFewRows { blocks, needed, places, .. } = reason else { return error.into() };
    let names: Vec<&str> = blocks.iter().map(|&block| config.promotion[block].name.as_str()).collect();
    let names = names.join(", ");
    let can = if counted { format!("only {places} can be made") } else { "fewer can be made".to_owned() };
    Error::Usage(format!(
        "the quotas cannot be met: {names} need {needed} sends, but with who is eligible and the limits {can}; lower the \
         quotas, write them as {{ max = ... }}, or set limits.on_infeasible = \"fill\""
    ))
}

fn next_round(campaign: &Campaign, options: ChooseOptions) -> Result<Round, Error> {
    let last = campaign.next_round() - 1;
    let t = options.round.unwrap_or(last + 1);
    if t == 0 || t >= 1 << 31 {
        return Err(Error::Usage(format!("round {t}: rounds count from 1 to 2^31 - 1")));
    }
    if t <= last {
        let what = if campaign.rounds().contains_key(&t) { "was chosen already" } else { "is before the last one" };
        return Err(Error::Conflict(format!(
            "round {t} {what} (the last is {last}); `armwise export` writes its sends again"
        )));
    }
    Ok(Round::new(options.seed.unwrap_or(campaign.config().seed), t))
}

/// The customers who rest in round `t`.
pub(crate) fn resting(campaign: &Campaign, t: u64) -> Result<HashSet<String>, Error> {
    let rest = campaign.config().limits.rest;
    let rounds = campaign.rounds();
    let recent = rounds.range(t.saturating_sub(rest)..t).map(|(&round, _)| round);
    let mut resting = HashSet::new();
    for round in recent.filter(|_| rest > 0) {
        resting.extend(campaign.sent(round)?.into_iter().filter(|sent| !sent.control).map(|sent| sent.customer));
    }
    Ok(resting)
}

/// The decisions as rows of the file; `by_mean` is who the estimate alone would have chosen.
fn write_down(
    campaign: &Campaign,
    round: Round,
    chosen: Vec<ChosenArm>,
    held_out: Vec<ChosenArm>,
    by_mean: Option<&[(u64, u32)]>,
    customers: &Customers,
) -> Vec<Sent> {
    let mut sent = Vec::with_capacity(chosen.len() + held_out.len());
    for (arms, control) in [(chosen, false), (held_out, true)] {
        let mut rank = vec![0; campaign.config().promotion.len()];
        for arm in arms {
            let customer = arm.name.unwrap_or_default();
            let block = arm.block as usize;
            rank[block] += 1;
            let greedy = by_mean.filter(|_| !control);
            sent.push(Sent {
                id: DecisionId { round: round.t, number: sent.len() as u32 + 1 },
                greedy: greedy.map(|greedy| greedy.binary_search(&(arm.id, arm.block)).is_ok()),
                segment: customers.segment(&customer),
                customer,
                promotion: campaign.config().promotion[block].name.clone(),
                control,
                mean: arm.mean,
                width: arm.width,
                draw: arm.draw,
                score: arm.score,
                rank: rank[block],
                features: arm.features,
            });
        }
    }
    sent
}
