//! A scene as PNG on white, at twice its size.
//!
//! A rasteriser and a font reader, and no SVG interpreter: the scene is drawn directly, which
//! takes less than half the time to build. Drawing is on one thread with fixed arithmetic, so the bytes repeat.

#![expect(clippy::cast_sign_loss, reason = "counts and colours, all of them clamped or positive by construction")]

use crate::scene::{At, MARGIN, Mark};
use crate::{Anchor, Ink, Paint, Scene, Shape, Text, font};
use tiny_skia::{
    Color, FillRule, LineJoin, Paint as Brush, Path, PathBuilder, Pixmap, Rect, Stroke, StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

/// Pixels of the file per pixel of the scene.
const ZOOM: f32 = 2.0;

/// The picture as the bytes of a PNG file.
///
/// # Panics
/// For a scene whose width or height is not a number of pixels that memory can hold.
#[must_use]
pub fn png(scene: &Scene) -> Vec<u8> {
    let pixels = |length: f64| (((length + 2.0 * MARGIN) * f64::from(ZOOM)).ceil() as u32).max(1);
    let mut pixmap =
        Pixmap::new(pixels(scene.width), pixels(scene.height)).expect("a picture has a size that memory can hold");
    pixmap.fill(Color::WHITE);
    for mark in &scene.marks {
        match mark {
            Mark::Shape { shape, paint, .. } => draw_shape(&mut pixmap, shape, paint),
            Mark::Text(text) => draw_text(&mut pixmap, text),
        }
    }
    pixmap.encode_png().expect("encoding to memory cannot fail")
}

/// From the scene to the file.
fn zoom() -> Transform {
    Transform::from_scale(ZOOM, ZOOM).pre_translate(MARGIN as f32, MARGIN as f32)
}

fn brush(ink: Ink, opacity: f64) -> Brush<'static> {
    let [r, g, b] = ink.light();
    let mut brush = Brush::default();
    brush.set_color_rgba8(r, g, b, (opacity * 255.0).round() as u8);
    brush.anti_alias = true;
    brush
}

fn draw_shape(pixmap: &mut Pixmap, shape: &Shape, paint: &Paint) {
    let Some(path) = outline(shape) else { return };
    let zoom = zoom();
    if let Some(ink) = paint.fill {
        pixmap.fill_path(&path, &brush(ink, paint.opacity), FillRule::Winding, zoom, None);
    }
    if let Some(ink) = paint.stroke {
        let dash: Vec<f32> = paint.dash.iter().map(|&length| length as f32).collect();
        let stroke = Stroke {
            width: paint.width as f32,
            line_join: if paint.fill.is_none() { LineJoin::Round } else { LineJoin::Miter },
            dash: StrokeDash::new(dash, 0.0),
            ..Stroke::default()
        };
        pixmap.stroke_path(&path, &brush(ink, paint.opacity), &stroke, zoom, None);
    }
}

/// None for a shape without extent, which nothing is to be seen of.
fn outline(shape: &Shape) -> Option<Path> {
    let mut path = PathBuilder::new();
    match shape {
        Shape::Line(points) => follow(&mut path, points),
        Shape::Polygon(points) => {
            follow(&mut path, points);
            path.close();
        }
        Shape::Rect { x, y, width, height } => {
            path.push_rect(Rect::from_xywh(*x as f32, *y as f32, *width as f32, *height as f32)?);
        }
        Shape::Circle { at, r } => path.push_circle(at.0 as f32, at.1 as f32, *r as f32),
        Shape::Dots { at, r } => at.iter().for_each(|&(x, y)| path.push_circle(x as f32, y as f32, *r as f32)),
    }
    path.finish()
}

fn follow(path: &mut PathBuilder, points: &[At]) {
    for (place, &(x, y)) in points.iter().enumerate() {
        if place == 0 {
            path.move_to(x as f32, y as f32);
        } else {
            path.line_to(x as f32, y as f32);
        }
    }
}

fn draw_text(pixmap: &mut Pixmap, text: &Text) {
    let face = font::face(text.bold);
    let width = font::width(&text.line, text.size, text.bold);
    let shift = match text.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => width / 2.0,
        Anchor::End => width,
    };
    let scale = text.size / f64::from(face.units_per_em());
    let mut pen = Pen { path: PathBuilder::new(), x: text.at.0 - shift, y: text.at.1, scale };
    for letter in text.line.chars() {
        face.outline_glyph(font::glyph(face, letter), &mut pen);
        pen.x += font::advance(face, letter) * scale;
    }
    if let Some(path) = pen.path.finish() {
        let zoom = zoom();
        pixmap.fill_path(&path, &brush(text.ink, 1.0), FillRule::Winding, zoom, None);
    }
}

/// Draws a glyph, given in font units with y upwards, where the pen stands.
struct Pen {
    path: PathBuilder,
    x: f64,
    y: f64,
    scale: f64,
}

impl Pen {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        ((self.x + f64::from(x) * self.scale) as f32, (self.y - f64::from(y) * self.scale) as f32)
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.place(x1, y1), self.place(x2, y2), self.place(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
