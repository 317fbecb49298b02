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

/// A list of distinct names with their ids, to be lent to [`Arms::with_names`](crate::Arms::with_names).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    names: Vec<String>,
    ids: Vec<u64>,
}

impl Names {
    /// Takes the names of the rows, in row order.
    ///
    /// # Errors
    /// [`Error::DuplicateName`] if a name stands twice.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Result<Self, Error> {
        Self::keyed_by(names.into_iter().map(Into::into).collect(), id_of)
    }

    /// As `new`, with another hash: lets a test make two names collide.
    fn keyed_by(names: Vec<String>, id_of: impl Fn(&str) -> u64) -> Result<Self, Error> {
        let ids: Vec<u64> = names.iter().map(|name| id_of(name)).collect();
        let mut rows: Vec<usize> = (0..names.len()).collect();
        rows.sort_unstable_by(|&a, &b| (ids[a], &names[a], a).cmp(&(ids[b], &names[b], b)));
        for pair in rows.windows(2) {
            if names[pair[0]] == names[pair[1]] {
                return Err(Error::DuplicateName { name: names[pair[0]].clone(), first: pair[0], second: pair[1] });
            }
        }
        Ok(Self { names, ids })
    }

    /// The names in row order.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
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
        let names = Names::keyed_by(vec!["ann".into(), "bob".into()], |_| 7).expect("two names, two arms");
        assert_eq!(names.ids(), [7, 7]);
    }

    #[test]
    fn a_repeated_name_is_refused_with_both_rows() {
        let error = Names::new(["b", "a", "b"]).expect_err("b stands twice");
        assert_eq!(error, Error::DuplicateName { name: "b".into(), first: 0, second: 2 });
    }
}
