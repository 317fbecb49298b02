//! How a line looks: colour, dash and marker.
//!
//! Strong lines are solid, filled and bold, the others dashed and hollow, so that the two groups part also without
//! colour. Which algorithm has which look is the lab's knowledge, not the kit's.

use crate::scene::At;
use crate::{Ink, Paint, Scene, Shape, svg};

/// The shape of a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// No marker.
    None,
    /// A circle.
    Circle,
    /// A square.
    Square,
    /// A square on its corner.
    Diamond,
    /// A triangle that points upwards.
    Up,
    /// A triangle that points downwards.
    Down,
}

/// How a line looks.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// The colour.
    pub ink: Ink,
    /// The lengths of dashes and gaps; empty for a solid line.
    pub dash: &'static [f64],
    /// The marker at the points.
    pub marker: Marker,
    /// Whether the line stands out: thicker, markers filled, its name bold.
    pub strong: bool,
}

impl Look {
    /// A piece of the line with its marker as a small SVG that stands in a line of text, before the name.
    #[must_use]
    pub fn swatch(&self) -> String {
        let mut scene = Scene::new(30.0, 14.0);
        let width = if self.strong { 2.4 } else { 1.8 };
        scene.line((1.0, 7.0), (29.0, 7.0), Paint::stroke(self.ink, width).dashed(self.dash));
        if let Some(shape) = self.marker.at((15.0, 7.0)) {
            scene.shape(shape, marker_paint(self.ink, self.strong));
        }
        svg::element(&scene, "swatch", "")
    }
}

impl Marker {
    /// The marker's shape at a place.
    pub(crate) fn at(self, (x, y): At) -> Option<Shape> {
        Some(match self {
            Self::None => return None,
            Self::Circle => Shape::Circle { at: (x, y), r: 3.6 },
            Self::Square => Shape::Rect { x: x - 3.2, y: y - 3.2, width: 6.4, height: 6.4 },
            Self::Diamond => Shape::Polygon(vec![(x, y - 4.9), (x + 4.4, y), (x, y + 4.9), (x - 4.4, y)]),
            Self::Up => Shape::Polygon(vec![(x, y - 4.4), (x + 4.2, y + 3.2), (x - 4.2, y + 3.2)]),
            Self::Down => Shape::Polygon(vec![(x, y + 4.4), (x + 4.2, y - 3.2), (x - 4.2, y - 3.2)]),
        })
    }
}

/// The paint of a marker: filled, or hollow on the paper.
pub(crate) fn marker_paint(ink: Ink, filled: bool) -> Paint {
    Paint { fill: Some(if filled { ink } else { Ink::Paper }), ..Paint::stroke(ink, 1.5) }
}
