//! A table in parts on other machines gives the round that the whole table gives: sends, hold-out, summary.

#![allow(clippy::unwrap_used, reason = "a test that unwraps says what it met")]

mod common;

use armwise_campaign::{
    Error, Memory, Source,
    core::{Feedback, Sha},
    round::{ChooseOptions, Elsewhere, Found, Plan, choose},
    table::{Batches, ColumnType},
};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray};
use common::{Folder, begin, below, customers, learn_text, noise};
use std::{
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

const ROWS: u64 = 3_000;

/// The table of `customers`, in memory.
fn table() -> RecordBatch {
    let texts = |text: &dyn Fn(u64) -> String| -> ArrayRef {
        Arc::new((0..ROWS).map(|row| Some(text(row))).collect::<StringArray>())
    };
    let numbers = |number: &dyn Fn(u64) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from((0..ROWS).map(number).collect::<Vec<_>>()))
    };
    let columns: [(&str, ArrayRef); 5] = [
        ("customer", texts(&|row| format!("C{row:04}"))),
        ("age", numbers(&|row| 18.0 + (noise(1, row) * 70.0).floor())),
        ("income", numbers(&|row| (noise(2, row) * 1e6).floor() / 64.0)),
        ("region", texts(&|row| ["north", "south", "east"][below(3, row, 3)].to_owned())),
        ("may_call", Arc::new(BooleanArray::from((0..ROWS).map(|row| noise(4, row) < 0.6).collect::<Vec<_>>()))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// Machines with a part each. The plan reaches them as text.
struct Machines {
    whole: Memory,
    parts: Vec<Vec<RecordBatch>>,
    /// The rows of the sample, if there is one, and how many rows the table is said to have.
    sample: Option<(RecordBatch, usize)>,
    passes: AtomicUsize,
    sent: AtomicUsize,
}

impl Machines {
    fn new(table: &RecordBatch, parts: usize, sample: Option<(RecordBatch, usize)>) -> Self {
        let size = table.num_rows().div_ceil(parts);
        let cut = |first: usize| {
            let part = table.slice(first, size.min(table.num_rows() - first));
            let batches = (0..part.num_rows()).step_by(250);
            batches.map(|from| part.slice(from, 250.min(part.num_rows() - from))).collect()
        };
        let parts = (0..table.num_rows()).step_by(size).map(cut).chain([Vec::new()]).collect();
        let whole = Memory::new("the table", vec![table.clone()]).unwrap();
        Self { whole, parts, sample, passes: AtomicUsize::new(0), sent: AtomicUsize::new(0) }
    }
}

impl Source for Machines {
    fn name(&self) -> &str {
        self.whole.name()
    }

    fn columns(&self) -> Result<Vec<(String, ColumnType)>, Error> {
        self.whole.columns()
    }

    fn batches(&self, _: Option<&[String]>) -> Result<Batches, Error> {
        panic!("nobody reads all rows");
    }

    fn spread(&self, only: &[String], _: usize, _: usize, _: usize) -> Result<Option<(Batches, usize)>, Error> {
        let Some((sample, rows)) = &self.sample else { return Ok(None) };
        let batches = Memory::new("the sample", vec![sample.clone()])?.batches(Some(only))?;
        Ok(Some((batches, *rows)))
    }

    fn digest(&self) -> Result<Sha, Error> {
        self.whole.digest()
    }

    fn elsewhere(&self) -> Option<&dyn Elsewhere> {
        Some(self)
    }
}

impl Elsewhere for Machines {
    fn candidates(&self, plan: &Plan) -> Result<Found, Error> {
        self.passes.fetch_add(1, Relaxed);
        let text = serde_json::to_string(plan).unwrap();
        let mut all = Found::default();
        for (number, part) in self.parts.iter().enumerate() {
            let plan: Plan = serde_json::from_str(&text).unwrap();
            let schema = table().schema();
            let part = Batches::new(&format!("part {number}"), schema, part.clone().into_iter().map(Ok));
            let found = plan.candidates(part)?;
            self.sent.fetch_add(found.batches.iter().map(RecordBatch::num_rows).sum(), Relaxed);
            all.batches.extend(found.batches);
            all.counts.add(&found.counts);
        }
        Ok(all)
    }
}

const RULES: [&str; 4] = [
    "segment = \"region\"\n[limits]\nhold_out = 0.2\nrest = 1\n[[promotion]]\nname = \"mail\"\nquota = 40\n\
     [[promotion]]\nname = \"call\"\nquota = { max = 20 }\neligible = \"may_call\"\n",
    "[limits]\nbudget = 90\n[[promotion]]\nname = \"mail\"\nquota = { max = 60 }\ncost = 1\n[[promotion]]\nname = \"call\"\n\
     quota = { max = 30 }\ncost = 3\n",
    "[[promotion]]\nname = \"mail\"\nquota = 30\n[[limits.group]]\ncolumn = \"region\"\nvalue = \"north\"\nmax = 5\n",
    "[algorithm]\nname = \"greedy\"\n[[promotion]]\nname = \"mail\"\nquota = 50\n",
];

#[test]
fn a_table_in_parts_gives_the_round_of_the_whole() {
    for (rules, parts) in RULES.iter().flat_map(|rules| [(rules, 1), (rules, 5)]) {
        let table = table();
        let whole = Memory::new("the table", vec![table.clone()]).unwrap();
        let folder = Folder::new("elsewhere");
        let path = folder.write("customers.csv", customers(ROWS));
        // A probability depends on everybody, and of rows elsewhere only candidates come.
        let rules = format!("probabilities = \"never\"\n{rules}");
        let mut campaign = begin(&folder, &path, &rules).unwrap();
        for round in 1..=3 {
            let expected =
                choose(&campaign, &whole, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ()).unwrap();
            // Without a sample, with an honest one, and with one that guesses far too high.
            let some = table.slice(500, 600);
            for (sample, passes) in [(None, 1), (Some((some.clone(), ROWS as usize)), 1), (Some((some, 12)), 2)] {
                let machines = Machines::new(&table, parts, sample);
                let found =
                    choose(&campaign, &machines, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())
                        .unwrap();
                assert_eq!(found.sent, expected.sent, "round {round}, {parts} parts, {rules}");
                let summary = |choice: &armwise_campaign::round::Choice| {
                    let mut summary = choice.summary.clone();
                    summary.prices.clear(); // those of the candidates, as the library says
                    summary
                };
                assert_eq!(summary(&found), summary(&expected), "round {round}, {parts} parts, {rules}");
                let read = machines.passes.load(Relaxed);
                assert!(read <= passes, "{read} passes over the table");
            }
            expected.commit(&mut campaign, None).unwrap();
            let mut answers = String::from("decision,reward\n");
            for sent in campaign.sent(round).unwrap() {
                let _ = writeln!(answers, "{},{}", sent.id, u8::from(noise(round, sent.id.number.into()) < 0.3));
            }
            learn_text(&mut campaign, &folder, Feedback::Rewards, &answers).unwrap();
        }
    }
}

#[test]
fn only_candidates_are_sent() {
    let (table, folder) = (table(), Folder::new("elsewhere"));
    let path = folder.write("customers.csv", customers(ROWS));
    let campaign = begin(&folder, &path, RULES[3]).unwrap();
    let sample = table.slice(0, 1_000);
    let machines = Machines::new(&table, 3, Some((sample, ROWS as usize)));
    choose(&campaign, &machines, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ()).unwrap();
    let sent = machines.sent.load(Relaxed) / machines.passes.load(Relaxed);
    assert!(sent < ROWS as usize / 4, "{sent} rows for 50 sends");
}

#[test]
fn a_bad_row_is_named_by_its_part() {
    let (table, folder) = (table(), Folder::new("elsewhere"));
    let path = folder.write("customers.csv", customers(ROWS));
    let campaign = begin(&folder, &path, RULES[2]).unwrap();
    let mut columns = table.columns().to_vec();
    let mut ages: Vec<f64> = (0..ROWS).map(|row| 20.0 + row as f64 / 100.0).collect();
    ages[2_720] = f64::INFINITY;
    columns[1] = Arc::new(Float64Array::from(ages));
    let bad = RecordBatch::try_new(table.schema(), columns).unwrap();
    let machines = Machines::new(&bad, 3, None);
    let error = choose(&campaign, &machines, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())
        .unwrap_err()
        .to_string();
    assert!(error.contains("part 2") && error.contains("row 721") && error.contains("age"), "{error}");
}
