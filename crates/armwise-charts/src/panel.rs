//! A panel of lines with its axes and names, and panels set side by side.
//!
//! A figure is laid out for a given width, once for a page and once for a telephone, where
//! panels stand below each other instead of shrinking, so type is never smaller than it was set.

#![expect(clippy::cast_sign_loss, reason = "counts and colours, all of them clamped or positive by construction")]

use crate::scale::ticks_log;
use crate::{Axis, Frame, Scale, Scene, Series, Tick, lines, number, ticks_linear};

/// The width of figures on a page.
pub const WIDE: f64 = 760.0;
/// The width of figures on a telephone.
pub const NARROW: f64 = 360.0;

/// A part of a scene.
#[derive(Debug, Clone, Copy)]
pub struct Area {
    /// The left edge.
    pub left: f64,
    /// The upper edge.
    pub top: f64,
    /// The width.
    pub width: f64,
    /// The height.
    pub height: f64,
}

/// Splits a width in columns from `top` downwards: the areas of `count` panels of a height, row by row, and where the
/// last row ends.
#[must_use]
pub fn grid(count: usize, columns: usize, width: f64, top: f64, height: f64) -> (Vec<Area>, f64) {
    const GAP: f64 = 26.0;
    const BELOW: f64 = 16.0;
    let columns = columns.max(1);
    let each = (width - GAP * (columns - 1) as f64) / columns as f64;
    let areas = (0..count).map(|place| Area {
        left: (place % columns) as f64 * (each + GAP),
        top: top + (place / columns) as f64 * (height + BELOW),
        width: each,
        height,
    });
    (areas.collect(), top + (count.div_ceil(columns) as f64 * (height + BELOW) - BELOW).max(0.0))
}

/// Lines over one horizontal axis.
#[derive(Debug, Clone)]
pub struct LinePanel {
    /// The title above it; may be empty.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// What the vertical axis shows.
    pub y_title: String,
    /// The scale of the vertical axis.
    pub y: Scale,
    /// The lines, the last one on top.
    pub series: Vec<Series>,
    /// Pixels between error bars at the same place.
    pub dodge: f64,
}

impl LinePanel {
    /// Draws the panel.
    pub fn draw(self, scene: &mut Scene, area: Area) {
        let head = if self.title.is_empty() { Frame::HEAD - 20.0 } else { Frame::HEAD };
        let height = area.height - head - Frame::FOOT;
        let ticks = match self.y {
            Scale::Linear { low, high } => ticks_linear(low, high, (height / 42.0) as usize),
            Scale::Log { low, high } => ticks_log(low, high, (height / 30.0) as i32),
        };
        let gutter = Frame::gutter(&ticks);
        let frame = Frame {
            edge: area.left,
            left: area.left + gutter,
            top: area.top + head,
            width: area.width - gutter - lines::margin(&self.series) - self.dodge,
            height,
            x: self.x,
            y: Axis { title: self.y_title, scale: self.y, ticks },
        };
        frame.draw(scene, &self.title);
        lines::draw(scene, &frame, &self.series, self.dodge);
    }
}

/// The range of a vertical axis for lines with their errors, with a little air; from 0 where all values are positive
/// and `from_zero` is asked for.
#[must_use]
pub fn range(series: &[Series], from_zero: bool) -> Scale {
    let points = series.iter().flat_map(|one| &one.points).filter(|point| point.y.is_finite());
    let (low, high) = points.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), point| {
        (low.min(point.y - point.error), high.max(point.y + point.error))
    });
    if low > high {
        return Scale::Linear { low: 0.0, high: 1.0 };
    }
    let low = if from_zero { low.min(0.0) } else { low };
    let air = ((high - low) * 0.04).max(high.abs() * 1e-6).max(1e-9);
    Scale::Linear { low: if low.abs() < 1e-12 { 0.0 } else { low - air }, high: high + air }
}

/// Rounds 1 to `last` as an axis.
#[must_use]
pub fn rounds_axis(last: f64, width: f64) -> Axis {
    let last = last.max(2.0);
    let mut ticks = ticks_linear(1.0, last, (width / 60.0).clamp(2.0, 8.0) as usize);
    ticks.retain(|tick| (tick.value - tick.value.round()).abs() < 1e-9);
    for tick in &mut ticks {
        tick.label = number(tick.value, 0);
    }
    if ticks.first().is_none_or(|tick| tick.value > 1.5) {
        ticks.insert(0, Tick { value: 1.0, label: "1".to_owned() });
    }
    Axis { title: "Round t".to_owned(), scale: Scale::Linear { low: 1.0, high: last }, ticks }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_fill_the_width_row_by_row() {
        let (areas, end) = grid(3, 2, 760.0, 10.0, 200.0);
        assert!((areas[1].left + areas[1].width - 760.0).abs() < 1e-9);
        assert!((areas[2].left, areas[2].top) == (0.0, 226.0) && (end - 426.0).abs() < 1e-9);
    }

    #[test]
    fn an_empty_panel_has_a_range() {
        assert!(matches!(range(&[], true), Scale::Linear { .. }));
    }
}
