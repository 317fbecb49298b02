//! Bars from zero with intervals: vertical for things that follow each other, horizontal for things with names.
//!
//! Labels are never rotated. Horizontal bars give each name a line of its own and cut it with an ellipsis where it is too long,
//! so a table beside the chart, or the tip, must have the whole name.

#![expect(clippy::cast_sign_loss, reason = "a count of labels, at least one by construction")]

use crate::lines::whisker;
use crate::measure::shorten;
use crate::{Anchor, Axis, Frame, Ink, Paint, Scale, Scene, Shape, TYPE, Text, Tick, number, text_width, ticks_linear};

/// A bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// What it stands for.
    pub label: String,
    /// Where it ends; nothing is drawn without a value.
    pub value: Option<f64>,
    /// Half the length of its interval.
    pub half_width: Option<f64>,
    /// A second value to compare with, drawn as a dot.
    pub dot: Option<f64>,
    /// Whether the value may still change: drawn pale, with a dashed outline.
    pub open: bool,
    /// What to say when the pointer rests on it; nothing where empty.
    pub tip: String,
}

/// Bars over a common axis.
#[derive(Debug, Clone)]
pub struct BarChart {
    /// What the bars stand for; may be empty where a heading says it.
    pub labels: String,
    /// What their lengths show, with the unit.
    pub values: String,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// The height of the data of vertical bars.
const HEIGHT: f64 = 210.0;
/// The height that a horizontal bar takes.
const ROW: f64 = 28.0;
/// The most room that names take beside horizontal bars, as a share of the width.
const NAMES: f64 = 0.38;
/// The widest a bar gets.
const THICK: f64 = 44.0;
/// A name below a vertical bar may be so wide even if the bar is not.
const LABEL: f64 = 60.0;
/// Room for what sticks out at the right: half a label, half a dot.
const AIR: f64 = 20.0;

impl BarChart {
    /// Vertical bars side by side. Where labels would touch, every second, third or so is written.
    #[must_use]
    pub fn vertical(&self, width: f64) -> Scene {
        let (scale, ticks) = self.axis(5);
        let left = Frame::gutter(&ticks);
        let count = self.bars.len().max(1) as f64;
        let place = |at: usize| at as f64 + 1.0;
        let each = (width - left - AIR) / count;
        // Names that follow each other, such as times, are told by some of them, so they are left out before they are cut.
        let labels: Vec<String> = self.bars.iter().map(|bar| shorten(&bar.label, (each - 6.0).max(LABEL))).collect();
        let widest = labels.iter().map(|label| text_width(label, TYPE, false)).fold(0.0, f64::max);
        let every = ((widest + 6.0) / each).ceil().max(1.0) as usize;
        let fits = |at: usize, label: &str| {
            let (middle, half) = (left + each * (at as f64 + 0.5), text_width(label, TYPE, false) / 2.0);
            middle - half >= 0.0 && middle + half <= width
        };
        let labels = labels.into_iter().enumerate().step_by(every).filter(|(at, label)| fits(*at, label));
        let labels = labels.map(|(at, label)| Tick { value: place(at), label });
        let frame = Frame {
            edge: 0.0,
            left,
            top: Frame::HEAD - 20.0,
            width: width - left - AIR,
            height: HEIGHT,
            x: Axis {
                title: self.labels.clone(),
                scale: Scale::Linear { low: 0.5, high: count + 0.5 },
                ticks: labels.collect(),
            },
            y: Axis { title: self.values.clone(), scale, ticks },
        };
        let mut scene = Scene::new(width, frame.bottom() + Frame::FOOT);
        frame.draw(&mut scene, "");
        let half = (each * 0.32).min(THICK / 2.0);
        for (at, bar) in self.bars.iter().enumerate() {
            let x = frame.px(place(at));
            bar.draw(&mut scene, |value, across| (x + across * half, frame.py(value)));
        }
        let zero = frame.py(0.0);
        scene.line((frame.left, zero), (frame.right(), zero), Paint::stroke(Ink::Axis, 1.0));
        scene
    }

    /// Horizontal bars below each other, each beside its name.
    #[must_use]
    pub fn horizontal(&self, width: f64) -> Scene {
        let names: Vec<String> = self.bars.iter().map(|bar| shorten(&bar.label, width * NAMES)).collect();
        let gutter = names.iter().map(|name| text_width(name, TYPE, false)).fold(0.0, f64::max) + 12.0;
        let count = self.bars.len().max(1) as f64;
        let (scale, ticks) = self.axis(if width < crate::WIDE { 3 } else { 6 });
        let frame = Frame {
            edge: 0.0,
            left: gutter,
            top: if self.labels.is_empty() { 4.0 } else { Frame::HEAD - 20.0 },
            width: width - gutter - AIR,
            height: ROW * count,
            x: Axis { title: self.values.clone(), scale, ticks },
            y: Axis { title: self.labels.clone(), scale: Scale::Linear { low: count, high: 0.0 }, ticks: Vec::new() },
        };
        let mut scene = Scene::new(width, frame.bottom() + Frame::FOOT);
        for tick in &frame.x.ticks {
            let x = frame.px(tick.value);
            scene.line((x, frame.top), (x, frame.bottom()), Paint::stroke(Ink::Grid, 1.0));
        }
        frame.draw(&mut scene, "");
        for (at, (bar, name)) in self.bars.iter().zip(names).enumerate() {
            let y = frame.py(at as f64 + 0.5);
            scene.text(Text::new((gutter - 8.0, y + 4.4), name).anchor(Anchor::End));
            bar.draw(&mut scene, |value, across| (frame.px(value), y + across * ROW * 0.3));
        }
        let zero = frame.px(0.0);
        scene.line((zero, frame.top), (zero, frame.bottom()), Paint::stroke(Ink::Axis, 1.0));
        scene
    }

    /// The axis of values: from zero, to the end of the longest interval, with a little air.
    fn axis(&self, count: usize) -> (Scale, Vec<Tick>) {
        let ends = self.bars.iter().flat_map(|bar| {
            let half = bar.half_width.unwrap_or(0.0);
            [bar.value.map(|value| value + half), bar.value.map(|value| value - half), bar.dot]
        });
        let (low, high) = ends
            .flatten()
            .filter(|end| end.is_finite())
            .fold((0.0_f64, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
        let (low, high) = if high > low { (low, high) } else { (0.0, 1.0) };
        let air = 0.04 * (high - low);
        let (low, high) = (if low < 0.0 { low - air } else { low }, if high > 0.0 { high + air } else { high });
        let mut ticks = ticks_linear(low, high, count);
        // Zero is where the bars begin, and it reads better without decimals.
        for tick in ticks.iter_mut().filter(|tick| tick.value.abs() < 1e-12 * (high - low)) {
            tick.label = number(0.0, 0);
        }
        (Scale::Linear { low, high }, ticks)
    }
}

impl Bar {
    /// Draws it; `at` gives the place of a value, and of -1 to 1 across the bar.
    fn draw(&self, scene: &mut Scene, at: impl Fn(f64, f64) -> (f64, f64)) {
        if let Some(value) = self.value.filter(|value| value.is_finite()) {
            let (a, b) = (at(0.0, -1.0), at(value, 1.0));
            let shape =
                Shape::Rect { x: a.0.min(b.0), y: a.1.min(b.1), width: (a.0 - b.0).abs(), height: (a.1 - b.1).abs() };
            let fill = Paint::fill(Ink::Blue);
            if self.open {
                scene.shape(shape.clone(), Paint::stroke(Ink::Blue, 1.3).dashed(&[4.0, 2.5]));
                scene.shape_with_tip(shape, fill.faded(0.25), self.tip.as_str());
            } else {
                scene.shape_with_tip(shape, fill, self.tip.as_str());
            }
            if let Some(half) = self.half_width.filter(|half| half.is_finite()) {
                let (from, to) = (at(value + half, 0.0), at(value - half, 0.0));
                // An outline in the background's colour makes it seen on the bar too, in light and dark; it would hide a
                // bar that is hardly wider.
                let across = at(0.0, 1.0);
                if (a.0 - across.0).hypot(a.1 - across.1) >= 12.0 {
                    whisker(scene, from, to, Paint::stroke(Ink::Paper, 4.0));
                }
                whisker(scene, from, to, Paint::stroke(Ink::Text, 1.3));
            }
        }
        if let Some(dot) = self.dot.filter(|dot| dot.is_finite()) {
            let paint = Paint { fill: Some(Ink::Orange), ..Paint::stroke(Ink::Paper, 1.2) };
            scene.shape_with_tip(Shape::Circle { at: at(dot, 0.0), r: 4.8 }, paint, self.tip.as_str());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Mark;

    fn bar(label: &str, value: Option<f64>) -> Bar {
        Bar { label: label.to_owned(), value, half_width: Some(0.1), dot: None, open: false, tip: label.to_owned() }
    }

    fn chart(bars: Vec<Bar>) -> BarChart {
        BarChart {
            labels: "Round".to_owned(),
            values: "Mean reward of a send that arrived (95% interval)".to_owned(),
            bars,
        }
    }

    /// The rectangles with their tips: left, top, width, height.
    fn rects(scene: &Scene) -> Vec<(f64, f64, f64, f64)> {
        let rect = |mark: &Mark| match mark {
            Mark::Shape { shape: Shape::Rect { x, y, width, height }, .. } => Some((*x, *y, *width, *height)),
            _ => None,
        };
        scene.marks.iter().filter_map(rect).collect()
    }

    #[test]
    fn bars_are_as_long_as_their_values_on_either_side_of_zero() {
        let chart = chart(vec![bar("a", Some(2.0)), bar("b", Some(1.0)), bar("c", Some(-1.0)), bar("d", None)]);
        let vertical = rects(&chart.vertical(760.0));
        assert_eq!(vertical.len(), 3, "nothing is drawn without a value");
        assert!((vertical[0].3 - 2.0 * vertical[1].3).abs() < 1e-9 && (vertical[1].3 - vertical[2].3).abs() < 1e-9);
        assert!((vertical[1].1 + vertical[1].3 - vertical[2].1).abs() < 1e-9, "b ends where c begins, at zero");
        let horizontal = rects(&chart.horizontal(760.0));
        assert!(
            (horizontal[0].2 - 2.0 * horizontal[1].2).abs() < 1e-9 && (horizontal[1].2 - horizontal[2].2).abs() < 1e-9
        );
        assert!((horizontal[2].0 + horizontal[2].2 - horizontal[1].0).abs() < 1e-9, "c ends where b begins, at zero");
    }

    #[test]
    fn everything_stays_inside_both_widths() {
        let long = "a promotion whose name is longer than any telephone is wide";
        let many: Vec<Bar> = (0..60).map(|at| bar(&format!("{long} {at}"), Some(f64::from(at)))).collect();
        let odd = vec![bar("nan", Some(f64::NAN)), bar("inf", Some(f64::INFINITY)), bar("huge", Some(1e300))];
        for bars in [many, odd, vec![bar("zero", Some(0.0))], Vec::new()] {
            for width in [crate::WIDE, crate::NARROW] {
                let chart = chart(bars.clone());
                for scene in [chart.vertical(width), chart.horizontal(width)] {
                    for mark in &scene.marks {
                        let (left, right) = match mark {
                            Mark::Text(text) => {
                                let wide = text_width(&text.line, text.size, text.bold);
                                match text.anchor {
                                    Anchor::Start => (text.at.0, text.at.0 + wide),
                                    Anchor::Middle => (text.at.0 - wide / 2.0, text.at.0 + wide / 2.0),
                                    Anchor::End => (text.at.0 - wide, text.at.0),
                                }
                            }
                            Mark::Shape { shape: Shape::Rect { x, width, .. }, .. } => (*x, *x + *width),
                            Mark::Shape { .. } => continue,
                        };
                        assert!(left >= -0.5 && right <= width + 0.5, "{mark:?} in {width}");
                    }
                }
            }
        }
    }
}
