//! The choices that are made from one table: the round's, what the estimate alone would choose, and the hold-out's.

use super::{
    Progress,
    constraint::SEGMENT,
    customers::Customers,
    kept::KeptRows,
    part::Part,
    prepare::{Parts, Prepared},
    sample,
    words::told,
};
use crate::{Error, config::Config, input::Source, recipe::Oddities};
use armwise::{Choosing, ChosenArm, Decision, Proof, Screen};
use rayon::prelude::*;
use std::sync::mpsc::sync_channel;

/// How many rows one task prepares.
pub(super) const PIECE: usize = 1 << 13;

/// The choices that are made from one table.
pub(super) struct Choices<'a> {
    pub(super) main: Choosing<'a>,
    /// What the estimate alone would choose; none while there is no estimate.
    pub(super) by_mean: Option<Choosing<'a>>,
    /// The hold-out's.
    pub(super) hold_out: Option<Choosing<'a>>,
    /// Whether the rules scaled to the hold-out's share could not be met in it.
    pub(super) hold_out_failed: bool,
}

/// A choice from all parts.
pub(super) struct Chosen {
    pub(super) decision: Decision,
    /// Of each arm.
    pub(super) segments: Vec<Option<String>>,
}

/// Chosen arms with their segments.
pub(super) type Arms = (Vec<ChosenArm>, Vec<Option<String>>);

impl Chosen {
    /// What the decision says of the whole, without arms; and its arms with their segments.
    pub(super) fn split(mut self) -> (Decision, Arms) {
        let arms = std::mem::take(&mut self.decision.arms);
        (self.decision, (arms, self.segments))
    }

    /// Finishes a choice. `segments` are the names of the segments in the order of their numbers, which begin at 1.
    #[expect(clippy::cast_sign_loss, reason = "the column holds places in the list of names, counted from 1")]
    pub(super) fn new(choosing: Choosing<'_>, segments: &[String]) -> Result<Self, Error> {
        let of = |number: f64| segments.get((number as usize).wrapping_sub(1)).cloned();
        let own = choosing.column(SEGMENT).map(|numbers| numbers.into_iter().map(of).collect());
        let decision = choosing.finish()?;
        let segments = own.unwrap_or_else(|| vec![None; decision.arms.len()]);
        Ok(Self { decision, segments })
    }
}

impl<'a> Choices<'a> {
    /// Guesses floors from a sample of a large table.
    pub(super) fn guess(&mut self, table: &dyn Source, parts: &Parts<'_>) -> Result<(), Error> {
        let Some((sample, share, rows)) = sample::sample(table, parts)? else { return Ok(()) };
        parts.reservoir.begin(rows);
        let Self { main, by_mean, .. } = self;
        Ok(sample.with_arms(|arms| {
            let by_mean = || by_mean.as_mut().map_or(Ok(()), |by_mean| by_mean.guess(arms, share));
            let (main, by_mean) = rayon::join(|| main.guess(arms, share), by_mean);
            main.and(by_mean)
        })?)
    }

    /// Guesses once more, where a guess was so wrong that it left no floors at all, from the customers that were seen
    /// when the table was read.
    fn guess_again(&mut self, parts: &Parts<'_>) -> Result<(), Error> {
        let Some((sample, share)) = parts.reservoir.take() else { return Ok(()) };
        let choices = [Some(&mut self.main), self.by_mean.as_mut()].into_iter().flatten();
        for choosing in choices.filter(|choosing| !choosing.is_done() && choosing.floors().is_none()) {
            sample.with_arms(|arms| choosing.guess(arms, share))?;
        }
        Ok(())
    }

    /// Reads the table again after a guess was refuted: once, or twice if a second guess is refuted too.
    pub(super) fn read_again(
        &mut self,
        parts: &Parts<'_>,
        config: &Config,
        mut read: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.guess_again(parts)?;
        for _ in 0..2 {
            read(self)?;
            if self.prove().map_err(|error| told(config, error))? {
                break;
            }
        }
        Ok(())
    }

    /// Gives the table to the choices, part by part. Where rows are to be kept, they have these columns, too.
    pub(super) fn read(
        &mut self,
        table: &dyn Source,
        parts: &Parts<'_>,
        (mut kept, columns): (Option<&mut KeptRows>, &[String]),
        progress: Progress<'_>,
    ) -> Result<(Customers, Oddities), Error> {
        let mut read = parts.columns();
        read.extend(columns.iter().filter(|name| !read.contains(name)).cloned().collect::<Vec<_>>());
        let (mut customers, mut odd) = (Customers::default(), Oddities::default());
        std::thread::scope(|scope| {
            let (send, receive) = sync_channel(2);
            let batches = table.batches(Some(&read))?;
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
                let own: Vec<_> = (0..rows.len()).step_by(PIECE).map(|first| rows.piece(first, PIECE)).collect();
                let screens = self.screens();
                let pieces: Vec<_> = own.par_iter().map(|rows| parts.prepare(rows, &screens)).collect();
                drop(screens);
                let pieces = pieces.into_iter().collect::<Result<Vec<_>, _>>()?;
                for piece in &pieces {
                    customers.extend(piece);
                    odd.add(&piece.odd);
                }
                progress(customers.len());
                if let Err(error) = self.add(&pieces) {
                    // The error for a customer who appears twice names both rows.
                    customers.check(table, parts.customer())?;
                    return Err(error.into());
                }
                pieces.iter().filter_map(|piece| piece.main.as_ref()).for_each(|part| parts.reservoir.add(part));
                if let Some(kept) = &mut kept {
                    for (own, piece) in own.iter().zip(&pieces) {
                        kept.add(own, &piece.given, parts.customer(), self)?;
                    }
                }
                pieces.into_iter().for_each(|piece| parts.reuse(piece));
            }
            Ok((customers, odd))
        })
    }

    /// The screens that tell for whom to make features; none if a choice needs all rows.
    pub(super) fn screens(&self) -> Vec<Screen<'_>> {
        let choices = [Some(&self.main), self.by_mean.as_ref()];
        let open = choices.into_iter().flatten().filter(|choosing| !choosing.is_done());
        open.map(Choosing::screen).collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    pub(super) fn add(&mut self, pieces: &[Prepared]) -> Result<(), armwise::Error> {
        let Self { main, by_mean, hold_out, .. } = self;
        for piece in pieces {
            let given = piece.main.as_ref().map_or(0, Part::len);
            main.skip(piece.considered - given);
            by_mean.iter_mut().for_each(|by_mean| by_mean.skip(piece.considered - given));
            if let Some(part) = &piece.main {
                part.with_arms(|arms| {
                    let by_mean = || by_mean.as_mut().map_or(Ok(()), |by_mean| by_mean.add(arms));
                    let (main, by_mean) = rayon::join(|| main.add(arms), by_mean);
                    main.and(by_mean)
                })?;
            }
            if let (Some(hold_out), Some(part)) = (&mut *hold_out, &piece.hold_out) {
                part.with_arms(|arms| hold_out.add(arms))?;
            }
        }
        Ok(())
    }

    /// Chooses from the hold-out once more, by other rules; false if nobody can be chosen by these either.
    pub(super) fn hold_out_again(
        &mut self,
        by: Option<Choosing<'a>>,
        mut read: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        (self.hold_out, self.hold_out_failed) = (by, false);
        for _ in 0..2 {
            if self.hold_out.is_none() || self.hold_out_failed {
                break;
            }
            read(self)?;
            if self.prove()? {
                break;
            }
        }
        self.hold_out.take_if(|_| self.hold_out_failed);
        Ok(self.hold_out.is_some())
    }

    /// Asks the oracles; false if the table must be read once more. The hold-out is there to compare with, so a problem
    /// of its own, such as a small budget that does not divide evenly, is noted and does not stop the round.
    pub(super) fn prove(&mut self) -> Result<bool, armwise::Error> {
        let Self { main, by_mean, hold_out, hold_out_failed } = self;
        let by_mean = || by_mean.as_mut().map_or(Ok(Proof::Done), Choosing::prove);
        let (main, by_mean) = rayon::join(|| main.prove(), by_mean);
        let hold_out = hold_out.as_mut().filter(|hold_out| hold_out.has_rows());
        let hold_out = match hold_out.map_or(Ok(Proof::Done), Choosing::prove) {
            Err(armwise::Error::Cancelled) => return Err(armwise::Error::Cancelled),
            Err(_) => {
                *hold_out_failed = true;
                Proof::Done
            }
            Ok(proof) => proof,
        };
        Ok([main?, by_mean?, hold_out] == [Proof::Done; 3])
    }
}
