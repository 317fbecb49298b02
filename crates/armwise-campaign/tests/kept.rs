//! Columns that a campaign keeps of its decisions: the table is read once for them, and very large rounds keep none.

#![allow(clippy::unwrap_used, reason = "a test that unwraps says what it met")]

mod common;

use armwise_campaign::{
    Error, Memory, Source,
    config::Config,
    core::Sha,
    init,
    round::{ChooseOptions, Warning, choose},
    table::{Batches, ColumnType},
};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use common::{Folder, noise};
use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

/// Counts how often all rows are read.
struct Counting(Memory, AtomicUsize);

impl Source for Counting {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn columns(&self) -> Result<Vec<(String, ColumnType)>, Error> {
        self.0.columns()
    }

    fn batches(&self, only: Option<&[String]>) -> Result<Batches, Error> {
        self.1.fetch_add(1, Relaxed);
        self.0.batches(only)
    }

    fn spread(
        &self,
        only: &[String],
        runs: usize,
        run: usize,
        large: usize,
    ) -> Result<Option<(Batches, usize)>, Error> {
        self.0.spread(only, runs, run, large)
    }

    fn digest(&self) -> Result<Sha, Error> {
        self.0.digest()
    }
}

fn table(rows: u64, columns: u64) -> Counting {
    let customers: ArrayRef = Arc::new((0..rows).map(|row| Some(format!("c{row}"))).collect::<StringArray>());
    let numbers = |column: u64| -> (String, ArrayRef) {
        (format!("x{column}"), Arc::new(Float64Array::from_iter_values((0..rows).map(|row| noise(column, row)))))
    };
    let all = std::iter::once(("customer".to_owned(), customers)).chain((0..columns).map(numbers));
    Counting(Memory::new("the table", vec![RecordBatch::try_from_iter(all).unwrap()]).unwrap(), AtomicUsize::new(0))
}

fn config(rules: &str) -> Config {
    Config::parse(&format!("customer = \"customer\"\n{rules}"), Path::new("rules")).unwrap()
}

#[test]
fn the_table_is_read_once_for_the_choice_and_the_columns() {
    let (folder, table) = (Folder::new("kept"), table(150_000, 3));
    let rules = config("keep = \"all\"\nprobabilities = \"never\"\n[[promotion]]\nname = \"mail\"\nquota = 500\n");
    let mut campaign = init(&folder.path("c.armwise"), &table.0, rules).unwrap().0;
    let choice = choose(&campaign, &table, ChooseOptions::default(), &|_| ()).unwrap();
    assert_eq!(table.1.load(Relaxed), 1);
    choice.commit(&mut campaign, None).unwrap();
    let (columns, values) = campaign.originals(1).unwrap().unwrap();
    assert_eq!(columns, ["x0", "x1", "x2"]);
    for (sent, original) in campaign.sent(1).unwrap().iter().zip(values) {
        let row: u64 = sent.customer[1..].parse().unwrap();
        let expected: Vec<f64> = (0..3).map(|column| noise(column, row)).collect();
        let found: Vec<f64> = original.values.iter().map(|text| text.as_ref().unwrap().parse().unwrap()).collect();
        assert_eq!(found, expected, "{}", sent.customer);
    }
}

#[test]
fn a_very_large_round_keeps_no_columns_and_says_so_unless_all_are_asked_for() {
    let table = table(40_000, 30);
    for (keep, kept) in [("used", false), ("all", true)] {
        let folder = Folder::new("kept");
        let rules = config(&format!("keep = \"{keep}\"\n[[promotion]]\nname = \"mail\"\nquota = 36000\n"));
        let mut campaign = init(&folder.path("c.armwise"), &table.0, rules).unwrap().0;
        let choice = choose(&campaign, &table, ChooseOptions::default(), &|_| ()).unwrap();
        let warned = choice.summary.warnings.contains(&Warning::ColumnsNotKept { sends: 36_000 });
        assert_eq!(warned, !kept, "keep = {keep}");
        choice.commit(&mut campaign, None).unwrap();
        assert_eq!(campaign.originals(1).unwrap().is_some(), kept, "keep = {keep}");
        assert!(campaign.verify().unwrap().good);
    }
}
