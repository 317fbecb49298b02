//! The sparse user x movie matrix of ratings, in rows.
//!
//! A rating takes 5 bytes (a `u32` column and a `u8` count of half stars), so the 20 million of
//! ml-20m and their transpose fit in 200 MB. Within a row, columns ascend, and every sum runs in that order.

/// Rows of (column, half stars), columns ascending in each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sparse {
    starts: Vec<usize>,
    columns: Vec<u32>,
    halves: Vec<u8>,
    width: usize,
}

impl Sparse {
    /// The matrix of the given entries, which may come in any order.
    ///
    /// Entries of the same row and column stay side by side in the order given.
    pub(crate) fn from_entries(height: usize, width: usize, rows: &[u32], columns: &[u32], halves: &[u8]) -> Self {
        // Sorting by column and then, stably, by row sorts by (row, column).
        scatter(width, height, columns.iter().zip(rows).zip(halves).map(|((&to, &from), &half)| (to, from, half)))
            .transposed()
    }

    pub(crate) fn height(&self) -> usize {
        self.starts.len() - 1
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    /// The columns and half stars of a row.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> (&[u32], &[u8]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.halves[range])
    }

    /// The half stars at (row, column), or 0.
    pub(crate) fn get(&self, row: usize, column: u32) -> u8 {
        let (columns, halves) = self.row(row);
        columns.binary_search(&column).map_or(0, |at| halves[at])
    }

    /// How many entries each column has.
    pub(crate) fn column_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.width];
        for &column in &self.columns {
            counts[column as usize] += 1;
        }
        counts
    }

    pub(crate) fn transposed(&self) -> Self {
        let entries = (0..self.height()).flat_map(|row| {
            let (columns, halves) = self.row(row);
            columns.iter().zip(halves).map(move |(&column, &half)| (column, row as u32, half))
        });
        scatter(self.width, self.height(), entries)
    }

    /// The same matrix with the given columns (ascending) emptied.
    pub(crate) fn without_columns(&self, dropped: &[u32]) -> Self {
        let mut keep = vec![true; self.width];
        for &column in dropped {
            keep[column as usize] = false;
        }
        let mut left = Self { starts: vec![0], columns: Vec::new(), halves: Vec::new(), width: self.width };
        left.columns.reserve_exact(self.len());
        left.halves.reserve_exact(self.len());
        for row in 0..self.height() {
            let (columns, halves) = self.row(row);
            for (&column, &half) in columns.iter().zip(halves).filter(|(column, _)| keep[**column as usize]) {
                left.columns.push(column);
                left.halves.push(half);
            }
            left.starts.push(left.columns.len());
        }
        left
    }
}

/// Puts entries (row, column, half stars) in their rows, in the order they come: a counting sort, in two passes.
fn scatter(height: usize, width: usize, entries: impl Iterator<Item = (u32, u32, u8)> + Clone) -> Sparse {
    let mut starts = vec![0; height + 1];
    for (row, _, _) in entries.clone() {
        starts[row as usize + 1] += 1;
    }
    for row in 0..height {
        starts[row + 1] += starts[row];
    }
    let mut next = starts.clone();
    let mut columns = vec![0; starts[height]];
    let mut halves = vec![0; starts[height]];
    for (row, column, half) in entries {
        let at = &mut next[row as usize];
        columns[*at] = column;
        halves[*at] = half;
        *at += 1;
    }
    Sparse { starts, columns, halves, width }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The matrix of a dense table of half stars.
    pub(crate) fn of_table(table: &[Vec<u8>]) -> Sparse {
        let width = table.first().map_or(0, Vec::len);
        let (mut rows, mut columns, mut halves) = (vec![], vec![], vec![]);
        // Columns from right to left, so that sorting has work to do.
        for column in (0..width).rev() {
            for (row, line) in table.iter().enumerate().filter(|(_, line)| line[column] > 0) {
                rows.push(row as u32);
                columns.push(column as u32);
                halves.push(line[column]);
            }
        }
        Sparse::from_entries(table.len(), width, &rows, &columns, &halves)
    }

    proptest! {
        #[test]
        fn agrees_with_the_dense_table(
            table in (1usize..8, 1usize..8).prop_flat_map(|(h, w)| {
                proptest::collection::vec(proptest::collection::vec(0u8..=10, w), h)
            }),
        ) {
            let sparse = of_table(&table);
            let transposed = sparse.transposed();
            prop_assert_eq!(&transposed.transposed(), &sparse);
            let dropped = sparse.without_columns(&[0]);
            for (row, line) in table.iter().enumerate() {
                prop_assert!(sparse.row(row).0.is_sorted_by(|a, b| a < b));
                for (column, &half) in line.iter().enumerate() {
                    prop_assert_eq!(sparse.get(row, column as u32), half);
                    prop_assert_eq!(transposed.get(column, row as u32), half);
                    prop_assert_eq!(dropped.get(row, column as u32), if column == 0 { 0 } else { half });
                }
            }
            for (column, count) in sparse.column_counts().into_iter().enumerate() {
                prop_assert_eq!(count as usize, table.iter().filter(|line| line[column] > 0).count());
            }
        }
    }
}
