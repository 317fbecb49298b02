//! The charts, tables and page frame of armwise's reports.
//!
//! # The nouns
//! A [`Scene`] is a picture: shapes and texts in pixels, painted with an [`Ink`]. An ink is the name of a colour, not its
//! value, so one scene serves light and dark. Charts draw into scenes: a [`LinePanel`] draws [`Series`] of points and
//! names each line where it ends, a [`BarChart`] draws bars with intervals, a [`StackChart`] bars made of parts, a [`Heat`] a map with its numbers in the
//! cells, a [`Forest`] draws estimates with intervals into the rows of a table. What none of them covers is drawn by hand in a [`Frame`], which has the axes.
//!
//! A scene becomes text in two ways: [`inline`] gives the `<svg>` elements for a [`page`], whose colours are the page's
//! CSS variables, and [`standalone`] a file on white. With the cargo feature `png`, `png` gives the same picture in
//! pixels. Nothing here opens a file. Each scene is drawn twice for a page, [`WIDE`] and [`NARROW`], because a picture
//! that shrinks to a telephone's width cannot be read.
//!
//! Text that is not ours, such as the names of promotions, goes through [`escape`] and nothing else. Functions that take
//! plain text call it; parameters that take markup say so.
//!
//! # Example
//! ```
//! use armwise_charts::{Bar, BarChart, NARROW, WIDE, inline, page};
//!
//! let bar = |label: &str, value| Bar {
//!     label: label.to_owned(),
//!     value: Some(value),
//!     half_width: Some(0.02),
//!     dot: None,
//!     open: false,
//!     tip: format!("{label}: {value} ± 0.02"),
//! };
//! let chart = BarChart {
//!     labels: "Promotion".to_owned(),
//!     values: "Mean reward of a send".to_owned(),
//!     bars: vec![bar("mail", 0.31), bar("<call>", 0.18)],
//! };
//! let picture = inline(&chart.horizontal(WIDE), &chart.horizontal(NARROW), "Mean reward by promotion");
//! let html = page("Spring", "", &picture);
//! assert!(html.contains("fill=\"var(--blue)\"") && html.contains("<title>mail: 0.31 ± 0.02</title>"));
//! assert!(html.contains("&lt;call&gt;") && !html.contains("<call>"));
//! ```
//!
//! # Why not plotters
//! plotters draws far more kinds of charts than this crate and is the right choice where they are wanted. Our pages need
//! what its SVG backend does not write: colours that follow the page's light and dark (it writes fixed `#RRGGBB`), a
//! tooltip for each mark and a description for screen readers (it has neither), places finer than whole pixels. For PNG
//! it takes fonts from the system, or asks for one to be registered; ours must come out the same on a machine without
//! fonts. And labels at the ends of lines that keep out of each other's way would be ours to write all the same. The
//! price is some 1,500 lines of code that we keep; without PNG they need no other crate.

#![forbid(unsafe_code)]

mod bars;
#[cfg(feature = "png")]
mod font;
mod forest;
mod frame;
mod heat;
mod html;
mod ink;
mod labels;
mod lines;
mod look;
mod measure;
mod numbers;
mod page;
mod panel;
#[cfg(feature = "png")]
mod png;
mod scale;
mod scene;
mod stack;
mod svg;
mod widths;

pub use bars::{Bar, BarChart};
pub use forest::{Estimate, Forest};
pub use frame::{Axis, Frame};
pub use heat::{Heat, heat_key};
pub use html::{Cell, Table, escape, write};
pub use ink::Ink;
pub use lines::{ErrorMark, Point, Series};
pub use look::{Look, Marker};
pub use measure::{text_width, wrap};
pub use numbers::{compact, number, percent, significant};
pub use page::{document, page, style};
pub use panel::{Area, LinePanel, NARROW, WIDE, grid, range, rounds_axis};
#[cfg(feature = "png")]
pub use png::png;
pub use scale::{Scale, Tick, ticks_linear};
pub use scene::{Anchor, Paint, Scene, Shape, Text};
pub use stack::{Part, Stack, StackChart};
pub use svg::{inline, standalone};

/// The size of running text in figures, in pixels; nothing is set smaller.
pub const TYPE: f64 = 12.5;
/// The size of panel titles.
pub const TITLE: f64 = 14.0;
