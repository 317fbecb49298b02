//! Sorts arms into classes: the arms that are in exactly the same groups.
//!
//! The class of an arm is found from its columns by small tables that grow as new values are
//! met, so nothing is stored per arm.

use super::{Group, Limits};
use crate::oracle::columns::Values;
use crate::{Error, Pick, Scores};
use std::collections::HashMap;

/// Finds the class of an arm, or of a row.
pub(in crate::oracle) struct Sorter<'a> {
    columns: Vec<Reader<'a>>,
    /// The class of a (class by the columns before, kind in this column), for each column.
    combined: Vec<HashMap<(usize, usize), usize>>,
    /// The limits of each group: first those that list values, then those found in the data.
    pub(in crate::oracle) groups: Vec<Limits>,
    /// For each prefix of the columns, from none to all, the groups (ascending) of each class that these columns make.
    prefixes: Vec<Vec<Vec<usize>>>,
}

/// A column and what its values mean.
struct Reader<'a> {
    name: String,
    /// Arms of other blocks are in no group of this column.
    block: Option<usize>,
    values: Values<'a>,
    /// The kind of each value met: the number in `kinds`.
    kind_of: HashMap<u64, usize>,
    /// The groups that a kind is in.
    kinds: Vec<Vec<usize>>,
    /// The groups of a listed value.
    listed: HashMap<u64, Vec<usize>>,
    /// The places in the constraint of groups made for every value.
    every: Vec<usize>,
    /// The one kind of all values that are in no group, so that a column of distinct numbers needs no table.
    no_group: Option<usize>,
    last: Option<(u64, usize)>,
}

impl<'a> Sorter<'a> {
    pub(in crate::oracle) fn new(given: &[Group], scores: &Scores<'a>) -> Result<Self, Error> {
        let mut columns: Vec<Reader<'a>> = Vec::new();
        let mut groups = Vec::new();
        for (place, group) in given.iter().enumerate() {
            let known = columns.iter().position(|of| of.name == group.column && of.block == group.block);
            let at = known.unwrap_or(columns.len());
            if known.is_none() {
                columns.push(Reader::new(group, Values::of(scores, &group.column)?));
            }
            let Some(values) = group.values() else {
                group.limits(place, &[])?;
                columns[at].every.push(place);
                continue;
            };
            for &value in values {
                if !value.is_finite() {
                    let text = format!("group of column {:?}: a value is {value}; it must be finite", group.column);
                    return Err(Error::Constraint(text));
                }
                let listed = columns[at].listed.entry((value + 0.0).to_bits()).or_default();
                if listed.last() != Some(&groups.len()) {
                    listed.push(groups.len());
                }
            }
            groups.push(group.limits(place, values)?);
        }
        let combined = columns.iter().map(|_| HashMap::new()).collect();
        let mut prefixes = vec![Vec::new(); columns.len() + 1];
        prefixes[0].push(Vec::new());
        Ok(Self { columns, combined, groups, prefixes })
    }

    /// The groups of each class, ascending.
    pub(in crate::oracle) fn classes(&self) -> &[Vec<usize>] {
        &self.prefixes[self.columns.len()]
    }

    /// The class of an arm, for the groups that the sorter was made with.
    pub(in crate::oracle) fn class(&mut self, given: &[Group], arm: Pick) -> Result<usize, Error> {
        self.find(given, arm, false)
    }

    /// The class of a row: its groups in every block.
    pub(in crate::oracle) fn class_of_row(&mut self, given: &[Group], row: usize) -> Result<usize, Error> {
        self.find(given, Pick { row, block: 0 }, true)
    }

    fn find(&mut self, given: &[Group], arm: Pick, any_block: bool) -> Result<usize, Error> {
        let mut class = 0;
        for (at, column) in self.columns.iter_mut().enumerate() {
            let inside = any_block || column.block.is_none_or(|block| block == arm.block);
            let kind = if inside { column.kind(given, arm, &mut self.groups)? } else { column.of_none() };
            let next = self.prefixes[at + 1].len();
            let found = *self.combined[at].entry((class, kind)).or_insert(next);
            if found == next {
                let mut groups = [&self.prefixes[at][class][..], &column.kinds[kind]].concat();
                groups.sort_unstable();
                self.prefixes[at + 1].push(groups);
            }
            class = found;
        }
        Ok(class)
    }
}

impl<'a> Reader<'a> {
    fn new(group: &Group, values: Values<'a>) -> Self {
        Self {
            name: group.column.clone(),
            block: group.block,
            values,
            kind_of: HashMap::new(),
            kinds: Vec::new(),
            listed: HashMap::new(),
            every: Vec::new(),
            no_group: None,
            last: None,
        }
    }

    /// The kind of arms in no group of this column.
    fn of_none(&mut self) -> usize {
        *self.no_group.get_or_insert_with(|| {
            self.kinds.push(Vec::new());
            self.kinds.len() - 1
        })
    }

    /// The kind of an arm's value: equal kinds are in the same groups of this column.
    fn kind(&mut self, given: &[Group], arm: Pick, groups: &mut Vec<Limits>) -> Result<usize, Error> {
        let value = self.values.get(arm);
        let bits = value.to_bits();
        if let Some((last, kind)) = self.last
            && last == bits
        {
            return Ok(kind);
        }
        if value.is_nan() {
            let (column, must) = (self.name.clone(), "a number");
            return Err(Error::ColumnValue { column, row: arm.row, block: arm.block, value, must });
        }
        let kind = if let Some(&kind) = self.kind_of.get(&bits) {
            kind
        } else {
            let mut member_of = self.listed.get(&bits).cloned().unwrap_or_default();
            for &place in &self.every {
                member_of.push(groups.len());
                groups.push(given[place].limits(place, &[value])?);
            }
            if member_of.is_empty() {
                self.of_none()
            } else {
                self.kind_of.insert(bits, self.kinds.len());
                self.kinds.push(member_of);
                self.kinds.len() - 1
            }
        };
        self.last = Some((bits, kind));
        Ok(kind)
    }
}
