//! A sheet of a workbook as text columns, like CSV: what a cell shows as an id stays text, and numbers are parsed where
//! they are used.
//!
//! Numbers are written with all their digits, dates as 2026-01-31, and a formula is what the spreadsheet computed last.
//! Cells that hold an error, a formula without a value, or a number of more than 15 digits (which spreadsheets do not
//! keep) are errors, but only in columns that are read. A thread of its own goes along the sheet, since the library's
//! reader borrows the workbook; it ends when nobody takes its batches any more.

use super::{
    BATCH, MOST_COLUMNS, batches,
    batches::{Batches, Inner},
    guard::guarded,
    rules::{Decimal, TableRules},
    values::LINE,
    workbook::{self, Workbook},
};
use crate::Error;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array, builder::StringBuilder};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use calamine::{DataRef, ExcelDateTime, XlsxCellReader};
use std::{
    fs::File,
    io::Cursor,
    sync::{
        Arc,
        mpsc::{SyncSender, sync_channel},
    },
};

/// The most bytes in one cell.
const LARGEST_CELL: usize = 1 << 20;
/// A batch ends when it has this many bytes, even if it has few rows.
const LARGE_BATCH: usize = 1 << 26;
/// Whole numbers below have all their digits in a spreadsheet.
const EXACT: f64 = 1e15;

/// Reads a sheet from the start: all columns, or those named.
pub(super) fn read(mut file: File, table: &str, rules: &TableRules, only: Option<&[String]>) -> Result<Batches, Error> {
    let (workbook, sheet) = workbook::open(&mut file, table, rules)?;
    let decimal = rules.decimal.unwrap_or(Decimal::Point);
    let (send, receive) = sync_channel(2);
    let (name, only) = (table.to_owned(), only.map(<[String]>::to_vec));
    std::thread::spawn(move || {
        let failed = send.clone();
        let walked = guarded(|| walk(workbook, &sheet, &name, decimal, only.as_deref(), &send));
        if let Err(error) = walked.unwrap_or_else(|damage| Err(Error::table(&name, damage))) {
            // Nobody may be listening any more.
            let _ = failed.send(Err(error));
        }
    });
    let mut first = receive.into_iter();
    let schema = match first.next() {
        Some(Ok(Part::Head(schema))) => schema,
        Some(Err(error)) => return Err(error),
        _ => return Err(Error::table(table, "the sheet cannot be read")),
    };
    let rest = first.filter_map(|part| match part {
        Ok(Part::Rows(batch)) => Some(Ok(batch)),
        Ok(Part::Head(_)) => None,
        Err(error) => Some(Err(ArrowError::ExternalError(Box::new(error)))),
    });
    let rest: Box<Inner> = Box::new(rest);
    Ok(Batches::new(table, schema, rest).with_decimal(Some(decimal)))
}

/// What the thread gives: the columns first, then rows.
enum Part {
    Head(SchemaRef),
    Rows(RecordBatch),
}

/// A row of the sheet: its number from 0, and the cells that are not empty, ascending.
type Row<'a> = (u32, Vec<(u32, Content<'a>)>);

/// What is in a cell.
enum Content<'a> {
    Value(DataRef<'a>),
    /// A formula whose value was never computed.
    Formula,
}

/// Goes along a sheet and sends it in batches.
fn walk(
    mut workbook: Workbook,
    sheet: &str,
    table: &str,
    decimal: Decimal,
    only: Option<&[String]>,
    send: &SyncSender<Result<Part, Error>>,
) -> Result<(), Error> {
    let unreadable = |error| Error::unreadable(table, "", error);
    let cells = workbook.worksheet_cells_reader(sheet).map_err(unreadable)?;
    let mut rows = RowsOf { cells, next: None, ended: false, table };
    let Some((_, head)) = rows.next()? else {
        return Err(Error::table(table, "the sheet is empty; its first row must name the columns"));
    };
    let (first, names) = header(table, &head, decimal)?;
    let fields = |names: &[String]| names.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect::<Vec<_>>();
    let whole: SchemaRef = Arc::new(Schema::new(fields(&names)));
    let kept = match only {
        Some(only) => batches::places(table, &whole, only)?,
        None => (0..names.len()).collect(),
    };
    let schema = whole.project(&kept).map_err(unreadable_arrow(table))?;
    if send.send(Ok(Part::Head(Arc::new(schema.clone())))).is_err() {
        return Ok(());
    }
    let with_lines = schema.fields().iter().cloned().chain([Arc::new(Field::new(LINE, DataType::UInt64, false))]);
    let with_lines: SchemaRef = Arc::new(Schema::new(with_lines.collect::<Vec<_>>()));
    let (mut count, mut ended) = (0, false);
    while !ended {
        let mut builders: Vec<StringBuilder> = kept.iter().map(|_| StringBuilder::new()).collect();
        let (mut lines, mut bytes) = (Vec::new(), 0);
        while lines.len() < BATCH && bytes < LARGE_BATCH {
            let Some((line, cells)) = rows.next()? else {
                ended = true;
                break;
            };
            count += 1;
            let bad = |column: &str, problem: String| Error::Cell {
                table: table.to_owned(),
                row: count,
                column: column.to_owned(),
                problem,
            };
            let beyond = cells.iter().find(|(at, _)| !(first..first + names.len() as u32).contains(at));
            if let Some((at, _)) = beyond {
                return Err(bad(&letters(*at), "there is a value, but the header names no column there".to_owned()));
            }
            let mut cells = cells.into_iter().peekable();
            for (builder, &place) in builders.iter_mut().zip(&kept) {
                while cells.next_if(|(at, _)| *at < first + place as u32).is_some() {}
                let text = match cells.next_if(|(at, _)| *at == first + place as u32) {
                    None => String::new(),
                    Some((_, content)) => text(&content, decimal).map_err(|problem| bad(&names[place], problem))?,
                };
                bytes += text.len();
                if text.is_empty() { builder.append_null() } else { builder.append_value(text) }
            }
            lines.push(u64::from(line) + 1);
        }
        if lines.is_empty() {
            break;
        }
        let mut columns: Vec<ArrayRef> = builders.into_iter().map(|mut b| Arc::new(b.finish()) as ArrayRef).collect();
        columns.push(Arc::new(UInt64Array::from(lines)));
        let batch = RecordBatch::try_new(Arc::clone(&with_lines), columns).map_err(unreadable_arrow(table))?;
        if send.send(Ok(Part::Rows(batch))).is_err() {
            break;
        }
    }
    Ok(())
}

fn unreadable_arrow(table: &str) -> impl Fn(ArrowError) -> Error + '_ {
    move |error| Error::unreadable(table, "", error)
}

/// The rows of a sheet that are not empty.
struct RowsOf<'a, 't> {
    cells: XlsxCellReader<'a, Cursor<Vec<u8>>>,
    /// The first cell of the next row.
    next: Option<(u32, u32, Content<'a>)>,
    /// The reader may not be asked again after the last cell.
    ended: bool,
    table: &'t str,
}

impl<'a> RowsOf<'a, '_> {
    fn next(&mut self) -> Result<Option<Row<'a>>, Error> {
        let mut row = match self.next.take() {
            Some((line, column, content)) => (line, vec![(column, content)]),
            None => match self.cell()? {
                Some((line, column, content)) => (line, vec![(column, content)]),
                None => return Ok(None),
            },
        };
        while let Some((line, column, content)) = self.cell()? {
            let last = row.1.last().map_or(0, |(column, _)| *column);
            if line > row.0 {
                self.next = Some((line, column, content));
                break;
            }
            if line < row.0 || column <= last {
                let problem = "the workbook is damaged: the cells of the sheet are not in their order";
                return Err(Error::table(self.table, problem));
            }
            row.1.push((column, content));
        }
        Ok(Some(row))
    }

    /// The next cell that is not empty.
    fn cell(&mut self) -> Result<Option<(u32, u32, Content<'a>)>, Error> {
        while !self.ended {
            let cell = self.cells.next_cell_with_formula_metadata();
            let Some(cell) = cell.map_err(|error| Error::unreadable(self.table, "", error))? else {
                self.ended = true;
                break;
            };
            let (line, column) = cell.pos;
            match (cell.value, cell.formula) {
                (DataRef::Empty, None) | (DataRef::SharedString(""), _) => {}
                (DataRef::Empty, Some(_)) => return Ok(Some((line, column, Content::Formula))),
                (DataRef::String(text), None) if text.is_empty() => {}
                (value, _) => return Ok(Some((line, column, Content::Value(value)))),
            }
        }
        Ok(None)
    }
}

/// The first column, and the names of the columns from there on.
fn header(table: &str, head: &[(u32, Content<'_>)], decimal: Decimal) -> Result<(u32, Vec<String>), Error> {
    let first = head.first().map_or(0, |(column, _)| *column);
    let mut names = Vec::new();
    for (at, content) in head {
        let refused = |problem: String| Error::table(table, format!("header, column {}: {problem}", letters(*at)));
        if names.len() >= MOST_COLUMNS {
            return Err(refused(format!("there are more than {MOST_COLUMNS} columns, which is the most that is read")));
        }
        let expected = first + names.len() as u32;
        if *at != expected {
            return Err(Error::table(table, format!("header, column {}: it has no name", letters(expected))));
        }
        names.push(text(content, decimal).map_err(refused)?);
    }
    Ok((first, names))
}

/// What a spreadsheet calls a column: A, B, ..., AA.
fn letters(column: u32) -> String {
    let mut name = Vec::new();
    let mut left = u64::from(column) + 1;
    while left > 0 {
        left -= 1;
        name.push(char::from(b'A' + (left % 26) as u8));
        left /= 26;
    }
    name.into_iter().rev().collect()
}

/// A cell as text, empty for nothing.
fn text(content: &Content<'_>, decimal: Decimal) -> Result<String, String> {
    let Content::Value(value) = content else {
        return Err("the formula has no value yet; open the workbook in a spreadsheet program and save it".to_owned());
    };
    let text = match value {
        DataRef::Int(number) => whole_or_not(*number as f64, decimal)?,
        DataRef::Float(number) => whole_or_not(*number, decimal)?,
        DataRef::Bool(flag) => flag.to_string(),
        DataRef::String(text) | DataRef::DateTimeIso(text) | DataRef::DurationIso(text) => text.clone(),
        DataRef::SharedString(text) => (*text).to_owned(),
        DataRef::DateTime(at) if at.is_duration() => whole_or_not(at.as_f64(), decimal)?,
        DataRef::DateTime(at) => date(at),
        DataRef::Error(error) => {
            return Err(format!("the cell holds the error {error}; mend its formula, or clear it if it is missing"));
        }
        DataRef::Empty => String::new(),
    };
    if text.len() > LARGEST_CELL {
        return Err("the text is longer than 1 MB".to_owned());
    }
    Ok(text)
}

/// A number as text, with the decimal mark of the table.
fn whole_or_not(number: f64, decimal: Decimal) -> Result<String, String> {
    if !number.is_finite() || number.abs() >= EXACT {
        return Err(format!(
            "{number} has more than 15 digits, and a spreadsheet keeps no more of a number; store an id as text, and \
             leave the cell empty if the number stands for a missing value"
        ));
    }
    let text = (number + 0.0).to_string();
    Ok(if decimal == Decimal::Comma { text.replace('.', ",") } else { text })
}

/// A date as 2026-01-31, with the time of day unless it is midnight; a time alone as 13:45:00.
fn date(at: &ExcelDateTime) -> String {
    let (year, month, day, hour, minute, second, _) = at.to_ymd_hms_milli();
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    match (at.as_f64() < 1.0, at.as_f64().fract() > 0.0) {
        (true, _) => time,
        (false, true) => format!("{year:04}-{month:02}-{day:02}T{time}"),
        (false, false) => format!("{year:04}-{month:02}-{day:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_as_a_spreadsheet_names_them() {
        for (column, name) in [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA"), (16_383, "XFD")] {
            assert_eq!(letters(column), name);
        }
    }

    #[test]
    fn numbers_keep_their_digits_and_dates_are_written_out() {
        let of = |number: f64, decimal| whole_or_not(number, decimal);
        assert_eq!(of(12345.0, Decimal::Point).as_deref(), Ok("12345"));
        assert_eq!(of(0.1, Decimal::Point).as_deref(), Ok("0.1"));
        assert_eq!(of(-2.5, Decimal::Comma).as_deref(), Ok("-2,5"));
        assert_eq!(of(-0.0, Decimal::Point).as_deref(), Ok("0"));
        assert!(of(1e15, Decimal::Point).is_err() && of(f64::NAN, Decimal::Point).is_err());
        let at = |value| date(&ExcelDateTime::new(value, calamine::ExcelDateTimeType::DateTime, false));
        // Day 46,053 of the spreadsheet's calendar, whose day 1 is 1900-01-01 and which has a 29 February 1900.
        assert_eq!(at(46_053.0), "2026-01-31");
        assert_eq!(at(46_053.75), "2026-01-31T18:00:00");
        assert_eq!(at(0.25), "06:00:00");
    }
}
