//! A sample of the customers that were read, from all over the table, for a table that must be read once more.
//!
//! The sample from which floors are guessed at first may mislead, most of all where only the beginning of a table can be
//! seen beforehand. Once the table has been read, this one does not. Who is in it depends on the hash of the customer's id
//! alone, so order and parts of the table do not matter.

use super::part::Part;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU32, Ordering},
};

/// About how many customers it holds; never more than twice as many and one part.
const SIZE: usize = 1 << 17;

/// A sample of the customers that were read.
#[derive(Debug, Default)]
pub(super) struct Reservoir {
    /// Customers whose hash has lower bits below this are in it; 0 while nobody is wanted.
    bar: AtomicU32,
    part: Mutex<Part>,
}

fn bits(id: u64) -> u32 {
    id as u32
}

impl Reservoir {
    /// Begins to take customers of a table that has about so many rows.
    #[expect(clippy::cast_sign_loss, reason = "a share is not negative")]
    pub(super) fn begin(&self, rows: usize) {
        let share = (SIZE as f64 / rows.max(1) as f64).min(1.0);
        self.bar.store((share * f64::from(u32::MAX)) as u32, Ordering::Relaxed);
    }

    /// Tells who is wanted; none while nobody is.
    pub(super) fn wants(&self) -> Option<impl Fn(u64) -> bool + Copy + use<>> {
        let bar = self.bar.load(Ordering::Relaxed);
        (bar > 0).then_some(move |id: u64| bits(id) < bar)
    }

    /// Takes those who are wanted.
    pub(super) fn add(&self, part: &Part) {
        let Some(wants) = self.wants() else { return };
        let rows: Vec<usize> = (0..part.len()).filter(|&row| wants(part.ids[row])).collect();
        let mut own = self.part.lock().unwrap_or_else(PoisonError::into_inner);
        own.extend(part, &rows);
        if own.len() > 2 * SIZE {
            // The table is longer than it seemed.
            let bar = self.bar.load(Ordering::Relaxed) / 2;
            self.bar.store(bar, Ordering::Relaxed);
            let rows: Vec<usize> = (0..own.len()).filter(|&row| bits(own.ids[row]) < bar).collect();
            *own = own.pick(&rows);
        }
    }

    /// The sample and its share of all customers; nobody is wanted any more.
    pub(super) fn take(&self) -> Option<(Part, f64)> {
        let share = f64::from(self.bar.swap(0, Ordering::Relaxed)) / f64::from(u32::MAX);
        let part = std::mem::take(&mut *self.part.lock().unwrap_or_else(PoisonError::into_inner));
        (part.len() > 0).then_some((part, share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use armwise::id_of;

    fn part(rows: std::ops::Range<usize>) -> Part {
        let mut part = Part::default();
        for row in rows {
            let name = format!("c{row}");
            part.name(&name, id_of(&name));
            part.features.push(row as f32);
        }
        part
    }

    /// Whatever the table was thought to have: within 5 standard errors of the share that it says, and as many from the
    /// first half as from the second.
    #[test]
    fn it_holds_the_share_that_it_says_from_all_over_the_table() {
        let rows = 1_000_000;
        for thought in [1000, 300_000, rows, 4 * rows] {
            let reservoir = Reservoir::default();
            assert!(reservoir.wants().is_none() && reservoir.take().is_none());
            reservoir.begin(thought);
            for first in (0..rows).step_by(10_000) {
                reservoir.add(&part(first..first + 10_000));
            }
            let (sample, share) = reservoir.take().expect("rows");
            assert!(sample.len() <= 2 * SIZE, "{} rows", sample.len());
            let error = (rows as f64 * share * (1.0 - share)).sqrt();
            assert!((sample.len() as f64 - rows as f64 * share).abs() < 5.0 * error, "{} of {share}", sample.len());
            let early = sample.features.iter().filter(|row| **row < 500_000.0).count() as f64;
            assert!((2.0 * early - sample.len() as f64).abs() < 5.0 * (sample.len() as f64).sqrt(), "{early} early");
            assert!(reservoir.wants().is_none());
        }
    }
}
