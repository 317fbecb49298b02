//! A round: from a table of customers to sends.
//!
//! The table streams through a sieve part by part, so memory stays with the candidates; one
//! thread reads while the others make features and score. Nothing is written before everything, duplicates included,
//! is known to be good.

mod budget;
mod constraint;
mod customers;
mod part;
mod prepare;
mod prices;
mod sample;
mod sieve;
mod summary;

pub use summary::{ChosenSummary, PromotionSummary};

use crate::{
    Campaign, Error,
    config::Config,
    core::{Chosen as ChosenRound, Command, DecisionId, Draft, Head, Refusal, Sent, failpoint, sends},
    recipe::Oddities,
    table::{Pending, Table},
};
use armwise::{Algorithm, ChosenArm, Greedy, Infeasible, Learner, Policy, Round};
use customers::Customers;
use part::Part;
pub(crate) use prepare::is_held_out;
use prepare::{Parts, Prepared, Wanted};
use rayon::prelude::*;
use sieve::{Chosen, Sieve};
use std::{collections::HashSet, path::Path, sync::mpsc::sync_channel};

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
    /// What the campaign was when it was chosen.
    against: Head,
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
    let mut sieves = Sieves {
        main: Sieve::new(&learner, round, &oracle)?,
        by_mean: None,
        control: if share > 0.0 { Some(Sieve::new(&learner, round, &shadow)?) } else { None },
    };
    if known {
        sieves.by_mean = Some(Sieve::light(&greedy, round, &by_mean_oracle)?.beside(&sieves.main));
    }
    let parts = Parts::new(campaign.setup(), resting(campaign, config, round.t)?);
    sieves.guess(table, &parts)?;
    let (mut customers, odd) = sieves.sift(table, &parts, &config.customer, progress)?;
    if customers.len() == 0 {
        return Err(Error::table(table.name(), "the table has no rows"));
    }
    if !sieves.main.any() {
        let problem = "no customer may be chosen: all rest, are held out or are not eligible";
        return Err(Error::table(table.name(), problem));
    }
    let (settled, unique) = rayon::join(|| sieves.settle(), || customers.check(table, &config.customer));
    unique?;
    if !settled.map_err(|error| told(config, error))? {
        sieves.sift(table, &parts, &config.customer, progress)?;
        sieves.settle().map_err(|error| told(config, error))?;
    }
    let Sieves { main, by_mean, control } = sieves;
    let by_mean = by_mean.map(Sieve::chosen);
    let chosen = main.finish()?;
    let control = control.filter(Sieve::any).map(Sieve::finish).transpose()?;
    let selection = chosen.selection.clone();
    let sent = write_down(config, round, chosen, control, by_mean.as_deref());
    let summary = summary::summarise(campaign, round, &selection, &sent, &customers, odd, known);
    Ok(Choice { sent, summary, round, against: campaign.head() })
}

/// The choices that are made from one table.
struct Sieves<'a> {
    main: Sieve<'a, Algorithm>,
    /// What the estimate alone would choose, where there is one.
    by_mean: Option<Sieve<'a, Greedy>>,
    /// The hold-out's.
    control: Option<Sieve<'a, Algorithm>>,
}

/// Rows that one task makes ready.
const PIECE: usize = 1 << 13;

impl Sieves<'_> {
    /// Takes a guess at prices from a sample of a large table.
    fn guess(&mut self, table: &Table, parts: &Parts<'_>) -> Result<(), Error> {
        let Some((sample, share)) = sample::sample(table, parts)? else { return Ok(()) };
        let Self { main, by_mean, .. } = self;
        let by_mean = || by_mean.as_mut().map_or(Ok(()), |by_mean| by_mean.guess(&sample, share));
        let (main, by_mean) = rayon::join(|| main.guess(&sample, share), by_mean);
        Ok(main.and(by_mean)?)
    }

    /// Sifts the table.
    fn sift(
        &mut self,
        table: &Table,
        parts: &Parts<'_>,
        column: &str,
        progress: Progress<'_>,
    ) -> Result<(Customers, Oddities), Error> {
        let (mut customers, mut odd) = (Customers::default(), Oddities::default());
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(2);
            let batches = table.batches(Some(&parts.columns()))?;
            scope.spawn(move || {
                for rows in batches {
                    let failed = rows.is_err();
                    if send.send(rows).is_err() || failed {
                        return;
                    }
                }
            });
            for rows in receive {
                let rows = rows?;
                let pieces: Vec<_> = (0..rows.len()).step_by(PIECE).map(|first| rows.piece(first, PIECE)).collect();
                let wanted = self.wanted();
                let pieces: Vec<_> = pieces.par_iter().map(|rows| parts.prepare(rows, &wanted)).collect();
                drop(wanted);
                let pieces = pieces.into_iter().collect::<Result<Vec<_>, _>>()?;
                for piece in &pieces {
                    customers.extend(piece);
                    odd.add(&piece.odd);
                }
                progress(customers.len() as u64);
                if let Err(error) = self.add(&pieces) {
                    // A customer who stands twice is told with both rows.
                    customers.check(table, column)?;
                    return Err(error.into());
                }
                pieces.into_iter().for_each(|piece| parts.reuse(piece));
            }
            Ok((customers, odd))
        })
    }

    /// Whom to make features for; nobody in particular where a sieve wants all.
    fn wanted(&self) -> Vec<Wanted<'_>> {
        let main = (!self.main.is_settled()).then(|| self.main.wanted());
        let by_mean = self.by_mean.as_ref().filter(|by_mean| !by_mean.is_settled()).map(Sieve::wanted);
        [main, by_mean].into_iter().flatten().collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    fn add(&mut self, pieces: &[Prepared]) -> Result<(), armwise::Error> {
        let rows = pieces.iter().map(|piece| piece.considered).sum();
        let parts = || pieces.iter().filter_map(|piece| piece.main.as_ref());
        let Self { main, by_mean, control } = self;
        let by_mean = || by_mean.as_mut().map_or(Ok(()), |by_mean| by_mean.add(parts(), rows));
        let (main, by_mean) = rayon::join(|| main.add(parts(), rows), by_mean);
        main.and(by_mean)?;
        let Some(control) = control else { return Ok(()) };
        let held = || pieces.iter().filter_map(|piece| piece.control.as_ref());
        control.add(held(), held().map(Part::len).sum())
    }

    /// Asks the oracles; false if the table must be sifted once more.
    fn settle(&mut self) -> Result<bool, armwise::Error> {
        let Self { main, by_mean, control } = self;
        let by_mean = || by_mean.as_mut().map_or(Ok(true), Sieve::settle);
        let (main, by_mean) = rayon::join(|| main.settle(), by_mean);
        let control = control.as_mut().filter(|control| control.any()).map_or(Ok(true), Sieve::settle)?;
        Ok(main? & by_mean? & control)
    }
}

impl Choice {
    /// Appends the round to the campaign and writes the sends to `out`: they are complete on the disk before the
    /// commit, and get their name after it.
    ///
    /// # Errors
    /// [`Error::HeadMoved`] if something else was appended since it was chosen, [`Error::Storage`]; before the commit
    /// nothing has changed, after it the sends can be written again from the campaign.
    ///
    /// # Panics
    /// Never: the thread that writes does not panic.
    pub fn commit(self, campaign: &mut Campaign, out: Option<&Path>) -> Result<ChosenSummary, Error> {
        let finite = |number: f64| number.is_finite().then_some(number);
        let command = Command::Choose(ChosenRound {
            round: self.round.t,
            seed: self.round.seed,
            objective: finite(self.summary.objective),
            upper_bound: finite(self.summary.upper_bound),
            customers: self.summary.customers,
            held_out: self.summary.held_out,
            resting: self.summary.resting,
        });
        let draft = Draft { decisions: &self.sent, ..Draft::new(command) };
        std::thread::scope(|scope| {
            let writing = out.map(|out| scope.spawn(|| sends(&self.sent).write(out)));
            let mut pending = None;
            campaign.append(&self.against, &draft, || {
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
        return Err(Refusal::BadRound(t).into());
    }
    if t <= last {
        let exists = campaign.rounds().contains_key(&t);
        let refusal =
            if exists { Refusal::RoundExists { round: t, last } } else { Refusal::RoundBefore { round: t, last } };
        return Err(refusal.into());
    }
    Ok(Round::new(options.seed.unwrap_or(campaign.config().seed), t))
}

/// The customers who rest in round `t` by these rules; only the rounds that they speak of are read.
pub(crate) fn resting(campaign: &Campaign, config: &Config, t: u64) -> Result<HashSet<String>, Error> {
    let rest = config.limits.rest;
    let recent = campaign.rounds().range(t.saturating_sub(rest)..t).filter(|(_, info)| rest > 0 && !info.revoked());
    let mut resting = HashSet::new();
    for (&round, _) in recent {
        resting.extend(campaign.sent(round)?.into_iter().filter(|sent| !sent.control).map(|sent| sent.customer));
    }
    Ok(resting)
}

/// The decisions as rows of the file; `by_mean` is who the estimate alone would have chosen.
fn write_down(
    config: &Config,
    round: Round,
    chosen: Chosen,
    held_out: Option<Chosen>,
    by_mean: Option<&[(u64, u32)]>,
) -> Vec<Sent> {
    let mut sent = Vec::new();
    for (chosen, control) in [(Some(chosen), false), (held_out, true)] {
        let Some(Chosen { arms, segments, .. }) = chosen else { continue };
        let before = sent.len() as u32;
        // The arms of a block stand together, the best first.
        let mut first = vec![0; config.promotion.len()];
        (0..arms.len()).rev().for_each(|place| first[arms[place].block as usize] = place as u32);
        let write = |((place, arm), segment): ((u32, ChosenArm), Option<String>)| {
            let block = arm.block as usize;
            let greedy = by_mean.filter(|_| !control);
            Sent {
                id: DecisionId { round: round.t, number: before + place + 1 },
                greedy: greedy.map(|greedy| greedy.binary_search(&(arm.id, arm.block)).is_ok()),
                segment,
                customer: arm.name.unwrap_or_default(),
                promotion: config.promotion[block].name.clone(),
                control,
                // Zero without a sign, as a journal keeps it.
                mean: arm.mean + 0.0,
                width: arm.width + 0.0,
                draw: arm.draw.map(|draw| draw + 0.0),
                score: arm.score + 0.0,
                rank: place - first[block] + 1,
                features: arm.features,
            }
        };
        let places = 0..arms.len() as u32;
        sent.par_extend(places.into_par_iter().zip(arms).zip(segments).map(write));
    }
    sent
}
