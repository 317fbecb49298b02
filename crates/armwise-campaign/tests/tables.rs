//! Tables: the same customers give the same sends in every format, order and cut; bad tables are refused with the place.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error, Source,
    core::{Sent, sends},
    recipe::Fitted,
    round::{ChooseOptions, choose},
    table::Table,
};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray};
use common::{Folder, TWO, begin, choose_round, customers, open};
use flate2::{Compression, write::GzEncoder};
use parquet::{arrow::ArrowWriter, file::properties::WriterProperties};
use std::{fs::File, io::Write, path::Path, sync::Arc};

/// The CSV of customers as an Arrow batch.
fn batch(csv: &str) -> RecordBatch {
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let texts =
        |place: usize| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row[place]))) };
    let numbers = |place: usize| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row[place].parse::<f64>().unwrap())))
    };
    let flags: ArrayRef = Arc::new(rows.iter().map(|row| Some(row[4] == "true")).collect::<BooleanArray>());
    let columns = [
        ("customer", texts(0)),
        ("age", numbers(1)),
        ("income", numbers(2)),
        ("region", texts(3)),
        ("may_call", flags),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn write_parquet(path: &Path, batch: &RecordBatch, row_group: usize) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(row_group)).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

const RULES: &str = "segment = \"region\"\n[limits]\nhold_out = 0.1\n\
    [[promotion]]\nname = \"mail\"\nquota = 40\n[[promotion]]\nname = \"call\"\nquota = { max = 20 }\neligible = \"may_call\"\n\
    [[features.column]]\nname = \"age\"\nkind = \"numeric\"\n[[features.column]]\nname = \"income\"\nkind = \"numeric\"\n\
    [[features.column]]\nname = \"region\"\nkind = \"categorical\"\n";

fn chosen(campaign: &Campaign, table: &Path) -> Vec<Sent> {
    choose(campaign, &open(table), ChooseOptions::default(), &|_| ()).unwrap().sent
}

#[test]
fn format_order_cut_and_threads_do_not_change_the_sends() {
    let folder = Folder::new("formats");
    let csv = customers(700);
    let table = folder.write("customers.csv", &csv);
    let mut campaign = begin(&folder, &table, RULES).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let text = "decision,reward\nr1-1,1\nr1-5,0\nr1-9,1\nr1-45,1\n";
    common::learn_text(&mut campaign, &folder, armwise_campaign::core::Feedback::Rewards, text).unwrap();
    let expected = chosen(&campaign, &table);
    assert!(expected.len() > 55 && expected.iter().any(|sent| sent.hold_out));

    let batch = batch(&csv);
    for row_group in [7, 100, 1000] {
        let path = folder.path(&format!("c{row_group}.parquet"));
        write_parquet(&path, &batch, row_group);
        assert_eq!(chosen(&campaign, &path), expected, "row groups of {row_group}");
    }
    let path = folder.path("c.csv.gz");
    let mut gz = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
    gz.write_all(csv.as_bytes()).unwrap();
    gz.finish().unwrap();
    assert_eq!(chosen(&campaign, &path), expected, "gzip");
    let path = folder.path("c.arrow");
    let mut writer = arrow_ipc::writer::FileWriter::try_new(File::create(&path).unwrap(), &batch.schema()).unwrap();
    for cut in 0..7 {
        writer.write(&batch.slice(cut * 100, 100)).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(chosen(&campaign, &path), expected, "Arrow file");
    let path = folder.path("stream.arrow");
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(File::create(&path).unwrap(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    assert_eq!(chosen(&campaign, &path), expected, "Arrow stream");

    let mut lines: Vec<&str> = csv.lines().skip(1).collect();
    lines.reverse();
    lines.rotate_left(123);
    let path =
        folder.write("permuted.csv", format!("customer,age,income,region,may_call\r\n{}\r\n", lines.join("\r\n")));
    assert_eq!(chosen(&campaign, &path), expected, "permuted rows");
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let path = campaign.path().to_owned();
        let found = pool.install(|| chosen(&Campaign::read(&path).unwrap(), &table));
        assert_eq!(found, expected, "{threads} threads");
    }
    // The recipe too: the same campaign begun from the permuted Parquet.
    let again = Folder::new("formats-again");
    let path = again.path("c.parquet");
    let order = arrow_array::UInt64Array::from_iter_values((0..700).rev());
    let columns = batch.columns().iter().map(|column| {
        let keep: Vec<ArrayRef> = order.values().iter().map(|&row| column.slice(row as usize, 1)).collect();
        let parts: Vec<&dyn arrow_array::Array> = keep.iter().map(AsRef::as_ref).collect();
        arrow_select::concat::concat(&parts).unwrap()
    });
    let reversed = RecordBatch::try_new(batch.schema(), columns.collect()).unwrap();
    write_parquet(&path, &reversed, 64);
    let other = begin(&again, &path, RULES).unwrap();
    assert_eq!(other.recipe(), campaign.recipe());
}

#[test]
fn written_sends_can_be_read_back() {
    let folder = Folder::new("written");
    let table = folder.write("customers.csv", customers(60).replace("C0007", "\"C,\"\"7\""));
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let sent = campaign.sent(1).unwrap();
    for name in ["sends.csv", "sends.parquet"] {
        let path = folder.path(name);
        sends(campaign.tag(), &sent).write(&path).unwrap().publish().unwrap();
        let rows = open(&path).batches(None).unwrap().next().unwrap().unwrap();
        let mut names = Vec::new();
        rows.each_text("customer", |_, text| {
            names.push(text.unwrap().to_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(names, sent.iter().map(|sent| sent.customer.clone()).collect::<Vec<_>>());
        assert_eq!(rows.numbers("score").unwrap(), sent.iter().map(|sent| sent.score).collect::<Vec<_>>());
    }
}

/// Bad tables: the message, and that nothing has changed.
#[test]
fn bad_tables_are_refused_with_row_and_column() {
    let folder = Folder::new("bad");
    let good = customers(60);
    let table = folder.write("customers.csv", &good);
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    choose_round(&mut campaign, &table).unwrap();
    let head = campaign.head();
    let line = |number: usize, with: &str| {
        let mut lines: Vec<&str> = good.lines().collect();
        lines[number] = with;
        lines.join("\n").into_bytes()
    };
    let huge = format!("C0002,30,{},north,true", "9".repeat(10 << 20));
    let cases: Vec<(&str, Vec<u8>, &[&str])> = vec![
        ("missing.csv", good.replace("income", "salary").into_bytes(), &["\"income\" is missing", "salary"]),
        ("type.csv", line(3, "C0002,thirty,1,north,true"), &["row 3", "\"age\"", "\"thirty\" is not a number"]),
        ("twice.csv", line(9, "C0002,30,1,north,true"), &["\"C0002\"", "rows 3 and 9"]),
        ("empty.csv", Vec::new(), &["empty"]),
        ("header.csv", b"customer,age,income,region,may_call\n".to_vec(), &["no rows"]),
        ("quote.csv", line(3, "C0002,\"30\"1,1,north,true"), &["row 3", "\"age\"", "closing quote"]),
        ("open.csv", line(3, "C0002,30,1,\"north,true"), &["row 3", "\"region\"", "never closed"]),
        ("inner.csv", line(3, "C0002,3\"0,1,north,true"), &["row 3", "\"age\"", "quote"]),
        ("nan.csv", line(3, "C0002,NaN,1,north,true"), &["row 3", "\"age\"", "missing"]),
        ("infinite.csv", line(3, "C0002,inf,1,north,true"), &["row 3", "\"age\"", "finite"]),
        ("gap.csv", line(3, "C0002,,1,north,true"), &["row 3", "\"age\"", "missing"]),
        ("id.csv", line(3, ",30,1,north,true"), &["row 3", "\"customer\"", "missing"]),
        ("short.csv", line(3, "C0002,30"), &["row 3", "2 fields"]),
        ("huge.csv", line(3, &huge), &["row 3", "\"income\"", "1 MB"]),
        ("utf8.csv", [good.as_bytes(), b"X,1,1,\xff\xfe,true\n"].concat(), &["row 61", "\"region\"", "not UTF-8"]),
        ("parquet.parquet", good.clone().into_bytes(), &["parquet.parquet"]),
        ("arrow.arrow", good.clone().into_bytes(), &["arrow.arrow"]),
        ("gz.csv", [&[0x1f, 0x8b], good.as_bytes()].concat(), &["gz.csv"]),
    ];
    for (name, bytes, parts) in cases {
        let path = folder.write(name, bytes);
        let error = choose_round(&mut campaign, &path).expect_err(name);
        let of_the_table = matches!(error, Error::Cell { .. } | Error::Table { .. } | Error::DuplicateCustomer { .. });
        assert!(of_the_table, "{name}: {error}");
        let message = error.to_string();
        assert!(message.contains(name) && message.len() < 400, "{message}");
        for part in parts {
            assert!(message.contains(part), "{name}: {message}");
        }
        assert_eq!(campaign.head(), head, "{name}");
    }
    assert_eq!(campaign.rounds().len(), 1);
    assert!(matches!(Table::open(&folder.path("none.csv"), None), Err(Error::NotFound { .. })));
    assert!(matches!(Table::open(&folder.path("table.xls"), None), Err(Error::UnknownFormat { .. })));
}

#[test]
fn the_recipe_standardises_and_counts_what_is_odd() {
    let folder = Folder::new("recipe");
    let table = folder.write("c.csv", "customer,n,k,v\na,1,x,1;0\nb,3,y,\"[0, 2]\"\nc,,x,0 0\n");
    let rules = format!(
        "{}[[features.column]]\nname = \"n\"\nkind = \"numeric\"\nmissing = \"mean\"\n\
         [[features.column]]\nname = \"k\"\nkind = \"categorical\"\n[[features.column]]\nname = \"v\"\nkind = \"vector\"\n",
        "[[promotion]]\nname = \"p\"\nquota = 1\n"
    );
    let campaign = begin(&folder, &table, &rules).unwrap();
    let recipe = campaign.recipe();
    let Fitted::Numeric { mean, sd, .. } = &recipe.columns[0] else { panic!("{recipe:?}") };
    assert_eq!((*mean, *sd), (2.0, 1.0));
    assert_eq!(recipe.labels(), ["(constant)", "n", "k = x", "k = y", "v[0]", "v[1]"]);
    let rows = open(&table).batches(None).unwrap().next().unwrap().unwrap();
    let (x, odd) = recipe.apply(&rows).unwrap();
    // b = (1, +1, 0, 1, 0, 2) is the longest, of length sqrt 7.
    let scale = 1.0 / 7.0_f64.sqrt();
    let expected = [[1.0, -1.0, 1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0, 0.0, 2.0], [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]];
    assert!(x.iter().zip(expected.as_flattened()).all(|(x, e)| (f64::from(*x) - e * scale).abs() < 1e-7), "{x:?}");
    assert_eq!((odd.missing["n"], odd.unseen.len(), odd.shortened), (1, 0, 0));
    let path = folder.write("odd.csv", "customer,n,k,v\nd,9,z,3 4\n");
    let (x, odd) = recipe.apply(&open(&path).batches(None).unwrap().next().unwrap().unwrap()).unwrap();
    assert_eq!((odd.unseen["k"], odd.shortened), (1, 1));
    assert!((x.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-6);
}
