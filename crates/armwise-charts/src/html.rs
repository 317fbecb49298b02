//! Text and tables as HTML.
//!
//! [`escape`] is the only way in which text that is not ours reaches a page or a picture; whatever takes plain text
//! calls it, and whatever takes markup says so.

use std::fmt::Write as _;

/// Text for HTML and XML, in content and in quoted attributes: the same characters to read, none that mean anything to
/// a parser.
///
/// Line breaks and tabs become spaces. Control characters, which XML cannot hold, and the codes that turn the
/// direction of the text that follows become U+FFFD; text in Hebrew or Arabic needs none of these codes and stays as it is.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Appends formatted text to a string: `write!` without a result to handle, since a string takes everything.
pub fn write(out: &mut String, text: std::fmt::Arguments<'_>) {
    // A string takes everything: the only error there could be is one of a value that refuses to be written.
    let _ = out.write_fmt(text);
}

/// A cell of a table.
#[derive(Debug, Clone)]
pub struct Cell {
    html: String,
    class: &'static str,
}

impl Cell {
    /// Plain text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self { html: escape(text), class: "" }
    }

    /// A number, set to the right in figures of one width.
    #[must_use]
    pub fn number(text: &str) -> Self {
        Self { html: escape(text), class: "n" }
    }

    /// Markup, in which everything that is not ours was escaped.
    #[must_use]
    pub fn html(html: String) -> Self {
        Self { html, class: "" }
    }

    /// The same with a class of the style sheet.
    #[must_use]
    pub fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

/// A table whose first cell of each row names the row.
#[derive(Debug, Clone)]
pub struct Table {
    /// Markup above the table that says what it holds; may be empty.
    pub caption: String,
    /// The names of the columns.
    pub head: Vec<Cell>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// The table in a box that scrolls sideways where the page is narrower.
    #[must_use]
    pub fn html(&self, class: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b & \"c\" 'd'\u{1}"), "a&lt;b &amp; &quot;c&quot; &#39;d&#39;\u{fffd}");
    }

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
