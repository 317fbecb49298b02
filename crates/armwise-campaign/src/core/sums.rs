//! The sums of a model as bytes, and the hash by which models are compared.
//!
//! ```text
//! dim, blocks (u64), gamma (f64), t (u64), then for each block: count (u64), rr (f64; NaN where it is not known),
//! b (dim f64), g (dim (dim + 1) / 2 f64)
//! ```
//! All little-endian. A new number of a block goes behind its count, in [`encode`] and in [`decode`].

use super::{
    Sha,
    bytes::{Reader, Writer},
};
use armwise::{Block, Model};

/// The sums as bytes: every bit of every number.
#[must_use]
pub fn encode(model: &Model) -> Vec<u8> {
    let mut out = Writer::default();
    out.whole(model.dim() as u64);
    out.whole(model.blocks().len() as u64);
    out.number(model.gamma());
    out.whole(model.t());
    for block in model.blocks() {
        out.whole(block.count());
        out.number(block.rr().unwrap_or(f64::NAN));
        out.numbers(block.b());
        out.numbers(block.g());
    }
    out.0
}

/// The model that [`encode`] wrote; none if the bytes are not that.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Model> {
    let mut bytes = Reader::new(bytes);
    let dim = usize::try_from(bytes.whole()?).ok()?;
    let count = usize::try_from(bytes.whole()?).ok()?;
    let (gamma, t) = (bytes.number()?, bytes.whole()?);
    let triangle = dim.checked_add(1)?.checked_mul(dim)? / 2;
    let mut blocks = Vec::new();
    for _ in 0..count {
        let (observations, rr) = (bytes.whole()?, bytes.number()?);
        let (b, g) = (bytes.numbers(dim)?, bytes.numbers(triangle)?);
        blocks.push(Block::from_sums(observations, b, g, Some(rr).filter(|rr| !rr.is_nan())));
    }
    bytes.is_done().then(|| Model::from_blocks(gamma, t, blocks).ok())?
}

/// The hash by which models are compared: SHA-256 of the sums as bytes.
#[must_use]
pub fn model_hash(model: &Model) -> Sha {
    Sha::of(encode(model))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that unwraps fails with the error it met")]
mod tests {
    use super::*;
    use armwise::Observation;

    #[test]
    fn every_bit_reads_back_and_other_bytes_do_not() {
        let mut model = Model::new(3, 2).unwrap().with_gamma(0.9).unwrap();
        for t in 1..=5_u64 {
            let x = [0.1 * t as f64, -1.0 / 3.0, 1e-300];
            model.observe(&Observation { t, block: (t % 2) as u32, x: &x, reward: 0.7 }).unwrap();
        }
        let bytes = encode(&model);
        assert_eq!(bytes.len(), 8 * (4 + 2 * (1 + 1 + 3 + 6)));
        assert_eq!(decode(&bytes).unwrap(), model);
        assert!((0..bytes.len()).all(|end| decode(&bytes[..end]).is_none()), "too short");
        assert!(decode(&[&bytes[..], &[0]].concat()).is_none(), "too long");
        let mut infinite = bytes.clone();
        infinite[40..48].copy_from_slice(&f64::INFINITY.to_le_bytes());
        assert!(decode(&infinite).is_none());
        let mut huge = bytes;
        huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(decode(&huge).is_none());
    }
}
