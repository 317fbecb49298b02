//! What a chart is made of: shapes and texts with inks, in pixels from the top left.
//!
//! A scene knows nothing of data, and inks are names, not values, so that one scene serves light and dark.

use crate::Ink;

/// The margin around a picture in a file of its own; in a page the page has one.
pub(crate) const MARGIN: f64 = 16.0;

/// A point in pixels.
pub(crate) type At = (f64, f64);

/// A picture.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The width in pixels.
    pub width: f64,
    /// The height in pixels; may be set after drawing, when it is known.
    pub height: f64,
    pub(crate) marks: Vec<Mark>,
}

/// One thing in a picture.
#[derive(Debug, Clone)]
pub(crate) enum Mark {
    /// A shape; browsers show `tip` when the pointer rests on it, nothing where it is empty.
    Shape { shape: Shape, paint: Paint, tip: String },
    /// A line of text.
    Text(Text),
}

/// The shapes there are.
#[derive(Debug, Clone)]
pub enum Shape {
    /// A line through points.
    Line(Vec<(f64, f64)>),
    /// A closed outline.
    Polygon(Vec<(f64, f64)>),
    /// A rectangle by its top left corner.
    Rect {
        /// The left edge.
        x: f64,
        /// The upper edge.
        y: f64,
        /// The width.
        width: f64,
        /// The height.
        height: f64,
    },
    /// A circle.
    Circle {
        /// The centre.
        at: (f64, f64),
        /// The radius.
        r: f64,
    },
    /// Many dots of one paint; only the fill counts.
    Dots {
        /// The centres.
        at: Vec<(f64, f64)>,
        /// The radius.
        r: f64,
    },
}

/// How a shape is painted.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    pub(crate) fill: Option<Ink>,
    pub(crate) stroke: Option<Ink>,
    pub(crate) width: f64,
    pub(crate) dash: &'static [f64],
    pub(crate) opacity: f64,
}

impl Paint {
    /// A filled shape without outline.
    #[must_use]
    pub fn fill(ink: Ink) -> Self {
        Self { fill: Some(ink), stroke: None, width: 0.0, dash: &[], opacity: 1.0 }
    }

    /// An outline.
    #[must_use]
    pub fn stroke(ink: Ink, width: f64) -> Self {
        Self { fill: None, stroke: Some(ink), width, dash: &[], opacity: 1.0 }
    }

    /// The same, dashed.
    #[must_use]
    pub fn dashed(self, dash: &'static [f64]) -> Self {
        Self { dash, ..self }
    }

    /// The same, partly transparent.
    #[must_use]
    pub fn faded(self, opacity: f64) -> Self {
        Self { opacity, ..self }
    }
}

/// Which point of a text stands at its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// A line of text on its baseline.
#[derive(Debug, Clone)]
pub struct Text {
    pub(crate) at: At,
    pub(crate) line: String,
    pub(crate) size: f64,
    pub(crate) anchor: Anchor,
    pub(crate) ink: Ink,
    pub(crate) bold: bool,
}

impl Text {
    /// Running text that starts at the position.
    #[must_use]
    pub fn new(at: (f64, f64), line: impl Into<String>) -> Self {
        Self { at, line: line.into(), size: crate::TYPE, anchor: Anchor::Start, ink: Ink::Text, bold: false }
    }

    /// The same with another point at its position.
    #[must_use]
    pub fn anchor(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// The same in another ink.
    #[must_use]
    pub fn ink(self, ink: Ink) -> Self {
        Self { ink, ..self }
    }

    /// The same, bold or not.
    #[must_use]
    pub fn bold(self, bold: bool) -> Self {
        Self { bold, ..self }
    }

    /// The same in another size.
    #[must_use]
    pub fn size(self, size: f64) -> Self {
        Self { size, ..self }
    }
}

impl Scene {
    /// An empty picture.
    #[must_use]
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, marks: Vec::new() }
    }

    /// Adds a shape.
    pub fn shape(&mut self, shape: Shape, paint: Paint) {
        self.shape_with_tip(shape, paint, "");
    }

    /// Adds a shape that says something when the pointer rests on it.
    pub fn shape_with_tip(&mut self, shape: Shape, paint: Paint, tip: impl Into<String>) {
        self.marks.push(Mark::Shape { shape, paint, tip: tip.into() });
    }

    /// Adds a straight line.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), paint: Paint) {
        self.shape(Shape::Line(vec![from, to]), paint);
    }

    /// Adds a text.
    pub fn text(&mut self, text: Text) {
        self.marks.push(Mark::Text(text));
    }
}
