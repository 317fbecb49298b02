//! A forest plot in the rows of a table: each row has its estimate as a dot on its interval, all on one scale.
//!
//! The rows are pictures of their own, so that text beside them wraps and sorts as in any table; the line at zero goes
//! through all of them. Rows without a finite estimate are empty.

use crate::lines::whisker;
use crate::{Anchor, Axis, Frame, Ink, Paint, Scale, Scene, Shape, TYPE, Text, inline, text_width, ticks_linear};

/// An estimate with its interval.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Half the length of its interval.
    pub half_width: f64,
    /// What to say when the pointer rests on it; nothing where empty.
    pub tip: String,
}

impl Estimate {
    /// Whether zero lies outside the interval.
    #[must_use]
    pub fn leaves_zero_out(&self) -> bool {
        self.value.abs() > self.half_width
    }
}

/// Estimates on a common scale.
#[derive(Debug, Clone)]
pub struct Forest {
    rows: Vec<Estimate>,
    low: f64,
    high: f64,
}

/// The widths of the pictures, on wide and on narrow screens.
const WIDTHS: [f64; 2] = [260.0, 118.0];
/// The height of a row.
const ROW: f64 = 33.0;
/// The height of the axis.
const AXIS: f64 = 24.0;
/// Room for what sticks out at either side.
const AIR: f64 = 8.0;

impl Forest {
    /// A scale that holds zero and all intervals.
    #[must_use]
    pub fn new(rows: Vec<Estimate>) -> Self {
        let ends = rows.iter().flat_map(|row| [row.value - row.half_width, row.value + row.half_width]);
        let (low, high) = ends
            .filter(|end| end.is_finite())
            .fold((0.0_f64, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
        let (low, high) = if high > low { (low, high) } else { (-1.0, 1.0) };
        Self { rows, low, high }
    }

    /// The pictures of the rows as markup, each for both widths of screens.
    pub fn cells(&self) -> impl Iterator<Item = String> {
        self.rows.iter().map(|row| {
            let [wide, narrow] = WIDTHS.map(|width| self.row(row, width));
            inline(&wide, &narrow, &row.tip)
        })
    }

    /// The picture of the scale, for the head of the table.
    #[must_use]
    pub fn axis(&self) -> String {
        let [wide, narrow] = WIDTHS.map(|width| self.ruler(width));
        inline(&wide, &narrow, "")
    }

    fn frame(&self, width: f64, height: f64) -> Frame {
        let axis = |scale| Axis { title: String::new(), scale, ticks: Vec::new() };
        Frame {
            edge: 0.0,
            left: AIR,
            top: 0.0,
            width: width - 2.0 * AIR,
            height,
            x: axis(Scale::Linear { low: self.low, high: self.high }),
            y: axis(Scale::Linear { low: 0.0, high: 1.0 }),
        }
    }

    fn row(&self, row: &Estimate, width: f64) -> Scene {
        let (frame, mut scene) = (self.frame(width, ROW), Scene::new(width, ROW));
        let zero = frame.px(0.0);
        scene.line((zero, 0.0), (zero, ROW), Paint::stroke(Ink::Axis, 1.0));
        if !(row.value.is_finite() && row.half_width.is_finite()) {
            return scene;
        }
        let y = ROW / 2.0;
        let (from, to) = (frame.px(row.value - row.half_width), frame.px(row.value + row.half_width));
        let ink = if row.leaves_zero_out() { Ink::Blue } else { Ink::Axis };
        whisker(&mut scene, (from, y), (to, y), Paint::stroke(ink, 1.6));
        let dot = Shape::Circle { at: (frame.px(row.value), y), r: 4.2 };
        scene.shape_with_tip(dot, Paint { fill: Some(ink), ..Paint::stroke(Ink::Paper, 1.0) }, row.tip.as_str());
        scene
    }

    fn ruler(&self, width: f64) -> Scene {
        let (frame, mut scene) = (self.frame(width, AXIS), Scene::new(width, AXIS));
        let mut free = 0.0;
        for tick in ticks_linear(self.low, self.high, if width < WIDTHS[0] { 2 } else { 4 }) {
            let (x, half) = (frame.px(tick.value), text_width(&tick.label, TYPE, false) / 2.0);
            scene.line((x, AXIS - 4.0), (x, AXIS), Paint::stroke(Ink::Axis, 1.0));
            let middle = x.min(width - half).max(half);
            if middle - half < free {
                continue;
            }
            free = middle + half + 4.0;
            scene.text(Text::new((middle, AXIS - 8.0), tick.label).anchor(Anchor::Middle).ink(Ink::Muted));
        }
        scene
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Mark;

    fn estimate(value: f64, half_width: f64) -> Estimate {
        Estimate { value, half_width, tip: "a <tip>".to_owned() }
    }

    /// Where the dots and the lines at zero are.
    fn places(forest: &Forest) -> Vec<(Option<f64>, f64)> {
        let of = |row: &Estimate| {
            let scene = forest.row(row, 260.0);
            let dot = scene.marks.iter().find_map(|mark| match mark {
                Mark::Shape { shape: Shape::Circle { at, .. }, .. } => Some(at.0),
                _ => None,
            });
            let zero = scene.marks.iter().find_map(|mark| match mark {
                Mark::Shape { shape: Shape::Line(points), .. } => Some(points[0].0),
                _ => None,
            });
            (dot, zero.expect("a line at zero"))
        };
        forest.rows.iter().map(of).collect()
    }

    #[test]
    fn dots_lie_on_one_scale_on_either_side_of_zero() {
        let forest = Forest::new(vec![estimate(0.2, 0.1), estimate(-0.1, 0.2), estimate(0.1, 0.0)]);
        let found = places(&forest);
        let zero = found[0].1;
        assert!(found.iter().all(|(_, own)| (own - zero).abs() < 1e-9), "one line at zero");
        let off: Vec<f64> = found.iter().map(|(dot, _)| dot.expect("a dot") - zero).collect();
        assert!(off[0] > 0.0 && (off[0] - 2.0 * off[2]).abs() < 1e-9 && (off[1] + off[2]).abs() < 1e-9, "{off:?}");
    }

    #[test]
    fn what_is_no_number_is_not_drawn_and_nothing_leaves_the_picture() {
        let rows =
            vec![estimate(f64::NAN, 0.1), estimate(1e300, 1e299), estimate(0.0, 0.0), estimate(1.0, f64::INFINITY)];
        let forest = Forest::new(rows);
        assert_eq!(places(&forest).iter().filter(|(dot, _)| dot.is_some()).count(), 2);
        for forest in [forest, Forest::new(Vec::new()), Forest::new(vec![estimate(-3.0, 1.0)])] {
            for width in WIDTHS {
                let scenes = forest.rows.iter().map(|row| forest.row(row, width)).chain([forest.ruler(width)]);
                for mark in scenes.flat_map(|scene| scene.marks) {
                    let (left, right) = match &mark {
                        Mark::Text(text) => {
                            let half = text_width(&text.line, text.size, text.bold) / 2.0;
                            (text.at.0 - half, text.at.0 + half)
                        }
                        Mark::Shape { shape: Shape::Line(points), .. } => {
                            let ends = points.iter().map(|point| point.0);
                            (ends.clone().fold(f64::MAX, f64::min), ends.fold(f64::MIN, f64::max))
                        }
                        Mark::Shape { shape: Shape::Circle { at, r }, .. } => (at.0 - r, at.0 + r),
                        Mark::Shape { .. } => continue,
                    };
                    assert!(left >= -0.5 && right <= width + 0.5, "{mark:?} in {width}");
                }
            }
        }
        let cell = Forest::new(vec![estimate(1.0, 0.5)]).cells().next().expect("a row");
        assert!(cell.contains("a &lt;tip&gt;") && cell.contains("var(--blue)") && !cell.contains("<tip>"));
    }
}
