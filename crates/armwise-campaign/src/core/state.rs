//! Where a campaign stands after an entry: rounds, rules, hashes of the sums. A left fold over the entries.
//!
//! An entry says what it changed, so the state needs no rows. A checkpoint vouches for the state's bytes: a new field
//! must go into [`State::encode`] and [`State::decode`], at the end and only where there is something to say: a state
//! without it must have the bytes that it always had, or older checkpoints would no longer vouch for it.

use super::{
    Changes, Command, Counts, Entry, Flaw, PutAside, Sha,
    aside::Aside,
    bytes::{Reader, Writer},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// What a campaign knows of a round without reading its decisions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundInfo {
    /// The round's number.
    pub round: u64,
    /// The entry that chose it.
    pub seq: u64,
    /// When it was chosen.
    pub at: String,
    /// The seed of its draws.
    pub seed: u64,
    /// The entry with the rules that held.
    pub rules: u64,
    /// How many decisions it has, hold-out ones included.
    pub decisions: u64,
    /// SHA-256 over them.
    pub digest: Sha,
    /// The entry that ended its response window.
    pub closed_by: Option<u64>,
    /// The entry that revoked it.
    pub revoked_by: Option<u64>,
    /// What became of its decisions.
    pub counts: Counts,
    /// The hash of all its outcomes.
    pub heard: Sha,
}

impl RoundInfo {
    /// Whether its response window has ended.
    #[must_use]
    pub fn closed(&self) -> bool {
        self.closed_by.is_some()
    }

    /// Whether it was taken back: it was never sent.
    #[must_use]
    pub fn revoked(&self) -> bool {
        self.revoked_by.is_some()
    }
}

/// Comes before what was put aside in the bytes of a state; no entry has this number.
const ASIDE: u64 = u64::MAX;

/// The entry that holds rules, and SHA-256 of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RulesAt {
    pub(super) seq: u64,
    pub(super) body: Sha,
}

/// Where a campaign stands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    /// Of `init` and of every amendment, ascending; the last holds now.
    pub(super) rules: Vec<RulesAt>,
    /// The entries whose recipe holds from then on, ascending: `init`, and every amendment that has one.
    pub(super) recipes: Vec<u64>,
    /// What happened before the first round, as a round with the number 0.
    pub(super) logged: Option<RoundInfo>,
    pub(super) rounds: BTreeMap<u64, RoundInfo>,
    /// The hashes of the sums of the segments that have outcomes.
    pub(super) sums: BTreeMap<u64, Sha>,
    /// The hash of the model.
    pub(super) model: Sha,
    /// Of the rounds that have some: decisions about which rows were put aside.
    pub(super) aside: BTreeMap<u64, Aside>,
}

impl State {
    /// Before the first entry.
    pub(super) fn new() -> Self {
        Self {
            rules: Vec::new(),
            recipes: Vec::new(),
            logged: None,
            rounds: BTreeMap::new(),
            sums: BTreeMap::new(),
            model: Sha::of(""),
            aside: BTreeMap::new(),
        }
    }

    /// Applies the next entry and returns the first segment whose sums are new. The error says why the entry cannot
    /// follow.
    pub(super) fn apply(&mut self, entry: &Entry) -> Result<Option<u64>, String> {
        let seq = entry.seq;
        let bad = |problem: &dyn std::fmt::Display| format!("entry {seq} ({}): {problem}", entry.kind.name());
        let command = entry.command().map_err(|error| bad(&error))?;
        let changes: Changes = serde_json::from_str(&entry.changes).map_err(|error| bad(&error))?;
        if command.round() != entry.round {
            return Err(bad(&"its round is not the one of its body"));
        }
        match &command {
            Command::Init(_) => {
                self.rules.push(RulesAt { seq, body: Sha::of(&entry.body) });
                self.recipes.push(seq);
            }
            Command::Amend(rules) => {
                self.rules.push(RulesAt { seq, body: Sha::of(&entry.body) });
                self.recipes.extend(rules.recipe.as_ref().map(|_| seq));
            }
            Command::Choose(chosen) => {
                let info = self.begun(entry, chosen.round, chosen.seed);
                if self.rounds.insert(chosen.round, info).is_some() {
                    return Err(bad(&"the round was chosen before"));
                }
            }
            Command::Logged(_) => {
                let info = self.begun(entry, 0, 0);
                if self.logged.replace(info).is_some() || !self.rounds.is_empty() {
                    return Err(bad(&"it comes once, before the first round"));
                }
            }
            Command::Close(_) => self.known(entry.round).ok_or_else(|| bad(&"unknown round"))?.closed_by = Some(seq),
            Command::Revoke(_) => self.known(entry.round).ok_or_else(|| bad(&"unknown round"))?.revoked_by = Some(seq),
            Command::Learn(told) => {
                for PutAside { round, flaw, decisions } in &told.aside {
                    let aside = self.aside.entry(*round).or_default();
                    decisions.iter().for_each(|&number| {
                        aside.entry(number).or_insert((seq, *flaw));
                    });
                }
            }
            Command::Correct(_) | Command::Undelivered(_) | Command::Checkpoint(_) => {}
        }
        for change in changes.rounds {
            let info = self.known(Some(change.round)).ok_or_else(|| bad(&"it changes an unknown round"))?;
            (info.counts, info.heard) = (change.counts, change.heard);
        }
        self.sums.extend(changes.sums.iter().map(|change| (change.segment, change.hash)));
        self.model = entry.model;
        Ok(changes.sums.iter().map(|change| change.segment).min())
    }

    /// A round of which nothing is known yet but the entry that chose it.
    fn begun(&self, entry: &Entry, round: u64, seed: u64) -> RoundInfo {
        RoundInfo {
            round,
            seq: entry.seq,
            at: entry.at.clone(),
            seed,
            rules: self.rules.last().map_or(0, |rules| rules.seq),
            decisions: entry.rows,
            digest: entry.digest,
            closed_by: None,
            revoked_by: None,
            counts: Counts::default(),
            heard: Sha::of(""),
        }
    }

    fn known(&mut self, round: Option<u64>) -> Option<&mut RoundInfo> {
        match round? {
            0 => self.logged.as_mut(),
            round => self.rounds.get_mut(&round),
        }
    }

    /// As bytes.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.hash(self.model);
        out.whole(self.rules.len() as u64);
        for rules in &self.rules {
            out.whole(rules.seq);
            out.hash(rules.body);
        }
        out.whole((self.rounds.len() + usize::from(self.logged.is_some())) as u64);
        for info in self.logged.iter().chain(self.rounds.values()) {
            [info.round, info.seq, info.seed, info.rules, info.decisions]
                .into_iter()
                .for_each(|value| out.whole(value));
            out.text(&info.at);
            out.hash(info.digest);
            // No entry has the number 0.
            out.whole(info.closed_by.unwrap_or(0));
            out.whole(info.revoked_by.unwrap_or(0));
            let Counts { sends, answered, silent, pending, undelivered, hold_out, rewards, aside: _ } = info.counts;
            [sends, answered, silent, pending, undelivered, hold_out].into_iter().for_each(|value| out.whole(value));
            out.number(rewards);
            out.hash(info.heard);
        }
        out.whole(self.sums.len() as u64);
        for (&segment, &hash) in &self.sums {
            out.whole(segment);
            out.hash(hash);
        }
        // Only where there are such, so that the bytes of older checkpoints stay what they were.
        self.recipes.iter().skip(1).for_each(|&seq| out.whole(seq));
        if !self.aside.is_empty() {
            out.whole(ASIDE);
            self.encode_aside(&mut out);
        }
        out.0
    }

    /// From bytes; none if they are not a state.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut bytes = Reader::new(bytes);
        let mut state = Self { model: bytes.hash()?, ..Self::new() };
        for _ in 0..bytes.whole()? {
            state.rules.push(RulesAt { seq: bytes.whole()?, body: bytes.hash()? });
        }
        for _ in 0..bytes.whole()? {
            let [round, seq, seed, rules, decisions] = wholes(&mut bytes)?;
            let (at, digest) = (bytes.text()?, bytes.hash()?);
            let [closed_by, revoked_by] = wholes(&mut bytes)?.map(|seq| Some(seq).filter(|&seq| seq > 0));
            let [sends, answered, silent, pending, undelivered, hold_out] = wholes(&mut bytes)?;
            let rewards = bytes.number()?;
            let counts = Counts { sends, answered, silent, pending, undelivered, hold_out, rewards, aside: 0 };
            let heard = bytes.hash()?;
            let info =
                RoundInfo { round, seq, at, seed, rules, decisions, digest, closed_by, revoked_by, counts, heard };
            if round == 0 {
                state.logged = Some(info);
            } else {
                state.rounds.insert(round, info);
            }
        }
        for _ in 0..bytes.whole()? {
            let segment = bytes.whole()?;
            state.sums.insert(segment, bytes.hash()?);
        }
        state.recipes.extend(state.rules.first().map(|first| first.seq));
        while !bytes.is_done() {
            match bytes.whole()? {
                ASIDE => state.decode_aside(&mut bytes)?,
                seq => state.recipes.push(seq),
            }
        }
        Some(state)
    }

    fn encode_aside(&self, out: &mut Writer) {
        out.whole(self.aside.len() as u64);
        for (&round, aside) in &self.aside {
            let still = self.rounds.get(&round).map_or(0, |info| info.counts.aside);
            [round, still, aside.len() as u64].into_iter().for_each(|value| out.whole(value));
            for (&number, &(seq, flaw)) in aside {
                let flaw = Flaw::ALL.iter().position(|own| *own == flaw).unwrap_or_default();
                [u64::from(number), seq, flaw as u64].into_iter().for_each(|value| out.whole(value));
            }
        }
    }

    fn decode_aside(&mut self, bytes: &mut Reader<'_>) -> Option<()> {
        for _ in 0..bytes.whole()? {
            let [round, still, count] = wholes(bytes)?;
            let mut aside = Aside::new();
            for _ in 0..count {
                let [number, seq, flaw] = wholes(bytes)?;
                let flaw = *Flaw::ALL.get(usize::try_from(flaw).ok()?)?;
                aside.insert(u32::try_from(number).ok()?, (seq, flaw));
            }
            self.rounds.get_mut(&round)?.counts.aside = still;
            self.aside.insert(round, aside);
        }
        Some(())
    }
}

fn wholes<const N: usize>(bytes: &mut Reader<'_>) -> Option<[u64; N]> {
    let mut values = [0; N];
    for value in &mut values {
        *value = bytes.whole()?;
    }
    Some(values)
}
