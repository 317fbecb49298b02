//! CSV as text columns, read strictly: broken quoting is an error with its row and column.
//!
//! Written here because CSV crates accept broken quoting silently (`"a"b` becomes `ab`, a quote that never closes
//! swallows the rest of the file), and here a wrong row costs money. An empty field is a missing value. What separates
//! fields and which mark numbers have is told, or found in the first 64 KB (`sniff.rs`).

use super::{
    BATCH, MOST_COLUMNS,
    decode::{Decoding, encoding},
    rules::{Decimal, Encoding, Separator, TableRules},
    sniff,
    values::LINE,
};
use crate::Error;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array, builder::StringBuilder};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use flate2::read::MultiGzDecoder;
use std::{
    io::{BufRead, BufReader, Cursor, Read},
    sync::Arc,
};

/// The most bytes in one field; more is a quote that was not closed, or not a table.
const LARGEST_FIELD: usize = 1 << 20;

/// The most bytes in one row, without quotes and commas.
const LARGEST_ROW: usize = 1 << 24;

/// A batch ends when it has this many bytes, even if it has few rows.
const LARGE_BATCH: usize = 1 << 26;

/// How much of a file tells its encoding, its separator and its decimal mark.
const HEAD: u64 = 1 << 16;

/// Reads CSV, plain or gzip, in batches of text columns.
pub(crate) struct CsvReader {
    table: String,
    input: Box<dyn BufRead + Send>,
    separator: Separator,
    /// The decimal mark of its numbers; none where it is not known.
    pub(super) decimal: Option<Decimal>,
    names: Vec<String>,
    kept: Vec<usize>,
    /// Data rows read so far.
    row: u64,
    /// Lines read so far, and the one in which the record begins: quoted fields may span lines, empty lines do not
    /// count.
    lines: u64,
    begins: u64,
    /// Bytes of the record, and where its fields end.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    failed: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    QuoteInQuoted,
    AfterReturn,
}

impl CsvReader {
    /// Reads the header.
    pub(crate) fn open(
        table: &str,
        mut input: impl BufRead + Send + 'static,
        rules: &TableRules,
    ) -> Result<Self, Error> {
        let unreadable = |error| Error::unreadable(table, "", error);
        let packed = input.fill_buf().map_err(unreadable)?.starts_with(&[0x1f, 0x8b]);
        let input: Box<dyn BufRead + Send> = if packed {
            Box::new(BufReader::with_capacity(1 << 16, MultiGzDecoder::new(input)))
        } else {
            Box::new(input)
        };
        let (mut head, mut input) = headed(input).map_err(unreadable)?;
        if head.starts_with(b"PK\x03\x04") {
            let problem = "it is a workbook or another zip archive, not text; give the format xlsx, or name it so";
            return Err(Error::table(table, problem));
        }
        let (found, mark) = encoding(&head, rules.encoding).map_err(|problem| Error::table(table, problem))?;
        input.consume(mark);
        if found == Encoding::Utf8 {
            head.drain(..mark);
        } else {
            let decoded = BufReader::with_capacity(1 << 16, Decoding::new(input, found));
            (head, input) = headed(Box::new(decoded)).map_err(unreadable)?;
        }
        let stated = sniff::stated(&head);
        let separator = match (rules.separator, stated) {
            (Some(separator), _) | (None, Some((separator, _))) => separator,
            (None, None) => sniff::separator(&head).map_err(|problem| Error::table(table, problem))?,
        };
        if let Some((_, line)) = stated {
            input.consume(line);
            head.drain(..line);
        }
        let decimal = rules.decimal.or_else(|| sniff::decimal(&head, separator));
        let (table, bytes, ends) = (table.to_owned(), Vec::new(), Vec::new());
        let lines = u64::from(stated.is_some());
        let mut reader = Self {
            table,
            input,
            separator,
            decimal,
            names: Vec::new(),
            kept: Vec::new(),
            row: 0,
            lines,
            begins: lines + 1,
            bytes,
            ends,
            failed: false,
        };
        if !reader.record()? {
            return Err(Error::table(&reader.table, "the file is empty; its first line must name the columns"));
        }
        reader.names = reader.fields().map(str::to_owned).collect();
        reader.kept = (0..reader.names.len()).collect();
        Ok(reader)
    }

    /// Gives only these columns, ascending.
    pub(crate) fn keep(&mut self, places: &[usize]) {
        places.clone_into(&mut self.kept);
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        let field = |&place: &usize| Field::new(&self.names[place], DataType::Utf8, true);
        Arc::new(Schema::new(self.kept.iter().map(field).collect::<Vec<_>>()))
    }

    fn fields(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        // `record` has checked that every field is UTF-8.
        starts.zip(&self.ends).map(|(start, &end)| std::str::from_utf8(&self.bytes[start..end]).unwrap_or_default())
    }

    fn bad(&self, problem: impl Into<String>) -> Error {
        let column = self.ends.len();
        let column = self.names.get(column).cloned().unwrap_or_else(|| format!("number {}", column + 1));
        match (self.names.is_empty(), problem.into()) {
            (true, problem) => Error::table(&self.table, format!("header, column {}: {problem}", self.ends.len() + 1)),
            (false, problem) => Error::Cell { table: self.table.clone(), row: self.row + 1, column, problem },
        }
    }

    /// Reads one record into `bytes` and `ends`; false at the end. Empty lines are skipped.
    fn record(&mut self) -> Result<bool, Error> {
        match self.separator {
            Separator::Comma => self.record_by::<b','>(),
            Separator::Semicolon => self.record_by::<b';'>(),
            Separator::Tab => self.record_by::<b'\t'>(),
        }
    }

    /// The separator is known to the compiler, so that the loop over bytes compares with a constant.
    fn record_by<const SEPARATOR: u8>(&mut self) -> Result<bool, Error> {
        self.bytes.clear();
        self.ends.clear();
        self.begins = self.lines + 1;
        let mut state = State::FieldStart;
        let mut start = 0;
        loop {
            let buffer = match self.input.fill_buf() {
                Ok(buffer) => buffer,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return Err(Error::unreadable(&self.table, &format!("from row {} on: ", self.row + 1), error));
                }
            };
            if buffer.is_empty() {
                return match state {
                    State::Quoted => Err(self.bad("the quote that opens this field is never closed")),
                    State::FieldStart if self.ends.is_empty() => Ok(false),
                    _ => self.end_field().and_then(|()| self.check_width()).map(|()| true),
                };
            }
            let mut used = 0;
            let mut ended = false;
            let mut problem = None;
            while let Some(&byte) = buffer.get(used) {
                if matches!(state, State::FieldStart | State::Plain) {
                    let run = plain::<SEPARATOR>(&buffer[used..]);
                    if run > 0 {
                        self.bytes.extend_from_slice(&buffer[used..used + run]);
                        used += run;
                        state = State::Plain;
                        problem = too_large(&self.bytes, start, &self.ends);
                        if problem.is_some() {
                            break;
                        }
                        continue;
                    }
                }
                used += 1;
                match (state, byte) {
                    (State::FieldStart, b'"') => state = State::Quoted,
                    (State::Plain, b'"') => problem = Some("a quote inside a field that does not start with a quote"),
                    (State::Quoted, b'"') => state = State::QuoteInQuoted,
                    (State::AfterReturn, byte) if byte != b'\n' => problem = Some("a carriage return inside a field"),
                    (State::QuoteInQuoted, b'"') => {
                        self.bytes.push(b'"');
                        state = State::Quoted;
                    }
                    (State::Quoted, byte) => {
                        self.lines += u64::from(byte == b'\n');
                        self.bytes.push(byte);
                    }
                    (_, byte) if byte == SEPARATOR => {
                        self.ends.push(self.bytes.len());
                        start = self.bytes.len();
                        state = State::FieldStart;
                    }
                    (State::FieldStart | State::AfterReturn, b'\n')
                        if self.ends.is_empty() && self.bytes.is_empty() =>
                    {
                        state = State::FieldStart;
                        self.lines += 1;
                        self.begins = self.lines + 1;
                    }
                    (_, b'\n') => {
                        self.lines += 1;
                        ended = true;
                        break;
                    }
                    (_, b'\r') => state = State::AfterReturn,
                    (State::QuoteInQuoted, _) => problem = Some("text after the closing quote"),
                    (_, byte) => {
                        self.bytes.push(byte);
                        state = State::Plain;
                    }
                }
                problem = problem.or_else(|| too_large(&self.bytes, start, &self.ends));
                if problem.is_some() {
                    break;
                }
            }
            self.input.consume(used);
            if let Some(problem) = problem {
                return Err(self.bad(problem));
            }
            if ended {
                self.end_field()?;
                self.check_width()?;
                return Ok(true);
            }
        }
    }

    fn end_field(&mut self) -> Result<(), Error> {
        self.ends.push(self.bytes.len());
        if std::str::from_utf8(&self.bytes).is_ok() {
            return Ok(());
        }
        // Each field by itself: two invalid fields may be valid UTF-8 when joined.
        let ends = std::mem::take(&mut self.ends);
        let mut start = 0;
        for end in ends {
            if let Err(error) = std::str::from_utf8(&self.bytes[start..end]) {
                return Err(self.bad(not_utf8(&error)));
            }
            self.ends.push(end);
            start = end;
        }
        Err(self.bad("not UTF-8; give the encoding, or save the table as UTF-8"))
    }

    fn check_width(&self) -> Result<(), Error> {
        if self.names.is_empty() || self.ends.len() == self.names.len() {
            return Ok(());
        }
        let (row, found, expected) = (self.row + 1, self.ends.len(), self.names.len());
        let separator: &str = self.separator.into();
        let problem =
            format!("row {row} has {found} fields, but the header has {expected}, separated by {separator:?}");
        Err(Error::table(&self.table, problem))
    }

    fn batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        let mut builders: Vec<StringBuilder> = self.kept.iter().map(|_| StringBuilder::new()).collect();
        let (mut lines, mut bytes) = (Vec::new(), 0);
        while lines.len() < BATCH && bytes < LARGE_BATCH && self.record()? {
            bytes += self.bytes.len();
            let start = |place: usize| if place == 0 { 0 } else { self.ends[place - 1] };
            // `record` has checked the whole; what is not whole characters between two ends is found here.
            let text = std::str::from_utf8(&self.bytes).unwrap_or_default();
            for (builder, &place) in builders.iter_mut().zip(&self.kept) {
                let range = start(place)..self.ends[place];
                match text.get(range.clone()) {
                    Some("") => builder.append_null(),
                    Some(text) => builder.append_value(text),
                    None => match std::str::from_utf8(&self.bytes[range]) {
                        Ok(text) => builder.append_value(text),
                        Err(error) => return Err(self.bad(not_utf8(&error))),
                    },
                }
            }
            self.row += 1;
            lines.push(self.begins);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let mut columns: Vec<ArrayRef> = builders.into_iter().map(|mut b| Arc::new(b.finish()) as ArrayRef).collect();
        columns.push(Arc::new(UInt64Array::from(lines)));
        let line = Arc::new(Field::new(LINE, DataType::UInt64, false));
        let fields = self.schema().fields().iter().cloned().chain([line]).collect::<Vec<_>>();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns);
        batch.map(Some).map_err(|error| Error::unreadable(&self.table, "", error))
    }
}

/// What is too large about a record so far.
fn too_large(bytes: &[u8], start: usize, ends: &[usize]) -> Option<&'static str> {
    if bytes.len() - start > LARGEST_FIELD {
        Some("a field is longer than 1 MB; perhaps a quote is not closed")
    } else if bytes.len() > LARGEST_ROW {
        Some("a row is longer than 16 MB, which is the most that is read")
    } else if ends.len() >= MOST_COLUMNS {
        Some("there are more than 16,384 columns, which is the most that is read")
    } else {
        None
    }
}

/// How many bytes come before the first separator, quote or line break: eight at a time, since fields are short.
#[inline]
fn plain<const SEPARATOR: u8>(bytes: &[u8]) -> usize {
    const LOW: u64 = u64::from_le_bytes([1; 8]);
    const HIGH: u64 = u64::from_le_bytes([0x80; 8]);
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        // The lowest high bit that is set marks the first byte that is equal.
        let equal = |byte: u8| {
            let apart = word ^ (LOW * u64::from(byte));
            apart.wrapping_sub(LOW) & !apart & HIGH
        };
        let found = equal(SEPARATOR) | equal(b'"') | equal(b'\n') | equal(b'\r');
        if found != 0 {
            return index * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let special = |byte: &u8| [SEPARATOR, b'"', b'\n', b'\r'].contains(byte);
    let before = words.len() * 8;
    before + rest.iter().position(special).unwrap_or(rest.len())
}

fn not_utf8(error: &std::str::Utf8Error) -> String {
    format!("not UTF-8: {error}; if it was saved on Windows, give encoding = \"latin-1\", or save it as UTF-8")
}

/// The first bytes of a text, and a reader that begins with them.
fn headed(mut input: Box<dyn BufRead + Send>) -> std::io::Result<(Vec<u8>, Box<dyn BufRead + Send>)> {
    let mut head = Vec::new();
    (&mut input).take(HEAD).read_to_end(&mut head)?;
    Ok((head.clone(), Box::new(Cursor::new(head).chain(input))))
}

impl Iterator for CsvReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let batch = self.batch().map_err(|error| ArrowError::ExternalError(Box::new(error))).transpose();
        self.failed = matches!(batch, Some(Err(_)));
        batch
    }
}
