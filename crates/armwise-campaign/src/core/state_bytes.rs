//! The state as bytes, which a checkpoint vouches for, for ever.
//!
//! A new field goes into [`State::encode`] and [`State::decode`] under a new [`StateFormat`], or at the end, behind a mark
//! of its own and only where there is something to say. What older checkpoints vouch for must keep the bytes that it
//! always had.

use super::{
    Counts, Flaw, HoldOutCounts,
    aside::Aside,
    bytes::{Reader, Writer},
    settled::Settled,
    state::{Held, RoundInfo, RulesAt, State},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How the state of a checkpoint is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Default, Serialize, Deserialize)]
pub struct StateFormat(u8);

impl StateFormat {
    /// Of the hold-out only how many there are.
    const FIRST: Self = Self(0);
    /// All counts of the hold-out.
    pub(super) const NOW: Self = Self(1);

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn is_first(&self) -> bool {
        *self == Self::FIRST
    }
}

/// Marks come before the parts that not every state has; no entry has these numbers.
const ASIDE: u64 = u64::MAX;
/// Before the rounds that are or were held back.
const HELD: u64 = u64::MAX - 1;
/// Before the changes of the catalogue.
const ARMS: u64 = u64::MAX - 2;
/// Before what only campaigns with several rounds to a segment have.
const SEGMENTS: u64 = u64::MAX - 3;

impl State {
    /// As bytes.
    pub(super) fn encode(&self, format: StateFormat) -> Vec<u8> {
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
            let wholes = [sends, answered, silent, pending, undelivered, hold_out.chosen];
            wholes.into_iter().for_each(|value| out.whole(value));
            out.number(rewards);
            if format > StateFormat::FIRST {
                out.whole(u64::from(info.hold_out_alike));
                encode_hold_out(&hold_out, &mut out);
            }
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
        if !self.held.is_empty() {
            [HELD, self.held.len() as u64].into_iter().for_each(|value| out.whole(value));
            for (&round, held) in &self.held {
                [round, held.activated_by].into_iter().for_each(|value| out.whole(value));
                out.text(&held.at);
            }
        }
        if self.arms.0 > 0 {
            [ARMS, self.arms.0].into_iter().for_each(|value| out.whole(value));
            out.hash(self.arms.1);
        }
        if self.length > 1 {
            out.whole(SEGMENTS);
            self.encode_segments(&mut out);
        }
        out.0
    }

    fn encode_segments(&self, out: &mut Writer) {
        let Self { length, fold, compacted, dirty, touched, settled, .. } = self;
        [*length, *fold, *compacted, dirty.len() as u64].into_iter().for_each(|value| out.whole(value));
        dirty.iter().for_each(|&segment| out.whole(segment));
        out.whole(touched.len() as u64);
        touched.iter().flat_map(|(&segment, &seq)| [segment, seq]).for_each(|value| out.whole(value));
        out.whole(settled.len() as u64);
        for (&segment, settled) in &**settled {
            let Settled { rounds, open, held, decisions, seq, at, counts, bytes } = settled;
            [segment, *rounds, *open, *held, *decisions, *seq].into_iter().for_each(|value| out.whole(value));
            out.text(at);
            encode_counts(counts, out);
            out.whole(counts.aside);
            out.hash(*bytes);
        }
    }

    fn decode_segments(&mut self, bytes: &mut Reader<'_>) -> Option<()> {
        let [length, fold, compacted, dirty] = wholes(bytes)?;
        (self.length, self.fold, self.compacted) = (length, fold, compacted);
        for _ in 0..dirty {
            self.dirty.insert(bytes.whole()?);
        }
        for _ in 0..bytes.whole()? {
            let [segment, seq] = wholes(bytes)?;
            self.touched.insert(segment, seq);
        }
        let mut all = std::collections::BTreeMap::new();
        for _ in 0..bytes.whole()? {
            let [segment, rounds, open, held, decisions, seq] = wholes(bytes)?;
            let (at, mut counts) = (bytes.text()?, decode_counts(bytes)?);
            counts.aside = bytes.whole()?;
            all.insert(segment, Settled { rounds, open, held, decisions, seq, at, counts, bytes: bytes.hash()? });
        }
        self.settled = Arc::new(all);
        Some(())
    }

    /// From bytes; none if they are not a state.
    pub(super) fn decode(bytes: &[u8], format: StateFormat) -> Option<Self> {
        let mut bytes = Reader::new(bytes);
        let mut state = Self { model: bytes.hash()?, ..Self::new() };
        for _ in 0..bytes.whole()? {
            state.rules.push(RulesAt { seq: bytes.whole()?, body: bytes.hash()? });
        }
        for _ in 0..bytes.whole()? {
            let [round, seq, seed, rules, decisions] = wholes(&mut bytes)?;
            let (at, digest) = (bytes.text()?, bytes.hash()?);
            let [closed_by, revoked_by] = wholes(&mut bytes)?.map(|seq| Some(seq).filter(|&seq| seq > 0));
            let [sends, answered, silent, pending, undelivered, chosen] = wholes(&mut bytes)?;
            let rewards = bytes.number()?;
            let (hold_out_alike, hold_out) = if format == StateFormat::FIRST {
                (false, HoldOutCounts::only_chosen(chosen))
            } else {
                (bytes.whole()? == 1, decode_hold_out(chosen, &mut bytes)?)
            };
            let counts = Counts { sends, answered, silent, pending, undelivered, rewards, hold_out, aside: 0 };
            let heard = bytes.hash()?;
            let info = RoundInfo {
                round,
                seq,
                at,
                seed,
                hold_out_alike,
                rules,
                decisions,
                digest,
                closed_by,
                revoked_by,
                counts,
                heard,
            };
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
                HELD => {
                    for _ in 0..bytes.whole()? {
                        let [round, activated_by] = wholes(&mut bytes)?;
                        state.held.insert(round, Held { activated_by, at: bytes.text()? });
                    }
                }
                ARMS => state.arms = (bytes.whole()?, bytes.hash()?),
                SEGMENTS => state.decode_segments(&mut bytes)?,
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

fn encode_hold_out(counts: &HoldOutCounts, out: &mut Writer) {
    let HoldOutCounts { answered, silent, pending, undelivered, rewards, counted, .. } = *counts;
    [u64::from(counted), answered, silent, pending, undelivered].into_iter().for_each(|value| out.whole(value));
    out.number(rewards);
}

fn decode_hold_out(chosen: u64, bytes: &mut Reader<'_>) -> Option<HoldOutCounts> {
    let [counted, answered, silent, pending, undelivered] = wholes(bytes)?;
    let (rewards, counted) = (bytes.number()?, counted == 1);
    Some(HoldOutCounts { chosen, answered, silent, pending, undelivered, rewards, counted })
}

fn encode_counts(counts: &Counts, out: &mut Writer) {
    let Counts { sends, answered, silent, pending, undelivered, hold_out, rewards, aside: _ } = counts;
    let wholes = [*sends, *answered, *silent, *pending, *undelivered, hold_out.chosen];
    wholes.into_iter().for_each(|value| out.whole(value));
    out.number(*rewards);
    encode_hold_out(hold_out, out);
}

fn decode_counts(bytes: &mut Reader<'_>) -> Option<Counts> {
    let [sends, answered, silent, pending, undelivered, chosen] = wholes(bytes)?;
    let rewards = bytes.number()?;
    let hold_out = decode_hold_out(chosen, bytes)?;
    Some(Counts { sends, answered, silent, pending, undelivered, rewards, hold_out, aside: 0 })
}
