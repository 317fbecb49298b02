//! The same rows from a file and from memory: the same campaign, to the byte.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Campaign, Error, Memory, Source, complete,
    config::{Config, template},
    core::{Feedback, Sent, learn, model_hash, results, sends, why},
    init,
    round::{ChooseOptions, choose},
    table::{Sheet, Table},
};
use arrow_array::{ArrayRef, Float32Array, RecordBatch, StringArray};
use common::{Folder, customers, noise, open};
use parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder};
use std::{error::Error as _, fmt::Write, fs::File, path::Path, sync::Arc, sync::Mutex};

const RULES: &str = "customer = \"customer\"\nsegment = \"region\"\n[limits]\nhold_out = 0.1\nrest = 1\n\
    [[promotion]]\nname = \"mail\"\nquota = 40\n[[promotion]]\nname = \"call\"\nquota = { max = 20 }\neligible = \"may_call\"\n";

/// The lines of a CSV without quotes as Arrow batches of text, cut after every `cut` rows.
fn batches(csv: &str, cut: usize) -> Vec<RecordBatch> {
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let rows: Vec<Vec<&str>> = lines.collect();
    let column = |rows: &[Vec<&str>], place: usize| -> ArrayRef {
        Arc::new(rows.iter().map(|row| Some(row[place]).filter(|text| !text.is_empty())).collect::<StringArray>())
    };
    let batch = |rows: &[Vec<&str>]| {
        let columns = names.iter().enumerate().map(|(place, name)| (*name, column(rows, place), true));
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    rows.chunks(cut).map(batch).collect()
}

fn memory(csv: &str, cut: usize) -> Memory {
    Memory::new("rows", batches(csv, cut)).unwrap()
}

fn write_parquet(path: &Path, batches: &[RecordBatch]) {
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batches[0].schema(), None).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

/// A Parquet file as it is read into memory, types and all.
fn read_parquet(path: &Path) -> Memory {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    Memory::new("rows", reader.with_batch_size(100).build().unwrap().map(Result::unwrap).collect()).unwrap()
}

fn csv(sheet: &Sheet) -> String {
    let mut bytes = Vec::new();
    sheet.csv(&mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Everything that a campaign of two rounds says.
#[derive(Debug, PartialEq)]
struct Said {
    template: String,
    setup: String,
    sent: Vec<Vec<Sent>>,
    sends: Vec<String>,
    learned: Vec<String>,
    rejects: Vec<String>,
    model: String,
    results: String,
    why: Vec<String>,
}

/// Runs a campaign; `responses` makes a source of a CSV.
fn run(name: &str, table: &dyn Source, responses: &dyn Fn(&Folder, &str) -> Box<dyn Source>) -> Said {
    let folder = Folder::new(name);
    let mut config = Config::parse(RULES, Path::new("rules")).unwrap();
    let left_out = complete(&mut config, table).unwrap();
    let template = template(&config, &left_out);
    let mut campaign: Campaign = init(&folder.path("c.armwise"), table, config).unwrap().0;
    let (mut sheets, mut told, mut rejects) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=2 {
        let choice =
            choose(&campaign, table, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ()).unwrap();
        sheets.push(csv(&sends(campaign.tag(), &choice.sent)));
        choice.commit(&mut campaign, None).unwrap();
        let text = format!(
            "decision,customer,promotion,reward\nr{round}-1,,,1\nr{round}-4,,,0.5\nr{round}-4,,,0.25\nr9-9,,,1\n,C0001,mail,many\n\
             r{round}-7,,,0.125\n"
        );
        let source = responses(&folder, &text);
        for kind in [Feedback::Rewards, Feedback::Corrections] {
            let (learned, aside) = learn(&mut campaign, &*source, kind, None, None).unwrap();
            told.push(serde_json::to_string(&learned).unwrap());
            rejects.push(csv(&aside));
        }
    }
    let explained = ["C0000", "C0001", "C0002", "C0003"]
        .map(|customer| serde_json::to_string(&why(&campaign, customer, Some(2), Some(table)).unwrap()).unwrap());
    // Each campaign has a tag of its own; everything else is the same.
    let tag = campaign.tag().to_string();
    let plain = |text: String| text.replace(&format!("-{tag}"), "");
    let sheets = sheets.into_iter().map(plain).collect();
    let rejects = rejects.into_iter().map(plain).collect();
    Said {
        template,
        setup: serde_json::to_string(campaign.setup()).unwrap().replace(&tag, ""),
        sent: [1, 2].map(|round| campaign.sent(round).unwrap()).to_vec(),
        sends: sheets,
        learned: told,
        rejects,
        model: model_hash(&campaign.model().unwrap()).to_string(),
        results: plain(csv(&results(&campaign, None).unwrap())),
        why: explained.map(plain).to_vec(),
    }
}

/// The sheets of rejects with every line number less by one: a CSV file counts its header, rows in memory have none.
fn without_header(rejects: &[String]) -> Vec<String> {
    let less = |line: &str| match line.split_once(',') {
        Some((number, rest)) if number != "line" => format!("{},{rest}\n", number.parse::<u64>().unwrap() - 1),
        _ => format!("{line}\n"),
    };
    rejects.iter().map(|sheet| sheet.lines().map(less).collect()).collect()
}

#[test]
fn a_campaign_from_memory_is_that_from_a_csv_file() {
    let folder = Folder::new("sources-csv");
    // A region that only late rows have, and a gap: the guess of the features sees all rows, however they are cut.
    let text = customers(700) + "C0700,,17,west,true\n";
    let file = open(&folder.write("customers.csv", &text));
    let mut expected = run("sources-csv-file", &file, &|folder, text| Box::new(open(&folder.write("r.csv", text))));
    assert!(expected.sent[1].len() > 55 && expected.sent[1].iter().any(|sent| sent.hold_out));
    assert_eq!(expected.rejects.iter().filter(|sheet| sheet.lines().count() > 3).count(), 4, "{:?}", expected.rejects);
    assert!(expected.template.contains("missing = \"mean\""), "{}", expected.template);
    expected.rejects = without_header(&expected.rejects);
    for cut in [1000, 64, 1] {
        let found = run("sources-csv-memory", &memory(&text, cut), &|_, text| Box::new(memory(text, 2)));
        assert_eq!(found, expected, "batches of {cut}");
    }
}

#[test]
fn a_campaign_from_memory_is_that_from_a_parquet_file() {
    let folder = Folder::new("sources-parquet");
    let path = folder.path("customers.parquet");
    let text = customers(700);
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let texts =
        |place: usize| -> ArrayRef { Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row[place]))) };
    let numbers = |place: usize| -> ArrayRef {
        Arc::new(Float32Array::from_iter_values(rows.iter().map(|row| row[place].parse::<f32>().unwrap())))
    };
    let columns = [
        ("customer", texts(0)),
        ("age", numbers(1)),
        ("income", numbers(2)),
        ("region", texts(3)),
        ("may_call", texts(4)),
    ];
    write_parquet(&path, &[RecordBatch::try_from_iter(columns).unwrap()]);
    let responses = |folder: &Folder, text: &str| {
        let path = folder.path("r.parquet");
        write_parquet(&path, &batches(text, 100));
        path
    };
    let expected = run("sources-parquet-file", &open(&path), &|folder, text| Box::new(open(&responses(folder, text))));
    let found = run("sources-parquet-memory", &read_parquet(&path), &|folder, text| {
        Box::new(read_parquet(&responses(folder, text)))
    });
    assert_eq!(found, expected);
}

/// A large source in memory knows its number of rows: prices are guessed from a sample, and nothing is decided otherwise.
#[test]
fn a_large_source_in_memory_is_sampled() {
    const ROWS: u64 = 530_000;
    // What is sampled is the best, so that the guess is too high and the rows are read twice: proof that it was made.
    let number = |row: u64| {
        let extra = if row % (ROWS / 8) < 1 << 14 { 50.0 } else { 0.0 };
        (noise(7, row) * 4096.0).floor() as f32 / 64.0 + extra
    };
    let folder = Folder::new("sources-large");
    let mut text = String::from("customer,a\n");
    (0..ROWS).for_each(|row| writeln!(text, "c{row},{}", number(row)).unwrap());
    let file = open(&folder.write("customers.csv", text));
    let batch = |first: u64| {
        let rows = first..(first + 100_000).min(ROWS);
        let names: ArrayRef = Arc::new(StringArray::from_iter_values(rows.clone().map(|row| format!("c{row}"))));
        let numbers: ArrayRef = Arc::new(Float32Array::from_iter_values(rows.map(number)));
        RecordBatch::try_from_iter([("customer", names), ("a", numbers)]).unwrap()
    };
    let memory = Memory::new("rows", (0..ROWS).step_by(100_000).map(batch).collect()).unwrap();
    let rules = "customer = \"customer\"\n[[promotion]]\nname = \"mail\"\nquota = 3000\n";
    let config = Config::parse(rules, Path::new("rules")).unwrap();
    let mut campaign = init(&folder.path("c.armwise"), &memory, config).unwrap().0;
    let chosen = |campaign: &Campaign, source: &dyn Source| {
        let ends = Mutex::new(0);
        let progress = |rows: u64| *ends.lock().unwrap() += usize::from(rows == ROWS);
        let sent = choose(campaign, source, ChooseOptions { again: true, ..ChooseOptions::default() }, &progress)
            .unwrap()
            .sent;
        let ends = *ends.lock().unwrap();
        (sent, ends)
    };
    choose(&campaign, &memory, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())
        .unwrap()
        .commit(&mut campaign, None)
        .unwrap();
    let mut answers = String::from("decision,reward\n");
    campaign.sent(1).unwrap().iter().for_each(|sent| writeln!(answers, "{},{}", sent.id, sent.features[1]).unwrap());
    common::learn_text(&mut campaign, &folder, Feedback::Rewards, &answers).unwrap();
    let (found, passes) = chosen(&campaign, &memory);
    let (expected, text_passes) = chosen(&campaign, &file);
    assert_eq!(found, expected);
    assert_eq!((passes, text_passes), (2, 2), "both are sampled, and the samples mislead");
}

#[test]
fn batches_in_memory_that_do_not_fit_are_refused() {
    let refused = |batches| Memory::new("rows", batches).unwrap_err().to_string();
    assert_eq!(refused(Vec::new()), "rows: there are no batches, so the columns are not known");
    let two = [batches("customer,a\nx,1\n", 9), batches("customer,b\ny,2\n", 9)].concat();
    assert_eq!(refused(two), "rows: batch 2 has other columns than batch 1");
    let rows = memory("customer,a\nx,1\ny,2\n", 1);
    let missing = rows.batches(Some(&["income".to_owned()])).err().unwrap().to_string();
    assert_eq!(missing, "rows: column \"income\" is missing; there are customer, a");
    let none = memory("customer,a\nx,1\n", 9).batches(Some(&[])).unwrap().count();
    assert_eq!(none, 1, "rows without columns are still rows");
}

/// What lies behind an error can be asked for, not only read.
#[test]
fn errors_of_readers_and_parsers_keep_their_cause() {
    let folder = Folder::new("sources-cause");
    let cause = |error: Error| error.source().map(|cause| format!("{cause:?}"));
    let parquet = folder.write("c.parquet", "no Parquet at all");
    let error = open(&parquet).columns().unwrap_err();
    assert!(error.source().unwrap().is::<parquet::errors::ParquetError>(), "{error:?}");
    let arrow = folder.write("c.arrow", "no Arrow at all");
    let error = open(&arrow).columns().unwrap_err();
    assert!(error.source().unwrap().is::<arrow_schema::ArrowError>(), "{error:?}");
    let gz = folder.write("c.csv", [0x1f, 0x8b, 1, 2, 3]);
    let error = open(&gz).columns().unwrap_err();
    assert!(error.source().unwrap().is::<std::io::Error>(), "{error:?}");
    let error = Table::open(&folder.path(""), Some(armwise_campaign::table::Format::Csv)).and_then(|t| t.columns());
    assert!(cause(error.unwrap_err()).is_some());
    let error = Config::parse("customer = ", Path::new("rules")).unwrap_err();
    assert!(cause(error).is_some());
    // What our own checks found has none.
    let error = Config::parse("customer = \"c\"\npromotion = []\n", Path::new("rules")).unwrap_err();
    assert!(cause(error).is_none());
    let text = folder.write("c.armwise", vec![7; 4096]);
    let error = Campaign::read(&text).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }) && cause(error).is_some());
}
