//! Finds customers that appear twice in a table, with 8 bytes of memory per customer.
//!
//! The hashes of the ids are distributed into buckets by their first bits, and each bucket is sorted at the end, in the
//! cache. Only if two hashes are equal is the table read once more, to compare the ids themselves, so the result is
//! certain.

use super::prepare::Prepared;
use crate::{Error, Source};
use armwise::id_of;
use rayon::prelude::*;
use std::collections::HashMap;

/// By the first eight bits of the hash.
const PLACES: usize = 256;

/// The hashes of all customers, and how many may not be chosen.
#[derive(Debug)]
pub(super) struct Customers {
    places: Vec<Vec<u64>>,
    count: usize,
    /// How many there are, where not all of them were seen here.
    pub(super) all: Option<u64>,
    pub(super) resting: u64,
    pub(super) hold_out: u64,
}

impl Default for Customers {
    fn default() -> Self {
        Self { places: vec![Vec::new(); PLACES], count: 0, all: None, resting: 0, hold_out: 0 }
    }
}

impl Customers {
    pub(super) fn len(&self) -> u64 {
        self.all.unwrap_or(self.count as u64)
    }

    pub(super) fn extend(&mut self, part: &Prepared) {
        part.ids.iter().for_each(|id| self.places[(id >> 56) as usize].push(*id));
        self.count += part.ids.len();
        self.resting += part.resting;
        self.hold_out += part.hold_out_customers;
    }

    /// Refuses a customer that appears twice among those seen.
    pub(super) fn check(&mut self, table: &dyn Source, column: &str) -> Result<(), Error> {
        let twice = |place: &mut Vec<u64>| {
            place.sort_unstable();
            place.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect::<Vec<u64>>()
        };
        let mut suspects = self.places.par_iter_mut().map(twice).collect::<Vec<_>>().concat();
        suspects.dedup();
        if suspects.is_empty() { Ok(()) } else { compare(table, column, &suspects) }
    }
}

/// Reads the table once more and refuses the first row that repeats an earlier customer, among customers with these
/// hashes (ascending).
fn compare(table: &dyn Source, column: &str, suspects: &[u64]) -> Result<(), Error> {
    let mut seen: HashMap<String, u64> = HashMap::new();
    for rows in table.batches(Some(&[column.to_owned()]))? {
        let rows = rows?;
        rows.each_text(column, |row, text| {
            let Some(text) = text.filter(|text| suspects.binary_search(&id_of(text)).is_ok()) else { return Ok(()) };
            let second = rows.number(row);
            match seen.insert(text.to_owned(), second) {
                None => Ok(()),
                Some(first) => {
                    let (table, customer) = (table.name().to_owned(), text.to_owned());
                    Err(Error::DuplicateCustomer { table, customer, first, second })
                }
            }
        })?;
    }
    Ok(())
}
