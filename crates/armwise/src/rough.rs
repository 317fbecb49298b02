//! Bounds that scores do not exceed, from a look in f32.
//!
//! The decision to know: the bounds are those of [`scan`](crate::scan), so whatever is left out by them would be left
//! out by the scores in f64.

use crate::{
    Arms, Features,
    kernel::{Packed, Products},
    scan::{Band, Intervals},
    scoring::Scorer,
};

/// A scorer made ready for the look in f32.
pub(crate) struct Rough<'a, 'p> {
    scorer: &'a Scorer<'p>,
    packed: Vec<Packed<f32>>,
    bands: Vec<Band>,
}

/// What a task needs room for.
#[derive(Default)]
pub(crate) struct Room {
    products: Products<f32>,
    ids: Vec<u64>,
    coefficients: Vec<f64>,
    upper: Vec<f64>,
    lower: Vec<f64>,
}

impl<'a, 'p> Rough<'a, 'p> {
    /// None for dimensions beyond what f32 can tell.
    pub(crate) fn new(scorer: &'a Scorer<'p>) -> Option<Self> {
        let packed = scorer.blocks.iter().map(|block| scorer.kernel.pack_single(&block.direction, block.w())).collect();
        let bands = scorer.blocks.iter().map(|block| Band::new(&block.direction, block.w()));
        Some(Self { scorer, packed, bands: bands.collect::<Option<_>>()? })
    }

    /// Calls `see` for each block with bounds for the arms of a part, eligible or not. False if a number is beyond f32;
    /// then the bounds seen so far mean nothing.
    pub(crate) fn bounds(&self, part: &Arms<'_>, room: &mut Room, mut see: impl FnMut(usize, &[f64])) -> bool {
        let Room { products, ids, coefficients, upper, lower } = room;
        match part.features() {
            Features::F32(x) => self.scorer.kernel.approximate(x, &self.packed, products),
            Features::F64(x) => self.scorer.kernel.approximate(x, &self.packed, products),
        }
        part.ids_into(ids);
        upper.resize(part.len(), 0.0);
        lower.resize(part.len(), 0.0);
        for (block, scorer) in self.scorer.blocks.iter().enumerate() {
            scorer.coefficients(ids, coefficients);
            let (dots, widths, norms) = (products.dots(block), products.widths(block), products.norms());
            let (times, band) = (scorer.bonus.times, self.bands[block]);
            let intervals = Intervals { times, band, dots, widths, norms, coefficients, upper, lower };
            if !pulp::Arch::new().dispatch(intervals) {
                return false;
            }
            see(block, upper);
        }
        true
    }
}
