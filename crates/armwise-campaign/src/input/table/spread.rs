//! A sample of a text table: runs of lines from all over the file, and about how many rows it has.
//!
//! A text file does not tell its number of rows, but its bytes do, nearly. A run begins after the first line break behind a
//! place in the file, which may lie inside a quoted field. So what comes of it is only good for guesses: if anything about
//! the sample is odd, there is none, and the table is read without.

use super::{
    batches::Batches,
    csv::CsvReader,
    rules::{Encoding, TableRules},
};
use crate::Error;
use arrow_array::RecordBatch;
use std::{
    fs::File,
    io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom},
};

/// How much of the file tells how long a line is.
const HEAD: usize = 1 << 16;

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
    let breaks = head.iter().filter(|byte| **byte == b'\n').count();
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
