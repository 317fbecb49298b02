//! Tables so large that prices are guessed from a sample first: what is sent is what the same rows give through a source
//! that gives no sample, and so is never guessed at. Of packed CSV the sample is the beginning.

#![allow(clippy::unwrap_used, reason = "a test that unwraps says what it met")]

mod common;

use armwise_campaign::{
    Campaign, Error, Source,
    core::{Feedback, Sent, Sha},
    round::{ChooseOptions, choose},
    table::{Batches, ColumnType, Table},
};
use arrow_array::{ArrayRef, Float32Array, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use common::{Folder, begin, below, learn_text, noise, open};
use parquet::arrow::ArrowWriter;
use std::{fmt::Write, fs::File, sync::Arc, sync::Mutex};

/// More than what is sampled, however wrong the number of rows is that the beginning of packed text makes likely.
const ROWS: u64 = 640_000;

/// Whether the sample looks at a row: eight runs of 16,384 rows, evenly over the table.
fn is_sampled(row: u64) -> bool {
    row % (ROWS / 8) < 1 << 14
}

/// Whether a row is in the beginning, which is all that packed text gives of itself.
fn is_first(row: u64) -> bool {
    row < 1 << 17
}

/// Numbers that text and single precision both have exactly; those of the sampled rows are `extra` more.
fn number(row: u64, column: u64, (is_sampled, extra): (fn(u64) -> bool, f32)) -> f32 {
    (noise(7 + column, row) * 4096.0).floor() as f32 / 64.0 + if is_sampled(row) { extra } else { 0.0 }
}

/// A table that gives no sample.
struct Unsampled(Table);

impl Source for Unsampled {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn columns(&self) -> Result<Vec<(String, ColumnType)>, Error> {
        self.0.columns()
    }

    fn batches(&self, only: Option<&[String]>) -> Result<Batches, Error> {
        self.0.batches(only)
    }

    fn spread(&self, _: &[String], _: usize, _: usize, _: usize) -> Result<Option<(Batches, usize)>, Error> {
        Ok(None)
    }

    fn digest(&self) -> Result<Sha, Error> {
        self.0.digest()
    }
}

fn region(row: u64) -> &'static str {
    ["north", "south", "east"][below(3, row, 3)]
}

/// The same table as Parquet, as CSV, as packed CSV, as an Arrow stream and as an Arrow file.
fn tables(folder: &Folder, extra: (fn(u64) -> bool, f32)) -> [std::path::PathBuf; 5] {
    let mut text = String::from("customer,a,b,region\n");
    for row in 0..ROWS {
        let _ = writeln!(text, "c{row},{},{},{}", number(row, 0, extra), number(row, 1, extra), region(row));
    }
    let column = |column| -> ArrayRef {
        Arc::new(
            (0..ROWS).map(|row| number(row, column, extra)).collect::<Vec<_>>().into_iter().collect::<Float32Array>(),
        )
    };
    let texts = |text: &dyn Fn(u64) -> String| -> ArrayRef {
        Arc::new((0..ROWS).map(|row| Some(text(row))).collect::<StringArray>())
    };
    let columns = [
        ("customer", texts(&|row| format!("c{row}"))),
        ("a", column(0)),
        ("b", column(1)),
        ("region", texts(&|row| region(row).to_owned())),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = folder.path("customers.parquet");
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let pieces: Vec<RecordBatch> =
        (0..ROWS as usize).step_by(10_000).map(|row| batch.slice(row, 10_000.min(ROWS as usize - row))).collect();
    let [stream, file] = ["customers.arrows", "customers.arrow"].map(|name| folder.path(name));
    let mut writer = StreamWriter::try_new(File::create(&stream).unwrap(), &batch.schema()).unwrap();
    pieces.iter().for_each(|piece| writer.write(piece).unwrap());
    writer.finish().unwrap();
    let mut writer = FileWriter::try_new(File::create(&file).unwrap(), &batch.schema()).unwrap();
    pieces.iter().for_each(|piece| writer.write(piece).unwrap());
    writer.finish().unwrap();
    [path, folder.write("customers.csv", &text), packed(folder, "customers.csv.gz", &text), stream, file]
}

fn packed(folder: &Folder, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.path(name);
    let mut writer = flate2::write::GzEncoder::new(File::create(&path).unwrap(), flate2::Compression::fast());
    std::io::Write::write_all(&mut writer, text.as_bytes()).unwrap();
    writer.finish().unwrap();
    path
}

/// What a table gives, and how many times it was read to its end. Prices are left out: they are those of the candidates that
/// were kept, and who is kept depends on the floors.
fn chosen(campaign: &Campaign, table: &dyn Source) -> (Vec<Sent>, String, usize) {
    let ends = Mutex::new(0);
    let progress = |rows: u64| *ends.lock().unwrap() += usize::from(rows == ROWS);
    let mut choice =
        choose(campaign, table, ChooseOptions { again: true, ..ChooseOptions::default() }, &progress).unwrap();
    choice.summary.prices.clear();
    let summary = format!("{:?}", choice.summary);
    let ends = *ends.lock().unwrap();
    (choice.sent, summary, ends)
}

/// Which rows are special.
type Which = fn(u64) -> bool;

#[test]
fn guessed_prices_change_no_decision() {
    let rules = "segment = \"region\"\n[limits]\nhold_out = 0.1\nrest = 1\n[[promotion]]\nname = \"mail\"\nquota = 3000\n\
        [[promotion]]\nname = \"call\"\nquota = { max = 2000 }\n[[features.column]]\nname = \"a\"\nkind = \"numeric\"\n\
        [[features.column]]\nname = \"b\"\nkind = \"numeric\"\n";
    let forms = "[[features.column]]\nname = \"b\"\nkind = \"log\"\n[[features.column]]\nname = \"a\"\nkind = \"bins\"\n\
        [[features.column]]\nname = \"region\"\nkind = \"categorical\"\n\
        [[features.column]]\nname = \"region\"\nkind = \"cross\"\nwith = \"b\"\n";
    let formed = rules.replace("[[features.column]]\nname = \"b\"\nkind = \"numeric\"\n", forms);
    // Nothing special about the sampled rows; they are the best, so that the guess is too high; they are the worst; the
    // same as the second with all forms of columns. Then the rows of the beginning are the best or the worst. The passes are
    // those over Parquet and over packed text; 0 is however many it takes.
    let cases: [(&str, Which, f32, [usize; 2]); 6] = [
        (rules, is_sampled, 0.0, [1, 1]),
        (rules, is_sampled, 50.0, [2, 0]),
        (rules, is_sampled, -50.0, [1, 1]),
        (&formed, is_sampled, 50.0, [0, 0]),
        (rules, is_first, 50.0, [0, 2]),
        (rules, is_first, -50.0, [1, 1]),
    ];
    for (rules, is_sampled, extra, passes) in cases {
        let folder = Folder::new("large");
        let tables = tables(&folder, (is_sampled, extra));
        let parquet = &tables[0];
        let mut campaign = begin(&folder, parquet, rules).unwrap();
        for round in 1..=2 {
            let expected = chosen(&campaign, &Unsampled(open(parquet)));
            assert_eq!(expected.2, 1, "nothing is guessed");
            for table in &tables {
                let found = chosen(&campaign, &open(table));
                assert!(found.0 == expected.0, "{table:?}, extra {extra}, round {round}");
                assert_eq!(found.1, expected.1, "{table:?}, extra {extra}, round {round}");
                let of = usize::from(table.extension().is_some_and(|extension| extension == "gz"));
                if round == 2 && passes[of] > 0 && (of == 1 || table == parquet) {
                    assert_eq!(found.2, passes[of], "{table:?}, extra {extra}: passes over the table");
                }
            }
            let choice =
                choose(&campaign, &open(parquet), ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())
                    .unwrap();
            choice.commit(&mut campaign, None).unwrap();
            let mut answers = String::from("decision,reward\n");
            for sent in campaign.sent(round).unwrap() {
                let reward = u8::from(sent.features[1] > sent.features[2] * noise(1, sent.id.number.into()));
                let _ = writeln!(answers, "{},{reward}", sent.id);
            }
            learn_text(&mut campaign, &folder, Feedback::Rewards, &answers).unwrap();
        }
    }
}

/// Line breaks inside quotes, where a run of the sample may begin, and a number that is none: the rounds are those without a
/// sample, and the error names the row of the table, not of the sample.
#[test]
fn odd_text_is_read_as_if_it_had_not_been_sampled() {
    let folder = Folder::new("large-odd");
    let rules = "[[promotion]]\nname = \"mail\"\nquota = 300\n";
    let line = |row: u64, note: &str| format!("c{row},{},\"{note}\"\n", noise(9, row));
    let text =
        |note: &str| (0..ROWS + 10_000).fold("customer,a,note\n".to_owned(), |text, row| text + &line(row, note));
    let quoted = text("one\ntwo, and\nthree");
    let [csv, unknown] = [folder.write("quoted.csv", &quoted), packed(&folder, "quoted.csv.gz", &quoted)];
    let rules = format!("{rules}[[features.column]]\nname = \"a\"\nkind = \"numeric\"\n");
    let campaign = begin(&folder, &unknown, &rules).unwrap();
    let sources: [&dyn Source; 3] = [&open(&csv), &open(&unknown), &Unsampled(open(&csv))];
    let found = sources.map(|table| {
        let options = ChooseOptions { again: true, ..ChooseOptions::default() };
        let choice = choose(&campaign, table, options, &|_| ()).unwrap();
        (choice.sent, format!("{:?}", choice.summary))
    });
    assert!(found[0] == found[2] && found[1] == found[2]);
    let bad = text("").replace(&format!("c270000,{}", noise(9, 270_000)), "c270000,many");
    let bad = folder.write("bad.csv", bad);
    let error = choose(&campaign, &open(&bad), ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ());
    let error = error.map(|choice| choice.sent.len()).unwrap_err().to_string();
    assert!(error.contains("270001") && error.contains("many"), "{error}");
}

/// A customer who stands twice is refused with both rows, wherever they stand and whether or not they are sifted out.
#[test]
fn a_customer_who_stands_twice_in_a_large_table_is_found() {
    let folder = Folder::new("large-twice");
    let rules = "[[promotion]]\nname = \"mail\"\nquota = 30\n";
    let good: String = (0..200_000).fold("customer,a\n".to_owned(), |mut text, row| {
        let _ = writeln!(text, "c{row},{}", noise(9, row));
        text
    });
    let table = folder.write("customers.csv", &good);
    let campaign = begin(&folder, &table, rules).unwrap();
    for twice in ["c17", "c150000", "c199999"] {
        let table = folder.write("twice.csv", format!("{good}new,0.5\n{twice},0.25\n"));
        let error =
            choose(&campaign, &open(&table), ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())
                .unwrap_err()
                .to_string();
        let first: u64 = twice[1..].parse::<u64>().unwrap() + 1;
        assert!(error.contains(twice) && error.contains(&first.to_string()) && error.contains("200002"), "{error}");
    }
}
