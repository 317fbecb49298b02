//! Arrow IPC files and streams, with all lengths checked before the reader sees them.
//!
//! The reader allocates whatever a length in the file says, so one damaged byte could ask for all memory. A walk over
//! the file's blocks, which reads no data, refuses lengths that are larger than the file, and compressed batches that say
//! that they unpack to more than 2 GB.

use arrow_ipc::{
    Message, MessageHeader,
    reader::{FileReader, StreamReader},
    root_as_footer, root_as_message,
};
use arrow_schema::{ArrowError, SchemaRef};
use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    ops::Range,
};

use super::batches::Inner;

const MAGIC: &[u8] = b"ARROW1";

/// The most bytes that a compressed batch may unpack to.
const LARGEST_BATCH: u64 = 1 << 31;

/// Opens a file or a stream, whichever it is; `only` are the columns to be read.
pub(super) fn open(mut file: File, only: Option<Vec<usize>>) -> Result<(SchemaRef, Box<Inner>), ArrowError> {
    let size = file.metadata()?.len();
    Ok(if begins(&mut file)? > 0 {
        check_file(&mut file, size)?;
        file.seek(SeekFrom::Start(0))?;
        let reader = FileReader::try_new_buffered(file, only)?;
        (reader.schema(), Box::new(reader))
    } else {
        messages(&mut file, 0, size)?;
        file.seek(SeekFrom::Start(0))?;
        let reader = StreamReader::try_new_buffered(file, only)?;
        (reader.schema(), Box::new(reader))
    })
}

fn damaged(what: &str) -> ArrowError {
    ArrowError::IpcError(format!("the file is damaged or cut off: {what}"))
}

/// A length that the file states, if as many bytes are left.
fn within(length: impl TryInto<u64>, left: u64) -> Result<u64, ArrowError> {
    let length = length.try_into().ok().filter(|&length| length <= left);
    length.ok_or_else(|| damaged("a length is larger than the file"))
}

/// Bytes from a place that is known to be in the file.
fn bytes(file: &mut File, at: u64, length: u64) -> Result<Vec<u8>, ArrowError> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = vec![0; length as usize];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A file ends with its footer, the footer's length in four bytes, and the magic.
fn check_file(file: &mut File, size: u64) -> Result<(), ArrowError> {
    let end = size.checked_sub(4 + MAGIC.len() as u64).ok_or_else(|| damaged("there is no footer"))?;
    let length = bytes(file, end, 4)?.try_into().map(i32::from_le_bytes).unwrap_or_default();
    let length = within(length, end)?;
    let footer = bytes(file, end - length, length)?;
    let footer = root_as_footer(&footer).map_err(|error| damaged(&error.to_string()))?;
    for blocks in [footer.dictionaries(), footer.recordBatches()].into_iter().flatten() {
        for block in blocks {
            let offset = within(block.offset(), size)?;
            let metadata = within(block.metaDataLength(), size - offset)?;
            let body = within(block.bodyLength(), size - offset - metadata)?;
            let header = bytes(file, offset, metadata)?;
            // A marker of four bytes may come before the length of four.
            let skip = if header.starts_with(&[0xff; 4]) { 8 } else { 4 };
            let message = root_as_message(header.get(skip..).unwrap_or_default());
            check_unpacked(file, &message.map_err(|error| damaged(&error.to_string()))?, offset + metadata, body)?;
        }
    }
    Ok(())
}

/// A message of a stream.
pub(super) struct Piece {
    /// Its bytes.
    pub(super) range: Range<u64>,
    /// How many rows it has; none if it is a schema or a dictionary.
    pub(super) rows: Option<usize>,
}

/// The stream inside a file of either form begins here.
pub(super) fn begins(file: &mut File) -> std::io::Result<u64> {
    let mut magic = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(MAGIC.len() as u64).read_to_end(&mut magic)?;
    Ok(if magic == MAGIC { 8 } else { 0 })
}

/// A stream is a sequence of messages: an optional marker, the length of a header, the header, and a body.
pub(super) fn messages(file: &mut File, mut at: u64, size: u64) -> Result<Vec<Piece>, ArrowError> {
    let mut found = Vec::new();
    while at + 4 <= size {
        let start = at;
        let mut length = bytes(file, at, 4)?;
        at += 4;
        if length == [0xff; 4] && at + 4 <= size {
            length = bytes(file, at, 4)?;
            at += 4;
        }
        let length = length.try_into().map(i32::from_le_bytes).unwrap_or_default();
        if length == 0 {
            break;
        }
        let length = within(length, size - at)?;
        let message = bytes(file, at, length)?;
        let message = root_as_message(&message).map_err(|error| damaged(&error.to_string()))?;
        at += length;
        let body = within(message.bodyLength(), size - at)?;
        check_unpacked(file, &message, at, body)?;
        at += body;
        let rows = message.header_as_record_batch().map(|batch| usize::try_from(batch.length()).unwrap_or(0));
        found.push(Piece { range: start..at, rows });
    }
    Ok(found)
}

/// A compressed buffer begins with its length once it is unpacked, in eight bytes; -1 means that it is not packed.
fn check_unpacked(file: &mut File, message: &Message<'_>, start: u64, body: u64) -> Result<(), ArrowError> {
    let batch = match message.header_type() {
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch().and_then(|batch| batch.data()),
        _ => message.header_as_record_batch(),
    };
    let Some(buffers) = batch.filter(|batch| batch.compression().is_some()).and_then(|batch| batch.buffers()) else {
        return Ok(());
    };
    let mut unpacked: u64 = 0;
    for buffer in buffers.iter().filter(|buffer| buffer.length() > 0) {
        let offset = within(buffer.offset(), body)?;
        within(buffer.length().max(8), body - offset)?;
        let length = bytes(file, start + offset, 8)?.try_into().map(i64::from_le_bytes).unwrap_or_default();
        unpacked = unpacked.saturating_add(length.max(0).cast_unsigned());
        if length < -1 || unpacked > LARGEST_BATCH {
            let problem = "a compressed batch unpacks to more than 2 GB; write the table in smaller batches";
            return Err(ArrowError::IpcError(problem.to_owned()));
        }
    }
    Ok(())
}
