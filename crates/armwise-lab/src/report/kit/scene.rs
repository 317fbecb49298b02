//! What a chart is made of: shapes and texts with inks, in pixels from the top left.
//!
//! A scene knows nothing of data, and inks are roles (`Text`, `Grid`, an algorithm's colour),
//! so that one scene serves light and dark.

use super::Ink;

/// The margin around a picture in a file of its own; in a page the page has one.
pub(super) const MARGIN: f64 = 16.0;

/// A point in pixels.
pub(crate) type At = (f64, f64);

/// A picture.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) marks: Vec<Mark>,
}

/// One thing in a picture.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    /// A shape; `tip` is shown by browsers when the pointer rests on it.
    Shape { shape: Shape, paint: Paint, tip: Option<String> },
    /// A line of text.
    Text(Text),
}

/// The shapes there are.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    Line(Vec<At>),
    Polygon(Vec<At>),
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
    },
    Circle {
        at: At,
        r: f64,
    },
    /// Many dots of one paint; only the fill counts.
    Dots {
        at: Vec<At>,
        r: f64,
    },
}

/// How a shape is painted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) fill: Option<Ink>,
    pub(crate) stroke: Option<Ink>,
    pub(crate) width: f64,
    pub(crate) dash: &'static [f64],
    pub(crate) opacity: f64,
}

impl Paint {
    /// A filled shape without outline.
    pub(crate) fn fill(ink: Ink) -> Self {
        Self { fill: Some(ink), stroke: None, width: 0.0, dash: &[], opacity: 1.0 }
    }

    /// An outline.
    pub(crate) fn stroke(ink: Ink, width: f64) -> Self {
        Self { fill: None, stroke: Some(ink), width, dash: &[], opacity: 1.0 }
    }

    /// The same, dashed.
    pub(crate) fn dashed(self, dash: &'static [f64]) -> Self {
        Self { dash, ..self }
    }

    /// The same, let through.
    pub(crate) fn faded(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }
}

/// Which point of a text stands at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of text on its baseline.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) at: At,
    pub(crate) line: String,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) ink: Ink,
    pub(crate) bold: bool,
}

impl Text {
    /// Running text that starts at the position.
    pub(crate) fn new(at: At, line: impl Into<String>) -> Self {
        Self { at, line: line.into(), size: super::TYPE, anchor: Anchor::Start, ink: Ink::Text, bold: false }
    }

    pub(crate) fn anchor(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    pub(crate) fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }

    pub(crate) fn bold(self, bold: bool) -> Self {
        Self { bold, ..self }
    }

    pub(crate) fn size(self, size: f64) -> Self {
        Self { size, ..self }
    }
}

impl Scene {
    /// An empty picture.
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { width, height, marks: Vec::new() }
    }

    /// Adds a shape.
    pub(crate) fn shape(&mut self, shape: Shape, paint: Paint) {
        self.marks.push(Mark::Shape { shape, paint, tip: None });
    }

    /// Adds a shape that says something when the pointer rests on it.
    pub(crate) fn shape_with_tip(&mut self, shape: Shape, paint: Paint, tip: String) {
        self.marks.push(Mark::Shape { shape, paint, tip: Some(tip) });
    }

    /// Adds a straight line.
    pub(crate) fn line(&mut self, from: At, to: At, paint: Paint) {
        self.shape(Shape::Line(vec![from, to]), paint);
    }

    /// Adds a text.
    pub(crate) fn text(&mut self, text: Text) {
        self.marks.push(Mark::Text(text));
    }
}
