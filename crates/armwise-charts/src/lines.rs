//! Lines with error bars or bands, and the name of each line at its end.
//!
//! There is no legend. A line is named where it ends, with a piece of the line itself before the
//! name; names that would collide are moved apart and tied to their line by a hair line.

use crate::labels::spread;
use crate::look::marker_paint;
use crate::scene::At;
use crate::{Frame, Ink, Look, Marker, Paint, Scene, Shape, TYPE, Text, text_width};

/// One point of a line.
#[derive(Debug, Clone)]
pub struct Point {
    /// Its value on the horizontal axis.
    pub x: f64,
    /// Its value on the vertical axis.
    pub y: f64,
    /// Half the length of the error bar.
    pub error: f64,
    /// What to say when the pointer rests on its marker; nothing where empty.
    pub tip: String,
}

/// How errors are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorMark {
    /// Not at all.
    None,
    /// As a bar at each point.
    Bars,
    /// As a band along the line.
    Band,
}

/// A line.
#[derive(Debug, Clone)]
pub struct Series {
    /// The name at its end.
    pub label: String,
    /// Whether the name is bold.
    pub bold: bool,
    /// The colour.
    pub ink: Ink,
    /// The lengths of dashes and gaps; empty for a solid line.
    pub dash: &'static [f64],
    /// The thickness.
    pub width: f64,
    /// The marker.
    pub marker: Marker,
    /// Filled markers; otherwise hollow.
    pub filled: bool,
    /// Draw the marker at every so many points, and at the last.
    pub every: usize,
    /// How errors are shown.
    pub error: ErrorMark,
    /// The points from left to right.
    pub points: Vec<Point>,
}

impl Series {
    /// A line in a look, without points.
    #[must_use]
    pub fn new(label: &str, look: Look) -> Self {
        Self {
            label: label.to_owned(),
            bold: look.strong,
            ink: look.ink,
            dash: look.dash,
            width: if look.strong { 2.2 } else { 1.7 },
            marker: look.marker,
            filled: look.strong,
            every: 1,
            error: ErrorMark::Bars,
            points: Vec::new(),
        }
    }

    /// A plain line of reference, such as the oracle.
    #[must_use]
    pub fn reference(label: &str, ink: Ink) -> Self {
        Self {
            label: label.to_owned(),
            bold: false,
            ink,
            dash: &[],
            width: 1.2,
            marker: Marker::None,
            filled: false,
            every: 1,
            error: ErrorMark::None,
            points: Vec::new(),
        }
    }
}

/// The piece of line before a name.
const KEY: f64 = 24.0;
/// Between the end of the frame and the keys.
const LEAD: f64 = 14.0;

/// The room to the right of a frame that the names take.
pub(crate) fn margin(series: &[Series]) -> f64 {
    let widest = series.iter().map(|one| text_width(&one.label, TYPE, one.bold)).fold(0.0, f64::max);
    if widest > 0.0 { LEAD + KEY + 5.0 + widest + 3.0 } else { 0.0 }
}

/// Draws the lines in a frame and their names to its right. Points at the same x are set `dodge` pixels apart so that
/// error bars do not hide each other.
pub(crate) fn draw(scene: &mut Scene, frame: &Frame, series: &[Series], dodge: f64) {
    let with_bars = series.iter().filter(|one| one.error == ErrorMark::Bars).count();
    let mut place = 0.0;
    let mut ends: Vec<Option<At>> = Vec::new();
    for one in series {
        let mut shift = 0.0;
        if one.error == ErrorMark::Bars {
            shift = dodge * (place - (with_bars as f64 - 1.0) / 2.0);
            place += 1.0;
        }
        ends.push(line(scene, frame, one, shift));
    }
    names(scene, frame, series, &ends);
}

fn line(scene: &mut Scene, frame: &Frame, one: &Series, shift: f64) -> Option<At> {
    let points: Vec<&Point> = one.points.iter().filter(|point| point.x.is_finite() && point.y.is_finite()).collect();
    let at = |point: &Point| (frame.px(point.x) + shift, frame.py(point.y));
    if one.error == ErrorMark::Band && points.len() > 1 {
        let upper = points.iter().map(|point| (at(point).0, frame.py(point.y + point.error)));
        let lower = points.iter().rev().map(|point| (at(point).0, frame.py(point.y - point.error)));
        scene.shape(Shape::Polygon(upper.chain(lower).collect()), Paint::fill(one.ink).faded(0.13));
    }
    let path: Vec<At> = points.iter().map(|point| at(point)).collect();
    scene.shape(Shape::Line(path.clone()), Paint::stroke(one.ink, one.width).dashed(one.dash));
    if one.error == ErrorMark::Bars {
        for point in points.iter().filter(|point| point.error > 0.0) {
            let (x, high, low) = (at(point).0, frame.py(point.y + point.error), frame.py(point.y - point.error));
            whisker(scene, (x, high), (x, low), Paint::stroke(one.ink, 1.3));
        }
    }
    for (place, point) in points.iter().enumerate() {
        if place % one.every.max(1) == 0 || place + 1 == points.len() {
            marker(scene, one, at(point), &point.tip);
        }
    }
    path.last().copied()
}

/// Draws an error bar, vertical or horizontal, with a cap at either end.
pub(crate) fn whisker(scene: &mut Scene, from: At, to: At, paint: Paint) {
    scene.line(from, to, paint);
    let vertical = (from.0 - to.0).abs() < (from.1 - to.1).abs();
    let (dx, dy) = if vertical { (2.5, 0.0) } else { (0.0, 2.5) };
    for (x, y) in [from, to] {
        scene.line((x - dx, y - dy), (x + dx, y + dy), paint);
    }
}

/// Draws a marker in a line's look.
fn marker(scene: &mut Scene, one: &Series, at: At, tip: &str) {
    if let Some(shape) = one.marker.at(at) {
        scene.shape_with_tip(shape, marker_paint(one.ink, one.filled), tip);
    }
}

fn names(scene: &mut Scene, frame: &Frame, series: &[Series], ends: &[Option<At>]) {
    let shown: Vec<(&Series, At)> = series
        .iter()
        .zip(ends)
        .filter(|(one, _)| !one.label.is_empty())
        .filter_map(|(one, end)| Some((one, (*end)?)))
        .collect();
    let wanted: Vec<f64> = shown.iter().map(|(_, end)| end.1).collect();
    let heights = spread(&wanted, TYPE + 3.5, frame.top - 4.0, frame.bottom() + 2.0);
    let start = frame.right() + LEAD;
    for ((one, end), y) in shown.into_iter().zip(heights) {
        let hair = Paint::stroke(Ink::Axis, 0.7).faded(0.7);
        scene.shape(Shape::Line(vec![(end.0 + 5.0, end.1), (start - 2.0, y)]), hair);
        scene.line((start, y), (start + KEY, y), Paint::stroke(one.ink, one.width).dashed(one.dash));
        marker(scene, one, (start + KEY / 2.0, y), "");
        scene.text(Text::new((start + KEY + 5.0, y + 4.4), one.label.as_str()).bold(one.bold));
    }
}
