//! Horizontal bars that are made of parts, such as the sends of a promotion by what became of them.
//!
//! The names of the parts stand above the bars, each after a piece of its colour. Parts that may still change are drawn pale,
//! as open bars are, so that they are told apart without colours too.

use crate::measure::shorten;
use crate::{Anchor, Axis, Frame, Ink, Paint, Scale, Scene, Shape, TYPE, Text, compact, text_width, ticks_linear};

/// A part that every bar has.
#[derive(Debug, Clone)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its colour.
    pub ink: Ink,
    /// Whether it may still change: drawn pale, with a dashed outline.
    pub open: bool,
}

/// A bar.
#[derive(Debug, Clone)]
pub struct Stack {
    /// What it stands for.
    pub label: String,
    /// The lengths of its parts, none of them negative, in the order of the chart's parts.
    pub lengths: Vec<f64>,
    /// What to say when the pointer rests on it; nothing where empty.
    pub tip: String,
}

/// Bars of parts over a common axis.
#[derive(Debug, Clone)]
pub struct StackChart {
    /// What the lengths show.
    pub values: String,
    /// The parts.
    pub parts: Vec<Part>,
    /// The bars.
    pub bars: Vec<Stack>,
}

/// The height that a bar takes.
const ROW: f64 = 28.0;
/// The height of a line of the parts' names.
const LINE: f64 = 20.0;
/// The side of the piece of colour before a name.
const KEY: f64 = 11.0;
/// The most room that names take beside the bars, as a share of the width.
const NAMES: f64 = 0.38;
/// Room for half a label at the right.
const AIR: f64 = 20.0;

impl StackChart {
    /// Draws the chart.
    #[must_use]
    pub fn scene(&self, width: f64) -> Scene {
        let mut scene = Scene::new(width, 0.0);
        let top = self.key(&mut scene) + 8.0;
        let names: Vec<String> = self.bars.iter().map(|bar| shorten(&bar.label, width * NAMES)).collect();
        let gutter = names.iter().map(|name| text_width(name, TYPE, false)).fold(0.0, f64::max) + 12.0;
        let rows = self.bars.len().max(1) as f64;
        let longest = self.bars.iter().map(|bar| lengths(bar).sum::<f64>()).fold(0.0, f64::max);
        let high = if longest > 0.0 { longest * 1.02 } else { 1.0 };
        let mut ticks = ticks_linear(0.0, high, if width < crate::WIDE { 3 } else { 6 });
        for tick in &mut ticks {
            tick.label = compact(tick.value);
        }
        let frame = Frame {
            edge: 0.0,
            left: gutter,
            top,
            width: width - gutter - AIR,
            height: ROW * rows,
            x: Axis { title: self.values.clone(), scale: Scale::Linear { low: 0.0, high }, ticks },
            y: Axis { title: String::new(), scale: Scale::Linear { low: rows, high: 0.0 }, ticks: Vec::new() },
        };
        scene.height = frame.bottom() + Frame::FOOT;
        for tick in &frame.x.ticks {
            let x = frame.px(tick.value);
            scene.line((x, frame.top), (x, frame.bottom()), Paint::stroke(Ink::Grid, 1.0));
        }
        frame.draw(&mut scene, "");
        for (at, (bar, name)) in self.bars.iter().zip(names).enumerate() {
            let y = frame.py(at as f64 + 0.5);
            scene.text(Text::new((gutter - 8.0, y + 4.4), name).anchor(Anchor::End));
            let mut from = 0.0;
            for (part, length) in self.parts.iter().zip(lengths(bar)) {
                let (left, right) = (frame.px(from), frame.px(from + length));
                let shape = Shape::Rect { x: left, y: y - ROW * 0.3, width: right - left, height: ROW * 0.6 };
                if length > 0.0 {
                    part.draw(&mut scene, shape, &bar.tip);
                }
                from += length;
            }
        }
        let zero = frame.px(0.0);
        scene.line((zero, frame.top), (zero, frame.bottom()), Paint::stroke(Ink::Axis, 1.0));
        scene
    }

    /// The names of the parts, in as many lines as they need; where the last one ends.
    fn key(&self, scene: &mut Scene) -> f64 {
        let (mut x, mut y) = (0.0, 0.0);
        for part in &self.parts {
            let name = shorten(&part.name, scene.width - KEY - 6.0);
            let wide = KEY + 6.0 + text_width(&name, TYPE, false);
            if x > 0.0 && x + wide > scene.width {
                (x, y) = (0.0, y + LINE);
            }
            part.draw(scene, Shape::Rect { x, y: y + 3.0, width: KEY, height: KEY }, "");
            scene.text(Text::new((x + KEY + 6.0, y + 13.0), name).ink(Ink::Muted));
            x += wide + 18.0;
        }
        if self.parts.is_empty() { 0.0 } else { y + LINE }
    }
}

/// What is no length is none.
fn lengths(bar: &Stack) -> impl Iterator<Item = f64> + '_ {
    bar.lengths.iter().map(|&length| if length.is_finite() { length.max(0.0) } else { 0.0 })
}

impl Part {
    fn draw(&self, scene: &mut Scene, shape: Shape, tip: &str) {
        if self.open {
            scene.shape(shape.clone(), Paint::stroke(self.ink, 1.3).dashed(&[4.0, 2.5]));
            scene.shape_with_tip(shape, Paint::fill(self.ink).faded(0.25), tip);
        } else {
            scene.shape_with_tip(shape, Paint::fill(self.ink), tip);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Mark;

    fn chart(bars: &[&[f64]]) -> StackChart {
        let part = |name: &str, ink, open| Part { name: name.to_owned(), ink, open };
        let stack = |lengths: &&[f64]| Stack {
            label: "a promotion whose name is longer than any telephone is wide".to_owned(),
            lengths: lengths.to_vec(),
            tip: "tip".to_owned(),
        };
        StackChart {
            values: "sends".to_owned(),
            parts: vec![part("answered", Ink::Blue, false), part("may still answer", Ink::Sky, true)],
            bars: bars.iter().map(stack).collect(),
        }
    }

    /// The filled rectangles with a tip: left edge and width.
    fn filled(scene: &Scene) -> Vec<(f64, f64)> {
        let rect = |mark: &Mark| match mark {
            Mark::Shape { shape: Shape::Rect { x, width, .. }, tip, .. } if !tip.is_empty() => Some((*x, *width)),
            _ => None,
        };
        scene.marks.iter().filter_map(rect).collect()
    }

    #[test]
    fn parts_follow_each_other_and_are_as_long_as_their_numbers() {
        let found = filled(&chart(&[&[30.0, 10.0], &[0.0, 20.0]]).scene(crate::WIDE));
        assert_eq!(found.len(), 3, "a part of length zero is not drawn: {found:?}");
        assert!((found[0].0 + found[0].1 - found[1].0).abs() < 1e-9, "the second part begins where the first ends");
        assert!((found[0].1 - 3.0 * found[1].1).abs() < 1e-9 && (found[2].1 - 2.0 * found[1].1).abs() < 1e-9);
        assert!((found[2].0 - found[0].0).abs() < 1e-9, "both bars begin at zero");
    }

    #[test]
    fn nothing_leaves_the_picture() {
        for bars in [&[&[1e300, f64::NAN][..], &[-1.0, f64::INFINITY]][..], &[], &[&[0.0, 0.0]]] {
            for width in [crate::WIDE, crate::NARROW] {
                let scene = chart(bars).scene(width);
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
