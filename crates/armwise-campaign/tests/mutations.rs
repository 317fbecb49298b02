//! Tables with random damage: an error or rows, never a panic, a hang or a change of the campaign.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign,
    round::{ChooseOptions, choose},
    table::{Cell, Sheet, Table},
};
use common::{Folder, TWO, begin, below, customers};
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

#[test]
fn damaged_tables_are_refused_or_read_but_never_break_anything() {
    let folder = Folder::new("mutations");
    let csv = folder.write("c.csv", customers(60));
    let parquet = folder.path("c.parquet");
    convert(&csv, &parquet);
    let campaign = begin(&folder, &csv, TWO).unwrap();
    let head = campaign.head().to_owned();
    let path = campaign.path().to_owned();
    drop(campaign);
    let (mut refused, mut read) = (0, 0);
    for original in [&csv, &parquet] {
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
            let chosen = Table::open(&table, None)
                .and_then(|table| choose(&campaign, &table, ChooseOptions::default(), &|_| ()));
            match chosen {
                Ok(choice) => {
                    read += 1;
                    assert_eq!(choice.sent.len(), 17);
                }
                Err(error) => {
                    refused += 1;
                    assert!(error.exit_code() <= 2, "{error}");
                }
            }
        }
    }
    assert!(refused > 100 && read > 50, "{refused} refused, {read} read");
    assert_eq!(Campaign::read(&path).unwrap().head(), head);
}
