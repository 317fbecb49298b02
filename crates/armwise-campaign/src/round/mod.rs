//! A round: from a table of customers to sends.
//!
//! The table streams through the library's chooser part by part, so memory holds the candidates only; one thread reads
//! while the others make features and score. Nothing is written before everything is checked, duplicates included.

mod candidates;
mod choices;
mod constraint;
mod customers;
mod elsewhere;
mod files;
mod kept;
mod part;
mod past;
mod prepare;
mod probabilities;
mod reservoir;
mod sample;
mod slate;
mod summary;
mod warning;
mod words;

pub use elsewhere::{Counts, Elsewhere, Found, Plan};
pub use files::ChoiceFiles;
pub use slate::{Asked, Chooser, Slate};
pub use summary::{ChosenSummary, HoldOutRules, PromotionSummary, Unfilled, Worth};
pub use warning::Warning;

use crate::{
    Campaign, Error,
    config::{Config, Keep, Probabilities},
    core::{
        Candidates, ChooseRequest, Chosen as ChosenRound, Command, DecisionId, Draft, Head, Key, LAST_GIVEN_ROUND,
        LAST_ROUND, Original, Originals, Refusal, Sent, Sha, collect, failpoint,
    },
    input::{Memory, Source},
    recipe::Recipe,
    table::ColumnType,
};
use armwise::{Choosing, ChosenArm, Greedy, Policy, Round, ThresholdLaw};
use choices::{Arms, Choices, Chosen};
use customers::Customers;
use kept::KeptRows;
pub(crate) use past::{Offer, Past, rules};
use prepare::Parts;
pub(crate) use prepare::is_in_hold_out;
use probabilities::Probable;
use rayon::prelude::*;
use std::{collections::HashSet, time::Duration};
use words::told;

/// Options of a choice.
#[derive(Debug, Clone, Default)]
pub struct ChooseOptions {
    /// The round's number; the next one unless given.
    pub round: Option<u64>,
    /// The seed of this round; the campaign's unless given.
    pub seed: Option<u64>,
    /// The caller's own name for the request: the same one gives the same round again.
    pub key: Option<Key>,
    /// Choose even though the last round has no outcome at all.
    pub again: bool,
}

/// A round that was chosen but not written yet.
#[derive(Debug)]
pub struct Choice {
    /// The decisions, those of the hold-out last.
    pub sent: Vec<Sent>,
    /// The summary for the user.
    pub summary: ChosenSummary,
    round: Round,
    /// The head of the campaign's journal when it was chosen.
    against: Head,
    /// The columns of the decisions as the table has them.
    originals: Vec<Original>,
    /// Which columns these are; none if nothing is kept.
    kept: Option<Vec<String>>,
    /// The key with the digest of what was asked.
    request: Option<(Key, Sha)>,
    /// The entry of an earlier request with the same key.
    earlier: Option<u64>,
    /// What was found about the probabilities of its decisions.
    probable: Option<Probable>,
    /// The rows that it was chosen from, where they are kept.
    candidates: Option<(Candidates, Vec<u8>)>,
    /// Whether the law of the threshold is kept however long it is.
    keeps_long_law: bool,
}

/// Bytes from which on a law is long.
const LONG: usize = 1 << 15;

/// How many rows were read so far.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// The columns that are kept of the decisions, with their values: from the candidates, or from the table if there were too
/// many of these to be kept.
fn original_columns(
    config: &Config,
    (table, candidates): (&dyn Source, &[Memory]),
    kept: Option<Vec<String>>,
    sent: &[Sent],
    warnings: &mut Vec<Warning>,
) -> Result<(Option<Vec<String>>, Vec<Original>), Error> {
    let Some(columns) = kept else { return Ok((None, Vec::new())) };
    if config.keep != Keep::All && sent.len() * columns.len() > MOST_VALUES {
        warnings.push(Warning::ColumnsNotKept { sends: sent.len() as u64 });
        return Ok((None, Vec::new()));
    }
    let mut sources: Vec<&dyn Source> = candidates.iter().map(|own| own as &dyn Source).collect();
    if sources.is_empty() {
        sources.push(table);
    }
    let originals = collect(&sources, &config.customer, &columns, sent)?;
    Ok((Some(columns), originals))
}

/// Chooses a round from a table; nothing is written. With a key that the same request had before, it is that round, as
/// it was chosen then.
///
/// # Errors
/// [`Error::KeyUsed`] for a key that another request had, [`Error::Refused`] for a round that is not after the last one, errors of the table, or the library's reason why
/// nothing can be chosen.
pub fn choose(
    campaign: &Campaign,
    table: &dyn Source,
    options: ChooseOptions,
    progress: Progress<'_>,
) -> Result<Choice, Error> {
    let ChooseOptions { round, seed, key, again } = options;
    let request = key.map(|key| asked(table, round, seed).map(|asked| (key, asked))).transpose()?;
    if let Some(choice) = chosen_before(campaign, request.as_ref())? {
        return Ok(choice);
    }
    if !again && let Some(round) = unheard(campaign) {
        return Err(Refusal::NothingHeard(round).into());
    }
    let round = next_round(campaign, round, seed)?;
    let config = campaign.config();
    // Rules may leave open how much is asked for, where each request says it; a table says nothing.
    slate::rules(config, &Asked::Rules)?;
    let all = campaign.model()?;
    let known = campaign.of_rules(&all, config)?.blocks().iter().any(|block| block.count() > 0);
    let learner = campaign.learner(&all)?;
    let greedy = campaign.learner_by(Greedy::new(learner.policy().lambda()), &all, (config, campaign.recipe()))?;
    let (rules, scaled) = elsewhere::constraints(config);
    let (_, relaxed) = elsewhere::constraints(&constraint::without_minima(config));
    let mut choices = Choices {
        main: learner.choosing(round, &rules)?,
        by_mean: if known { Some(greedy.choosing(round, &rules)?.keys_only()) } else { None },
        hold_out: if config.limits.hold_out > 0.0 { Some(learner.choosing(round, &scaled)?) } else { None },
        hold_out_failed: false,
    };
    let resting = resting(campaign, config, round.t, true)?;
    let kept = kept_columns(config, campaign.recipe(), table)?;
    let far = match table.elsewhere() {
        None => None,
        Some(far) => {
            let by_mean = if known { Some(greedy.freeze(round)?) } else { None };
            let columns = kept.as_deref().unwrap_or_default();
            Some((far, Plan::new(campaign, learner.freeze(round)?, by_mean, &resting, &choices, columns)))
        }
    };
    let parts = Parts::new(campaign.setup(), resting);
    choices.guess(table, &parts)?;
    // Rows whose columns are kept if they are chosen; of rows on other machines, those that came as candidates.
    let (mut rows, mut candidates) = (KeptRows::new(kept::MOST), Vec::new());
    let mut read = |choices: &mut Choices<'_>| match &far {
        None => {
            let keep = (kept.is_some().then_some(&mut rows), kept.as_deref().unwrap_or_default());
            choices.read(table, &parts, keep, progress)
        }
        Some((far, plan)) => {
            let (customers, odd, own) = choices.read_elsewhere(*far, table.name(), plan, &parts)?;
            candidates.extend(own);
            Ok((customers, odd))
        }
    };
    let (mut customers, odd) = read(&mut choices)?;
    somebody(table, &customers, &choices)?;
    let (proven, unique) = rayon::join(|| choices.prove(), || customers.check(table, &config.customer));
    unique?;
    if !proven.map_err(|error| told(config, error))? {
        choices.read_again(&parts, config, |choices| read(choices).map(|_| ()))?;
    }
    let mut hold_out_rules = HoldOutRules::Scaled;
    if choices.hold_out_failed {
        // Other machines have sent only rows that matter by the rules themselves.
        let again = if far.is_none() { Some(learner.choosing(round, &relaxed)?) } else { None };
        let found = choices.hold_out_again(again, |choices| read(choices).map(|_| ()))?;
        hold_out_rules = if found { HoldOutRules::WithoutMinima } else { HoldOutRules::Nobody };
    }
    let Choices { main, by_mean, hold_out, .. } = choices;
    let by_mean = by_mean.map(|by_mean| by_mean.chosen());
    let segments = parts.segments();
    let mut chosen = Chosen::new(main, &segments)?;
    // Rows on other machines came as candidates only, while a probability depends on everybody.
    let mut add = || {
        probabilities::add((config, &learner, round), &rules, (table, customers.len()), &parts, &mut chosen.decision)
    };
    let probable = if far.is_none() { add()? } else { None };
    let hold_out = hold_out.filter(Choosing::has_rows).map(|hold_out| Chosen::new(hold_out, &segments)).transpose()?;
    let (decision, chosen) = chosen.split();
    let hold_out = hold_out.map(|hold_out| hold_out.split().1);
    numbered(chosen.0.len() + hold_out.as_ref().map_or(0, |hold_out| hold_out.0.len()))?;
    let sent = write_down(config, round, chosen, hold_out, by_mean.as_deref());
    let mut summary = summary::summarise(campaign, &decision, &sent, &customers, odd, known);
    summary.warnings = warning::warnings(campaign, &all)?;
    summary.hold_out_rules = hold_out_rules;
    summary.probabilities = probable.as_ref().map(|probable| probable.found.method);
    if far.is_none() {
        candidates.extend(rows.source(table.name())?);
    }
    let (kept, originals) = original_columns(config, (table, &candidates), kept, &sent, &mut summary.warnings)?;
    // Rows on other machines are not brought here.
    let all = (table, &parts.columns()[..], customers.len());
    let candidates = if far.is_none() { candidates::keep(config, round, all, &sent)? } else { None };
    let against = campaign.head();
    let keeps_long_law = config.probabilities == Probabilities::Always;
    Ok(Choice {
        sent,
        summary,
        round,
        against,
        originals,
        kept,
        request,
        earlier: None,
        probable,
        candidates,
        keeps_long_law,
    })
}

/// Of a round with more values than this, the columns that are features are not kept, since writing them down would take
/// longer than choosing.
const MOST_VALUES: usize = 1 << 20;

/// The columns of a table that are kept of every decision, by the rules; none if nothing is.
pub(crate) fn kept_columns(config: &Config, recipe: &Recipe, table: &dyn Source) -> Result<Option<Vec<String>>, Error> {
    kept_of(config, recipe, || table.columns())
}

/// As [`kept_columns`], of a table with these columns.
fn kept_of(
    config: &Config,
    recipe: &Recipe,
    columns: impl FnOnce() -> Result<Vec<(String, ColumnType)>, Error>,
) -> Result<Option<Vec<String>>, Error> {
    Ok(match config.keep {
        Keep::None => None,
        Keep::Used => Some(recipe.names().map(str::to_owned).collect()),
        Keep::All => {
            let columns = columns()?.into_iter();
            let kept = columns.filter(|(name, kind)| *kind != ColumnType::Other && *name != config.customer);
            Some(kept.map(|(name, _)| name).collect())
        }
    })
}

/// Refuses a table of which nobody may be chosen.
fn somebody(table: &dyn Source, customers: &Customers, choices: &Choices<'_>) -> Result<(), Error> {
    if customers.len() == 0 {
        return Err(Error::table(table.name(), "the table has no rows"));
    }
    if !choices.main.has_rows() {
        let problem = "no customer may be chosen: all rest, are in the hold-out or are not eligible";
        return Err(Error::table(table.name(), problem));
    }
    Ok(())
}

/// A digest of what is asked for: the options and the table.
fn asked(table: &dyn Source, round: Option<u64>, seed: Option<u64>) -> Result<Sha, Error> {
    Ok(Sha::of(format!("{round:?} {seed:?} {}", table.digest()?)))
}

/// The round that the same request chose before.
fn chosen_before(campaign: &Campaign, request: Option<&(Key, Sha)>) -> Result<Option<Choice>, Error> {
    let Some((key, digest)) = request else { return Ok(None) };
    let same = |command: &Command| match command {
        Command::Choose(chosen) => chosen.request.as_ref().is_some_and(|request| request.digest == *digest),
        _ => false,
    };
    let Some((entry, Command::Choose(chosen))) = campaign.earlier(Some(key), same)? else { return Ok(None) };
    let Some(summary) = chosen.request.and_then(|request| request.summary) else { return Ok(None) };
    Ok(Some(Choice {
        sent: campaign.sent(chosen.round)?,
        summary,
        round: Round::new(chosen.seed, chosen.round),
        against: campaign.head(),
        originals: Vec::new(),
        kept: None,
        request: request.cloned(),
        earlier: Some(entry.seq),
        probable: None,
        candidates: None,
        keeps_long_law: false,
    }))
}

/// Refuses more decisions than a round has numbers for.
fn numbered(count: usize) -> Result<(), Error> {
    if u32::try_from(count).is_ok() { Ok(()) } else { Err(Refusal::TooManyDecisions(count as u64).into()) }
}

impl Choice {
    /// How long it took to find the probabilities of its decisions; none where they were not looked for.
    #[must_use]
    pub fn probabilities_took(&self) -> Option<Duration> {
        self.probable.as_ref().map(|probable| probable.took)
    }

    /// The law of the threshold, as the journal keeps it: some kilobytes for each set of customers who compete. Where few
    /// narrow arms make it long, only if the rules insist.
    fn law(&self) -> Result<Option<serde_json::Value>, Error> {
        let laws = self.probable.as_ref().map(|probable| &probable.found.laws).filter(|laws| !laws.is_empty());
        let kept = laws.map(|laws| laws.iter().map(ThresholdLaw::kept).collect::<Vec<_>>());
        let value = kept.as_ref().map(serde_json::to_value).transpose();
        let value = value.map(|value| value.filter(|value| self.keeps_long_law || value.to_string().len() <= LONG));
        value.map_err(|error| Error::Usage(format!("the law of the threshold cannot be written: {error}")))
    }

    /// Whether the same request was answered before with this round, which is in the journal then.
    #[must_use]
    pub fn is_repeated(&self) -> bool {
        self.earlier.is_some()
    }

    /// Appends the round to the campaign and writes the sends and the hold-out to `out`: both are complete on the disk
    /// before the commit, and get their names after it. A round that is in the journal already is not appended again;
    /// its sends and its hold-out are written once more.
    ///
    /// # Errors
    /// [`Error::HeadMoved`] if something else was appended since it was chosen, [`Error::Storage`]; nothing has changed
    /// then. [`Error::NotWrittenOut`] after the commit: the sends can be written again from the campaign.
    ///
    /// # Panics
    /// Never: the thread that writes does not panic.
    pub fn commit(self, campaign: &mut Campaign, out: Option<ChoiceFiles>) -> Result<ChosenSummary, Error> {
        if self.earlier.is_some() {
            if let Some(out) = out {
                out.fill(campaign.tag(), &self.sent)?;
                out.publish()?;
            }
            return Ok(self.summary);
        }
        let finite = |number: f64| number.is_finite().then_some(number);
        let answered =
            |(_, digest): &(Key, Sha)| ChooseRequest { digest: *digest, summary: Some(self.summary.clone()) };
        let command = Command::Choose(ChosenRound {
            round: self.round.t,
            seed: self.round.seed,
            objective: finite(self.summary.objective),
            upper_bound: finite(self.summary.upper_bound),
            customers: self.summary.customers,
            hold_out_customers: self.summary.hold_out_customers,
            resting: self.summary.resting,
            hold_out_alike: true,
            originals: self.kept.clone().map(|columns| Originals::new(columns, &self.originals)),
            request: self.request.as_ref().map(answered).map(Box::new),
            // The answer of a request with a key has them already.
            prices: if self.request.is_none() { self.summary.prices.clone() } else { Vec::new() },
            probabilities: self.probable.as_ref().map(|probable| probable.found.method.name().to_owned()),
            law: self.law()?,
            candidates: self.candidates.as_ref().map(|(kept, _)| kept.clone()),
            ..ChosenRound::default()
        });
        let key = self.request.as_ref().map(|(key, _)| key);
        let (draft, tag) = (
            Draft {
                key,
                decisions: &self.sent,
                originals: &self.originals,
                arms: self.candidates.as_ref().map(|(_, rows)| &rows[..]),
                ..Draft::new(command)
            },
            campaign.tag(),
        );
        std::thread::scope(|scope| {
            let writing = out.as_ref().map(|out| scope.spawn(|| out.fill(tag, &self.sent)));
            campaign.append(&self.against, &draft, || {
                writing.map_or(Ok(()), |writing| writing.join().expect("writing does not panic"))
            })
        })?;
        failpoint("before-publish");
        out.map_or(Ok(()), ChoiceFiles::publish).map_err(|error| {
            let done = format!("round {} is chosen and committed", self.round.t);
            Error::NotWrittenOut { done, error: Box::new(error) }
        })?;
        Ok(self.summary)
    }
}

/// The last round that was not taken back, if it is open and nothing at all was heard of it. Of several rounds to a
/// segment, as a service has them, more than one is always under way.
fn unheard(campaign: &Campaign) -> Option<u64> {
    let last = campaign.rounds().values().rev().find(|info| !info.revoked())?;
    let (sends, hold_out) = (&last.counts, &last.counts.hold_out);
    let heard = sends.answered + sends.undelivered + hold_out.answered + hold_out.undelivered;
    (campaign.setup().rounds_per_segment == 1 && !last.closed() && heard == 0).then_some(last.round)
}

fn next_round(campaign: &Campaign, round: Option<u64>, seed: Option<u64>) -> Result<Round, Error> {
    let last = campaign.next_round() - 1;
    let t = round.unwrap_or(last + 1);
    let end = if round.is_some() { LAST_GIVEN_ROUND } else { LAST_ROUND };
    if t == 0 || t > end {
        return Err(Refusal::BadRound(t).into());
    }
    if t <= last {
        let exists = campaign.rounds().contains_key(&t);
        let refusal =
            if exists { Refusal::RoundExists { round: t, last } } else { Refusal::RoundBefore { round: t, last } };
        return Err(refusal.into());
    }
    Ok(Round::new(seed.unwrap_or(campaign.config().seed), t))
}

/// The customers who rest in round `t` by these rules; only the rounds that they speak of are read. The hold-out rests
/// as the sends do: if it never rested, its best customers would be compared with others' second best. `hold_out` says
/// whether it did, which it does not in rounds that an earlier program chose.
pub(crate) fn resting(campaign: &Campaign, config: &Config, t: u64, hold_out: bool) -> Result<HashSet<String>, Error> {
    let rest = config.limits.rest;
    let mut resting = HashSet::new();
    if rest == 0 {
        return Ok(resting);
    }
    let first = t.saturating_sub(rest).max(campaign.compacted() + 1);
    campaign.each_round(first..=t.saturating_sub(1), &mut |info| {
        if !info.revoked() {
            let rests = campaign.sent(info.round)?.into_iter().filter(|sent| hold_out || !sent.hold_out);
            resting.extend(rests.map(|sent| sent.customer));
        }
        Ok(())
    })?;
    Ok(resting)
}

/// So many decisions are written down by several threads; fewer are done sooner than these have begun.
const MANY: usize = 1 << 12;

/// The decisions as rows of the file; `by_mean` is who the estimate alone would have chosen.
fn write_down(
    config: &Config,
    round: Round,
    chosen: Arms,
    hold_out: Option<Arms>,
    by_mean: Option<&[(u64, u32)]>,
) -> Vec<Sent> {
    let mut sent = Vec::new();
    for (chosen, in_hold_out) in [(Some(chosen), false), (hold_out, true)] {
        let Some((arms, segments)) = chosen else { continue };
        let before = sent.len() as u32;
        // The arms of a block are next to each other, the best first.
        let mut first = vec![0; config.promotion.len()];
        (0..arms.len()).rev().for_each(|place| first[arms[place].block as usize] = place as u32);
        let write = |((place, arm), segment): ((u32, ChosenArm), Option<String>)| {
            let block = arm.block as usize;
            let greedy = by_mean.filter(|_| !in_hold_out);
            Sent {
                id: DecisionId { round: round.t, number: before + place + 1 },
                greedy: greedy.map(|greedy| greedy.binary_search(&(arm.id, arm.block)).is_ok()),
                segment,
                customer: arm.name.unwrap_or_default(),
                promotion: config.promotion[block].name.clone(),
                hold_out: in_hold_out,
                // No negative zero, since a journal may lose its sign.
                mean: arm.mean + 0.0,
                width: arm.width + 0.0,
                draw: arm.draw.map(|draw| draw + 0.0),
                score: arm.score + 0.0,
                rank: place - first[block] + 1,
                probability: arm.probability,
                features: arm.features,
            }
        };
        let places = 0..arms.len() as u32;
        if arms.len() < MANY {
            sent.extend(places.zip(arms).zip(segments).map(write));
        } else {
            sent.par_extend(places.into_par_iter().zip(arms).zip(segments).map(write));
        }
    }
    sent
}
