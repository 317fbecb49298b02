//! Numbers and texts as bytes, little-endian, one after the other: how sums and checkpoints are stored.
//!
//! What is written here is hashed, so a value has exactly one form.

use super::Sha;

/// Writes values one after the other.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn whole(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn number(&mut self, value: f64) {
        self.whole(value.to_bits());
    }

    pub(super) fn numbers(&mut self, values: &[f64]) {
        values.iter().for_each(|&value| self.number(value));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.whole(text.len() as u64);
        self.0.extend(text.as_bytes());
    }

    pub(super) fn hash(&mut self, hash: Sha) {
        self.0.extend(hash.0);
    }
}

/// Reads what a [`Writer`] wrote; `None` where the bytes end too soon or make no sense.
#[derive(Debug)]
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(super) fn whole(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    pub(super) fn number(&mut self) -> Option<f64> {
        self.whole().map(f64::from_bits)
    }

    /// This many numbers; never allocates more than the remaining bytes can hold.
    pub(super) fn numbers(&mut self, count: usize) -> Option<Vec<f64>> {
        let (own, rest) = self.0.split_at_checked(count.checked_mul(8)?)?;
        self.0 = rest;
        Some(own.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    pub(super) fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.whole()?).ok()?;
        let (own, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(own.to_vec()).ok()
    }

    pub(super) fn hash(&mut self) -> Option<Sha> {
        self.take().map(Sha)
    }

    /// Whether everything has been read.
    pub(super) fn is_done(&self) -> bool {
        self.0.is_empty()
    }
}
