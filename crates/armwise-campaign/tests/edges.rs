//! What comes in at the edges: rules that could never be used, ids that are not exact, compressed tables, lengths that
//! lie.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]

mod common;

use armwise_campaign::{
    Error, Memory, Source,
    config::Config,
    core::{Feedback, amend, learn},
    recipe::fit,
    table::Table,
};
use arrow_array::{ArrayRef, Float32Array, Float64Array, Int64Array, RecordBatch};
use arrow_ipc::{
    CompressionType,
    writer::{FileWriter, IpcWriteOptions, StreamWriter},
};
use common::{Folder, TWO, begin, choose_round, customers, open};
use parquet::{
    arrow::ArrowWriter,
    basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel},
    file::properties::WriterProperties,
};
use std::{
    fmt::Write,
    fs::{self, File},
    path::Path,
    sync::Arc,
};

/// Rules that were frozen before, though no round could ever be chosen or closed by them.
#[test]
fn rules_that_could_never_be_used_are_refused_with_their_place() {
    let folder = Folder::new("rules");
    let table = folder.write("customers.csv", customers(50));
    let quota = |quota: &str| format!("[[promotion]]\nname = \"mail\"\nquota = {quota}\n");
    let group = |rest: &str| format!("{TWO}[[limits.group]]\ncolumn = \"region\"\nvalue = \"north\"\n{rest}");
    let cases: [(String, &str); 17] = [
        (quota("{ min = 5, max = 3 }"), "promotion \"mail\": quota: min = 5 is more than max = 3"),
        (quota("4294967296"), "promotion \"mail\": quota: 4294967296 is more than a round can have"),
        (
            quota("4000000000") + &TWO.replace("12", "4000000000").replace("mail", "m2"),
            "the quotas need 8000000005 sends",
        ),
        (group("min = 2\nmax = 1\n"), "limits.group \"region\" = \"north\": min = 2 is more than max = 1"),
        (format!("[reward]\ndefault = 1e101\n{TWO}"), "reward.default is 1"),
        (format!("[reward]\nmin = -inf\n{TWO}"), "reward.min is -inf"),
        (format!("[reward]\nmax = inf\n{TWO}"), "reward.max is inf"),
        (format!("[reward]\ndefault = nan\n{TWO}"), "reward.default is NaN"),
        (format!("[reward]\nmin = 2.0\nmax = 1.0\n{TWO}"), "between reward.min and reward.max"),
        (format!("[limits]\nbudget = inf\n{TWO}cost = 1.0\n"), "limits.budget is inf"),
        (format!("[limits]\nbudget = nan\n{TWO}cost = 1.0\n"), "limits.budget is NaN"),
        (format!("{TWO}cost = 1e200\n"), "promotion \"call\": cost is 1"),
        (format!("{TWO}cost = -1.0\n"), "promotion \"call\": cost is -1"),
        (format!("{TWO}[[features.column]]\nname = \"age\"\nkind = \"categorical\"\nmax_levels = 0\n"), "max_levels"),
        (TWO.replace("mail", &"x".repeat(201)), "more than 200 bytes"),
        (TWO.replace("mail", "call"), "two promotions have the name \"call\""),
        (format!("gamma = nan\n{TWO}"), "gamma"),
    ];
    for (rules, part) in &cases {
        let refused = begin(&folder, &table, rules).unwrap_err();
        let Error::Config { place, problem, .. } = &refused else { panic!("{rules}: {refused}") };
        assert!(problem.contains(part) && place == "campaign.toml", "{rules}: {refused}");
        assert!(!folder.path("c.armwise").exists());
    }
    // An amendment, and rules that were not read from a file, go through the same check.
    let mut campaign = begin(&folder, &table, TWO).unwrap();
    let mut config = campaign.config().clone();
    config.reward.default = 1e101;
    let head = campaign.head();
    assert!(matches!(amend(&mut campaign, config.clone(), None), Err(Error::Config { .. })));
    assert_eq!(campaign.head(), head);
    let begun = armwise_campaign::init(&folder.path("d.armwise"), &open(&table), config);
    assert!(matches!(begun, Err(Error::Config { .. })));
}

/// Above 2^24 (or 2^53) a float is the nearest one to several whole numbers, so it may mean the neighbour.
#[test]
fn answers_whose_ids_are_floats_count_only_where_they_are_exact() {
    let folder = Folder::new("floats");
    let first = 1_i64 << 53;
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values((0..20).map(|i| first + i)));
    let ages: ArrayRef = Arc::new(Int64Array::from_iter_values(20..40));
    let table = Memory::new("customers", vec![RecordBatch::try_from_iter([("customer", ids), ("age", ages)]).unwrap()]);
    let config = Config::parse(&format!("customer = \"customer\"\n{TWO}"), Path::new("campaign.toml")).unwrap();
    let table = table.unwrap();
    let (mut campaign, _) = armwise_campaign::init(&folder.path("c.armwise"), &table, config).unwrap();
    let options = armwise_campaign::round::ChooseOptions::default();
    armwise_campaign::round::choose(&campaign, &table, options, &|_| ()).unwrap().commit(&mut campaign, None).unwrap();
    let head = campaign.head();
    let exact = |number: f64| number.to_string();
    let floats: [(ArrayRef, String); 5] = [
        (Arc::new(Float64Array::from(vec![1.0, first as f64 + 1.0])), exact(first as f64)),
        (Arc::new(Float64Array::from(vec![1.0, 17.5])), "17.5".to_owned()),
        (Arc::new(Float32Array::from(vec![1.0, 16_777_216.0])), "16777216".to_owned()),
        (Arc::new(Float64Array::from(vec![1.0, f64::INFINITY])), "inf".to_owned()),
        (Arc::new(Float64Array::from(vec![1.0, -1e300])), exact(-1e300)),
    ];
    for (ids, value) in floats {
        for name in ["customer", "decision", "round", "promotion"] {
            let rewards: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 1.0]));
            let mut columns = vec![(name, Arc::clone(&ids)), ("reward", rewards)];
            if name == "round" || name == "promotion" {
                columns.push(("customer", Arc::new(Int64Array::from(vec![first, first + 1]))));
            }
            let answers = Memory::new("answers", vec![RecordBatch::try_from_iter(columns).unwrap()]).unwrap();
            let refused = learn(&mut campaign, &answers, Feedback::Rewards, Some(1), None).unwrap_err();
            let Error::Cell { row: 2, column, problem, .. } = &refused else { panic!("{refused}") };
            assert!(column == name && problem.starts_with(&value), "{refused}");
        }
    }
    assert_eq!(campaign.head(), head, "nothing was learned");
    // A whole number that a float holds exactly is the id, and a reward may be any number.
    let rounds: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let customer = campaign.sent(1).unwrap()[0].customer.parse::<i64>().unwrap();
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![customer]));
    let rewards: ArrayRef = Arc::new(Float64Array::from(vec![0.125]));
    let columns = [("customer", ids), ("round", rounds), ("reward", rewards)];
    let answers = Memory::new("answers", vec![RecordBatch::try_from_iter(columns).unwrap()]).unwrap();
    assert_eq!(learn(&mut campaign, &answers, Feedback::Rewards, None, None).unwrap().0.applied, 1);
}

fn numbers(rows: usize) -> RecordBatch {
    let column = |factor: usize| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values((0..rows).map(|i| (i * factor % 1000) as f64)))
    };
    RecordBatch::try_from_iter([("a", column(7)), ("b", column(13)), ("zero", column(0))]).unwrap()
}

fn read_all(path: &Path) -> Result<Vec<f64>, Error> {
    let mut values = Vec::new();
    for rows in Table::open(path, None)?.batches(None)? {
        let rows = rows?;
        values.extend(["a", "b", "zero"].into_iter().flat_map(|name| rows.numbers(name).unwrap()));
    }
    Ok(values)
}

fn write_arrow(path: &Path, batch: &RecordBatch, packed: Option<CompressionType>, stream: bool) {
    let options = IpcWriteOptions::default().try_with_compression(packed).unwrap();
    let (file, schema) = (File::create(path).unwrap(), batch.schema());
    if stream {
        let mut writer = StreamWriter::try_new_with_options(file, &schema, options).unwrap();
        writer.write(batch).and_then(|()| writer.finish()).unwrap();
    } else {
        let mut writer = FileWriter::try_new_with_options(file, &schema, options).unwrap();
        writer.write(batch).and_then(|()| writer.finish()).unwrap();
    }
}

#[test]
fn compressed_tables_of_every_usual_kind_are_read() {
    let folder = Folder::new("compressed");
    let batch = numbers(5000);
    let expected = {
        let path = folder.path("plain.arrow");
        write_arrow(&path, &batch, None, false);
        read_all(&path).unwrap()
    };
    assert_eq!(expected.len(), 15_000);
    for (place, packed) in [CompressionType::LZ4_FRAME, CompressionType::ZSTD].into_iter().enumerate() {
        for stream in [false, true] {
            let path = folder.path(&format!("{place}-{stream}.feather"));
            write_arrow(&path, &batch, Some(packed), stream);
            assert_eq!(read_all(&path).unwrap(), expected, "{packed:?}, {stream}");
        }
    }
    let codecs = [
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    for codec in codecs {
        let path = folder.path("t.parquet");
        let properties = WriterProperties::builder().set_compression(codec).build();
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        assert_eq!(read_all(&path).unwrap(), expected, "{codec:?}");
    }
}

/// A compressed buffer says in eight bytes how much memory it wants, and the reader would ask for it.
#[test]
fn a_compressed_table_that_lies_about_its_size_is_refused() {
    let folder = Folder::new("lies");
    for stream in [false, true] {
        let path = folder.path("t.arrow");
        write_arrow(&path, &numbers(5000), Some(CompressionType::ZSTD), stream);
        let good = fs::read(&path).unwrap();
        let (truth, mut found) = (40_000_i64.to_le_bytes(), 0);
        for place in (0..good.len() - 8).filter(|&place| good[place..place + 8] == truth) {
            for lie in [1_i64 << 62, i64::MAX, 1 << 40, -2] {
                let mut bad = good.clone();
                bad[place..place + 8].copy_from_slice(&lie.to_le_bytes());
                fs::write(&path, bad).unwrap();
                if let Err(error) = read_all(&path) {
                    assert!(matches!(error, Error::Table { .. }), "{error}");
                    found += usize::from(error.to_string().contains("more than 2 GB"));
                }
            }
        }
        assert!(found >= 12, "three columns, four lies: {found}");
    }
}

/// The sample was thinned out whenever it had doubled, so how many rows it had depended on their order.
#[test]
fn the_order_of_a_large_table_does_not_change_the_recipe() {
    let folder = Folder::new("order");
    let line = |text: &mut String, i: u64| writeln!(text, "c{i},{}", i * 7919 % 1013).unwrap();
    let (mut up, mut down) = ("customer,x\n".to_owned(), "customer,x\n".to_owned());
    (0..260_000).for_each(|i| line(&mut up, i));
    // Not merely turned round: those who are drawn early come late.
    let draws = armwise::Round::new(1, 0).draws(0, armwise::Stream(257));
    let mut order: Vec<u64> = (0..260_000).collect();
    order.sort_by_key(|i| std::cmp::Reverse(draws.bits(armwise::id_of(&format!("c{i}")))));
    order.iter().for_each(|&i| line(&mut down, i));
    let rules = "customer = \"customer\"\n[[promotion]]\nname = \"m\"\nquota = 1\n[[features.column]]\nname = \"x\"\nkind = \"numeric\"\n";
    let config = Config::parse(rules, Path::new("campaign.toml")).unwrap();
    let recipes = [("up.csv", up), ("down.csv", down)].map(|(name, text)| {
        let path = folder.write(name, text);
        fit(&config, &open(&path)).unwrap()
    });
    assert_eq!(recipes[0], recipes[1]);
    assert!((50_000..=50_001).contains(&recipes[0].sample), "{}", recipes[0].sample);
}

#[test]
fn a_table_with_too_many_columns_is_refused_in_every_format() {
    let folder = Folder::new("columns");
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let columns = (0..16_385).map(|i| (format!("c{i}"), Arc::clone(&one)));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let path = folder.path("wide.arrow");
    write_arrow(&path, &batch, None, false);
    let refused = Table::open(&path, None).unwrap().columns().unwrap_err().to_string();
    assert!(refused.contains("16385 columns; 16384 is the most"), "{refused}");
    let names: Vec<String> = (0..16_385).map(|i| format!("c{i}")).collect();
    let path = folder.write("wide.csv", names.join(",") + "\n");
    let refused = Table::open(&path, None).unwrap().columns().unwrap_err().to_string();
    assert!(refused.contains("more than 16,384 columns"), "{refused}");
}

/// Rules written for a table name its columns, whatever characters these have.
#[test]
fn the_template_reads_back_whatever_the_columns_are_called() {
    let folder = Folder::new("template");
    let table = folder.write("t.csv", "customer,\"a\u{7f}\u{1b}\"\"\nb\",\u{7f}text\u{9b}\nx,1,p\ny,2,q\n");
    let mut config = Config::parse(&format!("customer = \"customer\"\n{TWO}"), Path::new("a.toml")).unwrap();
    let left_out = armwise_campaign::complete(&mut config, &open(&table)).unwrap();
    let text = armwise_campaign::config::template(&config, &left_out);
    let again = Config::parse(&text, Path::new("b.toml")).unwrap();
    assert_eq!(again.features, config.features);
    let mut campaign = begin(
        &folder,
        &table,
        &text
            .replacen("customer = \"customer\"", "", 1)
            .replace("quota = 12", "quota = 1")
            .replace("quota = 5", "quota = 1"),
    )
    .unwrap();
    choose_round(&mut campaign, &table).unwrap();
}

#[cfg(unix)]
#[test]
fn a_link_to_a_campaign_does_not_have_a_lock_of_its_own() {
    use armwise_campaign::Campaign;
    let folder = Folder::new("link");
    let table = folder.write("customers.csv", customers(50));
    drop(begin(&folder, &table, TWO).unwrap());
    std::os::unix::fs::symlink("c.armwise", folder.path("link.armwise")).unwrap();
    let writer = Campaign::write(&folder.path("c.armwise"), "first").unwrap();
    let refused = Campaign::write(&folder.path("link.armwise"), "second");
    assert!(matches!(refused, Err(Error::Locked { .. })), "{refused:?}");
    drop(writer);
    Campaign::write(&folder.path("link.armwise"), "second").unwrap();
}
