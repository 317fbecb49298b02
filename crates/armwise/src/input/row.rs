//! The features of an arm, as a decision keeps them.
//!
//! Arms that were chosen together share one allocation: allocating each row separately would take a large part of the
//! time of a small choice.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::{fmt, ops::Deref, sync::Arc};

/// The features of a chosen arm: a slice that is cheap to clone.
///
/// It shares its memory with the arms that were chosen with it, and the memory is freed when the last of them is
/// dropped. To keep a single row for a long time, copy it with `to_vec`.
///
/// # Example
/// ```
/// use armwise::Row;
/// let x = Row::from(vec![1.0, 2.0]);
/// assert_eq!((x[0], x.len(), x.to_vec()), (1.0, 2, vec![1.0, 2.0]));
/// ```
#[derive(Clone)]
pub struct Row {
    all: Arc<Vec<f64>>,
    first: usize,
    dim: usize,
}

impl Row {
    /// All rows of a row-major matrix, in order; its length must be a multiple of `dim`.
    pub(crate) fn rows(matrix: Vec<f64>, dim: usize) -> impl Iterator<Item = Self> {
        let all = Arc::new(matrix);
        (0..all.len() / dim).map(move |row| Self { all: Arc::clone(&all), first: row * dim, dim })
    }
}

impl Deref for Row {
    type Target = [f64];

    #[inline]
    fn deref(&self) -> &[f64] {
        &self.all[self.first..self.first + self.dim]
    }
}

impl From<Vec<f64>> for Row {
    fn from(x: Vec<f64>) -> Self {
        Self { first: 0, dim: x.len(), all: Arc::new(x) }
    }
}

impl<'a> IntoIterator for &'a Row {
    type Item = &'a f64;
    type IntoIter = std::slice::Iter<'a, f64>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Row {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_rows_of_the_matrix_and_read_back_what_they_write() {
        let rows: Vec<Row> = Row::rows(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3).collect();
        assert_eq!(rows, [Row::from(vec![1.0, 2.0, 3.0]), Row::from(vec![4.0, 5.0, 6.0])]);
        assert_ne!(rows[0], rows[1]);
        let written = serde_json::to_string(&rows).expect("numbers");
        assert_eq!(written, "[[1.0,2.0,3.0],[4.0,5.0,6.0]]");
        assert_eq!(serde_json::from_str::<Vec<Row>>(&written).expect("numbers"), rows);
        assert_eq!(format!("{:?}", rows[1]), "[4.0, 5.0, 6.0]");
        assert_eq!(Row::rows(Vec::new(), 3).count(), 0);
    }
}
