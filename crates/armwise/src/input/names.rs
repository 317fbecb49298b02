//! Names of arms, and how a name becomes the u64 that keys its draws and ties.
//!
//! The hash is XXH64 with seed 0 over the UTF-8 bytes, on every surface. It keys draws and
//! ties only. Whether two arms are the same is decided by comparing the names themselves, so two names that hash
//! alike stay two arms (they merely share their draws).

use crate::Error;
use twox_hash::XxHash64;

/// The id of a name: XXH64, seed 0, of its UTF-8 bytes.
///
/// # Example
/// ```
/// assert_eq!(armwise::id_of("customer-17"), armwise::id_of("customer-17"));
/// assert_eq!(armwise::id_of(""), 0xef46_db37_51d8_e999); // the published XXH64 value
/// ```
#[must_use]
pub fn id_of(name: &str) -> u64 {
    XxHash64::oneshot(0, name.as_bytes())
}

/// A number for a text, to put a column of texts beside the arms as a [`Column`](crate::Column) of numbers: the upper
/// 53 bits of its [`id_of`], so that equal texts have equal numbers wherever they are met.
///
/// # Example
/// ```
/// assert_eq!(armwise::number_of(""), (0xef46_db37_51d8_e999_u64 >> 11) as f64);
/// ```
#[must_use]
pub fn number_of(text: &str) -> f64 {
    (id_of(text) >> 11) as f64
}

/// A list of distinct names with their ids, to be lent to [`Arms::with_names`](crate::Arms::with_names).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// All names, one after the other, and where each ends: a million names are two allocations.
    text: String,
    ends: Vec<usize>,
    ids: Vec<u64>,
}

impl Names {
    /// Takes the names of the rows, in row order.
    ///
    /// # Errors
    /// [`Error::DuplicateName`] if a name appears twice.
    pub fn new<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        let mut all = Self::default();
        names.into_iter().for_each(|name| all.push(name.as_ref(), id_of(name.as_ref())));
        all.check()?;
        Ok(all)
    }

    /// Adds a name; [`check`](Self::check) finds it if it is there already.
    pub(super) fn push(&mut self, name: &str, id: u64) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.ids.push(id);
    }

    /// Refuses a name that appears twice.
    pub(super) fn check(&self) -> Result<(), Error> {
        // Most lists have no two equal ids, and whole numbers sort faster than rows.
        let mut ids = self.ids.clone();
        ids.sort_unstable();
        if ids.windows(2).all(|pair| pair[0] < pair[1]) {
            return Ok(());
        }
        let mut rows: Vec<usize> = (0..self.ids.len()).collect();
        rows.sort_unstable_by_key(|&row| (self.ids[row], row));
        for equal in rows.chunk_by(|&a, &b| self.ids[a] == self.ids[b]).filter(|equal| equal.len() > 1) {
            for (place, &second) in equal.iter().enumerate() {
                if let Some(&first) = equal[..place].iter().find(|&&first| self.get(first) == self.get(second)) {
                    return Err(Error::DuplicateName { name: self.get(first).to_owned(), first, second });
                }
            }
        }
        Ok(())
    }

    /// The name of a row.
    #[must_use]
    pub fn get(&self, row: usize) -> &str {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.text[start..self.ends[row]]
    }

    /// The ids in row order.
    #[must_use]
    pub fn ids(&self) -> &[u64] {
        &self.ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_hash_alike_are_different_arms() {
        let mut names = Names::default();
        ["ann", "bob"].into_iter().for_each(|name| names.push(name, 7));
        assert_eq!(names.check(), Ok(()));
        assert_eq!((names.ids(), names.get(0), names.get(1)), (&[7, 7][..], "ann", "bob"));
    }

    #[test]
    fn a_repeated_name_is_refused_with_both_rows() {
        let error = Names::new(["b", "a", "b"]).expect_err("b appears twice");
        assert_eq!(error, Error::DuplicateName { name: "b".into(), first: 0, second: 2 });
    }
}
