//! Tables with random damage: an error or rows, never a panic, a hang or a change of the campaign.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error, Source,
    round::{ChooseOptions, choose},
    table::{Cell, Sheet, Table},
};
use arrow_array::RecordBatchReader;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use common::{Folder, TWO, begin, below, customers};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::{fs, path::Path};

/// The table of customers in another format.
fn convert(from: &Path, to: &Path) {
    let rows = Table::open(from, None).unwrap().batches(None).unwrap().next().unwrap().unwrap();
    let mut sheet = Sheet::new(&["customer", "age", "income", "region", "may_call"]);
    let texts = ["customer", "age", "income", "region", "may_call"].map(|column| rows.any_texts(column).unwrap());
    for (row, customer) in texts[0].iter().enumerate() {
        let text = |column: usize| texts[column][row].clone().unwrap();
        sheet.push(vec![
            Cell::Text(customer.clone().unwrap()),
            Cell::Whole(text(1).parse().unwrap()),
            Cell::Number(text(2).parse().unwrap()),
            Cell::Text(text(3)),
            Cell::Text(text(4)),
        ]);
    }
    sheet.write(to).unwrap().publish().unwrap();
}

/// A Parquet table as an Arrow file, and as a stream.
fn to_arrow(from: &Path, file: &Path, stream: &Path) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(from).unwrap()).unwrap().build().unwrap();
    let schema = reader.schema();
    let create = |path: &Path| fs::File::create(path).unwrap();
    let mut to_file = FileWriter::try_new(create(file), &schema).unwrap();
    let mut to_stream = StreamWriter::try_new(create(stream), &schema).unwrap();
    for batch in reader {
        let batch = batch.unwrap();
        to_file.write(&batch).unwrap();
        to_stream.write(&batch).unwrap();
    }
    to_file.finish().unwrap();
    to_stream.finish().unwrap();
}

/// Found by fuzzing: the Arrow reader panics on some damaged files, and a damaged length made it ask for gigabytes.
#[test]
fn damaged_tables_are_refused_or_read_but_never_break_anything() {
    let folder = Folder::new("mutations");
    let csv = folder.write("c.csv", customers(60));
    let parquet = folder.path("c.parquet");
    convert(&csv, &parquet);
    let (arrow, stream) = (folder.path("c.arrow"), folder.path("c.arrows"));
    to_arrow(&parquet, &arrow, &stream);
    let campaign = begin(&folder, &csv, TWO).unwrap();
    let head = campaign.head();
    let path = campaign.path().to_owned();
    drop(campaign);
    let (mut refused, mut read) = (0, 0);
    for original in [&csv, &parquet, &arrow, &stream] {
        let bytes = fs::read(original).unwrap();
        for case in 0..300 {
            let mut damaged = bytes.clone();
            for flip in 0..=below(21, case, 3) as u64 {
                let place = below(22 + flip, case, bytes.len());
                match below(30, case, 3) {
                    0 => damaged[place] ^= 1 << below(31, case, 8),
                    1 => damaged[place] = below(32, case, 256) as u8,
                    _ => damaged.truncate(place.max(1)),
                }
                if damaged.len() < bytes.len() {
                    break;
                }
            }
            let name = format!("damaged.{}", original.extension().unwrap().to_str().unwrap());
            let table = folder.write(&name, &damaged);
            let campaign = Campaign::read(&path).unwrap();
            let chosen = Table::open(&table, None).and_then(|table| {
                choose(&campaign, &table, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())
            });
            match chosen {
                Ok(choice) => {
                    read += 1;
                    assert_eq!(choice.sent.len(), 17);
                }
                Err(error) => {
                    refused += 1;
                    let of_the_table = matches!(
                        error,
                        Error::Cell { .. }
                            | Error::Table { .. }
                            | Error::DuplicateCustomer { .. }
                            | Error::Usage(_)
                            | Error::Library(_)
                    );
                    assert!(of_the_table, "{error}");
                }
            }
        }
    }
    assert!(refused > 100 && read > 50, "{refused} refused, {read} read");
    assert_eq!(Campaign::read(&path).unwrap().head(), head);
}
