//! A small chart kit: scales, axes, lines with direct labels, heat maps, drawn to a scene.
//!
//! A chart is drawn once, to a [`Scene`] of plain shapes and texts, and a scene is written in
//! two ways, as SVG and as PNG. So both always show the same, and text is measured with the font the PNG is set in,
//! which travels with the program: a machine without fonts draws the same picture.

mod font;
mod frame;
mod heat;
mod ink;
mod labels;
mod lines;
mod numbers;
mod panel;
mod png;
mod scale;
mod scene;
mod svg;

pub(crate) use font::width as text_width;
pub(crate) use frame::{Axis, Frame};
pub(crate) use heat::{Heat, key as heat_key};
pub(crate) use ink::{Ink, Look, Marker, heat_range, look, variables};
pub(crate) use labels::spread;
pub(crate) use lines::{Error, Point, Series, draw as draw_lines};
pub(crate) use numbers::{compact, number, percent, significant};
pub(crate) use panel::{Area, LinePanel, NARROW, WIDE, grid, range, rounds_axis, wrap};
pub(crate) use png::png;
pub(crate) use scale::{Scale, Tick, ticks_linear, ticks_log};
pub(crate) use scene::{Anchor, Paint, Scene, Shape, Text};
pub(crate) use svg::{escape, inline, standalone};

/// The size of running text in figures, in pixels; nothing is set smaller.
pub(crate) const TYPE: f64 = 12.5;
/// The size of panel titles.
pub(crate) const TITLE: f64 = 14.0;
