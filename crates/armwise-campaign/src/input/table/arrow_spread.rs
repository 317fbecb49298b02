//! A sample of an Arrow file or stream: some of its batches, from all over the file.
//!
//! The headers of the batches tell how many rows each has, and they are found without reading data. What is read is a
//! stream again: everything but the batches that are left out. A file of the other form has such a stream inside. If
//! anything is odd, there is no sample; what is wrong is told when the table is read.

use super::{
    arrow::{Piece, begins, messages},
    batches::Inner,
};
use crate::Error;
use arrow_ipc::reader::StreamReader;
use arrow_schema::SchemaRef;
use std::{
    collections::VecDeque,
    fs::File,
    io::{self, BufReader, Read, Seek, SeekFrom},
    ops::Range,
};

/// The batches of a sample may have this part of all bytes at most.
const PART: u64 = 4;

/// Ranges of a file, one after the other.
struct Ranges {
    file: File,
    left: VecDeque<Range<u64>>,
}

impl Read for Ranges {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(range) = self.left.front_mut() {
            if range.is_empty() {
                self.left.pop_front();
                continue;
            }
            // The place in the file is shared with whoever else reads it.
            self.file.seek(SeekFrom::Start(range.start))?;
            let most = usize::try_from(range.end - range.start).unwrap_or(usize::MAX).min(out.len());
            let count = self.file.read(&mut out[..most])?;
            range.start += count as u64;
            return Ok(count);
        }
        Ok(0)
    }
}

/// A schema, batches of it, and how many rows the table has.
type Sample = (SchemaRef, Box<Inner>, usize);

/// About `runs` runs of `run` rows; fewer and longer ones where batches are large. None for a table with fewer than `large`
/// times as many rows, or with batches so large that a sample would take as long as the table.
pub(super) fn sample(
    file: &File,
    (runs, run, large): (usize, usize, usize),
    places: impl FnOnce(&SchemaRef) -> Result<Vec<usize>, Error>,
) -> Result<Option<Sample>, Error> {
    let find = || -> io::Result<Option<(File, Vec<Piece>)>> {
        let mut file = file.try_clone()?;
        let (size, start) = (file.metadata()?.len(), begins(&mut file)?);
        Ok(messages(&mut file, start, size).ok().map(|pieces| (file, pieces)))
    };
    let Ok(Some((file, pieces))) = find() else { return Ok(None) };
    let rows: usize = pieces.iter().filter_map(|piece| piece.rows).sum();
    if rows < large * runs * run {
        return Ok(None);
    }
    let Some(taken) = chosen(&pieces, rows, runs, run) else { return Ok(None) };
    let open = |only: Option<Vec<usize>>| {
        let left = pieces.iter().zip(&taken).filter(|(_, taken)| taken.is_some());
        let left = left.map(|(piece, _)| piece.range.clone()).collect();
        let file = file.try_clone().ok()?;
        StreamReader::try_new(BufReader::with_capacity(1 << 16, Ranges { file, left }), only).ok()
    };
    let Some(reader) = open(None) else { return Ok(None) };
    let Some(reader) = open(Some(places(&reader.schema())?)) else { return Ok(None) };
    let schema = reader.schema();
    let counts = pieces.iter().zip(taken).filter(|(piece, _)| piece.rows.is_some()).filter_map(|(_, taken)| taken);
    let cut = reader.zip(counts).map(|(batch, count)| batch.map(|batch| batch.slice(0, count.min(batch.num_rows()))));
    Ok(Some((schema, Box::new(cut.collect::<Vec<_>>().into_iter()), rows)))
}

/// Of each message, how many rows of it are taken; none if it is left out.
fn chosen(pieces: &[Piece], rows: usize, runs: usize, run: usize) -> Option<Vec<Option<usize>>> {
    let bytes = |pieces: &mut dyn Iterator<Item = &Piece>| -> u64 {
        pieces.filter(|piece| piece.rows.is_some()).map(|piece| piece.range.end - piece.range.start).sum()
    };
    let all = bytes(&mut pieces.iter());
    let mut fewer = runs;
    while fewer > 0 {
        let run = runs * run / fewer;
        let (mut first, mut next, mut left) = (0, 0, 0);
        let take = |piece: &Piece| {
            let Some(own) = piece.rows else { return Some(0) };
            // A run begins with the batch in which its place lies.
            if next < fewer && rows / fewer * next < first + own {
                (next, left) = (next + 1, run);
            }
            first += own;
            let count = own.min(left);
            left -= count;
            (count > 0).then_some(count)
        };
        let taken: Vec<Option<usize>> = pieces.iter().map(take).collect();
        if bytes(&mut pieces.iter().zip(&taken).filter(|(_, taken)| taken.is_some()).map(|(piece, _)| piece))
            <= all / PART
        {
            return Some(taken);
        }
        fewer /= 2;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of 1,000 rows and 10 bytes a row after a schema.
    fn pieces(batches: &[usize]) -> Vec<Piece> {
        let mut at = 100;
        let mut pieces = vec![Piece { range: 0..at, rows: None }];
        for &rows in batches {
            let end = at + 10 * rows as u64;
            pieces.push(Piece { range: at..end, rows: Some(rows) });
            at = end;
        }
        pieces
    }

    /// The batches from which rows are taken, with how many.
    fn taken(batches: &[usize], runs: usize, run: usize) -> Option<Vec<(usize, usize)>> {
        let taken = chosen(&pieces(batches), batches.iter().sum(), runs, run)?;
        assert_eq!(taken[0], Some(0), "the schema is always read");
        Some(taken[1..].iter().enumerate().filter_map(|(place, count)| Some((place, (*count)?))).collect())
    }

    #[test]
    fn runs_begin_all_over_the_file() {
        assert_eq!(
            taken(&[1000; 40], 4, 1500),
            Some(vec![(0, 1000), (1, 500), (10, 1000), (11, 500), (20, 1000), (21, 500), (30, 1000), (31, 500)])
        );
        assert_eq!(taken(&[1000; 100], 4, 10), Some(vec![(0, 10), (25, 10), (50, 10), (75, 10)]));
    }

    #[test]
    fn large_batches_give_fewer_and_longer_runs_and_one_batch_none() {
        assert_eq!(taken(&[1000; 8], 8, 10), Some(vec![(0, 40), (4, 40)]));
        assert_eq!(taken(&[1000; 4], 8, 10), Some(vec![(0, 80)]));
        assert_eq!(taken(&[1000; 3], 8, 10), None);
        assert_eq!(taken(&[1_000_000], 8, 10), None);
    }
}
