//! A block's direction and W, laid out in the order in which the kernel reads them.
//!
//! Rows of W come in row blocks of nearly equal height, at most as many rows as the registers hold. A row block stores
//! its columns one after the other; of the triangle at its end, only the nonzero half. The direction is the last row of
//! the last row block.

/// The number of elements in the lower triangle of a d x d matrix.
pub(crate) const fn triangle(d: usize) -> usize {
    d * (d + 1) / 2
}

/// A direction, perhaps with a triangular W, in f32 or f64.
#[derive(Debug, Clone)]
pub(crate) struct Packed<T> {
    pub(super) dim: usize,
    /// Heights of the row blocks; the last counts the direction, and a place for the norm where the kernel keeps one.
    pub(super) heights: Vec<usize>,
    pub(super) values: Vec<T>,
    /// Whether there is a W, that is, whether squares are summed.
    pub(crate) has_width: bool,
}

impl<T> Packed<T> {
    /// Packs a direction and the rows of the triangle W, for row blocks of at most `most` rows. In the last one,
    /// `extra` rows are taken by the direction (and the norm).
    pub(super) fn new(
        direction: &[f64],
        w: Option<&[f64]>,
        most: usize,
        extra: usize,
        convert: impl Fn(f64) -> T,
    ) -> Self {
        let dim = direction.len();
        let rows = w.map_or(0, |_| dim) + extra;
        let heights = heights(rows, most, extra);
        let mut values = Vec::with_capacity(w.map_or(0, |_| triangle(dim)) + dim);
        let mut first = if w.is_some() { 0 } else { dim };
        for (place, &height) in heights.iter().enumerate() {
            let last = place + 1 == heights.len();
            let end = if last { dim } else { first + height };
            for column in 0..end {
                if let Some(w) = w {
                    let from = first.max(column);
                    let mut place = triangle(from) + column;
                    for row in from..end {
                        values.push(convert(w[place]));
                        place += row + 1;
                    }
                }
                if last {
                    values.push(convert(direction[column]));
                }
            }
            first = end;
        }
        Self { dim, heights, values, has_width: w.is_some() }
    }

    /// How many columns the row blocks have before their triangles.
    pub(super) fn turns(&self) -> usize {
        let mut first = if self.has_width { 0 } else { self.dim };
        let mut turns = 0;
        for height in &self.heights {
            turns += first;
            first += height;
        }
        turns
    }

    /// How many values a well-formed packing has.
    pub(super) fn expected(&self) -> usize {
        let mut first = if self.has_width { 0 } else { self.dim };
        let mut values = self.dim;
        for (place, &height) in self.heights.iter().enumerate() {
            let end = if place + 1 == self.heights.len() { self.dim } else { first + height };
            let rows = end - first;
            values += first * rows + rows * (rows + 1) / 2;
            first = end;
        }
        values
    }
}

/// Splits `rows` into blocks of nearly equal height, of at most `most`; the last has at least `least`.
fn heights(rows: usize, most: usize, least: usize) -> Vec<usize> {
    let blocks = rows.div_ceil(most);
    let heights: Vec<usize> = (0..blocks).map(|block| (rows + block) / blocks).collect();
    debug_assert!(heights.last().is_some_and(|&last| last >= least && last <= most), "{rows} rows in {heights:?}");
    heights
}
