//! A scene as SVG: inside a page, where colours are the page's variables and follow light and dark, or as a file of its
//! own, with the colours for white.
//!
//! There are no ids, so any number of pictures can stand in one page, and text stays text, to be
//! searched, copied and read aloud.

use crate::html::{escape, write};
use crate::ink::hex;
use crate::scene::{At, MARGIN, Mark};
use crate::{Anchor, Ink, Paint, Scene, Shape, Text};

/// The families a reader may have, the one that was measured with first.
const FAMILY: &str = "'Noto Sans',Inter,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";

/// A picture for a page, drawn for both widths of screens; the page's style shows the one that fits. `alt` says in plain
/// text what is to be seen, for those who do not see it.
#[must_use]
pub fn inline(wide: &Scene, narrow: &Scene, alt: &str) -> String {
    element(wide, "wide", alt) + &element(narrow, "narrow", alt)
}

/// One `<svg>` of a page; hidden from screen readers where `alt` is empty, since it then only repeats the text beside it.
pub(crate) fn element(scene: &Scene, class: &str, alt: &str) -> String {
    let (width, height) = (short(scene.width), short(scene.height));
    let mut out = format!("<svg class=\"chart {class}\" viewBox=\"0 0 {width} {height}\"");
    write(&mut out, format_args!(" width=\"{width}\" height=\"{height}\""));
    if alt.is_empty() {
        out.push_str(" aria-hidden=\"true\">");
    } else {
        write(&mut out, format_args!(" role=\"img\" aria-label=\"{}\">", escape(alt)));
    }
    Writer { out: &mut out, variables: true }.marks(scene);
    out.push_str("</svg>");
    out
}

/// The picture as a file of its own, on white.
#[must_use]
pub fn standalone(scene: &Scene, title: &str, alt: &str) -> String {
    let (width, height) = (short(scene.width + 2.0 * MARGIN), short(scene.height + 2.0 * MARGIN));
    let edge = short(-MARGIN);
    let mut out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"".to_owned();
    write(&mut out, format_args!(" viewBox=\"{edge} {edge} {width} {height}\" width=\"{width}\" height=\"{height}\""));
    write(&mut out, format_args!(" role=\"img\" font-family=\"{FAMILY}\">\n<title>{}</title>\n", escape(title)));
    write(&mut out, format_args!("<desc>{}</desc>\n", escape(alt)));
    let ground = hex(Ink::Paper.light());
    write(
        &mut out,
        format_args!("<rect x=\"{edge}\" y=\"{edge}\" width=\"{width}\" height=\"{height}\" fill=\"{ground}\"/>\n"),
    );
    Writer { out: &mut out, variables: false }.marks(scene);
    out.push_str("</svg>\n");
    out
}

struct Writer<'a> {
    out: &'a mut String,
    variables: bool,
}

impl Writer<'_> {
    fn marks(&mut self, scene: &Scene) {
        for mark in &scene.marks {
            match mark {
                Mark::Shape { shape, paint, tip } => self.shape(shape, paint, tip),
                Mark::Text(text) => self.text(text),
            }
            self.out.push('\n');
        }
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        write(self.out, text);
    }

    fn colour(&mut self, property: &str, ink: Ink) {
        match ink.variable().filter(|_| self.variables) {
            Some(name) => self.push(format_args!(" {property}=\"var(--{name})\"")),
            None => self.push(format_args!(" {property}=\"{}\"", hex(ink.light()))),
        }
    }

    fn shape(&mut self, shape: &Shape, paint: &Paint, tip: &str) {
        let name = match shape {
            Shape::Line(points) => {
                self.push(format_args!("<path d=\"{}\"", path(points)));
                "path"
            }
            Shape::Polygon(points) => {
                self.push(format_args!("<path d=\"{}Z\"", path(points)));
                "path"
            }
            Shape::Rect { x, y, width, height } => {
                let (x, y, width, height) = (short(*x), short(*y), short(*width), short(*height));
                self.push(format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\""));
                "rect"
            }
            Shape::Circle { at, r } => {
                self.push(format_args!("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"", short(at.0), short(at.1), short(*r)));
                "circle"
            }
            // One path of points without length under round caps: thousands of dots in few bytes.
            Shape::Dots { at, r } => {
                self.out.push_str("<path d=\"");
                for &(x, y) in at {
                    self.push(format_args!("M{} {}h0", short(x), short(y)));
                }
                self.out.push_str("\" fill=\"none\" stroke-linecap=\"round\"");
                self.push(format_args!(" stroke-width=\"{}\"", short(2.0 * r)));
                "path"
            }
        };
        if let (Shape::Dots { .. }, Some(ink)) = (shape, paint.fill) {
            self.colour("stroke", ink);
        } else {
            self.paint(paint);
        }
        if paint.opacity < 1.0 {
            self.push(format_args!(" opacity=\"{}\"", short(paint.opacity)));
        }
        if tip.is_empty() {
            self.out.push_str("/>");
        } else {
            self.push(format_args!("><title>{}</title></{name}>", escape(tip)));
        }
    }

    fn paint(&mut self, paint: &Paint) {
        match paint.fill {
            Some(ink) => self.colour("fill", ink),
            None => self.out.push_str(" fill=\"none\""),
        }
        if let Some(ink) = paint.stroke {
            self.colour("stroke", ink);
            self.push(format_args!(" stroke-width=\"{}\"", short(paint.width)));
            if paint.fill.is_none() {
                self.out.push_str(" stroke-linejoin=\"round\"");
            }
            if !paint.dash.is_empty() {
                let dash: Vec<String> = paint.dash.iter().map(|&length| short(length)).collect();
                self.push(format_args!(" stroke-dasharray=\"{}\"", dash.join(" ")));
            }
        }
    }

    fn text(&mut self, text: &Text) {
        let (x, y) = (short(text.at.0), short(text.at.1));
        self.push(format_args!("<text x=\"{x}\" y=\"{y}\" font-size=\"{}\"", short(text.size)));
        self.colour("fill", text.ink);
        match text.anchor {
            Anchor::Start => {}
            Anchor::Middle => self.out.push_str(" text-anchor=\"middle\""),
            Anchor::End => self.out.push_str(" text-anchor=\"end\""),
        }
        if text.bold {
            self.out.push_str(" font-weight=\"700\"");
        }
        self.push(format_args!(">{}</text>", escape(&text.line)));
    }
}

fn path(points: &[At]) -> String {
    let mut path = String::new();
    for (place, &(x, y)) in points.iter().enumerate() {
        path.push(if place == 0 { 'M' } else { 'L' });
        path.push_str(&short(x));
        path.push(' ');
        path.push_str(&short(y));
    }
    path
}

/// A length with at most two decimals.
fn short(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    // Adding zero turns -0 into 0.
    format!("{}", rounded + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_short() {
        assert_eq!(short(-0.001), "0");
        assert_eq!(short(1.256), "1.26");
        assert_eq!(short(40.0), "40");
    }
}
