//! A sample of a text table: runs of lines from all over the file, and about how many rows it has.
//!
//! A text file does not tell its number of rows, but its bytes do, nearly. A run begins after the first line break behind a
//! place in the file, which may lie inside a quoted field. So what comes of it is only good for guesses: if anything about
//! the sample is odd, there is none, and the table is read without. Of packed text only the beginning can be had, and how
//! many of the packed bytes that took.

use super::{
    batches::Batches,
    csv::CsvReader,
    rules::{Encoding, TableRules},
};
use crate::Error;
use arrow_array::RecordBatch;
use flate2::read::MultiGzDecoder;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// How much of the file tells how long a line is.
const HEAD: usize = 1 << 16;

/// How much of packed text, once it is unpacked, tells how long a line is.
const UNPACKED: u64 = 1 << 20;

/// Lines from all over a text file.
pub(super) struct Lines {
    /// With the header before them.
    text: Vec<u8>,
    /// How many rows the file seems to have.
    pub(super) rows: usize,
}

/// Takes `runs` runs of `run` lines each. None for a file that is packed, in two-byte characters, or that seems to have
/// fewer than `large` times as many lines.
#[expect(clippy::cast_sign_loss, reason = "numbers of bytes and lines are not negative")]
pub(super) fn lines(
    file: &File,
    rules: &TableRules,
    runs: usize,
    run: usize,
    large: usize,
) -> io::Result<Option<Lines>> {
    let mut input = BufReader::with_capacity(HEAD, file.try_clone()?);
    let all = input.seek(SeekFrom::End(0))?;
    input.seek(SeekFrom::Start(0))?;
    let mut head = Vec::new();
    (&mut input).take(HEAD as u64).read_to_end(&mut head)?;
    let in_words = !matches!(rules.encoding, None | Some(Encoding::Utf8 | Encoding::Latin1));
    let breaks = head.split(|byte| *byte == b'\n').count() - 1;
    let likely = |lines: usize, bytes: usize| (all as f64 * lines as f64 / bytes.max(1) as f64) as usize;
    if in_words
        || head.starts_with(&[0x1f, 0x8b])
        || head.contains(&0)
        || likely(breaks, head.len()) < large * runs * run
    {
        return Ok(None);
    }
    let mut first = head.split_inclusive(|byte| *byte == b'\n');
    let mut text = first.next().unwrap_or_default().to_vec();
    if text.starts_with(b"sep=") {
        text.extend_from_slice(first.next().unwrap_or_default());
    }
    let header = text.len();
    let mut taken = 0;
    for index in 0..runs as u64 {
        let begin = all / runs as u64 * index;
        input.seek(SeekFrom::Start(if index == 0 { header as u64 } else { begin }))?;
        if index > 0 {
            input.skip_until(b'\n')?;
        }
        for _ in 0..run {
            if input.read_until(b'\n', &mut text)? == 0 {
                return Ok(None); // lines differ so much in length that runs overlap
            }
            taken += 1;
        }
    }
    let rows = likely(taken, text.len() - header);
    Ok((rows >= large * taken).then_some(Lines { text, rows }))
}

/// A file from its start, with the bytes counted that were read.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Counted {
    fn new(file: &File) -> io::Result<(Self, Arc<AtomicU64>)> {
        let (mut file, read) = (file.try_clone()?, Arc::default());
        file.seek(SeekFrom::Start(0))?;
        Ok((Self { file, read: Arc::clone(&read) }, read))
    }
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(out)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// The first rows of packed text.
pub(super) struct Beginning {
    reader: CsvReader,
    read: Arc<AtomicU64>,
    all: u64,
}

/// Opens packed text. None for a file that is not packed, is odd, or seems to have fewer than `least` lines.
pub(super) fn beginning(file: &File, name: &str, rules: &TableRules, least: usize) -> io::Result<Option<Beginning>> {
    let (mut input, read) = Counted::new(file)?;
    let all = input.file.metadata()?.len();
    let mut magic = Vec::new();
    (&mut input).take(2).read_to_end(&mut magic)?;
    if magic != [0x1f, 0x8b] {
        return Ok(None);
    }
    input.file.seek(SeekFrom::Start(0))?;
    read.store(0, Ordering::Relaxed);
    let mut text = Vec::new();
    if MultiGzDecoder::new(BufReader::with_capacity(1 << 12, input)).take(UNPACKED).read_to_end(&mut text).is_err() {
        return Ok(None);
    }
    let breaks = text.split(|byte| *byte == b'\n').count() - 1;
    if (all as f64 * breaks as f64 / read.load(Ordering::Relaxed).max(1) as f64) < least as f64 {
        return Ok(None);
    }
    let (input, read) = Counted::new(file)?;
    let reader = CsvReader::open(name, BufReader::with_capacity(1 << 16, input), rules);
    Ok(reader.ok().map(|reader| Beginning { reader, read, all }))
}

impl Beginning {
    /// At least `count` rows from the beginning as batches of these columns, and about how many rows there are in all; none
    /// if they cannot be read, or are more than one in `large`.
    #[expect(clippy::cast_sign_loss, reason = "numbers of bytes and rows are not negative")]
    pub(super) fn batches(
        self,
        name: &str,
        (count, large): (usize, usize),
        places: impl FnOnce(&CsvReader) -> Result<Vec<usize>, Error>,
    ) -> Result<Option<(Batches, usize)>, Error> {
        let Self { mut reader, read, all } = self;
        reader.keep(&places(&reader)?);
        let (schema, decimal) = (reader.schema(), reader.decimal);
        let (mut batches, mut taken): (Vec<RecordBatch>, usize) = (Vec::new(), 0);
        while taken < count {
            let Some(Ok(batch)) = reader.next() else { return Ok(None) };
            taken += batch.num_rows();
            batches.push(batch);
        }
        let rows = (taken as f64 * all as f64 / read.load(Ordering::Relaxed).max(1) as f64) as usize;
        let batches = Batches::new(name, schema, batches.into_iter().map(Ok)).with_decimal(decimal);
        Ok((rows >= large * taken).then_some((batches, rows)))
    }
}

impl Lines {
    /// The sample as batches of these columns; none if it cannot be read as the whole would be.
    pub(super) fn batches(
        self,
        name: &str,
        rules: &TableRules,
        places: impl FnOnce(&CsvReader) -> Result<Vec<usize>, Error>,
    ) -> Result<Option<Batches>, Error> {
        let Ok(mut reader) = CsvReader::open(name, Cursor::new(self.text), rules) else { return Ok(None) };
        reader.keep(&places(&reader)?);
        let (schema, decimal) = (reader.schema(), reader.decimal);
        let Ok(batches) = reader.collect::<Result<Vec<RecordBatch>, _>>() else { return Ok(None) };
        Ok(Some(Batches::new(name, schema, batches.into_iter().map(Ok)).with_decimal(decimal)))
    }
}
