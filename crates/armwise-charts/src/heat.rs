//! A heat map with its values in the cells.
//!
//! The number is the datum and the colour its echo, so every cell is printed, and the best
//! cell is framed.

use crate::ink::heat_step;
use crate::{Anchor, Ink, Paint, Scene, Shape, TITLE, TYPE, Text, text_width};

/// A heat map.
#[derive(Debug, Clone)]
pub struct Heat {
    /// The title above it.
    pub title: String,
    /// What the rows are.
    pub row_title: String,
    /// What the columns are.
    pub column_title: String,
    /// The labels of the rows.
    pub rows: Vec<String>,
    /// The labels of the columns.
    pub columns: Vec<String>,
    /// `cells[row][column]`: the value and how it is printed.
    pub cells: Vec<Vec<(f64, String)>>,
    /// The values at the two ends of the colours.
    pub range: (f64, f64),
}

const ROW: f64 = 27.0;

impl Heat {
    /// The height that it takes, titles included.
    #[must_use]
    pub fn height(&self) -> f64 {
        50.0 + ROW * self.rows.len() as f64 + 46.0
    }

    /// Draws it with its top left corner at a place.
    pub fn draw(&self, scene: &mut Scene, left: f64, top: f64, width: f64) {
        scene.text(Text::new((left, top + 14.0), self.title.as_str()).size(TITLE).bold(true));
        scene.text(Text::new((left, top + 36.0), self.row_title.as_str()).ink(Ink::Muted));
        let gutter = self.rows.iter().map(|row| text_width(row, TYPE, false)).fold(0.0, f64::max) + 10.0;
        let (x0, y0) = (left + gutter, top + 46.0);
        let cell = (width - gutter) / self.columns.len().max(1) as f64;
        let best = self.best();
        for (r, row) in self.cells.iter().enumerate() {
            let y = y0 + r as f64 * ROW;
            if let Some(label) = self.rows.get(r) {
                let label = Text::new((x0 - 7.0, y + ROW / 2.0 + 4.4), label.as_str());
                scene.text(label.anchor(Anchor::End).ink(Ink::Muted));
            }
            for (c, (value, printed)) in row.iter().enumerate() {
                let x = x0 + c as f64 * cell;
                let step = heat_step(*value, self.range.0, self.range.1);
                let area = Shape::Rect { x, y, width: cell - 1.5, height: ROW - 1.5 };
                scene.shape(area.clone(), Paint::fill(Ink::Heat(step)));
                if best == Some((r, c)) {
                    scene.shape(area, Paint::stroke(Ink::Text, 2.5));
                }
                let text = Text::new((x + (cell - 1.5) / 2.0, y + ROW / 2.0 + 3.7), printed.as_str());
                scene.text(text.anchor(Anchor::Middle).ink(Ink::OnHeat(step)).bold(best == Some((r, c))));
            }
        }
        let bottom = y0 + ROW * self.rows.len() as f64;
        for (c, label) in self.columns.iter().enumerate() {
            let label = Text::new((x0 + (c as f64 + 0.5) * cell, bottom + 14.0), label.as_str());
            scene.text(label.anchor(Anchor::Middle).ink(Ink::Muted));
        }
        let name = Text::new((x0 + (width - gutter) / 2.0, bottom + 33.0), self.column_title.as_str());
        scene.text(name.anchor(Anchor::Middle).ink(Ink::Muted));
    }

    /// The first cell with the largest value.
    #[must_use]
    pub fn best(&self) -> Option<(usize, usize)> {
        let cells = self
            .cells
            .iter()
            .enumerate()
            .flat_map(|(r, row)| row.iter().enumerate().map(move |(c, cell)| (r, c, cell.0)));
        let finite = cells.filter(|cell| cell.2.is_finite());
        finite.min_by(|a, b| b.2.total_cmp(&a.2)).map(|(r, c, _)| (r, c))
    }
}

/// Draws a key to the colours: a strip from the lowest to the highest value.
pub fn heat_key(scene: &mut Scene, left: f64, top: f64, low: &str, high: &str) {
    let start = left + text_width(low, TYPE, false) + 8.0;
    scene.text(Text::new((left, top + 11.5), low).ink(Ink::Muted));
    for step in 0..32u8 {
        let x = start + f64::from(step) * 4.0;
        scene.shape(Shape::Rect { x, y: top, width: 4.3, height: 14.0 }, Paint::fill(Ink::Heat(step * 8 + 4)));
    }
    scene.text(Text::new((start + 136.0, top + 11.5), high).ink(Ink::Muted));
}
