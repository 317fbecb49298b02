//! The end of a round's response window, or of those of many rounds at once.

use super::{
    Campaign, Closing, Command, Counts, DecisionId, Draft, Entry, Flaw, HoldOutStatus, Key, Kind, OfRound, Refusal,
    Sha, SilenceOf, Through, clock, settled::Shelf,
};
use crate::Error;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What closing a round did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Closed {
    /// The round.
    pub round: u64,
    /// Whether it was closed before; nothing has changed then.
    pub already: bool,
    /// How many sends now count as silent.
    pub silent: u64,
    /// What silence is worth.
    pub default: f64,
    /// Where its hold-out stands: silent, if the rules take its silence for the default reward, otherwise pending.
    pub hold_out: HoldOutStatus,
    /// The least share of the hold-out that must have an outcome, or there is no uplift.
    pub answered_share: f64,
    /// The decisions that stay pending, because the rows about them were put aside, by what was wrong with them. They
    /// are not silent, and good rows about them are still learned.
    pub aside: BTreeMap<Flaw, Vec<String>>,
    /// The hash of the model now.
    pub model: Sha,
}

/// Ends the response window of a round: sends without an answer count as the default reward from now on, unless an
/// answer came that was put aside for a bad value; and so does the hold-out if the rules take its silence for one.
/// Otherwise its outcomes can come later too. The same
/// request with the same `key` gives the same answer, whatever happened since. Closing a closed round leaves no entry,
/// so its key stays free.
///
/// # Errors
/// [`Error::NotFound`] for a round that was not chosen, [`Error::Refused`] for one that was revoked,
/// [`Error::KeyUsed`].
pub fn close(campaign: &mut Campaign, round: u64, key: Option<&Key>) -> Result<Closed, Error> {
    let (info, against) = (campaign.round(round)?, campaign.head());
    let closing = || Command::Close(Closing::Round(OfRound { round }));
    if let Some((entry, _)) = campaign.earlier(key, |command| *command == closing())? {
        let played = campaign.played(round, entry.seq)?;
        let aside = aside(campaign, round, entry.seq)?;
        return closed(campaign, (round, false), played.counts(), aside, entry.model);
    }
    if info.revoked() {
        return Err(Refusal::Revoked(round).into());
    }
    if campaign.is_held(round, u64::MAX)? {
        return Err(Refusal::Held(round).into());
    }
    let already = info.closed();
    if !already {
        let draft = Draft { key, ..Draft::new(closing()) };
        campaign.append(&against, &draft, || Ok(()))?;
    }
    let (counts, aside) = (campaign.counts(&*campaign.round(round)?)?, aside(campaign, round, u64::MAX)?);
    closed(campaign, (round, already), counts, aside, campaign.model_hash())
}

/// What closing several rounds at once did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClosedThrough {
    /// The last round that is looked at.
    pub through: u64,
    /// How many rounds were closed.
    pub rounds: u64,
    /// The last entry that closed any of them; the journal's last where none was open.
    pub seq: u64,
    /// The hash of the model in force.
    pub model: Sha,
}

/// Ends the response windows of all open rounds up to `through`, by the clock: rounds that are held back stay open, and
/// so do those that were activated later than `activated_before`. With several rounds to a segment it is one entry, and
/// what it means is learned by the next fold. Nothing is appended where no such round is open.
///
/// # Errors
/// [`Error::Damaged`], [`Error::Storage`].
pub fn close_through(
    campaign: &mut Campaign,
    through: u64,
    activated_before: Option<&str>,
) -> Result<ClosedThrough, Error> {
    close_range(campaign, through, activated_before, None)
}

/// As [`close_through`], because somebody asks for it: rounds that are held back stay open, and all others are closed. The
/// same request with the same `key` gives the same answer, whatever happened since. Where no round is open there is no
/// entry, so the key stays free.
///
/// # Errors
/// [`Error::NotFound`] for a round that was not chosen; as [`close_through`], [`Error::KeyUsed`].
pub fn close_up_to(campaign: &mut Campaign, through: u64, key: Option<&Key>) -> Result<ClosedThrough, Error> {
    campaign.round(through)?;
    if let Some(before) = closed_before(campaign, through, key)? {
        return Ok(before);
    }
    let closed = close_range(campaign, through, None, key)?;
    // With one round to a segment, only the journal says the same again.
    let again = if campaign.state.length == 1 { closed_before(campaign, through, key)? } else { None };
    Ok(again.unwrap_or(closed))
}

/// What a request with this key closed, from the journal.
fn closed_before(campaign: &Campaign, through: u64, key: Option<&Key>) -> Result<Option<ClosedThrough>, Error> {
    let same = |command: &Command| match command {
        Command::Close(Closing::Through(range)) => range.through == through && range.activated_before.is_none(),
        // With one round to a segment, the entry of the last round that was open has the key.
        Command::Close(Closing::Round(of)) => of.round <= through && campaign.state.length == 1,
        _ => false,
    };
    let Some((entry, _)) = campaign.earlier(key, same)? else { return Ok(None) };
    let mut rounds = 0;
    if campaign.state.length > 1 {
        // Only an answer that is given again asks for the past.
        campaign.each_round(1..=through, &mut |info| {
            rounds += u64::from(info.closed_by == Some(entry.seq));
            Ok(())
        })?;
    } else {
        // The entries of one request follow each other and have one time.
        let is_own = |other: &Entry| other.kind == Kind::Close && other.key.is_none() && other.at == entry.at;
        rounds = 1;
        while campaign.journal.entry(entry.seq.saturating_sub(rounds))?.as_ref().is_some_and(is_own) {
            rounds += 1;
        }
    }
    Ok(Some(ClosedThrough { through, rounds, seq: entry.seq, model: entry.model }))
}

fn close_range(
    campaign: &mut Campaign,
    through: u64,
    activated_before: Option<&str>,
    key: Option<&Key>,
) -> Result<ClosedThrough, Error> {
    let mut range = Through { through, activated_before: activated_before.map(str::to_owned), silence: Vec::new() };
    let against = campaign.head();
    let mut state = campaign.state.clone();
    let mut shelf = Shelf::of(&*campaign.journal);
    let open = state.open_through(&range, &mut shelf);
    let open = open.map_err(|problem| shelf.error(campaign.path(), problem))?;
    let rules: BTreeSet<u64> = open.iter().filter_map(|round| state.rounds.get(round)).map(|info| info.rules).collect();
    for rules in rules {
        let config = campaign.rules(rules)?;
        let (default, hold_out) = (config.reward.default + 0.0, config.hold_out_default());
        range.silence.push(SilenceOf { rules, default, hold_out });
    }
    let entries = if !open.is_empty() && campaign.state.length > 1 {
        let draft = Draft { key, ..Draft::new(Command::Close(Closing::Through(range))) };
        campaign.append_all(&against, &[draft])?
    } else {
        let (last, at) = (open.last().copied(), clock::now());
        let one = |&round: &u64| Draft {
            key: key.filter(|_| Some(round) == last),
            at: Some(at.clone()),
            ..Draft::new(Command::Close(Closing::Round(OfRound { round })))
        };
        campaign.append_all(&against, &open.iter().map(one).collect::<Vec<_>>())?
    };
    let (rounds, seq) = (open.len() as u64, entries.last().map_or(campaign.head().seq, |entry| entry.seq));
    Ok(ClosedThrough { through, rounds, seq, model: campaign.model_hash() })
}

fn closed(
    campaign: &Campaign,
    (round, already): (u64, bool),
    counts: Counts,
    aside: BTreeMap<Flaw, Vec<String>>,
    model: Sha,
) -> Result<Closed, Error> {
    let config = campaign.config_of(round)?;
    Ok(Closed {
        round,
        already,
        silent: counts.silent,
        default: config.reward.default + 0.0,
        hold_out: counts.hold_out.into(),
        answered_share: config.uplift.answered_share,
        aside,
        model,
    })
}

/// The names of the decisions that stay pending.
fn aside(campaign: &Campaign, round: u64, until: u64) -> Result<BTreeMap<Flaw, Vec<String>>, Error> {
    let name = |number: u32| campaign.tag().name(DecisionId { round, number });
    let named = |(flaw, numbers): (Flaw, Vec<u32>)| (flaw, numbers.into_iter().map(name).collect());
    Ok(campaign.still_aside(round, until)?.into_iter().map(named).collect())
}
