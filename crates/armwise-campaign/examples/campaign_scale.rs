//! Choosing from a large table, beside what it cannot do without: decoding the file, and the bare scoring kernel.
//!
//! ```text
//! campaign_scale table FILE ROWS          writes ROWS customers with 51 numbers each: Parquet, or by its name csv, csv.gz, arrows
//! campaign_scale decode FILE              the time to decode it
//! campaign_scale kernel ROWS              the time to score ROWS customers for 10 promotions
//! campaign_scale begin FILE CAMPAIGN      a campaign of 10 promotions with ROWS / 200 sends each, and its first round
//! campaign_scale choose FILE CAMPAIGN     the time and the memory of the next round, sends written to CAMPAIGN.csv
//! ```

#![allow(clippy::print_stdout, reason = "an example prints what it measured")]

use armwise::{Algorithm, ArmWiseTs, Arms, Learner, Model, Observation, Round, Stream};
use armwise_campaign::{
    Campaign, Source,
    config::Config,
    core::{Feedback, learn},
    init,
    output::Existing,
    round::{ChoiceFiles, ChooseOptions, choose},
    table::{BATCH, Cell, Sheet, SheetFile, Table},
};
use arrow_array::{ArrayRef, Float32Array, Int64Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use flate2::{Compression, write::GzEncoder};
use parquet::arrow::ArrowWriter;
use std::{
    error::Error,
    fs::File,
    io::{BufWriter, Write},
    path::Path,
    sync::Arc,
    time::Instant,
};

const D: usize = 51;
const PROMOTIONS: usize = 10;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["table", file, rows] => table(Path::new(file), rows.parse()?),
        ["decode", file] => decode(Path::new(file)),
        ["kernel", rows] => kernel(rows.parse()?),
        ["begin", file, campaign] => begin(Path::new(file), Path::new(campaign)),
        ["choose", file, campaign] => next_round(Path::new(file), Path::new(campaign)),
        _ => Err("say table FILE ROWS, decode FILE, kernel ROWS, begin or choose FILE CAMPAIGN".into()),
    }
}

/// Column j of customer i.
fn value(i: u64, j: usize) -> f32 {
    (Round::new(1, 1).draws(j as u32, Stream(301)).uniform(i) - 0.5) as f32
}

fn table(file: &Path, rows: u64) -> Result<(), Box<dyn Error>> {
    let extension = file.extension().unwrap_or_default();
    if extension == "csv" {
        return text(File::create(file)?, rows);
    }
    if extension == "gz" {
        return text(GzEncoder::new(File::create(file)?, Compression::fast()), rows);
    }
    let batch = |first: u64| -> Result<RecordBatch, Box<dyn Error>> {
        let range = first..(first + BATCH as u64).min(rows);
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(range.clone().map(u64::cast_signed)));
        let mut columns = vec![("customer".to_owned(), ids)];
        for j in 0..D {
            let values = Float32Array::from_iter_values(range.clone().map(|i| value(i, j)));
            columns.push((format!("f{j:02}"), Arc::new(values)));
        }
        Ok(RecordBatch::try_from_iter(columns)?)
    };
    if extension == "arrows" {
        let mut writer = StreamWriter::try_new_buffered(File::create(file)?, &batch(0)?.schema())?;
        for start in (0..rows).step_by(BATCH) {
            writer.write(&batch(start)?)?;
        }
        return Ok(writer.finish()?);
    }
    let mut writer = ArrowWriter::try_new(File::create(file)?, batch(0)?.schema(), None)?;
    for start in (0..rows).step_by(BATCH) {
        writer.write(&batch(start)?)?;
    }
    writer.close()?;
    Ok(())
}

fn text(out: impl Write, rows: u64) -> Result<(), Box<dyn Error>> {
    let mut out = BufWriter::with_capacity(1 << 20, out);
    let names: Vec<String> = (0..D).map(|j| format!("f{j:02}")).collect();
    writeln!(out, "customer,{}", names.join(","))?;
    for i in 0..rows {
        write!(out, "{i}")?;
        (0..D).try_for_each(|j| write!(out, ",{}", value(i, j)))?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

fn decode(file: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut rows = 0;
    for batch in Table::open(file, None)?.batches(None)? {
        rows += batch?.len();
    }
    println!("decode {rows} rows: {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn kernel(rows: usize) -> Result<(), Box<dyn Error>> {
    let x: Vec<f32> = (0..BATCH).flat_map(|i| (0..D).map(move |j| value(i as u64, j))).collect();
    let mut model = Model::new(D, PROMOTIONS)?;
    for row in x.chunks_exact(D).take(200) {
        let row: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
        for block in 0..PROMOTIONS {
            model.observe(&Observation { t: 1, block: block as u32, x: &row, reward: row[block] })?;
        }
    }
    let algorithm = Algorithm::ArmWiseTs(ArmWiseTs::new(1.0, 0.1));
    let learner = Learner::with_model(algorithm, model)?;
    let start = Instant::now();
    let mut left = rows;
    while left > 0 {
        let part = left.min(BATCH);
        learner.scores(Round::new(1, 2), &Arms::new(&x[..part * D], D)?)?;
        left -= part;
    }
    println!("kernel {rows} rows, {PROMOTIONS} promotions: {:.2} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn begin(file: &Path, path: &Path) -> Result<(), Box<dyn Error>> {
    let table = Table::open(file, None)?;
    let mut rows = 0;
    for batch in table.batches(Some(&["customer".to_owned()]))? {
        rows += batch?.len();
    }
    let promotion = |j: usize| format!("[[promotion]]\nname = \"p{j}\"\nquota = {}\n", rows / 200);
    let rules: String = (0..PROMOTIONS).map(promotion).collect();
    let config = Config::parse(&format!("customer = \"customer\"\n{rules}"), Path::new("rules"))?;
    let mut campaign = init(path, &table, config)?.0;
    let choice = choose(&campaign, &table, ChooseOptions { again: true, ..ChooseOptions::default() }, &|_| ())?;
    let mut answers = Sheet::new(&["decision", "reward"]);
    for sent in &choice.sent {
        let reward = if sent.features[1] > 0.0 { 1.0 } else { 0.0 };
        answers.push(vec![Cell::Text(sent.id.to_string()), Cell::Number(reward)]);
    }
    choice.commit(&mut campaign, None)?;
    let answered = path.with_extension("answers.parquet");
    answers.write(&answered)?.publish()?;
    learn(&mut campaign, &Table::open(&answered, None)?, Feedback::Rewards, None, None)?;
    Ok(())
}

fn next_round(file: &Path, path: &Path) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut campaign = Campaign::write(path, "campaign_scale")?;
    let choice = choose(
        &campaign,
        &Table::open(file, None)?,
        ChooseOptions { again: true, ..ChooseOptions::default() },
        &|_| (),
    )?;
    let (chosen, sends) = (start.elapsed().as_secs_f64(), choice.sent.len());
    let file = SheetFile::begin(&path.with_extension("csv"), Existing::Replace, &[])?;
    choice.commit(&mut campaign, Some(ChoiceFiles { sends: Some(file), hold_out: None }))?;
    drop(campaign);
    let whole = start.elapsed().as_secs_f64();
    let memory = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = memory.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown").trim();
    println!("choose {sends} sends: {chosen:.2} s until they are chosen, {whole:.2} s until they are on the disk");
    println!("peak memory {peak}");
    Ok(())
}
