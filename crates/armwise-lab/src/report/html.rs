//! Pieces of HTML: escaped text and tables.
//!
//! Every text that is not written in this crate passes through [`escape`](super::kit::escape)
//! on its way to the page.

use super::kit::escape;
use std::fmt::Write as _;

/// A cell of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    html: String,
    class: &'static str,
}

impl Cell {
    /// Plain text.
    pub(crate) fn text(text: &str) -> Self {
        Self { html: escape(text), class: "" }
    }

    /// A number, set to the right in figures of one width.
    pub(crate) fn number(text: &str) -> Self {
        Self { html: escape(text), class: "n" }
    }

    /// Markup that is known to be sound.
    pub(crate) fn html(html: String) -> Self {
        Self { html, class: "" }
    }

    /// The same with a class.
    pub(crate) fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

/// A table whose first cell of each row names the row.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    /// Markup above the table that says what it holds.
    pub(crate) caption: String,
    pub(crate) head: Vec<Cell>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The table in a box that scrolls sideways where the page is narrower.
    pub(crate) fn html(&self, class: &str) -> String {
        let mut out = format!("<div class=\"scroll\" tabindex=\"0\"><table class=\"{class}\">");
        if !self.caption.is_empty() {
            write(&mut out, format_args!("<caption><span>{}</span></caption>", self.caption));
        }
        out.push_str("<thead><tr>");
        for cell in &self.head {
            write(&mut out, format_args!("<th scope=\"col\"{}>{}</th>", class_of(cell), cell.html));
        }
        out.push_str("</tr></thead>\n<tbody>");
        for row in &self.rows {
            out.push_str("<tr>");
            for (place, cell) in row.iter().enumerate() {
                let class = class_of(cell);
                if place == 0 {
                    write(&mut out, format_args!("<th scope=\"row\"{class}>{}</th>", cell.html));
                } else {
                    write(&mut out, format_args!("<td{class}>{}</td>", cell.html));
                }
            }
            out.push_str("</tr>\n");
        }
        out.push_str("</tbody></table></div>\n");
        out
    }
}

fn class_of(cell: &Cell) -> String {
    if cell.class.is_empty() { String::new() } else { format!(" class=\"{}\"", cell.class) }
}

/// Appends formatted text.
pub(crate) fn write(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_rows_are_named() {
        let table = Table {
            caption: String::new(),
            head: vec![Cell::text("a"), Cell::number("b")],
            rows: vec![vec![Cell::text("<x>"), Cell::number("1.0")]],
        };
        let html = table.html("wide");
        assert!(html.contains("<th scope=\"row\">&lt;x&gt;</th><td class=\"n\">1.0</td>"), "{html}");
    }
}
