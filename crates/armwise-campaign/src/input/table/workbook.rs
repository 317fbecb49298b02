//! A workbook (xlsx) is opened: its size is checked before the reader sees it, and the sheet is found.
//!
//! A workbook is a zip, and a small zip may unpack to any length. Every part is unpacked once and counted first, because
//! the lengths that a zip states may be wrong. The number of texts that a workbook states is checked too, since the
//! reader asks for that much memory at once.

use super::rules::TableRules;
use crate::Error;
use calamine::{DataRef, Reader, SheetType, SheetVisible, Xlsx};
use quick_xml::events::Event;
use std::{
    fs::File,
    io::{BufReader, Cursor, Read, Seek, SeekFrom},
};
use zip::ZipArchive;

/// The most bytes of the file itself, which is held in memory while it is read.
const LARGEST_FILE: u64 = 1 << 29;
/// The most bytes that all parts unpack to.
const LARGEST: u64 = 1 << 31;
/// The most bytes of the texts that cells share, which are held in memory.
const LARGEST_TEXTS: u64 = 1 << 28;
/// The most bytes of each of the other parts that are held in memory.
const LARGEST_PART: u64 = 1 << 26;
/// So many texts are believed without counting.
const FEW_TEXTS: u64 = 1 << 20;

pub(super) type Workbook = Xlsx<Cursor<Vec<u8>>>;

/// Opens a workbook and finds the sheet to be read.
pub(super) fn open(file: &mut File, table: &str, rules: &TableRules) -> Result<(Workbook, String), Error> {
    let refused = |problem: String| Error::table(table, problem);
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.take(LARGEST_FILE + 1).read_to_end(&mut bytes))
        .map_err(|error| Error::unreadable(table, "", error))?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(refused("the workbook is larger than 512 MB; save the sheet as CSV or Parquet".to_owned()));
    }
    check(&bytes).map_err(refused)?;
    let mut workbook: Workbook = Xlsx::new(Cursor::new(bytes)).map_err(|error| Error::unreadable(table, "", error))?;
    let sheet = find(&mut workbook, rules.sheet.as_deref()).map_err(refused)?;
    Ok((workbook, sheet))
}

/// Refuses what would unpack to more than is read.
fn check(bytes: &[u8]) -> Result<(), String> {
    if bytes.starts_with(&[0xd0, 0xcf, 0x11, 0xe0]) {
        let problem = "it is a workbook in the format before 2007, or one with a password; save it as xlsx without one";
        return Err(problem.to_owned());
    }
    if !bytes.starts_with(b"PK") {
        return Err("it is not an xlsx workbook; if it is text, give the format csv, or name it so".to_owned());
    }
    let not_xlsx = |error: &dyn std::fmt::Display| format!("it is not an xlsx workbook: {error}");
    let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|error| not_xlsx(&error))?;
    let mut left = LARGEST;
    for place in 0..zip.len() {
        let part = zip.by_index(place).map_err(|error| not_xlsx(&error))?;
        let name = part.name().map_err(|error| not_xlsx(&error))?.replace('\\', "/").to_lowercase();
        let most = match () {
            () if name.ends_with("sharedstrings.xml") => LARGEST_TEXTS,
            () if name.contains("worksheets/") || name.contains("media/") => LARGEST,
            () => LARGEST_PART,
        };
        let most = most.min(left);
        let size = std::io::copy(&mut part.take(most + 1), &mut std::io::sink())
            .map_err(|error| format!("the workbook is damaged: {name:?}: {error}"))?;
        if size > most {
            return Err(format!(
                "{name:?} unpacks to more than {} MB, which is the most that is read of a workbook; save the sheet as \
                 CSV or Parquet",
                most >> 20
            ));
        }
        left -= size;
        if name.ends_with("sharedstrings.xml") {
            let part = zip.by_index(place).map_err(|error| not_xlsx(&error))?;
            believable(BufReader::new(part), size)?;
        }
    }
    Ok(())
}

/// Refuses a count of texts that the part's length in bytes cannot hold.
fn believable(part: impl std::io::BufRead, size: u64) -> Result<(), String> {
    let mut xml = quick_xml::Reader::from_reader(part);
    let mut room = Vec::new();
    loop {
        room.clear();
        match xml.read_event_into(&mut room) {
            Ok(Event::Start(start) | Event::Empty(start)) if start.local_name().as_ref() == "sst" => {
                let counts = start.attributes_raw().split(|letter: char| !letter.is_ascii_digit());
                let mut counts = counts.filter(|digits| !digits.is_empty());
                let believed = |digits: &str| digits.parse().is_ok_and(|count: u64| count <= size.max(FEW_TEXTS));
                return match counts.find(|digits| !believed(digits)) {
                    None => Ok(()),
                    Some(count) => Err(format!("the workbook is damaged: it says that it holds {count} texts")),
                };
            }
            // What is wrong with it, the reader says.
            Ok(Event::Eof) | Err(_) => return Ok(()),
            Ok(_) => {}
        }
    }
}

/// The sheet with this name, or the only visible one that is not empty.
fn find(workbook: &mut Workbook, told: Option<&str>) -> Result<String, String> {
    let sheets: Vec<(String, bool)> = (workbook.sheets_metadata().iter())
        .filter(|sheet| sheet.typ == SheetType::WorkSheet)
        .map(|sheet| (sheet.name.clone(), sheet.visible == SheetVisible::Visible))
        .collect();
    let quoted = |names: &[String]| names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    let names: Vec<String> = sheets.iter().map(|(name, _)| name.clone()).collect();
    if let Some(told) = told {
        let alike = |name: &&String| name.trim().to_lowercase() == told.trim().to_lowercase();
        let exact = names.iter().find(|name| *name == told);
        return exact
            .or_else(|| names.iter().find(alike))
            .cloned()
            .ok_or_else(|| format!("there is no sheet {told:?}; the workbook has {}", quoted(&names)));
    }
    let mut filled = Vec::new();
    for (name, _) in sheets.into_iter().filter(|(_, visible)| *visible) {
        if has_cells(workbook, &name).map_err(|error| format!("sheet {name:?}: {error}"))? {
            filled.push(name);
        }
    }
    match &filled[..] {
        [one] => Ok(one.clone()),
        [] => Err("no visible sheet of the workbook has a cell with something in it".to_owned()),
        several => Err(format!("the workbook has several sheets; give sheet = one of {}", quoted(several))),
    }
}

fn has_cells(workbook: &mut Workbook, sheet: &str) -> Result<bool, calamine::XlsxError> {
    let mut cells = workbook.worksheet_cells_reader(sheet)?;
    while let Some(cell) = cells.next_cell()? {
        if *cell.get_value() != DataRef::Empty {
            return Ok(true);
        }
    }
    Ok(false)
}
