//! Every customer of the table, remembered in 16 bytes: to find one that stands twice, and the segment of the chosen.
//!
//! The decision to know: identity is 96 bits of two hashes of the id, so that 1e7 customers take 160 MB and a false
//! alarm has a chance of about 1e-15.

use super::part::Prepared;
use crate::{Error, table::Table};
use armwise::id_of;
use rayon::prelude::*;
use std::collections::HashMap;

/// (id: 64 bits, check: 32 bits, place: 32 bits), sorted once all are there.
#[derive(Debug, Default)]
pub(super) struct Customers {
    keys: Vec<u128>,
    segment_of: Vec<u32>,
    segments: Vec<String>,
    codes: HashMap<String, u32>,
    pub(super) resting: u64,
    pub(super) held_out: u64,
}

/// A second hash, independent of the first: of the text backwards with a mark.
pub(super) fn check_of(name: &str) -> u32 {
    // FNV-1a: its weaknesses do not matter beside 64 good bits.
    name.bytes().rev().fold(0x811c_9dc5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

const NONE: u32 = u32::MAX;

impl Customers {
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn extend(&mut self, part: &Prepared) {
        let first = u128::from(part.first) - 1;
        let keys = part.ids.iter().zip(&part.checks).zip(0_u128..);
        self.keys
            .extend(keys.map(|((&id, &check), row)| u128::from(id) << 64 | u128::from(check) << 32 | (first + row)));
        self.resting += part.resting;
        self.held_out += part.held_out;
        for segment in &part.segments {
            let code = segment.as_ref().map_or(NONE, |segment| {
                let next = self.segments.len() as u32;
                *self.codes.entry(segment.clone()).or_insert_with(|| {
                    self.segments.push(segment.clone());
                    next
                })
            });
            self.segment_of.push(code);
        }
    }

    /// Sorts, and refuses a customer that stands twice.
    pub(super) fn finish(&mut self, table: &Table, column: &str) -> Result<(), Error> {
        self.keys.par_sort_unstable();
        let twice = self.keys.par_windows(2).filter(|pair| pair[0] >> 32 == pair[1] >> 32);
        // The first row that repeats an earlier one, whatever the order of the hashes.
        let Some(pair) = twice.min_by_key(|pair| pair[1] as u32) else { return Ok(()) };
        let (first, second) = (u64::from(pair[0] as u32) + 1, u64::from(pair[1] as u32) + 1);
        let customer = name_at(table, column, first)?;
        Err(Error::DuplicateCustomer { table: table.name().to_owned(), customer, first, second })
    }

    /// Names both rows where the library found a customer twice.
    pub(super) fn blame(&self, error: armwise::Error, table: &Table) -> Error {
        let armwise::Error::DuplicateName { name, .. } = &error else { return error.into() };
        let wanted = u128::from(id_of(name)) << 32 | u128::from(check_of(name));
        let mut rows: Vec<u64> =
            self.keys.iter().filter(|&&key| key >> 32 == wanted).map(|&key| u64::from(key as u32) + 1).collect();
        rows.sort_unstable();
        match rows[..] {
            [first, second, ..] => {
                Error::DuplicateCustomer { table: table.name().to_owned(), customer: name.clone(), first, second }
            }
            _ => error.into(),
        }
    }

    /// The segment of a customer; the keys are sorted.
    pub(super) fn segment(&self, customer: &str) -> Option<String> {
        if self.segment_of.is_empty() {
            return None;
        }
        let wanted = u128::from(id_of(customer)) << 32 | u128::from(check_of(customer));
        let place = self.keys.partition_point(|key| key >> 32 < wanted);
        let row = *self.keys.get(place)? as u32;
        self.segments.get(self.segment_of[row as usize] as usize).cloned()
    }
}

/// The customer in a row, by reading the table once more.
fn name_at(table: &Table, column: &str, row: u64) -> Result<String, Error> {
    for rows in table.batches(Some(&[column.to_owned()]))? {
        let rows = rows?;
        let mut found = None;
        rows.each_text(column, |at, text| {
            if rows.number(at) == row {
                found = text.map(str::to_owned);
            }
            Ok(())
        })?;
        if let Some(found) = found {
            return Ok(found);
        }
    }
    Ok(String::new())
}
