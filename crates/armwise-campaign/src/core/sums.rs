//! The sums of a model as bytes, and the hash by which models are compared.
//!
//! ```text
//! dim, blocks (u64), gamma (f64), t (u64), then for each block: count (u64), rr (f64; NaN where it is not known),
//! b (dim f64), g (dim (dim + 1) / 2 f64)
//! ```
//! Where gamma is chosen by evidence it is NaN here, and in place of the blocks stand the rounds of a unit and the number of
//! spans (u64), then for each span its first unit (u64) and its blocks, or empty blocks where there is no span; all spans
//! together are the blocks.
//! All little-endian. A new number of a block goes behind its count, in [`encode`] and in [`decode`].

use super::{
    Sha,
    bytes::{Reader, Writer},
};
use armwise::{Block, Gamma, Model};
use std::collections::BTreeMap;

/// The sums as bytes: every bit of every number.
#[must_use]
pub fn encode(model: &Model) -> Vec<u8> {
    let mut out = Writer::default();
    out.whole(model.dim() as u64);
    out.whole(model.blocks().len() as u64);
    out.number(if let Gamma::Value(gamma) = model.gamma() { gamma } else { f64::NAN });
    out.whole(model.t());
    let Some((unit, spans)) = model.spans() else {
        write(&mut out, model.blocks());
        return out.0;
    };
    out.whole(unit);
    out.whole(spans.len() as u64);
    if spans.is_empty() {
        write(&mut out, model.blocks());
    }
    for (&first, blocks) in spans {
        out.whole(first);
        write(&mut out, blocks);
    }
    out.0
}

fn write(out: &mut Writer, blocks: &[Block]) {
    for block in blocks {
        out.whole(block.count());
        out.number(block.rr().unwrap_or(f64::NAN));
        out.numbers(block.b());
        out.numbers(block.g());
    }
}

fn read(bytes: &mut Reader<'_>, dim: usize, count: usize) -> Option<Vec<Block>> {
    let triangle = dim.checked_add(1)?.checked_mul(dim)? / 2;
    let mut blocks = Vec::new();
    for _ in 0..count {
        let (observations, rr) = (bytes.whole()?, bytes.number()?);
        let (b, g) = (bytes.numbers(dim)?, bytes.numbers(triangle)?);
        blocks.push(Block::from_sums(observations, b, g, Some(rr).filter(|rr| !rr.is_nan())));
    }
    Some(blocks)
}

/// The model that [`encode`] wrote; none if the bytes are not that.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Model> {
    let mut bytes = Reader::new(bytes);
    let dim = usize::try_from(bytes.whole()?).ok()?;
    let count = usize::try_from(bytes.whole()?).ok()?;
    let (gamma, t) = (bytes.number()?, bytes.whole()?);
    if !gamma.is_nan() {
        let blocks = read(&mut bytes, dim, count)?;
        return bytes.is_done().then(|| Model::from_blocks(gamma, t, blocks).ok())?;
    }
    let (unit, number) = (bytes.whole()?, bytes.whole()?);
    if number == 0 {
        let blocks = read(&mut bytes, dim, count)?;
        let model = || Model::from_blocks(1.0, t, blocks)?.with_gamma(Gamma::Auto)?.with_unit(unit);
        return bytes.is_done().then(|| model().ok())?;
    }
    let mut spans = BTreeMap::new();
    for _ in 0..number {
        let first = bytes.whole()?;
        spans.insert(first, read(&mut bytes, dim, count)?);
    }
    let whole = bytes.is_done() && spans.len() as u64 == number;
    whole.then(|| Model::from_spans(unit, t, spans).ok())?
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
