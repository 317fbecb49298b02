//! A panel's frame: where values lie, and axes that say what they are.
//!
//! The vertical axis is named by a line of text above it, upright and never turned, and only
//! horizontal grid lines are drawn.

use crate::{Anchor, Ink, Paint, Scale, Scene, TITLE, TYPE, Text, Tick, text_width};

/// One axis of a panel.
#[derive(Debug, Clone)]
pub struct Axis {
    /// What it shows, with the unit.
    pub title: String,
    /// Where values lie on it.
    pub scale: Scale,
    /// The values that are written on it; those beyond the ends of the scale are left out.
    pub ticks: Vec<Tick>,
}

/// The area that data are drawn in, and its axes.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Where the panel's titles start.
    pub edge: f64,
    /// The left edge of the data.
    pub left: f64,
    /// The upper edge of the data.
    pub top: f64,
    /// The width of the data.
    pub width: f64,
    /// The height of the data.
    pub height: f64,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
}

impl Frame {
    /// The room above a frame for the panel's title and the name of the vertical axis.
    pub const HEAD: f64 = 50.0;
    /// The room below a frame for tick labels and the name of the horizontal axis.
    pub const FOOT: f64 = 46.0;

    /// The room that the tick labels of a vertical axis take.
    #[must_use]
    pub fn gutter(ticks: &[Tick]) -> f64 {
        ticks.iter().map(|tick| text_width(&tick.label, TYPE, false)).fold(0.0, f64::max) + 10.0
    }

    /// The right edge of the data.
    #[must_use]
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    /// The lower edge of the data.
    #[must_use]
    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// The horizontal place of a value, kept within the frame.
    #[must_use]
    pub fn px(&self, value: f64) -> f64 {
        self.left + self.width * self.x.scale.within(value)
    }

    /// The vertical place of a value, kept within the frame.
    #[must_use]
    pub fn py(&self, value: f64) -> f64 {
        self.bottom() - self.height * self.y.scale.within(value)
    }

    /// Draws the grid, the axes, their ticks and names, and the panel's title.
    pub fn draw(&self, scene: &mut Scene, title: &str) {
        if !title.is_empty() {
            scene.text(Text::new((self.edge, self.top - 32.0), title).size(TITLE).bold(true));
        }
        scene.text(Text::new((self.edge, self.top - 12.0), self.y.title.as_str()).ink(Ink::Muted));
        for tick in self.y.ticks.iter().filter(|tick| self.y.scale.holds(tick.value)) {
            let y = self.py(tick.value);
            scene.line((self.left, y), (self.right(), y), Paint::stroke(Ink::Grid, 1.0));
            let label = Text::new((self.left - 7.0, y + 4.4), tick.label.as_str());
            scene.text(label.anchor(Anchor::End).ink(Ink::Muted));
        }
        scene.line((self.left, self.bottom()), (self.right(), self.bottom()), Paint::stroke(Ink::Axis, 1.0));
        let mut free = f64::NEG_INFINITY;
        for tick in self.x.ticks.iter().filter(|tick| self.x.scale.holds(tick.value)) {
            let x = self.px(tick.value);
            scene.line((x, self.bottom()), (x, self.bottom() + 4.0), Paint::stroke(Ink::Axis, 1.0));
            let half = text_width(&tick.label, TYPE, false) / 2.0;
            if x - half < free {
                continue;
            }
            free = x + half + 4.0;
            let label = Text::new((x, self.bottom() + 18.0), tick.label.as_str());
            scene.text(label.anchor(Anchor::Middle).ink(Ink::Muted));
        }
        // Below the middle of the axis, unless it would leave the picture there.
        let half = text_width(&self.x.title, TYPE, false) / 2.0;
        let middle = (self.left + self.width / 2.0).min(scene.width - half).max(half);
        let name = Text::new((middle, self.bottom() + 37.0), self.x.title.as_str());
        scene.text(name.anchor(Anchor::Middle).ink(Ink::Muted));
    }
}
