//! Strata: rows that are in the same groups, so that all limits treat them alike.

use crate::Error;
use crate::oracle::{Group, Scores, columns::Values, quotas};
use std::collections::HashMap;

/// Which rows are in the same groups.
pub(super) struct Strata {
    /// The stratum of each row.
    pub(super) of_rows: Vec<u32>,
    /// How many rows each stratum has, those without an eligible arm left out.
    pub(super) sizes: Vec<usize>,
    pub(super) groups: Vec<quotas::Limits>,
    /// The groups of each stratum, ascending.
    pub(super) classes: Vec<Vec<usize>>,
}

impl Strata {
    /// The same with rows of a stratum eligible for the same blocks, in an order that does not depend on that of the rows.
    pub(super) fn by_eligibility(self, scores: &Scores<'_>) -> Self {
        let Self { of_rows, groups, classes, .. } = self;
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by(|&a, &b| groups[a].by_order(&groups[b]));
        let mut place_of = vec![0; order.len()];
        order.iter().enumerate().for_each(|(place, &group)| place_of[group] = place);
        // The class of a row, then a bit for each block.
        let mut kinds: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut key = Vec::new();
        let mut number_of = Vec::with_capacity(scores.len());
        for (row, values) in scores.values().chunks_exact(scores.blocks()).enumerate() {
            key.clear();
            key.push(of_rows.get(row).map_or(0, |&class| class.into()));
            let bits =
                |part: &[f64]| part.iter().fold(0, |bits, &score| bits << 1 | u64::from(score > f64::NEG_INFINITY));
            key.extend(values.chunks(64).map(bits));
            let number = kinds.len();
            let known = kinds.get(&key[..]).copied();
            if known.is_none() {
                kinds.insert(key.clone(), number);
            }
            number_of.push(known.unwrap_or(number));
        }
        let class = |key: &[u64]| {
            let mut class: Vec<usize> = classes[key[0] as usize].iter().map(|&group| place_of[group]).collect();
            class.sort_unstable();
            class
        };
        let mut kinds: Vec<(Vec<usize>, Vec<u64>, usize)> =
            kinds.into_iter().map(|(key, number)| (class(&key), key[1..].to_vec(), number)).collect();
        kinds.sort_unstable();
        let mut place = vec![0; kinds.len()];
        kinds.iter().enumerate().for_each(|(new, kind)| place[kind.2] = new as u32);
        let of_rows: Vec<u32> = number_of.into_iter().map(|number| place[number]).collect();
        let mut sizes = vec![0; kinds.len()];
        of_rows.iter().for_each(|&stratum| sizes[stratum as usize] += 1);
        let groups = order.into_iter().map(|group| groups[group].clone()).collect();
        Self { of_rows, sizes, groups, classes: kinds.into_iter().map(|kind| kind.0).collect() }
    }

    pub(super) fn find(given: &[Group], scores: &Scores<'_>) -> Result<Self, Error> {
        if given.is_empty() {
            let (of_rows, groups) = Default::default();
            return Ok(Self { of_rows, sizes: vec![scores.len()], groups, classes: vec![Vec::new()] });
        }
        for Group { column, block, .. } in given {
            if !matches!(Values::of(scores, column)?, Values::PerRow(_)) && scores.blocks() > 1 {
                return Err(Error::Constraint(format!(
                    "group of column {column:?}: groups of an assignment are groups of rows, so the column must have one \
                     value per row; for a group within one block, give the group that block"
                )));
            }
            if let Some(block) = block.filter(|&block| block >= scores.blocks()) {
                let text = format!("group of column {column:?}: there is no block {block}, only {}", scores.blocks());
                return Err(Error::Constraint(text));
            }
        }
        let mut sorter = quotas::Sorter::new(given, scores)?;
        let mut of_rows = vec![0; scores.len()];
        let mut sizes = Vec::new();
        for (row, values) in scores.values().chunks_exact(scores.blocks()).enumerate() {
            // A row without an eligible arm is never looked at, so its groups do not matter.
            if values.iter().all(|&score| score == f64::NEG_INFINITY) {
                continue;
            }
            let class = sorter.class_of_row(given, row)?;
            if class >= sizes.len() {
                sizes.resize(class + 1, 0);
            }
            sizes[class] += 1;
            of_rows[row] = class as u32;
        }
        let mut classes = sorter.classes().to_vec();
        if classes.is_empty() {
            (classes, sizes) = (vec![Vec::new()], vec![0]);
        }
        Ok(Self { of_rows, sizes, groups: sorter.groups, classes })
    }
}
